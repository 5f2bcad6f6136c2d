"""Scores of many candidates on many splits at once, equal to what scikit-learn's functions give one by one.

Answers come as [candidate, row] arrays; `SplitRows` says which rows are a split's; scores go out as
[candidate, split] arrays, NaN where a score is not defined, or not by these formulae: there scikit-learn's own
function has the word.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning

from tonari import _core

Floats = NDArray[np.float64]

# Counts of this many (candidate, split, class) cells are held at a time: 2 x 16 MiB.
CELLS = 1 << 21

LABEL_MEASURES = ("accuracy", "balanced_accuracy", "precision", "recall", "fbeta", "jaccard", "matthews")
ERROR_MEASURES = ("squared", "root_squared", "absolute", "max", "r2", "explained_variance")

# What scikit-learn calls a measure when it warns, and what a label with a zero denominator lacks.
_ILL_DEFINED = {
    "precision": ("Precision", "predicted"),
    "recall": ("Recall", "true"),
    "fbeta": ("F-score", "true nor predicted"),
    "jaccard": ("Jaccard", "true or predicted"),
}


@dataclass(frozen=True)
class SplitRows:
    """The rows of each split among the columns of an array of answers.

    Attributes
    ----------
    order : ndarray of int64
        Positions of the rows, split after split.
    starts : ndarray of int64
        Split s holds ``order[starts[s]:starts[s + 1]]``, at least one row.
    """

    order: NDArray[np.int64]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Rows of each split."""
        return np.diff(self.starts)

    @classmethod
    def single(cls, n_rows: int) -> SplitRows:
        """All rows, in their order, are one split's."""
        return cls(np.arange(n_rows, dtype=np.int64), np.array([0, n_rows], dtype=np.int64))

    def part(self, begin: int, end: int) -> SplitRows:
        """Splits from `begin` up to `end`, as splits of the same answers."""
        starts = self.starts[begin : end + 1]
        return SplitRows(self.order[starts[0] : starts[-1]], starts - starts[0])

    def means(self, values: Floats) -> Floats:
        """Mean over each split of values given as [candidate, row]."""
        return np.asarray(np.add.reduceat(values[:, self.order], self.starts[:-1], axis=1) / self.sizes)


@dataclass(frozen=True)
class LabelMeasure:
    """A measure of predicted labels that counts decide.

    Attributes
    ----------
    name : one of LABEL_MEASURES
    average : {"binary", "micro", "macro", "weighted"}
        For precision, recall, fbeta and jaccard.
    beta : float
        For fbeta; finite and positive.
    positive : int
        Code of the class that ``average="binary"`` is about.
    zero_division : {"warn", 0, 1}
    """

    name: str
    average: Literal["binary", "micro", "macro", "weighted"] = "macro"
    beta: float = 1.0
    positive: int = 1
    zero_division: Literal["warn"] | float = "warn"


def label_scores(
    codes: NDArray[np.int32],
    truth: NDArray[np.int32],
    rows: SplitRows,
    n_classes: int,
    measures: Sequence[LabelMeasure],
) -> list[Floats]:
    """Score predicted labels by several measures from one set of counts.

    Parameters
    ----------
    codes : ndarray of int32 of shape (candidates, rows)
    truth : ndarray of int32 of shape (rows,)
        Codes, like `codes`, in ``[0, n_classes)``.
    rows : SplitRows
    n_classes : int
    measures : sequence of LabelMeasure

    Returns
    -------
    list of ndarray of shape (candidates, splits)

    Examples
    --------
    >>> codes = np.array([[0, 1, 1], [0, 0, 0]], dtype=np.int32)
    >>> truth = np.array([0, 1, 0], dtype=np.int32)
    >>> label_scores(codes, truth, SplitRows.single(3), 2, [LabelMeasure("accuracy"), LabelMeasure("recall")])
    [array([[0.67], [0.67]]), array([[0.75], [0.5 ]])]
    """
    shape = (len(codes), len(rows))
    scores = [np.empty(shape) for _ in measures]
    if any(measure.name == "accuracy" for measure in measures):
        hits = np.empty(shape, dtype=np.int64)
        _core.score_hits(codes, truth, rows.order, rows.starts, hits)
    if any(measure.name != "accuracy" for measure in measures):
        for candidates, splits, counts in _counts(codes, truth, rows, n_classes):
            for measure, out in zip(measures, scores, strict=True):
                if measure.name != "accuracy":
                    out[candidates, splits] = counts.score(measure)
    for measure, out in zip(measures, scores, strict=True):
        if measure.name == "accuracy":
            out[:] = hits / rows.sizes
    return scores


