"""Metrics that are a plain one of mapped rows, squared distances, and metrics that users write.

Traps 1 (far from the origin), 2 (batches, threads), 4 (duplicates at 0, rows without direction), 5 (what is learned at
fit stays), 16 (scipy beside the formula).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.neighbors import BallTree

from tests.reference import other_metrics
from tests.reference.neighbors import EPSILON, assert_same_neighbours, distance_matrix, nearest
from tonari.model_selection import GridSearchCV
from tonari.neighbors import KNeighborsClassifier, NearestNeighbors
from tonari.neighbors.mapped import MappedIndex
from tonari.neighbors.pairwise import PairwiseIndex
from tonari.neighbors.search import NativeIndex


def table(dtype: Any, offset: float, dim: int = 7, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([dim, n])
    mix = rng.standard_normal((dim, dim)) / 2 + np.eye(dim)
    rows, queries = rng.standard_normal((n, dim)) @ mix + offset, rng.standard_normal((45, dim)) @ mix + offset
    return rows.astype(dtype), queries.astype(dtype)


def weights(dim: int = 7) -> np.ndarray:
    found = np.random.default_rng(3).uniform(0.1, 4, dim)
    found[2] = 0
    return found


def settings(rows: np.ndarray) -> dict[str, tuple[str, float, dict[str, Any] | None, Any, dict[str, Any]]]:
    """Name -> metric, p and metric_params as a user gives them; formula and its arguments."""
    wide = rows.astype(np.float64)
    V, variances, w = np.cov(wide.T), wide.var(axis=0, ddof=1), weights()
    VI = np.linalg.inv(V)
    return {
        "VI": ("mahalanobis", 2, {"VI": VI}, other_metrics.mahalanobis, {"VI": VI}),
        "V": ("mahalanobis", 2, {"V": V}, other_metrics.mahalanobis, {"VI": VI}),
        "V learned": ("mahalanobis", 2, None, other_metrics.mahalanobis, {"VI": VI}),
        "variances": ("seuclidean", 2, {"V": w + 1}, other_metrics.seuclidean, {"V": w + 1}),
        "variances learned": ("seuclidean", 2, None, other_metrics.seuclidean, {"V": variances}),
        "weighted": ("minkowski", 2, {"w": w}, other_metrics.weighted, {"w": w, "p": 2}),
        "weighted euclidean": ("euclidean", 2, {"w": w}, other_metrics.weighted, {"w": w, "p": 2}),
        "weighted manhattan": ("minkowski", 1, {"w": w}, other_metrics.weighted, {"w": w, "p": 1}),
        "weighted cubes": ("minkowski", 3, {"w": w}, other_metrics.weighted, {"w": w, "p": 3}),
        "correlation": ("correlation", 2, None, other_metrics.correlation, {}),
        "squared": ("sqeuclidean", 2, None, other_metrics.sqeuclidean, {}),
    }


NAMES = list(settings(table(np.float64, 0.0)[0]))


def bound(name: str, truth: np.ndarray, rows: np.ndarray, queries: np.ndarray, arguments: dict[str, Any]) -> np.ndarray:
    """What src/tonari/neighbors/mapped.py states; of squares 4 ULP; of correlation that of cosine and of the mean."""
    middle = rows.astype(np.float64).mean(axis=0)
    if name == "squared":
        return 4 * np.spacing(truth)
    if name == "correlation":
        size = max(np.abs(values).max() / np.ptp(values, axis=1).min() for values in (rows, queries))
        return 64 * EPSILON * (1 + size) * (np.sqrt(truth) + EPSILON)
    far = [values.astype(np.float64) - middle for values in (queries, rows)]
    if "VI" in arguments:
        lengths = [np.linalg.norm(values, axis=1) for values in far]
        largest = np.linalg.eigvalsh(arguments["VI"])[-1]
        # V is inverted by both sides: its condition comes on top.
        inverse = 1.0 if name == "VI" else np.linalg.cond(arguments["VI"])
        squares = (lengths[0][:, None] + lengths[1]) ** 2
        return 64 * EPSILON * rows.shape[1] * inverse * largest * squares / np.maximum(truth, 1e-300)
    p = arguments.get("p", 2)
    scale = arguments["w"] ** (1 / p) if "w" in arguments else 1 / np.sqrt(arguments["V"])
    lengths = [np.linalg.norm(values * scale, ord=p, axis=1) for values in far]
    return 8 * EPSILON * (lengths[0][:, None] + lengths[1] + (9 if p == 3 else 1) * truth)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 2_000.0])
def test_the_formula_within_the_stated_bound(name: str, dtype: Any, offset: float) -> None:
    rows, queries = table(dtype, offset)
    metric, p, params, formula, arguments = settings(rows)[name]
    truth = other_metrics.all_pairs(formula, queries, rows, **arguments)
    model = NearestNeighbors(n_neighbors=12, metric=metric, p=p, metric_params=params).fit(rows)
    assert isinstance(model._index, NativeIndex if name == "squared" else MappedIndex)
    found, order = model.kneighbors(queries)
    allowed = bound(name, truth, rows, queries, arguments)
    taken = np.take_along_axis(truth, order, axis=1)
    assert (np.abs(found - taken) <= np.take_along_axis(allowed, order, axis=1)).all()
    # No row that was left out is nearer than what was taken by more than both may be off.
    assert (np.abs(taken - nearest(truth, 12)[0]) <= 2 * allowed.max(axis=1, keepdims=True)).all()
    step, later = np.diff(found, axis=1), np.diff(order, axis=1) > 0
    assert ((step > 0) | ((step == 0) & later)).all()


@pytest.mark.parametrize("name", NAMES)
def test_scipy_agrees(name: str) -> None:
    rows, queries = table(np.float64, 5.0)
    metric, p, params, _, arguments = settings(rows)[name]
    if metric in ("euclidean", "minkowski"):
        metric, arguments = "minkowski", {"p": p, **arguments}
    model = NearestNeighbors(n_neighbors=400, metric=settings(rows)[name][0], p=p, metric_params=params).fit(rows)
    found, order = model.kneighbors(queries)
    distances = cdist(queries, rows, metric, **arguments)
    np.testing.assert_allclose(found, np.take_along_axis(distances, order, axis=1), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_equal_rows_are_at_zero_and_nothing_depends_on_the_batch(name: str) -> None:
    """Traps 2 and 4: a product by blocks would map equal rows to different ones."""
    rows, _ = table(np.float64, 1e5)
    rows = np.concatenate([rows, rows[::-1]])
    metric, p, params, _, _ = settings(rows)[name]
    expected: Any = None
    for n_jobs in (1, 2, 5):
        model = NearestNeighbors(n_neighbors=3, metric=metric, p=p, metric_params=params, n_jobs=n_jobs).fit(rows)
        found = model.kneighbors(rows)
        expected = found if expected is None else expected
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])
        single = [model.kneighbors(row[None]) for row in rows[:40]]
        np.testing.assert_array_equal(np.concatenate([part[0] for part in single]), expected[0][:40])
        np.testing.assert_array_equal(np.concatenate([part[1] for part in single]), expected[1][:40])
    assert (expected[0][:, :2] == 0).all()
    np.testing.assert_array_equal(expected[1][:400, :2], np.column_stack([np.arange(400), np.arange(799, 399, -1)]))


def test_what_is_learned_is_learned_at_fit() -> None:
    """Trap 5: scikit-learn's pairwise function would learn V from the queries."""
    rows, queries = table(np.float64, 0.0)
    for metric in ("mahalanobis", "seuclidean"):
        model = NearestNeighbors(n_neighbors=5, metric=metric).fit(rows)
        np.testing.assert_array_equal(model.kneighbors(queries * 100)[0][:1], model.kneighbors(queries[:1] * 100)[0])


