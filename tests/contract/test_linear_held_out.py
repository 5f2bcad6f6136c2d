"""Logistic regression and the perceptron in the held-out protocol. Guards traps 2, 7, 15 and 16."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, RepeatedKFold, ShuffleSplit

from tests.reference.refitting import check_like_refitting
from tests.reference.searches import both_searches
from tonari.base.held_out import Splits
from tonari.linear_model import LogisticRegression, PerceptronClassifier
from tonari.model_selection.splitting import draw_splits

ROWS = 48
CS = [1e-3, 0.1, 1.0, 30.0]
#: Shared and single solutions both have a gradient of at most tol / 100 and so lie that close together.
SHARED = {"responses": ("predict", "decision_function", "predict_proba"), "bound": 1e-6}
EXACT = {"responses": ("predict", "decision_function"), "bound": 1e-12}
FINE = {"tol": 1e-8}
PERCEPTRON = [
    {"max_epochs": [1, 2, 7], "keep": ["last", "best", "mean"]},
    {"order": ["random"], "max_epochs": [3], "random_state": [0, 1]},
]


def _table(classes: int = 3, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, 4))
    scores = X @ rng.normal(size=(4, classes)) + rng.gumbel(size=(ROWS, classes))
    return X, np.array(["a", "b", "c", "d"])[scores.argmax(axis=1)]


NOTHING = np.zeros((ROWS, 1))
SPLITS = {
    "folds": Splits.from_fold(np.arange(ROWS) % 5),
    "repeated": draw_splits(RepeatedKFold(n_splits=3, n_repeats=2, random_state=0), NOTHING, None, ROWS, {}),
    "ragged": draw_splits(
        ShuffleSplit(3, test_size=0.2, train_size=0.5, random_state=0), NOTHING, None, ROWS, {}
    ),
    "one row twice": Splits.from_pairs([(np.r_[np.arange(30), 3, 3], np.arange(30, 48))], ROWS),
}  # fmt: skip


@pytest.mark.parametrize("splits", SPLITS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("params", [{}, {"class_weight": "balanced"}, {"fit_intercept": False}], ids=repr)
def test_logistic_regression(splits: str, classes: int, params: Any) -> None:
    X, y = _table(classes)
    estimator = LogisticRegression(**FINE, **params)
    assert check_like_refitting(estimator, {"C": CS}, X, y, SPLITS[splits], **SHARED) == 0


@pytest.mark.parametrize("kind", ["float32", "sparse", "weights", "far", "leave-one-out", "little memory"])
def test_logistic_regression_on_other_tables(kind: str) -> None:
    X, y = _table()
    weight = np.random.default_rng(1).integers(0, 3, ROWS).astype(float) if kind == "weights" else None
    splits = Splits.leave_one_out(ROWS) if kind == "leave-one-out" else SPLITS["folds"]
    if kind == "float32":
        X = X.astype(np.float32)
    elif kind == "sparse":
        X = sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    elif kind == "far":
        X = X * [1e-2, 1.0, 1e2, 1.0] + 10
    grid = {"C": [0.1, 1.0]}
    with config_context(working_memory=0.01 if kind == "little memory" else 1024):
        check_like_refitting(LogisticRegression(**FINE), grid, X, y, splits, sample_weight=weight, **SHARED)


@pytest.mark.parametrize("name", ["logistic", "perceptron"])
def test_classes_that_a_training_part_lacks(name: str) -> None:
    """Trap 7: sorted labels in plain folds; one class left is an error on both sides."""
    X, y = _table()
    lonely = np.where(np.arange(ROWS) == 17, "d", y)
    estimator, grid, bound = (
        (LogisticRegression(**FINE), {"C": [0.1, 1.0]}, SHARED)
        if name == "logistic" else (PerceptronClassifier(), PERCEPTRON, EXACT)
    )  # fmt: skip
    assert check_like_refitting(estimator, grid, X, lonely, SPLITS["folds"], **bound) == 0
    pairs = Splits.from_fold(np.arange(ROWS) // 24)
    assert check_like_refitting(estimator, grid, X, np.sort(np.where(y == "c", "b", y)), pairs, **bound) >= 0
    halves = np.where(np.arange(ROWS) < 24, "a", "b")
    failures = check_like_refitting(estimator, grid, X, halves, pairs, **bound)
    assert failures == 2 * (2 if name == "logistic" else 11)


def test_without_penalty_the_answer_is_that_of_a_fit() -> None:
    X, y = _table(2)
    grid = {"penalty": [None], "tol": [1e-4]}
    assert check_like_refitting(LogisticRegression(), grid, X, y, SPLITS["folds"], **{**SHARED, "bound": 1e-9}) == 0
    X[:, 0] = np.where(y == "a", 1.0, -1.0) * (1 + np.abs(X[:, 0]))
    assert check_like_refitting(LogisticRegression(), grid, X, y, SPLITS["folds"], **{**SHARED, "bound": 1e-9}) == 0


def test_what_does_not_converge_says_so_in_the_shared_pass_too() -> None:
    X, y = _table()
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        list(
            LogisticRegression(max_iter=1, penalty=None).held_out(
                X, y, SPLITS["folds"], [{}], fit_params={}, responses=("predict",)
            )
        )


@pytest.mark.parametrize("splits", SPLITS)
@pytest.mark.parametrize("classes", [2, 3])
def test_perceptron(splits: str, classes: int) -> None:
    X, y = _table(classes)
    for start in (None, np.arange(5.0)):
        estimator = PerceptronClassifier(start=start)
        assert check_like_refitting(estimator, PERCEPTRON, X, y, SPLITS[splits], **EXACT) == 0


def test_perceptron_leaves_one_out_in_little_memory() -> None:
    X, y = _table()
    with config_context(working_memory=0.01):
        check_like_refitting(PerceptronClassifier(), PERCEPTRON, X, y, Splits.leave_one_out(ROWS), **EXACT)


@pytest.mark.parametrize("Estimator", [LogisticRegression, PerceptronClassifier])
def test_a_leak_would_be_seen(Estimator: Any) -> None:
    """Trap 15: the comparison must be able to fail."""

    class Leaky(Estimator):  # type: ignore[misc]
        def held_out(self, X: Any, y: Any, splits: Splits, *args: Any, **options: Any) -> Any:
            pairs = [(np.arange(ROWS), splits.test(i)) for i in range(len(splits))]
            for block in super().held_out(X, y, Splits.from_pairs(pairs, ROWS), *args, **options):
                yield replace(block)

    X, y = _table()
    with pytest.raises(AssertionError):
        check_like_refitting(Leaky(), [{}], X, y, SPLITS["folds"], **{**EXACT, "bound": 1e-6})


def test_what_cannot_be_shared_says_so() -> None:
    for estimator, candidate, fit_params, responses, word in (
        (LogisticRegression(), {"depth": 3}, {}, ("predict",), "depth"),
        (LogisticRegression(), {}, {"colour": 1}, ("predict",), "colour"),
        (PerceptronClassifier(), {}, {"sample_weight": 1}, ("predict",), "sample_weight"),
        (PerceptronClassifier(), {}, {}, ("predict_proba",), "predict_proba"),
    ):
        reason = estimator.refuses([candidate], SPLITS["folds"], fit_params, responses)
        assert reason is not None
        assert word in reason


@pytest.mark.parametrize("name", ["logistic", "perceptron"])
def test_search_agrees_with_scikit_learns_over_the_same_learner(name: str) -> None:
    estimator, grid = (
        (LogisticRegression(**FINE), {"C": CS}) if name == "logistic" else (PerceptronClassifier(), PERCEPTRON)
    )
    X, y = _table()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ours, _ = both_searches(estimator, grid, cv=KFold(4), scoring="accuracy", X=X, y=y, rtol=1e-9)
    assert ours.work_["fits_done"] == 1
