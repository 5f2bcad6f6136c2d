"""scikit-learn-intelex: scikit-learn's interface over oneDAL."""

from __future__ import annotations

import numpy as np

NEEDS = "scikit-learn-intelex"


class Search:
    """NearestNeighbors(algorithm="brute") of sklearnex.

    Parameters
    ----------
    threads : int
    """

    label = "scikit-learn-intelex NearestNeighbors(brute)"

    def __init__(self, threads: int) -> None:
        from sklearnex.neighbors import NearestNeighbors

        self._class = NearestNeighbors
        self._threads = threads

    def fit(self, rows: np.ndarray) -> None:
        """Prepare the rows."""
        self._model = self._class(algorithm="brute", n_jobs=self._threads).fit(rows)

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Distances and rows of the k nearest."""
        return self._model.kneighbors(queries, n_neighbors=k)
