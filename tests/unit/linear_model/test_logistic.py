"""LogisticRegression: scikit-learn's solutions, the certificate, separable classes, the path, every kind of table."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import sklearn.linear_model as referee
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from tonari import _core
from tonari.base.errors import UsageError
from tonari.linear_model import LogisticRegression
from tonari.store import open_model, save_model

DATA = {
    name: (scale(X), y)
    for name, (X, y) in {
        "breast cancer": load_breast_cancer(return_X_y=True),
        "iris": load_iris(return_X_y=True),
        "wine": load_wine(return_X_y=True),
    }.items()
}


def _objective(model: Any, X: Any, y: Any, weight: Any) -> float:
    """scikit-learn's, written down once more."""
    scores = model.decision_function(X)
    scores = np.stack([0 * scores, scores], axis=1) if scores.ndim == 1 else scores
    chances = (scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))[np.arange(len(y)), y]
    return float(-(weight * chances).sum() + 0.5 / model.C * (model.coef_**2).sum())


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize(
    "params", [{}, {"class_weight": "balanced"}, {"class_weight": {0: 2.0}}, {"fit_intercept": False}], ids=repr
)
def test_scikit_learns_solutions(data: str, C: float, params: Any) -> None:
    X, y = DATA[data]
    ours = LogisticRegression(C=C, tol=1e-7, **params).fit(X, y)
    theirs = referee.LogisticRegression(C=C, tol=1e-9, max_iter=1_000, solver="newton-cholesky", **params).fit(X, y)
    assert ours.gradient_norm_ <= 1e-7
    if C < 1e3:
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=2e-4)
    if "class_weight" not in params:
        one = np.ones(len(y))
        assert _objective(ours, X, y, one) <= _objective(theirs, X, y, one) * (1 + 1e-6) + 1e-9


@pytest.mark.parametrize("data", DATA)
def test_dense_sparse_float32_and_weights_agree(data: str) -> None:
    X, y = DATA[data]
    X = np.where(np.abs(X) > 0.3, X, 0.0).astype(np.float32)
    copies = np.random.default_rng(0).integers(0, 3, len(y))
    plain = LogisticRegression(tol=1e-8).fit(X.astype(np.float64), y, sample_weight=copies)
    others = [
        LogisticRegression(tol=1e-8).fit(X, y, sample_weight=copies),
        LogisticRegression(tol=1e-8).fit(sparse.csr_array(X), y, sample_weight=copies),
        LogisticRegression(tol=1e-8).fit(sparse.csc_matrix(X), y, sample_weight=copies),
        LogisticRegression(tol=1e-8).fit(np.repeat(X, copies, axis=0), np.repeat(y, copies)),
    ]
    for other in others:
        np.testing.assert_allclose(other.coef_, plain.coef_, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(other.intercept_, plain.intercept_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(
        plain.decision_function(sparse.csr_array(X)), plain.decision_function(X), rtol=1e-10, atol=1e-10
    )


def test_many_columns_go_without_a_hessian() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2_100)) * rng.uniform(0.1, 3, 2_100)
    y = (X[:, :5].sum(axis=1) > 0).astype(int)
    for table, C in ((X, 0.01), (sparse.csr_array(np.where(np.abs(X) > 2, X, 0.0)), 0.1)):
        ours = LogisticRegression(C=C).fit(table, y)
        theirs = referee.LogisticRegression(C=C, tol=1e-9, max_iter=10_000).fit(table, y)
        assert ours.gradient_norm_ <= 1e-6
        np.testing.assert_allclose(ours.predict_proba(table), theirs.predict_proba(table), atol=1e-4)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("params", [{"penalty": None}, {"C": np.inf}], ids=repr)
