"""FAISS: the flat index and its pruned kin Panorama, exact up to the rounding of their norms, and the flat bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import record

NEEDS = "faiss-cpu"
# Levels must not be narrower than a few columns; the best on Fashion-MNIST lies between 16 and 32.
LEVELS = (4, 8, 16, 24, 32)
TRIED_ON = 300


class Search:
    """IndexFlatL2: float32 only; squared distances, which are rooted here as a user would have to. IndexFlat for L1.

    Parameters
    ----------
    threads : int
    metric : {"euclidean", "manhattan"}
    """

    def __init__(self, threads: int, metric: str = "euclidean") -> None:
        import faiss

        self._faiss = faiss
        self._squared = metric == "euclidean"
        self.label = "FAISS IndexFlatL2" if self._squared else "FAISS IndexFlat(METRIC_L1)"
        faiss.omp_set_num_threads(threads)

    def fit(self, rows: np.ndarray) -> None:
        """Copy the rows into a new index."""
        metric = self._faiss.METRIC_L2 if self._squared else self._faiss.METRIC_L1
        columns = rows.shape[1]
        self._index: Any = self._faiss.IndexFlatL2(columns) if self._squared else self._faiss.IndexFlat(columns, metric)
        self._index.add(rows)

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Distances and rows of the k nearest."""
        distances, rows = self._index.search(queries, k)
        return np.sqrt(distances) if self._squared else distances, rows


class Panorama:
    """IndexFlatL2Panorama behind a PCA of full rank, at the number of levels that is fastest here.

    Parameters
    ----------
    threads : int
    """

    def __init__(self, threads: int) -> None:
        import faiss

        self._faiss = faiss
        self._levels = LEVELS[-1]
        faiss.omp_set_num_threads(threads)

    @property
    def label(self) -> str:
        """The index with its levels."""
        return f"FAISS IndexFlatL2Panorama after PCA, {self._levels} levels"

    def tune(self, rows: np.ndarray, queries: np.ndarray, k: int) -> dict[str, float]:
        """Seconds for some queries by number of levels; the fastest is kept."""
        self.train(rows)
        seconds = {}
        for self._levels in (levels for levels in LEVELS if levels <= rows.shape[1]):
            self.fit(rows)
            self.search(queries[: TRIED_ON // 10], k)
            seconds[f"{self._levels} levels"], _ = record.timed(lambda: self.search(queries[:TRIED_ON], k))
        self._levels = int(min(seconds, key=lambda name: seconds[name]).split()[0])
        return seconds

    def train(self, rows: np.ndarray) -> None:
        """The PCA: what has to be known before a row can be added."""
        self._rotation: Any = self._faiss.PCAMatrix(rows.shape[1], rows.shape[1])
        self._rotation.train(rows)

    def fit(self, rows: np.ndarray) -> None:
        """Rotate the rows and lay them out by levels."""
        # Both parts are kept: the index that joins them owns neither.
        self._flat: Any = self._faiss.IndexFlatL2Panorama(rows.shape[1], self._levels)
        self._index: Any = self._faiss.IndexPreTransform(self._rotation, self._flat)
        self._index.add(rows)

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Distances and rows of the k nearest; the queries are rotated too."""
        squared, rows = self._index.search(queries, k)
        # The rounding of norms leaves a distance of nothing below zero.
        return np.sqrt(np.maximum(squared, 0)), rows


class Binary:
    """IndexBinaryFlat: Hamming on packed bits, packed here from the table that every side is given.

    Parameters
    ----------
    threads : int
    """

    label = "FAISS IndexBinaryFlat"

    def __init__(self, threads: int) -> None:
        import faiss

        self._faiss = faiss
        faiss.omp_set_num_threads(threads)

    def fit(self, rows: np.ndarray) -> None:
        """Pack the rows and copy them into a new index."""
        self._columns = rows.shape[1]
        self._index: Any = self._faiss.IndexBinaryFlat(self._columns)
        self._index.add(np.packbits(rows, axis=1))

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Shares of columns that differ, and rows of the k nearest."""
        counts, rows = self._index.search(np.packbits(queries, axis=1), k)
        return counts / self._columns, rows
