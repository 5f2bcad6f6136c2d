"""What every neighbour estimator shares: fitted rows, an index over them, and the questions put to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.neighbors import BallTree as SklearnBallTree
from sklearn.neighbors import KDTree as SklearnKDTree
from sklearn.utils.validation import check_is_fitted

from tonari import _core
from tonari.base.errors import ParameterTypeError, UsageError
from tonari.base.threads import thread_count
from tonari.base.validation import check_choice, check_number, check_rows, check_rows_and_labels, dense
from tonari.neighbors.bits import bit_index
from tonari.neighbors.graph import check_graph, is_graph
from tonari.neighbors.index import Groups, Index, Lists, Nearest, Radius, radii_of
from tonari.neighbors.mapped import MappedIndex, Mapping, mapping_for
from tonari.neighbors.metrics import (
    BITS,
    MetricChoice,
    check_algorithm,
    check_sparse,
    keeps_sparse,
    resolve_metric,
    serves_sparse,
)
from tonari.neighbors.pairwise import PairwiseIndex
from tonari.neighbors.space_tree import SpaceTreeIndex, pays, serves
from tonari.neighbors.sparse import SparseIndex, well_filled
from tonari.neighbors.trees import BallTree, KDTree

ALGORITHMS = ("auto", "ball_tree", "kd_tree", "brute")


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

    def search(self, queries: Any, k: int, row_groups: Groups, query_groups: Groups, threads: int) -> Nearest:
        """See :class:`Index`."""
        index, queries = self._matched(queries, threads)
        distances = np.empty((len(queries), k))
        neighbours = np.empty((len(queries), k), dtype=np.int64)
        _core.exact_search(index, queries, distances, neighbours, row_groups, query_groups, threads)
        return distances, neighbours

    def within(self, queries: Any, radius: Radius, row_groups: Groups, query_groups: Groups, threads: int) -> Lists:
        """See :class:`Index`."""
        index, queries = self._matched(queries, threads)
        radii = radii_of(radius, len(queries))
        indptr, rows, distances = _core.exact_within(index, queries, radii, row_groups, query_groups, threads)
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


def build_index(rows: Any, metric: MetricChoice, threads: int, algorithm: str = "auto", leaf_size: int = 30) -> Index:
    """The index that serves this metric: every choice gives the same answer.

    Parameters
    ----------
    rows : ndarray or CSR matrix
    metric : MetricChoice
    threads : int
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        A tree where boxes and balls bound the metric; "auto" builds a kd-tree where a probe says that it pays.
    leaf_size : int, default=30

    Returns
    -------
    Index
    """
    if metric.name == "precomputed":
        return PairwiseIndex(rows, metric)
    if sparse.issparse(rows) and not well_filled(rows):
        return SparseIndex(rows, metric, threads)
    if sparse.issparse(rows):
        return MappedIndex(rows, Mapping(dense, metric), NativeIndex(dense(rows), metric, threads))
    if metric.native:
        if algorithm == "auto":
            algorithm = "kd_tree" if pays(rows, metric, threads) else "brute"
        if algorithm == "brute" or not serves(metric):
            return NativeIndex(rows, metric, threads)
        return SpaceTreeIndex(rows, algorithm, metric, threads, leaf_size=leaf_size)
    bits = bit_index(rows, metric, threads) if metric.name in BITS else None
    if bits is not None:
        return bits
    mapping = mapping_for(rows, metric, threads)
    if mapping is not None:
        return MappedIndex(rows, mapping, NativeIndex(mapping.apply(rows), mapping.metric, threads))
    return PairwiseIndex(rows, metric)


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
        if isinstance(X, KDTree | BallTree | SklearnKDTree | SklearnBallTree):
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
        return check(X, allow_nan=allow_nan, densify=not (graph or keeps_sparse(metric)), dtypes=metric.dtypes)

    def _fit_rows(self, rows: Any, metric: MetricChoice) -> None:
        if metric.name == "precomputed":
            if rows.shape[0] != rows.shape[1]:
                raise UsageError(
                    f"Precomputed matrix must be square. Input is a {rows.shape[0]}x{rows.shape[1]} matrix."
                )
            _check_distances(rows)
        self._fit_X: Any = rows
        self._metric = metric
        self.effective_metric_ = metric.name
        self.effective_metric_params_ = metric.effective_params
        self.n_samples_fit_ = rows.shape[0]
        self._index: Index = self._built_index(self.algorithm)
        # scikit-learn's attribute: what "auto" has chosen.
        self._fit_method = self._index.kind if isinstance(self._index, SpaceTreeIndex) else "brute"

    def _built_index(self, algorithm: str) -> Index:
        return build_index(self._fit_X, self._metric, thread_count(self.n_jobs), algorithm, int(self.leaf_size))

    def _opened_index(self) -> Index:
        if "_index" not in self.__dict__:
            self._index = self._built_index(self._fit_method)
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
        queries = check_rows(
            self, X, reset=False, allow_nan=self._metric.name == "nan_euclidean", dtypes=self._metric.dtypes,
            densify=not sparse.issparse(self._fit_X),
        )  # fmt: skip
        return queries, None, None

    def _allowed_queries(self, X: Any, allowed: Any) -> tuple[Any, Groups, Groups, int]:
        """Queries, groups that leave out the rows not allowed, and how many a query may choose from.

        For X=None the rows themselves are not left out by groups: they are taken from the answer (`_others`).
        """
        queries, row_groups, query_groups = self._queries(X)
        if allowed is None:
            return queries, row_groups, query_groups, self.n_samples_fit_ - (X is None)
        mask = check_mask(allowed, self.n_samples_fit_)
        outside = np.ones(queries.shape[0], dtype=np.int32)
        return queries, (~mask).astype(np.int32), outside, int(mask.sum()) - (X is None)

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True, *, allowed: Any = None
    ) -> Any:
        """Find the nearest fitted rows of every query, ordered by (distance, row).

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), default=None
            Queries. None: the fitted rows themselves, and no row is its own neighbour.
        n_neighbors : int, default=None
            How many; None for the constructor's number.
        return_distance : bool, default=True
            Whether to return the distances too.
        allowed : array-like, default=None
            Fitted rows that may be neighbours: one boolean for each, or their numbers. None: all.

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
        queries, row_groups, query_groups, available = self._allowed_queries(X, allowed)
        if k > available and allowed is not None:
            raise UsageError(f"Expected n_neighbors of at most {max(0, available)}, the rows allowed, got {k}.")
        if k > available:
            sign = "n_neighbors < n_samples_fit" if X is None else "n_neighbors <= n_samples_fit"
            raise UsageError(
                f"Expected {sign}, but n_neighbors = {k}, n_samples_fit = {self.n_samples_fit_}, "
                f"n_samples = {queries.shape[0]}"
            )
        spare = int(X is None and allowed is not None)
        distances, neighbours = self._opened_index().search(
            queries, int(k) + spare, row_groups, query_groups, thread_count(self.n_jobs)
        )
        if spare:
            distances, neighbours = _others(distances, neighbours)
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


