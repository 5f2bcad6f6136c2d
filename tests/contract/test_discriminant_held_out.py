"""Normal densities in the held-out protocol: the answers of refitting, to 1e-9. Guards traps 1, 7, 15 and 16."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn import config_context
from sklearn.model_selection import KFold, RepeatedKFold, ShuffleSplit, StratifiedKFold

from tests.reference.refitting import check_like_refitting
from tests.reference.searches import both_searches
from tonari.base.held_out import Splits
from tonari.discriminant_analysis import (
    GaussianClassifier,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from tonari.discriminant_analysis import held_out as driver
from tonari.model_selection.splitting import draw_splits

ROWS = 42
EVERYTHING = ("predict", "decision_function", "predict_proba")
SHRINKAGES = [0.0, 1e-3, 0.3, 1.0]
LEARNERS: dict[str, tuple[Any, Any]] = {
    "Gaussian": (
        GaussianClassifier(),
        {"covariance": ["full", "shared", "diagonal", "isotropic"], "shrinkage": SHRINKAGES},
    ),
    "Gaussian, priors": (GaussianClassifier(priors=[0.5, 0.2, 0.3]), {"shrinkage": [0.0, 0.2]}),
    "QDA": (
        QuadraticDiscriminantAnalysis(tol=1e-12),
        [{"reg_param": SHRINKAGES}, {"solver": ["eigen"], "shrinkage": [None, 0.0, 0.4]}],
    ),
    "LDA": (
        LinearDiscriminantAnalysis(),
        [{"solver": ["svd"]}, {"solver": ["lsqr", "eigen"], "shrinkage": [None, 0.2, 1.0]}],
    ),
}


def _table(kind: str, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, ROWS)
    X = rng.normal(size=(ROWS, 4)) @ rng.normal(size=(4, 4)) + rng.normal(size=(3, 4))[y]
    if kind == "far":
        X += 1e6
    elif kind == "units":
        X *= [1e-8, 1.0, 1e5, 1e9]
    elif kind == "nearly singular":
        X[:, 3] = X[:, 0] + 1e-7 * X[:, 3]
    elif kind == "collinear":
        X[:, 3] = X[:, 0] + X[:, 1]
    elif kind == "constant":
        X[:, 2] = 7.5
    elif kind == "constant in a class":
        X[y == 1, 2] = 7.5
    elif kind == "one row spans":
        X[:, 3] = 0.0
        X[17, 3] = 1.0
    elif kind == "float32":
        X = X.astype(np.float32)
    return X, np.array(["a", "b", "c"])[y]


SPLITS = {
    "folds": Splits.from_fold(np.arange(ROWS) % 5),
    "stratified": draw_splits(
        StratifiedKFold(4, shuffle=True, random_state=0), np.zeros((ROWS, 1)), np.arange(ROWS) % 3, ROWS, {}
    ),
    "repeated": draw_splits(
        RepeatedKFold(n_splits=3, n_repeats=2, random_state=0), np.zeros((ROWS, 1)), None, ROWS, {}
    ),
    "ragged": draw_splits(
        ShuffleSplit(3, test_size=0.2, train_size=0.5, random_state=0), np.zeros((ROWS, 1)), None, ROWS, {}
    ),
    "leave-one-out": Splits.leave_one_out(ROWS),
}
KINDS = (
    "plain",
    "far",
    "units",
    "nearly singular",
    "collinear",
    "constant",
    "constant in a class",
    "one row spans",
    "float32",
)


@pytest.mark.parametrize("splits", SPLITS)
@pytest.mark.parametrize("name", LEARNERS)
def test_the_same_as_refitting(name: str, splits: str) -> None:
    estimator, grid = LEARNERS[name]
    X, y = _table("plain")
    failures = check_like_refitting(estimator, grid, X, y, SPLITS[splits], responses=EVERYTHING)
    # Half of the rows leave scikit-learn's classes too few of a class; they say so.
    assert failures == 0 or (name == "QDA" and splits == "ragged")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("splits", ["folds", "leave-one-out"])
@pytest.mark.parametrize("name", ["Gaussian", "QDA", "LDA"])
def test_the_same_on_hostile_columns(name: str, splits: str, kind: str) -> None:
    estimator, grid = LEARNERS[name]
    X, y = _table(kind)
    failures = check_like_refitting(estimator, grid, X, y, SPLITS[splits], responses=EVERYTHING)
    assert failures == 0 or name != "Gaussian"


@pytest.mark.parametrize("name", ["Gaussian", "LDA"])
def test_sample_weights(name: str) -> None:
    estimator, grid = LEARNERS[name]
    X, y = _table("plain")
    weight = np.random.default_rng(1).integers(0, 4, ROWS) * 0.5
    for splits in ("folds", "leave-one-out", "ragged"):
        check_like_refitting(estimator, grid, X, y, SPLITS[splits], responses=EVERYTHING, sample_weight=weight)


@pytest.mark.parametrize("name", LEARNERS)
def test_classes_that_a_training_part_lacks(name: str) -> None:
    """Trap 7: a class of one row, and sorted labels in plain folds; two classes are left of three."""
    estimator, grid = LEARNERS[name]
    X, y = _table("plain")
    lonely = np.where(np.arange(ROWS) == 17, "c", np.where(y == "c", "a", y))
    for labels in (np.sort(y), lonely):
        for splits in (SPLITS["folds"], Splits.from_fold(np.arange(ROWS) // 14), SPLITS["leave-one-out"]):
            check_like_refitting(estimator, grid, X, labels, splits, responses=EVERYTHING)


@pytest.mark.parametrize("name", ["Gaussian", "QDA", "LDA"])
@pytest.mark.parametrize("responses", [("predict",), ("predict_proba",), ("decision_function",)])
def test_one_answer_alone_and_little_memory(name: str, responses: tuple[str, ...]) -> None:
    estimator, grid = LEARNERS[name]
    X, y = _table("plain")
    with config_context(working_memory=0.002):
        for splits in ("folds", "leave-one-out"):
            check_like_refitting(estimator, grid, X, y, SPLITS[splits], responses=responses)


def test_downdates_are_used_and_refits_only_where_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The promise could be kept by refitting everything; the row that alone spans a direction must be refitted."""
    asked: list[int] = []
    plain = driver.without
    monkeypatch.setattr(driver, "without", lambda table, whole, row: asked.append(row) or plain(table, whole, row))
    splits = SPLITS["leave-one-out"]
    for kind, expected in (("plain", set()), ("far", set()), ("float32", set())):
        X, y = _table(kind)
        check_like_refitting(GaussianClassifier(), {"shrinkage": [0.0, 0.1]}, X, y, splits, responses=EVERYTHING)
        assert set(asked) == expected, kind
    X, y = _table("plain")
    X[:, 3] *= 1e-3
    X[17, 3] = 1e5
    check_like_refitting(GaussianClassifier(), {"shrinkage": [0.0]}, X, y, splits, responses=EVERYTHING)
    assert 17 in asked


