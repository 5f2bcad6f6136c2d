"""Search among sparse rows (Euclidean, cosine) that are never made dense; the same bits as for the dense table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import get_config

from tonari import _core
from tonari.neighbors.index import Groups, Lists, Nearest, Radius, radii_of
from tonari.neighbors.metrics import MetricChoice

# From here on a table that fits in working_memory is searched faster written out (20,000 x 400: at a tenth 1.6 times).
MOST_FILLED = 0.06


def well_filled(rows: Any) -> bool:
    """Whether a sparse table is better searched as a dense one.

    Parameters
    ----------
    rows : CSR matrix

    Returns
    -------
    bool
    """
    cells = rows.shape[0] * rows.shape[1]
    return bool(rows.nnz > MOST_FILLED * cells and cells * rows.dtype.itemsize < get_config()["working_memory"] * 2**20)


class SparseIndex:
    """Rows in CSR form prepared by the engine; answers like the native index.

    Parameters
    ----------
    rows : CSR matrix of float32 or float64
    metric : MetricChoice
        Euclidean or cosine.
    threads : int
    """

    def __init__(self, rows: Any, metric: MetricChoice, threads: int) -> None:
        self.rows = rows
        self._metric = metric
        self._index = _core.sparse_build(*_parts(rows), rows.shape[1], str(metric.name), threads)
        self._wide: SparseIndex | None = None

    def search(self, queries: Any, k: int, row_groups: Groups, query_groups: Groups, threads: int) -> Nearest:
        """See :class:`Index`."""
        index, table = self._matched(queries, threads)
        distances = np.empty((queries.shape[0], k))
        neighbours = np.empty((queries.shape[0], k), dtype=np.int64)
        _core.sparse_search(index, *_parts(table), distances, neighbours, row_groups, query_groups, threads)
        return distances, neighbours

    def within(self, queries: Any, radius: Radius, row_groups: Groups, query_groups: Groups, threads: int) -> Lists:
        """See :class:`Index`."""
        index, table = self._matched(queries, threads)
        radii = radii_of(radius, queries.shape[0])
        indptr, rows, distances = _core.sparse_within(index, *_parts(table), radii, row_groups, query_groups, threads)
        return indptr, rows, distances

    def _matched(self, queries: Any, threads: int) -> tuple[Any, Any]:
        # As for dense tables: float64 queries that float32 cannot hold are asked of the rows widened to float64.
        table = sparse.csr_array(queries)
        if table.dtype == self.rows.dtype:
            return self._index, table
        with np.errstate(over="ignore"):
            cast = table.astype(self.rows.dtype)
        if np.array_equal(cast.data, table.data):
            return self._index, cast
        if self._wide is None:
            self._wide = SparseIndex(self.rows.astype(np.float64), self._metric, threads)
        return self._wide._index, table


def _parts(table: Any) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]:
    """Offsets, columns (ascending within a row, none twice) and values."""
    if not table.has_canonical_format:
        table = table.copy()
        table.sum_duplicates()
    return (
        table.indptr.astype(np.int64, copy=False),
        table.indices.astype(np.int32, copy=False),
        np.ascontiguousarray(table.data),
    )
