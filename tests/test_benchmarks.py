"""The benchmark of exact search runs on toys, judges rightly, and its table and picture say what the results say."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import approximate, memory, neighbors, plots, quality, record, table, workloads
from benchmarks.contests import CONTESTS, RIVALS, Search
from tests.reference.neighbors import nearest

ROOT = Path(__file__).resolve().parents[1]


# --- the run --------------------------------------------------------------------------------------------------------


def test_contests_run_on_toys() -> None:
    """A tree, and a metric that is not the usual one, in a process of its own, with the rivals that need no extra."""
    names = ("uniform_3", "normal_100")
    command = [sys.executable, "-m", "benchmarks.neighbors", "--quick", "--repeats", "1"]
    command += [f"--rival={rival}" for rival in ("scikit_learn", "scipy_ckdtree")]
    command += [f"--workload={name}" for name in names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    results = documents(done.stdout)
    assert [result["name"] for result in results] == [f"neighbors_{name}" for name in names]
    for result in results:
        sides = result["contenders"]
        assert len(sides) == 2
        assert all(side["right"] and side["rounds"] == 1 for side in sides.values())
        assert sides["tonari"]["quality"]["same_rows_in_order"] == 1
        rival = next(name for name in sides if name != "tonari")
        assert result["fastest_right_rival"]["search"]["rival"] == rival
        assert result["times_faster"]["search"][rival] > 0
        assert result["memory"]["kept"]
        assert result["memory"]["fit"] <= result["memory"]["fit_and_search"] < 100
    assert "fashion_mnist" not in table.contenders({result["name"]: result for result in results})


def documents(text: str) -> list[dict[str, Any]]:
    """The JSON documents of a text that is nothing else."""
    found, decoder = [], json.JSONDecoder()
    while text := text.strip():
        document, end = decoder.raw_decode(text)
        found.append(document)
        text = text[end:]
    return found


def test_a_saved_result_names_every_rival(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        neighbors.main(["--save", "--rival", "faiss"])
    assert "leave --rival away" in capsys.readouterr().err


def test_every_workload_has_its_contest_and_every_target_its_rivals() -> None:
    assert list(CONTESTS) == list(workloads.SEARCH)
    for contest in CONTESTS.values():
        assert set(contest.rivals) <= set(RIVALS)
    for target in table.TARGETS:
        assert set(target.rivals) <= set(CONTESTS[target.workload].rivals)
    assert set().union(*(contest.rivals for contest in CONTESTS.values())) == set(RIVALS)


def test_who_is_slow_is_run_once(capsys: pytest.CaptureFixture[str]) -> None:
    """And keeps that round as its result; the others have their rounds, the first not among them."""
    calls = []

    def work(name: str, seconds: float) -> dict[str, float]:
        calls.append(name)
        time.sleep(seconds)
        return {"search": float(len(calls))}

    timings = record.alternate({"slow": lambda: work("slow", 0.2), "quick": lambda: work("quick", 0)}, 2, patience=0.1)
    assert calls == ["slow", "quick", "quick", "quick"]
    assert timings["slow"]["search"]["all"] == [1.0]
    assert timings["quick"]["search"]["all"] == [3.0, 4.0]
    assert "slow took" in capsys.readouterr().err


# --- the judge ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "hamming"])
@pytest.mark.parametrize("shift", [0, 10_000])
def test_true_neighbours_are_the_oracles(metric: str, shift: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In several blocks of rows and of queries, with ties, and far from the origin."""
    monkeypatch.setattr(quality, "BLOCK", 64)
    monkeypatch.setattr(quality, "TABLE", 1500)
    rng = np.random.default_rng(3)
    if metric == "hamming":
        rows, queries = (rng.integers(0, 2, (size, 24)).astype(bool) for size in (300, 17))
    else:
        rows, queries = (rng.standard_normal((size, 24)).astype(np.float32) + np.float32(shift) for size in (300, 17))
        rows[200:] = rows[:100]
    distances, order = quality.true_neighbours(queries, rows, 7, metric)
    expected = nearest(quality.oracle(queries, rows, metric), 7)
    np.testing.assert_array_equal(order, expected[1])
    np.testing.assert_array_equal(distances, expected[0])


