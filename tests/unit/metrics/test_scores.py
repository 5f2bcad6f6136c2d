"""Batch scores against scikit-learn's functions, called once per candidate and split. Guards trap 16."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import sklearn.metrics
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning

from tonari import _core
from tonari.metrics import scores
from tonari.metrics.scores import (
    LabelMeasure,
    SplitRows,
    brier_losses,
    error_scores,
    label_scores,
    log_losses,
    ranking_scores,
)


def _rows(split: NDArray[np.int64]) -> SplitRows:
    starts = np.concatenate([[0], np.cumsum(np.bincount(split))])
    return SplitRows(np.argsort(split, kind="stable"), starts.astype(np.int64))


def _draw(seed: int, classes: int, rows: int, splits: int, skill: float = 0.6) -> tuple[Any, Any, SplitRows]:
    """Three candidates' codes; some splits are small enough to lack classes."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(classes, size=rows).astype(np.int32)
    guessed = rng.integers(classes, size=(3, rows))
    codes = np.where(rng.random((3, rows)) < skill, truth, guessed).astype(np.int32)
    split = np.concatenate([np.arange(splits), rng.integers(splits, size=rows - splits)])
    return codes, truth, _rows(split)


def _one_by_one(function: Any, answers: Any, truth: Any, rows: SplitRows, **options: Any) -> NDArray[np.float64]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.array(
            [
                [function(truth[own], answer[own], **options) for own in np.split(rows.order, rows.starts[1:-1])]
                for answer in answers
            ]
        )


AVERAGED = {
    "precision": sklearn.metrics.precision_score,
    "recall": sklearn.metrics.recall_score,
    "fbeta": sklearn.metrics.f1_score,
    "jaccard": sklearn.metrics.jaccard_score,
}


@pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true")
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("accuracy", sklearn.metrics.accuracy_score),
        ("balanced_accuracy", sklearn.metrics.balanced_accuracy_score),
        ("matthews", sklearn.metrics.matthews_corrcoef),
    ],
)
def test_measures_without_options(name: str, function: Any, seed: int) -> None:
    codes, truth, rows = _draw(seed, classes=2 + seed, rows=60, splits=7)
    (found,) = label_scores(codes, truth, rows, 2 + seed, [LabelMeasure(name)])
    np.testing.assert_array_equal(found, _one_by_one(function, codes, truth, rows))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.parametrize("zero_division", ["warn", 0, 1])
@pytest.mark.parametrize("average", ["binary", "micro", "macro", "weighted"])
@pytest.mark.parametrize("name", AVERAGED)
def test_averaged_measures(name: str, average: Any, zero_division: Any) -> None:
    """Classes that a split lacks do not count in its mean; a label without rows gets what zero_division says."""
    for seed, classes, rows in ((1, 2, 40), (2, 5, 25), (3, 12, 80)):
        if average == "binary" and classes > 2:
            continue
        codes, truth, parts = _draw(seed, classes, rows, splits=9)
        measure = LabelMeasure(name, average, positive=1, zero_division=zero_division)
        (found,) = label_scores(codes, truth, parts, classes, [measure])
        options = {"average": average, "zero_division": zero_division}
        expected = _one_by_one(AVERAGED[name], codes, truth, parts, **options)
        np.testing.assert_allclose(found, expected, rtol=1e-15, atol=1e-16)


def test_beta_and_the_other_class_as_the_positive_one() -> None:
    codes, truth, rows = _draw(5, 2, 80, splits=4)
    (found,) = label_scores(codes, truth, rows, 2, [LabelMeasure("fbeta", "binary", beta=2.0, positive=0)])
    np.testing.assert_allclose(
        found, _one_by_one(sklearn.metrics.fbeta_score, codes, truth, rows, beta=2.0, pos_label=0), rtol=1e-15
    )


def test_counts_in_portions_give_the_same_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    codes, truth, rows = _draw(7, 6, 300, splits=40)
    measures = [LabelMeasure("fbeta", zero_division=0), LabelMeasure("accuracy"), LabelMeasure("matthews")]
    whole = label_scores(codes, truth, rows, 6, measures)
    for cells in (1, 50, 500):
        monkeypatch.setattr(scores, "CELLS", cells)
        for one, other in zip(whole, label_scores(codes, truth, rows, 6, measures), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("name", "average", "words"),
    [
        ("precision", "macro", "Precision is ill-defined and being set to 0.0 in labels with no predicted samples."),
        ("recall", "macro", "Recall is ill-defined and being set to 0.0 in labels with no true samples."),
        ("fbeta", "binary", "F-score is ill-defined and being set to 0.0 due to no true nor predicted samples."),
        ("jaccard", "binary", "Jaccard is ill-defined and being set to 0.0 due to no true or predicted samples."),
    ],
)
def test_warnings_are_those_of_scikit_learn(name: str, average: Any, words: str) -> None:
    codes = np.array([[0, 0, 2]] if average == "macro" else [[0, 0, 0]], dtype=np.int32)
    truth = np.array([0, 1, 1] if average == "macro" else [0, 0, 0], dtype=np.int32)
    options = {"average": average}
    with pytest.warns(UndefinedMetricWarning) as ours:
        label_scores(codes, truth, SplitRows.single(3), 3, [LabelMeasure(name, average)])
    with pytest.warns(UndefinedMetricWarning) as theirs:
        AVERAGED[name](truth, codes[0], **options)
    assert [str(one.message) for one in ours] == [str(one.message) for one in theirs]
    assert str(ours[0].message).startswith(words)


