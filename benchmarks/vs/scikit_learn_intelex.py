"""scikit-learn-intelex: scikit-learn's interface over oneDAL."""

from __future__ import annotations

import numpy as np

NEEDS = "scikit-learn-intelex"


class Search:
    """NearestNeighbors of sklearnex.

    Parameters
    ----------
    threads : int
    metric : str
    algorithm : {"brute", "kd_tree"}
    """

    def __init__(self, threads: int, metric: str = "euclidean", algorithm: str = "brute") -> None:
        from sklearnex.neighbors import NearestNeighbors

        self._class = NearestNeighbors
        self._how = {"algorithm": algorithm, "metric": metric, "n_jobs": threads}
        self.label = f"scikit-learn-intelex NearestNeighbors({algorithm})"

    def fit(self, rows: np.ndarray) -> None:
        """Prepare the rows."""
        self._model = self._class(**self._how).fit(rows)

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Distances and rows of the k nearest."""
        return self._model.kneighbors(queries, n_neighbors=k)
