"""What users hand over and get back: types, frames, labels, pickles, wrong values.

Guards traps 3 (NaN dropped in silence), 5 (silent casts), 8 (columns in another order), 4 (padding where k > n), and
that a fitted model belongs to itself: nothing that happens to the caller's arrays afterwards changes its answers.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from tests.reference.neighbors import assert_same_neighbours, distance_matrix
from tonari.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors

LEARNERS = [NearestNeighbors, KNeighborsClassifier, KNeighborsRegressor]
METRICS = ["euclidean", "manhattan", "chebyshev", "cosine"]


def table(dtype: Any = np.float64, n: int = 80, dim: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(12)
    rows = (rng.standard_normal((n, dim)) * 4).astype(dtype)
    return rows, (rng.standard_normal((15, dim)) * 4).astype(dtype), rng.integers(0, 3, n)


@pytest.mark.parametrize("Learner", LEARNERS)
@pytest.mark.parametrize("metric", METRICS)
def test_changing_the_callers_array_changes_nothing(Learner: Any, metric: str) -> None:
    """Trap 5, and scikit-learn's own: a model that keeps a view of X answers from whatever is there later."""
    for dtype in (np.float32, np.float64):
        rows, queries, y = table(dtype)
        y = y.copy()
        model = Learner(n_neighbors=4, metric=metric).fit(rows, y)
        before = model.kneighbors(queries)
        answer = None if Learner is NearestNeighbors else model.predict(queries)
        rows[:] = 0
        y[:] = 0
        after = model.kneighbors(queries)
        np.testing.assert_array_equal(after[0], before[0])
        np.testing.assert_array_equal(after[1], before[1])
        if answer is not None:
            np.testing.assert_array_equal(model.predict(queries), answer)


def test_answers_belong_to_the_caller() -> None:
    """Writing into what kneighbors returned must not reach the model."""
    rows, queries, _ = table()
    model = NearestNeighbors(n_neighbors=4).fit(rows)
    first = [part.copy() for part in model.kneighbors(queries)]
    for part in model.kneighbors(queries):
        part[:] = 7
    np.testing.assert_array_equal(model.kneighbors(queries)[0], first[0])
    np.testing.assert_array_equal(model.kneighbors(queries)[1], first[1])


def test_float32_stays_float32() -> None:
    """Trap 5: float32 is neither widened when it is kept nor answered with float32 distances."""
    rows, queries, _ = table(np.float32, n=4_000)
    model = NearestNeighbors(n_neighbors=4).fit(rows)
    assert model._fit_X.dtype == np.float32
    assert len(pickle.dumps(model)) < 1.5 * rows.nbytes
    assert model.kneighbors(queries)[0].dtype == np.float64
    assert_same_neighbours(model.kneighbors(queries), distance_matrix(queries, rows), 4)


@pytest.mark.parametrize("metric", METRICS)
def test_float64_queries_of_float32_rows_keep_their_digits(metric: str) -> None:
    """Trap 5: rounding the query to the type of the rows moves it; the two must meet in the wider type."""
    rows, _, _ = table(np.float32)
    queries = rows[:9].astype(np.float64) + 1e-12
    found = NearestNeighbors(n_neighbors=5, metric=metric).fit(rows).kneighbors(queries)
    assert_same_neighbours(found, distance_matrix(queries, rows, metric), 5, metric)
    wide = rows.astype(np.float64) + 1e-12
    found = NearestNeighbors(n_neighbors=5, metric=metric).fit(wide).kneighbors(rows[:9])
    assert_same_neighbours(found, distance_matrix(rows[:9], wide, metric), 5, metric)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64, bool, np.float16])
def test_other_numbers(dtype: Any) -> None:
    """Trap 5: small integers must not wrap round when they are subtracted."""
    rng = np.random.default_rng(1)
    rows, queries = (rng.integers(0, 2 if dtype is bool else 120, (n, 5)).astype(dtype) for n in (90, 20))
    found = NearestNeighbors(n_neighbors=6).fit(rows).kneighbors(queries)
    wide_rows, wide_queries = rows.astype(np.float64), queries.astype(np.float64)
    assert_same_neighbours(found, distance_matrix(wide_queries, wide_rows), 6, exact=True)


