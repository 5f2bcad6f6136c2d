"""How right an answer is: against neighbours decided by the tests' oracle on a sample of the queries."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.reference.neighbors import distance_matrix, nearest

# A row this much farther than the k-th cannot be among the k nearest, whatever float64 rounds: 1e-16 * columns << 1e-9.
MARGIN = 1e-9
# Of |query| + |row|, squared: more than the expansion of centred rows rounds away for less than 2,000 columns.
SLACK = 1e-12
BLOCK = 4096
# Numbers in the table of approximate distances: 800 MB of float64.
TABLE = 100_000_000
# An answer may lie this much (relative) beyond the true k-th: what float32 norms leave of distances, and no more.
ROUNDING = 1e-4


def oracle(queries: np.ndarray, rows: np.ndarray, metric: str) -> np.ndarray:
    """The tests' own distances; Hamming, of zeros and ones, is the share of columns that differ."""
    if metric == "hamming":
        return distance_matrix(queries, rows, "manhattan") / rows.shape[1]
    return distance_matrix(queries, rows, metric)


def true_neighbours(
    queries: np.ndarray, rows: np.ndarray, k: int, metric: str = "euclidean"
) -> tuple[np.ndarray, np.ndarray]:
    """Distances and rows of the k nearest by (distance, row).

    Approximate distances in float64, with a margin for their rounding, leave the few rows that can matter; the oracle
    decides among those.

    Parameters
    ----------
    queries : ndarray of shape (q, d)
    rows : ndarray of shape (n, d)
    k : int
    metric : {"euclidean", "manhattan", "hamming"}

    Returns
    -------
    distances, rows : ndarray of shape (q, k)
    """
    distances, order = np.empty((len(queries), k)), np.empty((len(queries), k), dtype=np.int64)
    approximate = _sums if metric == "manhattan" else _squares
    step = max(1, TABLE // len(rows))
    for start in range(0, len(queries), step):
        values, slack = approximate(queries[start : start + step], rows)
        for i, (row, more) in enumerate(zip(values, slack, strict=True), start):
            limit = np.partition(row, k - 1)[k - 1] * (1 + MARGIN) + more
            near = np.flatnonzero(row <= limit)
            found, place = nearest(oracle(queries[i : i + 1], rows[near], metric), k)
            distances[i], order[i] = found[0], near[place[0]]
    return distances, order


def _squares(queries: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Squared distances by the expansion about the mean row, and how far two of a query's may be wrong together."""
    centre = rows.mean(axis=0, dtype=np.float64)
    moved = queries - centre
    own = np.einsum("ij,ij->i", moved, moved)
    values, longest = np.empty((len(queries), len(rows))), 0.0
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK] - centre
        norms = np.einsum("ij,ij->i", block, block)
        longest = max(longest, float(norms.max()))
        values[:, start : start + BLOCK] = own[:, np.newaxis] - 2 * (moved @ block.T) + norms
    return np.maximum(values, 0, out=values), SLACK * (np.sqrt(own) + np.sqrt(longest)) ** 2


def _sums(queries: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sums of absolute differences, which lose nothing that the relative margin does not hold."""
    values = np.empty((len(queries), len(rows)))
    for i, query in enumerate(queries.astype(np.float64)):
        for start in range(0, len(rows), BLOCK):
            values[i, start : start + BLOCK] = np.abs(rows[start : start + BLOCK] - query).sum(axis=1)
    return values, np.zeros(len(queries))


def judge(
    found: tuple[np.ndarray, np.ndarray],
    true: tuple[np.ndarray, np.ndarray],
    queries: np.ndarray,
    rows: np.ndarray,
    metric: str = "euclidean",
) -> dict[str, Any]:
    """Shares of right answers on the sample.

    Parameters
    ----------
    found : (distances, rows)
        What a contender answered for `queries`.
    true : (distances, rows)
        What `true_neighbours` says.
    queries, rows : ndarray
    metric : str

    Returns
    -------
    dict
        ``recall``: share of true neighbours that were found. ``as_near``: share of answers, each row once, that are no
        farther than the true k-th but for rounding: where distances are equal, another row is as right.
        ``same_rows_in_order``: share of queries answered with exactly the true rows in the true order.
        ``wrong_top1``: share of queries whose first row is not at the smallest distance. ``largest_relative_error``:
        of the distances returned, against the oracle's for that row.
    """
    got, order = np.asarray(found[0], dtype=np.float64), np.asarray(found[1])
    hits = [len(np.intersect1d(a, b)) for a, b in zip(order, true[1], strict=True)]
    of_found = np.vstack([oracle(q[np.newaxis], rows[o], metric)[0] for q, o in zip(queries, order, strict=True)])
    near = (of_found <= true[0][:, -1:] * (1 + ROUNDING)) & (order >= 0)
    as_near = [len(np.unique(own[close])) for own, close in zip(order, near, strict=True)]
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(of_found == 0, np.where(got == 0, 0, np.inf), np.abs(got - of_found) / of_found)
    return {
        "queries": len(queries),
        "recall": float(np.sum(hits) / true[1].size),
        "as_near": float(np.sum(as_near) / true[1].size),
        "same_rows_in_order": float((order == true[1]).all(axis=1).mean()),
        "wrong_top1": float((of_found[:, 0] > true[0][:, 0]).mean()),
        "largest_relative_error": float(np.where(np.isfinite(got), error, np.inf).max()),
    }


def is_right(judgement: dict[str, Any]) -> bool:
    """Whether a contender's time counts: every answer is as near as the true ones."""
    return bool(judgement["as_near"] == 1)
