"""The picture: queries per second against recall@10 on Fashion-MNIST, exact searches beside the approximate rival.

    python -m benchmarks.plots [--results FOLDER] [--output docs/guide/images/exact_search.svg]

Drawn from the saved result alone, so that picture and numbers cannot differ. The ending of the file says its kind.
"""

from __future__ import annotations

import argparse
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import record

RESULT = "neighbors_fashion_mnist"
IMAGE = record.ROOT / "docs" / "guide" / "images" / "exact_search.svg"
# Okabe and Ito's blue, vermilion and a grey that both stand out from.
OURS, CURVE, RIVAL = "#0072B2", "#D55E00", "#5F5F5F"
LEAST_RECALL = 0.9
# Labels nearer to each other than this factor are moved apart.
APART = 1.24


def exact_speeds(result: dict[str, Any]) -> dict[str, float]:
    """Queries per second of every right contender, by its name in the result."""
    queries = result["data"]["queries"]
    sides = result["contenders"].items()
    return {name: queries / side["seconds"]["search"]["median"] for name, side in sides if side["right"]}


def spread_labels(heights: list[float]) -> list[float]:
    """Heights on a logarithmic axis, in the same order, none nearer to the next than APART allows."""
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    placed = list(heights)
    for below, above in pairwise(order):
        placed[above] = max(placed[above], placed[below] * APART)
    return placed


def draw(result: dict[str, Any], path: Path) -> None:
    """Draw one saved result into a file.

    Parameters
    ----------
    result : dict
        Of ``neighbors_fashion_mnist.json``.
    path : Path
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import FuncFormatter, NullFormatter

    # The same file from the same numbers: no date, no random ids.
    with matplotlib.rc_context({"svg.hashsalt": RESULT, "svg.fonttype": "none", "font.size": 10}):
        figure, axes = plt.subplots(figsize=(9.6, 5), layout="constrained")
        speeds = exact_speeds(result)
        heights = spread_labels(list(speeds.values()))
        for (name, speed), height in zip(speeds.items(), heights, strict=True):
            ours = name == "tonari"
            colour = OURS if ours else RIVAL
            axes.plot(
                1, speed, "D" if ours else "o", color=colour, markersize=9 if ours else 6, clip_on=False, zorder=3
            )
            axes.annotate(
                f"{result['contenders'][name]['label']}  {_short(speed)}", (1, speed), (1.006, height), color=colour,
                va="center", annotation_clip=False, weight="bold" if ours else "normal",
                arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 4},
            )  # fmt: skip
        if curve := result.get("approximate"):
            _draw_curve(axes, curve)
        axes.set_yscale("log")
        axes.set_xlim(LEAST_RECALL, 1)
        low, high = axes.get_ylim()
        axes.set_ylim(low / 1.2, high * 1.2)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel("recall@10")
        axes.set_ylabel("queries per second")
        rows, columns = result["data"]["rows"], result["data"]["columns"]
        place = f"{rows:,} x {columns}, {result['threads']} threads, {result['cpu']}"
        axes.set_title(
            f"Exact search (recall 1) beside an approximate graph\nFashion-MNIST, {place}", loc="left", fontsize=11
        )
        axes.grid(which="major", color="#DDDDDD", linewidth=0.8)
        axes.spines[["top", "right"]].set_visible(False)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
        plt.close(figure)


def _draw_curve(axes: Any, curve: dict[str, Any]) -> None:
    points = [point for point in curve["points"] if point["recall"] >= LEAST_RECALL]
    recalls, speeds = ([point[key] for point in points] for key in ("recall", "queries_per_second"))
    axes.plot(recalls, speeds, "-o", color=CURVE, markersize=4, clip_on=False, zorder=2)
    for point in points:
        axes.annotate(
            f"ef={point['ef']}", (point["recall"], point["queries_per_second"]), (-4, -4), color=CURVE, fontsize=8,
            textcoords="offset points", ha="right", va="top",
        )  # fmt: skip
    name, _, settings = curve["label"].partition(" ")
    axes.annotate(
        f"{name}, approximate\n{settings}", (recalls[0], speeds[0]), (-8, -34), color=CURVE, weight="bold", va="top",
        textcoords="offset points",
    )  # fmt: skip


def _short(value: float) -> str:
    """Two digits, which is what a picture of timings can say."""
    rounded = float(f"{value:.2g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"


def main(arguments: list[str] | None = None) -> int:
    """Draw the picture; 1 where there is no result to draw it from."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--results", type=Path, default=record.RESULTS, help="default: %(default)s")
    options.add_argument("--output", type=Path, default=IMAGE, help="default: %(default)s")
    chosen = options.parse_args(arguments)
    result = record.saved(chosen.results).get(RESULT)
    if result is None:
        print(f"no {RESULT}.json in {chosen.results}: run python -m benchmarks.neighbors --save", file=sys.stderr)
        return 1
    draw(result, chosen.output)
    print(f"wrote {chosen.output}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
