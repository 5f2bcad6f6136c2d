"""Exact search: 10 nearest neighbours, all queries at once and one at a time, against FAISS and scikit-learn.

    python benchmarks/neighbors.py [--save] [--quick] [--workload fashion_mnist]

Same data, same precision, same number of threads; the contenders take turns. The answers of all of them are judged by
the tests' oracle on a sample of queries. `shifted_128` is there for what the norm expansion costs: right answers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import quality, record, workloads
from benchmarks.vs import faiss, scikit_learn, scikit_learn_intelex
from tonari.neighbors import NearestNeighbors

K = 10
SAMPLE, ALONE = 100, 200


class Contender(Protocol):
    """What every side offers."""

    label: str

    def fit(self, rows: np.ndarray) -> None: ...

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]: ...


class Search:
    """tonari's own side."""

    label = "tonari NearestNeighbors"

    def __init__(self, threads: int) -> None:
        self._threads = threads

    def fit(self, rows: np.ndarray) -> None:
        """Copy and pack the rows."""
        self._model = NearestNeighbors(n_jobs=self._threads).fit(rows)

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Distances and rows of the k nearest."""
        return self._model.kneighbors(queries, n_neighbors=k)


def contenders(threads: int) -> dict[str, Contender]:
    """tonari and every rival that is installed."""
    found: dict[str, Contender] = {"tonari": Search(threads)}
    for name, rival in (
        ("faiss", faiss),
        ("scikit_learn", scikit_learn),
        ("scikit_learn_intelex", scikit_learn_intelex),
    ):
        if record.installed(rival.NEEDS):
            found[name] = rival.Search(threads)
        else:
            print(f"left out {name}: {rival.NEEDS} is not installed", file=sys.stderr)
    return found


def rounds(
    side: Contender, rows: np.ndarray, queries: np.ndarray, keep: dict[str, Any]
) -> Callable[[], dict[str, float]]:
    """One round of a contender: fit, all queries at once, some queries one at a time."""

    def once() -> dict[str, float]:
        fit, _ = record.timed(lambda: side.fit(rows))
        search, keep["found"] = record.timed(lambda: side.search(queries, K))
        alone = [np.ascontiguousarray(queries[i : i + 1]) for i in range(min(ALONE, len(queries)))]
        single, _ = record.timed(lambda: [side.search(query, K) for query in alone])
        return {"fit": fit, "search": search, "fit_and_search": fit + search, "one_query": single / len(alone)}

    return once


def measure(load: workloads.Workload, repeats: int, threads: int) -> dict[str, Any]:
    """Timings, ratios and quality of all contenders on one workload."""
    assert load.queries is not None
    sides = contenders(threads)
    answers: dict[str, dict[str, Any]] = {name: {} for name in sides}
    with threadpool_limits(limits=threads):
        timings = record.alternate(
            {name: rounds(side, load.rows, load.queries, answers[name]) for name, side in sides.items()}, repeats
        )
    sample = np.random.default_rng(0).choice(len(load.queries), min(SAMPLE, len(load.queries)), replace=False)
    queries = load.queries[sample]
    true = quality.true_neighbours(queries, load.rows, K)
    return {
        "data": load.describe(),
        "k": K,
        "contenders": {
            name: {
                "label": side.label,
                "seconds": timings[name],
                "quality": quality.judge(
                    tuple(part[sample] for part in answers[name]["found"]), true, queries, load.rows
                ),
            }
            for name, side in sides.items()
        },
        "times_faster": {part: record.ratios(timings, part) for part in ("search", "fit_and_search", "one_query")},
    }


def main(arguments: list[str] | None = None) -> int:
    """Measure the workloads asked for; one result file each."""
    options = record.parser(__doc__)
    options.add_argument("--workload", choices=workloads.SEARCH, action="append", help="default: all of them")
    chosen = record.checked(options, arguments)
    packages = ("numpy", *(rival.NEEDS for rival in (faiss, scikit_learn, scikit_learn_intelex)))
    for name in chosen.workload or workloads.SEARCH:
        load = workloads.SEARCH[name](quick=chosen.quick)
        if load is None:
            print(f"left out {name}: its data is not installed, see benchmarks/README.md", file=sys.stderr)
            continue
        result = measure(load, chosen.repeats, chosen.threads)
        record.finish(f"neighbors_{name}", {**record.circumstances(chosen, packages), **result}, chosen)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
