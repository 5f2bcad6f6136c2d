"""What every index answers, whatever serves its metric."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Groups = NDArray[np.int32] | None
# One for all queries, or one for each.
Radius = float | NDArray[np.float64]
Nearest = tuple[NDArray[np.float64], NDArray[np.int64]]
Lists = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]


class Index(Protocol):
    """Rows prepared for search; the array must not change while this lives."""

    rows: Any

    def search(self, queries: Any, k: int, row_groups: Groups, query_groups: Groups, threads: int) -> Nearest:
        """The k nearest rows of every query, rows of its own group left out, by (distance, row).

        Parameters
        ----------
        queries : ndarray or CSR matrix
        k : int
        row_groups, query_groups : ndarray of int32 or None
        threads : int

        Returns
        -------
        distances, neighbours : ndarray of shape (n_queries, k)
        """
        ...

    def within(self, queries: Any, radius: Radius, row_groups: Groups, query_groups: Groups, threads: int) -> Lists:
        """All rows within the radius: (indptr, rows, distances), each query's in order of (distance, row).

        Parameters
        ----------
        queries : ndarray or CSR matrix
        radius : float or ndarray of shape (n_queries,)
        row_groups, query_groups : ndarray of int32 or None
        threads : int

        Returns
        -------
        indptr, rows, distances : ndarray
        """
        ...


def radii_of(radius: Radius, n_queries: int) -> NDArray[np.float64]:
    """One radius per query, as the engine takes them.

    Parameters
    ----------
    radius : float or ndarray of shape (n_queries,)
    n_queries : int

    Returns
    -------
    ndarray of shape (n_queries,)
    """
    return np.array(np.broadcast_to(radius, n_queries), dtype=np.float64)
