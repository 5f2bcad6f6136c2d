"""Duplicates, conflicts, leakage and rows out of range: planted ones are found, clean tables stay quiet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine

from tonari.audit import find_duplicates, find_leakage, find_out_of_range


def test_equal_rows_and_conflicting_labels() -> None:
    X = np.array([[0.0, 1.0], [2.0, 2.0], [-0.0, 1.0], [3.0, 3.0], [2.0, 2.0], [0.0, 1.0]])
    found = find_duplicates(X, ["a", "b", "a", "c", "d", "a"])
    assert [group.tolist() for group in found.exact] == [[0, 2, 5], [1, 4]]
    assert [group.tolist() for group in found.conflicts] == [[1, 4]]
    assert "3 of 6 rows repeat" in str(found)


@pytest.mark.parametrize("load", [load_digits, load_iris, load_wine])
def test_clean_tables_have_no_near_duplicates(load: Any) -> None:
    X = load().data
    assert len(find_duplicates(X).near) <= 3
    half = np.arange(len(X)) % 2 == 0
    assert len(find_leakage(X[half], X[~half]).near) <= 3
    assert len(find_out_of_range(X[half], X[~half]).rows) <= 3


@pytest.mark.parametrize("dim", [2, 10, 50])
def test_random_rows_have_none_by_chance(dim: int) -> None:
    """Less than half a pair is expected, whatever the dimension."""
    found = [len(find_duplicates(np.random.default_rng(seed).normal(size=(500, dim))).near) for seed in range(8)]
    assert sum(found) <= 8


@pytest.mark.parametrize("dim", [2, 10, 50])
def test_planted_copies_are_found(dim: int) -> None:
    rng = np.random.default_rng(dim)
    X = rng.normal(size=(400, dim)) * np.geomspace(1, 1000, dim)
    noise = 1e-4 * X.std(axis=0) * rng.normal(size=(10, dim))
    table = np.r_[X, X[:10] + noise, X[20:25]]
    found = find_duplicates(table)
    assert {tuple(pair) for pair in found.near.tolist()} >= {(i, 400 + i) for i in range(10)}
    assert len(found.near) <= 12
    assert [group.tolist() for group in found.exact] == [[20 + i, 410 + i] for i in range(5)]
    leak = find_leakage(X, table[400:])
    assert leak.exact.tolist() == [[10 + i, 20 + i] for i in range(5)]
    assert leak.near.tolist() == sorted(leak.near.tolist(), key=leak.near.tolist().index)
    assert {tuple(pair) for pair in leak.near.tolist()} == {(i, i) for i in range(10)}
    assert "5 of 15 test rows" in str(leak)


def test_coarse_tables_repeat_rows_without_a_leak() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(400, 3)).astype(float)
    leak = find_leakage(X[:300], X[300:])
    assert len(leak.exact) > 90
    assert abs(leak.expected_exact - len(leak.exact)) < 10


def test_rows_out_of_range() -> None:
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 2000)
    ring = np.c_[np.cos(angle), np.sin(angle)] + 0.01 * rng.normal(size=(2000, 2))
    found = find_out_of_range(ring[:1500], np.r_[ring[1500:], [[0.0, 0.0], [5.0, 0.0]]])
    assert {500, 501} <= set(found.rows.tolist())
    assert len(found.rows) <= 6
    columns = dict(zip(found.rows.tolist(), [own.tolist() for own in found.columns], strict=True))
    assert columns[500] == []  # inside every column's range, and yet far from every row
    assert columns[501] == [0]
    assert "the combination" in str(found)
    assert found.p_values[500] == pytest.approx(1 / 1501)
