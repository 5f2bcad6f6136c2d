"""All rows within a radius: what `NearestNeighbors` and the radius learners share."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors._base import RadiusNeighborsMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tonari.base.errors import UsageError
from tonari.base.threads import thread_count
from tonari.base.validation import check_number
from tonari.neighbors.search import NeighborsBase, check_mode
from tonari.neighbors.voting import Lists


class RadiusSearch(RadiusNeighborsMixin):
    """Mixed in beside `NeighborsBase`: `radius_neighbors` and its graph."""

    radius: Any
    n_jobs: Any
    n_samples_fit_: int

    def _within(self, X: Any, radius: Any, allowed: Any = None) -> Lists:
        """Neighbours within one radius for all queries or one for each."""
        queries, row_groups, query_groups, _ = self._allowed_queries(X, allowed)
        radii = np.broadcast_to(np.asarray(radius, dtype=np.float64), (queries.shape[0],))
        check_number("radius", radii.min(initial=np.inf), least=0)
        found = self._opened_index().within(queries, radii, row_groups, query_groups, thread_count(self.n_jobs))
        return Lists(*found)

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
        lists = self._within(X, self.radius if radius is None else radius, allowed)
        n_queries, indptr, rows, distances = len(lists), lists.indptr, lists.rows, lists.distances
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


def _never(learner: Any) -> bool:
    raise AttributeError(f"{type(learner).__name__} asks for a radius, not for a number of neighbours")


class RadiusOnly(RadiusSearch):
    """Mixed into learners that have a radius and no number of neighbours: what asks for k is hidden."""

    n_neighbors = None

    kneighbors: Any = available_if(_never)(NeighborsBase.kneighbors)
    kneighbors_graph: Any = available_if(_never)(NeighborsBase.kneighbors_graph)
