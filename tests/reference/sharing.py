"""Learners that answer the held-out protocol by the plainest means, for tests of what drives and scores it.

They fit every candidate on every split, as the protocol's definition says; what they share is the asking.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from tonari.base.held_out import Block, Candidate, Refusal, Splits


class _PlainNeighbors(BaseEstimator):  # type: ignore[misc]
    """The k nearest rows by L1 distance, then by row number; every answer from the whole matrix of distances."""

    #: Fits and passes since the last reset, over all instances: clones count too.
    log: ClassVar[list[str]] = []

    def __init__(self, k: int = 3, fault: str = "", together: bool = True) -> None:
        self.k = k
        self.fault = fault
        self.together = together

    def _neighbours(self, X: Any) -> NDArray[np.intp]:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        if self.k > len(self.rows_):
            raise ValueError(f"k={self.k} is more than the {len(self.rows_)} fitted rows")
        distances = np.abs(X[:, np.newaxis, :] - self.rows_[np.newaxis, :, :]).sum(axis=2)
        return np.argsort(distances, axis=1, kind="stable")[:, : self.k]

    def refuses(
        self, candidates: Sequence[Candidate], splits: Splits, fit_params: Mapping[str, Any], responses: Sequence[str]
    ) -> str | None:
        if fit_params:
            return "fit parameters are given"
        if any(candidate.get("fault", self.fault) == "refused" for candidate in candidates):
            return "this candidate is refused"
        return None

    def held_out(
        self, X: Any, y: Any, splits: Splits, candidates: Sequence[Candidate], *,
        fit_params: Mapping[str, Any], responses: Sequence[str],
    ) -> Iterator[Block]:  # fmt: skip
        self.log.append("pass")
        if self.fault == "raises":
            raise RuntimeError("a mistake in the learner")
        if hasattr(X, "tocsr"):
            raise Refusal("sparse rows have no fast path")
        X, y = check_array(X), np.asarray(y)
        for position, candidate in enumerate(candidates):
            fault = candidate.get("fault", self.fault)
            blocks = []
            for split in range(len(splits)):
                block = self._answer(X, y, splits, split, position, candidate, responses)
                if fault == "rows missing":
                    block.rows, block.responses["predict"] = block.rows[1:], block.responses["predict"][:, 1:]
                if not (fault == "split missing" and split == 1):
                    blocks.append(block)
            yield from _joined(blocks) if self.together else blocks

    def _answer(
        self, X: Any, y: Any, splits: Splits, split: int, position: int, candidate: Candidate, responses: Sequence[str]
    ) -> Block:
        train, test = splits.train(split), splits.test(split)
        test = test[::-1]
        block = Block(split, np.array([position]), test, None)
        model = clone(self).set_params(**candidate).fit(X[train], y[train])
        self.log.pop()
        try:
            answers = {name: getattr(model, name)(X[test]) for name in responses}
        except ValueError as error:
            block.error = error
            return block
        block.classes = getattr(model, "classes_", None)
        for name, answer in answers.items():
            if name == "predict" and isinstance(block.classes, np.ndarray):
                answer = np.searchsorted(block.classes, answer).astype(np.int32)
            block.responses[name] = np.asarray(answer)[np.newaxis]
        return block


def _joined(blocks: list[Block]) -> list[Block]:
    """One block for all splits where the classes are the same everywhere."""
    alike = [block for block in blocks if block.error is None]
    if not alike or len({repr(block.classes) for block in alike}) > 1:
        return blocks
    split = np.concatenate([np.full(len(block.rows), block.split, dtype=np.int32) for block in alike])
    mixed = np.random.default_rng(0).permutation(len(split))
    responses = {
        name: np.concatenate([block.responses[name] for block in alike], axis=1)[:, mixed]
        for name in alike[0].responses
    }
    rows = np.concatenate([block.rows for block in alike])[mixed]
    whole = Block(split[mixed], alike[0].candidates, rows, alike[0].classes, responses)
    return [whole, *(block for block in blocks if block.error is not None)]


class PlainClassifier(ClassifierMixin, _PlainNeighbors):
    """Votes of the nearest; ties go to the class that comes first."""

    # A class vouches for what it shares by holding this itself.
    held_out = _PlainNeighbors.held_out

    def fit(self, X: Any, y: Any) -> Self:
        self.log.append("fit")
        if self.fault == "unfit":
            raise ValueError("this candidate cannot be fitted")
        self.rows_, y = validate_data(self, X, y)
        self.classes_, self.codes_ = np.unique(y, return_inverse=True)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        votes = self.codes_[self._neighbours(X)]
        return np.stack([(votes == code).mean(axis=1) for code in range(len(self.classes_))], axis=1)

    def predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        shares = self.predict_proba(X)
        return shares[:, 1] - shares[:, 0] if shares.shape[1] == 2 else shares


class PlainRegressor(RegressorMixin, _PlainNeighbors):
    """Mean of the nearest."""

    held_out = _PlainNeighbors.held_out

    def fit(self, X: Any, y: Any) -> Self:
        self.log.append("fit")
        self.rows_, self.values_ = validate_data(self, X, y, multi_output=True)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        return np.asarray(self.values_[self._neighbours(X)].mean(axis=1))
