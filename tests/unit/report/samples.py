"""Results as `compare` makes them, drawn at random but the same every time; the report's tests show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tonari.metrics import (
    Confusion,
    PrecisionRecallCurve,
    RocCurve,
    corrected_paired_t,
    corrected_standard_error,
    fold_interval,
    wilson,
)

FOLDS = 10
METRICS = ("euclidean", "manhattan", "chebyshev", "cosine")


def result(
    labels: Sequence[str],
    *,
    rows: int = 1200,
    skill: float = 0.85,
    name: str = "table.csv",
    target: str = "class",
    columns: Sequence[dict[str, Any]] | None = None,
    ks: Sequence[int] = tuple(range(1, 50, 2)),
    others: Sequence[str] = ("random forest", "logistic regression"),
    notes: Sequence[str] = (),
    seed: int = 0,
) -> dict[str, Any]:
    """A whole result of schema 1 with these class labels."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(len(labels), 8.0))
    counts = np.maximum((shares * rows).astype(int), 12)
    test_rows = int(counts.sum()) // 3
    truth = np.sort(rng.choice(len(labels), test_rows, p=counts / counts.sum()))
    truth[: len(labels)] = np.arange(len(labels))
    taken = np.where(rng.random(test_rows) < skill, truth, (truth + rng.geometric(0.6, test_rows)) % len(labels))
    positive_score = rng.standard_normal(test_rows) + 2.3 * truth
    if len(labels) == 2:
        taken = (positive_score > 1.2).astype(int)
    confusion = Confusion.from_predictions(truth, taken, classes=np.arange(len(labels)))
    right = int(confusion.counts.trace())
    every, curves = candidates(ks, others, right / test_rows, float(counts.max() / counts.sum()), rng)
    winner = next(one for one in every if one["chosen"])
    roc = pr = None
    if len(labels) == 2:
        roc = {**RocCurve.from_scores(truth, positive_score, positive=1).to_json(), "positive": labels[1]}
        pr = {**PrecisionRecallCurve.from_scores(truth, positive_score, positive=1).to_json(), "positive": labels[1]}
    if columns is None:
        columns = [column(f"x{i}", missing=3 * (i == 1)) for i in range(5)]
    return {
        "schema": 1,
        "tonari": "0.1.0",
        "data": {
            "name": name, "sha256": "2f" * 32, "rows": int(counts.sum()), "target": target, "columns": list(columns),
            "classes": [{"label": label, "rows": int(n)} for label, n in zip(labels, counts, strict=True)],
        },
        "plan": {
            "seed": 0, "test_fraction": 1 / 3, "train_rows": int(counts.sum()) - test_rows, "test_rows": test_rows,
            "folds": FOLDS, "metric": "accuracy", "candidates": len(every) - 1,
            "fits_asked": FOLDS * (len(every) - 1), "fits_done": len(METRICS) + FOLDS * len(others),
        },
        "candidates": every,
        "curves": curves,
        "winner": {"family": winner["family"], "label": winner["label"], "params": winner["params"]},
        "test": {
            "rows": test_rows, "metric": "accuracy", "score": right / test_rows,
            "interval": list(wilson(right, test_rows)),
            "interval_of": "this model on rows like these, 95 % Wilson",
            "majority_score": float(np.bincount(truth).max() / test_rows), "classes": list(labels),
            "confusion": confusion.counts.tolist(),
            "per_class": [
                {**one, "label": label} for one, label in zip(confusion.per_class(), labels, strict=True)
            ],
            "roc": roc, "pr": pr,
        },
        "notes": list(notes),
        "files": {"model": "model.tonari", "report": "report.html", "result": "result.json"},
    }  # fmt: skip


def column(name: str, kind: str = "numeric", missing: int = 0, levels: int = 0, note: str = "") -> dict[str, Any]:
    return {"name": name, "kind": kind, "missing": missing, "levels": levels, "note": note}


