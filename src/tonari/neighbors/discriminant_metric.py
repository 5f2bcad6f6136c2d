"""DiscriminantMetric: a distance that counts most where the class means lie apart, in closed form.

Given   rows, labels; W, the covariance within classes, and B, that of the class means weighted by their rows
Gives   the distance  (x - z)' W^-1/2 (B* + epsilon I) W^-1/2 (x - z),  B* = W^-1/2 B W^-1/2
        (discriminant adaptive metric, Hastie and Tibshirani 1996, with all rows as the neighbourhood). As a linear map:
        A = diag(sqrt(lambda + epsilon)) V'  with  B V = W V diag(lambda)  and  V' W V = I
First   columns are divided by their deviation, and W is mixed with a multiple of the identity: neither units nor
        constant, copied or dependent columns, nor more columns than rows are any trouble
Time    rows * columns^2 + columns^3;  memory: one copy of the rows in float64, a few matrices of columns^2
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from tonari.base.errors import UsageError
from tonari.base.threads import one_blas_thread
from tonari.base.validation import check_number
from tonari.neighbors.linear_map import LinearMap

#: Share of the identity that W keeps with shrinkage=0, so that dependent columns have an inverse.
LEAST_SHRINKAGE = 1e-9


class DiscriminantMetric(LinearMap):
    """Learn a distance for nearest neighbours in closed form: tens of thousands of rows in seconds.

    Directions in which class means lie apart weigh more; all others weigh as their spread within classes says. It sees
    means only: classes that differ otherwise are a case for :class:`NeighborhoodComponentsAnalysis`.

    Parameters
    ----------
    n_components : int, default=None
        The directions that separate the classes most. None: as many as columns.
    epsilon : float, default=1.0
        Weight of a direction in which class means do not differ; 0 leaves Fisher's discriminant directions alone.
    shrinkage : float, default=0.1
        Share of the identity, times the mean variance, in the covariance within classes; at most 1.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
    separations_ : ndarray of shape (n_components,)
        Variance between the class means over that within classes, along each component, descending.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from tonari.neighbors import DiscriminantMetric, KNeighborsClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> plain = KNeighborsClassifier(3).fit(X[::2], y[::2])
    >>> learned = make_pipeline(DiscriminantMetric(), KNeighborsClassifier(3)).fit(X[::2], y[::2])
    >>> plain.score(X[1::2], y[1::2]) < 0.8, learned.score(X[1::2], y[1::2]) > 0.9
    (True, True)
    """

    KIND = "neighbors.DiscriminantMetric"

    def __init__(self, n_components: int | None = None, *, epsilon: float = 1.0, shrinkage: float = 0.1) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.shrinkage = shrinkage

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the map.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)

        Returns
        -------
        self : DiscriminantMetric
        """
        self._check_parameters()
        rows, codes = self._check_table(X, y)
        spread = rows.std(axis=0)
        # A constant column far from zero may keep the rounding of its mean, the same in every row.
        constant = (rows == rows[0]).all(axis=0) | (spread == 0)
        rows[:, constant] = 0.0
        spread[constant] = 1.0
        rows /= spread
        with one_blas_thread():
            within, between = _covariances(rows, codes)
            columns = len(within)
            share = max(float(self.shrinkage), LEAST_SHRINKAGE)
            # Columns have variance 1; where next to nothing of it is within classes, W must not vanish.
            level = max(float(np.trace(within)) / columns, LEAST_SHRINKAGE)
            within *= 1.0 - share
            within[np.diag_indices(columns)] += share * level
            kept = columns if self.n_components is None else int(self.n_components)
            separations, vectors = scipy.linalg.eigh(between, within, subset_by_index=[columns - kept, columns - 1])
        separations, directions = np.maximum(separations[::-1], 0.0), vectors.T[::-1]
        # An eigenvector's sign is arbitrary: its largest element is made positive.
        directions *= np.sign(directions[np.arange(kept), np.abs(directions).argmax(axis=1)])[:, None]
        self.separations_ = separations
        self.components_ = np.ascontiguousarray(np.sqrt(separations + self.epsilon)[:, None] * directions / spread)
        return self

    def _check_parameters(self) -> None:
        check_number("epsilon", self.epsilon, least=0)
        check_number("shrinkage", self.shrinkage, least=0)
        if self.shrinkage > 1 or self.epsilon == np.inf:
            raise UsageError(
                f"shrinkage={self.shrinkage!r} must be at most 1, and epsilon={self.epsilon!r} must be finite."
            )

    def state(self) -> dict[str, NDArray[Any]]:
        """What was learned, as named arrays.

        Returns
        -------
        dict of str to ndarray
        """
        return {**super().state(), "separations": self.separations_}

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._check_parameters()
        super()._restore(arrays)
        self.separations_ = np.asarray(arrays["separations"], dtype=np.float64)


def _covariances(
    rows: NDArray[np.float64], codes: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Within classes, and of the class means around zero; `rows` keep what is left without the means."""
    means = np.empty((int(codes.max()) + 1, rows.shape[1]))
    counts = np.bincount(codes)
    order = np.argsort(codes, kind="stable")
    for code, members in enumerate(np.split(order, np.cumsum(counts)[:-1])):
        part = rows[members]
        means[code] = part.mean(axis=0)
        rows[members] = part - means[code]
    return rows.T @ rows / len(rows), (means.T * counts) @ means / len(rows)
