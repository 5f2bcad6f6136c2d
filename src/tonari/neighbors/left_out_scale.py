"""Leave-one-out under scaling that is learned without the left-out row: exact neighbours from one search.

Given   rows, a scaling (standard deviation with N-1, or range), a metric of differences, k
Gives   for each row its k nearest others, every column divided by its scale over all rows but that one
How     leaving row i out changes the scale of column f by a factor r_if near 1. A distance under row i's own scales is
        between min_f r_if and max_f r_if times the one under the scales of all rows, so the k nearest are among the
        rows within max/min times the k-th common distance: these few are measured anew, and more where that is not few
Exact   deviations by a downdate, recomputed from the rows where it would cancel; the order is by (distance, row)
Time    one search for slightly more than k, and rows * k * columns; memory in blocks of the working memory
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config

from tonari.neighbors.metrics import MetricChoice
from tonari.neighbors.search import build_index
from tonari.neighbors.voting import Lists

Floats = NDArray[np.float64]
SCALINGS = ("none", "standard", "minmax")
METRICS = ("euclidean", "manhattan", "chebyshev", "minkowski")
# A downdate that leaves less than this share of the sum has lost six digits and more.
_CANCELS = 1e-6
# Covers the rounding of both distances, which is some 1e-14 for thousands of columns.
_SLACK = 1 + 1e-9
_SPARE = 8


def scale_of(rows: Floats, scaling: str) -> Floats:
    """What each column is divided by: its deviation (N-1) or its range; 1 for a column without spread.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_rows, n_columns)
    scaling : {"none", "standard", "minmax"}

    Returns
    -------
    ndarray of float64, shape (n_columns,)

    Examples
    --------
    >>> scale_of(np.array([[0.0, 7.0], [3.0, 7.0]]), "minmax")
    array([3., 1.])
    """
    if scaling == "none" or len(rows) < 2:
        return np.ones(rows.shape[1])
    if scaling == "minmax":
        spread = rows.max(axis=0) - rows.min(axis=0)
    else:
        # Differences from a row: a constant column has exactly none.
        away = rows - rows[0]
        spread = np.sqrt(((away - away.mean(axis=0)) ** 2).sum(axis=0) / (len(rows) - 1))
        spread[(away == 0).all(axis=0)] = 0.0
    return np.where(spread == 0, 1.0, spread)


def scales_without(rows: Floats, scaling: str) -> Floats:
    """For each row the `scale_of` all others.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_rows, n_columns)
    scaling : {"standard", "minmax"}

    Returns
    -------
    ndarray of float64, shape (n_rows, n_columns)
    """
    count = len(rows)
    if count < 3:
        return np.ones_like(rows)
    if scaling == "minmax":
        ordered = np.partition(rows, (0, 1, count - 2, count - 1), axis=0)
        least = np.where(rows == ordered[0], ordered[1], ordered[0])
        most = np.where(rows == ordered[-1], ordered[-2], ordered[-1])
        spread = most - least
        return np.where(spread == 0, 1.0, spread)
    away = rows - rows[0]
    away = away - away.mean(axis=0)
    squares = (away**2).sum(axis=0)
    left = squares - away**2 * (count / (count - 1))
    spread = np.sqrt(np.maximum(left, 0) / (count - 2))
    for row in np.flatnonzero((left <= _CANCELS * squares).any(axis=1)):
        columns = left[row] <= _CANCELS * squares
        spread[row, columns] = scale_of(np.delete(rows[:, columns], row, axis=0), scaling)
    return np.where(spread == 0, 1.0, spread)


def left_out_neighbours(rows: Floats, metric: MetricChoice, scaling: str, k: int, threads: int) -> Lists:
    """Each row's k nearest others under the scales of all rows but itself.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_rows, n_columns)
    metric : MetricChoice
        One of `METRICS`.
    scaling : {"standard", "minmax"}
    k : int
        Less than the number of rows.
    threads : int

    Returns
    -------
    Lists
    """
    common = scale_of(rows, scaling)
    own = scales_without(rows, scaling)
    factors = common / own
    stretch = factors.max(axis=1) / factors.min(axis=1) * _SLACK
    index = build_index(rows / common, metric, threads)
    groups = np.arange(len(rows), dtype=np.int32)
    distances, neighbours = np.empty((len(rows), k)), np.empty((len(rows), k), dtype=np.int64)
    waiting, asked = np.arange(len(rows)), k
    while len(waiting):
        asked = min(len(rows) - 1, asked + max(_SPARE, asked // 4))
        unsure = []
        for part in _blocks(waiting, asked * max(rows.shape[1], 2)):
            near, found = index.search(rows[part] / common, asked, groups, groups[part], threads)
            last = near[:, k - 1]
            sure = (last * stretch[part] < near[:, -1]) | (last == 0) | (asked == len(rows) - 1)
            kept = part[sure]
            distances[kept], neighbours[kept] = _measured(rows, kept, found[sure], own[kept], metric, k)
            unsure.append(part[~sure])
        waiting = np.concatenate(unsure)
        asked *= 2
    return Lists.of_equal_length(distances, neighbours)


def _measured(
    rows: Floats,
    queries: NDArray[np.int64],
    candidates: NDArray[np.int64],
    scales: Floats,
    metric: MetricChoice,
    k: int,
) -> tuple[Floats, NDArray[np.int64]]:
    """The k nearest candidates of every query under its own scales, by (distance, row)."""
    candidates = np.sort(candidates, axis=1)
    gaps = np.abs(rows[candidates] - rows[queries][:, np.newaxis]) / scales[:, np.newaxis]
    if metric.name == "manhattan":
        found = gaps.sum(axis=2)
    elif metric.name == "chebyshev":
        found = gaps.max(axis=2)
    elif metric.name == "euclidean":
        found = np.sqrt((gaps * gaps).sum(axis=2))
    else:
        found = (gaps**metric.p).sum(axis=2) ** (1 / metric.p)
    # Candidates ascend, so a stable sort leaves equal distances in the order of rows.
    order = np.argsort(found, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(found, order, axis=1), np.take_along_axis(candidates, order, axis=1)


def _blocks(queries: NDArray[np.int64], numbers_each: int) -> list[NDArray[Any]]:
    """Queries in blocks whose differences fit in a quarter of the working memory, three times over."""
    most = max(1, int(get_config()["working_memory"] * 2**18 / (24 * numbers_each)))
    return [queries[start : start + most] for start in range(0, len(queries), most)]
