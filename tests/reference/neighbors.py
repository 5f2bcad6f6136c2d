"""Nearest neighbours, slowly and plainly: every distance from its formula, in the widest floating point there is.

Given   queries (q, d) and rows (n, d); a metric; k
Gives   distances in float64, rounded once from the wide result, ordered by (distance, row)
Cost    q * n * d wide operations and as much memory per query; nothing here is meant to be fast

No expansion of (x - y)^2, no squared distances that are compared before the root, no block, no thread. The fast engine
must agree with this file: see `assert_same_neighbours` for what "agree" means.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

# 64 bits of mantissa on x86; where a platform has no wider type this is float64 and the bounds below still hold.
WIDE = np.longdouble
EPSILON = float(np.finfo(np.float64).eps)
Weights = Literal["uniform", "distance"]

EXPONENT = {"euclidean": 2.0, "l2": 2.0, "manhattan": 1.0, "l1": 1.0, "cityblock": 1.0, "chebyshev": np.inf}


def distance_matrix(queries: ArrayLike, rows: ArrayLike, metric: str = "euclidean", p: float = 2.0) -> NDArray[Any]:
    """Distance of every query to every row.

    Parameters
    ----------
    queries : array-like of shape (q, d)
    rows : array-like of shape (n, d)
    metric : {"euclidean", "l2", "manhattan", "l1", "cityblock", "chebyshev", "minkowski", "cosine"}
    p : float, default=2.0
        Exponent of "minkowski", at least 1; infinity is Chebyshev.

    Returns
    -------
    ndarray of float64, shape (q, n)

    Examples
    --------
    >>> distance_matrix([[0, 0]], [[3, 4], [0, 0]]).tolist()
    [[5.0, 0.0]]
    >>> distance_matrix([[1, 0]], [[0, 2], [7, 0], [0, 0]], "cosine").tolist()
    [[1.0, 0.0, 1.0]]
    """
    wide_rows = np.asarray(rows).astype(WIDE)
    wide_queries = np.asarray(queries).astype(WIDE)
    distances = np.empty((len(wide_queries), len(wide_rows)), dtype=np.float64)
    for i, query in enumerate(wide_queries):
        if metric == "cosine":
            distances[i] = _cosine(query, wide_rows)
        else:
            distances[i] = _norm(wide_rows - query, p if metric == "minkowski" else EXPONENT[metric])
    return distances


def _norm(differences: NDArray[Any], p: float) -> NDArray[Any]:
    """(sum |difference|^p)^(1/p) of every row, scaled by a power of two so that no exponent is too large or small."""
    size = np.abs(differences)
    largest = size.max(axis=1)
    if p == np.inf:
        return largest
    exponent = np.frexp(largest)[1]
    size = np.ldexp(size, -exponent[:, np.newaxis])
    if p == 1:
        length = size.sum(axis=1)
    elif p == 2:
        length = np.sqrt((size * size).sum(axis=1))
    else:
        length = (size ** WIDE(p)).sum(axis=1) ** (WIDE(1) / WIDE(p))
    return np.ldexp(length, exponent)


def _cosine(query: NDArray[Any], rows: NDArray[Any]) -> NDArray[Any]:
    """Half the squared distance of unit vectors; a zero vector has no direction and is at distance 1 of everything."""
    lengths = _norm(rows, 2.0)
    length = _norm(query[np.newaxis], 2.0)[0]
    if length == 0:
        return np.ones(len(rows), dtype=WIDE)
    units = rows / np.where(lengths == 0, 1, lengths)[:, np.newaxis]
    half = ((units - query / length) ** 2).sum(axis=1) / 2
    return np.where(lengths == 0, WIDE(1), half)


def nearest(distances: NDArray[Any], k: int, *, own_row: bool = False) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The k nearest rows of every query by (distance, row); with `own_row`, query i never meets row i."""
    candidates = np.array(distances)
    if own_row:
        np.fill_diagonal(candidates, np.inf)
    rows = np.argsort(candidates, axis=1, kind="stable")[:, :k].astype(np.int64)
    return np.take_along_axis(distances, rows, axis=1), rows


def within(distances: NDArray[Any], radius: float) -> list[NDArray[np.int64]]:
    """The rows at most `radius` away from every query, in the order of rows."""
    return [np.flatnonzero(row <= radius) for row in distances]


def vote_weights(distances: NDArray[Any], weights: Weights) -> NDArray[Any]:
    """One weight per neighbour: 1, or 1 / distance; neighbours at distance 0 silence all others of their query."""
    if weights == "uniform":
        return np.ones_like(distances)
    zero = distances == 0
    with np.errstate(divide="ignore"):
        inverse = 1 / distances
    return np.where(zero.any(axis=1, keepdims=True), zero.astype(np.float64), inverse)


