"""What every neighbour estimator shares: fitted rows, an index over them, and the questions put to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.neighbors import BallTree, KDTree
from sklearn.utils.validation import check_is_fitted

from tonari import _core
from tonari.base.errors import ParameterTypeError, UsageError
from tonari.base.threads import thread_count
from tonari.base.validation import check_choice, check_number, check_rows, check_rows_and_labels
from tonari.neighbors.graph import check_graph, is_graph
from tonari.neighbors.metrics import MetricChoice, check_algorithm, check_sparse, resolve_metric, serves_sparse
from tonari.neighbors.pairwise import PairwiseIndex

ALGORITHMS = ("auto", "ball_tree", "kd_tree", "brute")
Groups = NDArray[np.int32] | None


class NativeIndex:
    """Rows prepared by the engine; the array must not change while this lives.

    Parameters
    ----------
    rows : ndarray of float32 or float64, C order
    metric : MetricChoice
        A native one.
    threads : int
    """

    def __init__(self, rows: NDArray[Any], metric: MetricChoice, threads: int) -> None:
        self.rows = rows
        self._metric = metric
        self._index = _core.exact_build(rows, str(metric.name), metric.p, threads)
        self._wide: NativeIndex | None = None

    def search(
        self, queries: NDArray[Any], k: int, row_groups: Groups, query_groups: Groups, threads: int
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The k nearest rows of every query, rows of its own group left out, by (distance, row).

        Parameters
        ----------
        queries : ndarray of float32 or float64
        k : int
        row_groups, query_groups : ndarray of int32 or None
        threads : int

        Returns
        -------
        distances, neighbours : ndarray of shape (n_queries, k)
        """
        index, queries = self._matched(queries, threads)
        distances = np.empty((len(queries), k))
        neighbours = np.empty((len(queries), k), dtype=np.int64)
        _core.exact_search(index, queries, distances, neighbours, row_groups, query_groups, threads)
        return distances, neighbours

    def within(
        self, queries: NDArray[Any], radius: float, row_groups: Groups, query_groups: Groups, threads: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """All rows within the radius: (indptr, rows, distances), each query's in order of (distance, row).

        Parameters
        ----------
        queries : ndarray of float32 or float64
        radius : float
        row_groups, query_groups : ndarray of int32 or None
        threads : int

        Returns
        -------
        indptr, rows, distances : ndarray
        """
        index, queries = self._matched(queries, threads)
        indptr, rows, distances = _core.exact_within(index, queries, radius, row_groups, query_groups, threads)
        return indptr, rows, distances

    def _matched(self, queries: NDArray[Any], threads: int) -> tuple[Any, NDArray[Any]]:
        # float64 queries that float32 cannot hold are asked of the rows widened to float64: no digit is lost.
        queries = np.ascontiguousarray(queries)
        if queries.dtype == self.rows.dtype:
            return self._index, queries
        with np.errstate(over="ignore"):
            cast = queries.astype(self.rows.dtype)
        if np.array_equal(cast, queries):
            return self._index, cast
        if self._wide is None:
            self._wide = NativeIndex(self.rows.astype(np.float64), self._metric, threads)
        return self._wide._index, queries


def build_index(rows: NDArray[Any], metric: MetricChoice, threads: int) -> NativeIndex | PairwiseIndex:
    """The index that serves this metric.

    Parameters
    ----------
    rows : ndarray
    metric : MetricChoice
    threads : int

    Returns
    -------
    NativeIndex or PairwiseIndex
    """
    return NativeIndex(rows, metric, threads) if metric.native else PairwiseIndex(rows, metric)


class NeighborsBase(BaseEstimator):
    """Fitted rows and the questions put to them: `kneighbors`, `radius_neighbors` and their graphs."""

    n_neighbors: Any
    algorithm: Any
    leaf_size: Any
    metric: Any
    p: Any
    metric_params: Any
    n_jobs: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = serves_sparse(self.metric)
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.positive_only = self.metric == "precomputed"
        tags.input_tags.allow_nan = self.metric == "nan_euclidean"
        return tags

    def __getstate__(self) -> dict[str, Any]:
        # The index follows from the rows: it is rebuilt on first use.
        return {name: value for name, value in super().__getstate__().items() if name != "_index"}

    def _check_parameters(self) -> MetricChoice:
        if self.n_neighbors is not None:
            check_number("n_neighbors", self.n_neighbors, least=1, whole=True)
        check_choice("algorithm", self.algorithm, ALGORITHMS)
        check_number("leaf_size", self.leaf_size, least=1, whole=True)
        if self.metric_params is not None and not isinstance(self.metric_params, dict):
            raise ParameterTypeError(
                f"The 'metric_params' parameter must be a dict or None, got {self.metric_params!r}."
            )
        choice = resolve_metric(self.metric, self.p, self.metric_params)
        check_algorithm(self.algorithm, self.metric, choice)
        return choice

    def _fit_table(self, X: Any, metric: MetricChoice) -> Any:
        """The table given to fit: that of a fitted index or tree in its place, sparse where the metric takes it."""
        if isinstance(X, NeighborsBase):
            return X._fit_X
        if isinstance(X, KDTree | BallTree):
            return np.asarray(X.data)
        if sparse.issparse(X) and metric.name != "precomputed":
            check_sparse(self.algorithm, metric)
        return X

    def _check_table(self, X: Any, metric: MetricChoice) -> Any:
        """Rows at fit, checked and our own copy."""
        return self._checked(X, metric, lambda table, **how: check_rows(self, table, reset=True, copy=True, **how))

    def _check_table_and_labels(self, X: Any, y: Any, metric: MetricChoice) -> tuple[Any, Any]:
        """Rows and labels at fit, checked and our own copy."""
        rows, y = self._checked(X, metric, lambda table, **how: check_rows_and_labels(self, table, y, **how))
        return rows, y

    def _checked(self, X: Any, metric: MetricChoice, check: Callable[..., Any]) -> Any:
        X = self._fit_table(X, metric)
        allow_nan = metric.name == "nan_euclidean"
        graph = metric.name == "precomputed" and is_graph(X)
        if graph:
            X = check_graph(X)
        return check(X, allow_nan=allow_nan, densify=not graph)

    def _fit_rows(self, rows: Any, metric: MetricChoice) -> None:
        if metric.name == "precomputed":
            if rows.shape[0] != rows.shape[1]:
                raise UsageError(
                    f"Precomputed matrix must be square. Input is a {rows.shape[0]}x{rows.shape[1]} matrix."
                )
            _check_distances(rows)
        self._fit_X: Any = rows
        self._metric = metric
        self._fit_method = "brute"
        self.effective_metric_ = metric.name
        self.effective_metric_params_ = metric.effective_params
        self.n_samples_fit_ = rows.shape[0]
        self._index: NativeIndex | PairwiseIndex = build_index(rows, metric, thread_count(self.n_jobs))

    def _opened_index(self) -> NativeIndex | PairwiseIndex:
        if "_index" not in self.__dict__:
            self._index = build_index(self._fit_X, self._metric, thread_count(self.n_jobs))
        return self._index

    def _queries(self, X: Any) -> tuple[Any, Groups, Groups]:
        """Queries and, for X=None, the groups that keep every row from being its own neighbour."""
        if X is None:
            own = np.arange(self.n_samples_fit_, dtype=np.int32)
            return self._fit_X, own, own
        if self._metric.name == "precomputed":
            if is_graph(X):
                return check_graph(X, self.n_samples_fit_), None, None
            distances = check_rows(self, X, reset=False)
            _check_distances(distances)
            return distances, None, None
        if sparse.issparse(X) and self.algorithm in ("kd_tree", "ball_tree"):
            raise UsageError(f"{self.algorithm} does not work with sparse matrices. Densify the data, or use 'brute'.")
        return check_rows(self, X, reset=False, allow_nan=self._metric.name == "nan_euclidean"), None, None

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """Find the nearest fitted rows of every query, ordered by (distance, row).

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), default=None
            Queries. None: the fitted rows themselves, and no row is its own neighbour.
        n_neighbors : int, default=None
            How many; None for the constructor's number.
        return_distance : bool, default=True
            Whether to return the distances too.

        Returns
        -------
        distances : ndarray of float64, shape (n_queries, n_neighbors)
            Only if `return_distance`.
        neighbours : ndarray of int64, shape (n_queries, n_neighbors)
            Numbers of fitted rows.
        """
        check_is_fitted(self)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        if not isinstance(k, int | np.integer) or isinstance(k, bool):
            raise TypeError(f"n_neighbors does not take {type(k)} value, enter integer value")
        if k <= 0:
            raise UsageError(f"Expected n_neighbors > 0. Got {k}")
        queries, row_groups, query_groups = self._queries(X)
        available = self.n_samples_fit_ - (X is None)
        if k > available:
            sign = "n_neighbors < n_samples_fit" if X is None else "n_neighbors <= n_samples_fit"
            raise UsageError(
                f"Expected {sign}, but n_neighbors = {k}, n_samples_fit = {self.n_samples_fit_}, "
                f"n_samples = {queries.shape[0]}"
            )
        distances, neighbours = self._opened_index().search(
            queries, int(k), row_groups, query_groups, thread_count(self.n_jobs)
        )
        return (distances, neighbours) if return_distance else neighbours

    def kneighbors_graph(self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity") -> Any:
        """The graph of nearest neighbours as a sparse matrix.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), default=None
            As in `kneighbors`.
        n_neighbors : int, default=None
        mode : {"connectivity", "distance"}, default="connectivity"
            Ones, or distances.

        Returns
        -------
        scipy.sparse.csr_matrix of shape (n_queries, n_samples_fit)
        """
        check_is_fitted(self)
        check_mode(mode)
        distances, neighbours = self.kneighbors(X, n_neighbors)
        values = np.ones(neighbours.size) if mode == "connectivity" else distances.ravel()
        indptr = np.arange(0, neighbours.size + 1, neighbours.shape[1])
        return sparse.csr_matrix((values, neighbours.ravel(), indptr), shape=(len(neighbours), self.n_samples_fit_))


def check_mode(mode: Any) -> None:
    """Refuse a graph mode that is neither ones nor distances.

    Parameters
    ----------
    mode : str
    """
    if mode not in ("connectivity", "distance"):
        raise UsageError(f'Unsupported mode, must be one of "connectivity", or "distance" but got "{mode}" instead.')


def _check_distances(distances: Any) -> None:
    if distances.size and distances.min() < 0:
        raise UsageError("Negative values in data passed to precomputed distance matrix.")
