"""neighbor_curve against one fit per candidate and split, and leave-one-out scaling against the plain definition."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
import sklearn.neighbors
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn import config_context
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneOut, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from tonari.neighbors import NearestNeighbors, neighbor_curve
from tonari.neighbors.left_out_scale import left_out_neighbours, scale_of, scales_without
from tonari.neighbors.metrics import resolve_metric

mpl.use("Agg")
SCALERS = {"standard": StandardScaler, "minmax": MinMaxScaler}


@pytest.mark.parametrize("scaling", ["none", "standard", "minmax"])
def test_the_same_scores_as_a_grid_search(scaling: str) -> None:
    X, y = load_wine(return_X_y=True)
    cv = KFold(4, shuffle=True, random_state=0)
    curve = neighbor_curve(X, y, k=[1, 3, 8], cv=cv, scalings=(scaling,), metrics=("euclidean", "manhattan"))
    grid = {"knn__weights": ["uniform", "distance"], "knn__metric": ["euclidean", "manhattan"]}
    steps = [] if scaling == "none" else [("scale", SCALERS[scaling]())]
    pipeline = sklearn.pipeline.Pipeline([*steps, ("knn", sklearn.neighbors.KNeighborsClassifier())])
    search = GridSearchCV(pipeline, {**grid, "knn__n_neighbors": [1, 3, 8]}, cv=cv).fit(X, y)
    for params, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        metric, weights = grid["knn__metric"].index(params["knn__metric"]), params["knn__weights"] == "distance"
        found = curve.errors[0, metric, int(weights), [1, 3, 8].index(params["knn__n_neighbors"])]
        assert 1 - found == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize("scaling", ["standard", "minmax"])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_leave_one_out_learns_its_scale_without_the_row(scaling: str, metric: str) -> None:
    """Trap 15: one search, and yet the errors of n pipelines that never saw the left-out row."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 4)) * [1, 10, 0.1, 1000]
    X[7, 1], X[11, 2] = 900.0, -40.0  # rows whose absence changes a scale by far
    y = (X[:, 0] + X[:, 1] / 10 + rng.normal(size=60) > 0).astype(int)
    curve = neighbor_curve(X, y, k=9, scalings=(scaling,), metrics=(metric,))
    for k in (1, 4, 9):
        learner = sklearn.neighbors.KNeighborsClassifier(k, metric=metric)
        answers = cross_val_predict(make_pipeline(SCALERS[scaling](), learner), X, y, cv=LeaveOneOut())
        assert curve.errors[0, 0, 0, k - 1] == pytest.approx(np.mean(answers != y), abs=1e-12)
    exact = left_out_neighbours(X, resolve_metric(metric, 2, None), scaling, 9, 1).rows.reshape(-1, 9)
    leaking = NearestNeighbors(n_neighbors=9, metric=metric).fit(X / scale_of(X, scaling)).kneighbors()[1]
    assert (exact != leaking).any(), "the example must tell a leak from none"


def _plain(X: NDArray[Any], scaling: str, p: float, k: int) -> NDArray[np.int64]:
    """The definition: for each row, scales of the others, all distances, sorted."""
    found = np.empty((len(X), k), dtype=np.int64)
    for i in range(len(X)):
        scale = scale_of(np.delete(X, i, axis=0), scaling)
        distances = cdist(X[[i]] / scale, X / scale, "minkowski", p=p)[0]
        distances[i] = np.inf
        found[i] = np.argsort(distances, kind="stable")[:k]
    return found


@pytest.mark.parametrize("scaling", ["standard", "minmax"])
@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
@pytest.mark.parametrize("k", [1, 5, 40])
def test_neighbours_under_the_left_out_scale(scaling: str, p: float, k: int) -> None:
    rng = np.random.default_rng(int(k * p))
    X = rng.standard_t(2, size=(150, 5)) * [1, 1e-6, 1e6, 1, 3] + [0, 0, 1e9, 5, 0]
    X[:, 3] = 5.0
    X[9, 3] = 6.0  # a constant column as soon as row 9 is away
    for memory in (1024, 0.05):
        with config_context(working_memory=memory):
            lists = left_out_neighbours(X, resolve_metric("minkowski", p, None), scaling, k, 2)
        np.testing.assert_array_equal(lists.rows.reshape(-1, k), _plain(X, scaling, p, k))


def test_scales_without_a_row_do_not_cancel() -> None:
    """A column whose whole spread is one row: what is left must come from the rows, not from a difference of sums."""
    X = np.c_[np.r_[1e12, np.linspace(0, 1, 30)], np.r_[5.0, np.full(30, 0.1)]]
    for scaling in SCALERS:
        expected = [scale_of(np.delete(X, i, axis=0), scaling) for i in range(len(X))]
        np.testing.assert_allclose(scales_without(X, scaling), expected, rtol=1e-9)


def test_regression_validation_and_the_standard_error() -> None:
    X = load_iris().data + np.random.default_rng(0).normal(scale=1e-3, size=(150, 4))  # no ties
    target = X[:, 3] + 0.01 * np.arange(150)
    curve = neighbor_curve(X[:100, :3], target[:100], k=5, validation=(X[100:, :3], target[100:]))
    model = sklearn.neighbors.KNeighborsRegressor(4).fit(X[:100, :3], target[:100])
    losses = (model.predict(X[100:, :3]) - target[100:]) ** 2
    assert curve.errors[0, 0, 0, 3] == pytest.approx(losses.mean(), rel=1e-12)
    assert curve.standard_errors[0, 0, 0, 3] == pytest.approx(losses.std(ddof=1) / np.sqrt(50), rel=1e-9)
    assert curve.measured == "validation set"
    scaled = neighbor_curve(X[:, :3], target, k=5, scalings=("standard",))
    learner = make_pipeline(StandardScaler(), sklearn.neighbors.KNeighborsRegressor(1))
    far = np.mean((cross_val_predict(learner, X[:, :3], target, cv=LeaveOneOut()) - target) ** 2)
    assert scaled.errors[0, 0, 0, 0] == pytest.approx(far, rel=1e-9)


def test_choice_and_picture() -> None:
    X, y = load_wine(return_X_y=True)
    curve = neighbor_curve(X, y, k=40, scalings=("none", "standard"), weights=("uniform", "gaussian"))
    best, smooth = curve.best, curve.smoothest
    assert best["error"] == curve.errors.min()
    assert smooth["n_neighbors"] >= best["n_neighbors"]
    assert smooth["error"] <= best["error"] + best["standard_error"]
    display = curve.plot()
    assert [series["name"] for series in display.series][:2] == ["none scaling, uniform", "none scaling, gaussian"]
    assert len(display.lines_) == 4


def test_what_cannot_be_asked() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="metric of differences"):
        neighbor_curve(X, y, metrics=("cosine",), scalings=("standard",))
    with pytest.raises(ValueError, match="between 1 and 149"):
        neighbor_curve(X, y, k=[1, 150])
    with pytest.raises(ValueError, match="'scalings'"):
        neighbor_curve(X, y, scalings=("robust",))
    with pytest.raises(ValueError, match="one column"):
        neighbor_curve(X, np.c_[y, y])
    assert neighbor_curve(X[:20], y[:20], k=50).k[-1] == 19