def class_shares(
    distances: NDArray[Any], rows: NDArray[Any], codes: NDArray[Any], n_classes: int, weights: Weights = "uniform"
) -> NDArray[Any]:
    """Share of the vote that each class gets from each query's neighbours; the label is the first largest share."""
    shares = np.zeros((len(rows), n_classes))
    for i, (neighbours, weight) in enumerate(zip(rows, vote_weights(distances, weights), strict=True)):
        for row, value in zip(neighbours, weight, strict=True):
            shares[i, codes[row]] += value
    return shares / shares.sum(axis=1, keepdims=True)


def mean_target(
    distances: NDArray[Any], rows: NDArray[Any], targets: NDArray[Any], weights: Weights = "uniform"
) -> NDArray[Any]:
    """Weighted mean of the neighbours' targets, (q,) or (q, outputs)."""
    weight = vote_weights(distances, weights)
    total = weight.sum(axis=1)
    if targets.ndim == 1:
        return (weight * targets[rows]).sum(axis=1) / total
    return np.einsum("qk,qko->qo", weight, targets[rows]) / total[:, np.newaxis]


def error_bound(distances: NDArray[Any], metric: str, p: float = 2.0) -> NDArray[Any]:
    """How far the engine's distance may lie from this file's, per pair.

    L1, L2 and Chebyshev: 4 ULP, and nothing at distance 0. Other Minkowski p: 32 ULP, for two calls of `pow`.
    Cosine: the unit vectors are rounded, so the error has a part that goes with the chord, sqrt(2 distance).
    """
    if metric == "cosine":
        return EPSILON * (8 * distances + 4 * np.sqrt(2 * distances) + 64 * EPSILON)
    exponent = p if metric == "minkowski" else EXPONENT[metric]
    ulps = 4 if exponent in (1, 2, np.inf) else 32
    return np.where(distances == 0, 0, ulps * np.spacing(distances))


def assert_same_neighbours(
    found: tuple[ArrayLike, ArrayLike], distances: NDArray[Any], k: int, metric: str = "euclidean", p: float = 2.0,
    *, own_row: bool = False, exact: bool = False,
) -> None:  # fmt: skip
    """Raise AssertionError unless `found` are the k nearest neighbours.

    Parameters
    ----------
    found : (distances, rows)
        What ``kneighbors`` returned.
    distances : ndarray of shape (q, n)
        This file's `distance_matrix`.
    k : int
    metric, p
        As for `distance_matrix`; they choose the error bound.
    own_row : bool, default=False
        Query i is row i and must not be among its own neighbours.
    exact : bool, default=False
        Every sum is exact in float64 (small integers): ties are real, and the rows must be the oracle's.

    Notes
    -----
    Another order than the oracle's is accepted only among rows whose distances agree within the bound; whatever the
    order, it must ascend in (distance, row), so that equal distances are never decided by the way they were found.
    """
    __tracebackhide__ = True
    got, rows = np.asarray(found[0]), np.asarray(found[1])
    expected, expected_rows = nearest(distances, k, own_row=own_row)
    assert got.dtype == np.float64, f"distances are {got.dtype}, not float64"
    assert rows.dtype == np.int64, f"rows are {rows.dtype}, not int64"
    assert got.shape == rows.shape == expected.shape, f"shapes {got.shape}, {rows.shape}; expected {expected.shape}"
    assert ((rows >= 0) & (rows < distances.shape[1])).all(), "a row number outside the table"
    if exact:
        np.testing.assert_array_equal(rows, expected_rows)
    for query in range(len(rows)):
        assert len(np.unique(rows[query])) == k, f"query {query}: a row came twice"
    if own_row:
        assert not (rows == np.arange(len(rows))[:, np.newaxis]).any(), "a row is its own neighbour"
    step, later = np.diff(got, axis=1), np.diff(rows, axis=1) > 0
    assert ((step > 0) | ((step == 0) & later)).all(), "not ascending in (distance, row)"
    true = np.take_along_axis(distances, rows, axis=1)
    bound = error_bound(true, metric, p)
    _assert_within(got, true, bound, "distance differs from the oracle's for the same row")
    _assert_within(true, expected, np.maximum(bound, error_bound(expected, metric, p)), "a nearer row was left out")


def _assert_within(got: NDArray[Any], expected: NDArray[Any], bound: NDArray[Any], message: str) -> None:
    __tracebackhide__ = True
    wrong = ~(np.abs(got - expected) <= bound)
    if wrong.any():
        query, place = (int(i) for i in np.argwhere(wrong)[0])
        raise AssertionError(
            f"{message}: query {query}, neighbour {place}: {got[query, place]!r} against {expected[query, place]!r}, "
            f"allowed {bound[query, place]!r}; {int(wrong.sum())} of {wrong.size} entries"
        )
