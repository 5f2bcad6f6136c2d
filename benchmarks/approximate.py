"""Exact search beside the approximate rival: queries per second of hnswlib against its recall, and tonari's own.

The graph is built once. Then every `ef` and tonari's exact search answer all queries in turn; recall is the share of
answers that are no farther than the true k-th neighbour, on the sample that the exact rivals are judged by.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

from benchmarks import quality, record
from benchmarks.contests import OURS, Contender
from benchmarks.vs import hnswlib

EFS = (10, 15, 20, 30, 40, 60, 80, 120, 200)
# The recall from which an approximate answer is compared with the exact one.
ENOUGH = 0.99


def measure(
    ours: Contender,
    rows: np.ndarray,
    queries: np.ndarray,
    k: int,
    sample: np.ndarray,
    true: tuple[np.ndarray, np.ndarray],
    chosen: argparse.Namespace,
) -> dict[str, Any] | None:
    """The curve, the exact search measured between its points, and the ratio where recall is enough.

    Parameters
    ----------
    ours : Contender
        tonari's side, fitted.
    rows, queries : ndarray
    k : int
    sample : ndarray of int
        The queries that are judged.
    true : (distances, rows)
        Of the sample.
    chosen : argparse.Namespace
        Threads and repeats.

    Returns
    -------
    dict or None
        None where hnswlib is not installed.
    """
    if not record.installed(hnswlib.NEEDS):
        print(f"left out hnswlib: {hnswlib.NEEDS} is not installed", file=sys.stderr)
        return None
    graph = hnswlib.Graph(chosen.threads)
    build, _ = record.timed(lambda: graph.fit(rows))
    found: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def asked(ef: int) -> dict[str, float]:
        seconds, found[ef] = record.timed(lambda: graph.search(queries, k, ef))
        return {"search": seconds}

    timings = record.alternate(
        {
            OURS: lambda: {"search": record.timed(lambda: ours.search(queries, k))[0]},
            **{str(ef): (lambda ef=ef: asked(ef)) for ef in EFS},
        },
        chosen.repeats,
    )
    speed = {name: round(len(queries) / parts["search"]["median"], 1) for name, parts in timings.items()}
    points = [
        {
            "ef": ef,
            "recall": quality.judge(tuple(part[sample] for part in found[ef]), true, queries[sample], rows)["as_near"],
            "queries_per_second": speed[str(ef)],
            "seconds": timings[str(ef)]["search"],
        }
        for ef in EFS
    ]
    enough = [point for point in points if point["recall"] >= ENOUGH]
    best = max(enough, key=lambda point: point["queries_per_second"]) if enough else None
    return {
        "label": graph.label,
        "build_seconds": round(build, 6),
        "points": points,
        "exact_queries_per_second": speed[OURS],
        "exact_seconds": timings[OURS]["search"],
        "exact_over_approximate": best
        and {
            "recall_at_least": ENOUGH,
            "ef": best["ef"],
            "times_faster": round(speed[OURS] / best["queries_per_second"], 3),
        },
    }
