"""A tree gives the bits of exhaustive search, whatever its rules, and says so where it is asked for less.

Guards traps 2 and 4, duplicates that never end a recursion, and a tree that outlives its rows.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sklearn.neighbors
from numpy.typing import NDArray
from sklearn.model_selection import KFold, LeaveOneOut, ParameterGrid

from tests.reference.neighbor_cases import draw_case
from tonari.model_selection.splitting import draw_splits
from tonari.neighbors import BallTree, KDTree, KNeighborsClassifier, NearestNeighbors, space_tree
from tonari.neighbors.metrics import resolve_metric
from tonari.neighbors.search import NativeIndex, build_index
from tonari.neighbors.space_tree import SpaceTreeIndex

KINDS = ("kd_tree", "ball_tree")
TREES = {"kd_tree": KDTree, "ball_tree": BallTree}
RULES = [(split, threshold) for split in ("spread", "cyclic") for threshold in ("median", "midpoint")]
METRICS = [("euclidean", 2), ("manhattan", 2), ("chebyshev", 2), ("minkowski", 1.5), ("minkowski", 3), ("minkowski", 7)]
DTYPES = (np.float32, np.float64)


def same(found: Any, expected: Any) -> None:
    for got, wanted in zip(found, expected, strict=True):
        assert np.asarray(got).tobytes() == np.asarray(wanted).tobytes()


def tables() -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Rows made to break a tree, by name."""
    rng = np.random.default_rng(3)
    yield "uniform", rng.random((700, 3))
    yield "one row", rng.random((1, 4))
    yield "grid", rng.integers(0, 3, (900, 4)).astype(float)
    yield "all equal", np.full((500, 2), 7.25)
    yield "few distinct", np.repeat(rng.random((9, 5)), 80, axis=0)[rng.permutation(720)]
    yield "constant columns", np.column_stack([np.full((400, 2), 3.0), rng.random(400), np.zeros(400)])
    yield "far away", rng.standard_normal((600, 6)) + 1e6
    yield "outliers", rng.standard_normal((300, 3)) * 10.0 ** rng.integers(-8, 9, (300, 1))
    yield "ever smaller", np.ldexp(1.0, -np.arange(900))[:, None] * [1.0, 0.5]
    yield "heavy tails", np.exp(9 * rng.standard_normal((500, 2)))
    yield "sorted", np.sort(rng.random((640, 1)), axis=0)
    yield "seventeen columns", rng.standard_normal((400, 17)) @ np.diag(0.7 ** np.arange(17))
    yield "tiny", rng.standard_normal((200, 3)) * 1e-170
    yield "huge", rng.standard_normal((150, 3)) * 1e170
    yield "subnormal", rng.integers(-4, 5, (150, 2)) * 5e-324
    yield "nearly tiny", rng.standard_normal((300, 3)) * 1e-110 * 10.0 ** rng.integers(-40, 1, (300, 1))


TABLES = dict(tables())


def queries_for(rows: NDArray[Any]) -> NDArray[Any]:
    """Rows, the next few numbers beside rows, points between rows, and points outside."""
    rng = np.random.default_rng(5)
    chosen = rows[rng.integers(0, len(rows), 24)]
    near = chosen[:8] + rng.integers(-2, 3, chosen[:8].shape).astype(rows.dtype) * np.spacing(chosen[:8])
    between = chosen[:8] / 2 + chosen[8:16] / 2
    return np.concatenate([chosen, near, between, chosen[:3] * 2 + 1]).astype(rows.dtype)


def both(
    rows: Any, kind: str, metric: str, p: float, *, threads: int = 2, **how: Any
) -> tuple[NativeIndex, SpaceTreeIndex]:
    choice = resolve_metric(metric, p, None)
    return NativeIndex(rows, choice, threads), SpaceTreeIndex(rows, kind, choice, threads, **how)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TABLES)
