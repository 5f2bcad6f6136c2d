"""Bounds of the Bayes error against Gaussian mixtures whose Bayes error is known, in 2, 10 and 50 dimensions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from tonari.audit import BayesErrorBounds, bayes_error_bounds
from tonari.audit.bayes import _cover_hart


def _bounds(dim: int, rows: int, error: float, seed: int) -> BayesErrorBounds:
    rng = np.random.default_rng([seed, dim, rows])
    y = rng.integers(0, 2, rows)
    X = rng.normal(size=(rows, dim))
    X[:, 0] -= 2 * norm.ppf(error) * y
    return bayes_error_bounds(X, y, scaling="none")


@pytest.mark.parametrize("error", [0.023, 0.1, 0.25])
@pytest.mark.parametrize("dim", [2, 10, 50])
@pytest.mark.parametrize("rows", [300, 1000])
def test_the_ends_keep_what_they_promise(dim: int, rows: int, error: float) -> None:
    found = [_bounds(dim, rows, error, seed) for seed in range(5)]
    assert all(one.upper > error for one in found)
    standing = [one for one in found if not one.withdrawn]
    assert sum(one.lower > error for one in standing) <= 1
    if dim == 50:
        assert not standing, "1-NN is far from its limit here, and the naive lower end lies above the Bayes error"
    if dim == 2 and rows == 1000:
        assert len(standing) >= 2, "where 1-NN has converged the lower end is given"


def test_the_naive_lower_end_would_be_wrong() -> None:
    """1,000 rows, 50 dimensions, Bayes error 2.3 %: the classical bound alone says more than twice that."""
    found = _bounds(50, 1000, 0.023, 0)
    assert _cover_hart(found.one_nn_error, 2) > 0.04
    assert np.isnan(found.lower)
    assert found.withdrawn
    assert "No lower end" in str(found)


def test_the_formula_of_cover_and_hart() -> None:
    """R = R* (2 - C / (C - 1) R*) solved for R*."""
    for classes in (2, 5, 26):
        for least in (0.0, 0.05, 0.3):
            asymptotic = least * (2 - classes / (classes - 1) * least)
            assert _cover_hart(asymptotic, classes) == pytest.approx(least, abs=1e-12)
    assert _cover_hart(0.9, 2) == 0.5


def test_candidates_may_lower_the_upper_end_and_refute_the_lower_one() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 1500)
    X = rng.normal(size=(1500, 2)) + 2 * y[:, np.newaxis] * [1, 0]
    alone = bayes_error_bounds(X, y)
    assert not alone.withdrawn
    assert alone.lower < norm.cdf(-1) < alone.upper
    helped = bayes_error_bounds(X, y, candidates=[(100, 5000)])
    assert helped.upper < alone.upper
    assert "impossible" in helped.withdrawn


def test_what_says_nothing() -> None:
    with pytest.raises(ValueError, match="say nothing"):
        bayes_error_bounds(np.zeros((20, 1)), np.zeros(20))
