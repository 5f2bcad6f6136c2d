"""What the report says, section by section: a result in, plain values for the template out."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tonari.metrics import Confusion, wilson
from tonari.model_selection.judge import METRICS
from tonari.report import charts
from tonari.report.wording import capital, clean, count, counted, isolated, listed, score, short

# A matrix up to this size is shown at once, with shares; a larger one on request, after its most frequent mistakes.
SMALL_MATRIX, LARGE_MATRIX = 12, 100
# Rows that a table shows at once, and that it shows on request.
SHOWN, HIDDEN = 12, 200
# Signs of a candidate's label in a sentence or a table, and families that a sentence names.
LONG, MOST_NAMED = 100, 8


@dataclass(frozen=True)
class Ranks:
    """Candidates as the report divides them: the best of each family, the next best, the rest, the references."""

    leaders: tuple[Mapping[str, Any], ...]
    following: tuple[Mapping[str, Any], ...]
    rest: tuple[Mapping[str, Any], ...]
    references: tuple[Mapping[str, Any], ...]

    @classmethod
    def of(cls, result: Mapping[str, Any]) -> Ranks:
        """Divide the candidates of a result."""
        ranked = sorted((one for one in result["candidates"] if not one["reference"]), key=lambda one: one["rank"])
        firsts: dict[str, Mapping[str, Any]] = {}
        for one in ranked:
            firsts.setdefault(one["family"], one)
        leaders = tuple(firsts.values())
        others = tuple(one for one in ranked if firsts[one["family"]] is not one)
        room = max(SHOWN - len(leaders), 3)
        references = tuple(one for one in result["candidates"] if one["reference"])
        return cls(leaders, others[:room], others[room:], references)

    @property
    def shown(self) -> tuple[Mapping[str, Any], ...]:
        """Those with a row in the first table."""
        return self.leaders + self.following

    @property
    def every(self) -> tuple[Mapping[str, Any], ...]:
        """All but the references."""
        return self.shown + self.rest

    @property
    def chosen(self) -> Mapping[str, Any]:
        """The winner; it leads its family."""
        return next(one for one in self.leaders if one["chosen"])


def answer(result: Mapping[str, Any], ranks: Ranks) -> dict[str, Any]:
    """The answer in one sentence, what it leaves open, and the picture of its interval."""
    plan, test = result["plan"], result["test"]
    label = isolated(short(result["winner"]["label"], LONG))
    low, high = test["interval"]
    metric = metric_name(test["metric"])
    scored = f"{metric} {score(test['score'])} on {counted(test['rows'], 'held-out row')}"
    between = f"95\N{NO-BREAK SPACE}% interval {score(low)} to {score(high)}"
    majority = score(test["majority_score"])
    if low <= test["majority_score"]:
        sentence = (
            f"No candidate is clearly better than always answering the commonest class, which scores {majority}: "
            f"the chosen one, {label}, reaches {scored} ({between})."
        )
    else:
        many = count(plan["candidates"])
        role = (
            "The only candidate" if plan["candidates"] == 1
            else f"The best of {many} candidates" if ranks.chosen["rank"] == 1
            else f"Of {many} candidates the best that can be written to a file"
        )  # fmt: skip
        sentence = f"{role} is {label}: {scored} ({between}); always answering the commonest class scores {majority}."
    scale, ticks = charts.interval_scale([(low, high), (test["majority_score"], test["score"])], 176, 640, 6)
    rows = [
        (short(result["winner"]["family"], 18), score(test["score"]), charts.bar(scale, low, test["score"], high)),
        ("commonest class", majority, charts.bar(scale, None, test["majority_score"], None)),
    ]
    return {
        "sentence": sentence,
        "ties": _ties(ranks),
        "strip": {"rows": rows, "ticks": ticks, "title": f"{capital(metric)}: {between}"},
        "without_width": low == high,
    }


def _ties(ranks: Ranks) -> str:
    """Which other candidates cross-validation does not tell apart from the best."""
    best = min(ranks.leaders, key=lambda one: one["rank"])
    others = [one for one in ranks.every if one is not best]
    subject = "it" if best["chosen"] else f"the best by cross-validation, {isolated(short(best['label'], LONG))}"
    settings = Counter(one["family"] for one in others)
    tied = Counter(one["family"] for one in others if one["tied"])
    sentences = []
    if tied:
        order = sorted(tied, key=lambda family: (family != best["family"], -tied[family], family))
        phrases = [
            f"{counted(tied[family], 'other setting')} of {isolated(family)}" if family == best["family"]
            else isolated(family) if settings[family] == 1
            else f"{counted(tied[family], 'setting')} of {isolated(family)}"
            for family in order[:MOST_NAMED]
        ]  # fmt: skip
        if len(order) > MOST_NAMED:
            phrases.append(counted(len(order) - MOST_NAMED, "other family", "other families"))
        sentences.append(f"Cross-validation does not tell these apart from {subject}: {listed(phrases)}.")
    elif others:
        sentences.append(f"Cross-validation tells {subject} apart from every other candidate.")
    if any(one["tied"] for one in ranks.references):
        sentences.append("It does not tell always answering the commonest class apart from the best either.")
    return " ".join(sentences)


def candidates(ranks: Ranks) -> dict[str, Any]:
    """Rows of the tables of candidates, with their intervals on one scale."""
    scale, ticks = charts.interval_scale([(one["low"], one["high"]) for one in ranks.shown], 18, 202, 3)

    def rows(part: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return [{**one, "bar": charts.bar(scale, one["low"], one["mean"], one["high"])} for one in part]

    groups = [
        ("Best of each family" if len(ranks.leaders) > 1 else "Best", rows(ranks.leaders)),
        ("Next best", rows(ranks.following)),
        ("For reference", rows(ranks.references)),
    ]
    return {
        "groups": [(title, part) for title, part in groups if part],
        "rest": ranks.rest[:HIDDEN],
        "left_out": max(len(ranks.rest) - HIDDEN, 0),
        "ticks": ticks,
        "guide": scale.at(ranks.chosen["mean"]),
        "total": len(ranks.every),
    }


def curves(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Error against a parameter: the picture, its legend and the numbers behind it."""
    drawn = []
    for curve in result["curves"]:
        if not any(_is_number(y) for series in curve["series"] for y in series["y"]):
            continue
        chart, order = charts.error_curve(curve)
        named = [curve["series"][i] for i in order[: charts.STYLES]]
        xs = sorted({x for series in named for x in series["x"]})
        tables = [
            {x: (y, e) for x, y, e in zip(one["x"], one["y"], one.get("se") or [None] * len(one["x"]), strict=True)}
            for one in named
        ]
        drawn.append({
            "chart": chart,
            "legend": [(i + 1, one["name"]) for i, one in enumerate(named)],
            "grey": [curve["series"][i]["name"] for i in order[charts.STYLES :]],
            "banded": sum(bool(line.band) for line in chart.lines),
            "names": [one["name"] for one in named],
            "rows": [(x, [table.get(x) for table in tables]) for x in xs[:HIDDEN]],
        })  # fmt: skip
    return drawn


