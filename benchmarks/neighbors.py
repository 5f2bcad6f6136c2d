"""Exact search: 10 nearest neighbours, all queries at once and one at a time, against the rivals of `contests.py`.

    python benchmarks/neighbors.py [--save] [--quick] [--workload fashion_mnist] [--rival faiss]

Same data, same precision, same number of threads; the contenders take turns. The answers of all of them are judged by
the tests' oracle on a sample of queries, and only rivals that are right can be the fastest. `shifted_128` is there for
what the norm expansion costs: right answers.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from benchmarks import approximate, memory, quality, record, table, workloads
from benchmarks.contests import CONTESTS, OURS, PACKAGES, RIVALS, Contender, Contest, contenders

K = 10
# Queries that are judged: their number times that of the rows.
SAMPLE = 100_000_000
# Queries asked one at a time, and the seconds after which no further one is asked.
ALONE, ALONE_SECONDS, ALONE_LEAST = 200, 0.3, 3
PARTS = ("fit", "search", "fit_and_search", "one_query")
# fit alone makes nobody the fastest: some rivals keep no index.
RACES = ("search", "fit_and_search", "one_query")


def one_at_a_time(side: Contender, queries: np.ndarray) -> float:
    """Mean seconds of a query that comes alone."""
    start = time.perf_counter()
    for done in range(min(ALONE, len(queries))):
        spent = time.perf_counter() - start
        if done >= ALONE_LEAST and spent > ALONE_SECONDS:
            return spent / done
        side.search(np.ascontiguousarray(queries[done : done + 1]), K)
    return (time.perf_counter() - start) / min(ALONE, len(queries))


def rounds(
    side: Contender, rows: np.ndarray, queries: np.ndarray, keep: dict[str, Any]
) -> Callable[[], dict[str, float]]:
    """One round of a contender: train where it has to, fit, all queries at once, some queries one at a time."""

    def once() -> dict[str, float]:
        parts = {}
        if hasattr(side, "train"):
            parts["train"], _ = record.timed(lambda: side.train(rows))
        parts["fit"], _ = record.timed(lambda: side.fit(rows))
        parts["search"], keep["found"] = record.timed(lambda: side.search(queries, K))
        parts["fit_and_search"] = sum(parts.values())
        parts["one_query"] = one_at_a_time(side, queries)
        return parts

    return once


def fastest(timings: dict[str, dict[str, dict[str, Any]]], right: list[str]) -> dict[str, dict[str, Any]]:
    """For every race the fastest rival whose answers are right, and how many times faster tonari is."""
    found = {}
    for part in RACES:
        ratios = {name: ratio for name, ratio in record.ratios(timings, part).items() if name in right}
        if ratios:
            best = min(ratios, key=lambda name: ratios[name])
            found[part] = {"rival": best, "times_faster": ratios[best]}
    return found


def blas() -> dict[str, str]:
    """Which kernels the rivals' BLAS libraries chose, by the folder they lie in: not always the processor's best."""
    found = (info for info in threadpool_info() if info["user_api"] == "blas")
    return {
        Path(info["filepath"]).parent.name: " ".join(
            str(info.get(key)) for key in ("internal_api", "version", "architecture")
        )
        for info in found
    }


def measure(load: workloads.Workload, contest: Contest, chosen: argparse.Namespace) -> dict[str, Any]:
    """Timings, ratios and quality of all contenders on one workload, and the memory that tonari takes."""
    assert load.queries is not None
    rows, queries = load.rows, load.queries
    sides = contenders(contest, chosen.threads, tuple(chosen.rival or ()))
    answers: dict[str, dict[str, Any]] = {name: {} for name in sides}
    number = min(1000, len(queries), max(1, SAMPLE // len(rows)))
    sample = np.sort(np.random.default_rng(0).choice(len(queries), number, replace=False))
    with threadpool_limits(limits=chosen.threads):
        tried = {name: side.tune(rows, queries, K) for name, side in sides.items() if hasattr(side, "tune")}
        timings = record.alternate(
            {name: rounds(side, rows, queries, answers[name]) for name, side in sides.items()},
            chosen.repeats,
            contest.patience,
        )
        true = quality.true_neighbours(queries[sample], rows, K, contest.metric)
        judged = {
            name: quality.judge(
                tuple(part[sample] for part in kept["found"]), true, queries[sample], rows, contest.metric
            )
            for name, kept in answers.items()
        }
        curve = (
            approximate.measure(sides[OURS], rows, queries, K, sample, true, chosen)
            if contest.approximate and not chosen.rival
            else None
        )
    best = fastest(timings, [name for name, judgement in judged.items() if quality.is_right(judgement)])
    labels = {name: side.label for name, side in sides.items()}
    sides.clear()
    return {
        "data": load.describe(),
        "k": K,
        "metric": contest.metric,
        "blas": blas(),
        "contenders": {
            name: {
                "label": label,
                "rounds": len(timings[name]["search"]["all"]),
                "seconds": timings[name],
                "quality": judged[name],
                "right": quality.is_right(judged[name]),
                **({"seconds_of_settings_tried": record.rounded(tried[name])} if name in tried else {}),
            }
            for name, label in labels.items()
        },
        "times_faster": {part: record.ratios(timings, part) for part in PARTS},
        "fastest_right_rival": best,
        "memory": memory.measure(load, K, chosen.threads),
        **({"approximate": curve} if curve else {}),
    }


def main(arguments: list[str] | None = None) -> int:
    """Measure the workloads asked for; one result file each."""
    options = record.parser(__doc__)
    options.add_argument("--workload", choices=workloads.SEARCH, action="append", help="default: all of them")
    options.add_argument("--rival", choices=RIVALS, action="append", help="only these, unsaved (default: all of them)")
    chosen = record.checked(options, arguments)
    if chosen.save and chosen.rival:
        options.error("a saved result names every rival: leave --rival away")
    for name in chosen.workload or workloads.SEARCH:
        load = workloads.SEARCH[name](quick=chosen.quick)
        if load is None:
            print(f"left out {name}: its data is not installed, see benchmarks/README.md", file=sys.stderr)
            continue
        seconds, result = record.timed(lambda load=load, name=name: measure(load, CONTESTS[name], chosen))
        print(f"{name}: measured in {seconds:.0f} s", file=sys.stderr)
        record.finish(f"neighbors_{name}", {**record.circumstances(chosen, PACKAGES), **result}, chosen)
    if chosen.save:
        print(table.targets(record.saved()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
