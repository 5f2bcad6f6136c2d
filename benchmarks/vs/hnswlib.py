"""hnswlib: the graph that approximate search is measured by; its recall is set by `ef`."""

from __future__ import annotations

from typing import Any

import numpy as np

NEEDS = "hnswlib"
M, EF_CONSTRUCTION = 16, 200


class Graph:
    """hnswlib.Index("l2") with M = 16 and ef_construction = 200, built once and asked with several `ef`.

    Parameters
    ----------
    threads : int
    """

    label = f"hnswlib (M={M}, efC={EF_CONSTRUCTION})"

    def __init__(self, threads: int) -> None:
        import hnswlib

        self._hnswlib = hnswlib
        self._threads = threads

    def fit(self, rows: np.ndarray) -> None:
        """Build the graph."""
        self._index: Any = self._hnswlib.Index("l2", rows.shape[1])
        self._index.init_index(len(rows), M=M, ef_construction=EF_CONSTRUCTION, random_seed=0)
        self._index.add_items(rows, num_threads=self._threads)

    def search(self, queries: np.ndarray, k: int, ef: int) -> tuple[np.ndarray, np.ndarray]:
        """Distances and rows of k near ones; the larger `ef`, the more often they are the nearest."""
        self._index.set_ef(ef)
        rows, squared = self._index.knn_query(queries, k, num_threads=self._threads)
        return np.sqrt(squared), rows.astype(np.int64)