def test_bits_of_exhaustive_search_on_hostile_tables(name: str, kind: str, dtype: Any) -> None:
    if dtype == np.float32 and name in ("tiny", "huge", "subnormal", "nearly tiny"):
        pytest.skip("beyond float32")
    rows = TABLES[name].astype(dtype)
    queries = queries_for(rows)
    n = len(rows)
    for i, (split, threshold) in enumerate(RULES):
        for metric, p in METRICS[i % 2 :: 2]:
            exhaustive, tree = both(
                rows, kind, metric, p, leaf_size=(1, 6, 30)[i % 3], split=split, threshold=threshold
            )
            for k in {1, min(n, 7), min(n, 80), n}:
                expected = exhaustive.search(queries, k, None, None, 1)
                same(tree.search(queries, k, None, None, 1 + i % 3), expected)
            radius = float(np.median(expected[0]))
            same(tree.within(queries, radius, None, None, 1), exhaustive.within(queries, radius, None, None, 1))


@pytest.mark.parametrize("first", range(0, 1_200, 100))
def test_bits_of_exhaustive_search_on_random_problems(first: int) -> None:
    for number in range(first, first + 100, 4):
        case = draw_case(number)
        if case.metric == "cosine":
            continue
        rng = np.random.default_rng(number)
        how = {"metric": case.metric, "p": case.p, "n_jobs": case.n_jobs, "leaf_size": int(rng.choice([1, 4, 30]))}
        models = [NearestNeighbors(algorithm=name, **how).fit(case.rows) for name in ("brute", *KINDS)]
        expected, *found = [model.kneighbors(case.queries, case.k) for model in models]
        for answer in found:
            same(answer, expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dim", range(1, 21))
def test_every_number_of_columns(dim: int, kind: str) -> None:
    """Up to sixteen columns the leaf decides, in the order of lanes of each number of columns; beyond it filters."""
    rng = np.random.default_rng(dim)
    rows = rng.integers(-40, 40, (500, dim)) / 8 + rng.integers(0, 2, (500, 1)) * rng.random((500, dim))
    queries = np.concatenate([rows[:20], rng.standard_normal((20, dim)) * 4])
    for metric in ("euclidean", "manhattan", "chebyshev"):
        exhaustive, tree = both(rows, kind, metric, 2)
        same(tree.search(queries, 12, None, None, 1), exhaustive.search(queries, 12, None, None, 1))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_groups(dtype: Any, kind: str) -> None:
    """A query's own group is left out, also where it fills all leaves near the query."""
    rng = np.random.default_rng(9)
    rows = np.sort(rng.integers(0, 40, (900, 2)), axis=0).astype(dtype)
    exhaustive, tree = both(rows, kind, "euclidean", 2, leaf_size=4)
    for groups in (np.arange(900), np.arange(900) // 300, rng.integers(0, 4, 900)):
        numbers = groups.astype(np.int32)
        asked = rng.permutation(900)[:120]
        for k in (1, 20, 90):
            expected = exhaustive.search(rows[asked], k, numbers, numbers[asked], 1)
            same(tree.search(rows[asked], k, numbers, numbers[asked], 2), expected)
    with pytest.raises(ValueError, match="fewer rows to choose from"):
        tree.search(rows[:3], 2, np.zeros(900, np.int32), np.zeros(3, np.int32), 1)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_tree_for_any_number_of_threads(kind: str) -> None:
    """Also the inexact answers, which show the shape of the tree."""
    rng = np.random.default_rng(4)
    rows, queries = rng.standard_normal((6_000, 3)), rng.standard_normal((300, 3))
    for split, threshold in RULES:
        trees = [TREES[kind](rows, 5, split=split, threshold=threshold, n_jobs=jobs) for jobs in (1, 2, 3)]
        for how in ({}, {"backtrack": False}, {"eps": 0.3}):
            expected, *found = [tree.query(queries, 9, **how) for tree in trees]
            for answer in found:
                same(answer, expected)
            order = rng.permutation(len(queries))
            same(trees[1].query(queries[order], 9, **how), [part[order] for part in expected])
            same(trees[1].query(queries[:5], 9, **how), [part[:5] for part in expected])


@pytest.mark.parametrize("kind", KINDS)
def test_queries_with_more_digits_than_the_rows(kind: str) -> None:
    rows = np.random.default_rng(2).random((300, 3)).astype(np.float32)
    queries = np.random.default_rng(3).random((40, 3))
    found = NearestNeighbors(algorithm=kind).fit(rows).kneighbors(queries)
    same(found, NearestNeighbors(algorithm="brute").fit(rows).kneighbors(queries))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["uniform", "grid", "heavy tails", "far away", "outliers", "seventeen columns"])
def test_shrunken_circle_keeps_its_guarantee(name: str, kind: str) -> None:
    """The i-th distance is at most 1 / eps times the true one: mission row B3, (1/eps)-approximate search."""
    rows = TABLES[name]
    queries = queries_for(rows)
    for metric, p in METRICS:
        tree = TREES[kind](rows, 3, metric=metric, p=p)
        exact = tree.query(queries, 8)[0]
        for eps in (1.0, 0.9, 1 / 3, 0.1, 1e-3):
            found, which = tree.query(queries, 8, eps=eps)
            assert (found >= exact).all()
            assert (found <= exact / eps * (1 + 1e-12)).all()
            assert all(len(set(line)) == 8 for line in which)
            radius = float(np.median(exact)) or 1.0
            outer = tree.query_radius(queries, radius)
            inner = tree.query_radius(queries, radius * eps)
            for some, sure, most in zip(tree.query_radius(queries, radius, eps=eps), inner, outer, strict=True):
                assert set(sure) <= set(some) <= set(most)


@pytest.mark.parametrize("kind", KINDS)
def test_less_is_asked_less_is_looked_at(kind: str) -> None:
    """Both inexact searches are inexact on this table, never better than exact, and look at fewer rows."""
    rng = np.random.default_rng(8)
    rows, queries = rng.random((4_000, 4)), rng.random((400, 4))
    tree = TREES[kind](rows, 8)
    exact = tree.query(queries, 5)[0]
    looked = []
    for how in ({}, {"eps": 1 / 3}, {"backtrack": False}):
        found, which = tree.query(queries, 5, **how)
        assert (found >= exact).all()
        assert ((found > exact).any(axis=1).mean() > 0.2) == bool(how)
        np.testing.assert_allclose(found, np.linalg.norm(rows[which] - queries[:, None], axis=2), rtol=1e-12)
        looked.append(visited(tree, queries, 5, **how))
    assert looked[0] > 1.5 * looked[1] > 1.5 * looked[2]


def visited(tree: Any, queries: NDArray[Any], k: int, *, backtrack: bool = True, eps: float = 1.0) -> int:
    distances, rows = np.empty((len(queries), k)), np.empty((len(queries), k), np.int64)
    handle = tree._index._tree
    return space_tree._core.space_tree_search(handle, queries, distances, rows, None, None, backtrack, eps, 1)[2]


def test_without_backtracking_ends_with_the_leaf_that_fills_the_list() -> None:
    rows = np.arange(64.0)[:, None]
    tree = KDTree(rows, 4)
    # Leaves hold four rows each: 7.6 lies in the leaf of 4 .. 7, and 8 beyond the cut is missed.
    np.testing.assert_array_equal(tree.query([[7.6]], 2, return_distance=False), [[8, 7]])
    np.testing.assert_array_equal(tree.query([[7.4]], 2, return_distance=False, backtrack=False), [[7, 6]])
    # Never fewer than k: leaves are added until the list is full.
    assert len(set(tree.query([[7.4]], 11, return_distance=False, backtrack=False)[0])) == 11
    assert tree.query([[7.4]], 64, return_distance=False, backtrack=False).shape == (1, 64)


def test_equal_rows_are_not_all_looked_at() -> None:
    """Rows at the distance of the k-th that come after it cannot win: duplicates cost no more than other rows."""
    rows = np.concatenate([np.zeros((20_000, 3)), np.ones((20_000, 3))])
    queries = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.2, 0.2, 0.2]])
    tree = KDTree(rows, 20)
    np.testing.assert_array_equal(tree.query(queries, 3, return_distance=False)[[0, 2]], [[0, 1, 2], [0, 1, 2]])
    assert visited(tree, queries, 3) < 1_000


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "minkowski"])
@pytest.mark.parametrize("kind", KINDS)
def test_scikit_learns_trees_agree(kind: str, metric: str) -> None:
    rng = np.random.default_rng(6)
    rows, queries = rng.random((500, 3)), rng.random((4, 10, 3))
    ours = TREES[kind](rows, metric=metric, p=3)
    power = {"p": 3} if metric == "minkowski" else {}
    theirs = {"kd_tree": sklearn.neighbors.KDTree, "ball_tree": sklearn.neighbors.BallTree}[kind](
        rows, metric=metric, **power
    )
    found, expected = ours.query(queries, 6), theirs.query(queries.reshape(-1, 3), 6)
    np.testing.assert_allclose(found[0].reshape(-1, 6), expected[0], rtol=1e-14)
    np.testing.assert_array_equal(found[1].reshape(-1, 6), expected[1])
    assert found[1].shape == (4, 10, 6)
    flat = queries.reshape(-1, 3)
    for radius in (0.2, np.linspace(0, 0.4, 40)):
        rows_found, distances = ours.query_radius(flat, radius, return_distance=True, sort_results=True)
        rows_expected, distances_expected = theirs.query_radius(flat, radius, return_distance=True, sort_results=True)
        for got, wanted in zip(rows_found, rows_expected, strict=True):
            np.testing.assert_array_equal(got, wanted)
        np.testing.assert_allclose(np.concatenate(distances), np.concatenate(distances_expected), rtol=1e-14)
        counts = ours.query_radius(flat, radius, count_only=True)
        np.testing.assert_array_equal(counts, theirs.query_radius(flat, radius, count_only=True))
        np.testing.assert_array_equal(counts, [len(part) for part in rows_found])


