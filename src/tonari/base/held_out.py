"""The held-out protocol: answer every candidate on every held-out row without fitting from scratch.

`base` defines it, learners implement it (`refuses`, `held_out`), `model_selection` drives it and scores. Learners never
score. A learner's answer must equal what fitting that candidate on that training part and predicting would give.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Candidate = Mapping[str, Any]
RESPONSES = ("predict", "decision_function", "predict_proba")


class Refusal(Exception):
    """Raised by ``held_out`` before its first block: these data cannot be shared; the text says why, in words.

    `refuses` sees no data. What only data can tell (a sparse matrix, a target of a kind that has no fast path) is said
    this way, and the candidates are fitted one by one.
    """


@dataclass(frozen=True)
class Splits:
    """Training and held-out rows of every split, as two ragged arrays.

    Attributes
    ----------
    n_rows : int
        Rows of the table that the splits speak of.
    train_indptr, train_rows : ndarray of int64, or None
        Split i trains on ``train_rows[train_indptr[i]:train_indptr[i + 1]]``, ascending. None where every training
        part is all rows outside its own held-out part, as for K-fold, repeated or not, and leave-one-out: the rows
        are then told by `train`, one split at a time, and no array holds them all.
    test_indptr, test_rows : ndarray of int64
        Split i holds out ``test_rows[test_indptr[i]:test_indptr[i + 1]]``, in the splitter's order.
    fold : ndarray of int32 or None
        Where the held-out parts are a partition of all rows and every training part is the complement of its own
        held-out part: the split in which each row is held out. Then "train = everything outside my fold".
    """

    n_rows: int
    train_indptr: NDArray[np.int64] | None
    train_rows: NDArray[np.int64] | None
    test_indptr: NDArray[np.int64]
    test_rows: NDArray[np.int64]
    fold: NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return len(self.test_indptr) - 1

    def train(self, split: int) -> NDArray[np.int64]:
        """Training rows of one split, ascending."""
        if self.train_indptr is not None and self.train_rows is not None:
            return self.train_rows[self.train_indptr[split] : self.train_indptr[split + 1]]
        outside = np.ones(self.n_rows, dtype=bool)
        outside[self.test(split)] = False
        return np.flatnonzero(outside)

    def test(self, split: int) -> NDArray[np.int64]:
        """Held-out rows of one split, in the splitter's order."""
        return self.test_rows[self.test_indptr[split] : self.test_indptr[split + 1]]

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[ArrayLike, ArrayLike]], n_rows: int) -> Splits:
        """Build from (train, test) pairs of row numbers or boolean masks, as a splitter yields them.

        Parameters
        ----------
        pairs : iterable of (train, test)
        n_rows : int

        Returns
        -------
        Splits
        """
        outside = np.ones(n_rows, dtype=bool)
        tests: list[NDArray[np.int64]] = []
        trains: list[NDArray[np.int64]] | None = None
        for given_train, given_test in pairs:
            train, test = np.sort(_rows(given_train, n_rows)), _rows(given_test, n_rows)
            if trains is None and not _is_complement(train, test, outside):
                trains = [_complement(earlier, outside) for earlier in tests]
            if trains is not None:
                trains.append(train)
            tests.append(test)
        if trains is None:
            return cls.from_tests(tests, n_rows)
        return cls(n_rows, _indptr(trains), _concatenate(trains), _indptr(tests), _concatenate(tests))

    @classmethod
    def from_tests(cls, tests: Sequence[NDArray[np.int64]], n_rows: int) -> Splits:
        """Build from held-out parts alone: every training part is all rows outside its own held-out part.

        Parameters
        ----------
        tests : sequence of ndarray of int64
        n_rows : int

        Returns
        -------
        Splits
        """
        indptr, rows = _indptr(tests), _concatenate(tests)
        fold = None
        if len(rows) == n_rows:
            fold = np.full(n_rows, -1, dtype=np.int32)
            fold[rows] = np.repeat(np.arange(len(tests), dtype=np.int32), np.diff(indptr))
            fold = None if (fold < 0).any() else fold
        return cls(n_rows, None, None, indptr, rows, fold)

    @classmethod
    def from_fold(cls, fold: ArrayLike) -> Splits:
        """Build from the number of the split in which each row is held out: a partition, in O(rows) time and memory.

        Parameters
        ----------
        fold : array-like of int of shape (n_rows,)
            Every number from 0 to the largest occurs.

        Returns
        -------
        Splits

        Examples
        --------
        >>> splits = Splits.from_fold([0, 1, 0])
        >>> splits.test(0), splits.train(0)
        (array([0, 2]), array([1]))
        """
        numbers = np.asarray(fold, dtype=np.int32)
        counts = np.bincount(numbers)
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return cls(len(numbers), None, None, indptr, np.argsort(numbers, kind="stable").astype(np.int64), numbers)

    @classmethod
    def leave_one_out(cls, n_rows: int) -> Splits:
        """Every row alone in a held-out part of its own."""
        rows = np.arange(n_rows, dtype=np.int64)
        return cls(n_rows, None, None, np.arange(n_rows + 1, dtype=np.int64), rows, rows.astype(np.int32))


