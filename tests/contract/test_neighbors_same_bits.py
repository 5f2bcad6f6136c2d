"""The same bits for any number of threads, any batches, any order, any instruction set. Guards trap 2.

Faiss changes its kernel, and so its answer, with the number of queries; others with the number of threads.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn
from joblib import Parallel, delayed

import tonari
from tests.reference.hostile_rows import draw_hostile
from tests.reference.neighbor_cases import draw_case
from tonari.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors

RANDOM_CASES = range(0, 2_400, 8)
CODED_CASES = range(1, 2_400, 24)
INSTRUCTION_SETS = ("generic", "v2", "v3", "v4", "v4_vnni")

# (rows, columns, queries, k, metric, p): sizes on both sides of every block and lane count.
PROBLEMS = [
    (1, 1, 3, 1, "euclidean", 2),
    (37, 3, 29, 37, "euclidean", 2),
    (1000, 7, 130, 5, "manhattan", 2),
    (2049, 16, 97, 10, "euclidean", 2),
    (3000, 17, 333, 1, "chebyshev", 2),
    (1537, 64, 257, 33, "euclidean", 2),
    (513, 129, 65, 100, "cosine", 2),
    (300, 31, 33, 7, "minkowski", 3),
    (257, 784, 70, 12, "euclidean", 2),
    (120, 2000, 17, 4, "manhattan", 2),
]
DTYPES = [np.float32, np.float64]


def make(problem: tuple[Any, ...], dtype: Any, *, n_jobs: int | None = 1) -> tuple[NearestNeighbors, np.ndarray]:
    """A fitted model and queries: half the columns continuous, half small integers, some rows twice, far from 0."""
    n, dim, n_queries, k, metric, p = problem
    rng = np.random.default_rng([n, dim])
    rows = rng.standard_normal((n, dim))
    rows[:, ::2] = rng.integers(0, 3, rows[:, ::2].shape)
    rows[n // 2 :] = rows[: n - n // 2]
    queries = rows[rng.integers(0, n, n_queries)] + (rng.random((n_queries, dim)) < 0.1)
    model = NearestNeighbors(n_neighbors=k, metric=metric, p=p, n_jobs=n_jobs).fit((rows + 100).astype(dtype))
    return model, (queries + 100).astype(dtype)


def same(found: Any, expected: Any) -> None:
    for got, wanted in zip(found, expected, strict=True):
        assert np.asarray(got).tobytes() == np.asarray(wanted).tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_threads(problem: tuple[Any, ...], dtype: Any) -> None:
    expected, queries = make(problem, dtype)[0].kneighbors(make(problem, dtype)[1]), make(problem, dtype)[1]
    for n_jobs in (2, 3, 7, -1, None):
        same(make(problem, dtype, n_jobs=n_jobs)[0].kneighbors(queries), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_batches(problem: tuple[Any, ...], dtype: Any) -> None:
    """One query at a time, in odd lots, and all at once."""
    model, queries = make(problem, dtype, n_jobs=None)
    distances, rows = model.kneighbors(queries)
    for lot in (1, 5, 64):
        parts = [model.kneighbors(queries[start : start + lot]) for start in range(0, len(queries), lot)]
        same([np.concatenate(column) for column in zip(*parts, strict=True)], (distances, rows))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_order_of_queries(problem: tuple[Any, ...], dtype: Any) -> None:
    model, queries = make(problem, dtype, n_jobs=None)
    order = np.random.default_rng(1).permutation(len(queries))
    shuffled = model.kneighbors(queries[order])
    same(shuffled, [part[order] for part in model.kneighbors(queries)])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_order_and_number_of_rows(problem: tuple[Any, ...], dtype: Any) -> None:
    """A pair's distance is that pair's business: no centre, scale or neighbour in a block may leave a trace in it."""
    n, dim, _, k, metric, p = problem
    model, queries = make(problem, dtype)
    rows = make(problem, dtype)[0]._fit_X
    expected = model.kneighbors(queries)[0]
    order = np.random.default_rng(4).permutation(n)
    far = np.full((5, dim), 1e7, dtype=dtype)
    if metric != "cosine":
        order_model = NearestNeighbors(n_neighbors=k, metric=metric, p=p).fit(np.concatenate([rows[order], far]))
        same([order_model.kneighbors(queries)[0]], [expected])
    else:
        same([NearestNeighbors(n_neighbors=k, metric=metric).fit(rows[order]).kneighbors(queries)[0]], [expected])


@pytest.mark.parametrize("dtype", DTYPES)
def test_layout_of_memory(dtype: Any) -> None:
    """Fortran order, strides, reversed views and read-only arrays hold the same numbers."""
    model, queries = make(PROBLEMS[5], dtype)
    rows = model._fit_X
    expected = model.kneighbors(queries)
    padded = np.zeros((len(rows) * 2, rows.shape[1] * 3), dtype=dtype)
    padded[::2, ::3] = rows
    locked = rows.copy()
    locked.flags.writeable = False
    backwards = np.ascontiguousarray(rows[::-1, ::-1])[::-1, ::-1]
    for view in (np.asfortranarray(rows), padded[::2, ::3], locked, backwards):
        again = NearestNeighbors(n_neighbors=33, n_jobs=1).fit(view)
        same(again.kneighbors(queries), expected)
        same(again.kneighbors(np.asfortranarray(queries)), expected)


def test_working_memory() -> None:
    """A smaller limit means smaller tiles, not other answers."""
    model, queries = make(PROBLEMS[5], np.float32)
    expected = model.kneighbors(queries)
    with sklearn.config_context(working_memory=1):
        same(model.kneighbors(queries), expected)
        same(make(PROBLEMS[5], np.float32)[0].kneighbors(queries), expected)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_inside_joblib_workers(backend: str) -> None:
    """One core inside a worker, all cores outside: the same bits."""
    model, queries = make(PROBLEMS[3], np.float64, n_jobs=None)
    expected = model.kneighbors(queries)
    for found in Parallel(n_jobs=2, backend=backend)(delayed(model.kneighbors)(queries) for _ in range(3)):
        same(found, expected)


def fingerprint() -> str:
    """One number for distances, rows, votes and means over every problem, type and filter; for a process of its own."""
    digest = hashlib.sha256()
    for how, numbers in (("auto", RANDOM_CASES), ("flat", CODED_CASES), ("heads", CODED_CASES)):
        os.environ["TONARI_FILTER"] = how
        for number in numbers:
            case = draw_case(number)
            model = NearestNeighbors(n_neighbors=case.k, metric=case.metric, p=case.p, n_jobs=case.n_jobs)
            digest.update(b"".join(part.tobytes() for part in model.fit(case.rows).kneighbors(case.queries)))
    for how in ("flat", "heads"):
        os.environ["TONARI_FILTER"] = how
        for name in ("decaying", "pixels", "outlier_columns", "far_away"):
            rows, queries = (part.astype(np.float32) for part in draw_hostile(name, 2, 2_500, 70, 61))
            digest.update(b"".join(part.tobytes() for part in NearestNeighbors().fit(rows).kneighbors(queries)))
    os.environ["TONARI_FILTER"] = "auto"
    for algorithm in ("kd_tree", "ball_tree"):
        for number in CODED_CASES:
            case = draw_case(number)
            if case.metric != "cosine":
                model = NearestNeighbors(n_neighbors=case.k, metric=case.metric, p=case.p, algorithm=algorithm)
                digest.update(b"".join(part.tobytes() for part in model.fit(case.rows).kneighbors(case.queries)))
    for problem in PROBLEMS:
        for dtype in DTYPES:
            model, queries = make(problem, dtype, n_jobs=2)
            rows = model._fit_X
            labels = np.arange(len(rows)) * 7 % 5
            digest.update(b"".join(part.tobytes() for part in model.kneighbors(queries)))
            for weights in ("uniform", "distance"):
                params = {**model.get_params(), "weights": weights}
                params.pop("radius")
                classifier = KNeighborsClassifier(**params).fit(rows, labels)
                digest.update(classifier.predict_proba(queries).tobytes())
                digest.update(classifier.predict(queries).astype(np.int64).tobytes())
                regressor = KNeighborsRegressor(**params).fit(rows, labels / 3)
                digest.update(regressor.predict(queries).tobytes())
    return digest.hexdigest()


def run_with_isa(isa: str) -> subprocess.CompletedProcess[str]:
    code = "from tests.contract.test_neighbors_same_bits import report; report()"
    path = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])
    environment = {**os.environ, "TONARI_ISA": isa, "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def report() -> None:
    """What a child process prints: the instruction set that was chosen and the fingerprint under it."""
    json.dump({"isa": tonari.show_config()["isa"], "fingerprint": fingerprint()}, sys.stdout)


def test_instruction_sets() -> None:
    """Every instruction set that this machine has gives the bits of the plain C++ one."""
    seen = {}
    for isa in INSTRUCTION_SETS:
        run = run_with_isa(isa)
        if run.returncode:
            assert "this processor cannot run" in run.stderr, run.stderr
            continue
        answer = json.loads(run.stdout)
        assert answer["isa"] == isa
        seen[isa] = answer["fingerprint"]
    assert "generic" in seen
    assert len(set(seen.values())) == 1, seen


def test_an_unknown_instruction_set_is_refused_in_words() -> None:
    """A misspelt TONARI_ISA must not be ignored: the user would believe that it was honoured."""
    run = run_with_isa("v9")
    assert run.returncode != 0
    assert "TONARI_ISA" in run.stderr
    assert "generic" in run.stderr
