"""QuadraticDiscriminantAnalysis and LinearDiscriminantAnalysis beside scikit-learn's classes of these names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn
import sklearn.discriminant_analysis as referee
from sklearn.covariance import LedoitWolf, ShrunkCovariance
from sklearn.datasets import load_iris, load_wine
from sklearn.utils.fixes import parse_version

from tonari.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from tonari.store import open_model, save_model

# Older versions divided by N - 1 and knew fewer parameters.
of_today = pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.9"), reason="covariances over N came with scikit-learn 1.9"
)
DATA = {"iris": load_iris(return_X_y=True), "wine": load_wine(return_X_y=True)}
QUADRATIC: list[dict[str, Any]] = [
    {}, {"reg_param": 0.2, "store_covariance": True}, {"solver": "eigen"}, {"solver": "eigen", "shrinkage": 0.3},
    {"solver": "eigen", "shrinkage": "auto"}, {"solver": "eigen", "covariance_estimator": ShrunkCovariance()},
    {"priors": [0.2, 0.2, 0.6]},
]  # fmt: skip
LINEAR: list[dict[str, Any]] = [
    {}, {"n_components": 1}, {"store_covariance": True}, {"priors": [0.2, 0.2, 0.6]}, {"solver": "lsqr"},
    {"solver": "eigen"}, {"solver": "lsqr", "shrinkage": 0.4}, {"solver": "eigen", "shrinkage": "auto"},
    {"solver": "lsqr", "covariance_estimator": LedoitWolf()},
]  # fmt: skip
COMMON = ("classes_", "means_", "priors_", "n_features_in_")


def _close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7 * np.abs(np.asarray(expected)).max())


@of_today
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("params", QUADRATIC, ids=repr)
def test_quadratic(data: str, params: dict[str, Any]) -> None:
    X, y = DATA[data]
    ours, theirs = (
        module(**{"tol": 1e-9, **params}).fit(X, y)
        for module in (QuadraticDiscriminantAnalysis, referee.QuadraticDiscriminantAnalysis)
    )
    for method in ("decision_function", "predict_proba", "predict_log_proba"):
        _close(getattr(ours, method)(X), getattr(theirs, method)(X))
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    for name in COMMON:
        _close(getattr(ours, name), getattr(theirs, name))
    _close(ours.scalings_, theirs.scalings_)
    assert hasattr(ours, "covariance_") == hasattr(theirs, "covariance_")


@of_today
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("params", LINEAR, ids=repr)
def test_linear(data: str, params: dict[str, Any]) -> None:
    X, y = DATA[data]
    ours, theirs = (
        module(**params).fit(X, y) for module in (LinearDiscriminantAnalysis, referee.LinearDiscriminantAnalysis)
    )
    for method in ("decision_function", "predict_proba"):
        _close(getattr(ours, method)(X), getattr(theirs, method)(X))
    for name in (*COMMON, "coef_", "intercept_"):
        _close(getattr(ours, name), getattr(theirs, name))
    for name in ("xbar_", "explained_variance_ratio_", "covariance_"):
        assert hasattr(ours, name) == hasattr(theirs, name), name
        if hasattr(ours, name):
            _close(getattr(ours, name), getattr(theirs, name))
    if params.get("solver") != "lsqr":
        _close(np.abs(ours.transform(X)), np.abs(theirs.transform(X)))
        np.testing.assert_array_equal(ours.get_feature_names_out(), [
            f"lineardiscriminantanalysis{i}" for i in range(params.get("n_components", 2))
        ])  # fmt: skip


@pytest.mark.parametrize(
    "model", [QuadraticDiscriminantAnalysis(reg_param=0.1), LinearDiscriminantAnalysis(n_components=1)], ids=repr
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_model_files(tmp_path: Any, model: Any, dtype: Any) -> None:
    X, y = DATA["wine"]
    X, labels = X.astype(dtype), np.array(["a", "b", "c"])[y]
    model.fit(X, labels)
    save_model(tmp_path / "m", model)
    opened = open_model(tmp_path / "m")
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        if hasattr(model, method):
            assert getattr(opened, method)(X).tobytes() == getattr(model, method)(X).tobytes()
    assert opened.get_params() == model.get_params()


def test_collinear_columns_are_an_error_that_names_the_way_out() -> None:
    X, y = DATA["iris"]
    twice = np.column_stack([X, X[:, 0]])
    with pytest.raises(np.linalg.LinAlgError, match="reg_param"):
        QuadraticDiscriminantAnalysis().fit(twice, y)
    assert QuadraticDiscriminantAnalysis(reg_param=0.1).fit(twice, y).score(twice, y) > 0.95
    assert LinearDiscriminantAnalysis().fit(twice, y).score(twice, y) > 0.95
