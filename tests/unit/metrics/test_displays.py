"""Displays draw what the results hold, in the manner of scikit-learn's."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tonari.base.errors import UsageError
from tonari.metrics import NeighborCurveDisplay, corrected_standard_error

matplotlib = pytest.importorskip("matplotlib", reason="the extra `plot` is not installed")
matplotlib.use("Agg")

CURVE = {
    "title": "Error against k", "x_label": "k", "y_label": "error, 10-fold",
    "series": [{"name": "euclidean", "x": [1, 3, 5], "y": [0.2, 0.1, 0.15], "se": [0.02, 0.02, 0.03]},
               {"name": "cosine", "x": [1, 3, 5], "y": [0.3, 0.2, 0.25]}],
    "marked": {"x": 3, "y": 0.1},
}  # fmt: skip


@pytest.fixture(scope="module")
def search() -> GridSearchCV:
    grid = {"kneighborsclassifier__n_neighbors": [9, 1, 5], "kneighborsclassifier__weights": ["uniform", "distance"]}
    X, y = load_iris(return_X_y=True)
    return GridSearchCV(make_pipeline(StandardScaler(), KNeighborsClassifier()), grid, cv=4).fit(X, y)


def test_from_cv_results(search: GridSearchCV) -> None:
    name = "kneighborsclassifier__n_neighbors"
    display = NeighborCurveDisplay.from_cv_results(search.cv_results_, parameter=name).plot()
    assert len(display.lines_) == 2
    results = search.cv_results_
    for line, series, weights in zip(display.lines_, display.series, ["distance", "uniform"], strict=True):
        assert line.get_label() == f"kneighborsclassifier__weights={weights}"
        assert line.get_xdata().tolist() == [1, 5, 9]
        for k, y, error in zip(series["x"], line.get_ydata(), series["se"], strict=True):
            i = results["params"].index({name: k, "kneighborsclassifier__weights": weights})
            assert y == pytest.approx(1 - results["mean_test_score"][i])
            assert error == corrected_standard_error([results[f"split{fold}_test_score"][i] for fold in range(4)])
    assert display.marked == (search.best_params_[name], pytest.approx(1 - search.best_score_))
    assert display.ax_.get_xlabel() == name
    assert display.figure_ is display.ax_.figure


def test_a_grid_without_k_is_refused(search: GridSearchCV) -> None:
    with pytest.raises(UsageError, match=r"'n_neighbors'.*parameter="):
        NeighborCurveDisplay.from_cv_results(search.cv_results_)


def test_from_curve_draws_into_given_axes() -> None:
    figure, (left, right) = matplotlib.pyplot.subplots(1, 2)
    display = NeighborCurveDisplay.from_curve(CURVE).plot(ax=right)
    assert display.ax_ is right
    assert display.figure_ is figure
    assert not left.lines
    assert [text.get_text() for text in right.get_legend().get_texts()] == ["euclidean", "cosine", "chosen"]
    # One band: the second series has no standard errors.
    (band,) = right.collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert np.isclose(heights.min(), 0.08)
    assert np.isclose(heights.max(), 0.22)
    # Told apart without colour.
    first, second = display.lines_
    assert first.get_linestyle() != second.get_linestyle()
    assert first.get_marker() != second.get_marker()


def test_matplotlib_is_imported_only_to_draw() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from tonari.base.errors import UsageError\n"
        "from tonari.metrics import NeighborCurveDisplay\n"
        "try: NeighborCurveDisplay(series=[]).plot()\n"
        "except UsageError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "pip install 'tonari[plot]'" in done.stdout


@pytest.fixture(autouse=True)
def _close_figures():  # type: ignore[no-untyped-def]
    yield
    matplotlib.pyplot.close("all")
