"""RadiusNeighborsRegressor: the mean of all rows within a radius."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from tonari.base.threads import thread_count
from tonari.base.validation import check_number
from tonari.neighbors.radius import RadiusOnly
from tonari.neighbors.regressor import restored_values, value_state, values_of
from tonari.neighbors.search import NeighborsBase
from tonari.neighbors.stored import StoredNeighbors
from tonari.neighbors.voting import ALL, Voting, average, check_vote_weight, check_weights


class RadiusNeighborsRegressor(StoredNeighbors, RadiusOnly, RegressorMixin, NeighborsBase):
    """Predict the mean of the values of all rows within a radius, found exactly.

    Parameters
    ----------
    radius : float, default=1.0
        Rows at most this far away are averaged.
    weights : {"uniform", "distance", "gaussian"}, callable or None, default="uniform"
        Plain mean; weights of 1/distance (exact matches win outright); exp(-distance^2 / 2 bandwidth^2); or a callable
        that turns the flat array of all distances into an array of weights.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        As in :class:`NearestNeighbors`.
    leaf_size : int, default=30
        As in :class:`NearestNeighbors`.
    p : float, default=2
        Power of Minkowski.
    metric : str or callable, default="minkowski"
        As in :class:`NearestNeighbors`.
    metric_params : dict, default=None
        Further arguments of the metric.
    n_jobs : int, default=None
        Threads. None: all cores allowed to the process, and one inside a joblib worker. Never changes an answer.
    bandwidth : float, default=None
        Of ``weights="gaussian"``. None: the radius.

    Attributes
    ----------
    effective_metric_ : str or callable
    effective_metric_params_ : dict
    n_features_in_ : int
    feature_names_in_ : ndarray of str
    n_samples_fit_ : int

    Examples
    --------
    >>> from tonari.neighbors import RadiusNeighborsRegressor
    >>> model = RadiusNeighborsRegressor(radius=1.0).fit([[0.0], [1.0], [2.0]], [0.0, 10.0, 20.0])
    >>> model.predict([[0.4]])
    array([5.])
    """

    KIND = "neighbors.RadiusNeighborsRegressor"

    def __init__(
        self, radius: float = 1.0, *, weights: Any = "uniform", algorithm: str = "auto", leaf_size: int = 30,
        p: float = 2, metric: Any = "minkowski", metric_params: dict[str, Any] | None = None, n_jobs: int | None = None,
        bandwidth: float | None = None,
    ) -> None:  # fmt: skip
        self.radius = radius
        self.weights = weights
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.bandwidth = bandwidth

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any, vote_weight: Any = None) -> Self:
        """Keep the rows and their values and prepare them for search.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) if metric="precomputed"
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Numbers.
        vote_weight : array-like of shape (n_samples,), default=None
            What each row counts in a mean, beside what its distance says; positive.

        Returns
        -------
        self : RadiusNeighborsRegressor
        """
        metric = self._check_parameters()
        self._check_averaging()
        rows, y = self._check_table_and_labels(X, y, metric)
        self._y, self._flat = values_of(y), y.ndim == 1
        self._vote_weight = check_vote_weight(vote_weight, len(y))
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
            NaN, and a warning, where no row lies within the radius.
        """
        check_is_fitted(self)
        lists = self._within(X, self.radius)
        setting = Voting(ALL, self.weights, float(self.bandwidth or self.radius))
        means = average(lists, [setting], self._y, thread_count(self.n_jobs), self._vote_weight)[0]
        if (lists.counts == 0).any():
            warnings.warn(
                "One or more samples have no neighbors within specified radius; predicting NaN.", stacklevel=2
            )
        return np.asarray(means[:, 0] if self._flat else means)

    def state(self) -> dict[str, NDArray[Any]]:
        """What was learned, as named arrays.

        Returns
        -------
        dict of str to ndarray
        """
        return {**super().state(), **value_state(self._y, self._flat, self._vote_weight)}

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._check_averaging()
        super()._restore(arrays)
        self._y, self._flat, self._vote_weight = restored_values(arrays, self.n_samples_fit_)

    def _check_averaging(self) -> None:
        check_number("radius", self.radius, least=0)
        check_weights(self.weights, self.bandwidth)
