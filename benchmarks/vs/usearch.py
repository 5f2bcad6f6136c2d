"""usearch: exact=True, one pair at a time; at home where queries are few."""

from __future__ import annotations

import numpy as np

NEEDS = "usearch"
# Queries asked at a time: with all 10,000 at once it takes three times as long, and memory for every pair.
BATCH = 100


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
        distances, rows = np.empty((len(queries), k)), np.empty((len(queries), k), dtype=np.int64)
        for start in range(0, len(queries), BATCH):
            part = slice(start, min(start + BATCH, len(queries)))
            found = self._search(
                self._rows, self._packed(queries[part]), k, self._metric, exact=True, threads=self._threads
            )  # fmt: skip
            # One query comes back without its first axis.
            distances[part] = found.distances.reshape(-1, k)
            rows[part] = found.keys.reshape(-1, k)
        return distances / self._columns if self._bits else np.sqrt(distances), rows

    def _packed(self, table: np.ndarray) -> np.ndarray:
        return np.packbits(table, axis=1) if self._bits else table
