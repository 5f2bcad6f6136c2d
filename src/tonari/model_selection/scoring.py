"""Scores of the blocks that learners answer: well-known measures natively, any other scorer through a stand-in."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics._scorer import _MultimetricScorer, _PassthroughScorer
from sklearn.model_selection._validation import _score
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_method_params

from tonari.base.held_out import RESPONSES, Block, Refusal, Splits
from tonari.metrics.scorers import BatchMeasure, PlainScorer, Target, batch_measure, default_measure
from tonari.metrics.scores import (
    SplitRows,
    brier_losses,
    error_scores,
    label_scores,
    log_losses,
    ranking_scores,
)
from tonari.model_selection.stand_in import Record, StandIn, Touched

Floats = NDArray[np.float64]
# Scores of a block as [candidate, split], and which of them hold.
_Settled = tuple[Floats, NDArray[np.bool_]]


class Marks:
    """What is known so far of every candidate on every split.

    Parameters
    ----------
    n_candidates, n_splits : int

    Attributes
    ----------
    scores : dict of str to ndarray of shape (n_candidates, n_splits)
    multimetric : bool
        Whether a scorer gives several scores, by name; a single one is called ``"score"``.
    answered : ndarray of bool
    fit_time, score_time : ndarray of float64
    reasons : list of str
        Why some were fitted one by one.
    """

    def __init__(self, n_candidates: int, n_splits: int) -> None:
        self.shape = (n_candidates, n_splits)
        self.scores: dict[str, Floats] = {}
        self.multimetric = False
        self.answered = np.zeros(self.shape, dtype=bool)
        self.fit_time = np.zeros(self.shape)
        self.score_time = np.zeros(self.shape)
        self.reasons: list[str] = []

    def column(self, name: str) -> Floats:
        """The array of one score; NaN where it is not known yet."""
        if name not in self.scores:
            self.scores[name] = np.full(self.shape, np.nan)
        return self.scores[name]

    def put(self, candidate: int, split: int, scores: Any) -> None:
        """Note what a scorer gave: one number, or numbers by name."""
        self.multimetric = self.multimetric or isinstance(scores, Mapping)
        for name, score in (scores if isinstance(scores, Mapping) else {"score": scores}).items():
            self.column(name)[candidate, split] = score

    def because(self, reason: str) -> None:
        """Note why something was fitted one by one, once."""
        if reason not in self.reasons:
            self.reasons.append(reason)


@dataclass(frozen=True)
class _Answers:
    """A block with its rows brought into the splitter's order, split after split."""

    block: Block
    splits: NDArray[np.intp]
    rows: SplitRows

    def positions(self, part: int) -> NDArray[np.int64]:
        """Columns of the answers that belong to the block's split number `part`, in the splitter's order."""
        return self.rows.order[self.rows.starts[part] : self.rows.starts[part + 1]]