def test_the_judge_sees_what_is_wrong() -> None:
    """Equal distances may come from another row; a row twice, no row, or a farther one may not."""
    rows = np.array([[0.0], [1.0], [1.0], [3.0], [9.0]])
    queries = np.array([[0.0]])
    true = quality.true_neighbours(queries, rows, 2)
    distances = np.array([[0.0, 1.0]])

    def share(*found: int) -> float:
        return float(quality.judge((distances, np.array([found])), true, queries, rows)["as_near"])

    assert true[1].tolist() == [[0, 1]]
    assert share(0, 1) == share(0, 2) == 1
    assert share(0, 0) == share(0, -1) == share(0, 3) == 0.5
    assert quality.is_right({"as_near": 1.0})
    assert not quality.is_right({"as_near": 0.9999})


def test_peak_memory_sees_an_allocation() -> None:
    memory.forget()
    before = memory.peak()
    held = np.ones(50 * 2**17)
    grown = memory.peak() - before
    assert held.nbytes == 50 * 2**20
    if Path("/proc/self/clear_refs").exists():
        assert 49 < grown < 80


# --- the data -------------------------------------------------------------------------------------------------------


def test_the_decaying_spectrum_is_the_one_described() -> None:
    """Variances j ** -1.5 along directions that no column follows, for rows and queries alike."""
    load = workloads.decaying_96(quick=True)
    wanted = np.arange(1, 97) ** -1.5
    assert load.queries is not None
    found = np.linalg.eigvalsh(np.cov(load.rows.T))[::-1]
    np.testing.assert_allclose(found[:10], wanted[:10], rtol=0.15)
    np.testing.assert_allclose(found.sum(), wanted.sum(), rtol=0.05)
    spread = load.rows.std(axis=0)
    assert spread.max() < 0.6 < np.sqrt(wanted[0]), "a column carries the first direction"
    np.testing.assert_allclose(np.cov(load.queries.T), np.cov(load.rows.T), atol=0.25)
    assert load.sha256 == workloads.decaying_96(quick=True).sha256


def test_bits_are_bits() -> None:
    load = workloads.bits_256(quick=True)
    assert load.rows.dtype == bool
    assert load.rows.shape[1] == 256
    assert 0.49 < load.rows.mean() < 0.51


# --- the approximate rival ------------------------------------------------------------------------------------------


class WrongForSmallEf:
    """A graph in whose place an exact search stands, which loses the last neighbour unless `ef` is large."""

    label = "graph"

    def __init__(self, threads: int) -> None:
        self._exact = Search(threads, "euclidean", "brute")

    def fit(self, rows: np.ndarray) -> None:
        self._exact.fit(rows)
        self._last = len(rows) - 1

    def search(self, queries: np.ndarray, k: int, ef: int) -> tuple[np.ndarray, np.ndarray]:
        distances, rows = self._exact.search(queries, k)
        if ef < 80:
            rows[:, -1] = rows[:, 0]
        return distances, rows


def test_the_approximate_rival_counts_where_its_recall_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approximate.hnswlib, "Graph", WrongForSmallEf)
    monkeypatch.setattr(approximate.record, "installed", lambda package: "1")
    monkeypatch.setattr(approximate, "EFS", (10, 80))
    monkeypatch.setattr(record, "PAUSE", 0.0)
    rows = np.random.default_rng(0).standard_normal((200, 4))
    ours = Search(1, "euclidean", "brute")
    ours.fit(rows)
    true = quality.true_neighbours(rows[:20], rows, 10)
    chosen = argparse.Namespace(threads=1, repeats=1)
    curve = approximate.measure(ours, rows, rows[:20], 10, np.arange(20), true, chosen)
    assert curve is not None
    assert [point["recall"] for point in curve["points"]] == [0.9, 1.0]
    best = curve["exact_over_approximate"]
    assert best["ef"] == 80
    assert best["times_faster"] == round(
        curve["exact_queries_per_second"] / curve["points"][1]["queries_per_second"], 3
    )


# --- what is made of the results ------------------------------------------------------------------------------------


def a_side(label: str, search: float, *, as_near: float = 1.0, rounds: int = 3) -> dict[str, Any]:
    seconds = {part: record.spread([search] * rounds) for part in ("fit", "search", "fit_and_search", "one_query")}
    judged = {"as_near": as_near, "wrong_top1": 0.0}
    return {
        "label": label, "rounds": rounds, "seconds": seconds, "quality": judged, "right": quality.is_right(judged)
    }  # fmt: skip


