"""find_label_errors: which labels are probably wrong, judged by neighbours.

Equal rows are collapsed: they have one vote together and none on each other. Each row's class shares come from its k/4,
k/2 and k nearest others with Gaussian weights, averaged; in a second round a neighbour counts as much as its own label
is believed. The score is the log odds of the likeliest other class against the given label, plus the log of how much
more often this confusion happens than others do deep inside classes.

How many labels are wrong: where neighbours agree most (the margin between the two largest shares), classes overlap
least; the rate of labels that differ from the likeliest class there is taken for the rate of wrong labels everywhere.
What differs beyond it elsewhere is overlap. A label that differs is then wrong with probability noise / rate at its
margin.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from tonari.audit.table import Distinct, distinct, labels_of, numbers_of, scaled
from tonari.base.errors import UsageError
from tonari.base.threads import thread_count
from tonari.base.validation import check_number
from tonari.metrics.intervals import clopper_pearson
from tonari.neighbors.metrics import resolve_metric
from tonari.neighbors.search import build_index
from tonari.neighbors.voting import Lists, Voting, vote

Floats = NDArray[np.float64]
# Votes of half a neighbour, spread as the classes are: no share is 0.
_PRIOR = 0.5
# Confusions are counted among few rows: each count is shrunk to its expectation by as many more errors of its kind.
_CONFUSION_PRIOR = 5.0
# The margins that count as deep inside a class: the largest third; a sixth or twelfth where fewer labels differ there.
_DEEP = (3, 6, 12)
_RATE_ROWS = 40
# Above this rate deep inside, noise and overlap cannot be told apart.
_TOO_NOISY = 0.2


@dataclass(frozen=True)
class LabelErrors:
    """What `find_label_errors` found; ``print`` it for a summary.

    Attributes
    ----------
    suspects : ndarray of int64
        Rows whose labels are more probably wrong than right, the surest first.
    ranking : ndarray of int64
        All rows, the most suspicious label first.
    scores : ndarray of float64
        Log odds against the given label; larger is more suspicious.
    wrong : ndarray of float64
        Probability that the label is wrong, if the noise is as estimated.
    likely : ndarray
        The likeliest class of each row by its neighbours.
    class_outliers : ndarray of int64
        Rows of which more than `r` of `k` neighbours are of other classes, votes corrected for class shares.
    expected_from_overlap : float
        How many of `class_outliers` are expected with right labels, because classes overlap.
    noise : float
        Estimated rate of wrong labels; NaN where it cannot be told from overlap, and there are then no suspects.
    noise_interval : (float, float)
        95 %, for the rows that it is estimated from.
    k, r : int

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> print(find_label_errors(*load_wine(return_X_y=True)))
    8 rows have more than 10 of 20 neighbours of other classes; 8 are expected from overlap alone.
    0 labels are probably wrong (rate of wrong labels 0.0%, 95 % interval 0.0% to 5.1%).
    """

    suspects: NDArray[np.int64]
    ranking: NDArray[np.int64]
    scores: Floats
    wrong: Floats
    likely: NDArray[Any]
    class_outliers: NDArray[np.int64]
    expected_from_overlap: float
    noise: float
    noise_interval: tuple[float, float]
    k: int
    r: int
    _labels: NDArray[Any] = field(repr=False)
    _distinct: Distinct = field(repr=False)
    _voters: NDArray[np.int64] = field(repr=False)
    _lists: Lists = field(repr=False)

    def evidence(self, row: int) -> list[dict[str, Any]]:
        """The neighbours that speak about one row's label.

        Parameters
        ----------
        row : int

        Returns
        -------
        list of dict
            ``row``, ``label`` and ``distance`` (in the units of the audit), nearest first.
        """
        query = self._distinct.of_row[row]
        found = slice(self._lists.indptr[query], self._lists.indptr[query + 1])
        rows = self._voters[self._lists.rows[found]]
        return [
            {"row": int(other), "label": self._labels[other], "distance": float(distance)}
            for other, distance in zip(rows, self._lists.distances[found], strict=True)
        ]

    def __str__(self) -> str:
        lines = [
            f"{len(self.class_outliers)} rows have more than {self.r} of {self.k} neighbours of other classes; "
            f"{self.expected_from_overlap:.0f} are expected from overlap alone."
        ]
        if np.isnan(self.noise):
            lines.append("Classes overlap even where neighbours agree most: wrong labels cannot be told from overlap.")
        else:
            low, high = self.noise_interval
            lines.append(
                f"{len(self.suspects)} labels are probably wrong (rate of wrong labels {self.noise:.1%}, "
                f"95 % interval {low:.1%} to {high:.1%})."
            )
        lines += [
            f"  row {row}: {self._labels[row]}, by its neighbours {self.likely[row]} (wrong: {self.wrong[row]:.0%})"
            for row in self.suspects[:10]
        ]
        return "\n".join(lines)


def find_label_errors(
    X: Any, y: Any, *, k: int = 20, r: int | None = None, metric: str = "euclidean", scaling: str = "standard",
    n_jobs: int | None = None,
) -> LabelErrors:  # fmt: skip
    """Rank the labels of a table by how surely they are wrong.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        Numbers; encode other columns first.
    y : array-like of shape (n_rows,)
    k : int, default=20
        Neighbours that are asked, at most.
    r : int, default=None
        A row is a class outlier when more than this many are of other classes. None: half of k.
    metric : str, default="euclidean"
    scaling : {"standard", "minmax", "none"}, default="standard"
        What columns are divided by.
    n_jobs : int, default=None
        Threads. Never changes an answer.

    Returns
    -------
    LabelErrors

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> y[[3, 1200]] = [8, 5]
    >>> found = find_label_errors(X, y, scaling="none")
    >>> {3, 1200} <= set(found.ranking[:4].tolist()), int(found.likely[3])
    (True, 3)
    """
    check_number("k", k, least=1, whole=True)
    (table,) = scaled(scaling, *numbers_of(X))
    classes, codes = labels_of(y, len(table))
    if len(classes) < 2:
        raise UsageError(f"y holds one class only ({classes[0]!r}): there is nothing that a label could be wrong for.")
    rows = distinct(table)
    # A voter is a different row with one of its labels; labels of equal rows share one vote.
    pairs, first, counts = np.unique(
        rows.of_row * len(classes) + codes, return_index=True, return_counts=True
    )  # fmt: skip
    group, labels = (pairs // len(classes)).astype(np.int32), (pairs % len(classes)).astype(np.int32)
    share = counts / np.bincount(rows.of_row)[group]
    k = min(k, len(pairs) - int(np.bincount(group).max()))
    if k < 1:
        raise UsageError("All rows are equal: no row has a neighbour that could judge its label.")
    r = k // 2 if r is None else r
    check_number("r", r, least=0, whole=True)
    threads = thread_count(n_jobs)
    index = build_index(rows.rows[group], resolve_metric(metric, 2, None), threads)
    own = np.arange(len(rows.rows), dtype=np.int32)
    lists = Lists.of_equal_length(*index.search(rows.rows, k, group, own, threads))
    prior = np.bincount(labels, share, len(classes)) / len(rows.rows)

    shares = _shares(lists, labels, share, prior, k, threads)
    belief = shares[group, labels] / shares.max(axis=1)[group]
    shares = _shares(lists, labels, share * belief, prior, k, threads)[rows.of_row]
    everyone = np.arange(len(codes))
    given = shares[everyone, codes]
    others = shares.copy()
    others[everyone, codes] = -1
    rival = others.argmax(axis=1)
    ordered = np.sort(shares, axis=1)
    margin = ordered[:, -1] - ordered[:, -2]
    likely = shares.argmax(axis=1)
    noise, interval, deep = _noise(margin, likely != codes)
    scores = np.log(others.max(axis=1)) - np.log(given)
    scores += np.log(_confusion(likely[deep], codes[deep], len(classes))[rival, codes])

    wrong = np.zeros(len(codes))
    if noise > 0:
        rate = _rate(margin, likely != codes)
        wrong[likely != codes] = np.minimum(1, noise / np.maximum(rate, noise))[likely != codes]
    ranking = np.argsort(-scores, kind="stable")
    even = vote(lists, [Voting(k)], labels, len(classes), threads, shares=True, row_weights=share,
                class_weights=(1 / prior)[np.newaxis])[1]  # fmt: skip
    assert even is not None
    outliers = np.flatnonzero(1 - even[0][rows.of_row, codes] > (r + 0.5) / k)
    return LabelErrors(
        suspects=ranking[wrong[ranking] > 0.5], ranking=ranking, scores=scores, wrong=wrong, likely=classes[likely],
        class_outliers=outliers, expected_from_overlap=float((1 - wrong[outliers]).sum()), noise=noise,
        noise_interval=interval, k=k, r=r, _labels=classes[codes], _distinct=rows, _voters=first, _lists=lists,
    )  # fmt: skip


def _shares(
    lists: Lists, labels: NDArray[np.int32], weights: Floats, prior: Floats, k: int, threads: int
) -> Floats:  # fmt: skip
    """Class shares of every different row, the mean over three sizes of its neighbourhood."""
    sizes = sorted({max(1, k // 4), max(1, k // 2), k})
    settings = [Voting(size, "gaussian") for size in sizes]
    found = vote(lists, settings, labels, len(prior), threads, shares=True, row_weights=weights)[1]
    assert found is not None
    each = [(own * size + _PRIOR * prior) / (size + _PRIOR) for own, size in zip(found, sizes, strict=True)]
    return np.asarray(np.mean(each, axis=0))


def _noise(margin: Floats, differs: NDArray[np.bool_]) -> tuple[float, tuple[float, float], NDArray[np.bool_]]:
    """The rate of labels that differ where neighbours agree most, its interval, and those rows."""
    deepest = margin >= np.quantile(margin, 1 - 1 / _DEEP[0])
    chosen, rate = deepest, float(differs[deepest].mean())
    low, high = clopper_pearson(int(differs[chosen].sum()), int(chosen.sum()))
    for part in _DEEP[1:]:
        deeper = margin >= np.quantile(margin, 1 - 1 / part)
        own = clopper_pearson(int(differs[deeper].sum()), int(deeper.sum()))
        # Only where the rate surely still falls with depth: there was overlap left.
        if own[1] < rate:
            chosen, rate, (low, high) = deeper, float(differs[deeper].mean()), own
    return (rate if rate <= _TOO_NOISY else float("nan")), (float(low), float(high)), deepest


def _rate(margin: Floats, differs: NDArray[np.bool_]) -> Floats:
    """At every row's margin the rate of labels that differ, falling with it; single rows do not make a rate."""
    parts = np.array_split(np.argsort(margin, kind="stable"), max(1, len(margin) // _RATE_ROWS))
    where = [float(margin[part].mean()) for part in parts]
    rates = [float(differs[part].mean()) for part in parts]
    model = IsotonicRegression(increasing=False, out_of_bounds="clip").fit(where, rates)
    return np.asarray(model.predict(margin), dtype=np.float64)


def _confusion(true: NDArray[np.int64], given: NDArray[np.int32], n_classes: int) -> Floats:
    """How often a class gets each other label, relative to the mean of all such rates."""
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (true, given), 1.0)
    total = counts.sum(axis=1, keepdims=True)
    np.fill_diagonal(counts, 0.0)
    expected = total * counts.sum() / max(total.sum(), 1.0) / (n_classes - 1)
    return np.asarray((counts + _CONFUSION_PRIOR) / (expected + _CONFUSION_PRIOR))
