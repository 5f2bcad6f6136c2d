"""Random search problems that have hurt libraries before: one number names one problem for ever."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

DIMENSIONS = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 97, 128, 200, 517, 1000, 2000)
METRICS = ("euclidean", "l2", "manhattan", "l1", "cityblock", "chebyshev", "minkowski", "cosine")
POWERS = (1.0, 1.5, 2.0, 2.7, 3.0, 4.0, 7.0, np.inf)
RECIPES = ("normal", "uniform", "grid", "binary", "duplicates", "constant", "outlier", "equal", "permuted", "zeros")
QUERIES = ("fresh", "training", "near", "far", "none")
WHOLE = ("grid", "binary")

# Wide elements that the oracle may touch in one case; `pow` costs some twenty times a multiplication.
BUDGET, POW_BUDGET = 250_000, 20_000


@dataclass(frozen=True)
class Case:
    """One search problem; `queries` is None where every row asks for its own neighbours."""

    number: int
    recipe: str
    asked: str
    rows: NDArray[Any]
    queries: NDArray[Any] | None
    k: int
    metric: str
    p: float
    offset: float
    scale: float
    n_jobs: int | None

    @property
    def exact(self) -> bool:
        """Differences and their sums are small integers, so float64 holds every distance's square exactly."""
        return self.recipe in WHOLE and self.scale == 1 and self.asked != "near" and self._plain()

    def _plain(self) -> bool:
        return self.metric not in ("cosine", "minkowski") or (self.metric == "minkowski" and self.p in (1, 2, np.inf))

    def __str__(self) -> str:
        shape = f"{self.rows.shape[0]}x{self.rows.shape[1]} {self.rows.dtype}"
        metric = f"minkowski p={self.p:g}" if self.metric == "minkowski" else self.metric
        return (
            f"case {self.number}: {self.recipe} {shape} queries={self.asked} k={self.k} {metric} "
            f"offset={self.offset:g} scale={self.scale:g} n_jobs={self.n_jobs}"
        )


def draw_case(number: int) -> Case:
    """The problem of this number.

    Parameters
    ----------
    number : int

    Returns
    -------
    Case
    """
    rng = np.random.default_rng([20_240, number])
    metric, p = str(rng.choice(METRICS)), float(rng.choice(POWERS))
    dim = int(rng.choice(DIMENSIONS))
    slow = metric == "minkowski" and p not in (1, 2, np.inf)
    budget = (POW_BUDGET if slow else BUDGET) // dim
    largest = 3000 if rng.random() < 0.02 else 400
    n = int(rng.integers(1, max(2, min(largest, budget) + 1)))
    asked = str(rng.choice(QUERIES, p=(0.35, 0.2, 0.2, 0.1, 0.15)))
    if asked == "none":
        n = max(2, min(n, int(budget**0.5)))
    recipe = str(rng.choice(RECIPES))
    wide = bool(rng.random() < 0.5)
    offset, scale = _shift(rng, recipe, wide=wide)
    n_queries = int(np.clip(budget // n, 1, rng.integers(1, 60)))
    base = _rows(rng, recipe, n, dim)
    dtype = np.float64 if wide else np.float32
    rows = ((base + offset) * scale).astype(dtype)
    queries = None
    if asked != "none":
        queries = _queries(rng, recipe, asked, rows, base, n_queries, offset, scale).astype(dtype)
    reachable = n - 1 if queries is None else n
    k = int(rng.choice([1, min(5, reachable), reachable, rng.integers(1, reachable + 1)]))
    n_jobs = rng.choice(np.array([None, 1, 2, 3], dtype=object))
    return Case(number, recipe, asked, rows, queries, k, metric, p, offset, scale, n_jobs)


def _shift(rng: np.random.Generator, recipe: str, *, wide: bool) -> tuple[float, float]:
    """An offset up to 1e6 and a scale whose squares leave the exponent range, but no value does."""
    offset = float(rng.choice([0.0, 0.0, 1.0, -1e3, 1e4, 1e6]))
    if recipe in WHOLE or rng.random() < 0.5:
        return offset, 1.0
    if wide:
        return offset, float(rng.choice([1e-200, 1e-160, 1e-80, 1e-5, 3.0, 1e80, 1e160, 1e200]))
    if offset or recipe == "outlier":
        return offset, float(rng.choice([1e-20, 1e-10, 7.0, 1e10, 1e20]))
    return offset, float(rng.choice([1e-30, 1e-25, 1e-5, 1e5, 1e25, 1e30]))


def _rows(rng: np.random.Generator, recipe: str, n: int, dim: int) -> NDArray[Any]:
    if recipe == "grid":
        return rng.integers(0, rng.integers(2, 10), (n, dim)).astype(np.float64)
    if recipe == "binary":
        return (rng.random((n, dim)) < 0.3).astype(np.float64)
    rows = rng.random((n, dim)) if recipe == "uniform" else rng.standard_normal((n, dim))
    if recipe == "duplicates":
        rows = rows[rng.integers(0, max(1, n // 4), n)]
    elif recipe == "constant":
        rows[:, rng.random(dim) < 0.6] = 1.5
    elif recipe == "outlier":
        rows[rng.integers(n)] *= 1e6
    elif recipe == "equal":
        rows[:] = rows[0]
    elif recipe == "permuted":
        # The same numbers in another order: equal distances from a constant query, but not in floating point.
        rows = rng.permuted(np.tile(rows[0], (n, 1)), axis=1)
    elif recipe == "zeros":
        rows[rng.random(n) < 0.3] = 0
    return rows


def _queries(
    rng: np.random.Generator, recipe: str, asked: str, rows: NDArray[Any], base: NDArray[Any], n_queries: int,
    offset: float, scale: float,
) -> NDArray[Any]:  # fmt: skip
    n, dim = rows.shape
    if asked == "training":
        return rows[rng.integers(0, n, n_queries)]
    if asked == "near":
        # The next few representable numbers: distances that cancel nearly everything.
        chosen = rows[rng.integers(0, n, n_queries)]
        steps = rng.integers(-3, 4, chosen.shape).astype(rows.dtype)
        return chosen + steps * np.spacing(np.maximum(np.abs(chosen), rows.dtype.type(scale)))
    if asked == "far":
        return ((base[rng.integers(0, n, n_queries)] + 1e4 + offset) * scale).astype(rows.dtype)
    if recipe == "permuted":
        return np.full((n_queries, dim), (0.25 + offset) * scale)
    return (_rows(rng, recipe, n_queries, dim) + offset) * scale
