"""Intervals around estimates: of a proportion, a mean over folds, a difference, an area under a curve.

An interval says what it is of. Those of a held-out part (`wilson`, `clopper_pearson`, `balanced_accuracy_interval`,
`macro_f1_interval`, `delong_interval`, `bootstrap_interval`) speak of one fitted model on rows like the ones it was
judged on. Those of fold scores (`fold_interval`, `corrected_paired_t`) speak of the learning procedure on training
parts of that size.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import betaincinv, ndtri, stdtr, stdtrit
from scipy.stats import rankdata

from tonari.base.errors import UsageError


class Interval(NamedTuple):
    """Two ends of an interval; a plain pair, so it is written to JSON as one."""

    low: float
    high: float


class PairedT(NamedTuple):
    """Outcome of `corrected_paired_t`: the mean difference a - b, its standard error, interval and two-sided p."""

    difference: float
    standard_error: float
    low: float
    high: float
    p_value: float


class AreaUnderRoc(NamedTuple):
    """Area under the ROC curve with its DeLong standard error and interval."""

    area: float
    standard_error: float
    low: float
    high: float


def wilson(successes: int, n: int, level: float = 0.95) -> Interval:
    """Wilson's score interval of a proportion.

    It is of the share of successes among all rows like these `n`, for one fixed model: the accuracy it would reach on
    very many of them. It does not speak of the model that another training part would have given.

    Parameters
    ----------
    successes, n : int
        Rows answered rightly, and rows judged; every row counts once and rows are independent.
    level : float, default=0.95
        Share of such intervals that hold the true proportion, on average over proportions.

    Returns
    -------
    Interval
        Never empty, even for 0 or `n` successes, and never outside [0, 1].

    Examples
    --------
    >>> [round(end, 4) for end in wilson(48, 50)]
    [0.8654, 0.989]
    """
    share, z = _proportion(successes, n), _normal_quantile(level)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return Interval(0.0 if successes == 0 else centre - half, 1.0 if successes == n else centre + half)


def clopper_pearson(successes: int, n: int, level: float = 0.95) -> Interval:
    """Clopper and Pearson's exact interval of a proportion: holds it with at least the stated level, whatever it is.

    It is of the same quantity as `wilson`, and wider: use it where a promise must be kept, not an average.

    Parameters
    ----------
    successes, n : int
        Rows answered rightly, and rows judged.
    level : float, default=0.95
        Least share of such intervals that hold the true proportion.

    Returns
    -------
    Interval

    Examples
    --------
    >>> [round(end, 4) for end in clopper_pearson(48, 50)]
    [0.8629, 0.9951]
    """
    _proportion(successes, n)
    tail = (1 - _checked_level(level)) / 2
    low = 0.0 if successes == 0 else float(betaincinv(successes, n - successes + 1, tail))
    high = 1.0 if successes == n else float(betaincinv(successes + 1, n - successes, 1 - tail))
    return Interval(low, high)


def balanced_accuracy_interval(confusion: ArrayLike, level: float = 0.95) -> Interval:
    """Interval of balanced accuracy from a confusion matrix, by combining the Wilson intervals of each class's recall.

    It is of the mean recall over the classes that occur in the judged rows, for one fixed model on rows like these.
    The ends are those of Zou and Donner (2008, "MOVER"): the squared distances to the Wilson ends add up. Unlike the
    bootstrap it keeps a width when no row is answered wrongly.

    Parameters
    ----------
    confusion : array-like of shape (classes, classes)
        Counts, truth in rows and prediction in columns.
    level : float, default=0.95

    Returns
    -------
    Interval

    Examples
    --------
    >>> [round(end, 3) for end in balanced_accuracy_interval([[45, 5], [0, 10]])]
    [0.8, 0.978]
    """
    counts = np.asarray(confusion)
    rows = counts.sum(axis=1)
    present = np.flatnonzero(rows > 0)
    if len(present) == 0:
        raise UsageError("Balanced accuracy has no interval: the confusion matrix holds no rows.")
    recall = counts.diagonal()[present] / rows[present]
    ends = np.array([wilson(int(counts[i, i]), int(rows[i]), level) for i in present])
    mean = float(recall.mean())
    below, above = np.sqrt(((recall[:, None] - ends) ** 2).sum(axis=0)) / len(present)
    return Interval(max(0.0, mean - float(below)), min(1.0, mean + float(above)))


def macro_f1_interval(confusion: ArrayLike, level: float = 0.95, *, draws: int = 4000, seed: int = 0) -> Interval:
    """Interval of the mean F1 over classes from a confusion matrix, by drawing where each class's rows would go.

    It is of the mean F1 of one fixed model on rows like these, with these class sizes. The shares of each true class
    are drawn from their Dirichlet posterior under a prior that weighs as much as one row of that class. Unlike the
    bootstrap, which is too short for small classes, it keeps a width when no row is answered wrongly.

    Parameters
    ----------
    confusion : array-like of shape (classes, classes)
        Counts, truth in rows and prediction in columns; a class that occurs nowhere is left out.
    level : float, default=0.95
    draws : int, default=4000
    seed : int, default=0

    Returns
    -------
    Interval

    Examples
    --------
    >>> [round(end, 2) for end in macro_f1_interval([[45, 5], [0, 10]])]
    [0.75, 0.94]
    """
    counts = np.asarray(confusion, dtype=np.float64)
    occurs = (counts.sum(axis=0) + counts.sum(axis=1)) > 0
    counts = counts[np.ix_(occurs, occurs)]
    random = np.random.Generator(np.random.Philox(key=seed))
    drawn = np.zeros((draws, *counts.shape))
    for i, row in enumerate(counts):
        if row.sum() > 0:
            drawn[:, i] = random.dirichlet(row + 1 / len(row), size=draws) * row.sum()
    right = np.diagonal(drawn, axis1=1, axis2=2)
    f1 = 2 * right / (drawn.sum(axis=1) + drawn.sum(axis=2))
    low, high = np.quantile(f1.mean(axis=1), [(1 - _checked_level(level)) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


def corrected_standard_error(fold_scores: ArrayLike, test_train_ratio: float | None = None) -> float:
    """Standard error of a mean over cross-validation folds, corrected for the rows that training parts share.

    It is of the mean score as an estimate of what the learning procedure reaches on training parts of this size. The
    naive ``sd / sqrt(K)`` takes folds for independent and is far too small; Nadeau and Bengio (2003) replace ``1/K`` by
    ``1/K + n_test/n_train``, and in K-fold cross-validation ``n_test/n_train`` is ``1/(K - 1)``.

    Parameters
    ----------
    fold_scores : array-like of shape (folds,)
    test_train_ratio : float or None, default=None
        ``n_test/n_train``; None means ``1/(folds - 1)``, which is right for K-fold cross-validation done once. For
        repeated K-fold or random splits give it.

    Returns
    -------
    float
        NaN where a fold has no score.

    Examples
    --------
    >>> round(corrected_standard_error([0.8, 0.9, 1.0]), 4)
    0.0913
    """
    scores = _fold_scores(fold_scores)
    folds = len(scores)
    ratio = 1 / (folds - 1) if test_train_ratio is None else test_train_ratio
    return float(scores.std(ddof=1) * sqrt(1 / folds + ratio))


def fold_interval(
    fold_scores: ArrayLike,
    level: float = 0.95,
    *,
    test_train_ratio: float | None = None,
    bounds: tuple[float, float] | None = None,
) -> Interval:
    """Student's t interval around a mean over folds, with the corrected standard error.

    It is of the score that the learning procedure is expected to reach on training parts of this size, for a candidate
    named before looking. For the best of many it is too hopeful: the held-out part is there for that.

    Parameters
    ----------
    fold_scores : array-like of shape (folds,)
    level : float, default=0.95
    test_train_ratio : float or None, default=None
        As in `corrected_standard_error`.
    bounds : (float, float) or None, default=None
        Least and greatest possible score, such as (0, 1) for accuracy; ends are clipped there.

    Returns
    -------
    Interval

    Examples
    --------
    >>> [round(end, 3) for end in fold_interval([0.8, 0.9, 1.0], bounds=(0, 1))]
    [0.507, 1.0]
    """
    scores = _fold_scores(fold_scores)
    half = _t_quantile(level, len(scores) - 1) * corrected_standard_error(scores, test_train_ratio)
    ends = np.array([scores.mean() - half, scores.mean() + half])
    if bounds is not None:
        ends = np.clip(ends, *bounds)
    return Interval(float(ends[0]), float(ends[1]))


def corrected_paired_t(
    scores_a: ArrayLike, scores_b: ArrayLike, level: float = 0.95, *, test_train_ratio: float | None = None
) -> PairedT:
    """Compare two candidates by their scores on the same folds: Nadeau and Bengio's corrected paired t.

    The interval is of the expected difference a - b between the two learning procedures on training parts of this size.
    Where it holds 0 the two are not told apart: that is the mark "tied with the best". Nothing is corrected for the
    number of candidates: among many that are equally good, about ``1 - level`` lose the mark by chance.

    Parameters
    ----------
    scores_a, scores_b : array-like of shape (folds,)
        Fold i of both was trained and judged on the same rows.
    level : float, default=0.95
    test_train_ratio : float or None, default=None
        As in `corrected_standard_error`.

    Returns
    -------
    PairedT
        Where every fold gives the same difference the standard error is 0: p is then 1 for no difference, else 0.

    Examples
    --------
    >>> outcome = corrected_paired_t([0.90, 0.92, 0.88, 0.91], [0.85, 0.90, 0.86, 0.88])
    >>> round(outcome.difference, 3), round(outcome.standard_error, 4), outcome.low < 0 < outcome.high
    (0.03, 0.0108, True)
    """
    a, b = _fold_scores(scores_a), _fold_scores(scores_b)
    if len(a) != len(b):
        raise UsageError(f"Paired scores need the same folds: got {len(a)} and {len(b)}.")
    difference = float((a - b).mean())
    error = corrected_standard_error(a - b, test_train_ratio)
    # Equal differences that rounding tells apart must not look like a certain result.
    error = 0.0 if error <= 1e-12 * max(1.0, abs(difference)) else error
    half = _t_quantile(level, len(a) - 1) * error
    if error > 0:
        p_value = float(2 * stdtr(len(a) - 1, -abs(difference) / error))
    else:
        p_value = float("nan") if np.isnan(error) else float(abs(difference) <= 1e-12)
    return PairedT(difference, error, difference - half, difference + half, p_value)


def bootstrap_interval(
    metric: Callable[[Any, Any], float],
    y_true: ArrayLike,
    y_answer: ArrayLike,
    level: float = 0.95,
    *,
    n_resamples: int = 1000,
    seed: int = 0,
) -> Interval:
    """Percentile bootstrap interval of any metric, resampling the judged rows within each true class.

    It is of the metric's value on very many rows like these, with these class shares, for one fixed model. An interval
    without width says that the sample holds no row that could lower the score, not that the score is certain.

    Parameters
    ----------
    metric : callable
        ``metric(y_true, y_answer) -> float``, for example ``sklearn.metrics.f1_score``.
    y_true : array-like of shape (rows,)
        True classes.
    y_answer : array-like of shape (rows,) or (rows, classes)
        What the metric takes beside the truth: predicted classes, scores or probabilities.
    level : float, default=0.95
    n_resamples : int, default=1000
    seed : int, default=0
        Resample i is drawn by a counter-based generator keyed by (seed, i): the same whatever else is drawn.

    Returns
    -------
    Interval
    """
    truth, answer = np.asarray(y_true), np.asarray(y_answer)
    if len(truth) == 0 or len(truth) != len(answer):
        raise UsageError(f"The bootstrap needs rows, as many true as answered: got {len(truth)} and {len(answer)}.")
    tail = (1 - _checked_level(level)) / 2
    strata = _strata(truth)
    values = np.empty(n_resamples)
    for i in range(n_resamples):
        draw = np.random.Generator(np.random.Philox(key=seed, counter=[0, 0, 0, i]))
        rows = np.concatenate([stratum[draw.integers(0, len(stratum), len(stratum))] for stratum in strata])
        values[i] = metric(truth[rows], answer[rows])
    low, high = np.quantile(values, [tail, 1 - tail])
    return Interval(float(low), float(high))


def delong_interval(y_true: ArrayLike, y_score: ArrayLike, positive: Any, level: float = 0.95) -> AreaUnderRoc:
    """Area under the ROC curve with DeLong's standard error and an interval on the logit scale.

    The area is the chance that a random positive row scores above a random negative one (ties count half); the interval
    is of that chance for one fixed model, over rows like these. Midranks give it in O(n log n) (Sun and Xu, 2014).
    Where DeLong's variance vanishes (a perfect order, or one row in a class) the ends are Newcombe's (2006, method 5):
    a score interval with Hanley and McNeil's variance, which keeps its width.

    Parameters
    ----------
    y_true : array-like of shape (rows,)
    y_score : array-like of shape (rows,)
        Greater means more likely `positive`.
    positive : object
        The class in `y_true` that counts as positive; every other class is negative.
    level : float, default=0.95

    Returns
    -------
    AreaUnderRoc

    Examples
    --------
    >>> outcome = delong_interval([0, 0, 0, 1, 1, 1], [0.1, 0.4, 0.3, 0.35, 0.8, 0.9], positive=1)
    >>> round(outcome.area, 4), round(outcome.standard_error, 4)
    (0.8889, 0.1571)
    """
    score = np.asarray(y_score, dtype=np.float64)
    chosen = np.asarray(y_true) == positive
    if np.isnan(score).any():
        raise UsageError("The area under the ROC curve needs a score for every row; some are NaN.")
    m, n = int(chosen.sum()), int((~chosen).sum())
    if m == 0 or n == 0:
        raise UsageError(f"The area under the ROC curve needs both classes: got {m} positive and {n} negative rows.")
    rank = rankdata(score)
    # Share of the other class that each row beats: all ranks less the ranks within its own class.
    beaten = (rank[chosen] - rankdata(score[chosen])) / n
    beating = 1 - (rank[~chosen] - rankdata(score[~chosen])) / m
    area = float(beaten.mean())
    if min(m, n) > 1:
        error = sqrt(float(beaten.var(ddof=1)) / m + float(beating.var(ddof=1)) / n)
    else:
        error = sqrt(_hanley_mcneil_variance(area, m, n))
    z = _normal_quantile(level)
    if min(m, n) > 1 and error > 0 and 0 < area < 1:
        logit, half = np.log(area / (1 - area)), z * error / (area * (1 - area))
        low, high = 1 / (1 + np.exp(-logit + half)), 1 / (1 + np.exp(-logit - half))
    else:
        low, high = _newcombe(area, m, n, z)
    return AreaUnderRoc(area, error, float(low), float(high))


def _newcombe(area: float, m: int, n: int, z: float) -> tuple[float, float]:
    """Areas whose Hanley-McNeil interval just reaches the observed one (rows taken as evenly divided)."""
    even = (m + n) / 2

    def excess(candidate: float) -> float:
        variance = _hanley_mcneil_variance(candidate, even, even) * even * even / (m * n)
        return abs(area - candidate) - z * sqrt(max(variance, 0.0))

    # The variance is 0 at 0 and 1: the bracket ends just short of the observed area, which would be a root there.
    low = 0.0 if area == 0 else float(brentq(excess, 0.0, area * (1 - 1e-9)))
    high = 1.0 if area == 1 else float(brentq(excess, 1 - (1 - area) * (1 - 1e-9), 1.0))
    return low, high


def _hanley_mcneil_variance(area: float, m: float, n: float) -> float:
    both_beaten, both_beating = area / (2 - area), 2 * area * area / (1 + area)
    square = area * area
    return (area * (1 - area) + (m - 1) * (both_beaten - square) + (n - 1) * (both_beating - square)) / (m * n)


def _strata(truth: NDArray[Any]) -> list[NDArray[np.intp]]:
    codes = np.unique(truth, return_inverse=True)[1].ravel()
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)


def _proportion(successes: int, n: int) -> float:
    if n < 1 or not 0 <= successes <= n:
        raise UsageError(f"An interval of a proportion needs 0 <= successes <= n and n >= 1: got {successes} of {n}.")
    return successes / n


def _fold_scores(fold_scores: ArrayLike) -> NDArray[np.float64]:
    scores = np.asarray(fold_scores, dtype=np.float64)
    if scores.ndim != 1 or len(scores) < 2:
        raise UsageError(f"A standard error over folds needs at least two scores: got shape {scores.shape}.")
    return scores


def _checked_level(level: float) -> float:
    if not 0 < level < 1:
        raise UsageError(f"The level of an interval lies between 0 and 1: got {level}.")
    return level


def _normal_quantile(level: float) -> float:
    return float(ndtri((1 + _checked_level(level)) / 2))


def _t_quantile(level: float, freedom: int) -> float:
    return float(stdtrit(freedom, (1 + _checked_level(level)) / 2))
