"""Exact search against the oracle: random problems by number, then the traps that deserve a test of their own.

Traps 1 (norm expansion), 3 (NaN in a heap), 4 (duplicates, zero vectors, padding, own row, ties), 5 (silent casts),
8 (predict against predict_proba), 16 (tests that compare a thing with itself).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.reference.neighbor_cases import QUERIES, RECIPES, Case, draw_case
from tests.reference.neighbors import (
    assert_same_neighbours,
    class_shares,
    distance_matrix,
    error_bound,
    mean_target,
    nearest,
    within,
)
from tonari.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors

CASES, BATCH = 4_800, 50
FILTERS = ("auto", "plain", "flat", "heads")
CODED = ("euclidean", "l2", "minkowski", "cosine")  # metrics that codes may filter
NATIVE = ["euclidean", "manhattan", "chebyshev", "minkowski", "cosine"]


def search(case: Case) -> NearestNeighbors:
    return NearestNeighbors(n_neighbors=case.k, metric=case.metric, p=case.p, n_jobs=case.n_jobs).fit(case.rows)


def oracle(case: Case) -> np.ndarray:
    queries = case.rows if case.queries is None else case.queries
    return distance_matrix(queries, case.rows, case.metric, case.p)


@pytest.mark.parametrize("batch", range(CASES // BATCH))
def test_random_problems(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Traps 1, 4, 5: offsets, exponents, duplicates, grids, outliers, awkward sizes; each case is named by number.

    Some 4,800 problems, those of Euclidean kind once for every filter: more than 10,000 searches.
    """
    failures = []
    for number in range(batch * BATCH, (batch + 1) * BATCH):
        case = draw_case(number)
        truth = oracle(case)
        for how in FILTERS if case.metric in CODED else FILTERS[:1]:
            monkeypatch.setenv("TONARI_FILTER", how)
            found = search(case).kneighbors(case.queries)
            try:
                assert_same_neighbours(
                    found, truth, case.k, case.metric, case.p, own_row=case.queries is None, exact=case.exact
                )
            except AssertionError as error:
                failures.append(f"{how}, {case}\n    {str(error).splitlines()[0]}")
    assert not failures, f"{len(failures)} searches\n" + "\n".join(failures)


def test_the_random_problems_reach_what_they_are_for() -> None:
    """Trap 16: a generator that stopped drawing a kind of problem would leave the suite green."""
    cases = [draw_case(number) for number in range(0, CASES, 4)]
    assert {case.recipe for case in cases} == set(RECIPES)
    assert {case.asked for case in cases} == set(QUERIES)
    assert {case.rows.dtype for case in cases} == {np.dtype(np.float32), np.dtype(np.float64)}
    assert {case.metric for case in cases} >= set(NATIVE)
    assert min(case.offset for case in cases) == -1e3
    assert max(case.offset for case in cases) == 1e6
    assert max(case.rows.shape[1] for case in cases) == 2000
    assert any(case.k == len(case.rows) > 50 for case in cases)
    assert sum(case.exact for case in cases) > 50


@pytest.mark.parametrize("number", range(0, CASES, 60))
def test_radius_neighbours(number: int) -> None:
    """The rows at most a radius away: the same set as the oracle's, boundary rows included."""
    case = draw_case(number)
    distances = oracle(case)
    if case.queries is None:
        np.fill_diagonal(distances, np.inf)
    ordered = np.sort(distances[0])
    radius = float(ordered[min(case.k, len(ordered) - 1)])
    if not np.isfinite(radius):
        radius = float(ordered[0])
    model = NearestNeighbors(radius=radius, metric=case.metric, p=case.p, n_jobs=case.n_jobs).fit(case.rows)
    found, rows = model.radius_neighbors(case.queries, sort_results=True)
    slack = float(np.max(error_bound(np.array([radius]), case.metric, case.p)))
    for i, (inner, outer) in enumerate(
        zip(within(distances, radius - slack), within(distances, radius + slack), strict=True)
    ):
        assert set(inner) <= set(rows[i]) <= set(outer), str(case)
        assert len(set(rows[i])) == len(rows[i])
        order = np.lexsort((rows[i], found[i]))
        np.testing.assert_array_equal(order, np.arange(len(order)), err_msg=str(case))
        true = distances[i][rows[i]]
        assert (np.abs(found[i] - true) <= error_bound(true, case.metric, case.p)).all(), str(case)


