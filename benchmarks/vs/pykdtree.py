"""pykdtree: the kd-tree that is fastest to build; its queries run under OpenMP, its build on one thread."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import record

NEEDS = "pykdtree"
LEAVES = (8, 16, 32)
TRIED_ON = 10_000


class Search:
    """pykdtree.kdtree.KDTree with the leaf size that answers fastest here.

    Parameters
    ----------
    threads : int
        Set by the caller around everything, through threadpoolctl: pykdtree itself has no such option.
    """

    def __init__(self, threads: int) -> None:
        from pykdtree.kdtree import KDTree

        self._class = KDTree
        self._leaf = 16

    @property
    def label(self) -> str:
        """The tree with its leaf size."""
        return f"pykdtree KDTree (leafsize={self._leaf})"

    def tune(self, rows: np.ndarray, queries: np.ndarray, k: int) -> dict[str, float]:
        """Seconds for some queries by leaf size; the fastest is kept."""
        seconds = {}
        for self._leaf in LEAVES:
            self.fit(rows)
            self.search(queries[: TRIED_ON // 10], k)
            seconds[f"leafsize={self._leaf}"], _ = record.timed(lambda: self.search(queries[:TRIED_ON], k))
        self._leaf = int(min(seconds, key=lambda name: seconds[name]).split("=")[1])
        return seconds

    def fit(self, rows: np.ndarray) -> None:
        """Build the tree."""
        self._tree: Any = self._class(rows, leafsize=self._leaf)

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Distances and rows of the k nearest."""
        distances, rows = self._tree.query(queries, k=k)
        return distances, rows.astype(np.int64)
