"""PerceptronClassifier: the lecture's steps, to the last row; what is kept; when it stops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.reference.perceptron import epochs
from tonari import _core
from tonari.base.errors import DataError, UsageError
from tonari.linear_model import PerceptronClassifier
from tonari.store import open_model, save_model


def _table(rows: int = 90, dim: int = 3, classes: int = 2, noise: float = 0.4, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, dim))
    return X, (X @ rng.normal(size=(dim, classes)) + noise * rng.normal(size=(rows, classes))).argmax(axis=1)


@pytest.mark.parametrize("dim", [1, 6, 7, 8, 20])
@pytest.mark.parametrize("started", [False, True])
def test_every_epoch_is_the_lectures(dim: int, started: bool) -> None:
    X, y = _table(dim=dim)
    start = np.linspace(-2, 1, dim + 1) if started else None
    expected = list(epochs(X, 2 * y - 1, 12, start))
    for column, keep in enumerate(("last", "best", "mean")):
        path = PerceptronClassifier(12, keep=keep, start=start).path(X, y)
        assert path.errors[: len(expected), 0].tolist() == [row[3] for row in expected]
        for i, row in enumerate(expected):
            found = np.r_[path.intercept[i, 0], path.coef[i, 0]]
            np.testing.assert_allclose(found, row[column], rtol=1e-9, atol=1e-9, err_msg=f"{keep}, epoch {i + 1}")


def test_a_path_is_made_of_single_fits() -> None:
    X, y = _table(classes=3)
    for params in ({"keep": "last"}, {"order": "random", "keep": "mean", "random_state": 7}, {"keep": "best"}):
        path = PerceptronClassifier(6, **params).path(X, y)
        for most in (1, 3, 6):
            model = PerceptronClassifier(most, **params).fit(X, y)
            assert model.coef_.tobytes() == path.coef[most - 1].tobytes()
            assert model.intercept_.tobytes() == path.intercept[most - 1].tobytes()


@pytest.mark.parametrize("order", ["rows", "random"])
@pytest.mark.parametrize("keep", ["last", "best", "mean"])
def test_separable_classes_end_it(order: str, keep: str) -> None:
    """Finitely many steps (Novikoff 1962): at most (radius / margin) squared updates."""
    X, y = _table(noise=0.0)
    clear = np.abs(X @ np.linalg.lstsq(X, 2 * y - 1, rcond=None)[0]) > 0.3
    model = PerceptronClassifier(100_000, order=order, keep=keep).fit(X[clear], y[clear])
    assert model.separable_.all()
    assert 0 < model.n_epochs_[0] < 100_000
    assert model.errors_[0] == 0
    if keep != "mean":
        assert model.score(X[clear], y[clear]) == 1.0


def test_nothing_moves_where_nothing_is_wrong() -> None:
    X, y = np.array([[-1.0], [0.0], [1.0]]), np.array([0, 1, 1])
    model = PerceptronClassifier(keep="last", start=[0.0, 1.0]).fit(X, y)
    assert (model.n_epochs_[0], model.coef_[0, 0], model.intercept_[0]) == (0, 1.0, 0.0)
    assert model.predict([[0.0]]) == [1], "sign(0) = +1"


def test_the_pocket_never_gets_worse_and_random_orders_differ() -> None:
    X, y = _table(noise=1.5)
    scores = [PerceptronClassifier(most).fit(X, y).score(X, y) for most in range(1, 15)]
    assert scores == sorted(scores)
    found = {
        PerceptronClassifier(3, order="random", random_state=seed, keep="last").fit(X, y).coef_.tobytes()
        for seed in (0, 0, 1, 2)
    }
    assert len(found) == 3


def test_random_order_visits_every_row_once_an_epoch() -> None:
    """With one row of a class the first epoch must meet it wherever it lies."""
    for seed in range(20):
        X, y = np.full((50, 1), 1.0), np.arange(50) == 31
        model = PerceptronClassifier(1, order="random", random_state=seed, keep="last").fit(X, y)
        # Each of the 49 wrong-sided rows is met until the sign turns; then nothing moves but for the one row.
        assert model.errors_[0] in (1, 49)


def test_threads_change_nothing() -> None:
    X, y = _table(rows=2_000, classes=5)
    models = [PerceptronClassifier(5, order="random", n_jobs=jobs).fit(X, y) for jobs in (1, 2, 4)]
    assert len({model.coef_.tobytes() for model in models}) == 1


def test_the_line_is_drawn() -> None:
    pytest.importorskip("matplotlib")
    X, y = _table(dim=2)
    path = PerceptronClassifier(5, keep="last").path(X, y)
    ax = path.plot(X, y)
    assert len(ax.lines) == 2 + 5
    with pytest.raises(UsageError, match="two columns"):
        path.plot(np.zeros((3, 3)), y[:3])


def test_errors_say_what_to_do() -> None:
    X, y = _table()
    for params, word in (
        ({"max_epochs": 0}, "at least 1"), ({"order": "odd"}, "order"), ({"keep": "all"}, "keep"),
        ({"start": [1.0, 2.0]}, "4 for each output"), ({"random_state": -1}, "at least 0"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=word):
            PerceptronClassifier(**params).fit(X, y)
    with pytest.raises(DataError, match="one class only"):
        PerceptronClassifier().fit(X, np.zeros(len(X)))
    with pytest.raises(DataError, match="Divide the columns"):
        PerceptronClassifier().fit(X * 1e307, y)
    run = _core.linear_perceptron
    with pytest.raises(ValueError, match="outside the table"):
        run(
            np.zeros((2, 8)), np.zeros(2, np.int32), np.array([0, 1]), np.array([5]), np.zeros(1, np.int32),
            np.zeros(1, np.int32), np.zeros((1, 8)), np.array([1]), False, 0, np.empty((1, 1, 3, 8)),
            np.empty((1, 1), np.int64), np.empty(1, np.int64), 1,
        )  # fmt: skip


@pytest.mark.parametrize("classes", [2, 4])
def test_model_files(tmp_path: Any, classes: int) -> None:
    X, y = _table(classes=classes)
    model = PerceptronClassifier(start=np.ones(4)).fit(X, np.array(list("abcd"))[y])
    save_model(tmp_path / "m", model)
    opened = open_model(tmp_path / "m")
    assert opened.predict(X).tolist() == model.predict(X).tolist()
    assert opened.decision_function(X).tobytes() == model.decision_function(X).tobytes()
    assert opened.n_epochs_.tolist() == model.n_epochs_.tolist()
