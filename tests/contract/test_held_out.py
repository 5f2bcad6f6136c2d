"""The held-out protocol's promise: the same answers as refitting from scratch, candidate by candidate, split by split.

A learner that joins the protocol joins `LEARNERS` here. Guards traps 2, 4, 7, 15 and 16.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import sklearn.neighbors
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    LeavePOut,
    ParameterGrid,
    PredefinedSplit,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
)

from tests.reference.searches import assert_same_results, both_searches
from tonari.base.held_out import HeldOut, Refusal, Splits
from tonari.model_selection import GridSearchCV
from tonari.model_selection.splitting import AscendingTraining, draw_splits
from tonari.neighbors import KNeighborsClassifier, KNeighborsRegressor

ROWS = 36
GROUPS = np.arange(ROWS) % 5


def _squares(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1.0 / (1.0 + distances**2)


@dataclass(frozen=True)
class Learner:
    """A learner, the candidates that it must answer, and what it is asked."""

    estimator: Any
    grid: Any
    responses: tuple[str, ...]
    outputs: int = 1


_NEIGHBOURS = [
    {"n_neighbors": [1, 2, 5, 11], "weights": ["uniform", "distance", _squares, None]},
    {"n_neighbors": [1, 4], "metric": ["manhattan", "chebyshev", "cosine"], "weights": ["uniform", "distance"]},
    {"n_neighbors": [3], "metric": ["minkowski"], "p": [1, 1.5, 2, 3]},
    {"n_neighbors": [2, 5], "weights": ["gaussian"], "bandwidth": [None, 0.7]},
]
_VOTES = [
    {"n_neighbors": [2, 4], "ties": ["nearest", "random"], "random_state": [0, 5]},
    {"n_neighbors": [3, 6], "class_vote_weight": ["balanced"], "weights": ["uniform", "gaussian"]},
    {"n_neighbors": [3, 6], "class_vote_weight": ["balanced"], "ties": ["nearest"]},
]
_FEW = {"n_neighbors": [1, 4], "weights": ["uniform", "distance"]}
LEARNERS = {
    "KNeighborsClassifier": Learner(KNeighborsClassifier(), _NEIGHBOURS, ("predict", "predict_proba")),
    "KNeighborsClassifier, labels": Learner(KNeighborsClassifier(), _NEIGHBOURS, ("predict",)),
    "KNeighborsClassifier, two outputs": Learner(KNeighborsClassifier(), _NEIGHBOURS, ("predict", "predict_proba"), 2),
    "KNeighborsClassifier, rules": Learner(KNeighborsClassifier(), _VOTES, ("predict", "predict_proba")),
    "KNeighborsClassifier, rules, labels": Learner(KNeighborsClassifier(), _VOTES, ("predict",)),
    "KNeighborsClassifier, rules, two outputs": Learner(KNeighborsClassifier(), _VOTES, ("predict",), 2),
    "KNeighborsRegressor": Learner(KNeighborsRegressor(), _NEIGHBOURS, ("predict",)),
    "KNeighborsRegressor, two outputs": Learner(KNeighborsRegressor(), _NEIGHBOURS, ("predict",), 2),
}

SPLITTERS = {
    "KFold": KFold(5),
    "KFold shuffled": KFold(4, shuffle=True, random_state=0),
    "StratifiedKFold shuffled": StratifiedKFold(2, shuffle=True, random_state=1),
    "GroupKFold": GroupKFold(3),
    "LeaveOneGroupOut": LeaveOneGroupOut(),
    "LeaveOneOut": LeaveOneOut(),
    "RepeatedKFold": RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
    "RepeatedStratifiedKFold": RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0),
    "ShuffleSplit": ShuffleSplit(4, test_size=0.3, random_state=0),
    "ShuffleSplit of a part": ShuffleSplit(3, test_size=0.2, train_size=0.4, random_state=0),
    "StratifiedShuffleSplit": StratifiedShuffleSplit(3, test_size=0.25, random_state=0),
    "PredefinedSplit": PredefinedSplit(np.where(np.arange(ROWS) < 10, -1, np.arange(ROWS) % 3)),
    "TimeSeriesSplit": TimeSeriesSplit(3),
}


def _table(kind: str, dtype: Any = np.float64) -> tuple[Any, Any]:
    """Rows and labels; on a grid nearly everything is tied, with duplicates across folds."""
    rng = np.random.default_rng(len(kind))
    X = rng.integers(0, 3, size=(ROWS, 3)) if kind == "grid" else rng.normal(size=(ROWS, 5)) + 1000.0 * (kind == "far")
    return X.astype(dtype) + (kind == "grid"), rng.integers(0, 4, size=ROWS)


def _target(learner: Learner, codes: Any) -> Any:
    if isinstance(learner.estimator, KNeighborsRegressor):
        y = np.sqrt(codes + np.arange(ROWS))
        return y if learner.outputs == 1 else np.column_stack([y, -codes])
    labels = np.array(["d", "a", "c", "b"])[codes]
    return labels if learner.outputs == 1 else np.column_stack([labels, np.where(codes > 1, "u", "v")])


def _answers(learner: Learner, X: Any, y: Any, splits: Splits) -> Iterator[tuple[int, int, dict[str, Any], Any, Any]]:
    """Every candidate on every split as the blocks tell it: rows, responses and classes, one split at a time."""
    candidates = list(ParameterGrid(learner.grid))
    assert isinstance(learner.estimator, HeldOut)
    assert learner.estimator.refuses(candidates, splits, {}, learner.responses) is None
    blocks = learner.estimator.held_out(X, y, splits, candidates, fit_params={}, responses=learner.responses)
    for block in blocks:
        split_of_row = np.broadcast_to(block.split, len(block.rows))
        for split in np.unique(split_of_row).tolist():
            at = np.flatnonzero(split_of_row == split)
            for position, candidate in enumerate(block.candidates.tolist()):
                responses: dict[str, Any] = {}
                if block.error is None:
                    assert set(block.responses) == set(learner.responses)
                    responses["predict"] = block.predict(position, at)
                    proba = block.responses.get("predict_proba")
                    if proba is not None:
                        several = isinstance(proba, list)
                        own = [one[position][at] for one in (proba if several else [proba])]
                        responses["predict_proba"] = own if several else own[0]
                yield candidate, split, responses, block.rows[at], block


def _check_promise(learner: Learner, X: Any, y: Any, splits: Splits) -> None:
    candidates = list(ParameterGrid(learner.grid))
    seen = np.zeros((len(candidates), len(splits)), dtype=int)
    for candidate, split, responses, rows, block in _answers(learner, X, y, splits):
        seen[candidate, split] += 1
        train = splits.train(split)
        assert sorted(rows.tolist()) == sorted(splits.test(split).tolist())
        # One thread: the promise is kept whatever their number.
        model = clone(learner.estimator).set_params(**candidates[candidate], n_jobs=1).fit(X[train], y[train])
        what = (candidates[candidate], split)
        if block.error is not None:
            with pytest.raises(type(block.error)):
                model.predict(X[rows])
            continue
        np.testing.assert_array_equal(responses["predict"], model.predict(X[rows]), err_msg=str(what))
        if "predict_proba" in responses:
            # Columns are the classes of that training part, so the block's classes must be those.
            found, expected = responses["predict_proba"], model.predict_proba(X[rows])
            classes, fitted = block.classes, model.classes_
            if not isinstance(expected, list):
                found, expected, classes, fitted = [found], [expected], [classes], [fitted]
            for one, other, own, theirs in zip(found, expected, classes, fitted, strict=True):
                np.testing.assert_array_equal(one, other, err_msg=str(what))
                np.testing.assert_array_equal(own, theirs, err_msg=str(what))
    assert (seen == 1).all(), "every candidate is answered, or fails, exactly once on every split"


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("name", LEARNERS)
def test_the_same_as_refitting(name: str, splitter: str) -> None:
    learner = LEARNERS[name]
    X, codes = _table("grid")
    parameters = {"groups": GROUPS} if "Group" in splitter else {}
    splits = draw_splits(SPLITTERS[splitter], X, codes, ROWS, parameters)
    _check_promise(learner, X, _target(learner, codes), splits)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("kind", ["grid", "normal", "far"])
@pytest.mark.parametrize("name", ["KNeighborsClassifier", "KNeighborsRegressor"])
def test_the_same_for_any_numbers(name: str, kind: str, dtype: Any) -> None:
    learner = replace(LEARNERS[name], grid=[*_NEIGHBOURS[1:], _FEW])
    X, codes = _table(kind, dtype)
    X = X + 1 if dtype is np.int64 else X
    _check_promise(learner, X, _target(learner, codes), Splits.from_fold(GROUPS))


@pytest.mark.parametrize("name", LEARNERS)
def test_classes_that_a_training_part_lacks(name: str) -> None:
    """Trap 7: sorted labels in plain folds, a class of one row, and a class that only one group knows."""
    learner = replace(LEARNERS[name], grid=_FEW)
    X, codes = _table("normal")
    lonely = codes.copy()
    lonely[codes == 3] = 0
    lonely[17] = 3
    for labels in (np.sort(codes), lonely, np.where(GROUPS == 2, 3, codes % 2)):
        for splits in (Splits.from_fold(np.arange(ROWS) // 9), Splits.leave_one_out(ROWS), Splits.from_fold(GROUPS)):
            _check_promise(learner, X, _target(learner, labels), splits)


@pytest.mark.parametrize("name", LEARNERS)
def test_more_neighbours_than_some_training_parts_have(name: str) -> None:
    learner = replace(LEARNERS[name], grid={"n_neighbors": [1, 20, 30, 35, 36]})
    X, codes = _table("grid")
    fold = np.zeros(ROWS, dtype=int)
    fold[20:] = 1
    fold[35:] = 2
    for splits in (Splits.from_fold(fold), Splits.leave_one_out(ROWS)):
        _check_promise(learner, X, _target(learner, codes), splits)


@pytest.mark.parametrize("name", LEARNERS)
def test_little_memory_and_few_threads_change_nothing(name: str) -> None:
    """Trap 2: blocks are cut elsewhere, answers stay."""
    learner = replace(LEARNERS[name], grid=_FEW)
    X, codes = _table("grid")
    for threads, memory in ((1, 1024), (2, 0.005), (3, 0.0001)):
        given = replace(learner, estimator=clone(learner.estimator).set_params(n_jobs=threads))
        with config_context(working_memory=memory):
            for splits in (Splits.from_fold(GROUPS), Splits.leave_one_out(ROWS)):
                _check_promise(given, X, _target(given, codes), splits)


def test_odd_splits_that_a_user_may_give() -> None:
    """Overlapping parts, the same rows on both sides, a training part that names a row twice."""
    learner = LEARNERS["KNeighborsClassifier"]
    X, codes = _table("grid")
    everything = np.arange(ROWS)
    rng = np.random.default_rng(0)
    pairs = [(everything, everything), (everything[:20], everything[10:30]), (rng.integers(ROWS, size=40), [3, 1, 3])]
    _check_promise(learner, X, _target(learner, codes), Splits.from_pairs(pairs, ROWS))
    splits = draw_splits(LeavePOut(2), X[:12], codes[:12], 12, {})
    small = replace(learner, grid={"n_neighbors": [1, 4]})
    _check_promise(small, X[:12], np.array(["x", "y"])[codes[:12] % 2], splits)


@pytest.mark.parametrize("name", ["KNeighborsClassifier", "KNeighborsRegressor"])
def test_weights_of_rows_go_with_their_rows(name: str) -> None:
    learner = replace(LEARNERS[name], grid=_FEW)
    X, codes = _table("grid")
    y, weights = _target(learner, codes), 1.0 + np.arange(ROWS) % 4
    for splits in (
        Splits.from_fold(GROUPS),
        Splits.leave_one_out(ROWS),
        draw_splits(TimeSeriesSplit(3), X, y, ROWS, {}),
    ):
        candidates = list(ParameterGrid(_FEW))
        given = {"vote_weight": weights}
        assert learner.estimator.refuses(candidates, splits, given, ("predict",)) is None
        for block in learner.estimator.held_out(X, y, splits, candidates, fit_params=given, responses=("predict",)):
            split_of_row = np.broadcast_to(block.split, len(block.rows))
            for split in np.unique(split_of_row).tolist():
                at, train = np.flatnonzero(split_of_row == split), splits.train(split)
                for position, candidate in enumerate(block.candidates.tolist()):
                    model = clone(learner.estimator).set_params(**candidates[candidate], n_jobs=1)
                    model.fit(X[train], y[train], vote_weight=weights[train])
                    np.testing.assert_array_equal(block.predict(position, at), model.predict(X[block.rows[at]]))


def test_what_cannot_be_shared_is_refused() -> None:
    splits = Splits.leave_one_out(ROWS)
    for candidate in ({"ties": "undecided"}, {"min_share": 0.5}, {"max_distance": 1.0}):
        assert "no code" in str(KNeighborsClassifier().refuses([candidate], splits, {}, ("predict",)))
    X, codes = _table("normal")
    partly = KNeighborsClassifier(class_vote_weight={0: 2.0})
    with pytest.raises(Refusal, match="may lack"):
        list(partly.held_out(X, codes, splits, [{}], fit_params={}, responses=("predict",)))


class _Leaky(KNeighborsClassifier):
    """Leaves another fold out than it should, so that a row's own fold votes."""

    def held_out(self, X: Any, y: Any, splits: Splits, *args: Any, **options: Any) -> Any:
        assert splits.fold is not None
        wrong = replace(splits, fold=(splits.fold + 1) % len(splits))
        yield from super().held_out(X, y, wrong, *args, **options)


