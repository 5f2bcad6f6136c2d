"""Which scorers are recognised; one that is not quite what it looks like must be called instead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn.metrics
from sklearn.cluster import KMeans
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import get_scorer, make_scorer

from tonari.metrics.scorers import Target, batch_measure, default_measure

THREE = Target.of(DummyClassifier(), ["a", "b", "c", "a"])
TWO = Target.of(DummyClassifier(), [0, 1, 1, 0])
NUMBERS = Target.of(DummyRegressor(), [0.5, 1, 2, 3])


def test_targets() -> None:
    np.testing.assert_array_equal(THREE.classes[THREE.codes], ["a", "b", "c", "a"])
    assert NUMBERS.values.tolist() == [0.5, 1, 2, 3]
    assert default_measure(THREE).kind == "labels"  # type: ignore[union-attr]
    assert default_measure(NUMBERS).errors == "r2"  # type: ignore[union-attr]
    for estimator, y in (
        (DummyClassifier(), [[0, 1], [1, 0]]),
        (DummyClassifier(), [0.5, 1.25]),
        (DummyRegressor(), [1.0, np.nan]),
        (DummyRegressor(), [[1.0], [2.0]]),
        (KMeans(), [1, 2]),
    ):
        target = Target.of(estimator, y)
        assert target.kind == "other"
        assert default_measure(target) is None


@pytest.mark.parametrize(
    "name",
    [
        "accuracy", "balanced_accuracy", "matthews_corrcoef", "neg_log_loss",
        *(f"{kind}_{average}" for kind in ("f1", "precision", "recall", "jaccard")
          for average in ("macro", "micro", "weighted")),
    ],
)  # fmt: skip
def test_scorers_of_labels(name: str) -> None:
    measure = batch_measure(get_scorer(name), THREE)
    assert measure is not None
    assert measure.sign == (-1 if name.startswith("neg") else 1)


@pytest.mark.parametrize(
    "name", ["f1", "precision", "recall", "jaccard", "roc_auc", "average_precision", "neg_brier_score"]
)
def test_scorers_of_two_classes(name: str) -> None:
    assert batch_measure(get_scorer(name), TWO) is not None
    # Three classes, or texts that hold no class 1: scikit-learn refuses most of these, and must be the one to do so.
    assert batch_measure(get_scorer(name), THREE) is None
    if name != "roc_auc":
        assert batch_measure(get_scorer(name), Target.of(DummyClassifier(), ["a", "b"])) is None


@pytest.mark.parametrize(
    "name",
    [
        "r2", "explained_variance", "neg_mean_squared_error", "neg_root_mean_squared_error",
        "neg_mean_absolute_error", "neg_max_error",
    ],
)  # fmt: skip
def test_scorers_of_values(name: str) -> None:
    assert batch_measure(get_scorer(name), NUMBERS) is not None
    assert batch_measure(get_scorer(name), TWO) is None


class _Another(type(get_scorer("accuracy"))):  # type: ignore[misc]
    """A scorer of somebody else's making."""


@pytest.mark.parametrize(
    "scorer",
    [
        make_scorer(sklearn.metrics.accuracy_score, normalize=False),
        make_scorer(sklearn.metrics.balanced_accuracy_score, adjusted=True),
        make_scorer(sklearn.metrics.accuracy_score, response_method="decision_function"),
        make_scorer(sklearn.metrics.f1_score, average="macro", labels=["a", "b"]),
        make_scorer(sklearn.metrics.f1_score, average="macro", zero_division=np.nan),
        make_scorer(sklearn.metrics.f1_score, average="macro", pos_label="a"),
        make_scorer(sklearn.metrics.f1_score, average="samples"),
        make_scorer(sklearn.metrics.fbeta_score, average="macro", beta=np.inf),
        make_scorer(sklearn.metrics.log_loss, response_method="predict_proba", labels=["a", "b"]),
        make_scorer(sklearn.metrics.cohen_kappa_score),
        make_scorer(lambda y, answer: 1.0),
        get_scorer("roc_auc_ovr"),
        get_scorer("top_k_accuracy"),
        _Another(sklearn.metrics.accuracy_score, 1, {}, "predict"),
        lambda estimator, X, y: 1.0,
        sklearn.metrics.accuracy_score,
    ],
)
def test_what_is_not_quite_known_is_called(scorer: Any) -> None:
    assert batch_measure(scorer, THREE) is None
