"""Rows in a kd-tree or a ball tree, asked like every other index, and the probe that says whether a tree pays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tonari import _core
from tonari.neighbors.index import Groups, Lists, Nearest, Radius, radii_of
from tonari.neighbors.metrics import MetricChoice

TREE_METRICS = ("euclidean", "manhattan", "chebyshev", "minkowski")

# The probe: fewer rows are searched exhaustively at once; a sample holds at most this many values; queries, neighbours.
SMALL = 1_000
SAMPLE_VALUES = 2**19
PROBES, PROBED_K = 48, 10
# Nanoseconds on one thread (AVX-512, Zen 5) per query, and of a pair: per node or row, and per column of one.
# Exhaustive search skips most rows under the Euclidean distance, whose cascade groups them, and none under the others.
TREE_QUERY, TREE_NODE, TREE_ROW = 1_500.0, (30.0, 3.0), (0.3, 0.14)
BRUTE_QUERY, BRUTE_ROW, PLAIN_ROW = 6_000.0, (0.06, 0.006), (0.2, 0.011)


def serves(metric: MetricChoice) -> bool:
    """Whether boxes and balls bound this metric in the engine.

    Parameters
    ----------
    metric : MetricChoice

    Returns
    -------
    bool
    """
    return metric.name in TREE_METRICS and not metric.params and metric.p >= 1


class SpaceTreeIndex:
    """Rows in a tree of the engine; the array must not change while this lives.

    Parameters
    ----------
    rows : ndarray of float32 or float64, C order
    kind : {"kd_tree", "ball_tree"}
    metric : MetricChoice
        One that `serves` accepts.
    threads : int
    leaf_size : int, default=30
        A node of fewer than twice as many rows is a leaf.
    split : {"spread", "cyclic"}, default="spread"
    threshold : {"median", "midpoint"}, default="median"
    """

    def __init__(
        self, rows: NDArray[Any], kind: str, metric: MetricChoice, threads: int, *, leaf_size: int = 30,
        split: str = "spread", threshold: str = "median",
    ) -> None:  # fmt: skip
        self.rows = rows
        self.kind = kind
        self._how = (str(metric.name), metric.p, split, threshold, leaf_size)
        self._tree = _core.space_tree_build(rows, kind, *self._how, threads)
        self._wide: Any = None

    def search(
        self, queries: NDArray[Any], k: int, row_groups: Groups, query_groups: Groups, threads: int, *,
        backtrack: bool = True, eps: float = 1.0,
    ) -> Nearest:  # fmt: skip
        """The k nearest rows of every query, rows of its own group left out, by (distance, row).

        Parameters
        ----------
        queries : ndarray of float32 or float64
        k : int
        row_groups, query_groups : ndarray of int32 or None
        threads : int
        backtrack : bool, default=True
        eps : float, default=1.0
            As in :meth:`tonari.neighbors.KDTree.query`.

        Returns
        -------
        distances, neighbours : ndarray of shape (n_queries, k)
        """
        tree, queries = self._of_one_type(queries, threads)
        distances = np.empty((len(queries), k))
        neighbours = np.empty((len(queries), k), dtype=np.int64)
        _core.space_tree_search(tree, queries, distances, neighbours, row_groups, query_groups, backtrack, eps, threads)
        return distances, neighbours

    def within(
        self, queries: NDArray[Any], radius: Radius, row_groups: Groups, query_groups: Groups, threads: int, *,
        eps: float = 1.0,
    ) -> Lists:  # fmt: skip
        """All rows within the radius: (indptr, rows, distances), each query's in order of (distance, row).

        Parameters
        ----------
        queries : ndarray of float32 or float64
        radius : float or ndarray of shape (n_queries,)
        row_groups, query_groups : ndarray of int32 or None
        threads : int
        eps : float, default=1.0
            As in :meth:`tonari.neighbors.KDTree.query_radius`.

        Returns
        -------
        indptr, rows, distances : ndarray
        """
        tree, queries = self._of_one_type(queries, threads)
        radii = radii_of(radius, len(queries))
        return _core.space_tree_within(tree, queries, radii, row_groups, query_groups, True, eps, threads)

    def _of_one_type(self, queries: NDArray[Any], threads: int) -> tuple[Any, NDArray[Any]]:
        queries = np.ascontiguousarray(queries)
        dtype = self.rows.dtype
        if queries.dtype != dtype:
            with np.errstate(over="ignore"):
                narrow = queries.astype(dtype)
            if not np.array_equal(narrow, queries):
                # Digits that float32 cannot hold: a second tree, over the same rows in float64.
                if self._wide is None:
                    self._wide = _core.space_tree_build(self.rows.astype(queries.dtype), self.kind, *self._how, threads)
                return self._wide, queries
            queries = narrow
        return self._tree, queries


def pays(rows: NDArray[Any], metric: MetricChoice, threads: int) -> bool:
    """Whether a kd-tree is likely to answer faster than exhaustive search: a probe that counts, and looks at no clock.

    Trees over two samples, one four times the other, are asked for the neighbours of other rows. The rows and nodes
    that they look at, and how these grow from one sample to the next, give those of the whole table; measured costs of
    a row and a node turn them into time.

    Parameters
    ----------
    rows : ndarray
    metric : MetricChoice
    threads : int

    Returns
    -------
    bool
    """
    n, dim = rows.shape
    if n < SMALL or not serves(metric):
        return False
    most = int(np.clip(SAMPLE_VALUES // dim, 1_024, n // 2))
    counts = np.array([_looked_at(rows, metric, size, threads) for size in (most // 4, most)])
    growth = np.log(np.maximum(counts[1], 1) / np.maximum(counts[0], 1)) / np.log(4)
    nodes, looked = counts[1] * (n / most) ** np.clip(growth, 0, 1)
    tree = TREE_QUERY + nodes * _per(TREE_NODE, dim) + looked * _per(TREE_ROW, dim)
    row = BRUTE_ROW if metric.name == "euclidean" else PLAIN_ROW
    return bool(tree < BRUTE_QUERY + n * _per(row, dim))


def _per(cost: tuple[float, float], dim: int) -> float:
    return cost[0] + cost[1] * dim


def _looked_at(rows: NDArray[Any], metric: MetricChoice, size: int, threads: int) -> tuple[float, float]:
    """Nodes and rows that a tree over `size` rows looks at for one query."""
    n = len(rows)
    sample = np.arange(size) * n // size
    asked = (np.arange(PROBES) * n // PROBES + n // (2 * PROBES)) % n
    tree = _core.space_tree_build(
        np.ascontiguousarray(rows[sample]), "kd_tree", str(metric.name), metric.p, "spread", "median", 30, threads
    )
    # A row that is in the sample too is not its own neighbour.
    nodes, _, looked = _core.space_tree_search(
        tree, np.ascontiguousarray(rows[asked]), np.empty((PROBES, PROBED_K)), np.empty((PROBES, PROBED_K), np.int64),
        sample.astype(np.int32), asked.astype(np.int32), True, 1.0, threads,
    )  # fmt: skip
    return nodes / PROBES, looked / PROBES
