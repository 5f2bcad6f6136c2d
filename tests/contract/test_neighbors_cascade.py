"""The cascade of codes, forced on data that it would leave to the plain kernel, and its bound at its tightest.

A bound that is too sharp loses a neighbour, one that is too loose only time: every test here compares with an answer
found without codes. Guards traps 1, 2 and 4.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.reference.hostile_rows import MAKERS, draw_hostile
from tests.reference.neighbors import assert_same_neighbours, distance_matrix
from tonari.neighbors import NearestNeighbors

FILTERS = ("flat", "heads")
DTYPES = (np.float32, np.float64)
# Sizes on both sides of panels (16 and 32 rows), groups (384 rows) and steps of four bytes.
SHAPES = ((97, 40, 24), (1_100, 37, 67), (2_600, 33, 130))


def fitted(rows: np.ndarray, how: str, monkeypatch: pytest.MonkeyPatch, **params: Any) -> NearestNeighbors:
    """A model whose index filters as it is told."""
    monkeypatch.setenv("TONARI_FILTER", how)
    return NearestNeighbors(**params).fit(rows)


def same(found: Any, expected: Any) -> None:
    for got, wanted in zip(found, expected, strict=True):
        assert np.asarray(got).tobytes() == np.asarray(wanted).tobytes()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", MAKERS)
def test_hostile_tables(name: str, shape: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Bits of the plain kernel, for every filter, type, thread count and batch; the smallest against the oracle too."""
    n, n_queries, dim = shape
    for dtype in DTYPES:
        rows, queries = (part.astype(dtype) for part in draw_hostile(name, 3, n, n_queries, dim))
        expected = fitted(rows, "plain", monkeypatch, n_neighbors=10).kneighbors(queries)
        if n == SHAPES[0][0]:
            assert_same_neighbours(expected, distance_matrix(queries, rows), 10)
        for how in (*FILTERS, "auto"):
            for n_jobs in (1, 3):
                model = fitted(rows, how, monkeypatch, n_neighbors=10, n_jobs=n_jobs)
                same(model.kneighbors(queries), expected)
            halves = [model.kneighbors(queries[:9]), model.kneighbors(queries[9:])]
            same([np.concatenate(part) for part in zip(*halves, strict=True)], expected)
            same(model.kneighbors(queries, n_neighbors=1), [part[:, :1] for part in expected])
            same(model.kneighbors(queries, n_neighbors=n), fitted_all(rows, queries, n, monkeypatch))


def fitted_all(rows: np.ndarray, queries: np.ndarray, n: int, monkeypatch: pytest.MonkeyPatch) -> Any:
    return fitted(rows, "plain", monkeypatch).kneighbors(queries, n_neighbors=n)


@pytest.mark.parametrize("how", FILTERS)
@pytest.mark.parametrize("name", MAKERS)
def test_the_bound_at_its_tightest(name: str, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search whose radius is a row's own distance must find that row: nothing lies between bound and truth."""
    for dtype in DTYPES:
        rows, queries = (part.astype(dtype) for part in draw_hostile(name, 8, 1_600, 12, 40))
        plain = fitted(rows, "plain", monkeypatch)
        model = fitted(rows, how, monkeypatch)
        distances, order = plain.kneighbors(queries, n_neighbors=len(rows))
        for query in range(len(queries)):
            for place in (0, 9, 77, 350, 811, 1_599):
                radius = distances[query, place]
                _, found = model.radius_neighbors(queries[query : query + 1], radius=radius, sort_results=True)
                expected = order[query][distances[query] <= radius]
                np.testing.assert_array_equal(found[0], expected)


@pytest.mark.parametrize("how", FILTERS)
@pytest.mark.parametrize("name", ["decaying", "pixels", "many_tight_clouds", "one_hot"])
def test_own_row_and_own_fold_are_left_out(name: str, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is excluded must not be among the rows that set the limit."""
    rows, _ = draw_hostile(name, 5, 900, 1, 48)
    expected = fitted(rows, "plain", monkeypatch, n_neighbors=12).kneighbors()
    same(fitted(rows, how, monkeypatch, n_neighbors=12).kneighbors(), expected)
    same(
        fitted(rows, how, monkeypatch).kneighbors(n_neighbors=899),
        fitted(rows, "plain", monkeypatch).kneighbors(n_neighbors=899),
    )


@pytest.mark.parametrize("how", FILTERS)
@pytest.mark.parametrize("metric", ["cosine", "minkowski"])
def test_metrics_that_lean_on_the_euclidean_filter(metric: str, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their limits are turned into Euclidean ones on the way down and must lose nothing there."""
    for name in ("decaying", "pixels", "far_away", "outlier_rows", "on_a_sphere"):
        for dtype in DTYPES:
            rows, queries = (part.astype(dtype) for part in draw_hostile(name, 6, 500, 30, 33))
            expected = fitted(rows, "plain", monkeypatch, n_neighbors=9, metric=metric, p=3).kneighbors(queries)
            same(fitted(rows, how, monkeypatch, n_neighbors=9, metric=metric, p=3).kneighbors(queries), expected)


def test_a_filter_that_does_not_exist_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt TONARI_FILTER must not be ignored: who sets it compares filters."""
    with pytest.raises(ValueError, match="TONARI_FILTER is 'haeds'; choose one of: auto plain flat heads"):
        fitted(np.eye(3), "haeds", monkeypatch)
