"""Learned distances: the objective and its gradient, scikit-learn's optimum, noise and hostile columns, pipelines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn
from numpy.typing import NDArray
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV as PlainGridSearchCV
from sklearn.neighbors import NeighborhoodComponentsAnalysis as Referee
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.random_projection import GaussianRandomProjection

from tonari.base.errors import DataError, UsageError
from tonari.model_selection import GridSearchCV
from tonari.neighbors import (
    DiscriminantMetric,
    KNeighborsClassifier,
    NearestNeighbors,
    NeighborhoodComponentsAnalysis,
    neighborhood_components,
)
from tonari.neighbors.neighborhood_components import Objective
from tonari.store import open_model, save_model

LEARNERS = [NeighborhoodComponentsAnalysis, DiscriminantMetric]


def _by_definition(X: NDArray[Any], y: NDArray[Any], components: NDArray[Any]) -> float:
    """Row by row, as the paper writes it."""
    total = 0.0
    for i in range(len(X)):
        squared = (((X - X[i]) @ components.T) ** 2).sum(axis=1)
        others = np.arange(len(X)) != i
        weights = np.exp(squared[others].min() - squared[others])
        total += weights[(y == y[i])[others]].sum() / weights.sum()
    return total


def _blobs(seed: int, rows: int = 60, columns: int = 4) -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, rows)
    return rng.normal(size=(rows, columns)) + y[:, None] * rng.normal(size=columns), y


def _objective(X: NDArray[Any], y: NDArray[Any]) -> Objective:
    return Objective(X - X.mean(axis=0), y.astype(np.int32))


def _left_out_error(X: NDArray[Any], y: NDArray[Any]) -> float:
    found = NearestNeighbors(n_neighbors=1).fit(X).kneighbors(return_distance=False)[:, 0]
    return float((y[found] != y).mean())


@pytest.mark.parametrize("tile", [1, 130, 2**21])
@pytest.mark.parametrize("scale", [0.5, 1e5])
def test_the_objective_is_the_papers(tile: int, scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any tiling, distances by either way, and trap 1: rows far from the origin."""
    monkeypatch.setattr(neighborhood_components, "TILE", tile)
    X, y = _blobs(0)
    components = np.random.default_rng(1).normal(size=(3, 4)) / scale
    value, _ = _objective(X * scale + 1e6, y)(components)
    assert value == pytest.approx(_by_definition(X * scale, y, components), rel=1e-8)
    if scale == 0.5:
        wide, gradient = _objective(X * 1e4, y)(components)
        assert wide == pytest.approx(_by_definition(X * 1e4, y, components), rel=1e-8)
        assert np.isfinite(gradient).all()


def test_the_gradient_is_that_of_the_objective(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighborhood_components, "TILE", 300)
    X, y = _blobs(2)
    objective = _objective(X, y)
    components = np.random.default_rng(3).normal(size=(2, 4))
    _, gradient = objective(components)
    for place in np.ndindex(components.shape):
        step = np.zeros_like(components)
        step[place] = 1e-5
        slope = (objective(components + step)[0] - objective(components - step)[0]) / 2e-5
        assert gradient[place] == pytest.approx(slope, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("init", ["auto", "pca", "lda", "identity", "random", "array"])
@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_no_worse_than_scikit_learn_from_the_same_start(init: str, load: Any) -> None:
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    start: Any = np.random.default_rng(0).normal(size=(2, X.shape[1])) if init == "array" else init
    ours = NeighborhoodComponentsAnalysis(2, init=start, random_state=0).fit(X, y)
    theirs = Referee(2, init=start, random_state=0).fit(X, y)
    assert ours.components_.shape == theirs.components_.shape
    reached = _by_definition(X, y, theirs.components_)
    # The search is not convex: rounding alone moves where either ends by some tenths of a row.
    assert _by_definition(X, y, ours.components_) > reached - 0.005 * len(X)
    begins = NeighborhoodComponentsAnalysis(2, init=start, random_state=0, max_iter=1).fit(X, y)
    plain = Referee(2, init=start, random_state=0, max_iter=1).fit(X, y)
    np.testing.assert_allclose(begins.components_, plain.components_, rtol=1e-6, atol=1e-8)
    assert begins.n_iter_ == plain.n_iter_ == 2


def test_parameters_of_the_search(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = load_iris(return_X_y=True)
    seen: list[int] = []
    model = NeighborhoodComponentsAnalysis(
        max_iter=3, warm_start=True, callback=lambda flat, step: seen.append(step), verbose=1
    )
    with pytest.warns(sklearn.exceptions.ConvergenceWarning, match="max_iter"):
        first = model.fit(X, y).components_
    assert seen == [1, 2, 3]
    assert "step 1" in capsys.readouterr().out
    model.set_params(verbose=0).fit(X, y)
    assert _by_definition(X, y, model.components_) > _by_definition(X, y, first)
    with pytest.raises(UsageError, match="warm_start"):
        model.fit(X[:, :2], y)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_components": 9}, "more than the table has columns"),
        ({"init": "svd"}, "'lda'"),
        ({"init": np.ones((2, 3))}, "shape"),
        ({"init": np.full((2, 4), np.nan)}, "NaN"),
        ({"init": np.ones((2, 4)), "n_components": 3}, "Leave one out"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1.0}, "tol"),
        ({"callback": 3}, "callable"),
    ],
)
def test_what_cannot_be_done_is_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        NeighborhoodComponentsAnalysis(**params).fit(*load_iris(return_X_y=True))