@pytest.mark.parametrize("spread", [100, 1_000, 10_000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shifted_data(spread: float, dtype: Any) -> None:
    """Trap 1: with mean / std of 100, 1,000 and 10,000 the norm expansion in float32 is wrong 2.5, 77.5, 100 %."""
    rng = np.random.default_rng(11)
    rows = (rng.standard_normal((1_500, 64)) + spread).astype(dtype)
    queries = (rng.standard_normal((40, 64)) + spread).astype(dtype)
    found = NearestNeighbors(n_neighbors=10).fit(rows).kneighbors(queries)
    assert_same_neighbours(found, distance_matrix(queries, rows), 10)


@pytest.mark.parametrize("metric", NATIVE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exact_duplicates_are_at_zero(metric: str, dtype: Any) -> None:
    """Trap 4: duplicates at distance 1e-9; equal rows are at 0, in the order of their numbers, far from the origin."""
    rng = np.random.default_rng(5)
    distinct = (rng.standard_normal((60, 33)) * 3 + 1e5).astype(dtype)
    rows = np.concatenate([distinct, distinct, distinct])
    found, order = NearestNeighbors(n_neighbors=4, metric=metric, p=3).fit(rows).kneighbors(distinct)
    assert (found[:, :3] == 0).all()
    assert (found[:, 3] > 0).all()
    np.testing.assert_array_equal(order[:, :3], np.arange(60)[:, np.newaxis] + [0, 60, 120])


@pytest.mark.parametrize("metric", NATIVE)
def test_equal_rows_come_in_row_order(metric: str) -> None:
    """Trap 4: ties broken by the algorithm; 700 equal rows fill every heap and every block with one distance."""
    rows = np.full((700, 5), 2.5, dtype=np.float32)
    for k in (1, 16, 257, 700):
        _, order = NearestNeighbors(n_neighbors=k, metric=metric, p=3).fit(rows).kneighbors(rows[:3] + 1)
        np.testing.assert_array_equal(order, np.tile(np.arange(k), (3, 1)))


@pytest.mark.parametrize("metric", NATIVE)
def test_a_smaller_k_is_a_prefix(metric: str) -> None:
    """All k come from one search: rows whose sums differ only by rounding must not change sides when k cuts there."""
    rng = np.random.default_rng(2)
    rows = rng.permuted(np.tile(rng.standard_normal(24), (500, 1)), axis=1)
    queries = np.concatenate([np.full((3, 24), 0.5), rng.standard_normal((3, 24))])
    model = NearestNeighbors(metric=metric, p=3).fit(rows)
    all_distances, all_rows = model.kneighbors(queries, n_neighbors=500)
    for k in (1, 2, 3, 7, 16, 63, 128, 499):
        distances, order = model.kneighbors(queries, n_neighbors=k)
        np.testing.assert_array_equal(order, all_rows[:, :k])
        np.testing.assert_array_equal(distances, all_distances[:, :k])


def test_own_row_is_left_out_even_among_duplicates() -> None:
    """Trap 4: the row itself among its own neighbours; with duplicates the first column is not always the row."""
    rows = np.repeat(np.arange(5.0), 4)[:, np.newaxis]
    found = NearestNeighbors(n_neighbors=3).fit(rows).kneighbors()
    assert_same_neighbours(found, distance_matrix(rows, rows), 3, own_row=True, exact=True)
    assert (found[0] == 0).all()
    everything = NearestNeighbors().fit(rows).kneighbors(n_neighbors=19)
    assert_same_neighbours(everything, distance_matrix(rows, rows), 19, own_row=True, exact=True)


def test_zero_vectors_under_cosine() -> None:
    """Trap 4: a zero vector is at distance 1 from everything, a zero query finds the first rows."""
    rows = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [-3.0, 0.0]])
    queries = np.array([[0.0, 0.0], [2.0, 0.0]])
    distances, order = NearestNeighbors(n_neighbors=4, metric="cosine").fit(rows).kneighbors(queries)
    assert distances.tolist() == [[1, 1, 1, 1], [0, 1, 1, 2]]
    assert order.tolist() == [[0, 1, 2, 3], [1, 0, 2, 3]]


@pytest.mark.parametrize(("dtype", "scale"), [(np.float64, 1e-200), (np.float64, 1e200), (np.float32, 1e-30)])
@pytest.mark.parametrize("metric", NATIVE)
def test_extreme_exponents(metric: str, dtype: Any, scale: float) -> None:
    """Squares that underflow make every row equal, squares that overflow make every distance infinite."""
    rng = np.random.default_rng(8)
    rows, queries = ((rng.standard_normal((n, 12)) * scale).astype(dtype) for n in (80, 9))
    found = NearestNeighbors(n_neighbors=7, metric=metric, p=3).fit(rows).kneighbors(queries)
    assert_same_neighbours(found, distance_matrix(queries, rows, metric, 3), 7, metric, 3)


def test_rows_of_very_different_size_in_one_table() -> None:
    """One far row must not take the digits of the others, whatever is centred or scaled on the way."""
    rng = np.random.default_rng(9)
    for dtype, far in ((np.float32, 1e30), (np.float64, 1e150)):
        rows = rng.standard_normal((300, 20)).astype(dtype)
        rows[137] = far
        rows[200] *= 1e-20
        found = NearestNeighbors(n_neighbors=300).fit(rows).kneighbors(rows[:20])
        assert_same_neighbours(found, distance_matrix(rows[:20], rows), 300)


@pytest.mark.parametrize("metric", NATIVE)
def test_magnitudes_from_1e_minus_100_to_1e_100(metric: str) -> None:
    """No one scale fits such a table: what is scaled for the large rows must not lose the small ones."""
    rng = np.random.default_rng(10)
    rows = rng.standard_normal((200, 8)) * 10.0 ** rng.uniform(-100, 100, (200, 1))
    queries = np.concatenate([rows[:40], rows[40:80] * (1 + 1e-9)])
    found = NearestNeighbors(n_neighbors=20, metric=metric, p=3).fit(rows).kneighbors(queries)
    assert_same_neighbours(found, distance_matrix(queries, rows, metric, 3), 20, metric, 3)


@pytest.mark.parametrize("metric", NATIVE)
def test_small_rows_beside_a_large_one(metric: str) -> None:
    """Squares of 1e-170 vanish, so the rows look equal and come in row order, while their distances differ."""
    rng = np.random.default_rng(10)
    rows = rng.standard_normal((100, 4)) * 1e-170
    rows[0] = 1
    found = NearestNeighbors(n_neighbors=30, metric=metric, p=3).fit(rows).kneighbors(rows[:25])
    assert_same_neighbours(found, distance_matrix(rows[:25], rows, metric, 3), 30, metric, 3)


def _labelled(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    dim = int(rng.choice([1, 2, 3, 8, 17]))
    whole = seed % 2 == 0
    rows, queries = (rng.integers(0, 5, (n, dim)) if whole else rng.standard_normal((n, dim)) for n in (150, 60))
    return rows.astype(np.float64), queries.astype(np.float64), rng.integers(0, 4, 150), rng.standard_normal((150, 2))


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_votes_and_means(weights: Any, metric: str) -> None:
    """Labels, shares and means follow from the oracle's neighbours; ties go to the first class."""
    for seed in range(20):
        rows, queries, codes, targets = _labelled(seed)
        k = int(np.random.default_rng(seed).integers(1, 40))
        distances, order = nearest(distance_matrix(queries, rows, metric), k)
        shares = class_shares(distances, order, codes, 4, weights)
        classifier = KNeighborsClassifier(k, weights=weights, metric=metric).fit(rows, codes)
        np.testing.assert_allclose(classifier.predict_proba(queries), shares, rtol=1e-12, atol=1e-15)
        top = np.sort(shares, axis=1)
        clear = (top[:, -1] - top[:, -2] > 1e-12) | (weights == "uniform")
        np.testing.assert_array_equal(classifier.predict(queries)[clear], shares.argmax(axis=1)[clear])
        regressor = KNeighborsRegressor(k, weights=weights, metric=metric).fit(rows, targets)
        np.testing.assert_allclose(
            regressor.predict(queries), mean_target(distances, order, targets, weights), rtol=1e-11, atol=1e-13
        )


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_predict_is_the_argmax_of_predict_proba(weights: str) -> None:
    """Trap 8: the two must be one decision, most of all where votes are nearly equal."""
    for seed in range(40):
        rows, queries, codes, _ = _labelled(seed)
        labels = np.array(["d", "b", "a", "c"])[codes]
        for k in (2, 4, 9, 150):
            model = KNeighborsClassifier(k, weights=weights).fit(rows, labels)
            chosen = model.classes_[model.predict_proba(queries).argmax(axis=1)]
            np.testing.assert_array_equal(model.predict(queries), chosen)
