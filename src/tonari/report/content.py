"""What the report says, section by section: a result in, plain values for the template out."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tonari.metrics import Confusion, wilson
from tonari.report import charts
from tonari.report.wording import clean, count, counted, isolated, listed, score, short

# A matrix up to this size is shown at once, with shares; a larger one opens on request after its most frequent mistakes.
SMALL_MATRIX, LARGE_MATRIX = 12, 100
# Rows that a table shows at once, and that it shows on request.
SHOWN, HIDDEN = 12, 1000

METRIC_NAMES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "f1": "mean F1 over classes",
    "roc_auc": "area under the ROC curve",
}


def answer(result: Mapping[str, Any]) -> dict[str, Any]:
    """The answer in one sentence, what it leaves open, and the picture of its interval."""
    plan, test = result["plan"], result["test"]
    label = isolated(result["winner"]["label"])
    low, high = test["interval"]
    beats = low > test["majority_score"]
    scored = f"{metric_name(test['metric'])} {score(test['score'])} on {counted(test['rows'], 'held-out row')}"
    between = f"95\N{NO-BREAK SPACE}% interval {score(low)} to {score(high)}"
    majority = score(test["majority_score"])
    if not beats:
        opening = (
            f"No candidate is clearly better than always answering the commonest class, which scores {majority}: "
            f"the best, {label}, reaches {scored} ({between})."
        )
    elif plan["candidates"] == 1:
        opening = f"{label}, the only candidate, reaches {scored} ({between}); the commonest class alone scores {majority}."
    else:
        opening = (
            f"{label} is the best of {count(plan['candidates'])} candidates: {scored} ({between}); "
            f"always answering the commonest class scores {majority}."
        )
    scale, ticks = charts.interval_scale([(low, high), (test["majority_score"], test["score"])], 176, 640, 6)
    rows = [
        (short(result["winner"]["family"], 18), score(test["score"]), charts.bar(scale, low, test["score"], high)),
        ("commonest class", majority, charts.bar(scale, None, test["majority_score"], None)),
    ]
    return {
        "sentence": opening,
        "ties": _ties(result),
        "strip": {"rows": rows, "ticks": ticks, "title": f"{metric_name(test['metric']).capitalize()}: {between}"},
        "interval_of": test["interval_of"],
        "sure": low == high,
    }


def _ties(result: Mapping[str, Any]) -> str:
    """Which other candidates cross-validation does not tell apart from the chosen one."""
    others = [one for one in _distinct(result["candidates"]) if not one["chosen"]]
    tied = Counter(one["family"] for one in others if one["tied"] and not one["reference"])
    sentences = []
    if tied:
        own = result["winner"]["family"]
        phrases = [
            f"{counted(n, 'other setting')} of {isolated(family)}" if family == own
            else isolated(family) if n == 1 and _settings(others, family) == 1
            else f"{counted(n, 'setting')} of {isolated(family)}"
            for family, n in sorted(tied.items(), key=lambda item: (item[0] != own, -item[1], item[0]))
        ]  # fmt: skip
        named = listed(phrases) if len(phrases) <= 8 else f"{', '.join(phrases[:8])}, and {len(phrases) - 8} other families"
        sentences.append(f"Cross-validation does not tell these apart from it: {named}.")
    elif any(not one["reference"] for one in others):
        sentences.append("Cross-validation tells it apart from every other candidate.")
    if any(one["tied"] and one["reference"] for one in others):
        sentences.append("Nor does it tell it apart from the majority class.")
    return " ".join(sentences)


def _settings(candidates: Sequence[Mapping[str, Any]], family: str) -> int:
    return sum(one["family"] == family for one in candidates)


def candidates(result: Mapping[str, Any]) -> dict[str, Any]:
    """The best of each family, the next best, the references, and the rest."""
    every = _distinct(result["candidates"])
    references = [one for one in every if one["reference"]]
    ranked = sorted((one for one in every if not one["reference"]), key=_rank)
    best: dict[str, Mapping[str, Any]] = {}
    for one in ranked:
        best.setdefault(one["family"], one)
    leaders = list(best.values())
    leading = {id(one) for one in leaders}
    others = [one for one in ranked if id(one) not in leading]
    following = others[: max(SHOWN - len(leaders), 3)]
    rest = others[len(following) :]
    shown = leaders + following
    scale, ticks = charts.interval_scale(
        [(one["low"], one["high"]) for one in shown if _is_number(one["low"]) and _is_number(one["high"])],
        18, 202, 3,
    )  # fmt: skip
    chosen = next((one for one in shown if one["chosen"]), None)
    guide = scale.at(chosen["mean"]) if chosen is not None and _is_number(chosen["mean"]) else None

    def row(one: Mapping[str, Any]) -> dict[str, Any]:
        return {**one, "bar": charts.bar(scale, one["low"], one["mean"], one["high"])}

    groups = [
        ("Best of each family" if len(leaders) > 1 else "Best", [row(one) for one in leaders]),
        ("Next best", [row(one) for one in following]),
        ("For reference", [row(one) for one in references]),
    ]
    return {
        "groups": [(title, rows) for title, rows in groups if rows],
        "rest": rest[:HIDDEN],
        "left_out": max(len(rest) - HIDDEN, 0),
        "ticks": ticks,
        "guide": guide,
        "total": len(ranked),
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
    return METRIC_NAMES.get(metric, clean(metric).replace("_", " "))


def _distinct(every: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Candidates once each: the best of a family may stand a second time among all."""
    seen: dict[tuple[str, str, Any], Mapping[str, Any]] = {}
    for one in every:
        seen.setdefault((one["family"], one["label"], one["rank"]), one)
    return list(seen.values())


def _rank(one: Mapping[str, Any]) -> float:
    return math.inf if one["rank"] is None else one["rank"]


def _share_interval(part: int, whole: int) -> tuple[float, float] | None:
    return wilson(part, whole) if whole else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)
