"""Metrics beside Minkowski's and cosine, slowly and plainly: every distance from its formula, one pair at a time.

Given   queries (q, d), rows (n, d), the metric's own arguments
Gives   distances in float64; sums in the widest floating point there is, sets counted with whole numbers
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tests.reference.neighbors import WIDE


def hamming(query: Any, row: Any) -> float:
    """The share of columns that differ."""
    return sum(a != b for a, b in zip(query, row, strict=True)) / len(row)


def jaccard(query: Any, row: Any) -> float:
    """Of the columns that either has, the share that only one has; 0 where neither has any."""
    pairs = [(bool(a), bool(b)) for a, b in zip(query, row, strict=True)]
    either = sum(a or b for a, b in pairs)
    return sum(a != b for a, b in pairs) / either if either else 0.0


def mahalanobis(query: Any, row: Any, VI: Any) -> float:
    """The root of (q - x) VI (q - x)'."""
    difference = query.astype(WIDE) - row.astype(WIDE)
    return float(np.sqrt(difference @ np.asarray(VI).astype(WIDE) @ difference))


def seuclidean(query: Any, row: Any, V: Any) -> float:
    """Euclidean, every squared difference over the variance of its column."""
    difference = query.astype(WIDE) - row.astype(WIDE)
    return float(np.sqrt((difference**2 / np.asarray(V).astype(WIDE)).sum()))


def weighted(query: Any, row: Any, w: Any, p: float) -> float:
    """(sum w |q - x|^p)^(1/p)."""
    difference = np.abs(query.astype(WIDE) - row.astype(WIDE))
    return float((np.asarray(w).astype(WIDE) * difference ** WIDE(p)).sum() ** (1 / WIDE(p)))


def sqeuclidean(query: Any, row: Any) -> float:
    """The sum of squared differences."""
    return float(((query.astype(WIDE) - row.astype(WIDE)) ** 2).sum())


def correlation(query: Any, row: Any) -> float:
    """1 - the correlation of two rows; a row of equal values is at distance 1 from everything."""
    a, b = (values.astype(WIDE) - values.astype(WIDE).mean() for values in (query, row))
    lengths = np.sqrt((a * a).sum()) * np.sqrt((b * b).sum())
    return float(1 - (a * b).sum() / lengths) if np.ptp(query) and np.ptp(row) else 1.0


def all_pairs(distance: Any, queries: ArrayLike, rows: ArrayLike, **arguments: Any) -> NDArray[np.float64]:
    """Every query against every row.

    Examples
    --------
    >>> all_pairs(hamming, [[0, 1]], [[0, 1], [0, 2], [1, 0]]).tolist()
    [[0.0, 0.5, 1.0]]
    """
    table = [[distance(query, row, **arguments) for row in np.asarray(rows)] for query in np.asarray(queries)]
    return np.array(table, dtype=np.float64)
