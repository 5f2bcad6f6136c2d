"""PerceptronClassifier: the lecture's perceptron, epoch by epoch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from tonari import _core
from tonari.base.errors import DataError, ModelFileError, UsageError
from tonari.base.held_out import Block, Candidate, Refusal, Splits, why_refused
from tonari.base.threads import thread_count
from tonari.base.validation import check_choice, check_number, check_rows, check_weighted_rows
from tonari.linear_model.path import PerceptronPath
from tonari.linear_model.rows import packed, scores
from tonari.linear_model.stored import StoredLinear

KEPT = ("last", "best", "mean")
ORDERS = ("rows", "random")


class PerceptronClassifier(StoredLinear, ClassifierMixin, BaseEstimator):
    """The perceptron of the lecture: every row that is on the wrong side moves the line.

    One step per row, ``w += (y - sign(w'x)) / 2 * x`` with ``sign(0) = +1`` and a 1 before every row; of more than two
    classes each against the rest. It stops as soon as no training row is on the wrong side, which happens after
    finitely many steps if a plane separates the classes, otherwise after `max_epochs`. scikit-learn's ``Perceptron``
    is another form: stochastic gradient descent with penalties and a tolerance.

    Parameters
    ----------
    max_epochs : int, default=50
        Passes over the rows.
    order : {"rows", "random"}, default="rows"
        As the rows stand, or in a new random order in every epoch.
    keep : {"last", "best", "mean"}, default="best"
        Which weights are used: the last; the best at the end of any epoch by training errors (the pocket); or the mean
        over all steps (the averaged perceptron).
    start : array-like of shape (n_features + 1,) or (n_outputs, n_features + 1), default=None
        First weights ``[-b, w]``; None for zeros.
    random_state : int, default=0
        Of the random order.
    n_jobs : int, default=None
        Threads. None: all cores allowed to the process, and one inside a joblib worker. Never changes an answer.

    Attributes
    ----------
    classes_ : ndarray
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The lecture's -b.
    n_epochs_ : ndarray of int64, shape (n_outputs,)
        Epochs run; fewer than `max_epochs` where no error was left.
    errors_ : ndarray of int64, shape (n_outputs,)
        Training errors of the last weights.
    separable_ : ndarray of bool, shape (n_outputs,)
        Whether weights without a training error were found.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Examples
    --------
    >>> from tonari.linear_model import PerceptronClassifier
    >>> model = PerceptronClassifier().fit([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 0, 0, 1])
    >>> model.predict([[1.2, 0.9], [0.1, 0.9]])
    array([1, 0])
    >>> bool(model.separable_[0]), int(model.errors_[0])
    (True, 0)
    """

    KIND = "linear_model.PerceptronClassifier"

    def __init__(
        self, max_epochs: int = 50, *, order: str = "rows", keep: str = "best", start: Any = None,
        random_state: int = 0, n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        self.max_epochs = max_epochs
        self.order = order
        self.keep = keep
        self.start = start
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Move the line until no row is on the wrong side, or the epochs are over.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)

        Returns
        -------
        self : PerceptronClassifier
        """
        run = self._run_all(X, y, np.array([self.max_epochs], dtype=np.int64))
        self.classes_ = run.classes
        weights = run.weights[:, 0, KEPT.index(self.keep)]
        self.coef_ = np.ascontiguousarray(weights[:, : run.dim])
        self.intercept_ = weights[:, run.dim].copy()
        self.separable_ = run.stopped >= 0
        self.n_epochs_ = np.where(self.separable_, run.stopped, self.max_epochs)
        self.errors_ = run.errors[:, 0]
        return self

    def path(self, X: Any, y: Any) -> PerceptronPath:
        """The weights after every epoch; the estimator itself stays as it is.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)

        Returns
        -------
        PerceptronPath
        """
        epochs = np.arange(1, int(self.max_epochs) + 1, dtype=np.int64)
        run = clone(self)._run_all(X, y, epochs)
        kept = run.weights[:, :, KEPT.index(self.keep)].transpose(1, 0, 2)
        return PerceptronPath(
            epochs, np.ascontiguousarray(kept[:, :, : run.dim]), kept[:, :, run.dim].copy(), run.errors.T.copy()
        )  # fmt: skip

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """``w'x - b`` of every class; of two classes that of the second.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
        """
        check_is_fitted(self)
        found = scores(check_rows(self, X, reset=False), self.coef_, self.intercept_, thread_count(self.n_jobs))
        return found[0] if len(found) == 1 else np.ascontiguousarray(found.T)

    @staticmethod
    def _winners(scores: NDArray[np.float64]) -> NDArray[np.int32]:
        # The lecture's sign(0) is +1.
        return np.asarray(scores >= 0 if scores.ndim == 1 else scores.argmax(axis=1), dtype=np.int32)

    # --- the held-out protocol --------------------------------------------------------------------------------------

    def refuses(
        self, candidates: Sequence[Candidate], splits: Splits, fit_params: Mapping[str, Any], responses: Sequence[str]
    ) -> str | None:
        """Why these candidates must be fitted one by one, or None.

        Parameters
        ----------
        candidates : sequence of mapping
        splits : Splits
        fit_params : mapping
        responses : sequence of str

        Returns
        -------
        str or None
        """
        return why_refused(self, candidates, fit_params, responses, offers=("predict", "decision_function"))

    def held_out(
        self, X: Any, y: Any, splits: Splits, candidates: Sequence[Candidate], *,
        fit_params: Mapping[str, Any], responses: Sequence[str],
    ) -> Iterator[Block]:  # fmt: skip
        """Answer every candidate on every split: epochs are prefixes of one run, and so is what is kept.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        splits : Splits
        candidates : sequence of mapping
        fit_params : mapping
        responses : sequence of str

        Yields
        ------
        Block
        """
        try:
            rows, classes, codes, _ = check_weighted_rows(clone(self), X, y, None)
        except (ValueError, TypeError) as error:
            raise Refusal(f"the table as a whole does not pass validation ({error})") from error
        groups: dict[str, list[tuple[int, Any]]] = {}
        for i, candidate in enumerate(candidates):
            one = clone(self).set_params(**candidate)
            try:
                one._check_parameters()
            except (ValueError, TypeError) as error:
                for split in range(len(splits)):
                    yield Block(split, np.array([i]), splits.test(split), None, {}, error)
                continue
            groups.setdefault(repr((one.order, one.random_state, one.start)), []).append((i, one))
        table = packed(rows, ones=True)
        for group in groups.values():
            epochs = np.unique([one.max_epochs for _, one in group]).astype(np.int64)
            bytes_each = 8 * (splits.n_rows + len(classes) * len(epochs) * len(KEPT) * table.shape[1])
            step = max(1, int(get_config()["working_memory"] * 2**18 / bytes_each))
            for first in range(0, len(splits), step):
                numbers = range(first, min(len(splits), first + step))
                trains = [splits.train(split) for split in numbers]
                for split, run in zip(numbers, group[0][1]._run(table, rows.shape[1], classes, codes, trains, epochs),
                                      strict=True):  # fmt: skip
                    yield _block(splits, split, rows, run, group, epochs, responses, thread_count(self.n_jobs))

    def _run_all(self, X: Any, y: Any, epochs: NDArray[np.int64]) -> _Run:
        """One training part: all rows."""
        self._check_parameters()
        rows, classes, codes, _ = check_weighted_rows(self, X, y, None)
        everything = np.arange(len(rows), dtype=np.int64)
        run = self._run(packed(rows, ones=True), rows.shape[1], classes, codes, [everything], epochs)[0]
        if isinstance(run, Exception):
            raise run
        return run

    def _run(
        self, table: NDArray[np.float64], dim: int, classes: NDArray[Any], codes: NDArray[np.int32],
        trains: list[NDArray[np.int64]], epochs: NDArray[np.int64],
    ) -> list[_Run | Exception]:  # fmt: skip
        """One run for every training part; all in one call of the engine."""
        positive: list[int] = []
        split: list[int] = []
        starts: list[NDArray[np.float64]] = []
        present: list[NDArray[np.intp]] = []
        answers: list[_Run | Exception | None] = []
        for number, train in enumerate(trains):
            known = np.flatnonzero(np.bincount(codes[train], minlength=len(classes)))
            own = known[1:] if len(known) == 2 else known
            present.append(known)
            try:
                if len(known) < 2:
                    label = classes[known[0]]
                    raise DataError(
                        f"The perceptron needs rows of two classes, and there is one class only: {label!r}."
                    )
                starts.extend(self._starts(len(own), dim, table.shape[1]))
            except ValueError as error:
                answers.append(error)
                continue
            answers.append(None)
            positive.extend(own.tolist())
            split.extend([number] * len(own))
        count = len(positive)
        weights = np.empty((count, len(epochs), len(KEPT), table.shape[1]))
        errors, stopped = np.empty((count, len(epochs)), dtype=np.int64), np.empty(count, dtype=np.int64)
        indptr = np.concatenate([[0], np.cumsum([len(train) for train in trains])]).astype(np.int64)
        if count:
            _core.linear_perceptron(
                table, codes, indptr, np.concatenate(trains).astype(np.int64), np.array(split, dtype=np.int32),
                np.array(positive, dtype=np.int32), np.array(starts), epochs, self.order == "random",
                int(self.random_state), weights, errors, stopped, thread_count(self.n_jobs),
            )  # fmt: skip
        if not np.isfinite(weights).all():
            raise DataError("The weights exceed float64.", "Divide the columns by their size first.")
        found: list[_Run | Exception] = []
        of_split = np.array(split, dtype=np.int64)
        for number, answer in enumerate(answers):
            at = of_split == number
            found.append(answer or _Run(classes[present[number]], dim, weights[at], errors[at], stopped[at]))
        return found

    def _starts(self, outputs: int, dim: int, width: int) -> NDArray[np.float64]:
        starts = np.zeros((outputs, width))
        if self.start is not None:
            given = np.asarray(self.start, dtype=np.float64)
            if given.shape not in ((dim + 1,), (outputs, dim + 1)) or not np.isfinite(given).all():
                raise UsageError(
                    f"start has shape {given.shape}.",
                    f"It must hold finite numbers [-b, w]: {dim + 1} for each output.",
                )
            starts[:, :dim] = given[..., 1:]
            starts[:, dim] = given[..., 0]
        return starts

    def _check_parameters(self) -> None:
        check_number("max_epochs", self.max_epochs, least=1, whole=True)
        check_choice("order", self.order, ORDERS)
        check_choice("keep", self.keep, KEPT)
        check_number("random_state", self.random_state, least=0, whole=True)
        if self.random_state >= 2**64:
            raise UsageError("random_state must be below 2 to the power of 64.")

    # --- model files ------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, NDArray[Any]]:
        """What was learned, as named arrays.

        Returns
        -------
        dict of str to ndarray
        """
        own = {"epochs": self.n_epochs_, "errors": self.errors_, "separable": self.separable_}
        return {**super().state(), **own}

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._check_parameters()
        super()._restore(arrays)
        self.n_epochs_, self.errors_, self.separable_ = (arrays[name] for name in ("epochs", "errors", "separable"))
        if any(len(part) != len(self.coef_) for part in (self.n_epochs_, self.errors_, self.separable_)):
            raise ModelFileError("Epochs and errors do not fit the outputs.")


@dataclass(frozen=True)
class _Run:
    """What the engine found on one training part."""

    classes: NDArray[Any]
    dim: int
    weights: NDArray[np.float64]  # (outputs, epochs, KEPT, width)
    errors: NDArray[np.int64]
    stopped: NDArray[np.int64]


def _block(
    splits: Splits, split: int, rows: NDArray[Any], run: _Run | Exception, group: list[tuple[int, Any]],
    epochs: NDArray[np.int64], responses: Sequence[str], threads: int,
) -> Block:  # fmt: skip
    held = splits.test(split)
    where = np.array([i for i, _ in group], dtype=np.intp)
    if isinstance(run, Exception):
        return Block(split, where, held, None, {}, run)
    chosen = [
        run.weights[:, int(np.searchsorted(epochs, one.max_epochs)), KEPT.index(one.keep)] for _, one in group
    ]  # fmt: skip
    weights = np.concatenate(chosen)
    found = scores(np.ascontiguousarray(rows[held]), weights[:, : run.dim], weights[:, run.dim], threads)
    by_candidate = found.reshape(len(group), len(run.weights), len(held))
    binary = len(run.weights) == 1
    decision = by_candidate[:, 0] if binary else np.ascontiguousarray(by_candidate.transpose(0, 2, 1))
    answers: dict[str, Any] = {}
    if "predict" in responses:
        answers["predict"] = np.stack([PerceptronClassifier._winners(one) for one in decision])
    if "decision_function" in responses:
        answers["decision_function"] = decision
    return Block(split, where, held, run.classes, answers)