def candidates(
    ks: Sequence[int], others: Sequence[str], best: float, majority: float, rng: np.random.Generator
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Settings of k-NN and other classifiers with their fold scores, and the error against k."""
    shared = rng.standard_normal(FOLDS) * 0.008
    found, series = [], []
    for m, metric in enumerate(METRICS):
        for weights in ("uniform", "distance"):
            scores = []
            for k in ks:
                bend = 0.035 * np.log(k / 7) ** 2 * (0.7 if weights == "distance" else 1)
                mean = best + 0.002 - 0.03 * m - bend / (1 + bend)
                scores.append(np.clip(mean + shared + rng.standard_normal(FOLDS) * 0.015, 0, 1))
                params = {"n_neighbors": k, "metric": metric, "weights": weights}
                found.append(("k-NN", f"k-NN, k={k}, {metric}, {weights}", params, scores[-1]))
            series.append({
                "name": f"{metric}, {weights}", "x": list(ks), "y": [1 - float(s.mean()) for s in scores],
                "se": [corrected_standard_error(s) for s in scores],
            })  # fmt: skip
    for i, other in enumerate(others):
        mean = best - 0.01 - 0.025 * i
        found.append((other, other, {}, np.clip(mean + shared + rng.standard_normal(FOLDS) * 0.012, 0, 1)))
    found.sort(key=lambda one: -one[3].mean())
    top = found[0][3]
    every = [
        {
            "rank": rank, "family": family, "label": label, "params": params, "mean": float(scores.mean()),
            "se": corrected_standard_error(scores), "low": fold_interval(scores, bounds=(0, 1))[0],
            "high": fold_interval(scores, bounds=(0, 1))[1], "fold_scores": scores.tolist(), "chosen": rank == 1,
            "reference": False, "tied": rank == 1 or corrected_paired_t(top, scores).p_value >= 0.05,
        }
        for rank, (family, label, params, scores) in enumerate(found, start=1)
    ]  # fmt: skip
    firsts = {one["family"]: one for one in reversed(every)}
    leaders = sorted(firsts.values(), key=lambda one: one["rank"])
    every = leaders + [one for one in every if one not in leaders]
    flat = [majority] * FOLDS
    every.append({
        "rank": None, "family": "majority class", "label": "majority class", "params": {}, "mean": majority, "se": 0.0,
        "low": majority, "high": majority, "fold_scores": flat, "chosen": False, "reference": True, "tied": False,
    })  # fmt: skip
    tuned = next(one for one in every if one["family"] == "k-NN")
    marked = {"x": tuned["params"]["n_neighbors"], "y": 1 - tuned["mean"]}
    curve = {
        "title": "Error against k", "x_label": "k", "y_label": f"error (1 - accuracy), {FOLDS}-fold", "series": series,
        "marked": marked,
    }  # fmt: skip
    return every, [curve]


def binary() -> dict[str, Any]:
    """Two classes, a few columns of both kinds, and notes."""
    columns = [
        column("age"), column("income", missing=1310), column("occupation", "categorical", 12, 14),
        column("country", "categorical", 0, 1, "Column 'country' was left out: it holds one value only."),
        column("hours_per_week"),
    ]  # fmt: skip
    notes = [
        "Column 'country' was left out: it holds one value only.",
        "3 of the 4,000 test rows have the same values as a training row in every column.",
    ]
    return result(["no", "yes"], rows=12000, name="adult.csv", target="earns_more", columns=columns, notes=notes)


def ten_classes() -> dict[str, Any]:
    """Ten digits from 64 columns."""
    columns = [column(f"pixel_{i // 8}_{i % 8}") for i in range(64)]
    return result(
        [str(i) for i in range(10)], rows=1797, skill=0.97, name="digits.parquet", target="digit", columns=columns
    )


HOSTILE = (
    "<script>alert(1)</script>",
    "</script><!--<script>",
    '" onmouseover="alert(2)" x="',
    "'); DROP TABLE rows; --",
    "{{ 7 * 7 }}{% raw %}",
    "\u202egnp.exe",
    "שלום עולם",
    "tab\tnew\nline\x00\x1b[31m",
    "",
    "W" * 200,
    "lone \ud800 surrogate",
    "&lt;b&gt; & <b>",
)


def hostile() -> dict[str, Any]:
    """Names and labels that try to break out of where they are written (trap 18)."""
    columns = [column(name, "categorical", 1, 3, f"Column {name!r} has a strange name: {name}") for name in HOSTILE]
    shown = result(
        HOSTILE, rows=900, name=HOSTILE[0], target=HOSTILE[2], columns=columns, others=HOSTILE[:4], notes=HOSTILE,
        ks=(1, 3, 9),
    )  # fmt: skip
    for one in (*shown["candidates"], shown["winner"]):
        one["label"] += HOSTILE[0] + HOSTILE[9]
    for curve in shown["curves"]:
        curve["title"] = HOSTILE[1]
        for series, name in zip(curve["series"], HOSTILE, strict=False):
            series["name"] = name
    shown["files"]["model"] = "it's <b>mine</b>.tonari"
    return shown


def large() -> dict[str, Any]:
    """Sixty classes, five hundred candidates, a hundred and fifty columns."""
    columns = [column(f"measurement_{i:03}", missing=i % 7) for i in range(150)]
    return result(
        [f"species_{i:02}" for i in range(60)], rows=9000, skill=0.7, columns=columns, ks=range(1, 126, 2),
        name="leaves.csv", target="species",
    )  # fmt: skip


def small() -> dict[str, Any]:
    """One column, few candidates, nothing better than the majority class, no model file."""
    shown = result(["a", "b"], rows=40, skill=0.55, columns=[column("x")], ks=(1,), others=())
    shown["test"].update(roc=None, pr=None)
    shown["curves"] = []
    shown["files"]["model"] = None
    return shown


ALL = {
    "binary": binary, "ten_classes": ten_classes, "hostile": hostile, "large": large, "small": small,
}  # fmt: skip