def check_mask(allowed: Any, n_rows: int) -> NDArray[np.bool_]:
    """The rows that may be neighbours as one boolean per row.

    Parameters
    ----------
    allowed : array-like of bool, shape (n_rows,), or of int
    n_rows : int

    Returns
    -------
    ndarray of bool, shape (n_rows,)
    """
    given = np.asarray(allowed)
    if given.dtype == np.bool_ and given.shape == (n_rows,):
        return given
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise UsageError(
            f"'allowed' must hold one boolean for each of the {n_rows} fitted rows, or row numbers; got {given.dtype} "
            f"of shape {given.shape}."
        )
    if given.size and (given.min() < 0 or given.max() >= n_rows):
        raise UsageError(f"'allowed' holds row numbers outside 0 to {n_rows - 1}.")
    mask = np.zeros(n_rows, dtype=np.bool_)
    mask[given.astype(np.intp)] = True
    return mask


def _others(
    distances: NDArray[np.float64], neighbours: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """One neighbour fewer of every fitted row: itself, or the last where it is not among them."""
    own = neighbours == np.arange(len(neighbours))[:, np.newaxis]
    own[~own.any(axis=1), -1] = True
    shape = (len(neighbours), neighbours.shape[1] - 1)
    return distances[~own].reshape(shape), neighbours[~own].reshape(shape)


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