@pytest.mark.parametrize("kind", KINDS)
def test_copies(kind: str) -> None:
    """A tree is its rows and its parameters, and owns both."""
    rng = np.random.default_rng(1)
    table = rng.random((400, 3))
    tree = TREES[kind](table, 7, "minkowski", p=3, split="cyclic", threshold="midpoint", n_jobs=1)
    queries = rng.random((30, 3))
    expected = tree.query(queries, 4, backtrack=False)
    table[:] = 0
    for other in (pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree), TREES[kind].from_state(tree.state())):
        same(other.query(queries, 4, backtrack=False), expected)
    with pytest.raises(ValueError, match="read-only"):
        tree.data[0, 0] = 1
    same(
        NearestNeighbors(algorithm="brute", metric="minkowski", p=3).fit(tree).kneighbors(queries),
        tree.query(queries, 5),
    )


def test_estimators_refit_and_reopen() -> None:
    rng = np.random.default_rng(7)
    first, second, queries = rng.random((300, 2)), rng.random((200, 4)), rng.random((20, 4))
    model = NearestNeighbors(algorithm="ball_tree").fit(first).fit(second)
    assert model._fit_method == "ball_tree"
    expected = NearestNeighbors(algorithm="brute").fit(second).kneighbors(queries)
    same(model.kneighbors(queries), expected)
    again = pickle.loads(pickle.dumps(model))
    same(again.kneighbors(queries), expected)
    assert isinstance(again._index, SpaceTreeIndex)


