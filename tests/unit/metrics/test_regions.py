"""Decision regions: every classifier, undecided areas, and 1-NN boundaries that lie on the Voronoi diagram."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from tonari.metrics import DecisionRegionDisplay
from tonari.neighbors import KNeighborsClassifier

mpl.use("Agg")


@pytest.mark.parametrize(
    "estimator", [KNeighborsClassifier(3), LogisticRegression(max_iter=5000), DecisionTreeClassifier()]
)
def test_any_classifier_on_two_columns_or_components(estimator: Any) -> None:
    X, y = load_wine(return_X_y=True)
    model = estimator.fit(X, y)
    display = DecisionRegionDisplay.from_estimator(model, X, y, resolution=30).plot()
    assert display.codes.shape == (30, 30)
    assert display.names[0] == "first principal component"
    centred = X - X.mean(axis=0)
    values = np.linalg.svd(centred, compute_uv=False)
    np.testing.assert_allclose((display.points**2).sum(axis=0), values[:2] ** 2, rtol=1e-9)
    two = DecisionRegionDisplay.from_estimator(model, X, y, columns=(0, 12), resolution=20)
    probe = X.mean(axis=0)
    probe[0], probe[12] = two.xs[3], two.ys[17]
    assert two.classes[two.codes[17, 3]] == model.predict([probe])[0]
    np.testing.assert_array_equal(two.points, X[:, [0, 12]])


def test_undecided_areas_are_white() -> None:
    X, y = np.array([[-1.0, 0.0], [1.0, 0.0]]), np.array(["left", "right"])
    model = KNeighborsClassifier(2, ties="undecided").fit(X, y)
    display = DecisionRegionDisplay.from_estimator(model, X, y, resolution=9).plot()
    assert (display.codes == -1).all()
    np.testing.assert_array_equal(display.image_.get_array(), np.ones((9, 9, 3)))
    near = KNeighborsClassifier(1, max_distance=0.5).fit(X, y)
    assert set(DecisionRegionDisplay.from_estimator(near, X, y, resolution=41).codes.ravel().tolist()) == {-1, 0, 1}


def test_boundaries_of_1_nn_lie_on_the_voronoi_diagram() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(25, 2)), np.arange(25) % 2
    model = KNeighborsClassifier(1).fit(X, y)
    display = DecisionRegionDisplay.from_estimator(model, X, y, resolution=300, voronoi=True).plot()
    segments = np.array(display.edges_.get_segments())
    changes = np.argwhere(display.codes[:, 1:] != display.codes[:, :-1])
    assert len(changes) > 100
    step = display.xs[1] - display.xs[0]
    for row, column in changes[::7]:
        point = np.array([display.xs[column] + step / 2, display.ys[row]])
        start, along = segments[:, 0], segments[:, 1] - segments[:, 0]
        where = np.clip(((point - start) * along).sum(axis=1) / (along**2).sum(axis=1), 0, 1)
        away = np.linalg.norm(point - start - where[:, np.newaxis] * along, axis=1).min()
        assert away <= step


def test_what_cannot_be_drawn() -> None:
    X, y = load_iris(return_X_y=True)
    model = KNeighborsClassifier().fit(X, y)
    with pytest.raises(ValueError, match="two columns"):
        DecisionRegionDisplay.from_estimator(model, X, y, voronoi=True)
    with pytest.raises(ValueError, match="at least two columns"):
        DecisionRegionDisplay.from_estimator(model, X[:, :1], y)