def a_result(workload: str, **sides: dict[str, Any]) -> dict[str, Any]:
    timings = {name: side["seconds"] for name, side in sides.items()}
    parts = ("fit", "search", "fit_and_search", "one_query")
    return {
        "name": f"neighbors_{workload}", "repeats": 3, "threads": 2, "cpu": "a processor",
        "data": {"rows": 60_000, "columns": 784, "queries": 10_000}, "contenders": sides,
        "fastest_right_rival": neighbors.fastest(timings, [name for name, side in sides.items() if side["right"]]),
        "times_faster": {part: record.ratios(timings, part) for part in parts},
        "memory": {"float32_data": 50.0, "promised": 100.0, "fit_and_search": 101.0, "kept": False},
    }  # fmt: skip


@pytest.fixture
def results() -> dict[str, dict[str, Any]]:
    ours = a_side("tonari", 1.0)
    fashion = a_result(
        "fashion_mnist", tonari=ours, faiss=a_side("FAISS", 9.0), faiss_panorama=a_side("Panorama", 4.0, as_near=0.9)
    )
    fashion["approximate"] = {
        "label": "hnswlib", "exact_queries_per_second": 10_000.0,
        "points": [{"ef": 10, "recall": 0.95, "queries_per_second": 20_000.0},
                   {"ef": 80, "recall": 0.995, "queries_per_second": 9_000.0}],
        "exact_over_approximate": {"recall_at_least": 0.99, "ef": 80, "times_faster": 1.111},
    }  # fmt: skip
    normal = a_result(
        "normal_128", tonari=ours, faiss=a_side("FAISS", 0.5, as_near=0.5), usearch=a_side("usearch", 30.0, rounds=1),
        scikit_learn=a_side("scikit-learn", 3.0),
    )  # fmt: skip
    wrong = a_result("bits_256", tonari=a_side("tonari", 1.0, as_near=0.9), faiss_binary=a_side("bits", 5.0))
    return {result["name"]: result for result in (fashion, normal, wrong)}


def test_targets_name_the_fastest_right_rival(results: dict[str, dict[str, Any]]) -> None:
    lines = table.targets(results).splitlines()
    assert len(lines) == 2 + len(table.TARGETS) + 1 + 2 + len(results)
    assert lines[2].endswith("| FAISS | 9.00 | 8 | 16 | floor | 9.00, FAISS |")
    assert lines[4].endswith("| Panorama (not right: 90.00% as near) | 4.00 | 5 | 10 | missed | 9.00, FAISS |")
    assert lines[5].endswith("| scikit-learn | 3.00 | 2.5 | 5 | floor | 3.00, scikit-learn |")
    assert lines[6].endswith("|  | not measured | 5 | 12 |  |  |")
    assert lines[11].endswith("| bits | 5.00 | 1 | 2 | OURS IS WRONG | 5.00, bits |")
    assert lines[12].endswith("| hnswlib, ef=80 | 1.11 | 0.7 | 1.5 | floor |  |")
    assert "| normal_128 | 50 | 101 | 100 | NO |" in lines
    assert "usearch (run once)" in table.contenders(results)


def test_tables_and_picture_come_from_the_saved_files(
    results: dict[str, dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert plots.main(["--results", str(tmp_path)]) == 1
    for name, result in results.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(result), encoding="utf-8")
    capsys.readouterr()
    assert table.main(["--results", str(tmp_path)]) == 0
    assert table.targets(record.saved(tmp_path)) in capsys.readouterr().out
    pictures = [tmp_path / "one" / "speed.svg", tmp_path / "two" / "speed.svg"]
    for picture in pictures:
        assert plots.main(["--results", str(tmp_path), "--output", str(picture)]) == 0
    text = pictures[0].read_text(encoding="utf-8")
    assert text == pictures[1].read_text(encoding="utf-8")
    assert "tonari  10,000" in text
    assert "hnswlib, approximate" in text
    assert "Panorama" not in text, "it was not right"


def test_labels_keep_apart() -> None:
    placed = plots.spread_labels([100.0, 101.0, 1000.0])
    assert placed[0] == 100
    assert placed[1] == pytest.approx(100 * plots.APART)
    assert placed[2] == 1000
