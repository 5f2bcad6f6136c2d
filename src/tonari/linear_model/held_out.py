"""The held-out protocol for logistic regression: all folds in step along the penalty, to a stated gradient norm.

For every C the problem of all rows is solved first, by Newton from the solution for the last C. Its Hessian is near
those of all folds, which start from where they were relative to it and take quasi-Newton steps together. What they
start from and divide by only saves steps: each fold's own gradient, over its own training rows, says when it is done.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone

from tonari.base.held_out import Block, Candidate, Refusal, Splits, why_refused
from tonari.base.threads import thread_count
from tonari.base.validation import check_weighted_rows
from tonari.linear_model.rows import rows_for, scores
from tonari.linear_model.solver import NEWTON_SIZE, Objective, Solution, minimise, minimise_together

#: Steps go on until the gradient is so much smaller than `tol`: Newton gets there in one more, and shared and single
#: fits then agree to more digits than tol asks for.
BEYOND_TOL = 1e-2
#: The gradient to which the problem of all rows is solved: it only says where to start and what to divide by.
NEAR = 1e-3
#: Training parts that walk along the penalty together; more would not fit the processor's caches.
TOGETHER = 32
#: Passes over the rows after which a fold that has not arrived is solved by itself.
PASSES = 60


@dataclass(frozen=True)
class Path:
    """Candidates that differ in C only."""

    learner: Any
    Cs: NDArray[np.float64]
    candidates: NDArray[np.intp]


@dataclass(frozen=True)
class Table:
    """Rows, labels and weights, and what is asked."""

    rows: Any
    classes: NDArray[Any]
    codes: NDArray[np.int32]
    weights: NDArray[np.float64] | None
    wants: tuple[str, ...]
    threads: int


class HeldOutLogistic:
    """`refuses` and `held_out`, mixed into `LogisticRegression`."""

    def refuses(
        self, candidates: Sequence[Candidate], splits: Splits, fit_params: Mapping[str, Any], responses: Sequence[str]
    ) -> str | None:
        """Why these candidates must be fitted one by one, or None.

        Parameters
        ----------
        candidates : sequence of mapping
        splits : Splits
        fit_params : mapping
        responses : sequence of str

        Returns
        -------
        str or None
        """
        return why_refused(self, candidates, fit_params, responses, takes=("sample_weight",))

    def held_out(
        self, X: Any, y: Any, splits: Splits, candidates: Sequence[Candidate], *,
        fit_params: Mapping[str, Any], responses: Sequence[str],
    ) -> Iterator[Block]:  # fmt: skip
        """Answer every candidate on every split.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        splits : Splits
        candidates : sequence of mapping
        fit_params : mapping
        responses : sequence of str

        Yields
        ------
        Block
        """
        paths, failed = _paths(self, candidates)
        try:
            found = check_weighted_rows(clone(self), X, y, fit_params.get("sample_weight"), sparse_too=True)
        except (ValueError, TypeError) as error:
            # One bad row spoils one training part, not all: let each fit say so.
            raise Refusal(f"the table as a whole does not pass validation ({error})") from error
        table = Table(*found, tuple(responses), thread_count(getattr(self, "n_jobs", None)))
        for candidate, reason in failed:
            for split in range(len(splits)):
                yield Block(split, np.array([candidate]), splits.test(split), None, {}, reason)
        for path in paths:
            chosen, alone = _together(table, splits, path)
            for split in alone:
                yield from _alone(table, splits, split, path)
            for batch in chosen:
                yield from _walk(table, splits, batch, path)


def _paths(learner: Any, candidates: Sequence[Candidate]) -> tuple[list[Path], list[tuple[int, Exception]]]:
    paths: dict[str, Path] = {}
    failed: list[tuple[int, Exception]] = []
    for i, candidate in enumerate(candidates):
        one = clone(learner).set_params(**candidate)
        try:
            one._check_parameters()
        except (ValueError, TypeError) as error:
            failed.append((i, error))
            continue
        own = {name: repr(value) for name, value in one.get_params(deep=False).items() if name not in ("C", "n_jobs")}
        strength = one._strength()
        key = json.dumps([own, bool(np.isinf(strength))], sort_keys=True)
        path = paths.get(key, Path(one, np.empty(0), np.empty(0, dtype=np.intp)))
        paths[key] = Path(path.learner, np.append(path.Cs, strength), np.append(path.candidates, np.intp(i)))
    ordered = []
    for path in paths.values():
        order = np.argsort(path.Cs, kind="stable")
        ordered.append(Path(path.learner, path.Cs[order], path.candidates[order]))
    return ordered, failed


def _together(table: Table, splits: Splits, path: Path) -> tuple[list[list[int]], list[int]]:
    """Splits in batches that walk together, and those that go alone."""
    count = len(table.classes)
    size = (1 if count == 2 else count) * (table.rows.shape[1] + 1)
    everything = list(range(len(splits)))
    # Without a penalty the answer of separable classes hangs on the steps: they must be those of a fit.
    if np.isinf(path.Cs).any() or size > NEWTON_SIZE or count < 2:
        return [], everything
    most = int(get_config()["working_memory"] * 2**18 / (8 * len(table.codes)))
    together: list[int] = []
    alone: list[int] = []
    weights = path.learner.row_weights(table.classes, table.codes, table.weights)
    for split in everything:
        train = splits.train(split)
        seen = np.bincount(table.codes[train], weights=weights[train], minlength=count)
        twice = len(train) > 1 and bool((np.diff(train) == 0).any())
        (alone if (seen == 0).any() or twice else together).append(split)
    step = max(1, min(TOGETHER, most))
    return [together[i : i + step] for i in range(0, len(together), step)], alone


def _walk(table: Table, splits: Splits, batch: list[int], path: Path) -> Iterator[Block]:
    """All splits of a batch along the penalty."""
    learner, count = path.learner, len(table.classes)
    outputs = 1 if count == 2 else count
    rows = rows_for(table.rows, table.codes, outputs, learner.fit_intercept, table.threads)
    weights = np.zeros((len(batch), len(table.codes)))
    for i, split in enumerate(batch):
        train = splits.train(split)
        own = None if table.weights is None else table.weights[train]
        weights[i, train] = learner.row_weights(table.classes, table.codes[train], own)
    totals = weights.sum(axis=1)
    weights /= totals[:, None]
    middle = weights.mean(axis=0)
    middle /= middle.sum()
    goal = learner.tol * BEYOND_TOL
    centre = last_centre = np.zeros((outputs, rows.width))
    coefs = np.zeros((len(batch), outputs, rows.width))
    steps = _relative_steps(path.Cs)
    found_for: list[list[Solution]] = []
    for number, C in enumerate(path.Cs.tolist()):
        strengths = 1.0 / (C * totals)
        # Along log C solutions move smoothly: the next one is looked for where the last two point.
        ahead = steps[number]
        whole = Objective(rows, middle, float(strengths.mean()))
        found = minimise(whole, centre + ahead * (centre - last_centre), NEAR, int(learner.max_iter))
        starts = found.coef + (coefs - centre)
        centre, last_centre = found.coef, centre
        divide = found.divide or whole.newton_metric(centre)
        solutions = minimise_together(rows, weights, strengths, starts, divide, goal, PASSES)
        coefs = np.empty_like(coefs)
        for i in range(len(batch)):
            if solutions[i].norm > goal:
                problem = Objective(rows, weights[i], float(strengths[i]))
                solutions[i] = minimise(problem, solutions[i].coef, goal, int(learner.max_iter))
            coefs[i] = solutions[i].coef
        found_for.append(solutions)
    for i, split in enumerate(batch):
        yield from _blocks(table, splits, split, path, [solutions[i] for solutions in found_for], table.classes)


def _relative_steps(Cs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each step along log C, how many times the one before it; 0 where there is none, at most 2."""
    logs = np.log(Cs)
    before = np.diff(logs[:-1])
    found = np.zeros(len(Cs))
    found[2:] = np.divide(np.diff(logs[1:]), before, out=np.zeros_like(before), where=before > 0)
    return np.minimum(found, 2.0)


