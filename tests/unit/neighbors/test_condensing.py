"""Condensing and editing: the training decisions of 1-NN, the reference by the definition, what is reported."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_iris, make_blobs

from tonari.model_selection import GridSearchCV
from tonari.neighbors import (
    CondensedNearestNeighbor,
    EditedNearestNeighbors,
    KNeighborsClassifier,
    condensing_cost,
)
from tonari.store import open_model, save_model


def _nearest(X: NDArray[Any], query: NDArray[Any], members: list[int]) -> int:
    """By (distance, row)."""
    return min(members, key=lambda row: (float(((X[row] - query) ** 2).sum()), row))


def _hart(X: NDArray[Any], y: NDArray[Any]) -> list[int]:
    """Hart's rule word for word."""
    kept, changed = [0], True
    while changed:
        changed = False
        for i in range(len(X)):
            if y[_nearest(X, X[i], kept)] != y[i]:
                kept.append(i)
                changed = True
    return sorted(kept)


@pytest.mark.parametrize("seed", range(4))
def test_harts_rule_word_for_word(seed: int) -> None:
    X, y = make_blobs(120, centers=4, cluster_std=3.0, random_state=seed)
    X = np.round(X, 3)
    assert CondensedNearestNeighbor().fit(X, y).sample_indices_.tolist() == _hart(X, y)


@pytest.mark.parametrize("rule", ["hart", "fcnn"])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "canberra"])
def test_training_decisions_stay(rule: str, metric: str) -> None:
    """With ties, equal rows and equal rows of different labels too."""
    rng = np.random.default_rng(0)
    for X in (rng.normal(size=(300, 4)), rng.integers(0, 4, size=(300, 2)).astype(float), np.zeros((5, 2))):
        y = rng.integers(0, 3, len(X))
        model = CondensedNearestNeighbor(rule=rule, metric=metric).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), KNeighborsClassifier(1, metric=metric).fit(X, y).predict(X))
        kept_X, kept_y = CondensedNearestNeighbor(rule=rule, metric=metric).fit_resample(X, y)
        np.testing.assert_array_equal(kept_X, X[model.sample_indices_])
        np.testing.assert_array_equal(kept_y, y[model.sample_indices_])
        assert model.share_kept_ == len(kept_X) / len(X)


def test_the_fast_rule_does_not_depend_on_the_order_of_rows() -> None:
    X, y = load_digits(return_X_y=True)
    X = X + np.random.default_rng(0).normal(scale=1e-3, size=X.shape)  # no equal distances
    order = np.random.default_rng(1).permutation(len(y))
    first = CondensedNearestNeighbor(rule="fcnn").fit(X, y)
    again = CondensedNearestNeighbor(rule="fcnn").fit(X[order], y[order])
    assert sorted(order[again.sample_indices_].tolist()) == first.sample_indices_.tolist()
    assert first.share_kept_ < 0.15
    hart = [CondensedNearestNeighbor().fit(X[o], y[o]).sample_indices_ for o in (np.arange(len(y)), order)]
    assert sorted(order[hart[1]].tolist()) != hart[0].tolist(), "Hart's does: that is why there is another"


@pytest.mark.parametrize("kind", ["mode", "all"])
def test_editing_drops_what_its_neighbours_contradict(kind: str) -> None:
    X, y = load_iris(return_X_y=True)
    X = X + np.random.default_rng(0).normal(scale=1e-6, size=X.shape)
    kept = []
    for i in range(len(X)):
        others = [row for row in range(len(X)) if row != i]
        nearest = sorted(others, key=lambda row: float(((X[row] - X[i]) ** 2).sum()))[:3]
        votes = np.bincount(y[nearest], minlength=3)
        agrees = votes[y[i]] == 3 if kind == "all" else votes.argmax() == y[i]
        kept += [i] if agrees else []
    model = EditedNearestNeighbors(kind_sel=kind).fit(X, y)
    assert model.sample_indices_.tolist() == kept
    plain = KNeighborsClassifier(1).fit(X[kept], y[kept])
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


def test_no_class_is_lost() -> None:
    X = np.array([[0.0], [1.0], [2.0], [3.0], [1.5]])
    model = EditedNearestNeighbors().fit(X, ["a", "a", "a", "a", "b"])
    assert 4 in model.sample_indices_


def test_what_is_saved_and_lost() -> None:
    X, y = make_blobs(600, centers=3, cluster_std=2.5, random_state=1)
    cost = condensing_cost(CondensedNearestNeighbor(), X, y)
    assert 0 < cost["share_kept"] < 0.5
    assert cost["accuracy_lost"] == pytest.approx(cost["accuracy_all"] - cost["accuracy_kept"])
    edited = condensing_cost(EditedNearestNeighbors(), X, y)
    assert edited["accuracy_lost"] < cost["accuracy_lost"], "editing smooths, condensing does not"


@pytest.mark.parametrize("model", [CondensedNearestNeighbor(rule="fcnn"), EditedNearestNeighbors()], ids=type)
def test_searches_and_files(model: Any, tmp_path: Any) -> None:
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(model, {"metric": ["euclidean", "manhattan"]}, cv=3).fit(X, y)
    assert "depends on the training part" in str(search.work_)
    model.fit(X, y)
    save_model(tmp_path / "m", model)
    again = open_model(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.share_kept_ == model.share_kept_
    with pytest.raises(ValueError, match="Give the table itself"):
        type(model)(metric="precomputed").fit(np.zeros((3, 3)), [0, 1, 0])
    with pytest.raises(ValueError, match="one column"):
        type(model)().fit(X, np.c_[y, y])
