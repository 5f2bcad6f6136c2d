"""Splits drawn from scikit-learn's splitters, with and without the short cuts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, StratifiedKFold
from sklearn.utils.metadata_routing import get_routing_for_object

from tonari.model_selection.splitting import AscendingTraining, draw_splits

X = np.zeros((23, 2))
y = np.arange(23) % 3


@pytest.mark.parametrize(
    "splitter",
    [
        LeaveOneOut(),
        KFold(5),
        KFold(23),
        KFold(4, shuffle=True, random_state=1),
        StratifiedKFold(3, shuffle=True, random_state=0),
    ],
)
def test_short_cuts_give_the_splitters_own_splits(splitter: Any) -> None:
    splits = draw_splits(splitter, X, y, 23, {})
    pairs = list(splitter.split(X, y))
    assert len(splits) == len(pairs)
    assert splits.train_rows is None
    for i, (train, test) in enumerate(pairs):
        np.testing.assert_array_equal(splits.train(i), train)
        np.testing.assert_array_equal(splits.test(i), test)


class _Odd(KFold):
    """Looks like K-fold, and is not: a recognised splitter must be exactly that."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Any:
        for train, test in super().split(X, y, groups):
            yield train[1:], test


def test_a_subclass_is_asked_itself() -> None:
    splits = draw_splits(_Odd(5), X, y, 23, {})
    assert len(splits.train(0)) == len(next(KFold(5).split(X))[0]) - 1


def test_what_the_splitter_has_to_say_is_heard() -> None:
    with pytest.raises(ValueError, match="n_splits=24 greater"):
        draw_splits(KFold(24), X, y, 23, {})
    with pytest.raises(ValueError, match="n_samples=1"):
        draw_splits(LeaveOneOut(), X[:1], y[:1], 1, {})
    with pytest.warns(UserWarning, match="groups"):
        draw_splits(LeaveOneOut(), X, y, 23, {"groups": y})
    splits = draw_splits(GroupKFold(3), X, y, 23, {"groups": y})
    assert len({frozenset(y[splits.test(i)].tolist()) for i in range(3)}) == 3


def test_a_shuffled_splitter_spends_its_random_numbers_once() -> None:
    one, other = (np.random.RandomState(0) for _ in range(2))
    draw_splits(KFold(3, shuffle=True, random_state=one), X, y, 23, {})
    list(KFold(3, shuffle=True, random_state=other).split(X))
    assert one.randint(1 << 30) == other.randint(1 << 30)


def test_training_rows_in_ascending_order() -> None:
    class Disordered:
        def split(self, X: Any, y: Any = None, groups: Any = None) -> Any:
            yield np.array([5, 2, -1, 3]), np.array([4, 1])
            yield np.arange(23) % 2 == 0, np.array([1])

        def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
            return 2 if groups is None else 99

    ordered = AscendingTraining(Disordered())
    first, second = ordered.split(X, y)
    assert first[0].tolist() == [2, 3, 5, 22]
    assert first[1].tolist() == [4, 1]
    assert second[0].tolist() == list(range(0, 23, 2))
    assert ordered.get_n_splits(X, y) == 2
    assert ordered.get_n_splits(X, y, groups=y) == 99


def test_requests_of_the_splitter_are_handed_on() -> None:
    requests = [get_routing_for_object(one) for one in (AscendingTraining(GroupKFold(3)), GroupKFold(3))]
    assert requests[0].consumes("split", ["groups"]) == requests[1].consumes("split", ["groups"])
