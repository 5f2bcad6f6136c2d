"""The held-out protocol for normal densities: sums once, one eigendecomposition per class and split for a whole grid.

The sums of a training part are merged from those of the other folds; where a class is so ill-conditioned that this
could differ from a fit by more than 1e-9, its training rows are summed again, which gives the fit's own bits.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone

from tonari.base.held_out import Block, Candidate, Refusal, Splits, why_refused
from tonari.base.threads import thread_count
from tonari.base.validation import check_weighted_rows
from tonari.discriminant_analysis.densities import WELL_CONDITIONED, Densities, Spectra, posterior, scores_of
from tonari.discriminant_analysis.leave_one_out import without_row
from tonari.discriminant_analysis.normal import log_priors_of
from tonari.discriminant_analysis.sums import Sums, TrainingSums, sums_of


@dataclass(frozen=True)
class Group:
    """Candidates that differ in shrinkage and priors only: one set of eigenvectors answers them."""

    kind: tuple[str, str]
    learners: list[Any]
    candidates: NDArray[np.intp]

    @property
    def amounts(self) -> NDArray[np.float64]:
        """The shrinkage of every candidate."""
        return np.array([learner._amount() for learner in self.learners])


@dataclass(frozen=True)
class Table:
    """Rows, labels and weights, and what is asked."""

    rows: NDArray[Any]
    classes: NDArray[Any]
    codes: NDArray[np.int32]
    weights: NDArray[np.float64] | None
    wants: tuple[str, ...]
    threads: int


class HeldOutDensities:
    """`refuses` and `held_out`, mixed into classifiers; they add `_kind`, `_amount` and `_candidates`."""

    #: Parameters of `fit` besides X and y.
    _WEIGHTS: tuple[str, ...] = ()

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
        reason = why_refused(self, candidates, fit_params, responses, takes=self._WEIGHTS)
        known = self.get_params(deep=False)  # type: ignore[attr-defined]
        needs = (self._needs_rows({**known, **candidate}) for candidate in candidates)
        return reason or next((need for need in needs if need is not None), None)

    def held_out(
        self, X: Any, y: Any, splits: Splits, candidates: Sequence[Candidate], *,
        fit_params: Mapping[str, Any], responses: Sequence[str],
    ) -> Iterator[Block]:  # fmt: skip
        """Answer every candidate on every split.

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
        groups, failed = self._groups(candidates)
        try:
            found = check_weighted_rows(clone(self), X, y, fit_params.get("sample_weight"))
            table = Table(*found, tuple(responses), thread_count(getattr(self, "n_jobs", None)))
            count = len(table.classes)
            training = TrainingSums(table.rows, table.codes, count, table.weights, splits, table.threads)
            alone = splits.fold is not None and len(splits) == splits.n_rows
            whole = sums_of(table.rows, table.codes, count, table.weights, table.threads) if alone else None
        except (ValueError, TypeError) as error:
            # One bad row spoils one training part, not all: let each fit say so.
            raise Refusal(f"the table as a whole does not pass validation ({error})") from error
        for candidate, reason in failed:
            for split in range(len(splits)):
                yield Block(split, np.array([candidate]), splits.test(split), None, {}, reason)
        if whole is not None:
            yield from _leave_one_out(table, splits, groups, whole)
            return
        for split, sums in enumerate(training):
            for group in groups:
                yield from _answer(table, splits, split, sums, group, lambda split=split: training.directly(split))

    def _groups(self, candidates: Sequence[Candidate]) -> tuple[list[Group], list[tuple[int, Exception]]]:
        groups: dict[tuple[str, str], Group] = {}
        failed: list[tuple[int, Exception]] = []
        for i, candidate in enumerate(candidates):
            learner = clone(self).set_params(**candidate)
            try:
                learner._check_parameters()
                kind = learner._kind()
            except (ValueError, TypeError) as error:
                failed.append((i, error))
                continue
            group = groups.get(kind, Group(kind, [], np.empty(0, dtype=np.intp)))
            groups[kind] = Group(kind, [*group.learners, learner], np.append(group.candidates, np.intp(i)))
        return list(groups.values()), failed

    def _needs_rows(self, params: Mapping[str, Any]) -> str | None:
        """Why sums are not enough for these parameters, or None."""
        return None

    def _complaint(self, densities: Densities, candidate: int, sums: Sums, classes: NDArray[Any]) -> Exception | None:
        """What `fit` would raise about these densities, or None."""
        return None

    def _settles(self, sums: Sums) -> NDArray[np.bool_]:
        """For the rows of which classes `_complaint` says nothing when one of them is left out."""
        return np.ones(len(sums.weight), dtype=bool)

    def _least_variance(self, learners: Sequence[Any]) -> float:
        """A variance at or below which one of these learners might complain."""
        return 0.0

    @abstractmethod
    def _kind(self) -> tuple[str, str]:
        """Kind of covariance and target of shrinkage: candidates alike in both share eigenvectors."""

    @abstractmethod
    def _amount(self) -> float:
        """The shrinkage."""

    @abstractmethod
    def _candidates(self, spectra: Spectra, amounts: NDArray[np.float64]) -> list[tuple[NDArray[np.intp], Densities]]:
        """Densities for many shrinkages, with their positions."""


