"""The held-out protocol for neighbours: all k, all weightings and all folds from one search per metric.

Where the held-out parts are a partition, one search over all rows keeps for every row the kmax nearest outside its own
fold (leave-one-out: outside itself). Any other splits are searched one by one, and still serve every candidate.
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

from tonari.base.errors import UsageError
from tonari.base.held_out import Block, Candidate, Refusal, Splits
from tonari.base.threads import thread_count
from tonari.base.validation import check_rows_and_labels
from tonari.neighbors.metrics import MetricChoice
from tonari.neighbors.search import build_index
from tonari.neighbors.voting import Lists, Voting, check_vote_weight


@dataclass(frozen=True)
class Setting:
    """One candidate as the search sees it."""

    candidate: int
    voting: Voting
    metric: MetricChoice

    @property
    def k(self) -> int:
        """Neighbours that vote."""
        return self.voting.k


@dataclass(frozen=True)
class Found:
    """Neighbours of some held-out rows, nearest first, and the settings that they answer.

    Attributes
    ----------
    split : int or ndarray of int32
        As in :class:`Block`.
    rows : ndarray of int64
        The held-out rows.
    train : ndarray of int64, or None
        Training rows of the one split; None where the rows belong to several.
    queries : ndarray
        What was asked: the held-out rows of the table.
    lists : Lists
        Neighbours are numbered as in the whole table.
    settings : list of Voting
    candidates : ndarray of intp
        Their positions in the list of candidates.
    threads : int
    complete : bool
        Whether every class is known to be present in every training part.
    row_weights : ndarray of float64, or None
        ``vote_weight`` of the whole table.
    """

    split: int | NDArray[np.int32]
    rows: NDArray[np.int64]
    train: NDArray[np.int64] | None
    queries: NDArray[Any]
    lists: Lists
    settings: list[Voting]
    candidates: NDArray[np.intp]
    threads: int
    complete: bool
    row_weights: NDArray[np.float64] | None

    def classes_complete(self, codes: NDArray[np.int32], classes: list[NDArray[Any]]) -> bool:
        """Whether the training part holds every class of every output."""
        if self.complete or self.train is None:
            return True
        return all(len(np.unique(codes[self.train, o])) == len(found) for o, found in enumerate(classes))

    def portions(self, bytes_per_answer: int) -> Iterator[NDArray[np.intp]]:
        """Positions of settings, in portions whose answers fit in a quarter of the working memory."""
        most = int(get_config()["working_memory"] * 2**18 / max(1, bytes_per_answer * len(self.rows)))
        for start in range(0, len(self.settings), max(1, most)):
            yield np.arange(start, min(len(self.settings), start + max(1, most)))

    def block(self, part: NDArray[np.intp], classes: Any, responses: dict[str, Any]) -> Block:
        """These answers as a block of the protocol."""
        return Block(self.split, self.candidates[part], self.rows, classes, responses)


class HeldOutNeighbors:
    """`refuses` and `held_out`, mixed into the learners; they add `_setting`, `_target_for_sharing` and `_share`."""

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
        unheard_of = set(fit_params) - {"vote_weight"}
        if unheard_of:
            return f"fit parameters ({', '.join(sorted(unheard_of))}) are given"
        known = self.get_params(deep=False)  # type: ignore[attr-defined]
        for candidate in candidates:
            unknown = set(candidate) - set(known)
            if unknown:
                return f"{sorted(unknown)} are no parameters of {type(self).__name__}"
            if candidate.get("metric", self.metric) == "precomputed":  # type: ignore[attr-defined]
                return "precomputed distances are cut along both axes"
            if "bits" in (candidate.get("metric_params", self.metric_params) or {}):  # type: ignore[attr-defined]
                return "tables of packed bits are no numbers"
            alone = clone(self).set_params(**candidate)._why_alone()
            if alone is not None:
                return str(alone)
        offered = ("predict", "predict_proba") if hasattr(self, "predict_proba") else ("predict",)
        for response in responses:
            if response not in offered:
                return f"{type(self).__name__} has no {response}"
        return None

    def held_out(
        self, X: Any, y: Any, splits: Splits, candidates: Sequence[Candidate], *,
        fit_params: Mapping[str, Any], responses: Sequence[str],
    ) -> Iterator[Block]:  # fmt: skip
        """Answer every candidate on every split.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
        splits : Splits
        candidates : sequence of mapping
        fit_params : mapping
        responses : sequence of str

        Yields
        ------
        Block
        """
        learners = [clone(self).set_params(**candidate) for candidate in candidates]
        settings, failed = [], []
        for i, learner in enumerate(learners):
            try:
                metric = learner._check_parameters()
                settings.append(Setting(i, learner._setting(), metric))
            except (ValueError, TypeError) as error:
                failed.append((i, error))
        allow_nan = any(setting.metric.name == "nan_euclidean" for setting in settings)
        try:
            rows, labels = check_rows_and_labels(clone(self), X, y, allow_nan=allow_nan)
            target = self._target_for_sharing(labels)
            row_weights = check_vote_weight(fit_params.get("vote_weight"), len(rows))
        except (ValueError, TypeError) as error:
            # One bad row spoils one training part, not all: let each fit say so.
            raise Refusal(f"the table as a whole does not pass validation ({error})") from error
        if allow_nan and np.isnan(rows).any() and any(s.metric.name != "nan_euclidean" for s in settings):
            raise Refusal("some candidates cannot take missing values")
        for setting in settings:
            if not isinstance(setting.voting.class_weight, str | None):
                raise Refusal("class_vote_weight names labels, of which a training part may lack some")
        for candidate, reason in failed:
            for split in range(len(splits)):
                yield _failure(splits, split, [candidate], reason)
        wants = tuple(responses)
        threads = thread_count(self.n_jobs)  # type: ignore[attr-defined]
        for group in _by_metric(settings):
            for found in _search(rows, splits, group, threads, _presence(target) if "predict_proba" in wants else None):
                if isinstance(found, Block):
                    yield found
                else:
                    yield from self._share(replace(found, row_weights=row_weights), target, wants)

    def _why_alone(self) -> str | None:
        """Why this setting cannot be answered with others, or None."""
        return None

    @abstractmethod
    def _setting(self) -> Voting:
        """How this candidate votes; raises what `fit` would raise."""

    @abstractmethod
    def _target_for_sharing(self, y: NDArray[Any]) -> Any:
        """What `_share` needs of y, made once."""

    @abstractmethod
    def _share(self, found: Found, target: Any, wants: tuple[str, ...]) -> Iterator[Block]:
        """The answers that these neighbours give."""


def _presence(target: Any) -> NDArray[np.int32]:
    codes: NDArray[np.int32] = target[1]
    return codes


def _key(metric: MetricChoice) -> str:
    # The printed form of an array leaves values and digits out.
    params = {
        name: value.tobytes() if isinstance(value, np.ndarray) else value for name, value in metric.params.items()
    }
    return repr((metric.name, metric.p, params))


def _by_metric(settings: Sequence[Setting]) -> list[list[Setting]]:
    groups: dict[str, list[Setting]] = {}
    for setting in settings:
        groups.setdefault(_key(setting.metric), []).append(setting)
    return list(groups.values())


def _search(
    rows: NDArray[Any], splits: Splits, group: list[Setting], threads: int, codes: NDArray[np.int32] | None
) -> Iterator[Found | Block]:
    """Neighbours for one metric: from one search where the splits allow it, else split by split."""
    sizes = np.diff(splits.test_indptr)
    together = np.zeros(len(splits), dtype=bool)
    if splits.fold is not None and not group[0].metric.learns:
        together[:] = True if codes is None else _all_classes_outside(splits.fold, codes, len(splits))
    least = splits.n_rows - int(sizes.max()) if splits.fold is not None else 0
    shared = [setting for setting in group if setting.k <= least]
    alone = [setting for setting in group if setting.k > least]
    index = build_index(rows, group[0].metric, threads) if shared and together.any() else None
    if index is not None and splits.fold is not None:
        kmax = max(setting.k for setting in shared)
        for run in _runs_of_splits(np.flatnonzero(together), sizes, kmax):
            held = np.concatenate([splits.test(split) for split in run])
            queries = rows[held]
            distances, neighbours = index.search(queries, kmax, splits.fold, splits.fold[held], threads)
            split = splits.fold[held] if len(run) > 1 else int(run[0])
            lists = Lists.of_equal_length(distances, neighbours)
            yield _found(split, held, None, queries, lists, shared, threads, complete=True)
    for split in range(len(splits)):
        rest = alone if together[split] else group
        if rest:
            yield from _search_one(rows, splits, split, rest, threads)


def _search_one(
    rows: NDArray[Any], splits: Splits, split: int, group: list[Setting], threads: int
) -> Iterator[Found | Block]:
    train, held = splits.train(split), splits.test(split)
    served = [setting for setting in group if setting.k <= len(train)]
    for setting in group:
        if setting.k > len(train):
            error = UsageError(
                f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {setting.k}, n_samples_fit = {len(train)}, "
                f"n_samples = {len(held)}"
            )
            yield _failure(splits, split, [setting.candidate], error)
    if served:
        kmax = max(setting.k for setting in served)
        index = build_index(np.ascontiguousarray(rows[train]), served[0].metric, threads)
        queries = rows[held]
        distances, neighbours = index.search(queries, kmax, None, None, threads)
        lists = Lists.of_equal_length(distances, train[neighbours])
        yield _found(split, held, train, queries, lists, served, threads, complete=False)


def _found(
    split: int | NDArray[np.int32], held: NDArray[np.int64], train: NDArray[np.int64] | None, queries: NDArray[Any],
    lists: Lists, settings: list[Setting], threads: int, *, complete: bool,
) -> Found:  # fmt: skip
    candidates = np.array([setting.candidate for setting in settings], dtype=np.intp)
    votings = [setting.voting for setting in settings]
    return Found(split, held, train, queries, lists, votings, candidates, threads, complete, None)


def _failure(splits: Splits, split: int, candidates: list[int], error: Exception) -> Block:
    return Block(split, np.array(candidates, dtype=np.intp), splits.test(split), None, {}, error)


def _all_classes_outside(fold: NDArray[np.int32], codes: NDArray[np.int32], n_splits: int) -> NDArray[np.bool_]:
    """For every split, whether each class of each output occurs outside it."""
    complete = np.ones(n_splits, dtype=bool)
    for output in range(codes.shape[1]):
        total = np.bincount(codes[:, output])
        # Counts of (split, class) pairs that occur: at most one per row, so leave-one-out stays linear.
        pairs, counts = np.unique(fold.astype(np.int64) * len(total) + codes[:, output], return_counts=True)
        complete[pairs[counts == total[pairs % len(total)]] // len(total)] = False
    return complete


def _runs_of_splits(chosen: NDArray[np.intp], sizes: NDArray[np.int64], kmax: int) -> Iterator[NDArray[np.intp]]:
    """Runs of splits whose neighbours fit in a quarter of the working memory; a split is never cut."""
    most = max(1, int(get_config()["working_memory"] * 2**18 / (16 * kmax)))
    start, rows = 0, 0
    for i, split in enumerate(chosen):
        if i > start and rows + sizes[split] > most:
            yield chosen[start:i]
            start, rows = i, 0
        rows += int(sizes[split])
    if start < len(chosen):
        yield chosen[start:]