def test_a_column_that_never_varies_is_left_out() -> None:
    rows, queries = table(np.float64, 0.0)
    constant = np.column_stack([rows, np.full(len(rows), 7.0)])
    asked = np.column_stack([queries, np.arange(len(queries))])
    found = NearestNeighbors(n_neighbors=5, metric="seuclidean").fit(constant).kneighbors(asked)
    np.testing.assert_array_equal(
        found[1], NearestNeighbors(n_neighbors=5, metric="seuclidean").fit(rows).kneighbors(queries)[1]
    )
    with pytest.raises(ValueError, match="no inverse"):
        NearestNeighbors(metric="mahalanobis").fit(constant)


@pytest.mark.parametrize(
    ("metric", "params", "message"),
    [
        ("mahalanobis", {"VI": np.eye(3)}, "7 x 7"),
        ("mahalanobis", {"V": np.triu(np.ones((7, 7)))}, "symmetric"),
        ("seuclidean", {"V": np.zeros(7)}, "variance of 0"),
        ("seuclidean", {"V": np.ones(6)}, "7 columns"),
        ("minkowski", {"w": -np.ones(7)}, "at least 0"),
        ("minkowski", {"w": np.full(7, np.nan)}, "finite"),
    ],
)
def test_arguments_are_checked(metric: str, params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NearestNeighbors(metric=metric, metric_params=params).fit(table(np.float64, 0.0)[0])


def test_a_form_that_is_not_symmetric_or_not_positive_is_scipys() -> None:
    """Only the symmetric part of VI plays a role; under an indefinite one nothing can be mapped."""
    rows, queries = table(np.float64, 0.0)
    lopsided = np.linalg.inv(np.cov(rows.T)) + np.triu(np.ones((7, 7)), 1) - np.tril(np.ones((7, 7)), -1)
    indefinite = 3 * np.eye(7)
    indefinite[0, 0] = -1e-3
    for VI, served in ((lopsided, MappedIndex), (indefinite, PairwiseIndex)):
        model = NearestNeighbors(n_neighbors=4, metric="mahalanobis", metric_params={"VI": VI}).fit(rows)
        assert isinstance(model._index, served)
        distances = cdist(queries, rows, "mahalanobis", VI=VI)
        np.testing.assert_allclose(model.kneighbors(queries)[0], nearest(distances, 4)[0], rtol=1e-12)


def test_rows_without_direction_do_not_correlate() -> None:
    """Trap 4: a constant row, whose mean is off by a rounding, is at distance 1 from everything, not anywhere."""
    rows = np.array([[0.1, 0.1, 0.1], [1.0, 2.0, 4.0], [-1.0, -2.0, -4.0]])
    found, order = NearestNeighbors(n_neighbors=3, metric="correlation").fit(rows).kneighbors(rows)
    np.testing.assert_allclose(found, [[1, 1, 1], [0, 1, 2], [0, 1, 2]], atol=1e-15)
    np.testing.assert_array_equal(order[1:], [[1, 0, 2], [2, 0, 1]])


LEARNING = [("mahalanobis", None), ("seuclidean", None), ("minkowski", {"w": weights()}), ("correlation", None)]


@pytest.mark.parametrize(("metric", "params"), LEARNING)
def test_held_out_is_refitting(metric: str, params: dict[str, Any] | None) -> None:
    """What a metric learns from rows, it learns from the training part of each fold alone."""
    rows, _ = table(np.float64, 3.0, n=150)
    labels = (rows[:, 0] + rows[:, 1] > 6).astype(int)
    model = KNeighborsClassifier(metric=metric, metric_params=params)
    folds = KFold(4)
    search = GridSearchCV(model, {"n_neighbors": [1, 5]}, cv=folds).fit(rows, labels)
    for split, (train, test) in enumerate(folds.split(rows)):
        for candidate, k in enumerate((1, 5)):
            alone = clone(model).set_params(n_neighbors=k).fit(rows[train], labels[train])
            assert search.cv_results_[f"split{split}_test_score"][candidate] == alone.score(rows[test], labels[test])


def test_candidates_with_other_arrays_are_other_metrics() -> None:
    """An array is more than what its printed form shows."""
    rows, _ = table(np.float64, 0.0, dim=1200, n=60)
    labels = (rows[:, 600] > 0).astype(int)
    first, second = np.zeros(1200), np.zeros(1200)
    first[0] = second[600] = 1
    grid = {"metric_params": [{"w": first}, {"w": second}]}
    search = GridSearchCV(KNeighborsClassifier(1, metric="minkowski"), grid, cv=KFold(3)).fit(rows, labels)
    assert search.cv_results_["mean_test_score"][1] > 0.9 > search.cv_results_["mean_test_score"][0]


# --- metrics that users write ---------------------------------------------------------------------------------------


def of_tables(Q: np.ndarray, X: np.ndarray) -> np.ndarray:
    return np.abs(Q[:, np.newaxis] - X).sum(axis=2)


def of_pairs(x: np.ndarray, y: np.ndarray) -> float:
    assert x.ndim == y.ndim == 1
    return float(np.abs(x - y).sum())


@pytest.mark.parametrize("metric", [of_tables, of_pairs])
@pytest.mark.parametrize("n", [1, 60])
def test_a_callable_takes_tables_or_pairs(metric: Any, n: int) -> None:
    rows, queries = table(np.float64, 0.0, n=60)
    model = NearestNeighbors(n_neighbors=1, metric=metric, algorithm="brute").fit(rows[:n])
    assert_same_neighbours(model.kneighbors(queries), distance_matrix(queries, rows[:n], "manhattan"), 1, "manhattan")


def test_a_metric_of_tables_is_called_once_a_tile() -> None:
    calls = []

    def counted(Q: np.ndarray, X: np.ndarray, power: float) -> np.ndarray:
        calls.append((Q.shape, X.shape))
        return (np.abs(Q[:, np.newaxis] - X) ** power).sum(axis=2)

    rows, queries = table(np.float64, 0.0)
    model = NearestNeighbors(n_neighbors=3, metric=counted, metric_params={"power": 2}, algorithm="brute").fit(rows)
    found = model.kneighbors(queries)
    assert calls == [((2, 7), (3, 7)), ((45, 7), (400, 7))]
    np.testing.assert_array_equal(found[1], NearestNeighbors(n_neighbors=3).fit(rows).kneighbors(queries)[1])


def test_a_metric_of_pairs_that_survives_tables_is_not_mistaken() -> None:
    """One number for two tables, or a matrix of another shape, is what a metric of pairs makes of them."""
    rows, queries = table(np.float64, 0.0, n=30)
    for metric in (lambda x, y: np.sqrt(((x[:1] - y[:1]) ** 2).sum()), lambda x, y: float(np.abs(x.sum() - y.sum()))):
        model = NearestNeighbors(n_neighbors=3, metric=metric, algorithm="brute").fit(rows)
        expected = np.array([[metric(query, row) for row in rows] for query in queries])
        np.testing.assert_array_equal(model.kneighbors(queries)[1], nearest(expected, 3)[1])


def test_what_a_metric_of_tables_gives_is_checked() -> None:
    rows, queries = table(np.float64, 0.0, n=30)
    answers = iter([np.zeros((2, 3)), np.zeros((45, 29)), np.zeros((2, 3)), np.full((45, 30), np.nan)])
    for message in ("shape", "no number"):
        model = NearestNeighbors(metric=lambda Q, X: next(answers), algorithm="brute").fit(rows)
        with pytest.raises(ValueError, match=message):
            model.kneighbors(queries)


def test_other_names_stay_with_pairs() -> None:
    rows, queries = table(np.float64, 0.0)
    for metric in ("canberra", "braycurtis"):
        model = NearestNeighbors(n_neighbors=4, metric=metric).fit(rows)
        assert isinstance(model._index, PairwiseIndex)
        np.testing.assert_array_equal(model.kneighbors(queries)[1], nearest(cdist(queries, rows, metric), 4)[1])
    tree = BallTree(rows, metric="mahalanobis", V=np.cov(rows.T))
    found = NearestNeighbors(n_neighbors=4, metric="mahalanobis", metric_params={"V": np.cov(rows.T)}).fit(rows)
    np.testing.assert_array_equal(found.kneighbors(queries)[1], tree.query(queries, 4)[1])


# --- powers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1.0, 1.2, 1.5, 1.9, 2.2, 2.5, 2.9, 3.0, 3.5, 4.0, 5.0, 6.0, 20.0])
def test_every_power_and_its_filter(p: float) -> None:
    """Trap 1: filters of powers far from the origin, with rows twice, near twice and a row far out."""
    for dtype, offset in ((np.float32, 500.0), (np.float64, 1e6)):
        rows, queries = (part[:most] for part, most in zip(table(dtype, offset, 17, n=500), (500, 15), strict=True))
        rows[:100] = rows[300:400]
        rows[100:200] = rows[300:400] + dtype(0.001)
        rows[7] *= 50
        queries[:9] = rows[300:309]
        found = NearestNeighbors(n_neighbors=8, p=p).fit(rows).kneighbors(queries)
        assert_same_neighbours(found, distance_matrix(queries, rows, "minkowski", p), 8, "minkowski", p)