@dataclass(frozen=True)
class _Counts:
    """Rows by class: answered rightly, answered with it, and truly of it; the last has one candidate only."""

    hits: Floats
    predicted: Floats
    true: Floats

    def score(self, measure: LabelMeasure) -> Floats:
        if measure.name == "balanced_accuracy":
            return self._balanced_accuracy()
        if measure.name == "matthews":
            return self._matthews()
        hits, predicted, true = self._chosen(measure)
        beta2 = measure.beta**2
        numerator, denominator = {
            "precision": (hits, predicted),
            "recall": (hits, np.broadcast_to(true, hits.shape)),
            "fbeta": ((1 + beta2) * hits, beta2 * true + predicted),
            "jaccard": (hits, predicted + true - hits),
        }[measure.name]
        return self._average(measure, numerator, denominator)

    def _present(self) -> NDArray[np.bool_]:
        return (self.predicted + self.true) > 0

    def _chosen(self, measure: LabelMeasure) -> tuple[Floats, Floats, Floats]:
        counts = (self.hits, self.predicted, self.true)
        if measure.average == "binary":
            hits, predicted, true = (count[..., measure.positive, np.newaxis] for count in counts)
        elif measure.average == "micro":
            hits, predicted, true = (count.sum(axis=-1, keepdims=True) for count in counts)
        else:
            hits, predicted, true = counts
        return hits, predicted, true

    def _average(self, measure: LabelMeasure, numerator: Floats, denominator: Floats) -> Floats:
        asked = np.ones_like(numerator, dtype=bool) if measure.average in ("binary", "micro") else self._present()
        empty = denominator == 0
        values = np.where(empty, 0.0 if measure.zero_division == "warn" else float(measure.zero_division), 0.0)
        np.divide(numerator, denominator, out=values, where=~empty)
        values[~asked] = 0.0
        if measure.zero_division == "warn":
            _warn_of_ill_defined(measure, empty & asked, asked)
        if measure.average == "weighted":
            return np.asarray((values * self.true).sum(axis=-1) / self.true.sum(axis=-1))
        return np.asarray(values.sum(axis=-1) / asked.sum(axis=-1))

    def _balanced_accuracy(self) -> Floats:
        true = np.broadcast_to(self.true, self.hits.shape)
        occurs = true > 0
        if ((self.predicted > 0) & ~occurs).any():
            warnings.warn("y_pred contains classes not in y_true", UserWarning, stacklevel=2)
        recall = np.divide(self.hits, true, out=np.zeros_like(self.hits), where=occurs)
        return np.asarray(recall.sum(axis=-1) / occurs.sum(axis=-1))

    def _matthews(self) -> Floats:
        hits, total = self.hits.sum(axis=-1), self.true.sum(axis=-1)
        covariance = hits * total - (self.true * self.predicted).sum(axis=-1)
        spread = (total**2 - (self.predicted**2).sum(axis=-1)) * (total**2 - (self.true**2).sum(axis=-1))
        return np.asarray(np.divide(covariance, np.sqrt(spread), out=np.zeros_like(covariance), where=spread != 0))


