"""The saved results as Markdown: the targets of exact search first, then every contender of every workload.

    python -m benchmarks.table [--results FOLDER]

Nothing is measured here. A ratio is the seconds of the fastest of the rivals named, or of every right rival where none
is named, over tonari's; the last column has the fastest right rival whoever is named.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import record

Results = Mapping[str, dict[str, Any]]


@dataclass(frozen=True)
class Target:
    """One line of the table: what is measured, against whom, and what was hoped for."""

    work: str
    workload: str
    part: str
    rivals: tuple[str, ...]
    floor: float
    goal: float


FASHION = "Fashion-MNIST 60,000 x 784, 10,000 queries, k=10"
TARGETS = (
    Target(FASHION, "fashion_mnist", "search", ("faiss",), 8, 16),
    Target("the same, building the index included", "fashion_mnist", "fit_and_search", ("faiss",), 5, 10),
    Target("the same, over Panorama's search", "fashion_mnist", "search", ("faiss_panorama",), 5, 10),
    Target("100,000 x 128 normal, 10,000 queries", "normal_128", "search", (), 2.5, 5),
    Target("1,000,000 x 96 decaying spectrum, 10,000 queries", "decaying_96", "search", (), 5, 12),
    Target("one query at a time, 100,000 x 128", "normal_128", "one_query", (), 2, 5),
    Target("kd-tree 1,000,000 x 3, 100,000 queries", "uniform_3", "search", ("pykdtree", "scipy_ckdtree"), 1.5, 3),
    Target("kd-tree build, same data", "uniform_3", "fit", ("pykdtree",), 0.8, 1.5),
    Target("Manhattan, 20,000 x 100 against itself", "normal_100", "search", ("scikit_learn",), 8, 20),
    Target("Hamming 1,000,000 x 256 bits, 1,000 queries", "bits_256", "search", ("faiss_binary",), 1, 2),
    Target("exact queries/s over hnswlib's at recall >= 0.99", "fashion_mnist", "approximate", (), 0.7, 1.5),
)


def ratio(target: Target, results: Results) -> tuple[str, float] | None:
    """The rival's label and times faster; None where the result, or what it needs, is not there."""
    result = results.get(f"neighbors_{target.workload}")
    if result is None:
        return None
    if target.part == "approximate":
        curve = result.get("approximate")
        best = curve and curve["exact_over_approximate"]
        return (f"{curve['label']}, ef={best['ef']}", best["times_faster"]) if best else None
    sides, ratios = result["contenders"], result["times_faster"][target.part]
    named = [name for name in target.rivals or ratios if name in ratios and (target.rivals or sides[name]["right"])]
    if not named:
        return None
    best = min(named, key=lambda name: ratios[name])
    return _name(sides[best], result), ratios[best]


def _name(side: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    notes = [] if side["right"] else [f"not right: {side['quality']['as_near']:.2%} as near"]
    if side["rounds"] < result["repeats"]:
        notes.append("run once")
    return side["label"] + (f" ({'; '.join(notes)})" if notes else "")


def targets(results: Results) -> str:
    """The table of targets, and the promise about memory below it."""
    lines = []
    for target in TARGETS:
        found = ratio(target, results)
        numbers = [f"{target.floor:g}", f"{target.goal:g}"]
        if found is None:
            lines.append([target.work, "", "not measured", *numbers, "", ""])
            continue
        result = results[f"neighbors_{target.workload}"]
        right = result["contenders"]["tonari"]["right"]
        reached = "goal" if found[1] >= target.goal else "floor" if found[1] >= target.floor else "missed"
        lines.append(
            [
                target.work,
                found[0],
                f"{found[1]:.2f}",
                *numbers,
                reached if right else "OURS IS WRONG",
                _fastest(target, result),
            ]
        )
    head = ("work", "rival", "times faster", "floor", "goal", "reached", "over the fastest right rival")
    return f"{_markdown(head, lines)}\n{memory(results)}"


def _fastest(target: Target, result: Mapping[str, Any]) -> str:
    best = result["fastest_right_rival"].get(target.part)
    return f"{best['times_faster']:.2f}, {result['contenders'][best['rival']]['label']}" if best else ""


def memory(results: Results) -> str:
    """Peak memory of fit and search beyond the caller's own table, MiB."""
    lines = []
    for name, result in _searches(results):
        found = result["memory"]
        numbers = [f"{found[key]:,.0f}" for key in ("float32_data", "fit_and_search", "promised")]
        lines.append([name, *numbers, "yes" if found["kept"] else "NO"])
    return _markdown(("memory, MiB", "data as float32", "peak beyond the data", "promised", "kept"), lines)


def contenders(results: Results) -> str:
    """Every contender of every workload: seconds of the parts, milliseconds of a query alone, quality."""
    lines = []
    for name, result in _searches(results):
        for side in result["contenders"].values():
            seconds = {part: times["median"] for part, times in side["seconds"].items()}
            numbers = [seconds["fit"] + seconds.get("train", 0), seconds["search"], 1000 * seconds["one_query"]]
            shares = [side["quality"][share] for share in ("as_near", "wrong_top1")]
            cells = [*(f"{number:.3f}" for number in numbers), *(f"{share:.4f}" for share in shares)]
            lines.append([name, _name(side, result), *cells])
    return _markdown(("workload", "contender", "fit, s", "search, s", "one query, ms", "as near", "wrong first"), lines)


def _searches(results: Results) -> Iterable[tuple[str, dict[str, Any]]]:
    for name, result in results.items():
        if name.startswith("neighbors_"):
            yield name.removeprefix("neighbors_"), result


def _markdown(head: tuple[str, ...], lines: list[list[str]]) -> str:
    rows = [list(head), ["---"] * len(head), *lines]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main(arguments: list[str] | None = None) -> int:
    """Print the tables."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--results", type=Path, default=record.RESULTS, help="default: %(default)s")
    results = record.saved(options.parse_args(arguments).results)
    print(targets(results))
    print(contenders(results), end="")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
