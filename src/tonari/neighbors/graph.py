"""Precomputed distances as a sparse graph: an entry that is not stored means "far", not zero.

This is what scikit-learn's ``KNeighborsTransformer`` gives and its ``metric="precomputed"`` takes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_array

from tonari.base.errors import UsageError


def is_graph(X: Any) -> bool:
    """Whether these precomputed distances are a sparse graph."""
    return bool(sparse.issparse(X))


def check_graph(X: Any, n_samples_fit: int | None = None) -> Any:
    """A sparse graph of distances, checked: known format, numbers, no negative one, one column per fitted row.

    Parameters
    ----------
    X : sparse matrix
    n_samples_fit : int or None
        None at fit, where the graph must be square.

    Returns
    -------
    sparse matrix in CSR form
    """
    if X.format not in ("csr", "csc", "coo", "lil"):
        raise TypeError(f"Sparse matrix in {X.format!r} format is not supported due to its handling of explicit zeros.")
    graph = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X", copy=True)
    columns = X.shape[0] if n_samples_fit is None else n_samples_fit
    if graph.shape[1] != columns:
        raise UsageError(
            f"Precomputed matrix must have one column for each of the {columns} fitted rows, got shape {graph.shape}."
            if n_samples_fit is not None
            else f"Precomputed matrix must be square. Input is a {graph.shape[0]}x{graph.shape[1]} matrix."
        )
    if graph.nnz and graph.data.min() < 0:
        raise UsageError("Negative values in data passed to precomputed distance matrix.")
    return graph


def open_graph(graph: Any) -> NDArray[np.float64]:
    """The graph as a dense table, infinite where nothing is stored."""
    table = np.full(graph.shape, np.inf)
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    table[rows, graph.indices] = graph.data
    return table


def check_stored(distances: NDArray[np.float64], k: int) -> None:
    """Refuse a graph in which some query has fewer than k stored neighbours (besides itself).

    Parameters
    ----------
    distances : ndarray of shape (n_queries, k)
        The k least of every query.
    k : int
    """
    if np.isinf(distances).any():
        least = int(np.isfinite(distances).sum(axis=1).min())
        raise UsageError(
            f"{k} neighbors per samples are required, but some samples have only {least} neighbors in precomputed "
            "graph matrix.",
            "Decrease number of neighbors used or recompute the graph with more neighbors.",
        )