def _counts(
    codes: NDArray[np.int32], truth: NDArray[np.int32], rows: SplitRows, n_classes: int
) -> Iterator[tuple[slice, slice, _Counts]]:
    """Counts of some candidates on some splits at a time, within `CELLS`."""
    n_splits = max(1, min(len(rows), CELLS // n_classes))
    n_candidates = max(1, CELLS // (n_classes * n_splits))
    for begin in range(0, len(rows), n_splits):
        part = rows.part(begin, min(begin + n_splits, len(rows)))
        true = _count(truth[np.newaxis], truth, part, n_classes)[0]
        for first in range(0, len(codes), n_candidates):
            some = codes[first : first + n_candidates]
            counts = _Counts(*_count(some, truth, part, n_classes), true)
            yield slice(first, first + len(some)), slice(begin, begin + len(part)), counts


def _count(
    codes: NDArray[np.int32], truth: NDArray[np.int32], rows: SplitRows, n_classes: int
) -> tuple[Floats, Floats]:
    hits = np.empty((len(codes), len(rows), n_classes), dtype=np.int64)
    predicted = np.empty_like(hits)
    _core.score_counts(codes, truth, rows.order, rows.starts, n_classes, hits, predicted)
    return hits.astype(np.float64), predicted.astype(np.float64)


def _warn_of_ill_defined(measure: LabelMeasure, empty: NDArray[np.bool_], asked: NDArray[np.bool_]) -> None:
    """scikit-learn's words, once for all candidates and splits instead of once for each."""
    if not empty.any():
        return
    name, lacking = _ILL_DEFINED[measure.name]
    several = bool((asked.sum(axis=-1)[empty.any(axis=-1)] > 1).any())
    where = f"in labels with no {lacking} samples" if several else f"due to no {lacking} samples"
    warnings.warn(
        f"{name} is ill-defined and being set to 0.0 {where}. Use `zero_division` parameter to control this behavior.",
        UndefinedMetricWarning, stacklevel=2,
    )  # fmt: skip


def error_scores(values: Floats, truth: Floats, rows: SplitRows, measures: Sequence[str]) -> list[Floats]:
    """Score predicted values by several measures from one set of sums.

    Parameters
    ----------
    values : ndarray of float64 of shape (candidates, rows)
    truth : ndarray of float64 of shape (rows,)
    rows : SplitRows
    measures : sequence of ERROR_MEASURES

    Returns
    -------
    list of ndarray of shape (candidates, splits)
        NaN where an answer is not finite, where the truth of a split varies too little to be divided by, and for R
        squared of a single row.

    Examples
    --------
    >>> truth = np.array([1.0, 2.0, 4.0])
    >>> error_scores(truth[np.newaxis] + 1, truth, SplitRows.single(3), ["absolute", "explained_variance"])
    [array([[1.]]), array([[1.]])]
    """
    sums = _error_sums(values, truth, rows)
    squared, absolute, largest, spread = np.moveaxis(sums, 2, 0)
    sizes = rows.sizes
    scores: list[Floats] = []
    for measure in measures:
        if measure == "squared":
            scores.append(squared / sizes)
        elif measure == "root_squared":
            scores.append(np.sqrt(squared / sizes))
        elif measure == "absolute":
            scores.append(absolute / sizes)
        elif measure == "max":
            scores.append(largest.copy())
        else:
            total_squares, _, _, total_spread = np.moveaxis(_error_sums(np.zeros((1, len(truth))), truth, rows), 2, 0)
            # Below this the mean's own rounding is what varies.
            varies = total_spread > 1e-20 * total_squares
            explained = squared if measure == "r2" else spread
            score = np.where(explained == 0, 0.0, np.nan)
            np.divide(explained, total_spread, out=score, where=np.broadcast_to(varies, score.shape))
            scores.append(np.where((sizes < 2) & (measure == "r2"), np.nan, 1.0 - score))
    if "r2" in measures and (sizes < 2).any():
        warnings.warn("R^2 score is not well-defined with less than two samples.", UndefinedMetricWarning, stacklevel=2)
    finite = np.isfinite(squared)
    return [np.where(finite, score, np.nan) for score in scores]


def _error_sums(values: Floats, truth: Floats, rows: SplitRows) -> Floats:
    sums = np.empty((len(values), len(rows), 4))
    _core.score_errors(values, truth, rows.order, rows.starts, sums)
    return sums


def ranking_scores(values: Floats, positive: NDArray[np.bool_], rows: SplitRows) -> tuple[Floats, Floats]:
    """Area under the ROC curve, and average precision, of values as scores for the positive rows.

    Parameters
    ----------
    values : ndarray of float64 of shape (candidates, rows)
        Finite.
    positive : ndarray of bool of shape (rows,)
    rows : SplitRows

    Returns
    -------
    roc_auc, average_precision : ndarray of shape (candidates, splits)
        NaN where a split lacks positives (both) or negatives (the first).

    Examples
    --------
    >>> ranking_scores(np.array([[0.1, 0.4, 0.35, 0.8]]), np.array([False, False, True, True]), SplitRows.single(4))
    (array([[0.75]]), array([[0.83]]))
    """
    areas = np.empty((len(values), len(rows), 2))
    _core.score_ranking(values, positive.astype(np.uint8), rows.order, rows.starts, areas)
    return areas[:, :, 0], areas[:, :, 1]


def log_losses(proba: Floats, column: NDArray[np.intp], rows: SplitRows) -> Floats:
    """Mean of minus the logarithm of the probability that was given to the true class.

    Parameters
    ----------
    proba : ndarray of float64 of shape (candidates, rows, classes)
    column : ndarray of intp of shape (rows,)
        Column of the true class.
    rows : SplitRows

    Returns
    -------
    ndarray of shape (candidates, splits)
        NaN where probabilities do not sum to one.

    Examples
    --------
    >>> log_losses(np.array([[[0.5, 0.5], [0.25, 0.75]]]), np.array([0, 1]), SplitRows.single(2))
    array([[0.49]])
    """
    eps = np.finfo(np.float64).eps
    given = np.take_along_axis(proba, column[np.newaxis, :, np.newaxis], axis=2)[:, :, 0]
    return _where_probable(proba, rows, rows.means(-np.log(np.clip(given, eps, 1 - eps))))


def brier_losses(proba: Floats, positive: NDArray[np.bool_], rows: SplitRows) -> Floats:
    """Mean squared distance between the probability of the second of two classes and what came true.

    Parameters
    ----------
    proba : ndarray of float64 of shape (candidates, rows, 2)
    positive : ndarray of bool of shape (rows,)
    rows : SplitRows

    Returns
    -------
    ndarray of shape (candidates, splits)
        NaN where probabilities do not sum to one.

    Examples
    --------
    >>> brier_losses(np.array([[[0.5, 0.5], [0.25, 0.75]]]), np.array([False, True]), SplitRows.single(2))
    array([[0.16]])
    """
    return _where_probable(proba, rows, rows.means((positive - proba[:, :, 1]) ** 2))


def _where_probable(proba: Floats, rows: SplitRows, scores: Floats) -> Floats:
    sound = (np.abs(proba.sum(axis=2) - 1.0) <= 1e-8) & (proba >= 0).all(axis=2)
    unsound = np.add.reduceat(~sound[:, rows.order], rows.starts[:-1], axis=1, dtype=np.int64) > 0
    return np.where(unsound, np.nan, scores)
