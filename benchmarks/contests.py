"""Who meets whom: for every workload of the neighbours, the metric, the algorithm asked of tonari, and the rivals.

A rival that is not installed is left out and named. Who needs half a minute or more for a round and is nowhere near the
fastest takes no part: usearch on Fashion-MNIST and on a million rows, scikit-learn on a million rows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from benchmarks import record
from benchmarks.vs import faiss, hnswlib, pykdtree, scikit_learn, scikit_learn_intelex, scipy_ckdtree, usearch
from tonari.neighbors import NearestNeighbors

OURS = "tonari"


class Contender(Protocol):
    """What every side offers; `train(rows)` and `tune(rows, queries, k)` as well where there is something to do."""

    @property
    def label(self) -> str: ...

    def fit(self, rows: np.ndarray) -> None: ...

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]: ...


class Search:
    """tonari's own side, through its public door.

    Parameters
    ----------
    threads : int
    metric : str
    algorithm : {"brute", "kd_tree"}
    """

    def __init__(self, threads: int, metric: str, algorithm: str) -> None:
        self._how: dict[str, Any] = {"algorithm": algorithm, "metric": metric, "n_jobs": threads}
        self.label = f"tonari NearestNeighbors({algorithm})"

    def fit(self, rows: np.ndarray) -> None:
        """Copy and prepare the rows."""
        self._model = NearestNeighbors(**self._how).fit(rows)

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Distances and rows of the k nearest."""
        found: tuple[np.ndarray, np.ndarray] = self._model.kneighbors(queries, n_neighbors=k)
        return found


@dataclass(frozen=True)
class Contest:
    """What is asked on a workload, and who answers beside tonari."""

    rivals: tuple[str, ...]
    metric: str = "euclidean"
    algorithm: str = "brute"
    # A contender whose first round takes more seconds is run once; who comes near to the fastest does not.
    patience: float = 12.0
    # Whether the approximate rival's curve is measured beside the exact ones.
    approximate: bool = False


# Name in the results -> the module that says what must be installed, and how a side is made.
RIVALS: dict[str, tuple[ModuleType, Callable[[int, Contest], Contender]]] = {
    "faiss": (faiss, lambda threads, contest: faiss.Search(threads, contest.metric)),
    "faiss_panorama": (faiss, lambda threads, contest: faiss.Panorama(threads)),
    "faiss_binary": (faiss, lambda threads, contest: faiss.Binary(threads)),
    "scikit_learn": (scikit_learn, lambda threads, contest: scikit_learn.Search(threads, contest.metric)),
    "scikit_learn_intelex": (
        scikit_learn_intelex,
        lambda threads, contest: scikit_learn_intelex.Search(threads, contest.metric, contest.algorithm),
    ),
    "usearch": (usearch, lambda threads, contest: usearch.Search(threads, contest.metric)),
    "pykdtree": (pykdtree, lambda threads, contest: pykdtree.Search(threads)),
    "scipy_ckdtree": (scipy_ckdtree, lambda threads, contest: scipy_ckdtree.Search(threads)),
}
PACKAGES = tuple(sorted({"numpy", hnswlib.NEEDS, *(module.NEEDS for module, _ in RIVALS.values())}))

FLAT = ("faiss", "scikit_learn", "scikit_learn_intelex", "usearch")
TREES = ("pykdtree", "scipy_ckdtree", "scikit_learn_intelex")
CONTESTS = {
    "fashion_mnist": Contest(("faiss", "faiss_panorama", "scikit_learn", "scikit_learn_intelex"), approximate=True),
    "normal_128": Contest(FLAT),
    "shifted_128": Contest(FLAT),
    "decaying_96": Contest(("faiss", "faiss_panorama", "scikit_learn_intelex"), patience=24.0),
    "digits": Contest(FLAT),
    "uniform_2": Contest(TREES, algorithm="kd_tree"),
    "uniform_3": Contest(TREES, algorithm="kd_tree"),
    "uniform_8": Contest(TREES, algorithm="kd_tree"),
    # The target is over scikit-learn, slow as it is: its rounds are worth their minute.
    "normal_100": Contest(("faiss", "scikit_learn", "scikit_learn_intelex"), metric="manhattan", patience=30.0),
    "bits_256": Contest(("faiss_binary",), metric="hamming"),
}


def contender(name: str, contest: Contest, threads: int) -> Contender:
    """One side of a contest by its name in the results."""
    if name == OURS:
        return Search(threads, contest.metric, contest.algorithm)
    return RIVALS[name][1](threads, contest)


def contenders(contest: Contest, threads: int, only: tuple[str, ...] = ()) -> dict[str, Contender]:
    """tonari and every rival of the contest that is installed, or those of them that are named in `only`."""
    found = {OURS: contender(OURS, contest, threads)}
    for name in contest.rivals:
        needs = RIVALS[name][0].NEEDS
        if only and name not in only:
            continue
        if record.installed(needs):
            found[name] = contender(name, contest, threads)
        else:
            print(f"left out {name}: {needs} is not installed", file=sys.stderr)
    return found
