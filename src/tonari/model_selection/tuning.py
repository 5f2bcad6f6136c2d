"""Scores every setting of a family on the folds of a plan, and fits the one that was chosen."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.pipeline import Pipeline

from tonari.base.progress import Progress
from tonari.base.threads import thread_count
from tonari.model_selection.families import Family
from tonari.model_selection.plan import Plan
from tonari.model_selection.ranking import Candidate
from tonari.model_selection.search import GridSearchCV
from tonari.tables import TableEncoder

#: If the remaining folds take longer than this, they are searched one by one, so that progress shows.
SECONDS_WITHOUT_PROGRESS = 1.0


class Tuner:
    """Tunes families on one plan.

    Parameters
    ----------
    plan : Plan
    n_jobs : int or None
        Threads of tonari's own learners, processes for others.
    progress : Progress
        Advanced by one for each setting and fold.

    Attributes
    ----------
    fits : int
        Fits, or passes in which a learner answered many settings at once, that were done.
    failures : list of str
        What foreign classifiers did wrong, as sentences.
    """

    def __init__(self, plan: Plan, n_jobs: int | None, progress: Progress) -> None:
        self.plan = plan
        self.n_jobs = n_jobs
        self.progress = progress
        self.fits = 0
        self.failures: list[str] = []

    def tune(self, family: Family, place: int) -> list[Candidate]:
        """Score every setting of a family on every fold.

        A foreign classifier that fails is noted in `failures` and left out, and so is a setting that fails.

        Parameters
        ----------
        family : Family
        place : int
            Of the family among the families.

        Returns
        -------
        list of Candidate
        """
        self.progress.describe(family.name)
        goal = self.progress.done + family.size * len(self.plan.folds)
        try:
            settings, scores = self._scores(family)
        except Exception as error:
            if family.own:
                raise
            self.failures.append(f"{family.name} was left out, because it failed: {_first_line(error)}")
            self.progress.advance(goal - self.progress.done)
            return []
        sound = np.array([np.isfinite(row).all() for row in scores])
        failed = int((~sound).sum())
        if failed:
            self.failures.append(f"{family.name}: {failed} of {len(settings)} settings failed and were left out.")
        return [
            Candidate(family, params, scores[i], place, i) for i, params in enumerate(settings) if sound[i]
        ]  # fmt: skip

    def fit(self, candidate: Candidate, rows: NDArray[np.int64]) -> Pipeline:
        """Fit one candidate on some rows of the plan.

        Parameters
        ----------
        candidate : Candidate
        rows : ndarray of int64

        Returns
        -------
        Pipeline
        """
        pipeline = self._pipeline(candidate.family)
        pipeline.set_params(**_of_the_learner(candidate.params))
        pipeline.fit(self.plan.X[rows], self.plan.y[rows])
        self.progress.advance()
        return pipeline

    def _scores(self, family: Family) -> tuple[list[dict[str, Any]], NDArray[np.float64]]:
        """The settings in the order of the grid, and their scores: one row for each, one column for each fold."""
        X, y = self.plan.X[self.plan.train], self.plan.y[self.plan.train]
        grid = _of_the_learner({name: list(values) for name, values in family.grid.items()})
        columns: list[NDArray[Any]] = []
        settings: list[dict[str, Any]] = []
        pending = list(self.plan.folds)
        # Own learners use their threads within a fold; others run folds in parallel.
        step = 1 if family.own else thread_count(self.n_jobs or 1)
        while pending:
            folds, pending = pending[:step], pending[step:]
            start = time.monotonic()
            search = GridSearchCV(
                self._pipeline(family), grid, scoring=self.plan.metric.scorer, cv=folds, refit=False, n_jobs=self.n_jobs
            )
            with warnings.catch_warnings():
                # Said in `failures`, with the number of settings concerned.
                warnings.simplefilter("ignore", FitFailedWarning)
                warnings.filterwarnings("ignore", message=".*scores are non-finite", category=UserWarning)
                search.fit(X, y)
            columns += [search.cv_results_[f"split{i}_test_score"] for i in range(len(folds))]
            settings = [
                {name.removeprefix("learn__"): value for name, value in params.items()}
                for params in search.cv_results_["params"]
            ]
            self.fits += search.work_["fits_done"]
            self.progress.advance(len(settings) * len(folds))
            if (time.monotonic() - start) / len(folds) * len(pending) < SECONDS_WITHOUT_PROGRESS:
                step = len(pending)
        return settings, np.column_stack(columns).astype(np.float64)

    def _pipeline(self, family: Family) -> Pipeline:
        learner = clone(family.learner)
        if family.own:
            learner.set_params(n_jobs=self.n_jobs)
        return Pipeline([("encode", TableEncoder(self.plan.schema.categorical)), ("learn", learner)])


def _of_the_learner(params: Mapping[str, Any]) -> dict[str, Any]:
    return {f"learn__{name}": value for name, value in params.items()}


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
