"""What classifiers that let neighbours vote have in common: labels, weights, the rule for ties, abstention."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from tonari.base.errors import ModelFileError, UsageError
from tonari.base.threads import thread_count
from tonari.base.validation import encode_labels
from tonari.neighbors.voting import Lists, Voting, check_rule, check_vote_weight, check_weights, draws_of, vote
from tonari.neighbors.voting import class_vote_weights as weights_of_classes

UNKNOWN = "unknown"


class ClassVotes(ClassifierMixin):
    """Mixed into classifiers; adds what is learned from labels, and the decision."""

    weights: Any
    bandwidth: Any
    class_vote_weight: Any
    ties: Any
    min_share: Any
    max_distance: Any = None
    unknown_label: Any
    random_state: Any
    n_jobs: Any
    _fit_X: Any
    _metric: Any
    n_samples_fit_: int

    def _check_voting(self) -> None:
        check_weights(self.weights, self.bandwidth)
        check_rule(self.ties, self.min_share, self.max_distance, self.random_state)

    def _fit_labels(self, y: NDArray[Any], vote_weight: Any) -> None:
        classes, self._y, self.outputs_2d_ = encode_labels(y)
        self.classes_: Any = classes if self.outputs_2d_ else classes[0]
        self._vote_weight = check_vote_weight(vote_weight, len(self._y))
        given = per_output(self.class_vote_weight, len(classes))
        counts = [np.bincount(self._y[:, o], minlength=len(found)) for o, found in enumerate(classes)]
        self._class_weights = [weights_of_classes(*three) for three in zip(given, classes, counts, strict=True)]
        self._unknown = self._unknown_labels(classes)

    def _class_list(self) -> list[NDArray[Any]]:
        return list(self.classes_) if self.outputs_2d_ else [np.asarray(self.classes_)]

    @property
    def _may_abstain(self) -> bool:
        return bool(self.ties == "undecided" or self.min_share > 0 or self.max_distance is not None)

    def _unknown_labels(self, classes: list[NDArray[Any]]) -> list[Any] | None:
        """The label of each output for queries on which nobody has won; None where that cannot happen."""
        if not self._may_abstain:
            return None
        labels = per_output(self.unknown_label, len(classes))
        return [_unknown_label(label, found) for label, found in zip(labels, classes, strict=True)]

    def _voting(self, k: int, bandwidth: float = 0.0) -> Voting:
        return Voting(
            k, self.weights, float(self.bandwidth or bandwidth), self.ties, float(self.min_share),
            int(self.random_state), self.class_vote_weight,
        )  # fmt: skip

    def _draws(self, queries: Any, lists: Lists) -> NDArray[np.uint64] | None:
        if self.ties != "random":
            return None
        known = isinstance(queries, np.ndarray) and self._metric.name != "precomputed"
        # Where only distances are known, the nearest one has to stand for the query.
        return draws_of(queries if known else lists.nearest()[:, np.newaxis])

    def _winners(self, lists: Lists, voting: Voting, draws: Any) -> list[NDArray[np.int32]]:
        """Codes of the winners for each output, -1 where nobody has won."""
        found = []
        for output in range(len(self._class_list())):
            codes = self._vote(lists, voting, draws, output, shares=False)[0][0]
            if self.max_distance is not None:
                codes[lists.nearest() > self.max_distance] = -1
            found.append(codes)
        return found

    def _shares(self, lists: Lists, voting: Voting, draws: Any) -> list[NDArray[np.float64]]:
        """Class shares for each output."""
        found = []
        for output in range(len(self._class_list())):
            shares = self._vote(lists, voting, draws, output, shares=True)[1]
            assert shares is not None
            found.append(shares[0])
        return found

    def _vote(self, lists: Lists, voting: Voting, draws: Any, output: int, *, shares: bool) -> Any:
        weights = self._class_weights[output]
        return vote(
            lists, [voting], self._y[:, output], len(self._class_list()[output]), thread_count(self.n_jobs),
            shares=shares, row_weights=self._vote_weight, draws=draws,
            class_weights=None if weights is None else weights[np.newaxis],
        )  # fmt: skip

    def _labelled(self, winners: list[NDArray[np.int32]]) -> NDArray[Any]:
        """Labels of the winners; -1 stands for the unknown label."""
        columns = []
        for output, (codes, classes) in enumerate(zip(winners, self._class_list(), strict=True)):
            labels = classes if self._unknown is None else np.append(classes, self._unknown[output])
            columns.append(labels[codes])
        return np.column_stack(columns) if self.outputs_2d_ else np.asarray(columns[0])

    # --- model files ------------------------------------------------------------------------------------------------

    def _label_state(self) -> dict[str, NDArray[Any]]:
        state: dict[str, NDArray[Any]] = {"labels": self._y}
        for output, classes in enumerate(self._class_list()):
            state[f"classes_{output}"] = classes
            weights = self._class_weights[output]
            if weights is not None:
                state[f"class_vote_weight_{output}"] = weights
        if self._vote_weight is not None:
            state["vote_weight"] = self._vote_weight
        return state

    def _restore_labels(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._check_voting()
        labels = np.ascontiguousarray(arrays["labels"])
        if labels.dtype != np.int32 or labels.ndim != 2 or len(labels) != self.n_samples_fit_:
            raise ModelFileError("The labels must be int32 codes, one row for each fitted row.")
        classes = [np.asarray(arrays[f"classes_{output}"]) for output in range(labels.shape[1])]
        for output, found in enumerate(classes):
            codes = labels[:, output]
            if found.ndim != 1 or not len(found) or codes.min() < 0 or codes.max() >= len(found):
                raise ModelFileError("A label lies outside the classes.")
        self._y, self.outputs_2d_ = labels, len(classes) > 1
        self.classes_ = classes if self.outputs_2d_ else classes[0]
        self._vote_weight = check_vote_weight(arrays.get("vote_weight"), len(labels))
        self._class_weights = [_stored_weights(arrays, o, len(found)) for o, found in enumerate(classes)]
        if self.class_vote_weight is None and any(weights is not None for weights in self._class_weights):
            # A mapping has labels as keys, which the header of a file cannot hold.
            given = [
                None if weights is None else dict(zip(found.tolist(), weights.tolist(), strict=True))
                for weights, found in zip(self._class_weights, classes, strict=True)
            ]
            self.class_vote_weight = given if self.outputs_2d_ else given[0]
        self._unknown = self._unknown_labels(classes)


def per_output(given: Any, outputs: int) -> list[Any]:
    """A parameter that may be given for each output by itself, as a list with one entry for each.

    Parameters
    ----------
    given : object, or list of object
    outputs : int

    Returns
    -------
    list
    """
    if not isinstance(given, list):
        return [given] * outputs
    if len(given) != outputs:
        raise UsageError(f"{given!r} has {len(given)} entries, and y has {outputs} outputs.", "Give one for each.")
    return given


def _stored_weights(arrays: Mapping[str, NDArray[Any]], output: int, count: int) -> NDArray[np.float64] | None:
    weights = arrays.get(f"class_vote_weight_{output}")
    if weights is None:
        return None
    if weights.shape != (count,) or weights.dtype != np.float64 or not (weights > 0).all():
        raise ModelFileError("The weights of classes must be positive float64 numbers, one for each class.")
    return np.ascontiguousarray(weights)


def _unknown_label(label: Any, classes: NDArray[Any]) -> Any:
    text = classes.dtype.kind in "US" or (classes.dtype.kind == "O" and all(isinstance(c, str) for c in classes))
    if label is None and text:
        return UNKNOWN
    if label is None:
        raise UsageError(
            f"Queries may stay without a class here, and labels are {classes.dtype}.",
            "Say what predict shall return for them: unknown_label=-1, for example.",
        )
    if classes.dtype.kind != "O" and np.append(classes, label).dtype.kind != classes.dtype.kind:
        raise UsageError(
            f"unknown_label={label!r} is of another kind than the labels, which are {classes.dtype}.",
            "Choose a label of their kind.",
        )
    return label
