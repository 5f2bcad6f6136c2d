"""ROC and precision-recall curves with their areas, thinned for drawing without changing the area."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_curve

from tonari.base.errors import UsageError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RocCurve:
    """True positive rate against false positive rate over all thresholds, and the area under it.

    Attributes
    ----------
    positive : object
        The class that counts as positive.
    fpr, tpr : ndarray
        Points of the curve from (0, 0) to (1, 1), joined by straight lines.
    auc : float
        Area under the whole curve, before thinning.

    Examples
    --------
    >>> curve = RocCurve.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], positive=1)
    >>> curve.auc, curve.fpr.tolist(), curve.tpr.tolist()
    (0.75, [0.0, 0.0, 0.5, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0])
    """

    positive: Any
    fpr: Floats
    tpr: Floats
    auc: float

    @classmethod
    def from_scores(cls, y_true: ArrayLike, y_score: ArrayLike, positive: Any, max_points: int = 500) -> RocCurve:
        """Sweep the threshold over every score.

        Parameters
        ----------
        y_true : array-like of shape (rows,)
        y_score : array-like of shape (rows,)
            Greater means more likely `positive`.
        positive : object
            The class in `y_true` that counts as positive; every other class is negative.
        max_points : int, default=500
            Points to keep at most; they lie on the curve and, at 500, enclose `auc` to within 1e-5.

        Returns
        -------
        RocCurve
        """
        fpr, tpr, _ = roc_curve(_is_positive(y_true, positive), y_score, drop_intermediate=True)
        kept = thin(fpr, tpr, max_points)
        return cls(positive, fpr[kept], tpr[kept], float(auc(fpr, tpr)))

    def to_json(self) -> dict[str, Any]:
        """The curve as `result.json` holds it."""
        return {
            "positive": str(self.positive), "fpr": self.fpr.tolist(), "tpr": self.tpr.tolist(), "auc": self.auc,
        }  # fmt: skip


@dataclass(frozen=True)
class PrecisionRecallCurve:
    """Precision against recall over all thresholds, and the average precision.

    Attributes
    ----------
    positive : object
        The class that counts as positive.
    recall, precision : ndarray
        Points of the curve by growing recall, from (0, 1); between two of them precision is that of the right one.
    average_precision : float
        Sum of precision times step in recall over the whole curve, before thinning.

    Examples
    --------
    >>> curve = PrecisionRecallCurve.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], positive=1)
    >>> round(curve.average_precision, 4), curve.recall.tolist()
    (0.8333, [0.0, 0.5, 0.5, 1.0, 1.0])
    """

    positive: Any
    recall: Floats
    precision: Floats
    average_precision: float

    @classmethod
    def from_scores(
        cls, y_true: ArrayLike, y_score: ArrayLike, positive: Any, max_points: int = 500
    ) -> PrecisionRecallCurve:
        """Sweep the threshold over every score.

        Parameters
        ----------
        y_true : array-like of shape (rows,)
        y_score : array-like of shape (rows,)
            Greater means more likely `positive`.
        positive : object
            The class in `y_true` that counts as positive; every other class is negative.
        max_points : int, default=500
            Points to keep at most; they lie on the curve and their step area differs from the average precision by
            less than 1e-3 at 500 points (steps to fewer points run below a falling curve).

        Returns
        -------
        PrecisionRecallCurve
        """
        truth = _is_positive(y_true, positive)
        precision, recall, _ = precision_recall_curve(truth, y_score)
        precision, recall = precision[::-1], recall[::-1]
        kept = thin(recall, precision, max_points, steps=True)
        return cls(positive, recall[kept], precision[kept], float(average_precision_score(truth, y_score)))

    def to_json(self) -> dict[str, Any]:
        """The curve as `result.json` holds it."""
        return {
            "positive": str(self.positive), "recall": self.recall.tolist(), "precision": self.precision.tolist(),
            "ap": self.average_precision,
        }  # fmt: skip


def thin(x: Floats, y: Floats, max_points: int, *, steps: bool = False) -> NDArray[np.intp]:
    """Choose at most `max_points` points of a curve, spread evenly along it, that enclose the same area.

    The points start at equal distances along the curve (|dx| + |dy|); one after the other is then moved between its
    neighbours, to where the area under the kept points comes nearest to the area under all.

    Parameters
    ----------
    x, y : ndarray of shape (points,)
        `x` does not decrease.
    max_points : int
        At least 2; first and last point are always kept.
    steps : bool, default=False
        True where y holds from the point before up to its own x; False where straight lines join the points.

    Returns
    -------
    ndarray of intp
        Positions to keep, ascending.
    """
    if max_points < 2:
        raise UsageError(f"A curve needs at least two points: got max_points={max_points}.")
    if len(x) <= max_points:
        return np.arange(len(x))

    def area(start: Any, end: Any) -> Any:
        return (x[end] - x[start]) * (y[end] if steps else (y[start] + y[end]) / 2)

    length = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y)))])
    kept = np.unique(np.searchsorted(length, np.linspace(0, length[-1], max_points)))
    kept[-1] = len(x) - 1
    every = np.arange(len(x))
    excess = float(area(kept[:-1], kept[1:]).sum() - area(every[:-1], every[1:]).sum())
    for i in range(1, len(kept) - 1):
        before, after = kept[i - 1], kept[i + 1]
        piece = np.arange(before + 1, after)
        left = excess + area(before, piece) + area(piece, after) - area(before, kept[i]) - area(kept[i], after)
        best = int(np.argmin(np.abs(left)))
        excess, kept[i] = float(left[best]), piece[best]
    return kept


def _is_positive(y_true: ArrayLike, positive: Any) -> NDArray[np.bool_]:
    truth: NDArray[np.bool_] = np.asarray(y_true) == positive
    if truth.all() or not truth.any():
        raise UsageError(f"A curve over thresholds needs rows of both classes: {positive!r} is on all rows or on none.")
    return truth
