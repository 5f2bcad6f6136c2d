"""The copy that a learner keeps of its table."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

from tonari.neighbors import KNeighborsClassifier, NearestNeighbors


@pytest.mark.parametrize("rows", [50, 40_000], ids=["small", "large"])
@pytest.mark.parametrize("form", ["array", "view", "frame", "fortran"])
def test_a_table_changed_after_fit_changes_no_answer(rows: int, form: str) -> None:
    """Trap: an index that borrows what the user goes on writing into."""
    rng = np.random.default_rng(0)
    whole = rng.normal(size=(rows, 16))
    given = {
        "array": lambda: whole,
        "view": lambda: whole[:],
        "frame": lambda: pd.DataFrame(whole, copy=False),
        "fortran": lambda: np.asfortranarray(whole),
    }[form]()
    queries = whole[:5].copy()
    index = NearestNeighbors(n_neighbors=3, algorithm="brute").fit(given)
    voter = KNeighborsClassifier().fit(given, np.arange(rows) % 2)
    before = index.kneighbors(queries), voter.predict_proba(queries)
    whole[:] = 0
    if form == "fortran":
        given[:] = 0
    after = index.kneighbors(queries), voter.predict_proba(queries)
    for a, b in zip((*before[0], before[1]), (*after[0], after[1]), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_large_model_is_copied_and_pickled_like_a_small_one() -> None:
    rows = np.random.default_rng(1).normal(size=(40_000, 16))
    index = NearestNeighbors(n_neighbors=2).fit(rows)
    expected = index.kneighbors(rows[:10])
    for twin in (copy.deepcopy(index), pickle.loads(pickle.dumps(index))):
        for a, b in zip(expected, twin.kneighbors(rows[:10]), strict=True):
            np.testing.assert_array_equal(a, b)
