"""scikit-learn: brute-force neighbours, and the grid search that fits every candidate on every split."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

NEEDS = "scikit-learn"
ALGORITHMS = ("auto", "brute", "kd_tree", "ball_tree")


class Search:
    """NearestNeighbors(algorithm="brute").

    Parameters
    ----------
    threads : int
    metric : str
    """

    label = "scikit-learn NearestNeighbors(brute)"

    def __init__(self, threads: int, metric: str = "euclidean") -> None:
        self._threads = threads
        self._metric = metric

    def fit(self, rows: np.ndarray) -> None:
        """Keep the rows."""
        self._model = NearestNeighbors(algorithm="brute", metric=self._metric, n_jobs=self._threads).fit(rows)

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Distances and rows of the k nearest."""
        return self._model.kneighbors(queries, n_neighbors=k)


def fastest_algorithm(
    X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray, ks: list[int]
) -> dict[str, float]:
    """Seconds per algorithm for the smallest and largest k on one split; the best one is given to the rival's grid."""
    seconds = {}
    for algorithm in ALGORITHMS:
        start = time.perf_counter()
        for k in (min(ks), max(ks)):
            KNeighborsClassifier(k, algorithm=algorithm).fit(X[train], y[train]).predict(X[test])
        seconds[algorithm] = time.perf_counter() - start
    return seconds


def grid_search(grid: dict[str, list[Any]], cv: Any, algorithm: str, threads: int) -> GridSearchCV:
    """The grid over k-NN in as many processes as the other side has threads.

    Parameters
    ----------
    grid : dict
    cv : splitter
    algorithm : str
        The fastest of ALGORITHMS here.
    threads : int

    Returns
    -------
    GridSearchCV
    """
    return GridSearchCV(KNeighborsClassifier(algorithm=algorithm), grid, cv=cv, n_jobs=threads)
