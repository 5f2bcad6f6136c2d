"""Splits and blocks of the held-out protocol."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import KFold, LeavePOut, RepeatedKFold, ShuffleSplit, TimeSeriesSplit

from tonari.base.held_out import Block, Splits

ROWS = np.zeros((12, 1))


@pytest.mark.parametrize(
    ("splitter", "complements", "partition"),
    [
        (KFold(5), True, True),
        (KFold(4, shuffle=True, random_state=0), True, True),
        (RepeatedKFold(n_splits=3, n_repeats=2, random_state=0), True, False),
        (LeavePOut(2), True, False),
        (ShuffleSplit(3, test_size=0.25, random_state=0), True, False),
        (ShuffleSplit(3, test_size=0.25, train_size=0.25, random_state=0), False, False),
        (TimeSeriesSplit(3), False, False),
    ],
)
def test_every_splitter_comes_back_as_it_was(splitter: object, complements: bool, partition: bool) -> None:
    pairs = list(splitter.split(ROWS))  # type: ignore[attr-defined]
    splits = Splits.from_pairs(pairs, 12)
    assert len(splits) == len(pairs)
    for i, (train, test) in enumerate(pairs):
        np.testing.assert_array_equal(splits.train(i), np.sort(train))
        np.testing.assert_array_equal(splits.test(i), test)
    # Training parts are stored only where they are not everything else.
    assert (splits.train_rows is None) == complements
    assert (splits.fold is not None) == partition


@given(st.lists(st.tuples(st.lists(st.integers(-6, 5)), st.lists(st.integers(-6, 5))), max_size=5))
def test_any_pairs(pairs: list[tuple[list[int], list[int]]]) -> None:
    """Repeated rows, empty parts, overlaps, negative numbers: kept as they are, training rows in order."""
    arrays = [(np.array(train, dtype=int), np.array(test, dtype=int)) for train, test in pairs]
    splits = Splits.from_pairs(arrays, 6)
    assert len(splits) == len(pairs)
    for i, (train, test) in enumerate(arrays):
        np.testing.assert_array_equal(splits.train(i), np.sort(train % 6))
        np.testing.assert_array_equal(splits.test(i), test % 6)
    if splits.fold is not None:
        for i in range(len(splits)):
            np.testing.assert_array_equal(splits.train(i), np.flatnonzero(splits.fold != i))


def test_masks() -> None:
    mask = np.array([True, False, True, False])
    splits = Splits.from_pairs([(~mask, mask), (mask, ~mask)], 4)
    assert splits.fold is not None
    assert splits.fold.tolist() == [0, 1, 0, 1]


def test_a_part_that_is_no_complement_after_some_that_are() -> None:
    splits = Splits.from_pairs([([1, 2], [0]), ([0, 2], [1]), ([0], [2])], 3)
    assert splits.fold is None
    assert [splits.train(i).tolist() for i in range(3)] == [[1, 2], [0, 2], [0]]


def test_a_row_that_is_held_out_twice_makes_no_partition() -> None:
    splits = Splits.from_tests([np.array([0, 0]), np.array([2])], 3)
    assert splits.fold is None
    assert splits.train(0).tolist() == [1, 2]


def test_leave_one_out_holds_no_more_than_a_few_numbers_per_row() -> None:
    splits = Splits.leave_one_out(50_000)
    arrays = (splits.test_indptr, splits.test_rows, splits.fold, splits.train_indptr, splits.train_rows)
    assert sum(array.nbytes for array in arrays if array is not None) <= 24 * 50_001
    assert splits.test(7).tolist() == [7]
    assert len(splits.train(7)) == 49_999


def test_blocks_tell_labels() -> None:
    codes = np.array([[0, 1, 1], [1, 1, 0]], dtype=np.int32)
    block = Block(0, np.array([3, 4]), np.array([7, 8, 9]), np.array(["a", "b"]), {"predict": codes})
    assert block.predict(1).tolist() == ["b", "b", "a"]
    assert block.predict(1, np.array([2, 0])).tolist() == ["a", "b"]
    values = Block(0, np.array([0]), np.array([7]), None, {"predict": np.array([[0.5]])})
    assert values.predict(0).tolist() == [0.5]
    both = Block(
        0, np.array([0]), np.array([7, 8]), [np.array([5, 6]), np.array([1, 2, 3])],
        {"predict": np.array([[[0, 2], [1, 0]]], dtype=np.int32)},
    )  # fmt: skip
    assert both.predict(0).tolist() == [[5, 3], [6, 1]]