def _answer(table: Table, splits: Splits, split: int, sums: Sums, group: Group, directly: Any) -> Iterator[Block]:
    """One group of candidates on one split; `directly()` sums the training rows anew."""
    held = splits.test(split)
    parts, present, kept = _parts(group, sums)
    if any((densities.condition > WELL_CONDITIONED).any() for _, densities in parts):
        parts, present, kept = _parts(group, directly())
    classes = table.classes[present]
    rows = np.ascontiguousarray(table.rows[held])
    for positions, densities in parts:
        priors: list[NDArray[np.float64]] = []
        sound: list[int] = []
        for at, position in enumerate(positions.tolist()):
            learner = group.learners[position]
            try:
                error = learner._complaint(densities, at, kept, classes)
                given = log_priors_of(learner.priors, kept.weight)
            except ValueError as found:
                error = found
            if error is not None:
                yield Block(split, group.candidates[[position]], held, None, {}, error)
                continue
            priors.append(given)
            sound.append(at)
        for chosen in _portions(sound, len(held) * (4 + 16 * len(classes))):
            some = _chosen(densities, [sound[i] for i in chosen])
            given = np.array([priors[i] for i in chosen])
            scores, codes = scores_of(
                rows, some, given, table.threads, scores=table.wants != ("predict",), codes="predict" in table.wants
            )
            where = group.candidates[positions[[sound[i] for i in chosen]]]
            yield Block(split, where, held, classes, responses_of(table.wants, scores, codes))


def _parts(group: Group, sums: Sums) -> tuple[list[tuple[NDArray[np.intp], Densities]], NDArray[np.intp], Sums]:
    present = np.flatnonzero(sums.weight > 0)
    kept = sums[present]
    return group.learners[0]._candidates(Spectra(kept, group.kind[0]), group.amounts), present, kept


def _leave_one_out(table: Table, splits: Splits, groups: list[Group], whole: Sums) -> Iterator[Block]:
    """All rows at once by downdates; those that are not settled one by one, from the sums of their own class anew."""
    assert splits.fold is not None
    for group in groups:
        spectra = None if (whole.weight == 0).any() else Spectra(whole, group.kind[0])
        parts: list[tuple[NDArray[np.intp], Densities | None]] = [(np.arange(len(group.learners)), None)]
        if spectra is not None:
            parts = list(group.learners[0]._candidates(spectra, group.amounts))
        for some, densities in parts:
            for chosen in _portions(some.tolist(), len(table.rows) * (8 + 24 * len(table.classes))):
                part = Group(group.kind, [group.learners[some[i]] for i in chosen], group.candidates[some[chosen]])
                settled = np.zeros(len(table.rows), dtype=bool)
                if densities is not None and spectra is not None:
                    block, settled = _downdated(table, splits, part, whole, spectra, _chosen(densities, chosen))
                    if settled.any():
                        yield block
                for row in np.flatnonzero(~settled).tolist():
                    sums = without(table, whole, row)
                    split = int(splits.fold[row])
                    yield from _answer(table, splits, split, sums, part, lambda sums=sums: sums)


