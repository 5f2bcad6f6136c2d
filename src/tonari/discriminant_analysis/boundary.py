"""The explicit boundary between two classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Boundary:
    """The set where two classes are equally likely: ``b - w'x + x'Mx = 0``; the first class is where it is positive.

    Attributes
    ----------
    b : float
    w : ndarray of shape (n_features,)
    M : ndarray of shape (n_features, n_features)
        Symmetric; zero where both classes have the same covariance, and the boundary is then a line or plane.

    Examples
    --------
    >>> line = Boundary(1.0, np.array([2.0]), np.array([[0.0]]))
    >>> line.value([[0.0], [0.5], [1.0]])
    array([ 1.,  0., -1.])
    """

    b: float
    w: NDArray[np.float64]
    M: NDArray[np.float64]

    def value(self, X: Any) -> NDArray[np.float64]:
        """Twice the logarithm of how many times likelier the first class is than the second.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        rows = np.asarray(X, dtype=np.float64)
        return np.asarray(self.b - rows @ self.w + ((rows @ self.M) * rows).sum(axis=1))


def boundary_between(
    first: int, second: int, mean: NDArray[np.float64], covariance: NDArray[np.float64], logdet: NDArray[np.float64],
    log_priors: NDArray[np.float64],
) -> Boundary:  # fmt: skip
    """The lecture's b, w and M of two classes.

    Parameters
    ----------
    first, second : int
        Positions among the classes.
    mean : ndarray of shape (n_classes, n_features)
    covariance : ndarray of shape (n_classes, n_features, n_features)
    logdet, log_priors : ndarray of shape (n_classes,)

    Returns
    -------
    Boundary
    """
    inverse = [_inverse(covariance[k]) for k in (first, second)]
    pulled = [inverse[i] @ mean[k] for i, k in enumerate((first, second))]
    b = 2 * (log_priors[first] - log_priors[second]) - (logdet[first] - logdet[second])
    b += mean[second] @ pulled[1] - mean[first] @ pulled[0]
    same = np.array_equal(covariance[first], covariance[second])
    M = np.zeros_like(inverse[0]) if same else inverse[1] - inverse[0]
    return Boundary(float(b), 2 * (pulled[1] - pulled[0]), M)


def _inverse(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Inverse after columns are divided by their deviations; columns without any take no part."""
    spread = np.sqrt(np.diagonal(covariance))
    used = spread > 0
    inverse = np.zeros_like(covariance)
    scale = spread[used]
    found = np.linalg.inv(covariance[np.ix_(used, used)] / scale[:, None] / scale) / scale[:, None] / scale
    inverse[np.ix_(used, used)] = (found + found.T) / 2
    return inverse