def test_a_leak_would_be_seen() -> None:
    """Trap 15: the promise above must be able to fail."""
    X, codes = _table("normal")
    learner = Learner(_Leaky(), _FEW, ("predict",))
    with pytest.raises(AssertionError):
        _check_promise(learner, X, _target(learner, codes), Splits.from_fold(np.arange(ROWS) % 4))


# --- through the search ----------------------------------------------------------------------------------------------


# Numbers have no strata.
_SEARCHES = [("KNeighborsClassifier", splitter) for splitter in SPLITTERS] + [
    ("KNeighborsRegressor", splitter) for splitter in SPLITTERS if "tratified" not in splitter
]


@pytest.mark.parametrize(("name", "splitter"), _SEARCHES)
def test_search_agrees_with_scikit_learns_over_the_same_learner(name: str, splitter: str) -> None:
    learner = LEARNERS[name]
    X, codes = _table("grid")
    y = _target(learner, codes)
    # Nearly everything ties, so the order of training rows decides: scikit-learn gets them in ours.
    ours, _ = both_searches(
        learner.estimator, [*_NEIGHBOURS[1:], _FEW], cv=AscendingTraining(SPLITTERS[splitter]), refit=False, X=X, y=y,
        scoring=["accuracy", "f1_micro"] if name == "KNeighborsClassifier" else ["neg_mean_squared_error"],
        fit={"groups": GROUPS} if "Group" in splitter else None, rtol=1e-12,
    )  # fmt: skip
    assert ours.work_["fits_done"] == 1
    again = GridSearchCV(learner.estimator, ours.param_grid, cv=SPLITTERS[splitter], scoring=ours.scoring, refit=False)
    assert_same_results(again.fit(X, y, **({"groups": GROUPS} if "Group" in splitter else {})), ours)


@pytest.mark.parametrize("cv", [5, LeaveOneOut(), ShuffleSplit(4, random_state=0)], ids=lambda cv: type(cv).__name__)
def test_search_agrees_with_scikit_learns_own_neighbours(cv: Any) -> None:
    """Trap 16: another library as referee, on data where no distances tie."""
    X, y = make_classification(n_samples=80, n_features=6, n_informative=4, n_classes=3, random_state=4)
    grid = {"n_neighbors": [1, 5, 12], "weights": ["uniform", "distance"], "metric": ["euclidean", "manhattan"]}
    ours = GridSearchCV(KNeighborsClassifier(), grid, cv=cv).fit(X, y)
    theirs = sklearn.model_selection.GridSearchCV(sklearn.neighbors.KNeighborsClassifier(), grid, cv=cv)
    # Training rows in another order change no answer where nothing ties.
    assert_same_results(ours, theirs.fit(X, y))
    assert ours.work_["fits_done"] == 1
    np.testing.assert_array_equal(ours.predict(X + 0.01), theirs.predict(X + 0.01))
