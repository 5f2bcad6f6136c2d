"""Paths: logistic regression over its penalty, the perceptron over its epochs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tonari.base.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class LogisticPath:
    """Solutions along the penalty, each started from its neighbour's.

    Attributes
    ----------
    Cs : ndarray of shape (n_Cs,)
        As they were given.
    coef : ndarray of shape (n_Cs, n_outputs, n_features)
    intercept : ndarray of shape (n_Cs, n_outputs)
    gradient_norms : ndarray of shape (n_Cs,)
        Largest element of the gradient at each solution, the certificate of `LogisticRegression`.

    Examples
    --------
    >>> from tonari.linear_model import LogisticRegression
    >>> path = LogisticRegression().path([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1], Cs=[0.1, 1.0, 10.0])
    >>> path.coef[:, 0, 0].round(2)
    array([0.09, 0.45, 0.82])
    """

    Cs: NDArray[np.float64]
    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    gradient_norms: NDArray[np.float64]


@dataclass(frozen=True)
class PerceptronPath:
    """The perceptron's weights after every epoch.

    Attributes
    ----------
    epochs : ndarray of int64, shape (n_epochs,)
    coef : ndarray of shape (n_epochs, n_outputs, n_features)
    intercept : ndarray of shape (n_epochs, n_outputs)
    errors : ndarray of int64, shape (n_epochs, n_outputs)
        Training errors of the weights at the end of the epoch; 0 from where it stopped.

    Examples
    --------
    >>> from tonari.linear_model import PerceptronClassifier
    >>> path = PerceptronClassifier(4, keep="last").path([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0, 0, 1])
    >>> path.errors[:, 0]
    array([2, 1, 0, 0])
    """

    epochs: NDArray[np.int64]
    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    errors: NDArray[np.int64]

    def plot(self, X: Any, y: Any, *, output: int = 0, ax: Axes | None = None) -> Axes:
        """Draw two columns of rows and the line after every epoch, the first ones pale (needs matplotlib).

        Parameters
        ----------
        X : array-like of shape (n_rows, 2)
        y : array-like of shape (n_rows,)
        output : int, default=0
            Which class's line; with two classes there is one.
        ax : matplotlib Axes, default=None

        Returns
        -------
        matplotlib Axes
        """
        rows, labels = np.asarray(X, dtype=np.float64), np.asarray(y)
        if rows.ndim != 2 or rows.shape[1] != 2 or self.coef.shape[2] != 2:
            raise UsageError("The line can be drawn over two columns.", "Fit the perceptron on two columns.")
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots()[1]
        for marker, label in zip("os^Dv" * len(labels), np.unique(labels).tolist(), strict=False):
            ax.plot(*rows[labels == label].T, marker, linestyle="none", markersize=4, label=str(label))
        low, high = rows.min(axis=0), rows.max(axis=0)
        margin = 0.05 * (high - low) + 1e-12
        ax.set_xlim(low[0] - margin[0], high[0] + margin[0])
        ax.set_ylim(low[1] - margin[1], high[1] + margin[1])
        for i, epoch in enumerate(self.epochs.tolist()):
            w, b = self.coef[i, output], self.intercept[i, output]
            if not w.any():
                continue
            # The point of the line nearest to the origin, and its direction.
            shade = 0.15 + 0.85 * (i + 1) / len(self.epochs)
            label = f"after {epoch} epochs" if i + 1 == len(self.epochs) else None
            ax.axline(-b * w / (w @ w), -b * w / (w @ w) + [-w[1], w[0]], color="black", alpha=shade, lw=1, label=label)
        ax.legend()
        return ax