def _alone(table: Table, splits: Splits, split: int, path: Path) -> Iterator[Block]:
    """One split by itself, on its training rows only: what `fit` does, along the penalty."""
    train = splits.train(split)
    present, codes = np.unique(table.codes[train], return_inverse=True)
    classes = table.classes[present]
    own = None if table.weights is None else table.weights[train]
    try:
        rows = table.rows[train]
        # A candidate without penalty starts from nothing, as a fit does.
        groups = [[C] for C in path.Cs.tolist()] if np.isinf(path.Cs).any() else [path.Cs.tolist()]
        solutions = [
            solution for Cs in groups for solution in path.learner.solve(rows, classes, codes.astype(np.int32), own, Cs)
        ]
    except ValueError as error:
        yield Block(split, path.candidates, splits.test(split), None, {}, error)
        return
    yield from _blocks(table, splits, split, path, solutions, classes)


def _blocks(
    table: Table, splits: Splits, split: int, path: Path, solutions: list[Solution], classes: NDArray[Any]
) -> Iterator[Block]:
    """What the solutions answer on the held-out rows, in portions that fit in a quarter of the working memory."""
    held = splits.test(split)
    rows = table.rows[held]
    step = max(1, int(get_config()["working_memory"] * 2**18 / (32 * len(held) * len(classes))))
    for first in range(0, len(solutions), step):
        some = slice(first, first + step)
        answers = _answers(table, rows, path.learner, solutions[some])
        yield Block(split, path.candidates[some], held, classes, answers)


def _answers(table: Table, rows: Any, learner: Any, solutions: list[Solution]) -> dict[str, Any]:
    dim, held = rows.shape[1], rows.shape[0]
    for solution in solutions:
        learner._say(solution)
    coef = np.concatenate([solution.coef[:, :dim] for solution in solutions])
    intercept = np.zeros(len(coef))
    if learner.fit_intercept:
        intercept = np.concatenate([solution.coef[:, dim] for solution in solutions])
    found = scores(rows, coef, intercept, table.threads)
    outputs = len(coef) // len(solutions)
    by_candidate = found.reshape(len(solutions), outputs, held)
    decision = by_candidate[:, 0] if outputs == 1 else np.ascontiguousarray(by_candidate.transpose(0, 2, 1))
    responses: dict[str, Any] = {}
    if "predict" in table.wants:
        codes = decision > 0 if outputs == 1 else decision.argmax(axis=2)
        responses["predict"] = codes.astype(np.int32)
    if "predict_proba" in table.wants:
        responses["predict_proba"] = np.stack([np.exp(log_chances(one)) for one in decision])
    if "decision_function" in table.wants:
        responses["decision_function"] = decision
    return responses


def log_chances(decision: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log probabilities from scores: of the second class (rows,), or of every class (..., classes).

    Parameters
    ----------
    decision : ndarray

    Returns
    -------
    ndarray of shape (rows, classes)
    """
    if decision.ndim == 1:
        return np.stack([-np.logaddexp(0.0, decision), -np.logaddexp(0.0, -decision)], axis=1)
    relative = decision - decision.max(axis=-1, keepdims=True)
    return np.asarray(relative - np.log(np.exp(relative).sum(axis=-1, keepdims=True)))
