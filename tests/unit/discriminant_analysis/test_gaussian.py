"""GaussianClassifier: the lecture's formulas, hostile columns, sums that add up, the explicit boundary."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from tests.reference.gaussian import covariances, log_posteriors
from tonari.base.errors import DataError, UsageError
from tonari.discriminant_analysis import GaussianClassifier
from tonari.store import open_model, save_model

KINDS = ("full", "shared", "diagonal", "isotropic")


def _table(rows: int = 90, dim: int = 5, classes: int = 3, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % classes
    turns = rng.normal(size=(classes, dim, dim))
    return np.einsum("ij,ijk->ik", rng.normal(size=(rows, dim)), turns[y]) + 2 * rng.normal(size=(classes, dim))[y], y


@pytest.mark.parametrize(("kind", "shrinkage"), list(itertools.product(KINDS, [0.0, 0.25, 1.0])))
@pytest.mark.parametrize("dim", [1, 2, 7, 8, 9, 33])
def test_the_formulas(kind: str, shrinkage: float, dim: int) -> None:
    X, y = _table(rows=40 * dim + 30, dim=dim)
    queries = np.random.default_rng(1).normal(size=(65, dim))
    model = GaussianClassifier(kind, shrinkage=shrinkage).fit(X, y)
    expected = log_posteriors(X, y, queries, kind, shrinkage)
    np.testing.assert_allclose(model._log_posterior(queries), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.covariance_, covariances(X, y, kind, shrinkage), rtol=1e-9, atol=1e-10)
    np.testing.assert_array_equal(model.predict(queries), expected.argmax(axis=1))


LINES = {
    "equal isotropic": ([np.eye(2), np.eye(2)], "isotropic"),
    "equal": ([[[2.0, 0.8], [0.8, 1.0]]] * 2, "shared"),
    "unequal": ([[[2.0, 0.8], [0.8, 1.0]], [[0.5, -0.2], [-0.2, 1.5]]], "full"),
}


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("same_mean", [False, True])
def test_the_lectures_figures(name: str, same_mean: bool) -> None:
    """b - w'x + x'Mx: M is zero where covariances are equal; its sign is the decision."""
    matrices, kind = LINES[name]
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 300)
    means = np.zeros((2, 2)) if same_mean else np.array([[-1.0, 0.0], [1.0, 1.0]])
    X = np.vstack([rng.multivariate_normal(means[k], matrices[k], 300) for k in (0, 1)])
    model = GaussianClassifier(kind).fit(X, y)
    boundary = model.boundary(0, 1)
    grid = np.stack(np.meshgrid(np.linspace(-4, 4, 21), np.linspace(-4, 4, 21)), axis=-1).reshape(-1, 2)
    np.testing.assert_allclose(boundary.value(grid), -2 * model.decision_function(grid), rtol=1e-8, atol=1e-8)
    assert (boundary.M == 0).all() == (kind == "shared")
    np.testing.assert_allclose(model.boundary(1, 0).value(grid), -boundary.value(grid), atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shrinkage", [0.0, 0.1])
@pytest.mark.parametrize("what", ["collinear", "constant", "constant in a class", "single", "few", "all the same"])
def test_singular_classes_never_give_nan(kind: str, shrinkage: float, what: str) -> None:
    X, y = _table()
    if what == "collinear":
        X[:, 2] = X[:, 0] - 3 * X[:, 1]
    elif what == "constant":
        X[:, 2] = 1e8
    elif what == "constant in a class":
        X[y == 0, 2] = 5.0
    elif what == "single":
        y = np.where(np.arange(len(y)) == 7, 2, y % 2)
    elif what == "few":
        X, y = X[:9], y[:9]
    else:
        X[:] = 3.0
    model = GaussianClassifier(kind, shrinkage=shrinkage).fit(X, y)
    far = np.vstack([X, 1e200 * X, np.full((1, X.shape[1]), -1e250)])
    assert not np.isnan(model.predict_proba(far)).any()
    assert not np.isnan(model.decision_function(far)).any()
    for answer in (model.predict_proba(X), model.predict_log_proba(X), model.decision_function(X), model.covariance_):
        assert not np.isnan(answer).any()
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    if what in ("constant in a class", "few"):
        assert model.score(X, y) > 0.6


def test_units_do_not_matter_without_shrinkage() -> None:
    """Trap 1: years, prices and identifiers as columns; a column that is constant changes nothing."""
    X, y = _table()
    expected = GaussianClassifier().fit(X, y).predict_proba(X)
    units = np.array([1e-9, 1.0, 1e12, 1e3, 1e150])
    far = X * units
    np.testing.assert_allclose(GaussianClassifier().fit(far, y).predict_proba(far), expected, rtol=1e-6, atol=1e-9)
    wider = np.column_stack([X, np.full(len(X), 0.1)])
    found = GaussianClassifier().fit(wider, y)
    np.testing.assert_allclose(found.predict_proba(wider), expected, rtol=1e-9, atol=1e-12)
    moved = wider + np.array([0, 0, 0, 0, 0, 1e6])
    np.testing.assert_allclose(found.predict_proba(moved), expected, rtol=1e-9, atol=1e-12)
    with pytest.raises(DataError, match="Divide it"):
        GaussianClassifier().fit(X * 1e200, y)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_copies_and_parts_add_up(kind: str) -> None:
    X, y = _table()
    rng = np.random.default_rng(2)
    copies = rng.integers(0, 3, len(X))
    copied = GaussianClassifier(kind).fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
    weighted = GaussianClassifier(kind).fit(X, y, sample_weight=copies)
    np.testing.assert_allclose(weighted.decision_function(X), copied.decision_function(X), rtol=1e-9, atol=1e-9)
    whole = GaussianClassifier(kind).fit(X, y)
    parts = GaussianClassifier(kind)
    for start in range(0, len(X), 25):
        parts.partial_fit(X[start : start + 25], y[start : start + 25], classes=[0, 1, 2])
    first, second = (GaussianClassifier(kind).fit(X[part], y[part]) for part in (y < 1, y > 0))
    merged = first.merge(second)
    for model in (parts, merged):
        np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(model.classes_, whole.classes_)
    assert len(first.classes_) == 1, "merging changes neither"


def test_classes_announced_but_not_seen() -> None:
    X, y = _table()
    model = GaussianClassifier().partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2])
    assert set(model.predict(X)) <= {0, 1}
    assert (model.predict_proba(X)[:, 2] == 0).all()
    with pytest.raises(UsageError, match="not among the classes"):
        model.partial_fit(X[:1], [7])
    with pytest.raises(UsageError, match="no class with rows"):
        model.boundary(0, 2)


def test_priors() -> None:
    X, y = _table()
    plain = GaussianClassifier().fit(X, y)
    given = GaussianClassifier(priors=[0.5, 0.5, 0.0]).fit(X, y)
    assert 2 not in given.predict(X)
    shift = given._log_posterior(X)[:, :2] - plain._log_posterior(X)[:, :2]
    np.testing.assert_allclose(shift, np.log(0.5) - np.log(1 / 3), rtol=1e-9)
    for wrong in ([0.5, 0.5], [1.5, -0.5, 0.0], [np.nan, 0.5, 0.5]):
        with pytest.raises(UsageError, match="prior"):
            GaussianClassifier(priors=wrong).fit(X, y)


def test_the_same_bits_for_threads_batches_and_instruction_sets() -> None:
    """Trap 2. Rows of 20,000 are summed in several chunks by several threads."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(20_000, 9)), rng.integers(0, 3, 20_000)
    models = [GaussianClassifier(n_jobs=jobs).fit(X, y) for jobs in (1, 2, 5)]
    answers = {model.decision_function(X).tobytes() for model in models}
    batches = np.concatenate([models[0].decision_function(X[i : i + 77]) for i in range(0, len(X), 77)])
    assert answers == {batches.tobytes()}
    program = (
        "import numpy as np; from tonari._core import gauss_sums as sums; r = np.random.default_rng(0);"
        "X = r.normal(size=(5000, 13)); c = r.integers(-1, 3, 5000).astype('i4'); w = r.random(5000);"
        "a, b, d = np.empty(3), np.empty((3, 13)), np.empty((3, 13, 13)); sums(X, c, w, a, b, d, 2);"
        "import hashlib; print(hashlib.sha256(a.tobytes() + b.tobytes() + d.tobytes()).hexdigest())"
    )
    import tonari

    digests = {
        subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "TONARI_ISA": isa}, check=True, capture_output=True,
            text=True,
        ).stdout
        for isa in tonari.show_config()["isa_available"]
    }  # fmt: skip
    assert len(digests) == 1


@pytest.mark.parametrize("params", [{}, {"covariance": "shared", "shrinkage": 0.5}, {"priors": [0.2, 0.3, 0.5]}])
def test_model_files(tmp_path: Any, params: Any) -> None:
    X, y = _table()
    labels = np.array(["x", "y", "zz"])[y]
    model = GaussianClassifier(**params).fit(X, labels)
    save_model(tmp_path / "m", model)
    opened = open_model(tmp_path / "m")
    assert opened.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert opened.boundary("x", "zz").b == model.boundary("x", "zz").b
    opened.partial_fit(X, labels)
    model.partial_fit(X, labels)
    assert opened.decision_function(X).tobytes() == model.decision_function(X).tobytes()


def test_parameters_are_checked() -> None:
    X, y = _table()
    for params, word in (
        ({"covariance": "round"}, "covariance"),
        ({"shrinkage": 1.5}, "at most 1"),
        ({"shrinkage": -0.1}, "at least 0"),
    ):
        with pytest.raises(UsageError, match=word):
            GaussianClassifier(**params).fit(X, y)