def test_a_leak_would_be_seen() -> None:
    """Trap 15: the comparison must be able to fail."""

    class Leaky(GaussianClassifier):
        def held_out(self, X: Any, y: Any, splits: Splits, *args: Any, **options: Any) -> Any:
            assert splits.fold is not None
            wrong = replace(splits, fold=(splits.fold + 1) % len(splits))
            yield from super().held_out(X, y, wrong, *args, **options)

    X, y = _table("plain")
    with pytest.raises(AssertionError):
        check_like_refitting(
            Leaky(), {"shrinkage": [0.0, 0.1]}, X, y, SPLITS["folds"], responses=("decision_function",)
        )


def test_what_cannot_be_shared_says_so() -> None:
    splits = SPLITS["folds"]
    for estimator, candidate, fit_params, word in (
        (QuadraticDiscriminantAnalysis(solver="eigen"), {"shrinkage": "auto"}, {}, "auto"),
        (LinearDiscriminantAnalysis(solver="lsqr"), {"shrinkage": "auto"}, {}, "auto"),
        (GaussianClassifier(), {"depth": 3}, {}, "depth"),
        (GaussianClassifier(), {}, {"colour": 1}, "colour"),
    ):
        reason = estimator.refuses([candidate], splits, fit_params, ("predict",))
        assert reason is not None
        assert word in reason


@pytest.mark.parametrize("name", ["Gaussian", "QDA", "LDA"])
def test_search_agrees_with_scikit_learns_over_the_same_learner(name: str) -> None:
    estimator, grid = LEARNERS[name]
    X, y = _table("plain")
    ours, _ = both_searches(
        estimator, grid, cv=KFold(5, shuffle=True, random_state=0), scoring="accuracy", refit=False, X=X, y=y, rtol=1e-9
    )
    assert ours.work_["fits_done"] == 1
