"""A search in a kd-tree, step by step, with and without backtracking: which rows are looked at, and what is found.

The tree here is a slow one that can be read: leaves of rows halved by the coordinate of widest spread, each with the
box that its rows fill. `KDTree` divides the same rows in the same way. A search goes down to the query's own leaf; the
circle through the best row found there may reach into other boxes, and backtracking looks into those and no others.

To draw it (needs matplotlib): python examples/kd_tree_search.py --save search.png
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tonari.neighbors import KDTree

ROWS, LEAF_SIZE, QUERIES = 128, 8, 500


@dataclass(frozen=True, eq=False)
class Box:
    """A node: its rows, the corners of the box that they fill, and two children unless it is a leaf."""

    rows: Any
    low: Any
    high: Any
    children: tuple[Box, ...]


def data() -> tuple[Any, Any]:
    """Rows in the unit square, and queries."""
    rng = np.random.default_rng(4)
    return rng.random((ROWS, 2)), rng.random((QUERIES, 2))


def build(X: Any, rows: Any = None) -> Box:
    """A kd-tree over the rows `rows` of X, divided at the median as long as both halves fill a leaf."""
    rows = np.arange(len(X)) if rows is None else rows
    low, high = X[rows].min(axis=0), X[rows].max(axis=0)
    if len(rows) < 2 * LEAF_SIZE:
        return Box(rows, low, high, ())
    order = rows[np.argsort(X[rows, np.argmax(high - low)], kind="stable")]
    halves = np.sort(order[: len(rows) // 2]), np.sort(order[len(rows) // 2 :])
    return Box(rows, low, high, tuple(build(X, half) for half in halves))


def leaves(box: Box) -> list[Box]:
    """The leaves below a node, from left to right."""
    return [leaf for child in box.children for leaf in leaves(child)] if box.children else [box]


def gap(box: Box, query: Any) -> float:
    """The distance from the query to the nearest point of the box: 0 inside, and no row of the box is nearer."""
    return length(np.maximum(np.maximum(box.low - query, query - box.high), 0))


def length(difference: Any) -> float:
    """Of a difference of two points."""
    return float(np.sqrt((difference**2).sum()))


def search(tree: Box, X: Any, query: Any, *, backtrack: bool = True) -> tuple[float, int, list[Box]]:
    """The distance and number of the nearest row found, and the leaves looked into, in their order."""
    best, looked_into = (np.inf, -1), []
    waiting = [(0.0, tree)]
    while waiting:
        distance, box = waiting.pop()
        if distance > best[0]:
            continue  # the circle does not reach this box
        if box.children:
            # The nearer child is taken from the end of the list, first.
            waiting += sorted(((gap(child, query), child) for child in box.children), key=lambda each: -each[0])
            continue
        looked_into.append(box)
        best = min(best, min((length(X[row] - query), int(row)) for row in box.rows))
        if not backtrack:
            break
    return *best, looked_into


def telling(tree: Box, X: Any, queries: Any) -> Any:
    """The first query in the middle of the square that its leaf misleads, with at least three leaves to look into."""
    for query in queries[np.all(np.abs(queries - 0.5) < 0.25, axis=1)]:
        _, nearest, looked_into = search(tree, X, query)
        if search(tree, X, query, backtrack=False)[1] != nearest and len(looked_into) >= 3:
            return query
    raise ValueError("Every one of these queries finds its nearest row in its own leaf.")


def figure() -> Any:
    """Both searches side by side: boxes of the leaves, the query, the circle of what was found, the rows looked at."""
    import matplotlib.pyplot as plt
    from matplotlib.patches import Circle, Rectangle

    X, queries = data()
    tree = build(X)
    query = telling(tree, X, queries)
    right = search(tree, X, query)[1]
    picture, axes = plt.subplots(1, 2, figsize=(12, 6.4), layout="constrained", sharey=True)
    for ax, backtrack in zip(axes, (False, True), strict=True):
        distance, found, looked_into = search(tree, X, query, backtrack=backtrack)
        looked_at = np.concatenate([leaf.rows for leaf in looked_into])
        for leaf in leaves(tree):
            turn = next((i for i, other in enumerate(looked_into, 1) if other is leaf), 0)
            face, edge = ("#FFE3B0", "#E69F00") if turn else ("none", "#AAAAAA")
            ax.add_patch(Rectangle(leaf.low, *(leaf.high - leaf.low), facecolor=face, edgecolor=edge, zorder=1))
            if turn:
                corner = leaf.low[0], leaf.high[1]
                place = {"xytext": (3, -3), "textcoords": "offset points", "va": "top", "fontsize": 9}
                ax.annotate(str(turn), corner, color="#8A5F00", zorder=4, **place)
        ax.plot(*X.T, "o", color="#BBBBBB", markersize=4, zorder=2, label="row")
        ax.plot(*X[looked_at].T, "o", color="#333333", markersize=4, zorder=3, label="row looked at")
        ax.add_patch(Circle(tuple(query), distance, fill=False, color="#0072B2", linewidth=1.5, zorder=4))
        if found != right:
            ax.plot(*X[right], "s", color="#D55E00", markersize=11, fillstyle="none", zorder=5, label="nearest, missed")
        ax.plot(*X[found], "o", color="#0072B2", markersize=11, fillstyle="none", zorder=5, label="found")
        ax.plot(*query, "P", color="#D55E00", markeredgecolor="white", markersize=11, zorder=6, label="query")
        name = "with backtracking: exact" if backtrack else "without backtracking: the query's own leaf"
        ax.set_title(f"{name}\n{len(looked_at)} of {len(X)} rows looked at, found at distance {distance:.3f}")
        ax.set(aspect="equal", xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), xticks=[], yticks=[])
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=5, frameon=False, fontsize=9)
    return picture


def main() -> None:
    """Print how often the query's own leaf holds the nearest row, and how many rows each search looks at."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", type=Path, metavar="FILE", help="save the picture: .png or .svg")
    arguments = parser.parse_args()

    X, queries = data()
    tree = build(X)
    nearest = KDTree(X, leaf_size=LEAF_SIZE).query(queries, return_distance=False).ravel()
    print(f"{len(X)} rows in {len(leaves(tree))} leaves, {len(queries)} queries")
    for backtrack in (False, True):
        answers = [search(tree, X, query, backtrack=backtrack) for query in queries]
        right = np.mean([found == row for (_, found, _), row in zip(answers, nearest, strict=True)])
        looked_at = np.mean([sum(len(leaf.rows) for leaf in looked_into) for *_, looked_into in answers])
        name = "with backtracking" if backtrack else "without backtracking"
        print(f"{name}: {right:.1%} find what KDTree finds, {looked_at:.1f} rows looked at on average")
    if arguments.save:
        figure().savefig(arguments.save, dpi=150, bbox_inches="tight")
        print(f"saved {arguments.save}")


if __name__ == "__main__":
    main()