def test_separable_classes_without_penalty_say_so(classes: int, params: Any) -> None:
    """Trap 7: there is no solution, and large coefficients would look like one."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % classes
    X = rng.normal(size=(90, 3)) + 20 * np.eye(3)[y]
    with pytest.warns(ConvergenceWarning, match="separates the classes"):
        model = LogisticRegression(**params).fit(X, y)
    assert model.separable_
    assert model.score(X, y) == 1.0
    assert not LogisticRegression(C=1e6).fit(X, y).separable_


def test_without_penalty_like_scikit_learn() -> None:
    X, y = DATA["breast cancer"]
    X = X[:, :3]
    ours = LogisticRegression(penalty=None).fit(X, y)
    theirs = referee.LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4)
    twice = np.column_stack([X, X[:, 0], np.full(len(X), 3.0)])
    collinear = LogisticRegression(penalty=None).fit(twice, y)
    np.testing.assert_allclose(collinear.decision_function(twice), ours.decision_function(X), atol=1e-3)


def test_too_few_steps_say_so_and_a_warm_start_goes_on() -> None:
    X, y = DATA["wine"]
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        LogisticRegression(C=1e3, max_iter=2).fit(X, y)
    model = LogisticRegression(C=1e3, warm_start=True).fit(X, y)
    cold = model.n_iter_[0]
    model.fit(X, y)
    assert model.n_iter_[0] == 0 < cold


@pytest.mark.parametrize("data", ["breast cancer", "wine"])
def test_the_path_is_that_of_single_fits(data: str) -> None:
    X, y = DATA[data]
    Cs = [1.0, 1e-3, 10.0]
    path = LogisticRegression(tol=1e-8).path(X, y, Cs)
    assert (path.gradient_norms <= 1e-8).all()
    for i, C in enumerate(Cs):
        single = LogisticRegression(C=C, tol=1e-8).fit(X, y)
        np.testing.assert_allclose(path.coef[i], single.coef_, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(path.intercept[i], single.intercept_, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("rows", [1, 63, 64, 65, 1000])
def test_gradient_and_hessian_are_derivatives(outputs: int, rows: int) -> None:
    """Loss, gradient and Hessian against each other and against the formula, at awkward sizes."""
    rng = np.random.default_rng(rows)
    table = np.ascontiguousarray(rng.normal(size=(rows, 8)))
    codes = rng.integers(0, max(outputs, 2), rows).astype(np.int32)
    weights = rng.random((2, rows)) * (rng.random((2, rows)) > 0.2)
    coef = rng.normal(size=(2, outputs, 8))

    def value(at: Any) -> tuple[Any, Any, Any]:
        loss, margin, gradient = np.empty(2), np.empty(2), np.empty_like(at)
        _core.linear_gradient(table, codes, weights, at, loss, gradient, margin, 2)
        return loss, gradient, margin

    loss, gradient, margin = value(coef)
    scores = np.einsum("pod,nd->pno", coef, table)
    if outputs == 1:
        scores = np.concatenate([np.zeros_like(scores), scores], axis=2)
    own = scores[:, np.arange(rows), codes]
    others = np.where(np.eye(scores.shape[2], dtype=bool)[codes], -np.inf, scores).max(axis=2)
    expected = (weights * (np.logaddexp.reduce(scores, axis=2) - own)).sum(axis=1)
    np.testing.assert_allclose(loss, expected, rtol=1e-12)
    for p in range(2):
        counted = weights[p] > 0
        assert margin[p] == pytest.approx((own - others)[p][counted].min() if counted.any() else np.inf)
    step = 1e-6 * rng.normal(size=coef.shape)
    change = value(coef + step)[0] - value(coef - step)[0]
    np.testing.assert_allclose(change, 2 * (gradient * step).sum(axis=(1, 2)), rtol=1e-5, atol=1e-12)
    hessian = np.empty((outputs * 8, outputs * 8))
    _core.linear_hessian(table, codes, weights[:1], coef[:1], hessian, 2)
    slopes = (value(coef + step)[1] - value(coef - step)[1])[0].reshape(-1)
    np.testing.assert_allclose(hessian @ step[0].reshape(-1) * 2, slopes, rtol=1e-4, atol=1e-12)
    np.testing.assert_array_equal(hessian, hessian.T)


def test_the_same_bits_for_threads_and_batches() -> None:
    """Trap 2."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(5_000, 9)), rng.integers(0, 3, 5_000)
    models = [LogisticRegression(n_jobs=jobs).fit(X, y) for jobs in (1, 2, 5)]
    assert len({model.coef_.tobytes() for model in models}) == 1
    batches = np.concatenate([models[0].decision_function(X[i : i + 77]) for i in range(0, len(X), 77)])
    assert batches.tobytes() == models[1].decision_function(X).tobytes()


def test_extreme_scores_stay_numbers() -> None:
    X = np.array([[1e4], [-1e4], [1e-4], [0.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression(C=1e8).fit(X, [1, 0, 1, 0])
    model.coef_[:] = 1e3
    assert np.isfinite(model.predict_log_proba(X)).all()
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("data", ["breast cancer", "iris"])
def test_model_files(tmp_path: Any, data: str) -> None:
    X, y = DATA[data]
    labels = np.array(["x", "y", "zz"])[y]
    model = LogisticRegression(C=np.float64(0.3)).fit(X, labels)
    save_model(tmp_path / "m", model)
    opened = open_model(tmp_path / "m")
    for method in ("predict", "predict_proba", "decision_function"):
        assert getattr(opened, method)(X).tolist() == getattr(model, method)(X).tolist()
    assert (opened.gradient_norm_, opened.separable_, opened.n_iter_) == (model.gradient_norm_, False, model.n_iter_)


def test_parameters_are_checked() -> None:
    X, y = DATA["iris"]
    for params, word in (
        ({"penalty": "l1"}, "penalty"), ({"C": 0.0}, "more"), ({"l1_ratio": 0.5}, "L1"), ({"dual": True}, "dual"),
        ({"solver": "liblinear"}, "solver"), ({"class_weight": "even"}, "class_weight"), ({"max_iter": 1.5}, "whole"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=word):
            LogisticRegression(**params).fit(X, y)
