"""neighbor_curve: error against k for every weighting, from one search for each metric and scaling."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv
from sklearn.utils.multiclass import type_of_target

from tonari.base.errors import UsageError
from tonari.base.held_out import Splits
from tonari.base.threads import thread_count
from tonari.base.validation import check_choice, check_number, check_rows
from tonari.metrics.displays import NeighborCurveDisplay
from tonari.metrics.intervals import corrected_standard_error
from tonari.neighbors.classifier import KNeighborsClassifier
from tonari.neighbors.left_out_scale import METRICS, SCALINGS, left_out_neighbours, scale_of
from tonari.neighbors.metrics import resolve_metric
from tonari.neighbors.regressor import KNeighborsRegressor
from tonari.neighbors.voting import Voting, average, check_weights, vote

Floats = NDArray[np.float64]
_LEAVE_ONE_OUT = "leave-one-out"


@dataclass(frozen=True)
class NeighborCurve:
    """Error of k nearest neighbours against k; `plot` draws it.

    Attributes
    ----------
    k : ndarray of int64
    scalings, metrics, weights : tuple
    errors, standard_errors : ndarray of float64, shape (n_scalings, n_metrics, n_weights, n_k)
        Share of wrong labels, or mean squared error. The standard error is that of the mean over rows (leave-one-out, a
        validation set), or over folds with Nadeau and Bengio's correction for training parts that overlap.
    measured : str
        How, in words.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> curve = neighbor_curve(*load_iris(return_X_y=True), k=[1, 5, 15], weights=("uniform",))
    >>> curve.k, curve.errors.shape, curve.measured
    (array([ 1,  5, 15]), (1, 1, 1, 3), 'leave-one-out')
    """

    k: NDArray[np.int64]
    scalings: tuple[str, ...]
    metrics: tuple[Any, ...]
    weights: tuple[Any, ...]
    errors: Floats
    standard_errors: Floats
    measured: str

    @property
    def best(self) -> dict[str, Any]:
        """The setting of least error (ties: the larger k, then the first in each list).

        Its error is the least of many, so it flatters: judge the choice on rows that had no part in it.
        """
        reversed_k = self.errors[..., ::-1]
        scaling, metric, weighting, back = np.unravel_index(int(np.argmin(reversed_k)), reversed_k.shape)
        return self._setting(int(scaling), int(metric), int(weighting), len(self.k) - 1 - int(back))

    @property
    def smoothest(self) -> dict[str, Any]:
        """The setting of `best` with the largest k whose error is within one standard error of the least."""
        best = self.best
        at = (
            self.scalings.index(best["scaling"]),
            self.metrics.index(best["metric"]),
            self.weights.index(best["weights"]),
        )
        within = np.flatnonzero(self.errors[at] <= best["error"] + best["standard_error"])
        return self._setting(*at, int(within[-1]))

    def _setting(self, scaling: int, metric: int, weighting: int, k: int) -> dict[str, Any]:
        at = scaling, metric, weighting, k
        return {
            "n_neighbors": int(self.k[k]), "weights": self.weights[weighting], "metric": self.metrics[metric],
            "scaling": self.scalings[scaling], "error": float(self.errors[at]),
            "standard_error": float(self.standard_errors[at]),
        }  # fmt: skip

    def plot(self, ax: Any = None) -> NeighborCurveDisplay:
        """Draw one line for each setting of the other parameters, with a band of one standard error.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            None makes a new figure.

        Returns
        -------
        NeighborCurveDisplay
        """
        series = []
        for scaling, metric, weighting in np.ndindex(self.errors.shape[:3]):
            names = [
                str(getattr(value, "__name__", value))
                for several, value in (
                    (len(self.scalings), f"{self.scalings[scaling]} scaling"),
                    (len(self.metrics), self.metrics[metric]), (len(self.weights), self.weights[weighting]),
                )
                if several > 1
            ]  # fmt: skip
            at = scaling, metric, weighting
            own = {"name": ", ".join(names), "x": self.k, "y": self.errors[at], "se": self.standard_errors[at]}
            series.append(own)
        best = self.best
        return NeighborCurveDisplay(
            series=series, x_label="k", y_label=f"error, {self.measured}", marked=(best["n_neighbors"], best["error"])
        ).plot(ax)


def neighbor_curve(
    X: Any, y: Any, *, k: Any = 50, weights: Sequence[Any] = ("uniform", "distance"),
    metrics: Sequence[Any] = ("euclidean",), scalings: Sequence[str] = ("none",), cv: Any = "leave-one-out",
    validation: tuple[Any, Any] | None = None, task: str | None = None, n_jobs: int | None = None,
) -> NeighborCurve:  # fmt: skip
    """Measure the error of k nearest neighbours for every k at once.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
    y : array-like of shape (n_rows,)
        Labels, or numbers.
    k : int or sequence of int, default=50
        An int: all up to it, as far as the smallest training part goes.
    weights : sequence, default=("uniform", "distance")
        As the parameter of :class:`KNeighborsClassifier`.
    metrics : sequence of str, default=("euclidean",)
        As the parameter of :class:`KNeighborsClassifier`.
    scalings : sequence of {"none", "standard", "minmax"}, default=("none",)
        Columns are divided by nothing, by their standard deviation or by their range, learned from each training part
        alone, in leave-one-out too.
    cv : "leave-one-out", int, splitter or iterable of (train, test), default="leave-one-out"
    validation : (X, y), default=None
        Rows to be judged by, in the place of `cv`.
    task : {"classification", "regression"}, default=None
        None: regression if y holds numbers with fractions.
    n_jobs : int, default=None
        Threads. None: all cores allowed to the process, and one inside a joblib worker. Never changes an answer.

    Returns
    -------
    NeighborCurve

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> curve = neighbor_curve(*load_wine(return_X_y=True), k=15, scalings=("none", "standard"))
    >>> curve.best["scaling"], curve.errors.shape
    ('standard', (2, 1, 2, 15))
    """
    task = task or ("regression" if "continuous" in type_of_target(y) else "classification")
    check_choice("task", task, ("classification", "regression"))
    learner = (KNeighborsClassifier if task == "classification" else KNeighborsRegressor)(n_jobs=n_jobs)
    rows, labels = check_rows(learner, X, reset=True), np.asarray(y)
    if labels.shape != (len(rows),):
        raise UsageError(f"neighbor_curve takes one column of labels or numbers, and y has shape {labels.shape}.")
    if validation is not None:
        rows, labels = _with_validation(learner, rows, labels, validation)
    splits, measured = _splits(rows, labels, len(rows) if validation is None else len(np.asarray(y)), cv, task)
    chosen = _chosen_k(k, splits)
    for scaling in scalings:
        check_choice("scalings", scaling, SCALINGS)
    for weighting in weights:
        check_weights(weighting)
    shape = (len(scalings), len(metrics), len(weights), len(chosen))
    errors, standard = np.empty(shape), np.empty(shape)
    target = np.unique(labels, return_inverse=True)[1] if task == "classification" else labels.astype(np.float64)
    for i, scaling in enumerate(scalings):
        for j, metric in enumerate(metrics):
            tally = _Tally(target, len(weights) * len(chosen), splits, task)
            if measured == _LEAVE_ONE_OUT and scaling != "none":
                _leave_one_out(tally, rows, metric, scaling, weights, chosen, thread_count(n_jobs))
            else:
                _held_out(tally, learner, rows, labels, metric, scaling, weights, chosen)
            means, deviations = tally.errors(over_folds=measured.endswith("fold"))
            errors[i, j], standard[i, j] = means.reshape(shape[2:]), deviations.reshape(shape[2:])
    return NeighborCurve(chosen, tuple(scalings), tuple(metrics), tuple(weights), errors, standard, measured)


class _Tally:
    """Losses of every candidate, summed by split: nothing is kept for a row."""

    def __init__(self, target: NDArray[Any], candidates: int, splits: Splits, task: str) -> None:
        self.target, self.splits, self.task = target, splits, task
        self.sums, self.squares = np.zeros((candidates, len(splits))), np.zeros(candidates)
        self.sizes = np.diff(splits.test_indptr)

    def add(self, candidates: Any, split: Any, rows: NDArray[np.int64], answers: NDArray[Any]) -> None:
        truth = self.target[rows]
        for candidate, answer in zip(candidates, answers, strict=True):
            loss = (answer != truth).astype(np.float64) if self.task == "classification" else (answer - truth) ** 2
            where = np.broadcast_to(split, len(rows))
            self.sums[candidate] += np.bincount(where, loss, len(self.splits))
            self.squares[candidate] += (loss * loss).sum()

    def errors(self, *, over_folds: bool) -> tuple[Floats, Floats]:
        if over_folds:
            folds = self.sums / self.sizes
            ratio = float(np.mean(self.sizes / _training_sizes(self.splits)))
            deviations = [corrected_standard_error(own, ratio) if len(own) > 1 else np.nan for own in folds]
            return folds.mean(axis=1), np.array(deviations)
        count = int(self.sizes.sum())
        means = self.sums.sum(axis=1) / count
        variance = np.maximum(self.squares / count - means**2, 0) * (count / max(count - 1, 1))
        return means, np.sqrt(variance / count)


def _training_sizes(splits: Splits) -> NDArray[np.int64]:
    if splits.train_indptr is not None:
        return np.diff(splits.train_indptr)
    return splits.n_rows - np.diff(splits.test_indptr)


def _splits(rows: NDArray[Any], labels: NDArray[Any], trained: int, cv: Any, task: str) -> tuple[Splits, str]:
    if trained < len(rows):
        return Splits.from_tests([np.arange(trained, len(rows), dtype=np.int64)], len(rows)), "validation set"
    if isinstance(cv, str):
        check_choice("cv", cv, (_LEAVE_ONE_OUT,))
        return Splits.leave_one_out(len(rows)), _LEAVE_ONE_OUT
    splitter = check_cv(cv, labels, classifier=task == "classification")
    splits = Splits.from_pairs(splitter.split(rows, labels), len(rows))
    return splits, f"{len(splits)}-fold"


def _with_validation(learner: Any, rows: Any, labels: Any, validation: tuple[Any, Any]) -> tuple[Any, Any]:
    other, its_labels = check_rows(learner, validation[0], reset=False), np.asarray(validation[1])
    if its_labels.shape != (len(other),):
        raise UsageError(f"The validation set has {len(other)} rows and labels of shape {its_labels.shape}.")
    return np.concatenate([rows, other]), np.concatenate([labels, its_labels])


def _chosen_k(k: Any, splits: Splits) -> NDArray[np.int64]:
    least = int(_training_sizes(splits).min())
    if np.ndim(k) == 0:
        check_number("k", k, least=1, whole=True)
        chosen = np.arange(1, min(int(k), least) + 1)
    else:
        chosen = np.array(sorted({int(one) for one in k}), dtype=np.int64)
    if not len(chosen) or chosen[0] < 1 or chosen[-1] > least:
        raise UsageError(f"k must lie between 1 and {least}, the rows of the smallest training part.")
    return chosen.astype(np.int64)


def _held_out(
    tally: _Tally, learner: Any, rows: NDArray[Any], labels: NDArray[Any], metric: Any, scaling: str,
    weights: Sequence[Any], chosen: NDArray[np.int64],
) -> None:  # fmt: skip
    """Through the held-out protocol: all splits from one search, or one for each split that learns its scales."""
    candidates = [{"n_neighbors": int(k), "weights": own, "metric": metric} for own in weights for k in chosen]
    for split, table, splits in _scaled_splits(tally.splits, rows, scaling):
        for block in learner.held_out(table, labels, splits, candidates, fit_params={}, responses=("predict",)):
            if block.error is not None:
                raise block.error
            tally.add(block.candidates, block.split if split is None else split, block.rows, block.responses["predict"])


def _scaled_splits(splits: Splits, rows: NDArray[Any], scaling: str) -> Iterator[tuple[int | None, Any, Splits]]:
    if scaling == "none":
        yield None, rows, splits
        return
    for split in range(len(splits)):
        train, test = splits.train(split), splits.test(split)
        table = rows.astype(np.float64) / scale_of(rows[train].astype(np.float64), scaling)
        yield split, table, Splits.from_pairs([(train, test)], len(rows))


def _leave_one_out(
    tally: _Tally, rows: NDArray[Any], metric: Any, scaling: str, weights: Sequence[Any],
    chosen: NDArray[np.int64], threads: int,
) -> None:  # fmt: skip
    choice = resolve_metric(metric, 2, None)
    if choice.name not in METRICS:
        raise UsageError(
            f"Leave-one-out with {scaling} scaling needs a metric of differences, and {metric!r} is none.",
            f"Choose one of {', '.join(METRICS)}, or cv=10.",
        )
    lists = left_out_neighbours(rows.astype(np.float64), choice, scaling, int(chosen[-1]), threads)
    everyone = np.arange(len(rows), dtype=np.int64)
    for position, own in enumerate(weights):
        candidates = position * len(chosen) + np.arange(len(chosen))
        settings = [Voting(int(k), own) for k in chosen]
        if tally.task == "classification":
            codes = tally.target.astype(np.int32)
            answers: NDArray[Any] = vote(lists, settings, codes, int(codes.max()) + 1, threads, shares=False)[0]
        else:
            answers = average(lists, settings, tally.target[:, np.newaxis], threads)[:, :, 0]
        tally.add(candidates, everyone, everyone, answers)
