"""The oracle itself, held against rational arithmetic and against SciPy. Guards trap 16: one library as the truth."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from tests.reference.neighbor_cases import draw_case
from tests.reference.neighbors import (
    assert_same_neighbours,
    class_shares,
    distance_matrix,
    error_bound,
    mean_target,
    nearest,
    within,
)


def _rational(query: np.ndarray, row: np.ndarray, metric: str) -> float:
    """L1, L2 or Chebyshev by fractions, rounded once to float64 (the square root by integers of 160 bits)."""
    gaps = [abs(Fraction(float(a)) - Fraction(float(b))) for a, b in zip(query, row, strict=True)]
    if metric == "manhattan":
        return float(sum(gaps))
    if metric == "chebyshev":
        return float(max(gaps))
    total = sum(gap * gap for gap in gaps)
    if total == 0:
        return 0.0
    bits = 160 - (total.numerator.bit_length() - total.denominator.bit_length()) // 2
    scaled = isqrt(int(total * Fraction(4) ** bits))
    return float(Fraction(scaled) / Fraction(2) ** bits)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
@pytest.mark.parametrize(("offset", "scale"), [(0, 1), (1e6, 1), (0, 1e-200), (0, 1e200), (1e4, 1e-30)])
def test_oracle_agrees_with_fractions(metric: str, offset: float, scale: float) -> None:
    """Trap 1: the oracle must not lose digits at an offset or at an extreme exponent."""
    rng = np.random.default_rng(7)
    for dim in (1, 2, 9, 40):
        rows, queries = ((rng.standard_normal((6, dim)) + offset) * scale for _ in range(2))
        expected = [[_rational(query, row, metric) for row in rows] for query in queries]
        np.testing.assert_array_max_ulp(distance_matrix(queries, rows, metric), np.array(expected), maxulp=1)


@pytest.mark.parametrize(
    ("metric", "p", "theirs"),
    [
        ("l2", 2.0, {"metric": "euclidean"}),
        ("cityblock", 2.0, {"metric": "cityblock"}),
        ("chebyshev", 2.0, {"metric": "chebyshev"}),
        ("minkowski", 3.0, {"metric": "minkowski", "p": 3}),
        ("minkowski", 1.5, {"metric": "minkowski", "p": 1.5}),
        ("minkowski", np.inf, {"metric": "chebyshev"}),
        ("cosine", 2.0, {"metric": "cosine"}),
    ],
)
def test_oracle_agrees_with_scipy(metric: str, p: float, theirs: dict[str, Any]) -> None:
    """Trap 16: the formulas are those that everybody else means by these names."""
    rng = np.random.default_rng(3)
    rows, queries = rng.standard_normal((40, 13)), rng.standard_normal((9, 13))
    np.testing.assert_allclose(distance_matrix(queries, rows, metric, p), cdist(queries, rows, **theirs), rtol=1e-13)


def test_a_zero_vector_has_cosine_distance_one_from_everything() -> None:
    """Trap 4: zero vectors under cosine, themselves included."""
    rows = np.array([[0.0, 0.0], [2.0, 0.0], [-1.0, 0.0]])
    assert distance_matrix(rows, rows, "cosine").tolist() == [[1, 1, 1], [1, 0, 2], [1, 2, 0]]


def test_order_is_distance_then_row() -> None:
    """Trap 4: ties are broken by rule, and a row never meets itself when it asks for its own neighbours."""
    distances = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    assert nearest(distances, 3)[1].tolist() == [[1, 3, 0], [0, 1, 2]]
    assert nearest(distances, 2, own_row=True)[1].tolist() == [[1, 3], [0, 2]]
    assert [rows.tolist() for rows in within(distances, 0.5)] == [[1, 3], [0, 1, 2, 3]]


def test_votes_and_means_by_hand() -> None:
    """A neighbour at distance 0 silences the others; otherwise 1 / distance."""
    distances, rows = np.array([[0.0, 1.0], [1.0, 2.0]]), np.array([[0, 1], [1, 2]])
    codes, targets = np.array([1, 0, 1]), np.array([10.0, 20.0, 50.0])
    assert class_shares(distances, rows, codes, 2).tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert class_shares(distances, rows, codes, 2, "distance")[0].tolist() == [0, 1]
    np.testing.assert_allclose(class_shares(distances, rows, codes, 2, "distance")[1], [2 / 3, 1 / 3])
    assert mean_target(distances, rows, targets).tolist() == [15, 35]
    np.testing.assert_allclose(mean_target(distances, rows, targets, "distance"), [10, 30])
    np.testing.assert_allclose(mean_target(distances, rows, np.c_[targets, -targets], "distance")[1], [30, -30])


def test_the_bound_is_zero_where_rows_are_equal() -> None:
    assert error_bound(np.array([0.0, 1.0]), "euclidean").tolist() == [0.0, 4 * np.spacing(1.0)]
    assert error_bound(np.array([0.0]), "cosine")[0] < 1e-29


@pytest.mark.parametrize(
    ("distances", "rows", "message"),
    [
        ([[0.0, 1.0]], [[0, 0]], "came twice"),
        ([[1.0, 0.0]], [[1, 0]], "not ascending"),
        ([[1.0, 1.0]], [[2, 1]], "not ascending"),
        ([[0.0, 2.0]], [[0, 3]], "left out"),
        ([[1e-9, 1.0]], [[0, 1]], "differs from the oracle"),
        ([[0.0, 1.0]], [[0, -1]], "outside the table"),
    ],
)
def test_the_comparison_can_fail(distances: list[Any], rows: list[Any], message: str) -> None:
    """Trap 16: a comparison that accepts everything proves nothing; each way of being wrong is refused."""
    true = np.array([[0.0, 1.0, 1.0, 2.0]])
    with pytest.raises(AssertionError, match=message):
        assert_same_neighbours((np.array(distances), np.array(rows)), true, 2)


def test_another_order_is_accepted_among_rows_that_agree_within_the_bound_only() -> None:
    near = np.nextafter(1.0, 2)
    assert_same_neighbours((np.array([[1.0]]), np.array([[1]])), np.array([[1.0, near]]), 1)
    with pytest.raises(AssertionError, match="left out"):
        assert_same_neighbours((np.array([[1.1]]), np.array([[1]])), np.array([[1.0, 1.1]]), 1)


def test_one_number_names_one_case() -> None:
    """A failure report quotes the number; it must bring the same problem back."""
    first, second = draw_case(17), draw_case(17)
    assert str(first) == str(second)
    assert first.rows.tobytes() == second.rows.tobytes()
