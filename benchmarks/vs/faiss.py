"""FAISS: the flat index, exact up to the rounding of its norm expansion."""

from __future__ import annotations

from typing import Any

import numpy as np

NEEDS = "faiss-cpu"


class Search:
    """IndexFlatL2: float32 only; squared distances, which are rooted here as a user would have to.

    Parameters
    ----------
    threads : int
    """

    label = "FAISS IndexFlatL2"

    def __init__(self, threads: int) -> None:
        import faiss

        self._faiss = faiss
        faiss.omp_set_num_threads(threads)

    def fit(self, rows: np.ndarray) -> None:
        """Copy the rows into a new index."""
        self._index: Any = self._faiss.IndexFlatL2(rows.shape[1])
        self._index.add(rows)

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Distances and rows of the k nearest."""
        squared, rows = self._index.search(queries, k)
        return np.sqrt(squared), rows
