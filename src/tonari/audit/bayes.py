"""bayes_error_bounds: how good any classifier could be on this table, from the errors of nearest neighbours.

Upper end, at any number of rows: no classifier is better than the best possible one, so every leave-one-out error,
with its confidence limit, is an upper bound. The least of several k is taken, with limits that hold for all of them
together.

Lower end, asymptotic: with infinitely many rows the 1-NN error R and the Bayes error R* of C classes satisfy R <= R*
(2 - C / (C - 1) R*) (Cover and Hart 1967), so R* >= (C - 1) / C (1 - sqrt(1 - C / (C - 1) R)). With finitely many
rows R is larger, the bound may then lie above R*, and nothing says by how much. It is withdrawn when any classifier
is better than it, and unless the 1-NN error has stopped to fall with the number of rows n. It falls as n^(-2/m),
where m is the dimension in which the rows spread (Snapp and Venkatesh 1998), so what halving the rows adds, divided
by 2^(2/m) - 1, is what infinitely many rows could still take away: in 50 dimensions 36 times as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tonari.audit.table import Floats, intrinsic_dimension, labels_of, numbers_of, scaled
from tonari.base.errors import UsageError
from tonari.base.validation import check_number
from tonari.metrics.intervals import clopper_pearson
from tonari.neighbors import NearestNeighbors, neighbor_curve

_K = (1, 3, 5, 9, 15, 25, 49)
_HALVES = 10
# The 1-NN error has stopped to fall when no more than this share of it, or this much, can still be taken away.
_FLAT = 0.1
_FLAT_AT_LEAST = 0.01


@dataclass(frozen=True)
class BayesErrorBounds:
    """What `bayes_error_bounds` found; ``print`` it for a summary.

    Attributes
    ----------
    upper : float
        The Bayes error is below this, with the confidence asked for, at any number of rows.
    lower : float
        The Bayes error is above this if the 1-NN error is what it would be with infinitely many rows; NaN if withdrawn.
    withdrawn : str
        Why there is no lower end; empty if there is one.
    one_nn_error : float
        Leave-one-out.
    best_k : int
        The k of least leave-one-out error, among those tried.
    best_error : float
    one_nn_error_half : float
        The 1-NN error with half the rows.
    confidence : float

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> print(bayes_error_bounds(*load_digits(return_X_y=True), scaling="none"))
    Bayes error below 1.9% (95 %, at any number of rows; 3-NN errs on 1.1%).
    No lower end: more rows may lower the 1-NN error of 1.2% by up to 1.2% (1.5% with half of them).
    """

    upper: float
    lower: float
    withdrawn: str
    one_nn_error: float
    best_k: int
    best_error: float
    one_nn_error_half: float
    confidence: float

    def __str__(self) -> str:
        first = (
            f"Bayes error below {self.upper:.1%} ({100 * self.confidence:g} %, at any number of rows; "
            f"{self.best_k}-NN errs on {self.best_error:.1%})."
        )
        if self.withdrawn:
            return f"{first}\nNo lower end: {self.withdrawn}."
        return f"{first}\nAbove {self.lower:.1%} if infinitely many rows would change 1-NN no more (asymptotic)."


def bayes_error_bounds(
    X: Any, y: Any, *, scaling: str = "standard", metric: str = "euclidean", confidence: float = 0.95,
    candidates: Sequence[tuple[int, int]] = (), random_state: int = 0, n_jobs: int | None = None,
) -> BayesErrorBounds:  # fmt: skip
    """Bound the error that no classifier can go below.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        Numbers; encode other columns first. Rows are taken for independent draws.
    y : array-like of shape (n_rows,)
    scaling : {"standard", "minmax", "none"}, default="standard"
        What columns are divided by; learned without the row that is judged.
    metric : str, default="euclidean"
    confidence : float, default=0.95
    candidates : sequence of (errors, rows), default=()
        What other classifiers got wrong on rows that they had not seen: one better than the lower end refutes it, and
        the best one may lower the upper end.
    random_state : int, default=0
        Of the halves on which 1-NN is tried with fewer rows.
    n_jobs : int, default=None
        Threads. Never changes an answer.

    Returns
    -------
    BayesErrorBounds

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 2000)
    >>> X = rng.normal(size=(2000, 2)) + 2 * y[:, np.newaxis] * [1, 0]  # Bayes error 0.159
    >>> found = bayes_error_bounds(X, y)
    >>> found.lower < 0.159 < found.upper
    True
    """
    check_number("confidence", confidence, least=0, above=True)
    (table,) = numbers_of(X)
    classes, codes = labels_of(y, len(table))
    if len(classes) < 2 or len(table) < 8:
        raise UsageError(f"{len(table)} rows of {len(classes)} classes say nothing about the error of the best rule.")
    chosen = [k for k in _K if k < len(table)]
    curve = neighbor_curve(table, codes, k=chosen, weights=("uniform",), metrics=(metric,), scalings=(scaling,),
                           n_jobs=n_jobs, task="classification")  # fmt: skip
    errors = curve.errors[0, 0, 0]
    counts = [(round(float(error) * len(table)), len(table)) for error in errors] + [tuple(one) for one in candidates]
    # One-sided limits, all at once: each at (1 - confidence) / number of them.
    level = 1 - 2 * (1 - confidence) / len(counts)
    limits = [clopper_pearson(wrong, rows, level)[1] for wrong, rows in counts]
    best = int(np.argmin(errors))
    one = float(errors[0])
    low = clopper_pearson(counts[0][0], len(table), 1 - 2 * (1 - confidence))[0]
    lower = _cover_hart(float(low), len(classes))
    fewer, most = _with_half(table, codes, scaling, metric, random_state, n_jobs)
    withdrawn = ""
    if min(limits) < lower:
        withdrawn = f"a classifier errs on less than {lower:.1%}, which the bound calls impossible"
    elif most > max(_FLAT * one, _FLAT_AT_LEAST):
        withdrawn = (
            f"more rows may lower the 1-NN error of {one:.1%} by up to {min(most, one):.1%} "
            f"({one + fewer:.1%} with half of them)"
        )
    return BayesErrorBounds(
        upper=float(min(limits)), lower=float("nan") if withdrawn else lower, withdrawn=withdrawn, one_nn_error=one,
        best_k=int(curve.k[best]), best_error=float(errors[best]), one_nn_error_half=one + fewer,
        confidence=confidence,
    )  # fmt: skip


def _cover_hart(error: float, classes: int) -> float:
    """The least Bayes error that an asymptotic 1-NN error allows."""
    share = (classes - 1) / classes
    return share * (1 - float(np.sqrt(max(0.0, 1 - error / share))))


def _with_half(
    table: Floats, codes: NDArray[np.int32], scaling: str, metric: str, seed: int, n_jobs: int | None
) -> tuple[float, float]:
    """How much larger the 1-NN error is with half the rows, and how much infinitely many could at most take away."""
    (rows,) = scaled(scaling, table)
    wrong = codes[_nearest(rows, metric, n_jobs).kneighbors(return_distance=False)[:, 0]] != codes
    rng = np.random.default_rng(seed)
    more, times = np.zeros(len(rows)), np.zeros(len(rows))
    for _ in range(_HALVES):
        half = np.sort(rng.permutation(len(rows))[: len(rows) // 2])
        others = np.setdiff1d(np.arange(len(rows)), half)
        found = _nearest(rows[half], metric, n_jobs).kneighbors(rows[others], return_distance=False)[:, 0]
        more[others] += (codes[half[found]] != codes[others]).astype(float) - wrong[others]
        times[others] += 1
    each = more[times > 0] / times[times > 0]
    most = each.mean() + 2 * each.std(ddof=1) / np.sqrt(len(each))
    near = NearestNeighbors(n_neighbors=min(10, len(rows) - 1), metric=metric, n_jobs=n_jobs).fit(rows).kneighbors()[0]
    left = 2 ** (2 / max(1.0, intrinsic_dimension(near))) - 1
    return float(each.mean()), float(max(most, 0) / left)


def _nearest(rows: Floats, metric: str, n_jobs: int | None) -> NearestNeighbors:
    return NearestNeighbors(n_neighbors=1, metric=metric, n_jobs=n_jobs).fit(rows)
