"""Every public estimator passes scikit-learn's own checks, under several settings, with no expected failure.

The estimators are found by walking the package, so that a new one cannot be forgotten; `SETTINGS` says with which
parameters besides the defaults.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import tonari
from tonari.neighbors import KNeighborsClassifier, KNeighborsRegressor

SETTINGS: dict[str, list[dict[str, Any]]] = {
    "NearestNeighbors": [
        {},
        {"metric": "manhattan", "n_jobs": 2},
        {"metric": "cosine", "n_neighbors": 1},
        {"metric": "minkowski", "p": 3},
        {"metric": "canberra"},
        {"metric": "nan_euclidean"},
        {"metric": "precomputed"},
    ],
    "KNeighborsClassifier": [
        {},
        {"weights": "distance", "n_neighbors": 3},
        {"metric": "chebyshev", "n_jobs": 2},
        {"metric": "minkowski", "p": 1.5, "weights": "distance"},
        {"metric": "cosine"},
        {"metric": "braycurtis"},
        {"metric": "nan_euclidean"},
        {"metric": "precomputed", "n_neighbors": 2},
        {"n_neighbors": 1},
        {"weights": "gaussian", "class_vote_weight": "balanced", "ties": "nearest"},
        {"ties": "random", "bandwidth": 2.0, "weights": "gaussian"},
    ],
    "CondensedNearestNeighbor": [{}, {"rule": "fcnn"}, {"metric": "manhattan"}, {"metric": "nan_euclidean"}],
    "EditedNearestNeighbors": [{}, {"kind_sel": "mode", "n_neighbors": 5}, {"metric": "cosine"}],
    "NeighborhoodComponentsAnalysis": [{}, {"n_components": 1, "init": "pca"}, {"init": "random", "max_iter": 3}],
    "DiscriminantMetric": [{}, {"n_components": 1, "epsilon": 0.0}, {"shrinkage": 0.0}],
    "RadiusNeighborsClassifier": [
        {},
        {"radius": 100.0, "outlier_label": "most_frequent", "weights": "distance"},
        {"radius": 20.0, "outlier_label": "most_frequent", "weights": "gaussian", "ties": "random"},
        {"radius": 9.0, "outlier_label": "most_frequent", "metric": "manhattan", "weights": "distance", "n_jobs": 2},
        {"radius": 200.0, "outlier_label": "most_frequent", "metric": "precomputed", "weights": "distance"},
    ],
    "RadiusNeighborsRegressor": [
        {},
        {"radius": 2.0, "weights": "gaussian"},
        {"radius": 30.0, "weights": "distance", "metric": "chebyshev"},
        {"weights": "distance", "metric": "precomputed", "radius": 200.0},
    ],
    "KNeighborsRegressor": [
        {},
        {"weights": "distance", "n_neighbors": 3},
        {"metric": "manhattan", "n_jobs": 2},
        {"metric": "minkowski", "p": 4, "weights": "distance"},
        {"metric": "cosine", "n_neighbors": 1},
        {"metric": "correlation"},
        {"metric": "nan_euclidean"},
        {"metric": "precomputed", "n_neighbors": 2},
        {"weights": "gaussian"},
        {"weights": "gaussian", "bandwidth": 0.5},
    ],
    "GaussianClassifier": [
        {},
        {"covariance": "shared", "shrinkage": 0.2},
        {"covariance": "diagonal", "n_jobs": 2},
        {"covariance": "isotropic", "shrinkage": 1.0},
        {"shrinkage": 0.5},
    ],
    "QuadraticDiscriminantAnalysis": [{"reg_param": 0.1}, {"solver": "eigen", "shrinkage": 0.3}],
    "LogisticRegression": [
        {},
        {"penalty": None},
        {"C": 100.0, "class_weight": "balanced", "n_jobs": 2},
        {"warm_start": True},
    ],
    "PerceptronClassifier": [{}, {"order": "random", "keep": "mean"}, {"keep": "last", "n_jobs": 2}],
    # "lsqr" has no transform, which checks of a transformer cannot know.
    "LinearDiscriminantAnalysis": [
        {},
        {"solver": "eigen", "shrinkage": 0.5},
    ],
    # Shared work, shared work behind a step that learns, and what scikit-learn's class does when nothing is shared.
    "GridSearchCV": [
        {"estimator": KNeighborsClassifier(), "param_grid": {"n_neighbors": [1, 2]}, "cv": 2, "error_score": "raise"},
        {"estimator": KNeighborsRegressor(), "param_grid": {"n_neighbors": [1, 2]}, "cv": 2, "error_score": "raise"},
        {
            "estimator": make_pipeline(StandardScaler(), KNeighborsClassifier()),
            "param_grid": {"kneighborsclassifier__n_neighbors": [1, 2]},
            "cv": 2,
            "error_score": "raise",
        },
        {"estimator": LogisticRegression(), "param_grid": {"C": [0.1, 1.0]}, "cv": 2, "error_score": "raise"},
        {"estimator": Ridge(), "param_grid": {"alpha": [0.1, 1.0]}, "cv": 2, "error_score": "raise"},
    ],
    "TableEncoder": [{}, {"scale": "minmax"}, {"scale": "none"}],
}


def public_classes() -> Iterator[type]:
    """Every class that a public module of tonari shows and that has a `fit` of scikit-learn's kind."""
    seen = set()
    for module in pkgutil.walk_packages(tonari.__path__, "tonari."):
        if any(part.startswith("_") for part in module.name.split(".")):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            public = inspect.isclass(value) and not name.startswith("_") and value.__module__.startswith("tonari.")
            if public and issubclass(value, BaseEstimator) and callable(getattr(value, "fit", None)):
                seen.add(value)
    yield from sorted(seen, key=lambda value: (value.__module__, value.__qualname__))


def estimators() -> Iterator[Any]:
    for Estimator in public_classes():
        for params in SETTINGS.get(Estimator.__name__, [{}]):
            yield Estimator(**params)


@pytest.mark.filterwarnings("default")  # the checks provoke warnings on purpose
@parametrize_with_checks(list(estimators()))
def test_scikit_learn_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    """scikit-learn's common tests, all of them, for every estimator that tonari shows."""
    check(estimator)


def test_the_walk_finds_what_is_known() -> None:
    """Trap 16: an empty walk, or a setting for a class that is no more, would leave the suite green."""
    found = {Estimator.__name__ for Estimator in public_classes()}
    assert set(SETTINGS) <= found


@pytest.mark.parametrize("Estimator", list(public_classes()), ids=lambda value: value.__name__)
def test_parameters_are_documented_and_kept(Estimator: Any) -> None:
    """Every parameter of the constructor is in the docstring, stored untouched, and survives clone."""
    model = Estimator(**SETTINGS.get(Estimator.__name__, [{}])[0])
    text = inspect.getdoc(Estimator) or ""
    for name, value in model.get_params(deep=False).items():
        assert name in text, f"{Estimator.__name__}: {name} is not documented"
        assert repr(getattr(clone(model), name)) == repr(value)
