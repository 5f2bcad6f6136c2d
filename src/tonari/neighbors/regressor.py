"""KNeighborsRegressor: the mean of the k nearest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from tonari.base.errors import ModelFileError
from tonari.base.held_out import Block
from tonari.base.threads import thread_count
from tonari.neighbors.held_out import Found, HeldOutNeighbors
from tonari.neighbors.search import NeighborsBase
from tonari.neighbors.stored import StoredNeighbors
from tonari.neighbors.voting import average, check_weights


class KNeighborsRegressor(StoredNeighbors, HeldOutNeighbors, RegressorMixin, NeighborsBase):
    """Predict the mean of the k nearest rows' values, the neighbours found exactly.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours that are averaged.
    weights : {"uniform", "distance"}, callable or None, default="uniform"
        Plain mean, or weights of 1/distance (exact matches win outright), or a callable that turns an array of
        distances into an array of weights.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        Every choice gives the same, exact answer. "auto" counts on a sample what a kd-tree would look at, and takes
        exhaustive search where that costs less; metrics that a tree cannot bound are always searched exhaustively.
    leaf_size : int, default=30
        A node of a tree with fewer than twice as many rows is a leaf.
    p : float, default=2
        Power of Minkowski.
    metric : str or callable, default="minkowski"
        As in :class:`NearestNeighbors`.
    metric_params : dict, default=None
        Further arguments of the metric.
    n_jobs : int, default=None
        Threads. None: all cores allowed to the process, and one inside a joblib worker. Never changes an answer.

    Attributes
    ----------
    effective_metric_ : str or callable
    effective_metric_params_ : dict
    n_features_in_ : int
    feature_names_in_ : ndarray of str
    n_samples_fit_ : int

    Examples
    --------
    >>> from tonari.neighbors import KNeighborsRegressor
    >>> model = KNeighborsRegressor(n_neighbors=2).fit([[0.0], [1.0], [2.0]], [0.0, 10.0, 20.0])
    >>> model.predict([[0.4]])
    array([5.])
    """

    KIND = "neighbors.KNeighborsRegressor"

    def __init__(
        self, n_neighbors: int = 5, *, weights: Any = "uniform", algorithm: str = "auto", leaf_size: int = 30,
        p: float = 2, metric: Any = "minkowski", metric_params: dict[str, Any] | None = None, n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Keep the rows and their values and prepare them for search.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) if metric="precomputed"
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Numbers.

        Returns
        -------
        self : KNeighborsRegressor
        """
        metric = self._check_parameters()
        check_weights(self.weights)
        rows, y = self._check_table_and_labels(X, y, metric)
        self._y, self._flat = _values(y), y.ndim == 1
        self._fit_rows(rows, metric)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the value of every query.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or None
            None: the fitted rows, none of which is its own neighbour.

        Returns
        -------
        ndarray of float64, shape (n_queries,) or (n_queries, n_outputs)
        """
        check_is_fitted(self)
        distances, neighbours = self.kneighbors(X)
        setting = (distances.shape[1], self.weights)
        means = average(distances, neighbours, [setting], self._y, thread_count(self.n_jobs))[0]
        return np.asarray(means[:, 0] if self._flat else means)

    def state(self) -> dict[str, NDArray[Any]]:
        """What was learned, as named arrays.

        Returns
        -------
        dict of str to ndarray
        """
        return {**super().state(), "values": self._y[:, 0] if self._flat else self._y}

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        check_weights(self.weights)
        super()._restore(arrays)
        values = arrays["values"]
        if values.dtype != np.float64 or len(values) != self.n_samples_fit_ or not np.isfinite(values).all():
            raise ModelFileError("The values must be finite float64 numbers, one for each fitted row.")
        self._y, self._flat = _values(values), values.ndim == 1

    def _target_for_sharing(self, y: NDArray[Any]) -> Any:
        return _values(y), y.ndim == 1

    def _share(self, found: Found, target: Any, wants: tuple[str, ...]) -> Iterator[Block]:
        values, flat = target
        for part in found.portions(8 * values.shape[1]):
            settings = [found.settings[i] for i in part]
            means = average(found.distances, found.neighbours, settings, values, found.threads)
            yield found.block(part, None, {"predict": means[:, :, 0] if flat else means})


def _values(y: NDArray[Any]) -> NDArray[np.float64]:
    return np.ascontiguousarray(y.reshape(len(y), -1), dtype=np.float64)