def confusion(result: Mapping[str, Any]) -> dict[str, Any]:
    """The confusion matrix with its shading, its most frequent mistakes, and the measures of each class."""
    test = result["test"]
    labels = np.array([str(label) for label in test["classes"]], dtype=object)
    matrix = Confusion(labels, np.asarray(test["confusion"], dtype=np.int64))
    size = len(labels)
    rows, columns = matrix.counts.sum(axis=1), matrix.counts.sum(axis=0)
    cells = []
    if size <= LARGE_MATRIX:
        for i in range(size):
            shares = matrix.counts[i] / max(int(rows[i]), 1)
            cells.append([
                (int(n), float(share), ("a" if i == j else "b") + str(math.ceil(10 * share)) if n else "")
                for j, (n, share) in enumerate(zip(matrix.counts[i], shares, strict=True))
            ])  # fmt: skip
    per_class = [
        {
            **one,
            "recall_interval": _share_interval(int(matrix.counts[i, i]), int(rows[i])),
            "precision_interval": _share_interval(int(matrix.counts[i, i]), int(columns[i])),
        }
        for i, one in enumerate(test["per_class"])
    ]
    return {
        "labels": labels.tolist(),
        "cells": cells,
        "totals": rows.tolist(),
        "predicted": columns.tolist(),
        "small": size <= SMALL_MATRIX,
        "head": 24 if size <= 4 else 14,
        "pairs": matrix.most_confused(SHOWN),
        "mistakes": int(matrix.counts.sum() - matrix.counts.trace()),
        "rows": int(matrix.counts.sum()),
        "per_class": per_class[:HIDDEN],
    }


