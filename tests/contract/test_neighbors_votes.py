"""What neighbours decide: weights of rows and classes, Gaussian weights, rules for ties, the right to abstain, radii.

The reference is `tests/reference/votes.py`. Guards traps 2, 4, 5 and 8.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import sklearn.neighbors
from numpy.typing import NDArray

from tests.reference.votes import shares_of, winner_of
from tonari import _core
from tonari.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NearestNeighbors,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
)
from tonari.store import open_model, save_model

NAMES = np.array(["b", "a", "d", "c"])


def _problem(kind: str, rows: int = 120) -> tuple[Any, Any, Any, Any]:
    """Rows, labels, weights, queries; on a grid nearly everything is tied."""
    rng = np.random.default_rng(len(kind))
    X = rng.integers(0, 4, size=(rows, 2)).astype(float) if kind == "grid" else rng.normal(size=(rows, 3))
    queries = rng.integers(0, 4, size=(60, 2)).astype(float) if kind == "grid" else rng.normal(size=(60, 3))
    return X, NAMES[rng.integers(0, 4, size=rows)], rng.integers(1, 9, size=rows) / 4.0, queries


def _lists(X: Any, y: Any, weights: Any, queries: Any, k: int) -> list[list[tuple[float, int, float]]]:
    distances, found = NearestNeighbors(n_neighbors=k).fit(X).kneighbors(queries)
    codes = np.unique(y, return_inverse=True)[1]
    return [
        [(float(d), int(codes[row]), float(weights[row])) for d, row in zip(*one, strict=True)]
        for one in zip(distances, found, strict=True)
    ]


@pytest.mark.parametrize("kind", ["grid", "normal"])
@pytest.mark.parametrize("weights", ["uniform", "distance", "gaussian"])
@pytest.mark.parametrize("bandwidth", [None, 0.3])
@pytest.mark.parametrize("k", [1, 4, 9])
def test_the_same_as_plain_python(kind: str, weights: str, bandwidth: float | None, k: int) -> None:
    X, y, row_weights, queries = _problem(kind)
    scale = {"a": 1.0, "b": 2.0, "c": 0.5, "d": 3.0}
    for own, classes in ((np.ones(len(y)), None), (row_weights, scale)):
        model = KNeighborsClassifier(k, weights=weights, bandwidth=bandwidth, class_vote_weight=classes)
        model.fit(X, y, vote_weight=own)
        per_class = None if classes is None else [scale[label] for label in model.classes_]
        expected = [
            shares_of(one, 4, weights, bandwidth, per_class) for one in _lists(X, y, own, queries, k)
        ]  # fmt: skip
        np.testing.assert_allclose(model.predict_proba(queries), expected, rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(model.predict(queries), model.classes_[model.predict_proba(queries).argmax(1)])


@pytest.mark.parametrize("ties", ["first", "nearest", "undecided"])
@pytest.mark.parametrize("k", [2, 4, 6])
def test_ties_go_where_the_rule_says(ties: str, k: int) -> None:
    X, y, _, queries = _problem("normal")
    model = KNeighborsClassifier(k, ties=ties).fit(X, y)
    lists = _lists(X, y, np.ones(len(y)), queries, k)
    winners = [winner_of(one, shares_of(one, 4), ties) for one in lists]
    expected = ["unknown" if winner is None else str(model.classes_[winner]) for winner in winners]
    assert model.predict(queries).tolist() == expected
    tied = [np.sum(np.isclose(shares_of(one, 4), max(shares_of(one, 4)))) > 1 for one in lists]
    assert any(tied), "a test of ties needs some"
    assert not all(tied)


def test_a_draw_is_fair_repeatable_and_of_the_query_alone() -> None:
    """Trap 2: neither the batch, nor the order, nor the numbers of the fitted rows may change a draw."""
    rng = np.random.default_rng(0)
    X, y = np.array([[-1.0, 0.0], [1.0, 0.0]]), np.array([7, 3])
    queries = np.c_[np.zeros(4000), rng.normal(size=4000)]
    model = KNeighborsClassifier(2, ties="random").fit(X, y)
    drawn = model.predict(queries)
    assert 1850 < (drawn == 7).sum() < 2150  # 4.7 standard deviations of a fair coin
    np.testing.assert_array_equal(drawn, model.predict(queries))
    np.testing.assert_array_equal(drawn[::-1], model.predict(queries[::-1]))
    np.testing.assert_array_equal(drawn[:1], model.predict(queries[:1]))
    np.testing.assert_array_equal(drawn, KNeighborsClassifier(2, ties="random").fit(X[::-1], y[::-1]).predict(queries))
    other = KNeighborsClassifier(2, ties="random", random_state=1).fit(X, y).predict(queries)
    assert 1800 < (drawn == other).sum() < 2200
    near_zero = np.array([[0.0, -0.0], [0.0, 0.0], [-0.0, 0.0]])
    assert len(set(model.predict(near_zero).tolist())) == 1, "equal queries draw alike"


def test_who_may_abstain() -> None:
    X, y = np.array([[0.0], [1.0], [2.0], [10.0]]), np.array([0, 0, 1, 1])
    share = KNeighborsClassifier(3, min_share=0.9, unknown_label=-1).fit(X, y)
    assert share.predict([[0.1], [10.0]]).tolist() == [-1, -1]
    assert KNeighborsClassifier(3, min_share=2 / 3, unknown_label=-1).fit(X, y).predict([[0.1]]).tolist() == [0]
    far = KNeighborsClassifier(1, max_distance=0.5, unknown_label=-1).fit(X, y)
    assert far.predict([[0.5], [0.51 + 1], [5.0]]).tolist() == [0, 1, -1]
    np.testing.assert_array_equal(share.predict_proba([[0.1]]), [[2 / 3, 1 / 3]])
    both = KNeighborsClassifier(2, ties="undecided", unknown_label=["none", "?"])
    both.fit(X, np.array([["u", "x"], ["u", "y"], ["w", "y"], ["w", "y"]]))
    assert both.predict([[0.4], [1.4]]).tolist() == [["u", "?"], ["none", "y"]]
    with pytest.raises(ValueError, match="unknown_label=-1"):
        KNeighborsClassifier(ties="undecided").fit(X, y)
    with pytest.raises(ValueError, match="another kind"):
        KNeighborsClassifier(min_share=0.5, unknown_label="none").fit(X, y)


def test_weights_of_rows_and_classes() -> None:
    X, y = np.array([[0.0], [1.0], [2.0]]), np.array(["x", "y", "y"])
    assert KNeighborsClassifier(3).fit(X, y).predict([[1.0]]).tolist() == ["y"]
    assert KNeighborsClassifier(3).fit(X, y, vote_weight=[3, 1, 1]).predict([[1.0]]).tolist() == ["x"]
    proba = KNeighborsClassifier(3, class_vote_weight="balanced").fit(X, y).predict_proba([[1.0]])
    np.testing.assert_array_equal(proba, [[0.5, 0.5]])
    assert KNeighborsRegressor(3).fit(X, [0, 0, 5], vote_weight=[1, 1, 8]).predict([[1.0]]).tolist() == [4.0]
    for bad, message in (([1, 0, 1], "positive"), ([1, 1], "one weight per row"), ([1, np.nan, 1], "positive")):
        with pytest.raises(ValueError, match=message):
            KNeighborsClassifier(3).fit(X, y, vote_weight=bad)
    with pytest.raises(ValueError, match=r"\['z'\], which are no classes"):
        KNeighborsClassifier(3, class_vote_weight={"z": 2}).fit(X, y)
    with pytest.raises(ValueError, match="positive, finite"):
        KNeighborsClassifier(3, class_vote_weight={"x": -1}).fit(X, y)


def test_gaussian_weights_at_the_ends_of_the_range() -> None:
    """Trap 1: weights are relative to the nearest, so they neither vanish together nor overflow."""
    for scale in (1e-150, 1.0, 1e150):
        X = np.array([[1.0], [3.0], [4.0]]) * scale
        for bandwidth in (None, 2 * scale, 1e-3 * scale):
            model = KNeighborsClassifier(3, weights="gaussian", bandwidth=bandwidth).fit(X, [0, 1, 1])
            expected = shares_of([(1.0, 0, 1.0), (3.0, 1, 1.0), (4.0, 1, 1.0)], 2, "gaussian",
                                 None if bandwidth is None else max(bandwidth / scale, 0.1))  # fmt: skip
            found = model.predict_proba(np.zeros((1, 1)))
            np.testing.assert_allclose(found, [expected], rtol=1e-12, atol=1e-12)
    same = KNeighborsClassifier(2, weights="gaussian").fit([[0.0], [0.0]], ["p", "q"])
    np.testing.assert_array_equal(same.predict_proba([[0.0]]), [[0.5, 0.5]])


def _one_vote(distances: Sequence[float], labels: Sequence[int], **rule: Any) -> NDArray[np.int32]:
    winners = np.empty((1, 1), dtype=np.int32)
    _core.vote_classes(
        np.array([0, len(distances)]), np.arange(len(distances)), np.array(distances), None, rule.get("row_weights"),
        np.array(labels, dtype=np.int32), 2, np.array([9], dtype=np.int32),
        np.array([rule.get("weighting", 0)], dtype=np.int32),
        0.0, None, None, rule.get("ties", 0), 0.0, 0, rule.get("draws"), winners, None, 1,
    )  # fmt: skip
    return winners


def test_the_engine_refuses_what_would_be_unsafe() -> None:
    assert _one_vote([], []).tolist() == [[-1]]
    assert _one_vote([0.0], [1]).tolist() == [[1]]
    for rule, message in (
        ({"ties": 4}, "ties must be"), ({"ties": 2}, "one draw per query"), ({"weighting": 2}, "needs weights"),
        ({"row_weights": np.array([0.0])}, "positive"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            _one_vote([0.0], [1], **rule)


# --- radii -----------------------------------------------------------------------------------------------------------


def _square(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + distances) ** 2


@pytest.mark.parametrize("weights", ["uniform", "distance", _square])
@pytest.mark.parametrize("radius", [0.4, 1.1])
def test_radius_learners_answer_as_scikit_learns(weights: Any, radius: float) -> None:
    """Trap 16: another library as referee."""
    X, y, _, queries = _problem("normal", 200)
    two = np.column_stack([y, np.where(X[:, 0] > 0, "u", "v")])
    for labels, outlier in ((y, "a"), (two, ["b", "v"]), (y, "most_frequent")):
        ours = RadiusNeighborsClassifier(radius, weights=weights, outlier_label=outlier).fit(X, labels)
        theirs = sklearn.neighbors.RadiusNeighborsClassifier(radius, weights=weights, outlier_label=outlier)
        theirs.set_params(algorithm="kd_tree").fit(X, labels)
        np.testing.assert_array_equal(ours.predict(queries), theirs.predict(queries))
        found, expected = ours.predict_proba(queries), theirs.predict_proba(queries)
        for one, other in zip(*(([found], [expected]) if labels.ndim == 1 else (found, expected)), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9)
    inside = np.isfinite(queries).all(axis=1) & (np.abs(queries).max(axis=1) < 1)
    numbers = RadiusNeighborsRegressor(1.1, weights=weights).fit(X, X[:, 0])
    their_numbers = sklearn.neighbors.RadiusNeighborsRegressor(1.1, weights=weights).fit(X, X[:, 0])
    np.testing.assert_allclose(numbers.predict(queries[inside]), their_numbers.predict(queries[inside]), rtol=1e-9)


def test_a_radius_without_rows() -> None:
    X, y = np.array([[0.0], [1.0]]), np.array(["short", "s"])
    with pytest.raises(ValueError, match=r"No neighbors found for test samples \[1\]"):
        RadiusNeighborsClassifier(0.5).fit(X, y).predict([[0.0], [5.0]])
    far = RadiusNeighborsClassifier(0.5, outlier_label="far from anything").fit(X, y)
    with pytest.warns(UserWarning, match="not in training classes"):
        assert far.predict([[0.0], [5.0]]).tolist() == ["short", "far from anything"]
    with pytest.warns(UserWarning, match="predicting NaN"):
        assert np.isnan(RadiusNeighborsRegressor(0.5).fit(X, [1.0, 2.0]).predict([[5.0]])).all()
    assert not hasattr(far, "kneighbors")
    undecided = RadiusNeighborsClassifier(2.0, ties="undecided", outlier_label="s").fit(X, y)
    assert undecided.predict([[0.5], [9.0]]).tolist() == ["unknown", "s"]


# --- files, threads, instruction sets --------------------------------------------------------------------------------

STORED = {
    "weights of rows and classes": KNeighborsClassifier(3, weights="gaussian", class_vote_weight={"a": 2, "b": 0.5}),
    "abstains": KNeighborsClassifier(4, ties="undecided", max_distance=1.0, unknown_label="?"),
    "radius": RadiusNeighborsClassifier(0.8, weights="distance", outlier_label="far", class_vote_weight="balanced"),
    "radius, values": RadiusNeighborsRegressor(0.8, weights="gaussian"),
}


@pytest.mark.filterwarnings("ignore:Outlier label", "ignore:One or more samples")
@pytest.mark.parametrize("name", STORED)
def test_model_files_keep_every_weight(name: str, tmp_path: Any) -> None:
    X, y, weights, queries = _problem("normal")
    model = STORED[name].fit(X, X[:, 0] if "values" in name else y, vote_weight=weights)
    save_model(tmp_path / "model", model)
    again = open_model(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(queries), model.predict(queries))
    for own in ("classes_", "outlier_label_"):
        assert hasattr(again, own) == hasattr(model, own)
    if name.startswith("weights"):
        assert again.class_vote_weight == {"a": 2.0, "b": 0.5, "c": 1.0, "d": 1.0}


_PRINT_BITS = """
import hashlib, numpy as np
from tonari.neighbors import KNeighborsClassifier, RadiusNeighborsRegressor
rng = np.random.default_rng(3)
X, y, w, Q = rng.normal(size=(700, 5)), rng.integers(0, 4, 700), rng.integers(1, 5, 700), rng.normal(size=(300, 5))
found = hashlib.sha256()
for jobs in (1, 3):
    for ties in ("nearest", "random"):
        model = KNeighborsClassifier(8, weights="gaussian", ties=ties, class_vote_weight="balanced", n_jobs=jobs)
        model.fit(X, y, vote_weight=w)
        found.update(model.predict_proba(Q).tobytes() + model.predict(Q).tobytes())
        found.update(model.predict_proba(Q[:7]).tobytes())
    mean = RadiusNeighborsRegressor(3.0, weights="gaussian", n_jobs=jobs).fit(X, y, vote_weight=w)
    found.update(mean.predict(Q).tobytes())
print(found.hexdigest())
"""


def test_the_same_bits_for_every_instruction_set() -> None:
    """Trap 2."""
    answers = {
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", _PRINT_BITS], env={**os.environ, "TONARI_ISA": isa}, check=True,
            capture_output=True, text=True, timeout=120,
        ).stdout
        for isa in ("generic", "")
    }  # fmt: skip
    assert len(answers) == 1
