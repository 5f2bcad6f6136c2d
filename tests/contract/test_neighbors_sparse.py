"""Sparse rows: the very bits that the dense table gives, without the dense table. Traps 1, 2, 4, 5, 10."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tests.reference.neighbors import assert_same_neighbours, distance_matrix
from tonari.neighbors import KNeighborsClassifier, NearestNeighbors
from tonari.neighbors.mapped import MappedIndex
from tonari.neighbors.sparse import SparseIndex
from tonari.store import open_model, save_model

METRICS = ["euclidean", "cosine"]
DTYPES = [np.float32, np.float64]


def table(rows: int, columns: int, density: float, seed: int, dtype: Any = np.float64, scale: float = 1.0) -> Any:
    """Numbers of many sizes, some columns crowded, some rows empty, some twice."""
    rng = np.random.default_rng([rows, columns, seed])
    filled = sparse.lil_matrix((rows, columns))
    for row in range(rows):
        if row % 17 != 3:
            places = np.unique((columns * rng.random(max(1, int(density * columns))) ** 2).astype(int))
            filled[row, places] = rng.standard_normal(len(places)) * 10.0 ** rng.integers(-3, 3) * scale
    filled[rows - rows // 5 :] = filled[: rows // 5]
    return sparse.csr_matrix(filled).astype(dtype)


def same(found: Any, expected: Any) -> None:
    for got, wanted in zip(found, expected, strict=True):
        assert np.asarray(got).tobytes() == np.asarray(wanted).tobytes()


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(90, 17), (400, 300), (150, 5_000)])
@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e160])
def test_the_bits_of_the_dense_table(metric: str, dtype: Any, shape: tuple[int, int], scale: float) -> None:
    """The zeros that are not stored belong to the compensated sums; exponents at which squares vanish or overflow."""
    if dtype == np.float32:
        scale = {1.0: 1.0, 1e-150: 1e-30, 1e160: 1e30}[scale]
    rows, queries = (table(n, shape[1], 0.05, seed, dtype, scale) for n, seed in ((shape[0], 1), (40, 2)))
    whole = NearestNeighbors(n_neighbors=11, metric=metric).fit(rows)
    dense = NearestNeighbors(n_neighbors=11, metric=metric).fit(rows.toarray())
    assert isinstance(whole._index, SparseIndex)
    expected = dense.kneighbors(queries.toarray())
    same(whole.kneighbors(queries), expected)
    same(whole.kneighbors(queries.toarray()), expected)
    same(dense.kneighbors(queries), expected)
    same(whole.kneighbors(), dense.kneighbors())


@pytest.mark.parametrize("metric", METRICS)
def test_the_oracle_agrees(metric: str) -> None:
    rows, queries = table(200, 120, 0.05, 3), table(30, 120, 0.05, 4)
    found = NearestNeighbors(n_neighbors=9, metric=metric).fit(rows).kneighbors(queries)
    assert_same_neighbours(found, distance_matrix(queries.toarray(), rows.toarray(), metric), 9, metric)


@pytest.mark.parametrize("metric", METRICS)
def test_all_rows_asked_for_and_empty_queries(metric: str) -> None:
    rows = table(120, 60, 0.05, 5)
    queries = sparse.csr_matrix((4, 60))
    whole = NearestNeighbors(n_neighbors=120, metric=metric).fit(rows)
    same(
        whole.kneighbors(queries),
        NearestNeighbors(n_neighbors=120, metric=metric).fit(rows.toarray()).kneighbors(queries),
    )


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_radius(metric: str, dtype: Any) -> None:
    rows, queries = table(300, 90, 0.05, 6, dtype), table(40, 90, 0.05, 7, dtype)
    whole = NearestNeighbors(metric=metric).fit(rows)
    dense = NearestNeighbors(metric=metric).fit(rows.toarray())
    distances = np.sort(dense.kneighbors(queries, 60)[0], axis=1)
    for radius in (0.0, float(np.median(distances)), distances[:, 30], np.inf):
        for got, wanted in zip(
            whole.radius_neighbors(queries, radius, sort_results=True),
            dense.radius_neighbors(queries, radius, sort_results=True),
            strict=True,
        ):
            same(got, wanted)


@pytest.mark.parametrize("metric", METRICS)
def test_threads_batches_and_form(metric: str) -> None:
    """Trap 2; columns out of order or given twice; other sparse formats; int64 offsets."""
    rows, queries = table(300, 200, 0.05, 8), table(50, 200, 0.05, 9)
    expected = NearestNeighbors(n_neighbors=7, metric=metric, n_jobs=1).fit(rows).kneighbors(queries)
    for n_jobs in (2, 3, 8):
        model = NearestNeighbors(n_neighbors=7, metric=metric, n_jobs=n_jobs).fit(rows)
        same(model.kneighbors(queries), expected)
        parts = [model.kneighbors(queries[start : start + 7]) for start in range(0, 50, 7)]
        same([np.concatenate(column) for column in zip(*parts, strict=True)], expected)
    twice = sparse.coo_matrix(rows)
    order = np.random.default_rng(0).permutation(twice.nnz)
    halves = sparse.coo_matrix(
        (np.tile(twice.data[order] / 2, 2), (np.tile(twice.row[order], 2), np.tile(twice.col[order], 2))), rows.shape
    )
    shuffled = rows.copy()
    for row in range(rows.shape[0]):
        part = slice(rows.indptr[row], rows.indptr[row + 1])
        shuffled.indices[part], shuffled.data[part] = rows.indices[part][::-1], rows.data[part][::-1]
    shuffled.has_sorted_indices = False
    for form in (halves, sparse.csc_matrix(rows), sparse.csr_array(rows), shuffled):
        same(NearestNeighbors(n_neighbors=7, metric=metric).fit(form).kneighbors(queries), expected)


def test_float64_queries_of_float32_rows_keep_their_digits() -> None:
    """Trap 5: rounding the query to the type of the rows moves it."""
    rows = table(100, 80, 0.05, 10, np.float32)
    queries = rows[:20].astype(np.float64)
    queries.data += 1e-12
    found = NearestNeighbors(n_neighbors=5).fit(rows).kneighbors(queries)
    assert_same_neighbours(found, distance_matrix(queries.toarray(), rows.toarray()), 5)


def test_a_wide_table_is_not_written_out() -> None:
    """Trap 10: 2,000 x 1,000,000 float64 would take 16 GB."""
    rng = np.random.default_rng(11)
    columns = np.sort(rng.integers(0, 1_000_000, (2_000, 6)), axis=1)
    rows = sparse.csr_matrix((rng.random(12_000), columns.ravel(), np.arange(0, 12_001, 6)), shape=(2_000, 1_000_000))
    found, order = NearestNeighbors(n_neighbors=2).fit(rows).kneighbors(rows[:30])
    np.testing.assert_array_equal(order[:, 0], np.arange(30))
    assert (found[:, 0] == 0).all()


def test_a_well_filled_table_is_written_out() -> None:
    rows, queries = table(200, 50, 0.5, 12), table(20, 50, 0.5, 13)
    model = NearestNeighbors(n_neighbors=5).fit(rows)
    assert isinstance(model._index, MappedIndex)
    same(model.kneighbors(queries), NearestNeighbors(n_neighbors=5).fit(rows.toarray()).kneighbors(queries.toarray()))
    same(model.kneighbors(), NearestNeighbors(n_neighbors=5).fit(rows.toarray()).kneighbors())


@pytest.mark.parametrize("metric", METRICS)
def test_model_files_and_votes(tmp_path: Path, metric: str) -> None:
    rows, queries = table(200, 90, 0.05, 14), table(30, 90, 0.05, 15)
    labels = np.arange(200) % 3
    model = KNeighborsClassifier(4, metric=metric).fit(rows, labels)
    dense = KNeighborsClassifier(4, metric=metric).fit(rows.toarray(), labels)
    same([model.predict_proba(queries)], [dense.predict_proba(queries.toarray())])
    save_model(tmp_path / "model.tonari", model)
    opened = open_model(tmp_path / "model.tonari")
    assert isinstance(opened._index, SparseIndex)
    same([opened.predict_proba(queries)], [model.predict_proba(queries)])


def test_damaged_rows_of_a_model_file_are_refused() -> None:
    model = NearestNeighbors().fit(table(60, 90, 0.05, 16))
    header, arrays = model.to_file_parts()
    for key, value in (("indptr", 99), ("columns", 90), ("columns", -1), ("shape", -5)):
        damaged = {name: array.copy() for name, array in arrays.items()}
        damaged[key][1] = value
        with pytest.raises(ValueError, match="NearestNeighbors"):
            NearestNeighbors.from_file_parts(header, damaged)
    for key in arrays:
        with pytest.raises(ValueError, match="NearestNeighbors"):
            NearestNeighbors.from_file_parts(header, {name: array for name, array in arrays.items() if name != key})
