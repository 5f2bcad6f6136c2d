"""Candidates in order: standard errors, which of them are not told apart from the best, curves, and what to remark."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tonari.metrics.intervals import PairedT, corrected_paired_t, corrected_standard_error, fold_interval
from tonari.model_selection.families import MAJORITY, Family, plain
from tonari.model_selection.judge import measure
from tonari.model_selection.plan import Plan

LEVEL = 0.95
#: Means that agree to so many digits are equal: the last bits depend on the order in which folds are added.
DIGITS = 12


@dataclass(frozen=True)
class Candidate:
    """One setting of one family, with its score on every fold.

    Attributes
    ----------
    family : Family
    params : dict
    scores : ndarray of shape (folds,)
    place : int
        Of the family among the families.
    index : int
        Of the setting in the family's grid.
    """

    family: Family
    params: dict[str, Any]
    scores: NDArray[np.float64]
    place: int
    index: int

    @property
    def mean(self) -> float:
        """Mean over the folds."""
        return float(self.scores.mean())

    @property
    def label(self) -> str:
        """Family and setting in words."""
        return self.family.label(self.params)

    @property
    def plain_params(self) -> dict[str, Any]:
        """The setting as JSON can hold it."""
        return {name: plain(value) for name, value in self.params.items()}

    @property
    def order(self) -> tuple[Any, ...]:
        """Sorts candidates: best mean, then family, then simplicity, then place in the grid."""
        return -round(self.mean, DIGITS), self.place, self.family.simplicity(self.params), self.index


class Ranking:
    """Candidates beside one another.

    Parameters
    ----------
    plan : Plan
    candidates : list of Candidate
        In order, best first.
    winner : Candidate
    """

    def __init__(self, plan: Plan, candidates: list[Candidate], winner: Candidate) -> None:
        self.plan = plan
        self.candidates = candidates
        self.winner = winner

    @cached_property
    def majority_scores(self) -> NDArray[np.float64]:
        """What answering the most frequent class of the training part scores on every fold."""
        y = self.plan.y[self.plan.train]
        scores = []
        for train, test in self.plan.folds:
            constant = int(np.argmax(np.bincount(y[train])))
            scores.append(measure(self.plan.metric, y[test], np.full(len(test), constant), np.zeros(len(test))))
        return np.array(scores)

    def rows(self) -> list[dict[str, Any]]:
        """The ``"candidates"`` of a result: every family's best, the majority class, then all others; best first.

        Returns
        -------
        list of dict
        """
        rows = [
            {
                "rank": rank, "family": each.family.name, "label": each.label, "params": each.plain_params,
                "chosen": each is self.winner, "reference": False, **self._scores(each.scores),
            }
            for rank, each in enumerate(self.candidates, start=1)
        ]  # fmt: skip
        firsts = {row["family"]: row for row in reversed(rows)}
        leading = [row for row in rows if firsts[row["family"]] is row]
        reference = {
            "rank": None, "family": MAJORITY, "label": MAJORITY, "params": {}, "chosen": False, "reference": True,
            **self._scores(self.majority_scores),
        }  # fmt: skip
        return [*leading, reference, *(row for row in rows if firsts[row["family"]] is not row)]

    def curves(self) -> list[dict[str, Any]]:
        """The ``"curves"`` of a result: each family's error against the parameter that it is drawn over.

        Returns
        -------
        list of dict
        """
        curves = []
        for place in sorted({each.place for each in self.candidates}):
            members = [each for each in self.candidates if each.place == place]
            family, curve = members[0].family, members[0].family.curve
            if curve is None:
                continue
            lines: dict[str, list[Candidate]] = {}
            for each in sorted(members, key=lambda each: each.index):
                lines.setdefault(", ".join(str(each.params[name]) for name in curve.others), []).append(each)
            series = []
            for name, line in lines.items():
                line.sort(key=lambda each: each.params[curve.parameter])
                series.append({
                    "name": name,
                    "x": [each.params[curve.parameter] for each in line],
                    "y": tidy([1 - each.mean for each in line]),
                    "se": tidy([corrected_standard_error(each.scores) for each in line]),
                })  # fmt: skip
            curves.append({
                "title": f"{family.name}: error against {curve.name}",
                "x_label": curve.name,
                "y_label": f"error (1 - {self.plan.metric.title}), {len(self.plan.folds)}-fold",
                "series": series,
                "marked": {"x": members[0].params[curve.parameter], "y": tidy(1 - members[0].mean)},
            })  # fmt: skip
        return curves

    def remarks(self) -> list[str]:
        """What a reader of the ranking should know, as sentences.

        Returns
        -------
        list of str
        """
        remarks = []
        best, winner, metric = self.candidates[0], self.winner, self.plan.metric.title
        if not _told_apart(corrected_paired_t(winner.scores, self.majority_scores, LEVEL)):
            remarks.append(
                f"By cross-validation the winner is not told apart from always answering "
                f"{self.plan.labels[self.plan.majority]!r}, the most frequent class."
            )
        for parameter in winner.family.edges:
            values = winner.family.grid[parameter]
            if winner.params[parameter] == max(values) and len(values) > 1:
                remarks.append(
                    f"The best {parameter} is the largest tried ({max(values)}); an extra classifier may try more."
                )
        if not winner.family.writable:
            own = next((each for each in self.candidates if each.family.writable), None)
            remark = (
                f"No model file: {type(winner.family.learner).__name__} is none of tonari's own classifiers and could "
                "only be written with pickle."
            )
            if own is not None:
                difference = corrected_paired_t(winner.scores, own.scores, LEVEL)
                told = "worse" if _told_apart(difference) else "not told apart from it"
                remark += (
                    f" The best that can be written is {own.label} ({metric} {own.mean:.4f} by cross-validation, "
                    f"{told}): compare with writable_only=True to choose it."
                )
            remarks.append(remark)
        elif best is not winner:
            told = (
                "told apart" if _told_apart(corrected_paired_t(best.scores, winner.scores, LEVEL)) else "not told apart"
            )
            remarks.append(
                f"{best.label} scored higher by cross-validation ({metric} {best.mean:.4f} against {winner.mean:.4f}, "
                f"{told}), but cannot be written to a file and was not to be chosen."
            )
        return remarks

    def _scores(self, scores: NDArray[np.float64]) -> dict[str, Any]:
        interval = fold_interval(scores, LEVEL, bounds=(0.0, 1.0))
        scored: dict[str, Any] = tidy({
            "mean": float(scores.mean()),
            "se": corrected_standard_error(scores),
            "low": interval.low,
            "high": interval.high,
            "fold_scores": scores.tolist(),
            "tied": not _told_apart(corrected_paired_t(self.candidates[0].scores, scores, LEVEL)),
        })  # fmt: skip
        return scored


def tidy(value: Any) -> Any:
    """Numbers to 12 decimals: what lies beyond is rounding, and 0.30000000000000004 helps nobody.

    Parameters
    ----------
    value : object
        Values that JSON can hold.

    Returns
    -------
    object
    """
    if isinstance(value, float):
        return round(value, DIGITS) + 0.0
    if isinstance(value, dict):
        return {key: tidy(item) for key, item in value.items()}
    return [tidy(item) for item in value] if isinstance(value, list) else value


def _told_apart(difference: PairedT) -> bool:
    return difference.p_value < 1 - LEVEL