class Scoring:
    """Scores blocks by what a search was asked to score by.

    Parameters
    ----------
    scorer : callable
        As scikit-learn's search makes it: one scorer, or several in one.
    candidates : sequence of estimators
        Not fitted, with their parameters set.
    X, y : array-like
    splits : Splits
    score_params : mapping
        Given to the scorer besides; then no measure is taken natively.
    error_score : "raise" or float
    """

    def __init__(
        self, scorer: Any, candidates: Sequence[Any], X: Any, y: Any, splits: Splits,
        score_params: Mapping[str, Any], error_score: Any,
    ) -> None:  # fmt: skip
        self.scorer = scorer
        self.candidates = candidates
        self.X = X
        self.y = y
        self.splits = splits
        self.score_params = score_params
        self.error_score = error_score
        self.target = Target.of(candidates[0], y)
        self.native: dict[str, BatchMeasure] = {}
        self.foreign: dict[str, Any] = {}
        self.several = isinstance(scorer, _MultimetricScorer)
        self.scorers: dict[str, Any] = scorer._scorers if self.several else {"score": scorer}
        for name, own in self.scorers.items():
            measure = None if score_params else self._measure(own)
            if measure is None:
                self.foreign[name] = own
            else:
                self.native[name] = measure

    def _measure(self, scorer: Any) -> BatchMeasure | None:
        if isinstance(scorer, _PassthroughScorer):
            return default_measure(self.target)
        return batch_measure(scorer, self.target)

    def responses(self, learner: Any) -> tuple[str, ...]:
        """What a learner must answer for these scores.

        Parameters
        ----------
        learner : estimator

        Returns
        -------
        tuple of str

        Raises
        ------
        Refusal
            If the learner has no method that a scorer needs.
        """
        asked: set[str] = set()
        for measure in self.native.values():
            asked.add(_first(measure.responses, learner))
        for scorer in self.foreign.values():
            if isinstance(scorer, _PassthroughScorer):
                asked.add("predict")
            elif type(scorer) is PlainScorer:
                wanted = scorer._response_method
                asked.add(_first((wanted,) if isinstance(wanted, str) else tuple(wanted), learner))
            else:
                asked.update(name for name in RESPONSES if hasattr(learner, name))
        return tuple(name for name in RESPONSES if name in asked)

    def score(self, block: Block, marks: Marks) -> None:
        """Enter a block's scores; what a scorer cannot get from the block is left unanswered.

        Parameters
        ----------
        block : Block
            Its candidates, splits and rows are numbered as in the whole search.
        marks : Marks
        """
        answers = self._in_order(block)
        cells = np.ix_(block.candidates, answers.splits)
        shape = (len(block.candidates), len(answers.splits))
        unsettled: dict[str, NDArray[np.bool_]] = {name: np.ones(shape, dtype=bool) for name in self.foreign}
        for name, (scores, settled) in self._native_scores(answers, shape).items():
            marks.column(name)[cells] = scores
            if not settled.all():
                unsettled[name] = ~settled
        marks.answered[cells] = True
        if unsettled:
            self._ask_scorers(answers, unsettled, marks)

    def _in_order(self, block: Block) -> _Answers:
        """Find the splits of a block and the order of its rows; a learner that left rows out has made a mistake."""
        given = block.split if isinstance(block.split, np.ndarray) else np.full(len(block.rows), block.split)
        splits = np.unique(given)
        tests = [self.splits.test(int(split)) for split in splits] if len(splits) < len(self.splits) else None
        wanted = self.splits.test_rows if tests is None else np.concatenate(tests)
        sizes = np.diff(self.splits.test_indptr)[splits]
        order = np.empty(len(wanted), dtype=np.int64)
        if len(given) != len(wanted):
            raise ValueError("a block of held-out answers lacks rows of a split that it names")
        order[np.lexsort((wanted, np.repeat(splits, sizes)))] = np.lexsort((block.rows, given))
        if not np.array_equal(block.rows[order], wanted):
            raise ValueError("a block of held-out answers holds other rows than its splits do")
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return _Answers(block, splits.astype(np.intp), SplitRows(order, starts))

    # --- measures that many candidates are scored by at once --------------------------------------------------------

    def _native_scores(self, answers: _Answers, shape: tuple[int, int]) -> dict[str, _Settled]:
        """Scores by name, and which of them hold; the others are for scikit-learn's function to say."""
        if not self.native:
            return {}
        nothing = (np.full(shape, np.nan), np.zeros(shape, dtype=bool))
        columns = self._columns_of_classes(answers.block)
        out = dict.fromkeys(self.native, nothing)
        if self.target.kind == "labels" and columns is None:
            return out
        for kind, settle in (("labels", self._labels), ("errors", self._errors)):
            chosen = {name: measure for name, measure in self.native.items() if measure.kind == kind}
            if chosen:
                scores = settle(answers, columns, list(chosen.values()))
                out.update(
                    (name, (measure.sign * score, settled))
                    for (name, measure), (score, settled) in zip(chosen.items(), scores, strict=True)
                )
        for name, measure in self.native.items():
            if measure.kind not in ("labels", "errors"):
                found = self._probabilities(answers, columns, measure)
                out[name] = nothing if found is None else (measure.sign * found[0], found[1])
        return out

    def _columns_of_classes(self, block: Block) -> NDArray[np.int32] | None:
        """Where a block's classes stand among all; None if they are not among them."""
        classes, own = self.target.classes, block.classes
        if not isinstance(own, np.ndarray):
            return None
        if own.shape == classes.shape and (own == classes).all():
            return np.arange(len(classes), dtype=np.int32)
        positions = {label: i for i, label in enumerate(classes.tolist())}
        found = [positions.get(label, -1) for label in own.tolist()]
        return None if -1 in found else np.array(found, dtype=np.int32)

    def _labels(self, answers: _Answers, columns: Any, measures: Sequence[BatchMeasure]) -> Iterator[_Settled]:
        codes = np.asarray(answers.block.responses["predict"])
        if len(columns) < len(self.target.classes):
            codes = columns[codes]
        scores = label_scores(
            np.ascontiguousarray(codes, dtype=np.int32), self.target.codes[answers.block.rows], answers.rows,
            len(self.target.classes), [measure.labels for measure in measures],
        )  # fmt: skip
        return ((score, ~np.isnan(score)) for score in scores)

    def _errors(self, answers: _Answers, columns: Any, measures: Sequence[BatchMeasure]) -> Iterator[_Settled]:
        values = np.ascontiguousarray(answers.block.responses["predict"], dtype=np.float64)
        names = [measure.errors for measure in measures]
        scores = error_scores(values, self.target.values[answers.block.rows], answers.rows, names)
        lone = answers.rows.sizes < 2
        for name, score in zip(names, scores, strict=True):
            # R squared of one row is not defined; of a constant truth scikit-learn's own rounding decides.
            yield score, ~np.isnan(score) | ((name == "r2") & lone)

    def _probabilities(self, answers: _Answers, columns: Any, measure: BatchMeasure) -> _Settled | None:
        block, n_classes = answers.block, len(self.target.classes)
        if len(columns) < n_classes:
            return None
        response = next(name for name in measure.responses if name in block.responses)
        values = np.asarray(block.responses[response], dtype=np.float64)
        codes = self.target.codes[block.rows]
        lacking = np.zeros(len(answers.splits), dtype=bool)
        for code in range(n_classes):
            there = codes[answers.rows.order] == code
            lacking |= ~np.logical_or.reduceat(there, answers.rows.starts[:-1])
        if measure.kind in ("log_loss", "brier"):
            scores = (
                log_losses(values, codes.astype(np.intp), answers.rows)
                if measure.kind == "log_loss"
                else brier_losses(values, codes == 1, answers.rows)
            )
            return scores, ~np.isnan(scores) & ~(lacking & measure.both_classes)
        ranked = values[:, :, measure.positive] if response == "predict_proba" else values * (2 * measure.positive - 1)
        if not np.isfinite(ranked).all():
            return None
        roc, precision = ranking_scores(np.ascontiguousarray(ranked), codes == measure.positive, answers.rows)
        if measure.kind == "average_precision":
            return precision, ~np.isnan(precision)
        if lacking.any():
            warnings.warn(
                "Only one class is present in y_true. ROC AUC score is not defined in that case.",
                UndefinedMetricWarning, stacklevel=2,
            )  # fmt: skip
        return roc, np.ones(roc.shape, dtype=bool)

    # --- scorers that are called ------------------------------------------------------------------------------------

    def _ask_scorers(self, answers: _Answers, unsettled: Mapping[str, NDArray[np.bool_]], marks: Marks) -> None:
        """Call the scorers that are left, for each candidate and split on its own."""
        open_cells = np.logical_or.reduce(list(unsettled.values()))
        for part in np.flatnonzero(open_cells.any(axis=0)):
            split, at = int(answers.splits[part]), answers.positions(int(part))
            X, y = self._held_out_part(split)
            classes = self._classes_after_fit(answers.block, split)
            for position in np.flatnonzero(open_cells[:, part]):
                candidate = int(answers.block.candidates[position])
                record = Record(self.candidates[candidate], X, classes, _responses(answers.block, int(position), at))
                asked = {name: self.scorers[name] for name, cells in unsettled.items() if cells[position, part]}
                scores = self._ask(asked, record, X, y, split)
                if scores is None:
                    marks.answered[candidate, split] = False
                    marks.because(f"a scorer asks for {record.touched}" if record.touched else "a scorer fails")
                else:
                    marks.put(candidate, split, scores)

    def _ask(self, scorers: Mapping[str, Any], record: Record, X: Any, y: Any, split: int) -> Any:
        """Scores of one candidate on one split; None if it must be fitted for them."""
        try:
            if self.score_params:
                own = _check_method_params(self.X, params=self.score_params, indices=self.splits.test(split))
                scores = _score(StandIn(record), X, y, self.scorer, own, "raise")
            else:
                given = {name: self._one_score(scorer, record, X, y) for name, scorer in scorers.items()}
                scores = given if self.several else given["score"]
        except Touched:
            return None
        except Exception:
            # A failing measure is told as scikit-learn tells it: by failing after a fit of its own.
            return None
        return None if record.touched else scores

    def _one_score(self, scorer: Any, record: Record, X: Any, y: Any) -> Any:
        # What the function of a plain scorer raises is about y and the answers: no fit would change it.
        sure = type(scorer) is PlainScorer
        return _score(StandIn(record), X, y, scorer, {}, self.error_score if sure else "raise")

    def _held_out_part(self, split: int) -> tuple[Any, Any]:
        # Training rows matter to a matrix of distances only; scikit-learn looks at nothing but their tag.
        estimator = self.candidates[0]
        train = self.splits.train(split) if estimator.__sklearn_tags__().input_tags.pairwise else None
        X, y = _safe_split(estimator, self.X, self.y, self.splits.test(split), train)
        return X, y

    def _classes_after_fit(self, block: Block, split: int) -> Any:
        if block.classes is None or not isinstance(block.split, np.ndarray):
            return block.classes
        y = np.asarray(_safe_indexing(self.y, self.splits.train(split)))
        if isinstance(block.classes, list):
            return [np.unique(y[:, i]) for i in range(len(block.classes))]
        return np.unique(y)


def _first(names: Sequence[str], learner: Any) -> str:
    for name in names:
        if hasattr(learner, name):
            return name
    raise Refusal(f"{type(learner).__name__} has no {' or '.join(names)}, which a scorer needs")


def _responses(block: Block, position: int, at: NDArray[np.int64]) -> dict[str, Callable[[], NDArray[Any]]]:
    """How to make what each method of the estimator would return for the held-out rows."""

    def made(name: str) -> Callable[[], Any]:
        response = block.responses[name]
        if name == "predict":
            return lambda: block.predict(position, at)
        if isinstance(response, list):
            return lambda: [np.array(output[position][at]) for output in response]
        return lambda: np.array(response[position][at])

    return {name: made(name) for name in block.responses}
