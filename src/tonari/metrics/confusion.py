"""Confusion matrices, and the measures that follow from their counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import confusion_matrix


class Confused(NamedTuple):
    """How many rows of one class were taken for another, and which share of that class they are."""

    truth: Any
    prediction: Any
    rows: int
    share: float


@dataclass(frozen=True)
class Confusion:
    """Counts of (truth, prediction), and the measures that follow from them.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    counts : ndarray of shape (n_classes, n_classes)
        ``counts[i, j]`` rows of class ``classes[i]`` were taken for ``classes[j]``: truth in rows, as in scikit-learn.

    Examples
    --------
    >>> confusion = Confusion.from_predictions(["a", "a", "b", "b"], ["a", "b", "b", "b"])
    >>> confusion.accuracy, confusion.recall.tolist()
    (0.75, [0.5, 1.0])
    """

    classes: NDArray[Any]
    counts: NDArray[np.int64]

    @classmethod
    def from_predictions(cls, y_true: ArrayLike, y_pred: ArrayLike, classes: ArrayLike | None = None) -> Confusion:
        """Count pairs of truth and prediction.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (rows,)
        classes : array-like or None, default=None
            Order of rows and columns; None means every class in either, sorted. A class outside is not counted.

        Returns
        -------
        Confusion

        Examples
        --------
        >>> Confusion.from_predictions(["a", "b", "b"], ["a", "a", "b"]).counts.tolist()
        [[1, 0], [1, 1]]
        """
        if classes is None:
            classes = np.unique(np.concatenate([np.asarray(y_true), np.asarray(y_pred)]))
        labels = np.asarray(classes)
        return cls(labels, confusion_matrix(y_true, y_pred, labels=labels).astype(np.int64))

    @property
    def accuracy(self) -> float:
        """Share of rows on the diagonal."""
        return float(self.counts.trace() / self.counts.sum())

    @property
    def balanced_accuracy(self) -> float:
        """Mean recall over the classes that occur."""
        return float(np.nanmean(self.recall))

    @property
    def recall(self) -> NDArray[np.float64]:
        """Share of each class's rows that were recognised; NaN for a class without rows."""
        return _ratio(self.counts.diagonal(), self.counts.sum(axis=1))

    @property
    def precision(self) -> NDArray[np.float64]:
        """Share of each class's predictions that were right; NaN for a class that was never predicted."""
        return _ratio(self.counts.diagonal(), self.counts.sum(axis=0))

    @property
    def f1(self) -> NDArray[np.float64]:
        """Harmonic mean of precision and recall, 2 TP / (2 TP + FP + FN); NaN for a class that occurs nowhere."""
        return _ratio(2 * self.counts.diagonal(), self.counts.sum(axis=0) + self.counts.sum(axis=1))

    def per_class(self) -> list[dict[str, Any]]:
        """One JSON-ready row for each class: label, precision, recall, f1 (None where undefined) and its true rows.

        Examples
        --------
        >>> Confusion.from_predictions(["a", "b", "b"], ["a", "a", "a"]).per_class()[1]
        {'label': 'b', 'precision': None, 'recall': 0.0, 'f1': 0.0, 'rows': 2}
        """
        return [
            {
                "label": str(label),
                "precision": _defined(precision),
                "recall": _defined(recall),
                "f1": _defined(f1),
                "rows": int(rows),
            }
            for label, precision, recall, f1, rows in zip(
                self.classes, self.precision, self.recall, self.f1, self.counts.sum(axis=1), strict=True
            )
        ]

    def most_confused(self, n: int) -> list[Confused]:
        """The `n` pairs of classes with the most mistaken rows, most first, then in the order of the matrix.

        Examples
        --------
        >>> Confusion.from_predictions(["a", "b", "b"], ["a", "a", "a"]).most_confused(3)
        [Confused(truth='b', prediction='a', rows=2, share=1.0)]
        """
        mistaken = self.counts.copy()
        np.fill_diagonal(mistaken, 0)
        order = np.argsort(-mistaken, axis=None, kind="stable")[:n]
        truths, predictions = np.unravel_index(order[mistaken.ravel()[order] > 0], mistaken.shape)
        labels, totals = self.classes.tolist(), self.counts.sum(axis=1)
        return [
            Confused(labels[i], labels[j], int(mistaken[i, j]), float(mistaken[i, j] / totals[i]))
            for i, j in zip(truths, predictions, strict=True)
        ]


def _ratio(part: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.float64]:
    result = np.full(len(part), np.nan)
    np.divide(part, whole, out=result, where=whole > 0)
    return result


def _defined(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
