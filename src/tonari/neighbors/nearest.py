"""NearestNeighbors: the search itself, without labels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.neighbors._base import RadiusNeighborsMixin
from sklearn.utils.validation import check_is_fitted

from tonari.base.errors import UsageError
from tonari.base.threads import thread_count
from tonari.base.validation import check_number
from tonari.neighbors.search import NeighborsBase, check_mode
from tonari.neighbors.stored import StoredNeighbors


class NearestNeighbors(StoredNeighbors, RadiusNeighborsMixin, NeighborsBase):
    """Find nearest neighbours exactly, by trees or by exhaustive search at the speed of the machine.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours returned by `kneighbors`.
    radius : float, default=1.0
        Radius of `radius_neighbors`.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        Every choice gives the same, exact answer. "auto" counts on a sample what a kd-tree would look at, and takes
        exhaustive search where that costs less; metrics that a tree cannot bound are always searched exhaustively.
    leaf_size : int, default=30
        A node of a tree with fewer than twice as many rows is a leaf.
    metric : str or callable, default="minkowski"
        ``euclidean``, ``sqeuclidean``, ``manhattan``, ``chebyshev``, ``minkowski`` (any ``p >= 1``, weights ``w`` too),
        ``cosine``, ``correlation``, ``mahalanobis``, ``seuclidean``, ``hamming`` and ``jaccard`` run in the engine;
        other names of scikit-learn and ``precomputed`` run through its ``pairwise_distances``. A callable takes two
        rows and gives a number, or takes two tables and gives a matrix.
    p : float, default=2
        Power of Minkowski.
    metric_params : dict, default=None
        Further arguments of the metric: ``w``, ``V``, ``VI``; ``bits`` for tables of packed bits (the guide says more).
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
    >>> from tonari.neighbors import NearestNeighbors
    >>> index = NearestNeighbors(n_neighbors=2).fit([[0.0], [1.0], [5.0]])
    >>> distances, rows = index.kneighbors([[0.9]])
    >>> rows
    array([[1, 0]])
    """

    KIND = "neighbors.NearestNeighbors"

    def __init__(
        self, *, n_neighbors: int = 5, radius: float = 1.0, algorithm: str = "auto", leaf_size: int = 30,
        metric: Any = "minkowski", p: float = 2, metric_params: dict[str, Any] | None = None, n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the rows and prepare them for search.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) if metric="precomputed"
        y : ignored

        Returns
        -------
        self : NearestNeighbors
        """
        metric = self._check_parameters()
        if self.radius is not None:
            check_number("radius", self.radius, least=0)
        rows = self._check_table(X, metric)
        self._fit_rows(rows, metric)
        return self

    def radius_neighbors(
        self, X: Any = None, radius: Any = None, return_distance: bool = True, sort_results: bool = False, *,
        allowed: Any = None,
    ) -> Any:  # fmt: skip
        """Find all fitted rows within a radius of every query.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), default=None
            Queries. None: the fitted rows themselves, and no row is its own neighbour.
        radius : float or array-like of shape (n_queries,), default=None
            Inclusive; one for all or one for each query. None for the constructor's.
        return_distance : bool, default=True
        sort_results : bool, default=False
            By (distance, row) if True, by row otherwise.
        allowed : array-like, default=None
            Fitted rows that may be neighbours: one boolean for each, or their numbers. None: all.

        Returns
        -------
        distances : ndarray of object, shape (n_queries,)
            Arrays of float64; only if `return_distance`.
        neighbours : ndarray of object, shape (n_queries,)
            Arrays of int64.
        """
        check_is_fitted(self)
        if sort_results and not return_distance:
            raise UsageError("return_distance must be True if sort_results is True.")
        radius = self.radius if radius is None else radius
        queries, row_groups, query_groups, _ = self._allowed_queries(X, allowed)
        n_queries = queries.shape[0]
        radii = np.broadcast_to(np.asarray(radius, dtype=np.float64), (n_queries,))
        check_number("radius", radii.min(initial=np.inf), least=0)
        indptr, rows, distances = self._opened_index().within(
            queries, radii, row_groups, query_groups, thread_count(self.n_jobs)
        )
        found_rows = np.empty(n_queries, dtype=object)
        found_distances = np.empty(n_queries, dtype=object)
        for i in range(n_queries):
            part = slice(indptr[i], indptr[i + 1])
            order = np.arange(part.stop - part.start) if sort_results else np.argsort(rows[part], kind="stable")
            if X is None and allowed is not None:
                order = order[rows[part][order] != i]
            found_rows[i] = rows[part][order]
            found_distances[i] = distances[part][order]
        return (found_distances, found_rows) if return_distance else found_rows

    def radius_neighbors_graph(
        self, X: Any = None, radius: float | None = None, mode: str = "connectivity", sort_results: bool = False
    ) -> Any:
        """The graph of neighbours within a radius as a sparse matrix.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), default=None
        radius : float, default=None
        mode : {"connectivity", "distance"}, default="connectivity"
        sort_results : bool, default=False
            Whether each row of the matrix is ordered by distance; needs mode="distance".

        Returns
        -------
        scipy.sparse.csr_matrix of shape (n_queries, n_samples_fit)
        """
        check_is_fitted(self)
        check_mode(mode)
        distances, neighbours = self.radius_neighbors(X, radius, sort_results=sort_results)
        indptr = np.concatenate([[0], np.cumsum([len(part) for part in neighbours])])
        rows = np.concatenate([*neighbours, np.empty(0, dtype=np.int64)]).astype(np.int64)
        values = np.ones(len(rows)) if mode == "connectivity" else np.concatenate([*distances, np.empty(0)])
        return sparse.csr_matrix((values, rows, indptr), shape=(len(neighbours), self.n_samples_fit_))
