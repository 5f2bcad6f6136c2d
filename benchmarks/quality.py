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
BLOCK = 4096


def true_neighbours(queries: np.ndarray, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Distances and rows of the k nearest by (distance, row).

    Direct differences in float64 leave the few rows that can matter; the oracle decides among those.

    Parameters
    ----------
    queries : ndarray of shape (q, d)
    rows : ndarray of shape (n, d)
    k : int

    Returns
    -------
    distances, rows : ndarray of shape (q, k)
    """
    distances, order = np.empty((len(queries), k)), np.empty((len(queries), k), dtype=np.int64)
    for i, query in enumerate(queries.astype(np.float64)):
        squares = np.empty(len(rows))
        for start in range(0, len(rows), BLOCK):
            difference = rows[start : start + BLOCK].astype(np.float64) - query
            squares[start : start + BLOCK] = np.einsum("ij,ij->i", difference, difference)
        limit = np.partition(squares, k - 1)[k - 1] * (1 + MARGIN)
        near = np.flatnonzero(squares <= limit)
        found, place = nearest(distance_matrix(queries[i : i + 1], rows[near]), k)
        distances[i], order[i] = found[0], near[place[0]]
    return distances, order


def judge(
    found: tuple[np.ndarray, np.ndarray], true: tuple[np.ndarray, np.ndarray], queries: np.ndarray, rows: np.ndarray
) -> dict[str, Any]:
    """Shares of right answers on the sample.

    Parameters
    ----------
    found : (distances, rows)
        What a contender answered for `queries`.
    true : (distances, rows)
        What `true_neighbours` says.
    queries, rows : ndarray

    Returns
    -------
    dict
        ``recall``: share of true neighbours that were found. ``same_rows_in_order``: share of queries answered with
        exactly the true rows in the true order. ``wrong_top1``: share of queries whose first row is not at the
        smallest distance. ``largest_relative_error``: of the distances returned, against the oracle's for that row.
    """
    got, order = np.asarray(found[0], dtype=np.float64), np.asarray(found[1])
    hits = [len(np.intersect1d(a, b)) for a, b in zip(order, true[1], strict=True)]
    of_found = np.vstack([distance_matrix(q[np.newaxis], rows[o])[0] for q, o in zip(queries, order, strict=True)])
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.where(of_found == 0, np.where(got == 0, 0, np.inf), np.abs(got - of_found) / of_found)
    return {
        "queries": len(queries),
        "recall": float(np.sum(hits) / true[1].size),
        "same_rows_in_order": float((order == true[1]).all(axis=1).mean()),
        "wrong_top1": float((of_found[:, 0] > true[0][:, 0]).mean()),
        "largest_relative_error": float(np.where(np.isfinite(got), error, np.inf).max()),
    }
