"""find_out_of_range: new rows that are further from the training rows than these are from one another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tonari.audit.table import Floats, numbers_of, scaled
from tonari.base.errors import UsageError
from tonari.base.validation import check_number
from tonari.neighbors import NearestNeighbors


@dataclass(frozen=True)
class OutOfRange:
    """What `find_out_of_range` found; ``print`` it for a summary.

    Attributes
    ----------
    rows : ndarray of int64
        New rows out of range, the furthest first.
    distances : ndarray of float64, shape (n_new,)
        From every new row to its nearest training row, in the units of the audit.
    p_values : ndarray of float64, shape (n_new,)
        Share of training rows that are at least as far from the nearest other training row; (1 + count) / (1 + n).
    columns : list of ndarray of int64
        For each of `rows` the columns whose value lies outside the range of the training rows; it may be none.
    expected : float
        How many new rows are reported at most, on average, when all come from where the training rows came from.

    Examples
    --------
    >>> print(find_out_of_range([[0.0], [1.0], [2.0]], [[1.5], [9.0]]))
    1 of 2 rows are out of range; up to 0.5 are expected.
      row 1: columns 0
    """

    rows: NDArray[np.int64]
    distances: Floats
    p_values: Floats
    columns: list[NDArray[np.int64]]
    expected: float

    def __str__(self) -> str:
        lines = [
            f"{len(self.rows)} of {len(self.distances)} rows are out of range; up to {self.expected:.1f} are expected."
        ]
        for row, columns in list(zip(self.rows, self.columns, strict=True))[:10]:
            where = f"columns {', '.join(map(str, columns))}" if len(columns) else "no single column, the combination"
            lines.append(f"  row {row}: {where}")
        return "\n".join(lines)


def find_out_of_range(
    X_train: Any, X_new: Any, *, alpha: float = 0.001, metric: str = "euclidean", scaling: str = "standard",
    n_jobs: int | None = None,
) -> OutOfRange:  # fmt: skip
    """Find new rows about which the training rows say little, because none of them is near.

    Parameters
    ----------
    X_train, X_new : array-like of shape (n_rows, n_columns)
        Numbers; encode other columns first.
    alpha : float, default=0.001
        Rows with a p-value up to this are reported; with fewer than 1 / alpha training rows those beyond them all.
    metric : str, default="euclidean"
    scaling : {"standard", "minmax", "none"}, default="standard"
        What columns are divided by, learned from the training rows.
    n_jobs : int, default=None
        Threads. Never changes an answer.

    Returns
    -------
    OutOfRange

    Examples
    --------
    >>> found = find_out_of_range([[0.0], [1.0], [2.0]], [[1.5], [9.0]])
    >>> found.rows, found.columns
    (array([1]), [array([0])])
    """
    check_number("alpha", alpha, least=0, above=True)
    train, new = numbers_of(X_train, X_new)
    if len(train) < 2:
        raise UsageError("Two training rows at least are needed to say how far apart they are.")
    own, asked = scaled(scaling, train, new)
    index = NearestNeighbors(n_neighbors=1, metric=metric, n_jobs=n_jobs).fit(own)
    usual = np.sort(index.kneighbors()[0][:, 0])
    distances = index.kneighbors(asked)[0][:, 0]
    # A training row is as far from the others as a new row would be: the p-value is exact for exchangeable rows.
    p_values = (1 + len(usual) - np.searchsorted(usual, distances, side="left")) / (1 + len(usual))
    limit = max(alpha, 1 / (1 + len(usual)))
    found = np.flatnonzero((p_values <= limit) & (distances > 0))
    found = found[np.argsort(-distances[found], kind="stable")].astype(np.int64)
    low, high = train.min(axis=0), train.max(axis=0)
    columns = [np.flatnonzero((new[row] < low) | (new[row] > high)).astype(np.int64) for row in found]
    return OutOfRange(found, distances, p_values, columns, limit * len(new))
