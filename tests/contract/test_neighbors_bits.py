"""Hamming and Jaccard by bits: the very numbers of scipy, ties by row, whatever form the table comes in.

Traps 2 (batches, threads), 4 (empty rows, duplicates, ties), 5 (silent casts), 16 (scipy as referee beside our own).
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from tests.reference.neighbors import nearest
from tests.reference.other_metrics import all_pairs, hamming, jaccard
from tonari.neighbors import KNeighborsClassifier, NearestNeighbors
from tonari.neighbors.bits import BitIndex, Categories, Flags, Packed
from tonari.neighbors.pairwise import PairwiseIndex
from tonari.store import open_model, save_model

FORMULA = {"hamming": hamming, "jaccard": jaccard}


def flags(rows: int, columns: int, seed: int, share: float = 0.3) -> np.ndarray:
    """Random flags with an empty row, a full one and some twice."""
    table = np.random.default_rng([seed, rows, columns]).random((rows, columns)) < share
    table[rows // 2] = False
    table[rows // 3] = True
    table[-rows // 4 :] = table[: len(table[-rows // 4 :])]
    return table


def pack(table: np.ndarray) -> np.ndarray:
    return np.packbits(table, axis=1, bitorder="little")


@pytest.mark.parametrize("metric", FORMULA)
@pytest.mark.parametrize("columns", [1, 7, 8, 31, 32, 33, 64, 100, 257, 1000])
@pytest.mark.parametrize("rows", [1, 31, 33, 700])
def test_the_numbers_of_scipy(metric: str, columns: int, rows: int) -> None:
    table, queries = flags(rows, columns, 1), flags(29, columns, 2)
    distances = cdist(queries, table, metric)
    k = min(rows, 13)
    model = NearestNeighbors(n_neighbors=k, metric=metric).fit(table)
    assert isinstance(model._index, BitIndex)
    found, order = model.kneighbors(queries)
    expected, expected_order = nearest(distances, k)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(order, expected_order)


@pytest.mark.parametrize("metric", FORMULA)
def test_the_formula(metric: str) -> None:
    """Trap 16: scipy is one referee, the formula another."""
    table, queries = flags(60, 37, 3), flags(20, 37, 4)
    found = NearestNeighbors(n_neighbors=60, metric=metric).fit(table).kneighbors(queries)
    for got, wanted in zip(found, nearest(all_pairs(FORMULA[metric], queries, table), 60), strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("metric", FORMULA)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8, np.int64, bool])
def test_every_form_of_the_table_is_the_same_table(metric: str, dtype: Any) -> None:
    table, queries = flags(400, 75, 5), flags(40, 75, 6)
    expected = NearestNeighbors(n_neighbors=9, metric=metric).fit(table).kneighbors(queries)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # scikit-learn warns when it makes flags of numbers
        model = NearestNeighbors(n_neighbors=9, metric=metric).fit(table.astype(dtype))
        found = model.kneighbors(queries.astype(dtype))
    packed = NearestNeighbors(n_neighbors=9, metric=metric, metric_params={"bits": 75}).fit(pack(table))
    assert isinstance(model._index._coding, Flags)
    assert isinstance(packed._index._coding, Packed)
    for got in (found, packed.kneighbors(pack(queries))):
        np.testing.assert_array_equal(got[0], expected[0])
        np.testing.assert_array_equal(got[1], expected[1])
    assert packed._fit_X.nbytes == 400 * 10


def test_a_table_of_flags_is_not_widened() -> None:
    """Trap 5: eight bytes for every flag would be 64 times what it holds."""
    assert NearestNeighbors(metric="hamming").fit(flags(50, 64, 7))._fit_X.dtype == bool


@pytest.mark.parametrize("values", [3, 40])
def test_categories(values: int) -> None:
    """Hamming of any values: the share of unequal columns; values that were not seen at fit equal none."""
    rng = np.random.default_rng(values)
    table, queries = rng.integers(-values, values, (600, 11)) / 4, rng.integers(-2 * values, values, (50, 11)) / 4
    model = NearestNeighbors(n_neighbors=20, metric="hamming").fit(table)
    assert isinstance(getattr(model._index, "_coding", None), Categories) == (values == 3)
    expected = nearest(cdist(queries, table, "hamming"), 20)
    found = model.kneighbors(queries)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


def test_continuous_columns_stay_with_pairs() -> None:
    table = np.random.default_rng(8).random((500, 4))
    assert isinstance(NearestNeighbors(metric="hamming").fit(table)._index, PairwiseIndex)


@pytest.mark.parametrize("metric", FORMULA)
def test_queries_that_are_no_flags(metric: str) -> None:
    """Rows of 0 and 1 asked with other numbers: what scipy makes of them, not what fits into a bit."""
    table, queries = flags(90, 20, 9).astype(float), flags(12, 20, 10).astype(float)
    queries[::2] *= 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = NearestNeighbors(n_neighbors=7, metric=metric).fit(table).kneighbors(queries)
    as_sets = (queries != 0, table != 0) if metric == "jaccard" else (queries, table)
    np.testing.assert_array_equal(found[0], nearest(cdist(*as_sets, metric), 7)[0])


@pytest.mark.parametrize("metric", FORMULA)
def test_radius(metric: str) -> None:
    """Inclusive, also where the radius is itself a quotient; one radius per query."""
    table, queries = flags(500, 49, 11), flags(30, 49, 12)
    distances = cdist(queries, table, metric)
    model = NearestNeighbors(metric=metric).fit(table)
    for radius in (0.0, 7 / 49, 1 / 3, 0.5, 1.0, np.sort(distances, axis=1)[:, 17]):
        found, rows = model.radius_neighbors(queries, radius, sort_results=True)
        radii = np.broadcast_to(radius, len(queries))
        for i in range(len(queries)):
            order = np.argsort(distances[i], kind="stable")
            expected = order[distances[i][order] <= radii[i]]
            np.testing.assert_array_equal(rows[i], expected)
            np.testing.assert_array_equal(found[i], distances[i][expected])


@pytest.mark.parametrize("metric", FORMULA)
def test_threads_batches_and_own_row(metric: str) -> None:
    """Trap 2; and few queries over many rows, which are split between threads."""
    table = flags(5_000, 24, 13)
    distances = cdist(table[:60], table, metric)
    distances[np.arange(60), np.arange(60)] = np.inf
    expected = nearest(distances, 30)
    for n_jobs in (1, 2, 3, 8):
        found = NearestNeighbors(n_neighbors=30, metric=metric, n_jobs=n_jobs).fit(table).kneighbors()
        np.testing.assert_array_equal(found[0][:60], expected[0])
        np.testing.assert_array_equal(found[1][:60], expected[1])
    model = NearestNeighbors(n_neighbors=30, metric=metric, n_jobs=8).fit(table)
    whole = model.kneighbors(table[:60])
    for lot in (1, 2, 7):
        parts = [model.kneighbors(table[start : min(60, start + lot)]) for start in range(0, 60, lot)]
        np.testing.assert_array_equal(np.concatenate([part[1] for part in parts]), whole[1])


def test_packed_bits_are_checked() -> None:
    table = pack(flags(20, 12, 14))
    model = NearestNeighbors(n_neighbors=2, metric="hamming", metric_params={"bits": 12})
    with pytest.raises(ValueError, match="packbits"):
        model.fit(table.astype(float))
    with pytest.raises(ValueError, match="packbits"):
        NearestNeighbors(metric="hamming", metric_params={"bits": 40}).fit(table)
    with pytest.raises(ValueError, match="beyond the 12"):
        model.fit(table | 0x80)
    with pytest.raises(ValueError, match="bits"):
        NearestNeighbors(metric="hamming", metric_params={"bits": 0}).fit(table)


def test_model_files_and_votes(tmp_path: Path) -> None:
    table, queries = flags(200, 30, 15), flags(25, 30, 16)
    labels = table[:, :3].sum(axis=1)
    for rows, asked, params in ((table, queries, None), (pack(table), pack(queries), {"bits": 30})):
        model = KNeighborsClassifier(3, metric="jaccard", metric_params=params).fit(rows, labels)
        save_model(tmp_path / "model.tonari", model)
        opened = open_model(tmp_path / "model.tonari")
        np.testing.assert_array_equal(opened.predict_proba(asked), model.predict_proba(asked))
        (tmp_path / "model.tonari").unlink()