@pytest.mark.parametrize("Learner", LEARNERS)
def test_noise_columns_lose_their_say(Learner: Any) -> None:
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 300)
    X = np.hstack([rng.normal(size=(300, 2)) + 3 * y[:, None], 2 * rng.normal(size=(300, 30))])
    fresh = rng.integers(0, 2, 300)
    other = np.hstack([rng.normal(size=(300, 2)) + 3 * fresh[:, None], 2 * rng.normal(size=(300, 30))])
    model = Learner(n_components=2).fit(X, y)
    assert _left_out_error(X, y) > 0.2
    assert _left_out_error(model.transform(X), y) < 0.1
    assert _left_out_error(model.transform(other), fresh) < 0.1


@pytest.mark.parametrize("Learner", LEARNERS)
@pytest.mark.parametrize("far", [0.0, 1e8])
def test_hostile_columns_are_no_trouble(Learner: Any, far: float) -> None:
    """Constant columns, copies, sums of others, and all of it far from the origin."""
    X, y = load_iris(return_X_y=True)
    X = np.hstack([X, np.full((150, 2), 7.0), X[:, :2], X.sum(axis=1, keepdims=True)]) + far
    model = Learner().fit(X, y)
    assert np.isfinite(model.components_).all()
    assert _left_out_error(model.transform(X - far), y) < 0.08
    assert Learner().fit(np.ones((6, 3)), [0, 0, 0, 1, 1, 1]).transform(np.ones((2, 3))).shape == (2, 3)
    assert np.isfinite(Learner(n_components=2).fit(X, np.zeros(150)).components_).all()
    with pytest.raises(DataError, match="Column 1 spreads"):
        Learner().fit([[0.0, -1e200], [1.0, 1e200], [2.0, 0.0]], [0, 1, 1])


@pytest.mark.parametrize("Learner", LEARNERS)
def test_more_columns_than_rows(Learner: Any) -> None:
    rng = np.random.default_rng(5)
    y = np.arange(20) % 2
    X = rng.normal(size=(20, 50)) + y[:, None]
    assert Learner(n_components=3).fit(X, y).transform(X).shape == (20, 3)


@pytest.mark.parametrize("Learner", LEARNERS)
@pytest.mark.parametrize("steps", [2, 1])
def test_a_row_is_mapped_alike_in_any_batch(Learner: Any, steps: int) -> None:
    """Trap 2."""
    X, y = _blobs(6, columns=7)
    model = Learner(n_components=3).fit(X, y)
    whole = model.transform(X)
    np.testing.assert_array_equal(np.vstack([model.transform(X[i : i + steps]) for i in range(0, 60, steps)]), whole)
    np.testing.assert_allclose(whole, X @ model.components_.T, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "step",
    [
        NeighborhoodComponentsAnalysis(2, max_iter=5),
        DiscriminantMetric(2),
        PCA(2, random_state=0),
        GaussianRandomProjection(2, random_state=0),
    ],
    ids=lambda step: type(step).__name__,
)
def test_fitted_inside_the_fold(step: Any) -> None:
    """The scores are those of refitting the whole pipeline in every fold."""
    X, y = load_wine(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), step, KNeighborsClassifier())
    name = type(step).__name__.lower()
    grid = {f"{name}__n_components": [1, 2], "kneighborsclassifier__n_neighbors": [1, 5]}
    ours = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    plain = PlainGridSearchCV(pipeline, grid, cv=3).fit(X, y)
    np.testing.assert_array_equal(ours.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"])
    assert ours.best_params_ == plain.best_params_


def test_labels_that_say_nothing_do_not_leak_through_folds() -> None:
    """Trap 15: fitted on all rows, a map of many columns would separate labels that were drawn at random."""
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(120, 60)), rng.integers(0, 2, 120)
    leaking = DiscriminantMetric(1).fit(X, y).transform(X)
    honest = GridSearchCV(make_pipeline(DiscriminantMetric(1), KNeighborsClassifier()), {}, cv=5).fit(X, y)
    assert 1 - _left_out_error(leaking, y) > 0.75
    assert honest.best_score_ < 0.65


@pytest.mark.parametrize("Learner", LEARNERS)
def test_model_files(Learner: Any, tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    model = Learner(n_components=2).fit(X, y)
    save_model(tmp_path / "map", model)
    again = open_model(tmp_path / "map")
    assert type(again) is Learner
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    assert again.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()