@dataclass
class Block:
    """What some candidates answer on the held-out rows of one split, or of several.

    A block holds all held-out rows of each split that it names.

    Attributes
    ----------
    split : int, or ndarray of int32
        The split; or the split of each row, so that leave-one-out needs no block for each row. `classes` then hold for
        every one of those splits, except that where only ``"predict"`` is answered a class may be missing from a
        training part: its code simply does not occur there.
    candidates : ndarray of intp
        Positions in the list of candidates; the first axis of every response.
    rows : ndarray of int64
        The held-out rows; the second axis of every response.
    classes : ndarray, list of ndarray, or None
        Classes present in that training part (None for a regressor; a list when multi-output).
    responses : dict
        ``"predict"``: for a classifier codes into `classes`, int32, (candidates, rows[, outputs]); for a regressor
        values, float64. ``"predict_proba"``: (candidates, rows, classes) float64, a list of these when multi-output.
        ``"decision_function"``: (candidates, rows) or (candidates, rows, classes).
    error : Exception or None
        Why these candidates could not be answered; `responses` is then empty.
    """

    split: int | NDArray[np.int32]
    candidates: NDArray[np.intp]
    rows: NDArray[np.int64]
    classes: Any
    responses: dict[str, Any] = field(default_factory=dict)
    error: Exception | None = None

    def predict(self, position: int, at: Any = slice(None)) -> NDArray[Any]:
        """What candidate `candidates[position]` would return from ``predict`` on the rows ``rows[at]``."""
        answer = self.responses["predict"][position][at]
        if self.classes is None:
            return np.array(answer)
        if isinstance(self.classes, list):
            return np.column_stack([classes[answer[:, i]] for i, classes in enumerate(self.classes)])
        return np.asarray(self.classes[answer])


@runtime_checkable
class HeldOut(Protocol):
    """What a learner offers that shares work between candidates and splits."""

    def refuses(
        self, candidates: Sequence[Candidate], splits: Splits, fit_params: Mapping[str, Any], responses: Sequence[str]
    ) -> str | None:
        """Why these candidates must be fitted one by one, or None when `held_out` can answer them all."""
        ...

    def held_out(
        self, X: Any, y: Any, splits: Splits, candidates: Sequence[Candidate], *,
        fit_params: Mapping[str, Any], responses: Sequence[str],
    ) -> Iterator[Block]:  # fmt: skip
        """Answer every candidate on every split; blocks come in any order and stay within the working memory.

        Raises
        ------
        Refusal
            Before the first block, when the data turn out to have no fast path.
        """
        ...


def why_refused(
    learner: Any, candidates: Sequence[Candidate], fit_params: Mapping[str, Any], responses: Sequence[str], *,
    takes: Sequence[str] = (), offers: Sequence[str] = RESPONSES,
) -> str | None:  # fmt: skip
    """What most learners refuse: strange parameters of `fit`, unknown parameters, responses that they do not have.

    Parameters
    ----------
    learner : estimator
    candidates : sequence of mapping
    fit_params : mapping
    responses : sequence of str
    takes : sequence of str, default=()
        Parameters of `fit`, besides X and y, that `held_out` takes.
    offers : sequence of str
        Responses that `held_out` gives.

    Returns
    -------
    str or None
    """
    strange = sorted(set(fit_params) - set(takes))
    if strange:
        return f"fit parameters ({', '.join(strange)}) are given"
    known = set(learner.get_params(deep=False))
    unknown = sorted(set().union(*candidates) - known)
    if unknown:
        return f"{unknown} are no parameters of {type(learner).__name__}"
    return next((f"{type(learner).__name__} has no {name}" for name in responses if name not in offers), None)


def _rows(selection: ArrayLike, n_rows: int) -> NDArray[np.int64]:
    rows = np.asarray(selection)
    if rows.dtype == bool:
        rows = np.flatnonzero(rows)
    rows = rows.astype(np.int64, copy=False)
    return np.where(rows < 0, rows + n_rows, rows)


def _indptr(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)


def _concatenate(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def _is_complement(train: NDArray[np.int64], test: NDArray[np.int64], outside: NDArray[np.bool_]) -> bool:
    """Whether the ascending `train` is every row outside `test`, once; `outside` is all true before and after."""
    outside[test] = False
    holds = np.count_nonzero(outside) == len(train) and bool(outside[train].all()) and not (np.diff(train) == 0).any()
    outside[test] = True
    return holds


def _complement(test: NDArray[np.int64], outside: NDArray[np.bool_]) -> NDArray[np.int64]:
    outside[test] = False
    rows = np.flatnonzero(outside)
    outside[test] = True
    return rows
