"""usearch: exact=True, one pair at a time; at home where queries are few."""

from __future__ import annotations

import numpy as np

NEEDS = "usearch"


class Search:
    """usearch.index.search(exact=True): it keeps no index, so fit costs nothing but the packing of bits.

    Parameters
    ----------
    threads : int
    metric : {"euclidean", "hamming"}
    """

    label = "usearch (exact=True)"

    def __init__(self, threads: int, metric: str = "euclidean") -> None:
        from usearch import index

        self._search = index.search
        self._threads = threads
        self._bits = metric == "hamming"
        self._metric = index.MetricKind.Hamming if self._bits else index.MetricKind.L2sq

    def fit(self, rows: np.ndarray) -> None:
        """Keep the rows, bits packed."""
        self._rows, self._columns = self._packed(rows), rows.shape[1]

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Distances and rows of the k nearest."""
        found = self._search(
            self._rows, self._packed(queries), k, self._metric, exact=True, threads=self._threads
        )  # fmt: skip
        shape = (len(queries), k)  # one query comes back without its first axis
        distances = found.distances.reshape(shape)
        distances = distances / self._columns if self._bits else np.sqrt(distances)
        return distances, found.keys.reshape(shape).astype(np.int64)

    def _packed(self, table: np.ndarray) -> np.ndarray:
        return np.packbits(table, axis=1) if self._bits else table