def _downdated(
    table: Table, splits: Splits, group: Group, whole: Sums, spectra: Spectra, densities: Densities
) -> tuple[Block, NDArray[np.bool_]]:
    assert splits.fold is not None
    priors: list[NDArray[np.float64] | None] = []
    settled = np.ones(len(table.rows), dtype=bool)
    for learner in group.learners:
        try:
            given = None if learner.priors is None else log_priors_of(learner.priors, whole.weight)
        except ValueError:
            settled[:] = False
            given = None
        priors.append(given)
        settled &= learner._settles(whole)[table.codes]
    scores, sound = without_row(
        table.rows, table.codes, table.weights, whole, spectra, densities, group.amounts, group.kind[1], priors,
        group.learners[0]._least_variance(group.learners), table.threads,
    )  # fmt: skip
    settled &= sound
    scores = scores[:, settled]
    codes = scores.argmax(axis=2).astype(np.int32)
    rows = np.flatnonzero(settled)
    responses = responses_of(table.wants, scores, codes)
    return Block(splits.fold[rows], group.candidates, rows, table.classes, responses), settled


def without(table: Table, whole: Sums, row: int) -> Sums:
    """Statistics of all rows but one: those of its class summed anew, the others' as they are in any fit.

    Parameters
    ----------
    table : Table
    whole : Sums
        Of all rows.
    row : int

    Returns
    -------
    Sums
    """
    own = int(table.codes[row])
    at = np.flatnonzero(table.codes == own)
    at = at[at != row]
    weights = None if table.weights is None else table.weights[at]
    weight, mean, scatter = whole.weight.copy(), whole.mean.copy(), whole.scatter.copy()
    rows = np.ascontiguousarray(table.rows[at])
    found = sums_of(rows, np.zeros(len(at), dtype=np.int32), 1, weights, table.threads)
    weight[own], mean[own], scatter[own] = found.weight[0], found.mean[0], found.scatter[0]
    return Sums(weight, mean, scatter)


def _chosen(densities: Densities, which: Any) -> Densities:
    """Densities of some of the candidates."""
    return replace(
        densities, variance=densities.variance[which], logdet=densities.logdet[which],
        condition=densities.condition[which],
    )  # fmt: skip


def _portions(sound: Sequence[int], bytes_each: int) -> Iterator[list[int]]:
    """Positions in portions whose answers fit in a quarter of the working memory."""
    most = max(1, int(get_config()["working_memory"] * 2**18 / max(1, bytes_each)))
    for start in range(0, len(sound), most):
        yield list(range(start, min(len(sound), start + most)))


def responses_of(
    wants: Sequence[str], scores: NDArray[np.float64] | None, codes: NDArray[np.int32] | None
) -> dict[str, Any]:
    """A block's responses from log posteriors (candidates, rows, classes) and codes.

    Parameters
    ----------
    wants : sequence of str
    scores : ndarray or None
    codes : ndarray or None

    Returns
    -------
    dict
    """
    responses: dict[str, Any] = {}
    if "predict" in wants:
        responses["predict"] = codes
    if "predict_proba" in wants:
        assert scores is not None
        responses["predict_proba"] = posterior(scores)
    if "decision_function" in wants:
        assert scores is not None
        two = scores.shape[2] == 2
        responses["decision_function"] = scores[..., 1] - scores[..., 0] if two else scores
    return responses
