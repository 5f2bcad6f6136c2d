"""Tables made to break a search that knows rows as bytes: each by name, of any size, rows and queries alike.

What a code can get wrong: its scale (outliers, tails, denormals, 1e30), its lattice (a step that is nearly one, rows
that leave it, ranges that leave a byte), its frame (no spectrum, all spectrum, one column) and its order (ties).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]
Maker = Callable[[np.random.Generator, int, int], Table]


def _decaying(rng: np.random.Generator, n: int, dim: int) -> Table:
    basis = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    return (rng.standard_normal((n, dim)) * np.arange(1, dim + 1) ** -0.9) @ basis


def _low_rank(rng: np.random.Generator, n: int, dim: int) -> Table:
    return rng.standard_normal((n, 3)) @ rng.standard_normal((3, dim)) + 5


def _on_a_line(rng: np.random.Generator, n: int, dim: int) -> Table:
    """Where the triangle inequality has no slack: a group's farthest row lies straight towards the query."""
    return rng.random((n, 1)) * np.random.default_rng(2).standard_normal(dim)


def _against_the_codes(rng: np.random.Generator, n: int, dim: int) -> Table:
    """Steps of one, and what is left over all but half a step in every column, always towards or away from a row."""
    half = rng.integers(-3, 4, ((n + 1) // 2, dim)) + rng.choice([-0.49, 0.49], ((n + 1) // 2, 1))
    half[:, 0] = 126.5
    return np.concatenate([half, -half])[:n]


def _outlier_columns(rng: np.random.Generator, n: int, dim: int) -> Table:
    rows = rng.standard_normal((n, dim))
    rows[:, :: max(1, dim // 3)] *= 1e4
    return rows


def _outlier_rows(rng: np.random.Generator, n: int, dim: int) -> Table:
    rows = rng.standard_normal((n, dim))
    rows[rng.integers(0, n, max(1, n // 200))] *= 10.0 ** rng.integers(2, 12)
    return rows


def _heavy_tails(rng: np.random.Generator, n: int, dim: int) -> Table:
    return rng.standard_cauchy((n, dim))


def _one_hot(rng: np.random.Generator, n: int, dim: int) -> Table:
    return np.eye(dim)[rng.integers(0, dim, n)]


def _pixels(rng: np.random.Generator, n: int, dim: int) -> Table:
    return np.where(rng.random((n, dim)) < 0.5, 0, rng.integers(0, 256, (n, dim))).astype(np.float64)


def _tenths(rng: np.random.Generator, n: int, dim: int) -> Table:
    """A lattice whose step no float holds."""
    return rng.integers(0, 50, (n, dim)) * 0.1 + 1900


def _nearly_a_lattice(rng: np.random.Generator, n: int, dim: int) -> Table:
    rows = rng.integers(-20, 21, (n, dim)).astype(np.float64)
    rows[rng.integers(0, n, max(1, n // 300))] += 0.5
    return rows


def _lattice_that_leaves_a_byte(rng: np.random.Generator, n: int, dim: int) -> Table:
    rows = rng.integers(0, 200, (n, dim)).astype(np.float64)
    rows[rng.integers(0, n, max(1, n // 300))] = 1000
    return rows


def _two_far_clouds(rng: np.random.Generator, n: int, dim: int) -> Table:
    return rng.standard_normal((n, dim)) + np.where(rng.random((n, 1)) < 0.5, 0, 1e5)


def _many_tight_clouds(rng: np.random.Generator, n: int, dim: int) -> Table:
    centres = np.random.default_rng(1).standard_normal((50, dim)) * 10
    return centres[rng.integers(0, 50, n)] + rng.standard_normal((n, dim)) * 1e-6


def _all_equal(rng: np.random.Generator, n: int, dim: int) -> Table:
    del rng
    return np.full((n, dim), 7.25)


def _all_equal_but_one(rng: np.random.Generator, n: int, dim: int) -> Table:
    rows = np.full((n, dim), 7.25)
    rows[rng.integers(0, n), rng.integers(0, dim)] += 1e-3
    return rows


def _huge(rng: np.random.Generator, n: int, dim: int) -> Table:
    return rng.standard_normal((n, dim)) * 1e30


def _denormal(rng: np.random.Generator, n: int, dim: int) -> Table:
    return rng.standard_normal((n, dim)) * 1e-40


def _sizes_of_all_kinds(rng: np.random.Generator, n: int, dim: int) -> Table:
    return rng.standard_normal((n, dim)) * 10.0 ** rng.uniform(-15, 15, (n, 1))


def _drifting(rng: np.random.Generator, n: int, dim: int) -> Table:
    """Row i lies near i: whoever looks at the first rows knows nothing of the last."""
    return rng.standard_normal((n, dim)) + np.arange(n)[:, np.newaxis] * 0.01


def _on_a_sphere(rng: np.random.Generator, n: int, dim: int) -> Table:
    """All at one distance from the origin, up to rounding."""
    rows = rng.standard_normal((n, dim))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _far_away(rng: np.random.Generator, n: int, dim: int) -> Table:
    return rng.standard_normal((n, dim)) + 1e4


_ALL: tuple[Maker, ...] = (
    _decaying, _low_rank, _on_a_line, _against_the_codes, _outlier_columns, _outlier_rows, _heavy_tails,
    _one_hot, _pixels, _tenths,
    _nearly_a_lattice, _lattice_that_leaves_a_byte, _two_far_clouds, _many_tight_clouds, _all_equal,
    _all_equal_but_one, _huge, _denormal, _sizes_of_all_kinds, _drifting, _on_a_sphere, _far_away,
)  # fmt: skip
MAKERS: dict[str, Maker] = {maker.__name__.removeprefix("_"): maker for maker in _ALL}


def draw_hostile(name: str, seed: int, n: int, n_queries: int, dim: int) -> tuple[Table, Table]:
    """Rows, and queries of four kinds: fresh ones, rows themselves, rows but for a little, and rows far out.

    Parameters
    ----------
    name : str
        One of ``MAKERS``.
    seed, n, n_queries, dim : int

    Returns
    -------
    rows, queries : ndarray of float64
    """
    rng = np.random.default_rng([seed, n, dim, *name.encode()])
    rows = MAKERS[name](rng, n, dim)
    queries = MAKERS[name](rng, n_queries, dim)
    kind = np.arange(n_queries) % 4
    chosen = rows[rng.integers(0, n, n_queries)]
    queries[kind == 1] = chosen[kind == 1]
    queries[kind == 2] = chosen[kind == 2] * (1 + 1e-6 * rng.standard_normal((int((kind == 2).sum()), dim)))
    if n_queries > 7:
        queries[7] = chosen[7] * 1e3
    return rows, queries