def binary(result: Mapping[str, Any]) -> dict[str, Any]:
    """ROC and precision-recall curves where there are two classes, else nothing."""
    test = result["test"]
    roc, pr = test.get("roc"), test.get("pr")
    counts = np.asarray(test["confusion"])
    own_roc = own_pr = prevalence = None
    positive = (roc or pr or {}).get("positive")
    if counts.shape == (2, 2) and positive in test["classes"]:
        yes = test["classes"].index(positive)
        hit, missed, false = int(counts[yes, yes]), int(counts[yes, 1 - yes]), int(counts[1 - yes, yes])
        negative = int(counts[1 - yes].sum())
        if hit + missed and negative:
            own_roc = (false / negative, hit / (hit + missed))
            prevalence = (hit + missed) / (hit + missed + negative)
            if hit + false:
                own_pr = (hit / (hit + missed), hit / (hit + false))
    return {
        "positive": positive,
        "roc": roc and charts.roc_chart(roc, own_roc),
        "auc": roc and roc["auc"],
        "pr": pr and charts.precision_recall_chart(pr, prevalence, own_pr),
        "ap": pr and pr["ap"],
        "prevalence": prevalence,
    }


def data(result: Mapping[str, Any]) -> dict[str, Any]:
    """The table that was used: its classes and its columns, those with something to note first."""
    described = result["data"]
    columns = sorted(described["columns"], key=lambda column: not column["note"])
    kinds = Counter(column["kind"] for column in columns)
    total = sum(one["rows"] for one in described["classes"]) or 1
    classes = [{**one, "share": one["rows"] / total} for one in described["classes"]]
    return {
        "columns": columns[:SHOWN],
        "more_columns": columns[SHOWN:HIDDEN],
        "left_out": max(len(columns) - HIDDEN, 0),
        "total": len(columns),
        "kinds": listed([f"{count(n)} {clean(kind)}" for kind, n in sorted(kinds.items())]) if kinds else "",
        "classes": classes[:SHOWN],
        "more_classes": classes[SHOWN:HIDDEN],
        "class_total": len(classes),
    }


def usage(result: Mapping[str, Any]) -> dict[str, Any]:
    """Commands and Python lines with this result's own file name."""
    model = result["files"].get("model")
    if model is None:
        return {"command": "", "python": ""}
    return {
        "command": f"tonari predict {shlex.quote(model)} NEW.csv\ntonari inspect {shlex.quote(model)}",
        "python": (
            "from tonari.store import open_model\n\n"
            f"model = open_model({model!r})\n"
            'labels = model.predict("NEW.csv")  # or a data frame\n'
            'probabilities = model.predict_proba("NEW.csv")'
        ),
    }


def metric_name(metric: str) -> str:
    """A metric in words."""
    return METRICS[metric].title if metric in METRICS else clean(metric)


def embedded(result: Mapping[str, Any], ranks: Ranks) -> dict[str, Any]:
    """The result as the page holds it: candidates outside the first table without parameters, ends and fold scores."""
    rest = {id(one) for one in ranks.rest}
    brief = ("rank", "family", "label", "mean", "se", "chosen", "reference", "tied")
    every = [{key: one[key] for key in brief} if id(one) in rest else one for one in result["candidates"]]
    return {**result, "candidates": every}


def _share_interval(part: int, whole: int) -> tuple[float, float] | None:
    return wilson(part, whole) if whole else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)
