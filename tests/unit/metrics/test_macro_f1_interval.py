"""The interval of the mean F1 over classes."""

from __future__ import annotations

import numpy as np
import pytest

from tonari.base.errors import UsageError
from tonari.metrics import macro_f1_interval


def test_the_interval_of_f1_holds_the_truth_as_often_as_it_says() -> None:
    """Trap: intervals that are too short for small classes (the bootstrap holds it in 89 % here)."""
    random = np.random.default_rng(0)
    sizes, shares = [40, 8], np.array([[0.9, 0.1], [0.1, 0.9]])
    expected = np.array(sizes)[:, None] * shares
    truth = (2 * expected.diagonal() / (expected.sum(axis=0) + expected.sum(axis=1))).mean()
    held = 0
    for seed in range(400):
        counts = np.stack([random.multinomial(size, share) for size, share in zip(sizes, shares, strict=True)])
        low, high = macro_f1_interval(counts, draws=400, seed=seed)
        held += low <= truth <= high
    assert 0.915 < held / 400 < 0.985


def test_the_interval_of_f1_is_the_same_every_time() -> None:
    counts = [[30, 2, 0], [1, 9, 0], [0, 0, 0]]
    assert macro_f1_interval(counts, seed=3) == macro_f1_interval(counts, seed=3)
    assert macro_f1_interval(counts) == pytest.approx(macro_f1_interval([[30, 2], [1, 9]]))


def test_no_mistake_is_not_certainty() -> None:
    """Trap: the bootstrap of a perfect score is [1, 1]."""
    low, high = macro_f1_interval([[20, 0], [0, 5]])
    assert 0.6 < low < 0.95
    assert low < high <= 1
    with pytest.raises(UsageError):
        macro_f1_interval([[20, 0], [0, 5]], level=1.5)
