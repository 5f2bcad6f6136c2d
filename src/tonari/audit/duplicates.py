"""find_duplicates and find_leakage: rows that stand in a table twice, or on both sides of a split.

Near duplicates are rows that are closer than chance explains. Among independent rows, and where the density does not
change within a neighbourhood of intrinsic dimension m, the nearest of k is at distance d_1 with (d_1 / d_k)^m following
Beta(1, k - 1): P(d_1 / d_k < t) = 1 - (1 - t^m)^(k - 1). A pair is reported when less than half a pair that close is to
be expected in the whole table. m is the median of Levina and Bickel's local estimates (2004).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tonari.audit.table import Floats, distinct, intrinsic_dimension, labels_of, numbers_of, scaled
from tonari.neighbors import NearestNeighbors

_K = 10
_EXPECTED = 0.5


@dataclass(frozen=True)
class Duplicates:
    """What `find_duplicates` found; ``print`` it for a summary.

    Attributes
    ----------
    exact : list of ndarray of int64
        Sets of two or more equal rows.
    conflicts : list of ndarray of int64
        Those of them whose labels differ; empty if no labels were given.
    near : ndarray of int64, shape (n_pairs, 2)
        Pairs of rows that differ but are closer than chance explains, the closest first (relative to their
        surroundings). Of equal rows the first stands for all.
    near_distances : ndarray of float64, shape (n_pairs,)
        In the units of the audit.
    n_rows : int

    Examples
    --------
    >>> print(find_duplicates([[1.0], [2.0], [1.0]], ["a", "b", "b"]))
    1 of 3 rows repeat an earlier row (1 sets of equal rows).
    2 rows equal another one that has another label.
    0 pairs of rows are closer than chance explains.
    """

    exact: list[NDArray[np.int64]]
    conflicts: list[NDArray[np.int64]]
    near: NDArray[np.int64]
    near_distances: Floats
    n_rows: int

    def __str__(self) -> str:
        again = sum(len(group) - 1 for group in self.exact)
        lines = [
            f"{again} of {self.n_rows} rows repeat an earlier row ({len(self.exact)} sets of equal rows).",
            f"{sum(map(len, self.conflicts))} rows equal another one that has another label.",
            f"{len(self.near)} pairs of rows are closer than chance explains.",
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class Leakage:
    """What `find_leakage` found; ``print`` it for a summary.

    Attributes
    ----------
    exact : ndarray of int64, shape (n_pairs, 2)
        (test row, first training row that equals it).
    near : ndarray of int64, shape (n_pairs, 2)
        (test row, training row) closer than chance explains.
    expected_exact : float
        How many test rows would equal a training row if training rows repeat one another as they do: tables of few
        different values repeat rows without any leak.
    n_test : int

    Examples
    --------
    >>> print(find_leakage([[1.0], [2.0], [3.0]], [[7.0], [2.0]]))
    1 of 2 test rows equal a training row; 0 are expected from how training rows repeat one another.
    0 more are closer to one than chance explains.
    """

    exact: NDArray[np.int64]
    near: NDArray[np.int64]
    expected_exact: float
    n_test: int

    def __str__(self) -> str:
        return (
            f"{len(self.exact)} of {self.n_test} test rows equal a training row; {self.expected_exact:.0f} are expected"
            " from how training rows repeat one another.\n"
            f"{len(self.near)} more are closer to one than chance explains."
        )


def find_duplicates(
    X: Any, y: Any = None, *, metric: str = "euclidean", scaling: str = "standard", n_jobs: int | None = None
) -> Duplicates:
    """Find equal rows, rows that are nearly equal, and equal rows with different labels.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        Numbers; encode other columns first.
    y : array-like of shape (n_rows,), default=None
    metric : str, default="euclidean"
    scaling : {"standard", "minmax", "none"}, default="standard"
        What columns are divided by before distances are taken.
    n_jobs : int, default=None
        Threads. Never changes an answer.

    Returns
    -------
    Duplicates

    Examples
    --------
    >>> found = find_duplicates([[1.0], [2.0], [1.0], [4.0]], ["a", "b", "c", "b"])
    >>> found.exact, found.conflicts
    ([array([0, 2])], [array([0, 2])])
    """
    (table,) = numbers_of(X)
    rows = distinct(table)
    exact = rows.groups()
    conflicts: list[NDArray[np.int64]] = []
    if y is not None:
        codes = labels_of(y, len(table))[1]
        conflicts = [group for group in exact if (codes[group] != codes[group[0]]).any()]
    (different,) = scaled(scaling, rows.rows)
    first = np.full(len(different), -1, dtype=np.int64)
    first[rows.of_row[::-1]] = np.arange(len(table))[::-1]
    pairs, close = np.empty((0, 2), dtype=np.int64), np.empty(0)
    if len(different) > _K:
        distances, found = NearestNeighbors(n_neighbors=_K, metric=metric, n_jobs=n_jobs).fit(different).kneighbors()
        order = _closer_than_chance(distances, intrinsic_dimension(distances))
        pairs = np.sort(np.column_stack([first[order], first[found[order, 0]]]), axis=1)
        pairs, kept = np.unique(pairs, axis=0, return_index=True)
        by_surprise = np.argsort(kept, kind="stable")
        pairs, close = pairs[by_surprise], distances[order, 0][np.sort(kept)]
    return Duplicates(exact, conflicts, pairs, close, len(table))


def find_leakage(
    X_train: Any, X_test: Any, *, metric: str = "euclidean", scaling: str = "standard", n_jobs: int | None = None
) -> Leakage:
    """Find test rows that a learner has seen, or nearly seen, in training.

    Parameters
    ----------
    X_train, X_test : array-like of shape (n_rows, n_columns)
        Numbers; encode other columns first.
    metric : str, default="euclidean"
    scaling : {"standard", "minmax", "none"}, default="standard"
        What columns are divided by, learned from the training rows.
    n_jobs : int, default=None
        Threads. Never changes an answer.

    Returns
    -------
    Leakage

    Examples
    --------
    >>> find_leakage([[1.0], [2.0], [3.0]], [[7.0], [2.0]]).exact.tolist()
    [[1, 1]]
    """
    train, test = numbers_of(X_train, X_test)
    together = distinct(np.concatenate([train, test])).of_row
    first = np.full(together.max() + 1, -1, dtype=np.int64)
    first[together[: len(train)][::-1]] = np.arange(len(train))[::-1]
    seen = first[together[len(train) :]]
    exact = np.column_stack([np.flatnonzero(seen >= 0), seen[seen >= 0]])
    sizes = np.bincount(together[: len(train)])
    repeated = float((sizes[together[: len(train)]] > 1).mean())
    unseen = np.flatnonzero(seen < 0)
    near = np.empty((0, 2), dtype=np.int64)
    alone = np.flatnonzero(first >= 0)
    if len(alone) > _K and len(unseen):
        own, asked = scaled(scaling, train[first[alone]], test[unseen])
        index = NearestNeighbors(n_neighbors=_K, metric=metric, n_jobs=n_jobs).fit(own)
        distances, found = index.kneighbors(asked)
        order = _closer_than_chance(distances, intrinsic_dimension(index.kneighbors()[0]))
        near = np.column_stack([unseen[order], first[alone][found[order, 0]]])
    return Leakage(exact.astype(np.int64), near, repeated * len(test), len(test))


def _closer_than_chance(distances: Floats, dimension: float) -> NDArray[np.int64]:
    """Queries whose nearest row is a near duplicate, the most surprising first."""
    ratio = np.divide(distances[:, 0], distances[:, -1], out=np.ones(len(distances)), where=distances[:, -1] > 0)
    surprise = -np.expm1((distances.shape[1] - 1) * np.log1p(-np.minimum(ratio**dimension, 1 - 1e-16)))
    # Of a pair each row is nearest to the other: a table of n rows has about n / 2 of them.
    order = np.argsort(surprise, kind="stable")
    return np.asarray(order[surprise[order] * len(distances) < _EXPECTED], dtype=np.int64)
