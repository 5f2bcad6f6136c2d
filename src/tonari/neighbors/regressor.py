"""KNeighborsRegressor: the mean of the k nearest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.neighbors._base import KNeighborsMixin
from sklearn.utils.validation import check_is_fitted

from tonari.base.errors import ModelFileError
from tonari.base.held_out import Block
from tonari.base.threads import thread_count
from tonari.neighbors.held_out import Found, HeldOutNeighbors
from tonari.neighbors.search import NeighborsBase
from tonari.neighbors.stored import StoredNeighbors
from tonari.neighbors.voting import Lists, Voting, average, check_vote_weight, check_weights


class KNeighborsRegressor(StoredNeighbors, HeldOutNeighbors, RegressorMixin, NeighborsBase, KNeighborsMixin):
    """Predict the mean of the k nearest rows' values, the neighbours found exactly.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours that are averaged.
    weights : {"uniform", "distance", "gaussian"}, callable or None, default="uniform"
        Plain mean; weights of 1/distance (exact matches win outright); exp(-distance^2 / 2 bandwidth^2); or a callable
        that turns the array of all distances into an array of weights.
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
    bandwidth : float, default=None
        Of ``weights="gaussian"``. None: each query's distance to the last neighbour that is averaged.

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
        bandwidth: float | None = None,
    ) -> None:  # fmt: skip
        self.n_neighbors = n_neighbors
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
            What each row counts in a mean, beside what its distance says; positive. A row that counts twice is still
            one neighbour, so this is no ``sample_weight``.

        Returns
        -------
        self : KNeighborsRegressor
        """
        metric = self._check_parameters()
        check_weights(self.weights, self.bandwidth)
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
        """
        check_is_fitted(self)
        lists = Lists.of_equal_length(*self.kneighbors(X))
        means = average(lists, [self._setting()], self._y, thread_count(self.n_jobs), self._vote_weight)[0]
        return np.asarray(means[:, 0] if self._flat else means)

    def state(self) -> dict[str, NDArray[Any]]:
        """What was learned, as named arrays.

        Returns
        -------
        dict of str to ndarray
        """
        return {**super().state(), **value_state(self._y, self._flat, self._vote_weight)}

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        check_weights(self.weights, self.bandwidth)
        super()._restore(arrays)
        self._y, self._flat, self._vote_weight = restored_values(arrays, self.n_samples_fit_)

    # --- the held-out protocol --------------------------------------------------------------------------------------

    def _setting(self) -> Voting:
        check_weights(self.weights, self.bandwidth)
        return Voting(int(self.n_neighbors), self.weights, float(self.bandwidth or 0))

    def _target_for_sharing(self, y: NDArray[Any]) -> Any:
        return values_of(y), y.ndim == 1

    def _share(self, found: Found, target: Any, wants: tuple[str, ...]) -> Iterator[Block]:
        values, flat = target
        for part in found.portions(8 * values.shape[1]):
            settings = [found.settings[i] for i in part]
            means = average(found.lists, settings, values, found.threads, found.row_weights)
            yield found.block(part, None, {"predict": means[:, :, 0] if flat else means})


def values_of(y: NDArray[Any]) -> NDArray[np.float64]:
    """Values as a matrix with one column for each output.

    Parameters
    ----------
    y : ndarray of shape (n_rows,) or (n_rows, n_outputs)

    Returns
    -------
    ndarray of float64, shape (n_rows, n_outputs)
    """
    return np.ascontiguousarray(y.reshape(len(y), -1), dtype=np.float64)


def value_state(values: NDArray[np.float64], flat: bool, vote_weight: Any) -> dict[str, NDArray[Any]]:
    """Named arrays of a regressor's values and weights.

    Parameters
    ----------
    values : ndarray of float64, shape (n_rows, n_outputs)
    flat : bool
        Whether y had one dimension.
    vote_weight : ndarray of float64 or None

    Returns
    -------
    dict of str to ndarray
    """
    state = {"values": values[:, 0] if flat else values}
    return state if vote_weight is None else {**state, "vote_weight": vote_weight}


def restored_values(arrays: Mapping[str, NDArray[Any]], n_rows: int) -> tuple[NDArray[np.float64], bool, Any]:
    """What `value_state` has named, checked.

    Parameters
    ----------
    arrays : mapping of str to ndarray
    n_rows : int

    Returns
    -------
    values, flat, vote_weight
    """
    values = arrays["values"]
    if values.dtype != np.float64 or len(values) != n_rows or not np.isfinite(values).all():
        raise ModelFileError("The values must be finite float64 numbers, one for each fitted row.")
    return values_of(values), values.ndim == 1, check_vote_weight(arrays.get("vote_weight"), n_rows)
