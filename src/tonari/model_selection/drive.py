"""Drives the held-out protocol: every candidate on every split, from as few passes as the learners can do it in.

What a learner or a scorer cannot answer is fitted and scored one by one, by scikit-learn's own code.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection._validation import _fit_and_score, _warn_or_raise_about_fit_failures
from sklearn.utils.parallel import Parallel, delayed

from tonari.base.held_out import Block, Candidate, Refusal, Splits
from tonari.model_selection.pipeline import (
    Group,
    groups_of,
    learners_fit_params,
    split_behind_steps,
    why_not_shared,
)
from tonari.model_selection.scoring import Marks, Scoring


@dataclass(frozen=True)
class Task:
    """What a search is to find out.

    Attributes
    ----------
    estimator : estimator
    candidates : sequence of mapping
        Parameters, as a grid names them.
    X, y : array-like
    splits : Splits
    scorer : callable
        As scikit-learn's search makes it.
    fit_params, score_params : mapping
    error_score : "raise" or float
    n_jobs, pre_dispatch, verbose
        As the search was given them, for what is fitted one by one.
    """

    estimator: Any
    candidates: Sequence[Candidate]
    X: Any
    y: Any
    splits: Splits
    scorer: Any
    fit_params: Mapping[str, Any]
    score_params: Mapping[str, Any]
    error_score: Any
    n_jobs: int | None
    pre_dispatch: Any
    verbose: int


class Drive:
    """Carries a task out.

    Parameters
    ----------
    task : Task

    Attributes
    ----------
    marks : Marks
        Filled by `run`.
    passes : int
        Times that a learner answered for many candidates at once.
    single_fits : int
        Fits of one candidate on one split.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.configured = [
            clone(task.estimator).set_params(**clone(dict(given), safe=False)) for given in task.candidates
        ]
        self.marks = Marks(len(task.candidates), len(task.splits))
        self.scoring = Scoring(
            task.scorer, self.configured, task.X, task.y, task.splits, task.score_params, task.error_score
        )
        self.marks.multimetric = self.scoring.several
        for name in self.scoring.scorers if self.scoring.several else []:
            self.marks.column(name)
        self.passes = 0
        self.single_fits = 0
        # What should have been answered when a pass failed.
        self._suspect = np.zeros(self.marks.shape, dtype=bool)

    def run(self) -> Marks:
        """Answer every candidate on every split, together where that can be, else one by one.

        Returns
        -------
        Marks
        """
        lacking = "a split has no training rows or none held out" if _has_empty_part(self.task.splits) else None
        for group in groups_of(self.task.estimator, self.task.candidates, self.configured):
            reason = lacking or why_not_shared(group.learner)
            if reason is not None:
                self.marks.because(reason)
            elif group.steps is None:
                self._share(group)
            else:
                for split in range(len(self.task.splits)):
                    self._share(group, split)
        self._fit_the_rest()
        return self.marks

    # --- many candidates at once ------------------------------------------------------------------------------------

    def _share(self, group: Group, split: int | None = None) -> None:
        """Let a group's learner answer all splits, or one split behind the group's steps."""
        marks, start, scoring = self.marks, time.perf_counter(), 0.0
        cells: list[Any] = []
        try:
            responses = self.scoring.responses(group.learner)
            for block in self._blocks(group, split, responses):
                if block.error is not None:
                    marks.because(f"{type(block.error).__name__}: {block.error}")
                    continue
                begin = time.perf_counter()
                own = np.ix_(block.candidates, np.unique(block.split))
                self.scoring.score(block, marks)
                cells.append(own)
                spent = time.perf_counter() - begin
                marks.score_time[own] = spent / marks.score_time[own].size
                scoring += spent
        except Refusal as refusal:
            marks.because(str(refusal))
        except Exception as error:
            self._suspect[group.positions, slice(None) if split is None else split] = True
            marks.because(f"the shared pass failed: {type(error).__name__}: {error}")
        if cells:
            self.passes += 1
            answers = sum(len(candidates) * splits.shape[1] for candidates, splits in cells)
            for own in cells:
                marks.fit_time[own] = (time.perf_counter() - start - scoring) / answers

    def _blocks(self, group: Group, split: int | None, responses: Sequence[str]) -> Iterator[Block]:
        """What the learner answers, with candidates, splits and rows numbered as in the whole task."""
        task = self.task
        if split is None:
            X, y, splits, fit_params = task.X, task.y, task.splits, learners_fit_params(group, task.fit_params)
            own_rows = None
        else:
            train, own_rows = task.splits.train(split), task.splits.test(split)
            X, y, splits, fit_params = split_behind_steps(group, task.X, task.y, train, own_rows, task.fit_params)
        chosen = self._accepted(group, splits, fit_params, responses)
        if len(chosen) == 0:
            return
        candidates = [group.candidates[i] for i in chosen]
        positions = np.array(group.positions, dtype=np.intp)[chosen]
        for block in group.learner.held_out(X, y, splits, candidates, fit_params=fit_params, responses=responses):
            found = replace(block, candidates=positions[block.candidates])
            if own_rows is not None and split is not None:
                found = replace(found, split=split, rows=own_rows[block.rows - len(train)])
            yield found

    def _accepted(
        self, group: Group, splits: Splits, fit_params: Mapping[str, Any], responses: Sequence[str]
    ) -> NDArray[np.intp]:
        """Which of a group's candidates the learner takes together; one that it refuses need not stop the others."""

        def refused(chosen: Sequence[int]) -> str | None:
            answer = group.learner.refuses([group.candidates[i] for i in chosen], splits, fit_params, responses)
            if answer is not None:
                self.marks.because(answer)
            return None if answer is None else str(answer)

        everyone = range(len(group.candidates))
        if refused(everyone) is None:
            return np.arange(len(everyone))
        willing = [i for i in everyone if refused([i]) is None] if len(everyone) > 1 else []
        if not willing or len(willing) == len(everyone) or refused(willing) is not None:
            return np.empty(0, dtype=np.intp)
        return np.array(willing, dtype=np.intp)

    # --- one by one -------------------------------------------------------------------------------------------------

    def _fit_the_rest(self) -> None:
        task, marks = self.task, self.marks
        rest = np.argwhere(~marks.answered)
        self.single_fits = len(rest)
        if len(rest) == 0:
            return
        n_candidates, n_splits = marks.shape
        done = Parallel(n_jobs=task.n_jobs, pre_dispatch=task.pre_dispatch)(
            delayed(_fit_and_score)(
                clone(task.estimator), task.X, task.y, scorer=task.scorer,
                train=task.splits.train(split), test=task.splits.test(split), parameters=task.candidates[candidate],
                fit_params=task.fit_params, score_params=task.score_params, error_score=task.error_score,
                return_times=True, verbose=task.verbose,
                split_progress=(split, n_splits), candidate_progress=(candidate, n_candidates),
            )
            for candidate, split in rest.tolist()
        )  # fmt: skip
        self._enter(rest, done)
        fitted = np.array([result["fit_error"] is None for result in done])
        if (fitted & self._suspect[tuple(rest.T)]).any():
            warnings.warn(
                f"Candidates were fitted one by one, and could be, because {'; '.join(marks.reasons)}. "
                "This is a mistake in the learner.", RuntimeWarning, stacklevel=4,
            )  # fmt: skip

    def _enter(self, cells: NDArray[np.intp], results: Sequence[Mapping[str, Any]]) -> None:
        marks, failed = self.marks, []
        for (candidate, split), result in zip(cells.tolist(), results, strict=True):
            marks.fit_time[candidate, split] = result["fit_time"]
            marks.score_time[candidate, split] = result["score_time"]
            if result["fit_error"] is not None:
                failed.append((candidate, split))
            else:
                marks.put(candidate, split, result["test_scores"])
        if failed:
            # scikit-learn counts failures among all fits asked for; the others are all the same to it.
            everything: list[Mapping[str, Any]] = [result for result in results if result["fit_error"] is not None]
            everything += [{"fit_error": None}] * (marks.answered.size - len(everything))
            _warn_or_raise_about_fit_failures(everything, self.task.error_score)
        for candidate, split in failed:
            for name in list(marks.scores) or ["score"]:
                marks.column(name)[candidate, split] = self.task.error_score


def _has_empty_part(splits: Splits) -> bool:
    """Whether a split trains on nothing or holds nothing out; what that means is for a fit to say."""
    held_out = np.diff(splits.test_indptr)
    if splits.train_indptr is not None:
        training = np.diff(splits.train_indptr)
    else:
        # A held-out part of fewer rows than the table leaves some; a longer one is looked at.
        long = np.flatnonzero(held_out >= splits.n_rows)
        training = np.array([len(splits.train(int(split))) for split in long])
    return bool((held_out == 0).any() or (training == 0).any())
