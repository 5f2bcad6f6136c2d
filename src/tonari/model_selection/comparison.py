"""The main job: tune every classifier on one part of a table, judge the winner once on the other, say how sure."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tonari.base.errors import UsageError
from tonari.base.progress import Progress
from tonari.base.threads import thread_count
from tonari.model_selection.families import FAMILIES, Family, foreign
from tonari.model_selection.judge import judge
from tonari.model_selection.output import FILES, Output
from tonari.model_selection.plan import Plan, draw_up
from tonari.model_selection.ranking import Candidate, Ranking, tidy
from tonari.model_selection.summary import summary
from tonari.model_selection.tuned import TunedModel
from tonari.model_selection.tuning import Tuner
from tonari.tables.names import did_you_mean, listed

SCHEMA = 1


@dataclass
class Comparison:
    """What `compare` found.

    Attributes
    ----------
    result : dict
        Everything, as ``result.json`` holds it (schema 1): data, plan, candidates, curves, winner, test, notes.
    model : TunedModel
        The winner, fitted on all rows.
    paths : dict of str to Path
        The files written, by ``"model"``, ``"report"`` and ``"result"``.

    Examples
    --------
    >>> from tonari.model_selection import compare
    >>> size = [1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16]
    >>> found = compare({"size": size, "kind": ["small"] * 6 + ["large"] * 6}, "kind", quiet=True)
    >>> found.result["data"]["rows"], found.model.predict({"size": [13.5]}).tolist()
    (12, ['large'])
    """

    result: dict[str, Any]
    model: TunedModel
    paths: dict[str, Path] = field(default_factory=dict)

    @property
    def notes(self) -> list[str]:
        """What a reader should know, as sentences."""
        return list(self.result["notes"])

    def table(self, rows: int = 12) -> str:
        """The comparison as plain text.

        Parameters
        ----------
        rows : int, default=12
            Candidates to show at most; every family's best and the majority class are always among them.

        Returns
        -------
        str
        """
        return summary(self.result, rows)

    def write(self, folder: str | os.PathLike[str], force: bool = False) -> dict[str, Path]:
        """Write ``model.tonari``, ``report.html`` and ``result.json``.

        A winner that is none of tonari's own classifiers has no model file, because that would need pickle.

        Parameters
        ----------
        folder : path-like
            Made if it does not exist.
        force : bool, default=False
            Replace files that are there already.

        Returns
        -------
        dict of str to Path
        """
        self.paths = Output(folder, force).write(self.result, self.model)
        return self.paths

    def __repr__(self) -> str:
        return self.table()


def compare(
    data: Any, target: str | None = None, *, output: str | os.PathLike[str] | None = None, seed: int = 0,
    test_size: float = 1 / 3, folds: int = 10, metric: str = "accuracy", families: Iterable[str] | None = None,
    extra: Mapping[str, Any] | None = None, drop: Iterable[str] = (), writable_only: bool = False,
    n_jobs: int | None = None, quiet: bool = False, force: bool = False,
) -> Comparison:  # fmt: skip
    """Tune classifiers on one part of a table and judge the best of them, once, on the rest.

    A stratified test part is set aside. On the other rows every candidate is scored by stratified cross-validation;
    scaling, imputation and encoding are learned inside each fold. The best mean wins; equal means (to 12 digits) fall
    to the family that comes first (tonari's own, then `extra` in its order), then to the simpler setting (for k-NN the
    larger k, then the uniform vote, then the metric that comes first). The winner is fitted on that whole part, judged
    on the test part, and fitted again on all rows: that is the model. The same data, seed and version give the same
    result, bit for bit, for any `n_jobs`.

    Parameters
    ----------
    data : path, Table, data frame, mapping of arrays, or (X, y)
        A CSV, TSV, Parquet or JSON file, or a table in memory.
    target : str, default=None
        The column of classes. Needed but for (X, y), where it names y.
    output : path-like, default=None
        A folder to write the model, the report and the result to; it is checked before any work is done.
    seed : int, default=0
        Of the split and the folds, and of extra classifiers whose ``random_state`` is None.
    test_size : float, default=1/3
        Share of rows set aside.
    folds : int, default=10
        Where a class has fewer rows, fewer are used, and a note says so: as many as its rows, but for accuracy not
        fewer than 5. A class needs two rows in the training part.
    metric : {"accuracy", "balanced_accuracy", "f1", "roc_auc"}, default="accuracy"
        What decides. ``f1`` is the mean over classes; ``roc_auc`` is for two classes.
    families : iterable of str, default=None
        Which of tonari's own families take part; None means all (now ``"k-NN"``).
    extra : mapping of str to classifier or (classifier, grid), default=None
        More classifiers with scikit-learn's interface; they see the same folds and the same encoded columns.
    drop : iterable of str, default=()
        Columns to leave out.
    writable_only : bool, default=False
        Let only such classifiers win as a model file can hold (tonari's own); the others are ranked all the same.
    n_jobs : int, default=None
        Threads of tonari's own classifiers, None meaning all cores, or one inside a joblib worker; processes for extra
        ones, None meaning one.
    quiet : bool, default=False
        Show no progress.
    force : bool, default=False
        Replace files in `output` that are there already.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from tonari.model_selection import compare
    >>> size = [1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16]
    >>> comparison = compare({"size": size, "kind": ["small"] * 6 + ["large"] * 6}, "kind", quiet=True)
    >>> comparison.result["winner"]["family"], comparison.result["test"]["score"]
    ('k-NN', 1.0)
    """
    thread_count(n_jobs)
    out = None if output is None else Output(output, force)
    try:
        plan = draw_up(
            data, target, drop=list(drop), seed=seed, test_size=test_size, folds=folds, metric=metric,
        )  # fmt: skip
        contenders = _contenders(families, extra or {}, plan)
        comparison = _carry_out(plan, contenders, test_size, writable_only, n_jobs, quiet)
        if out is not None:
            comparison.paths = out.write(comparison.result, comparison.model)
    except BaseException:
        if out is not None:
            out.abandon()
        raise
    return comparison


def _contenders(names: Iterable[str] | None, extra: Mapping[str, Any], plan: Plan) -> list[Family]:
    chosen = list(FAMILIES) if names is None else list(names)
    for name in chosen:
        if name not in FAMILIES:
            raise UsageError(
                f"There is no family {name!r}.", did_you_mean(name, FAMILIES) or f"One of {listed(FAMILIES)}."
            )
    own = [make(plan.smallest_training_part) for name, make in FAMILIES.items() if name in chosen]
    contenders = own + [foreign(name, given, plan.seed) for name, given in extra.items()]
    if not contenders:
        raise UsageError("There is nothing to compare.", "Name a family, or give a classifier in extra.")
    return contenders


def _carry_out(
    plan: Plan, contenders: Sequence[Family], test_size: float, writable_only: bool, n_jobs: int | None, quiet: bool
) -> Comparison:
    candidates: list[Candidate] = []
    asked = sum(family.size for family in contenders) * len(plan.folds)
    with Progress(asked + 2, "Comparing", quiet=quiet) as progress:
        tuner = Tuner(plan, n_jobs, progress)
        for place, family in enumerate(contenders):
            candidates += tuner.tune(family, place)
        candidates.sort(key=lambda candidate: candidate.order)
        winner = next((each for each in candidates if each.family.writable or not writable_only), None)
        if winner is None:
            raise UsageError(" ".join(["There is no candidate to choose.", *tuner.failures]))
        progress.describe("the winner")
        fitted = tuner.fit(winner, plan.train)
        verdict = judge(
            fitted, plan.X[plan.test], plan.y[plan.test], plan.labels, plan.metric, plan.majority, plan.seed
        )  # fmt: skip
        final = tuner.fit(winner, np.arange(len(plan.y)))
    if winner.family.own:
        # How many threads were used here is no part of the model.
        final.set_params(learn__n_jobs=None)
    ranking = Ranking(plan, candidates, winner)
    result = {
        "schema": SCHEMA,
        "tonari": _version(),
        "data": plan.table,
        "plan": {
            "seed": plan.seed, "test_fraction": test_size, "train_rows": len(plan.train), "test_rows": len(plan.test),
            "folds": len(plan.folds), "metric": plan.metric.name, "candidates": len(candidates),
            "fits_asked": asked, "fits_done": tuner.fits,
        },
        "candidates": ranking.rows(),
        "curves": ranking.curves(),
        "winner": {"family": winner.family.name, "label": winner.label, "params": winner.plain_params},
        "test": tidy(verdict),
        "notes": [*plan.notes, *tuner.failures, *ranking.remarks()],
        "files": {**FILES, "model": FILES["model"] if winner.family.writable else None},
    }  # fmt: skip
    return Comparison(result, TunedModel(plan.schema, final, plan.classes, _history(result)))


def _history(result: Mapping[str, Any]) -> dict[str, Any]:
    """How the model was chosen, for its file: the result without its long lists."""
    chosen = next(row for row in result["candidates"] if row["chosen"])
    test = result["test"]
    return {
        "tonari": result["tonari"],
        "data": {key: result["data"][key] for key in ("name", "sha256", "rows", "target")},
        "plan": dict(result["plan"]),
        "winner": dict(result["winner"]),
        "cross_validation": {key: chosen[key] for key in ("mean", "se", "low", "high")},
        "test": {key: test[key] for key in ("rows", "metric", "score", "interval", "interval_of", "majority_score")},
    }


def _version() -> str:
    from tonari import __version__

    return __version__
