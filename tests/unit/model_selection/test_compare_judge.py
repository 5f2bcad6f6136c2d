"""The look at the test part: measures agree with scikit-learn's, intervals keep their promise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, get_scorer
from sklearn.svm import LinearSVC

from tonari.model_selection.judge import METRICS, judge, measure


def problem(classes: int, rows: int = 150, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    random = np.random.default_rng(seed)
    y = random.integers(0, classes, rows)
    return random.normal(size=(rows, 3)) + y[:, None] * 0.7, y


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("classes", [2, 4])
def test_measures_are_those_of_the_scorers(name: str, classes: int) -> None:
    """Trap: the table and the verdict speak of different numbers."""
    if name == "roc_auc" and classes > 2:
        return
    X, y = problem(classes)
    model = LogisticRegression().fit(X[:100], y[:100])
    verdict = judge(model, X[100:], y[100:], [f"c{i}" for i in range(classes)], METRICS[name], 0, 0)
    assert verdict["score"] == pytest.approx(get_scorer(METRICS[name].scorer)(model, X[100:], y[100:]), abs=1e-12)
    low, high = verdict["interval"]
    assert low < verdict["score"] < high
    assert np.array(verdict["confusion"]).sum() == verdict["rows"] == 50
    assert [row["label"] for row in verdict["per_class"]] == verdict["classes"]


def test_balanced_accuracy_counts_the_classes_that_occur() -> None:
    y = np.array([0, 0, 1, 1])
    answer = np.array([0, 2, 1, 1])
    assert measure(METRICS["balanced_accuracy"], y, answer, None) == 0.75
    with pytest.warns(UserWarning, match="y_pred contains classes"):
        assert balanced_accuracy_score(y, answer) == 0.75


def test_curves_are_of_the_second_class() -> None:
    X, y = problem(2)
    model = LogisticRegression().fit(X, y)
    verdict = judge(model, X, y, ["no", "yes"], METRICS["roc_auc"], 0, 0)
    assert verdict["roc"]["positive"] == verdict["pr"]["positive"] == "yes"
    assert verdict["roc"]["auc"] == pytest.approx(verdict["score"])
    assert verdict["roc"]["auc"] > 0.5
    assert verdict["majority_score"] == 0.5


def test_a_classifier_without_probabilities_has_curves_too() -> None:
    X, y = problem(2)
    verdict = judge(LinearSVC().fit(X, y), X, y, ["no", "yes"], METRICS["accuracy"], 0, 0)
    assert verdict["roc"]["auc"] > 0.5


def test_three_classes_have_no_curve() -> None:
    X, y = problem(3)
    verdict = judge(LogisticRegression().fit(X, y), X, y, list("abc"), METRICS["accuracy"], 0, 0)
    assert verdict["roc"] is None
    assert verdict["pr"] is None


class Right:
    """Answers the one column, which is the truth."""

    def predict(self, X: NDArray[Any]) -> NDArray[np.int64]:
        return X[:, 0].astype(np.int64)

    def predict_proba(self, X: NDArray[Any]) -> NDArray[np.float64]:
        return np.column_stack([1 - X[:, 0], X[:, 0]])


@pytest.mark.parametrize("name", METRICS)
def test_no_mistake_is_not_certainty(name: str) -> None:
    """Trap: the bootstrap of a perfect score is [1, 1]."""
    y = np.array([0] * 20 + [1] * 10)
    verdict = judge(Right(), y[:, None].astype(float), y, ["a", "b"], METRICS[name], 0, 0)
    low, high = verdict["interval"]
    assert verdict["score"] == high == 1.0
    assert 0.5 < low < 0.97