def embedded(rng: np.random.Generator, n: int, inner: int, dim: int) -> NDArray[np.float64]:
    return rng.standard_normal((n, inner)) @ rng.standard_normal((inner, dim))


def test_auto_goes_by_what_a_probe_counts() -> None:
    """Thirty columns that hold two dimensions suit a tree, thirty that hold thirty do not."""
    rng = np.random.default_rng(0)
    for table, expected in (
        (rng.random((30, 2)), "brute"),
        (rng.random((20_000, 2)), "kd_tree"),
        (rng.random((20_000, 3)).astype(np.float32), "kd_tree"),
        (embedded(rng, 20_000, 2, 30), "kd_tree"),
        (rng.standard_normal((20_000, 30)), "brute"),
        (rng.standard_normal((3_000, 200)), "brute"),
    ):
        chosen = [NearestNeighbors(n_jobs=jobs).fit(table)._fit_method for jobs in (1, 2, None)]
        assert chosen == [expected] * 3, table.shape
    assert NearestNeighbors(metric="cosine").fit(rng.random((5_000, 2)))._fit_method == "brute"
    assert NearestNeighbors(metric="canberra", algorithm="ball_tree").fit(rng.random((50, 2)))._fit_method == "brute"


@pytest.mark.parametrize("cut", [KFold(4), LeaveOneOut()], ids=["folds", "leave one out"])
def test_held_out_answers_do_not_depend_on_the_index(cut: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(12)
    rows = rng.integers(0, 6, (150, 2)).astype(float)
    labels = rng.integers(0, 3, 150)
    candidates = list(ParameterGrid({"n_neighbors": [1, 4, 9], "weights": ["uniform", "distance"], "p": [1, 2, 3]}))
    answers = []
    for pays in (False, True):
        monkeypatch.setattr("tonari.neighbors.search.pays", lambda *_, pays=pays: pays)
        choice = resolve_metric("minkowski", 2, None)
        assert isinstance(build_index(rows, choice, 1), SpaceTreeIndex if pays else NativeIndex)
        blocks = KNeighborsClassifier().held_out(
            rows,
            labels,
            draw_splits(cut, rows, labels, 150, {}),
            candidates,
            fit_params={},
            responses=("predict_proba",),
        )
        answers.append(
            [(b.candidates.tolist(), b.rows.tolist(), b.responses["predict_proba"].tobytes()) for b in blocks]
        )
    assert answers[0] == answers[1]


@pytest.mark.parametrize("tree", [KDTree, BallTree])
def test_refusals_say_what_to_do(tree: Any) -> None:
    rows = np.random.default_rng(0).random((20, 2))
    for parameters, words in (
        ({"metric": "canberra"}, "does not serve the metric 'canberra'"),
        ({"metric": "cosine"}, "does not serve"),
        ({"p": 0.5}, "at least 1"),
        ({"split": "widest"}, "'spread', 'cyclic'"),
        ({"threshold": "mean"}, "'median', 'midpoint'"),
        ({"leaf_size": 0}, "leaf_size"),
    ):
        with pytest.raises(ValueError, match=words):
            tree(rows, **parameters)
    fitted = tree(rows)
    for call, words in (
        (lambda: fitted.query(rows, 21), "less than or equal to the number of training points"),
        (lambda: fitted.query(rows, 0), "k"),
        (lambda: fitted.query(rows[:, :1], 1), "1 columns"),
        (lambda: fitted.query(rows, 1, eps=0), "more than 0"),
        (lambda: fitted.query(rows, 1, eps=1.5), r"\(0, 1\]"),
        (lambda: fitted.query_radius(rows, [1.0, 2.0]), "shape"),
        (lambda: fitted.query_radius(rows, np.nan), "NaN"),
        (lambda: fitted.query_radius(rows, 1.0, sort_results=True), "return_distance must be True"),
        (lambda: fitted.query_radius(rows, 1.0, return_distance=True, count_only=True), "cannot both"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
