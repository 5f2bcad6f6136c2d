"""Processes, threads, signals and memory. Guards traps 9 (fork, pools) and 10 (Ctrl-C, memory of rows squared)."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from tonari.neighbors import KNeighborsClassifier, NearestNeighbors

TIMEOUT = 90
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def problem(n: int = 4_000, n_queries: int = 500, dim: int = 24) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, dim)).astype(np.float32), rng.standard_normal((n_queries, dim)).astype(np.float32)


def in_forked_child(work: Callable[[], Any]) -> Any:
    """What `work` returns in a forked child; a child that hangs is ended and fails the test."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send(work()))
    child.start()
    try:
        assert receiver.poll(TIMEOUT), "the forked child hangs"
        return receiver.recv()
    finally:
        child.join(5)
        if child.is_alive():
            child.kill()


@needs_fork
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_use_fork_use() -> None:
    """Trap 9: OpenMP and fork hang; a child has none of its parent's threads and must start its own."""
    rows, queries = problem()
    model = NearestNeighbors(n_neighbors=7, n_jobs=2).fit(rows)
    expected = model.kneighbors(queries)
    for _ in range(2):
        found = in_forked_child(lambda: model.kneighbors(queries))
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])
        fitted_there = in_forked_child(lambda: NearestNeighbors(n_neighbors=7, n_jobs=2).fit(rows).kneighbors(queries))
        np.testing.assert_array_equal(fitted_there[1], expected[1])
        np.testing.assert_array_equal(model.kneighbors(queries)[1], expected[1])


@needs_fork
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_fork_while_another_thread_searches() -> None:
    """Trap 9: locks that are held at the moment of the fork stay locked in the child for ever."""
    rows, queries = problem(20_000, 2_000)
    model = NearestNeighbors(n_neighbors=7, n_jobs=2).fit(rows)
    expected = model.kneighbors(queries[:50])[1]
    done = threading.Event()

    def search_on() -> None:
        while not done.is_set():
            model.kneighbors(queries)

    thread = threading.Thread(target=search_on)
    thread.start()
    try:
        for _ in range(4):
            found = in_forked_child(lambda: model.kneighbors(queries[:50])[1])
            np.testing.assert_array_equal(found, expected)
    finally:
        done.set()
        thread.join()


def test_concurrent_predictions() -> None:
    """Trap 9: several Python threads ask the same object, and several objects the same pool."""
    rows, queries = problem()
    labels = (rows[:, 0] > 0).astype(int)
    models = [KNeighborsClassifier(k, n_jobs=2).fit(rows, labels) for k in (1, 5, 15)]
    expected = [model.predict_proba(queries) for model in models]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda i: models[i % 3].predict_proba(queries), range(48)))
    for i, answer in enumerate(answers):
        np.testing.assert_array_equal(answer, expected[i % 3])


def test_concurrent_fits() -> None:
    """Trap 9: building from several threads at once."""
    rows, queries = problem(1_500, 100)
    expected = NearestNeighbors(n_neighbors=3).fit(rows).kneighbors(queries)[1]
    with ThreadPoolExecutor(6) as pool:
        for found in pool.map(lambda _: NearestNeighbors(n_neighbors=3).fit(rows).kneighbors(queries)[1], range(24)):
            np.testing.assert_array_equal(found, expected)


def test_other_python_threads_run_during_a_search() -> None:
    """Trap 10: a search that holds the interpreter freezes every other thread of the program."""
    rows, queries = problem(20_000, 200)
    model = NearestNeighbors(n_neighbors=5, metric="minkowski", p=2.5, n_jobs=1).fit(rows)
    ticks, done = [0], threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        seconds = 0.0
        while seconds < 0.3:
            before, start = ticks[0], time.perf_counter()
            model.kneighbors(queries)
            seconds, passed = time.perf_counter() - start, ticks[0] - before
            queries = np.concatenate([queries, queries])
    finally:
        done.set()
        thread.join()
    assert passed > 20, f"another thread ran {passed} times during {seconds:.2f} s of search"


INTERRUPTED = """
import sys, time
import numpy as np
from tonari.neighbors import NearestNeighbors
rng = np.random.default_rng(0)
rows = rng.standard_normal((60_000, 40))
model = NearestNeighbors(n_neighbors=5, metric={metric!r}, p=2.5, n_jobs={n_jobs}).fit(rows)
before = model.kneighbors(rows[:20])
queries = np.concatenate([rows] * {copies})
print("searching", flush=True)
try:
    model.kneighbors(queries)
except KeyboardInterrupt:
    after = model.kneighbors(rows[:20])
    print("usable" if all((a == b).all() for a, b in zip(before, after)) else "changed", flush=True)
else:
    print("the search ended by itself", flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="a signal to one process is a POSIX matter")
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(("metric", "copies"), [("minkowski", 1), ("euclidean", 12)])
def test_ctrl_c(metric: str, copies: int, n_jobs: int) -> None:
    """Trap 10: native loops that ignore Ctrl-C; the search stops, KeyboardInterrupt comes, the object stays usable."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    code = INTERRUPTED.format(metric=metric, copies=copies, n_jobs=n_jobs)
    child = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline().strip() == "searching", child.stderr.read() if child.stderr else ""
        time.sleep(0.4)
        child.send_signal(signal.SIGINT)
        output, errors = child.communicate(timeout=TIMEOUT)
    finally:
        child.kill()
    assert output.strip() == "usable", errors


MEMORY = """
import resource
import numpy as np
from tonari.neighbors import NearestNeighbors
rng = np.random.default_rng(0)
rows = rng.standard_normal((30_000, 4)).astype(np.float32)
model = NearestNeighbors(n_neighbors=3, metric={metric!r}, n_jobs=2).fit(rows)
model.kneighbors(rows[:100])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model.kneighbors(rows)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux only")
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_memory_does_not_grow_with_rows_squared(metric: str) -> None:
    """Trap 10: 30,000 x 30,000 distances would be 7,200 MB in float64; the answer itself is 1.4 MB."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(
        [sys.executable, "-c", MEMORY.format(metric=metric)],
        env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=True,
    )  # fmt: skip
    assert int(run.stdout) < 400, f"{run.stdout.strip()} MB"
