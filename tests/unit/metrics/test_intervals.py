"""Intervals against published values, hand calculations and their own coverage (trap 15: numbers without honesty)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from tonari.base.errors import UsageError
from tonari.metrics import (
    balanced_accuracy_interval,
    bootstrap_interval,
    clopper_pearson,
    corrected_paired_t,
    corrected_standard_error,
    delong_interval,
    fold_interval,
    wilson,
)
from tonari.metrics.intervals import Interval

# Newcombe, Statistics in Medicine 17 (1998), table I: methods 3 (Wilson) and 5 (Clopper-Pearson).
PUBLISHED_PROPORTIONS = [
    (81, 263, (0.2553, 0.3662), (0.2527, 0.3676)),
    (15, 148, (0.0624, 0.1605), (0.0578, 0.1617)),
    (0, 20, (0.0, 0.1611), (0.0, 0.1684)),
    (1, 29, (0.0061, 0.1718), (0.0009, 0.1776)),
]

# Hanley and McNeil, Radiology 143 (1982): ratings 1 to 5 of 58 normal and 51 abnormal patients.
NORMAL, ABNORMAL = [33, 6, 6, 11, 2], [3, 2, 2, 11, 33]


@pytest.mark.parametrize(("successes", "n", "by_wilson", "exact"), PUBLISHED_PROPORTIONS)
def test_proportions_equal_the_published_ones(
    successes: int, n: int, by_wilson: tuple[float, float], exact: tuple[float, float]
) -> None:
    assert wilson(successes, n) == pytest.approx(by_wilson, abs=6e-5)
    assert clopper_pearson(successes, n) == pytest.approx(exact, abs=6e-5)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("n", [1, 2, 7, 50, 100_000])
def test_proportions_agree_with_scipy_and_hold_their_estimate(n: int, level: float) -> None:
    for successes in {0, 1, n // 3, n - 1, n}:
        outside = binomtest(successes, n)
        for ours, method in ((wilson, "wilson"), (clopper_pearson, "exact")):
            low, high = ours(successes, n, level)
            assert 0 <= low <= successes / n <= high <= 1
            assert low < high
            theirs = outside.proportion_ci(level, method)
            assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_coverage_of_proportions() -> None:
    n, shares = 40, np.linspace(0.02, 0.98, 97)
    counts = np.arange(n + 1)
    chance = binom.pmf(counts[:, None], n, shares)

    def coverage(method: object) -> np.ndarray:
        ends = np.array([method(int(count), n) for count in counts])  # type: ignore[operator]
        return (chance * ((ends[:, :1] <= shares) & (shares <= ends[:, 1:]))).sum(axis=0)

    assert coverage(clopper_pearson).min() >= 0.95
    assert coverage(wilson).mean() == pytest.approx(0.95, abs=0.01)
    assert coverage(wilson).min() > 0.83
    # The interval of the textbooks fails the same test, so the test can fail.
    assert coverage(lambda s, n: (s / n - 1.96 * np.sqrt(s / n * (1 - s / n) / n),
                                  s / n + 1.96 * np.sqrt(s / n * (1 - s / n) / n))).mean() < 0.935  # fmt: skip


@pytest.mark.parametrize("bad", [(-1, 5), (6, 5), (0, 0)])
def test_impossible_proportions_are_refused(bad: tuple[int, int]) -> None:
    for method in (wilson, clopper_pearson):
        with pytest.raises(UsageError, match=f"got {bad[0]} of {bad[1]}"):
            method(*bad)
    with pytest.raises(UsageError, match="level"):
        wilson(1, 2, level=95)


def test_corrected_standard_error_by_hand() -> None:
    # sd = 0.1, K = 3: 0.1 * sqrt(1/3 + 1/2); the naive one would be 0.0577.
    assert corrected_standard_error([0.8, 0.9, 1.0]) == pytest.approx(0.1 * np.sqrt(5 / 6))
    assert corrected_standard_error([0.8, 0.9, 1.0], test_train_ratio=0.25) == pytest.approx(
        0.1 * np.sqrt(1 / 3 + 0.25)
    )
    assert corrected_standard_error([0.7] * 10) == pytest.approx(0, abs=1e-15)
    assert np.isnan(corrected_standard_error([0.8, np.nan, 1.0]))
    with pytest.raises(UsageError, match="at least two"):
        corrected_standard_error([0.8])


def test_fold_interval_by_hand() -> None:
    half = 4.302653 * 0.1 * np.sqrt(5 / 6)
    assert fold_interval([0.8, 0.9, 1.0]) == pytest.approx((0.9 - half, 0.9 + half), abs=1e-6)
    assert fold_interval([0.8, 0.9, 1.0], bounds=(0, 1)) == pytest.approx((0.9 - half, 1.0), abs=1e-6)


def test_coverage_over_folds_where_scores_are_correlated_as_nadeau_and_bengio_assume() -> None:
    # Correlation 1/K between folds: under that model the corrected t interval is exact, the naive one is not.
    rng, folds, repeats = np.random.default_rng(7), 10, 4000
    shared, own = rng.standard_normal((repeats, 1)), rng.standard_normal((repeats, folds))
    scores = 0.8 + 0.02 * (np.sqrt(1 / folds) * shared + np.sqrt(1 - 1 / folds) * own)
    ends = np.array([fold_interval(row) for row in scores])
    assert ((ends[:, 0] <= 0.8) & (ends[:, 1] >= 0.8)).mean() == pytest.approx(0.95, abs=0.012)
    naive = np.array([fold_interval(row, test_train_ratio=0.0) for row in scores])
    assert ((naive[:, 0] <= 0.8) & (naive[:, 1] >= 0.8)).mean() < 0.88


def test_paired_t_by_hand() -> None:
    a, b = [0.90, 0.92, 0.88, 0.91], [0.85, 0.90, 0.86, 0.88]
    outcome = corrected_paired_t(a, b)
    error = np.std([0.05, 0.02, 0.02, 0.03], ddof=1) * np.sqrt(1 / 4 + 1 / 3)
    assert outcome.difference == pytest.approx(0.03)
    assert outcome.standard_error == pytest.approx(error)
    assert (outcome.low, outcome.high) == pytest.approx((0.03 - 3.182446 * error, 0.03 + 3.182446 * error), abs=1e-6)
    assert outcome.p_value == pytest.approx(0.069, abs=0.001)
    turned = corrected_paired_t(b, a)
    assert (turned.difference, turned.low, turned.high) == (-outcome.difference, -outcome.high, -outcome.low)
    assert turned.p_value == outcome.p_value


def test_paired_t_of_equal_differences() -> None:
    same = corrected_paired_t([0.9, 0.8, 0.7], [0.9, 0.8, 0.7])
    assert same == (0, 0, 0, 0, 1)
    # 0.1 apart in every fold: rounding must not decide.
    apart = corrected_paired_t([0.9, 0.8, 0.7], [0.8, 0.7, 0.6])
    assert apart.standard_error == 0
    assert apart.p_value == 0
    assert apart.low > 0
    assert np.isnan(corrected_paired_t([0.9, np.nan], [0.9, 0.8]).p_value)
    with pytest.raises(UsageError, match="3 and 2"):
        corrected_paired_t([0.9, 0.8, 0.7], [0.8, 0.7])


def test_paired_t_keeps_its_level_when_the_two_are_equally_good() -> None:
    rng, folds, repeats = np.random.default_rng(8), 10, 2000
    shared = rng.standard_normal((repeats, 2, 1)) * np.sqrt(1 / folds)
    scores = shared + rng.standard_normal((repeats, 2, folds)) * np.sqrt(1 - 1 / folds)
    told_apart = np.mean([corrected_paired_t(a, b).p_value < 0.05 for a, b in scores])
    assert told_apart == pytest.approx(0.05, abs=0.015)
    naive = np.mean([corrected_paired_t(a, b, test_train_ratio=0.0).p_value < 0.05 for a, b in scores])
    assert naive > 0.1


def test_delong_equals_the_published_values() -> None:
    truth = np.repeat([0, 1], [58, 51])
    rating = np.concatenate([np.repeat(np.arange(5), NORMAL), np.repeat(np.arange(5), ABNORMAL)])
    outcome = delong_interval(truth, rating, positive=1)
    # Stata's roctab on these data: area 0.8932, DeLong standard error 0.0307.
    assert outcome.area == pytest.approx(0.8932, abs=5e-5)
    assert outcome.standard_error == pytest.approx(0.0307, abs=5e-5)
    assert 0.80 < outcome.low < outcome.area < outcome.high < 0.95


def test_delong_equals_its_definition() -> None:
    rng = np.random.default_rng(3)
    score = rng.integers(0, 6, 60).astype(float)
    truth = np.where(rng.random(60) < 0.4, "yes", "no")
    positive, negative = score[truth == "yes"], score[truth == "no"]
    wins = (positive[:, None] > negative) + 0.5 * (positive[:, None] == negative)
    outcome = delong_interval(truth, score, positive="yes")
    assert outcome.area == pytest.approx(wins.mean())
    variance = wins.mean(axis=1).var(ddof=1) / len(positive) + wins.mean(axis=0).var(ddof=1) / len(negative)
    assert outcome.standard_error == pytest.approx(np.sqrt(variance))
    turned = delong_interval(truth, score, positive="no")
    assert turned.low == pytest.approx(1 - outcome.high)


@pytest.mark.parametrize("separation", [0.5, 2.0])
def test_delong_covers(separation: float) -> None:
    from scipy.special import ndtr

    rng = np.random.default_rng(5)
    truth = np.repeat([False, True], [40, 25])
    area = ndtr(separation / np.sqrt(2))
    held = 0
    for _ in range(800):
        outcome = delong_interval(truth, rng.standard_normal(65) + separation * truth, positive=True)
        held += outcome.low <= area <= outcome.high
    assert held / 800 == pytest.approx(0.95, abs=0.025)


def test_area_keeps_a_width_where_the_variance_vanishes() -> None:
    truth = [0] * 10 + [1] * 12
    perfect = delong_interval(truth, list(range(22)), positive=1)
    assert perfect.area == perfect.high == 1
    assert 0.75 < perfect.low < 0.95
    worst = delong_interval(truth, list(range(22)), positive=0)
    assert worst.area == worst.low == 0
    assert worst.high == pytest.approx(1 - perfect.low)
    single = delong_interval([0, 0, 0, 1], [1, 2, 4, 3], positive=1)
    assert 0 < single.low < single.area < single.high < 1
    assert single.high - single.low > 0.5
    more = delong_interval(truth * 10, list(range(22)) * 10, positive=1)
    assert more.low > perfect.low
    with pytest.raises(UsageError, match="0 negative"):
        delong_interval([1, 1], [0.1, 0.2], positive=1)


def test_balanced_accuracy_interval() -> None:
    # One class only: Wilson itself. Classes without rows do not count.
    assert balanced_accuracy_interval([[45, 5], [0, 0]]) == pytest.approx(wilson(45, 50))
    low, high = balanced_accuracy_interval([[50, 0], [0, 10]])
    assert high == 1
    assert low < wilson(60, 60).low
    with pytest.raises(UsageError, match="no rows"):
        balanced_accuracy_interval([[0, 0], [0, 0]])


def test_balanced_accuracy_interval_covers() -> None:
    rng, recall, rows = np.random.default_rng(11), np.array([0.97, 0.7, 0.85]), np.array([200, 20, 50])
    held = 0
    for _ in range(1500):
        right = rng.binomial(rows, recall)
        matrix = np.diag(right)
        matrix[:, 0] += rows - right
        matrix[0, 0] = right[0]
        matrix[0, 1] = rows[0] - right[0]
        low, high = balanced_accuracy_interval(matrix)
        held += low <= recall.mean() <= high
    assert held / 1500 == pytest.approx(0.95, abs=0.02)


def _recall_of_b(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    return float((y_pred[y_true == "b"] == "b").mean())


def test_bootstrap_is_stratified_and_the_same_every_time() -> None:
    truth = np.array(["a"] * 90 + ["b"] * 10)
    answer = np.array(["a"] * 90 + ["b"] * 7 + ["a"] * 3)
    shares: list[float] = []

    def watched(y_true: np.ndarray, y_pred: np.ndarray) -> float:
        shares.append(float((y_true == "b").mean()))
        return _recall_of_b(y_true, y_pred)

    first = bootstrap_interval(watched, truth, answer, n_resamples=200, seed=4)
    assert set(shares) == {0.1}
    assert first == bootstrap_interval(_recall_of_b, truth, answer, n_resamples=200, seed=4)
    assert isinstance(first, Interval)
    seeds = {bootstrap_interval(_recall_of_b, truth, answer, n_resamples=50, seed=seed) for seed in range(8)}
    assert len(seeds) > 1


def test_a_resample_does_not_depend_on_how_many_there_are() -> None:
    truth, answer = np.arange(30) % 3, (np.arange(30) // 2) % 3

    def resamples(n: int) -> list[float]:
        seen: list[float] = []

        def watched(y_true: np.ndarray, y_pred: np.ndarray) -> float:
            seen.append(float(np.mean(y_true == y_pred)))
            return seen[-1]

        bootstrap_interval(watched, truth, answer, n_resamples=n)
        return seen

    assert resamples(9)[:5] == resamples(5)


def test_bootstrap_covers_a_macro_f1() -> None:
    from sklearn.metrics import f1_score

    flip = {0: [0.85, 0.15], 1: [0.25, 0.75]}
    rows = np.repeat([0, 1], [90, 60])
    expected = np.array([[90 * 0.85, 90 * 0.15], [60 * 0.25, 60 * 0.75]])
    value = float(np.mean(2 * expected.diagonal() / (expected.sum(axis=0) + expected.sum(axis=1))))

    def macro_f1(y_true: np.ndarray, y_pred: np.ndarray) -> float:
        counts = np.bincount(2 * y_true + y_pred, minlength=4).reshape(2, 2)
        return float(np.mean(2 * counts.diagonal() / (counts.sum(axis=0) + counts.sum(axis=1))))

    rng = np.random.default_rng(2)
    held = 0
    for repeat in range(200):
        answer = np.where(rng.random(150) < np.where(rows == 0, flip[0][0], flip[1][0]), 0, 1)
        if repeat == 0:
            assert macro_f1(rows, answer) == pytest.approx(f1_score(rows, answer, average="macro"))
        low, high = bootstrap_interval(macro_f1, rows, answer, n_resamples=200, seed=repeat)
        held += low <= value <= high
    assert 0.89 <= held / 200 <= 0.99


def test_bootstrap_refuses_what_it_cannot_draw_from() -> None:
    with pytest.raises(UsageError, match="2 and 1"):
        bootstrap_interval(_recall_of_b, ["a", "b"], ["a"])
