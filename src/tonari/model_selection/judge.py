"""The one look at the test part: how the winner does on rows that took no part in choosing it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, f1_score, recall_score, roc_auc_score

from tonari.metrics.confusion import Confusion
from tonari.metrics.curves import PrecisionRecallCurve, RocCurve
from tonari.metrics.intervals import (
    Interval,
    balanced_accuracy_interval,
    delong_interval,
    macro_f1_interval,
    wilson,
)


class Metric(NamedTuple):
    """What `compare` can choose by: its name in options, in words, scikit-learn's scorer, the kind of its interval."""

    name: str
    title: str
    scorer: str
    interval: str


METRICS = {
    metric.name: metric
    for metric in (
        Metric("accuracy", "accuracy", "accuracy", "Wilson"),
        Metric("balanced_accuracy", "balanced accuracy", "balanced_accuracy", "Wilson, combined over classes (MOVER)"),
        Metric("f1", "F1 (mean over classes)", "f1_macro", "Bayes, Dirichlet prior of one row per class"),
        Metric("roc_auc", "area under the ROC curve", "roc_auc", "DeLong"),
    )
}


def judge(
    model: Any,
    X: NDArray[np.float64],
    y: NDArray[np.int64],
    labels: Sequence[str],
    metric: Metric,
    majority: int,
    seed: int,
) -> dict[str, Any]:
    """Judge a fitted model, once, on rows that it has never met.

    Parameters
    ----------
    model : classifier
        Fitted on class numbers 0, 1, ...
    X, y : ndarray
        The test part; `y` holds class numbers.
    labels : sequence of str
        What the class numbers stand for.
    metric : Metric
    majority : int
        The most frequent class of the training part.
    seed : int
        Of the draws behind the interval of F1.

    Returns
    -------
    dict
        The ``"test"`` part of a result: score with interval, confusion matrix, measures per class, curves if binary.
    """
    answer = np.asarray(model.predict(X))
    counts = np.zeros((len(labels), len(labels)), dtype=np.int64)
    np.add.at(counts, (y, answer), 1)
    confusion = Confusion(np.asarray(labels, dtype=object), counts)
    scores = _scores_of_second_class(model, X) if len(labels) == 2 else None
    roc = precision_recall = None
    if scores is not None:
        roc = {**RocCurve.from_scores(y, scores, positive=1).to_json(), "positive": labels[1]}
        precision_recall = {**PrecisionRecallCurve.from_scores(y, scores, positive=1).to_json(), "positive": labels[1]}
    score = measure(metric, y, answer, scores)
    interval = _interval(metric, counts, y, scores, seed)
    return {
        "rows": len(y),
        "metric": metric.name,
        "score": score,
        "interval": [min(interval[0], score), max(interval[1], score)],
        "interval_of": f"this model on rows like these, 95 % {metric.interval}",
        "majority_score": measure(metric, y, np.full(len(y), majority), np.zeros(len(y))),
        "classes": list(labels),
        "confusion": counts.tolist(),
        "per_class": confusion.per_class(),
        "roc": roc,
        "pr": precision_recall,
    }


def measure(metric: Metric, y: NDArray[np.int64], answer: NDArray[Any], scores: NDArray[np.float64] | None) -> float:
    """The score of given answers, by the function that the metric's scorer calls too."""
    if metric.name == "accuracy":
        return float(accuracy_score(y, answer))
    if metric.name == "balanced_accuracy":
        return float(recall_score(y, answer, labels=np.unique(y), average="macro", zero_division=0))
    if metric.name == "f1":
        return float(f1_score(y, answer, average="macro", zero_division=0))
    return float(roc_auc_score(y, scores))


def _interval(
    metric: Metric, counts: NDArray[np.int64], y: NDArray[np.int64], scores: NDArray[np.float64] | None, seed: int
) -> Interval:
    if metric.name == "accuracy":
        return wilson(int(counts.trace()), len(y))
    if metric.name == "balanced_accuracy":
        return balanced_accuracy_interval(counts)
    if metric.name == "f1":
        return macro_f1_interval(counts, seed=seed)
    outcome = delong_interval(y, np.asarray(scores), positive=1)
    return Interval(outcome.low, outcome.high)


def _scores_of_second_class(model: Any, X: NDArray[np.float64]) -> NDArray[np.float64] | None:
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))[:, 1]
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X))
    return None