def test_lists_and_big_endian() -> None:
    rows, queries, y = table()
    expected = KNeighborsClassifier(3).fit(rows, y).predict_proba(queries)
    for dtype in (">f8", "<f8"):
        model = KNeighborsClassifier(3).fit(rows.astype(dtype), list(y))
        np.testing.assert_array_equal(model.predict_proba(queries.astype(dtype).tolist()), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_memory_mapped_and_read_only(tmp_path: Path, dtype: Any) -> None:
    """joblib hands read-only memory maps to its workers; a writeable-only buffer would refuse them."""
    rows, queries, y = table(dtype)
    for name, array in (("rows", rows), ("queries", queries), ("y", y)):
        np.save(tmp_path / f"{name}.npy", array)
    mapped = [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("rows", "queries", "y")]
    model = KNeighborsClassifier(5).fit(mapped[0], mapped[2])
    np.testing.assert_array_equal(
        model.predict_proba(mapped[1]), KNeighborsClassifier(5).fit(rows, y).predict_proba(queries)
    )
    assert_same_neighbours(model.kneighbors(mapped[1]), distance_matrix(queries, rows), 5)


@pytest.mark.parametrize("to_frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames(to_frame: Callable[..., Any]) -> None:
    """Trap 8: columns accepted in another order than at fit; names are learned, answers equal those of the array."""
    rows, queries, y = table()
    names = [f"c{i}" for i in range(rows.shape[1])]

    def frame(array: np.ndarray, order: list[str] = names) -> Any:
        return to_frame({name: array[:, names.index(name)] for name in order})

    labels = np.array(["low", "mid", "high"])[y]
    plain = KNeighborsClassifier(3).fit(rows, labels)
    model = KNeighborsClassifier(3).fit(frame(rows), labels)
    assert list(model.feature_names_in_) == names
    assert model.n_features_in_ == len(names)
    np.testing.assert_array_equal(model.predict(frame(queries)), plain.predict(queries))
    np.testing.assert_array_equal(model.kneighbors(frame(queries))[0], plain.kneighbors(queries)[0])
    with pytest.raises(ValueError, match="order"):
        model.predict(frame(queries, names[::-1]))
    with pytest.raises(ValueError, match="missing"):
        model.predict(frame(queries, names[:-1]))


@pytest.mark.parametrize("to_series", [pd.Series, pl.Series, list, np.array], ids=["pandas", "polars", "list", "numpy"])
def test_labels_come_back_as_they_were(to_series: Callable[..., Any]) -> None:
    """Trap 5: integer labels to float, strings to objects, booleans to integers."""
    rows, queries, y = table()
    for names in (["b", "a", "ccc"], [10, -3, 7], [True, False, True], [2.0, 0.0, 1.0]):
        labels = [names[i] for i in y]
        model = KNeighborsClassifier(4).fit(rows, to_series(labels))
        assert list(model.classes_) == sorted(set(names))
        answer = model.predict(queries)
        assert set(answer) <= set(names)
        assert answer.dtype.kind == model.classes_.dtype.kind
        np.testing.assert_array_equal(answer, model.classes_[model.predict_proba(queries).argmax(axis=1)])


def test_several_outputs() -> None:
    """Each output is answered as if it were alone, with labels of its own."""
    rows, queries, y = table()
    other = (rows[:, 0] > 0).astype(int) * 5
    for weights in ("uniform", "distance"):
        both = KNeighborsClassifier(4, weights=weights).fit(rows, np.c_[y, other])
        shares = both.predict_proba(queries)
        for i, column in enumerate((y, other)):
            alone = KNeighborsClassifier(4, weights=weights).fit(rows, column)
            np.testing.assert_array_equal(both.predict(queries)[:, i], alone.predict(queries))
            np.testing.assert_array_equal(shares[i], alone.predict_proba(queries))
            np.testing.assert_array_equal(both.classes_[i], alone.classes_)
        targets = np.c_[rows[:, 1], rows[:, 2] ** 2]
        regressor = KNeighborsRegressor(4, weights=weights).fit(rows, targets)
        for i in range(2):
            alone = KNeighborsRegressor(4, weights=weights).fit(rows, targets[:, i])
            np.testing.assert_array_equal(regressor.predict(queries)[:, i], alone.predict(queries))


@pytest.mark.parametrize("Learner", LEARNERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_copies(Learner: Any, dtype: Any) -> None:
    """A pickle, a deep copy and a clone: the first two answer the same bits, the last is not fitted."""
    rows, queries, y = table(dtype)
    model = Learner(n_neighbors=3, metric="manhattan", n_jobs=2).fit(rows, y)
    copies = [copy.deepcopy(model)]
    copies += [pickle.loads(pickle.dumps(model, protocol)) for protocol in (2, pickle.HIGHEST_PROTOCOL)]
    copies.append(pickle.loads(pickle.dumps(copies[-1])))
    for other in copies:
        assert other.get_params() == model.get_params()
        for got, expected in zip(other.kneighbors(queries), model.kneighbors(queries), strict=True):
            np.testing.assert_array_equal(got, expected)
        if Learner is not NearestNeighbors:
            np.testing.assert_array_equal(other.predict(queries), model.predict(queries))
    with pytest.raises(NotFittedError):
        clone(model).kneighbors(queries)


@pytest.mark.parametrize("Learner", LEARNERS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_refused(Learner: Any, bad: float) -> None:
    """Trap 3: NaN in a heap or in a comparison is dropped in silence."""
    for dtype in (np.float32, np.float64):
        rows, queries, y = table(dtype)
        model = Learner(n_neighbors=3).fit(rows, y)
        queries[2, 1] = bad
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            model.kneighbors(queries)
        rows[5, 0] = bad
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            Learner(n_neighbors=3).fit(rows, y)


def test_more_neighbours_than_rows() -> None:
    """Trap 4: -1 padding; too large a k is an error that tells both numbers, at prediction as in scikit-learn."""
    rows, queries, y = table(n=10)
    for model in (NearestNeighbors(n_neighbors=11).fit(rows), KNeighborsClassifier(11).fit(rows, y)):
        with pytest.raises(ValueError, match=r"n_neighbors = 11, n_samples_fit = 10"):
            model.kneighbors(queries)
    with pytest.raises(ValueError, match=r"n_neighbors = 11"):
        KNeighborsClassifier(11).fit(rows, y).predict(queries)
    model = NearestNeighbors(n_neighbors=3).fit(rows)
    assert model.kneighbors(n_neighbors=9)[1].shape == (10, 9)
    with pytest.raises(ValueError, match=r"n_neighbors < n_samples_fit"):
        model.kneighbors(n_neighbors=10)


@pytest.mark.parametrize("k", [0, -2])
def test_no_neighbours(k: int) -> None:
    rows, queries, _ = table()
    with pytest.raises(ValueError, match="n_neighbors"):
        NearestNeighbors(n_neighbors=k).fit(rows)
    with pytest.raises(ValueError, match="n_neighbors"):
        NearestNeighbors().fit(rows).kneighbors(queries, n_neighbors=k)


def test_k_must_be_a_whole_number() -> None:
    rows, queries, _ = table()
    with pytest.raises(TypeError, match="n_neighbors"):
        NearestNeighbors().fit(rows).kneighbors(queries, n_neighbors=2.0)
    with pytest.raises(ValueError, match="n_neighbors"):
        NearestNeighbors(n_neighbors=2.0).fit(rows)


def test_unknown_metric_and_power() -> None:
    """An option that cannot be carried out is refused; it never falls back to another metric."""
    rows, _, _ = table()
    with pytest.raises(ValueError, match="metric"):
        NearestNeighbors(metric="euclidian").fit(rows)
    with pytest.raises(ValueError, match="'p'"):
        NearestNeighbors(metric="minkowski", p=0).fit(rows)


def test_metrics_that_are_not_native() -> None:
    """Every metric of scikit-learn's brute force, a callable, and a precomputed matrix: ordered by (distance, row)."""
    rows, queries, _ = table()
    rows, queries = np.abs(rows), np.abs(queries)
    for metric in ("canberra", "braycurtis", "sqeuclidean", "correlation"):
        distances, order = NearestNeighbors(n_neighbors=7, metric=metric).fit(rows).kneighbors(queries)
        assert (np.diff(distances, axis=1) >= 0).all()
        assert order.dtype == np.int64
    by_name = NearestNeighbors(n_neighbors=7, metric="manhattan").fit(rows).kneighbors(queries)
    by_call = NearestNeighbors(n_neighbors=7, metric=lambda a, b: np.abs(a - b).sum()).fit(rows).kneighbors(queries)
    np.testing.assert_array_equal(by_call[1], by_name[1])
    np.testing.assert_allclose(by_call[0], by_name[0], rtol=1e-13)
    matrix = distance_matrix(queries, rows, "manhattan")
    model = NearestNeighbors(n_neighbors=7, metric="precomputed").fit(distance_matrix(rows, rows, "manhattan"))
    np.testing.assert_array_equal(model.kneighbors(matrix)[1], by_name[1])
    ties = NearestNeighbors(n_neighbors=5, metric="precomputed").fit(np.ones((9, 9)))
    np.testing.assert_array_equal(ties.kneighbors(np.ones((2, 9)))[1], np.tile(np.arange(5), (2, 1)))


def test_sparse_rows() -> None:
    rows, queries, y = table()
    rows[np.abs(rows) < 3] = 0
    queries[np.abs(queries) < 3] = 0
    dense = KNeighborsClassifier(4).fit(rows, y)
    for model in (KNeighborsClassifier(4).fit(csr_array(rows), y), dense):
        distances, order = model.kneighbors(csr_array(queries))
        np.testing.assert_allclose(distances, dense.kneighbors(queries)[0], rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(model.predict(csr_array(queries)), dense.predict(queries))
        assert order.dtype == np.int64


def test_weights_by_a_function() -> None:
    rows, queries, y = table()
    halves = KNeighborsClassifier(6, weights=lambda distances: 1 / (1 + distances**2)).fit(rows, y)
    assert halves.predict_proba(queries).sum(axis=1) == pytest.approx(1)
    ones = KNeighborsClassifier(6, weights=np.ones_like).fit(rows, y).predict_proba(queries)
    np.testing.assert_allclose(ones, KNeighborsClassifier(6).fit(rows, y).predict_proba(queries), rtol=1e-15)


def test_graph() -> None:
    """kneighbors_graph holds what kneighbors returns."""
    rows, queries, _ = table()
    model = NearestNeighbors(n_neighbors=4).fit(rows)
    distances, order = model.kneighbors(queries)
    graph = model.kneighbors_graph(queries, mode="distance")
    assert graph.shape == (len(queries), len(rows))
    np.testing.assert_array_equal(graph.indices.reshape(order.shape), order)
    np.testing.assert_array_equal(graph.data.reshape(distances.shape), distances)
    assert (model.kneighbors_graph(queries).data == 1).all()


def test_one_row_and_one_column() -> None:
    model = NearestNeighbors(n_neighbors=1).fit([[3.0]])
    assert [part.tolist() for part in model.kneighbors([[1.0]])] == [[[2.0]], [[0]]]
    with pytest.raises(ValueError, match="n_neighbors"):
        model.kneighbors()


def test_no_queries() -> None:
    """An empty query table is an error in words, as in scikit-learn, not an empty answer or a crash."""
    rows, _, _ = table()
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        NearestNeighbors().fit(rows).kneighbors(np.empty((0, rows.shape[1])))