ERRORS = {
    "squared": sklearn.metrics.mean_squared_error,
    "root_squared": sklearn.metrics.root_mean_squared_error,
    "absolute": sklearn.metrics.mean_absolute_error,
    "max": sklearn.metrics.max_error,
    "r2": sklearn.metrics.r2_score,
    "explained_variance": sklearn.metrics.explained_variance_score,
}


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_errors_of_values(offset: float) -> None:
    """Trap 1: sums of squares are taken about the mean, so an offset costs no digits."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=90) + offset
    values = truth + rng.normal(size=(4, 90)) + rng.normal(size=(4, 1))
    rows = _rows(np.arange(90) % 7)
    found = dict(zip(ERRORS, error_scores(values, truth, rows, list(ERRORS)), strict=True))
    for name, function in ERRORS.items():
        np.testing.assert_allclose(found[name], _one_by_one(function, values, truth, rows), rtol=1e-9, err_msg=name)


def test_errors_that_are_not_defined_are_left_open() -> None:
    truth = np.array([1.0, 1.0, 2.0, 3.0, 5.0])
    values = np.array([[1.0, 2.0, 2.0, np.inf, 4.0], [1.0, 1.0, 2.0, 3.0, 5.0]])
    rows = SplitRows(np.arange(5), np.array([0, 2, 4, 5]))
    with pytest.warns(UndefinedMetricWarning, match="less than two samples"):
        r2, explained = error_scores(values, truth, rows, ["r2", "explained_variance"])
    # A constant truth, an infinite answer, a single row; a perfect answer is 1 whatever the truth.
    np.testing.assert_array_equal(r2, [[np.nan, np.nan, np.nan], [1.0, 1.0, np.nan]])
    np.testing.assert_array_equal(explained, [[np.nan, np.nan, 1.0], [1.0, 1.0, 1.0]])


@pytest.mark.parametrize("levels", [2, 5, 1000])
def test_areas_with_tied_scores(levels: int) -> None:
    rng = np.random.default_rng(levels)
    positive = rng.random(200) < 0.3
    values = np.floor(levels * np.clip(0.3 * positive + rng.random((3, 200)), 0, 1)) / levels
    rows = _rows(np.arange(200) % 4)
    roc, precision = ranking_scores(values, positive, rows)
    np.testing.assert_allclose(roc, _one_by_one(sklearn.metrics.roc_auc_score, values, positive, rows), rtol=1e-13)
    expected = _one_by_one(sklearn.metrics.average_precision_score, values, positive, rows)
    np.testing.assert_allclose(precision, expected, rtol=1e-13)


def test_areas_need_both_classes() -> None:
    rows = SplitRows(np.arange(4), np.array([0, 2, 4]))
    roc, precision = ranking_scores(np.zeros((1, 4)), np.array([True, True, False, False]), rows)
    np.testing.assert_array_equal(roc, [[np.nan, np.nan]])
    np.testing.assert_array_equal(precision, [[1.0, np.nan]])


def test_losses_of_probabilities() -> None:
    rng = np.random.default_rng(3)
    truth = np.concatenate([[0, 1, 2], rng.integers(3, size=57)])
    proba = rng.dirichlet([0.3] * 3, size=(4, 60))
    proba[0, :5] = [[1, 0, 0]] * 5
    rows = _rows(np.arange(60) % 3)
    expected = _one_by_one(sklearn.metrics.log_loss, proba, truth, rows, labels=[0, 1, 2])
    np.testing.assert_allclose(log_losses(proba, truth, rows), expected, rtol=1e-13)

    two, positive = proba[:, :, :2] / proba[:, :, :2].sum(axis=2, keepdims=True), truth == 1
    expected = _one_by_one(sklearn.metrics.brier_score_loss, two[:, :, 1], positive, rows)
    np.testing.assert_allclose(brier_losses(two, positive, rows), expected, rtol=1e-13)

    proba[2, 0] = 0.5
    assert np.isnan(log_losses(proba, truth, rows)).sum() == 1


@pytest.mark.parametrize(
    ("codes", "truth", "order", "starts", "words"),
    [
        ([[0, 3]], [0, 0], [0, 1], [0, 2], "a class code"),
        ([[0, -1]], [0, 0], [0, 1], [0, 2], "a class code"),
        ([[0, 0]], [0, 3], [0, 1], [0, 2], "a class code"),
        ([[0, 0]], [0], [0, 1], [0, 2], "the same rows"),
        ([[0, 0]], [0, 0], [0, 2], [0, 2], "outside the answers"),
        ([[0, 0]], [0, 0], [0, -1], [0, 2], "outside the answers"),
        ([[0, 0]], [0, 0], [0, 1], [0, 1], "length of order"),
        ([[0, 0]], [0, 0], [0, 1], [0, 0, 2], "at least one row"),
        ([[0, 0]], [0, 0], [0, 1], [0, 3, 2], "at least one row"),
        ([[0, 0]], [0, 0], [0, 1], [], "length of order"),
    ],
)
def test_the_boundary_checks_what_could_leave_an_array(
    codes: Any, truth: Any, order: Any, starts: Any, words: str
) -> None:
    shape = (len(codes), max(len(starts) - 1, 0), 3)
    hits, predicted = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    with pytest.raises(ValueError, match=words):
        _core.score_counts(
            np.array(codes, dtype=np.int32), np.array(truth, dtype=np.int32), np.array(order, dtype=np.int64),
            np.array(starts, dtype=np.int64), 3, hits, predicted,
        )  # fmt: skip


def test_the_boundary_refuses_a_score_without_rank() -> None:
    """Trap 3: NaN in a comparison is dropped in silence."""
    order, starts, areas = np.arange(2), np.array([0, 2]), np.empty((1, 1, 2))
    with pytest.raises(ValueError, match="NaN"):
        _core.score_ranking(np.array([[0.5, np.nan]]), np.array([0, 1], dtype=np.uint8), order, starts, areas)
