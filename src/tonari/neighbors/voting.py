"""From neighbours to answers: votes and means for many settings at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tonari import _core
from tonari.base.errors import UsageError
from tonari.base.validation import check_choice, check_number

_NATIVE_WEIGHTS = {None: 0, "uniform": 0, "distance": 1, "gaussian": 3}
_GIVEN = 2
TIES = ("first", "nearest", "random", "undecided")
NOBODY = -1
# More neighbours than any list has: all of them vote.
ALL = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Lists:
    """Neighbours of every query, nearest first.

    Attributes
    ----------
    indptr : ndarray of int64, shape (n_queries + 1,)
    rows, distances : ndarray
        Query q's neighbours stand at ``indptr[q]:indptr[q + 1]``.
    """

    indptr: NDArray[np.int64]
    rows: NDArray[np.int64]
    distances: NDArray[np.float64]

    @classmethod
    def of_equal_length(cls, distances: NDArray[np.float64], neighbours: NDArray[np.int64]) -> Lists:
        """From the two matrices that a search for k neighbours gives."""
        queries, k = neighbours.shape
        return cls(np.arange(queries + 1, dtype=np.int64) * k, neighbours.reshape(-1), distances.reshape(-1))

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many neighbours each query has."""
        return np.diff(self.indptr)

    def nearest(self) -> NDArray[np.float64]:
        """The distance of each query's first neighbour; infinite where there is none."""
        found = np.full(len(self), np.inf)
        some = self.counts > 0
        found[some] = self.distances[self.indptr[:-1][some]]
        return found


@dataclass(frozen=True)
class Voting:
    """How neighbours are turned into an answer.

    Attributes
    ----------
    k : int
        Neighbours that vote, at most.
    weights : {"uniform", "distance", "gaussian"}, callable or None
    bandwidth : float, default=0
        Of "gaussian"; 0: the distance of the last neighbour that votes.
    ties : {"first", "nearest", "random", "undecided"}, default="first"
    least_share : float, default=0
    seed : int, default=0
    class_weight : mapping, "balanced" or None, default=None
    """

    k: int
    weights: Any = "uniform"
    bandwidth: float = 0.0
    ties: str = "first"
    least_share: float = 0.0
    seed: int = 0
    class_weight: Any = None

    @property
    def rule(self) -> tuple[Any, ...]:
        """What settings must share to be answered in one pass."""
        return self.bandwidth, self.ties, self.least_share, self.seed, repr(self.class_weight)


def check_weights(weights: Any, bandwidth: Any = None) -> None:
    """Refuse weights that are no name and no callable, and a bandwidth that is no positive number.

    Parameters
    ----------
    weights : {"uniform", "distance", "gaussian"}, callable or None
    bandwidth : float or None, default=None
    """
    if not callable(weights) and (not isinstance(weights, str | None) or weights not in _NATIVE_WEIGHTS):
        raise UsageError(
            f"The 'weights' parameter is {weights!r}, which is not known.",
            "Choose 'uniform', 'distance', 'gaussian', or give a callable.",
        )
    if bandwidth is not None:
        check_number("bandwidth", bandwidth, least=0, above=True)


def check_rule(ties: Any, min_share: Any, max_distance: Any, random_state: Any) -> None:
    """Refuse a rule for ties or for rejection that cannot be carried out.

    Parameters
    ----------
    ties : {"first", "nearest", "random", "undecided"}
    min_share : float
    max_distance : float or None
    random_state : int
    """
    check_choice("ties", ties, TIES)
    check_number("min_share", min_share, least=0)
    if min_share > 1:
        raise UsageError(f"The 'min_share' parameter must be at most 1, got {min_share!r}.")
    if max_distance is not None:
        check_number("max_distance", max_distance, least=0)
    check_number("random_state", random_state, least=0, whole=True)


def check_vote_weight(vote_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """One positive, finite weight per row, or None.

    Parameters
    ----------
    vote_weight : array-like of shape (n_rows,), or None
    n_rows : int

    Returns
    -------
    ndarray of float64, or None
    """
    if vote_weight is None:
        return None
    weights = np.ascontiguousarray(vote_weight, dtype=np.float64)
    if weights.shape != (n_rows,):
        raise UsageError(f"vote_weight has shape {weights.shape} for {n_rows} rows.", "Give one weight per row.")
    if not (np.isfinite(weights).all() and (weights > 0).all()):
        raise UsageError(
            "Every vote_weight must be a positive, finite number.", "A row that is to have no vote is left out of fit."
        )
    return weights


def vote(
    lists: Lists, settings: Sequence[Voting], labels: NDArray[np.int32], n_classes: int, threads: int, *, shares: bool,
    row_weights: NDArray[np.float64] | None = None, class_weights: NDArray[np.float64] | None = None,
    part: NDArray[np.int32] | None = None, draws: NDArray[np.uint64] | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.float64] | None]:  # fmt: skip
    """The winning class of every setting and query, and the class shares if asked.

    Parameters
    ----------
    lists : Lists
    settings : sequence of Voting
        `class_weights` are those of all of them.
    labels : ndarray of int32, shape (n_rows,)
        Class codes of the fitted rows.
    n_classes : int
    threads : int
    shares : bool
        Whether class shares are wanted too.
    row_weights : ndarray of float64, shape (n_rows,), or None, default=None
    class_weights : ndarray of float64, shape (n_parts, n_classes), or None, default=None
    part : ndarray of int32, shape (n_queries,), or None, default=None
        Which row of `class_weights` a query goes by; None: the first.
    draws : ndarray of uint64, shape (n_queries,), or None, default=None
        As `draws_of` makes them; needed where ties are drawn.

    Returns
    -------
    winners : ndarray of int32, shape (n_settings, n_queries)
        -1 where nobody wins: no neighbours, an undecided tie, too small a share.
    shares : ndarray of float64, shape (n_settings, n_queries, n_classes), or None
    """
    winners = np.empty((len(settings), len(lists)), dtype=np.int32)
    wanted = np.empty((len(settings), len(lists), n_classes)) if shares else None
    labels = np.ascontiguousarray(labels)
    for chosen, k, weighting, given in _runs(lists, settings):
        rule = settings[chosen[0]]
        out = np.empty((len(chosen), len(lists)), dtype=np.int32)
        out_shares = np.empty((len(chosen), len(lists), n_classes)) if shares else None
        _core.vote_classes(
            lists.indptr, lists.rows, lists.distances, given, row_weights, labels, n_classes, k, weighting,
            rule.bandwidth, class_weights, part, TIES.index(rule.ties), rule.least_share, rule.seed, draws,
            out, out_shares, threads,
        )  # fmt: skip
        winners[chosen] = out
        if wanted is not None:
            wanted[chosen] = out_shares
    return winners, wanted


def average(
    lists: Lists, settings: Sequence[Voting], values: NDArray[np.float64], threads: int,
    row_weights: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:  # fmt: skip
    """The weighted mean of the neighbours' values for every setting, query and output.

    Parameters
    ----------
    lists : Lists
    settings : sequence of Voting
    values : ndarray of float64, shape (n_rows, n_outputs)
    threads : int
    row_weights : ndarray of float64, shape (n_rows,), or None, default=None

    Returns
    -------
    ndarray of float64, shape (n_settings, n_queries, n_outputs)
        NaN where a query has no neighbours.
    """
    means = np.empty((len(settings), len(lists), values.shape[1]))
    for chosen, k, weighting, given in _runs(lists, settings):
        out = np.empty((len(chosen), *means.shape[1:]))
        _core.vote_means(
            lists.indptr, lists.rows, lists.distances, given, row_weights, values, k, weighting,
            settings[chosen[0]].bandwidth, out, threads,
        )  # fmt: skip
        means[chosen] = out
    return means


def class_vote_weights(given: Any, classes: NDArray[Any], counts: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """The weight that every vote for a class gets, or None where all have the same.

    Parameters
    ----------
    given : mapping from label to weight, "balanced" or None
        Labels that a mapping does not name have weight 1.
    classes : ndarray
        Labels of one output.
    counts : ndarray of int64
        Rows of each; a class without rows is left out of the balance.

    Returns
    -------
    ndarray of float64, shape (n_classes,), or None

    Examples
    --------
    >>> class_vote_weights("balanced", np.array(["a", "b"]), np.array([1, 3]))
    array([2.        , 0.66666667])
    """
    if given is None:
        return None
    if isinstance(given, str) and given == "balanced":
        present = counts > 0
        weights = np.ones(len(classes))
        weights[present] = counts.sum() / (present.sum() * counts[present])
        return weights
    if not isinstance(given, Mapping):
        raise UsageError(
            f"The 'class_vote_weight' parameter is {given!r}, which is not known.",
            "Give a dict from label to weight, 'balanced' or None; for several outputs a list of these.",
        )
    named = {label: position for position, label in enumerate(classes.tolist())}
    unknown = [label for label in given if label not in named]
    # A fold may lack a class that the mapping names; beside a class without a weight it is rather a slip.
    if unknown and any(label not in given for label in named):
        raise UsageError(f"class_vote_weight names {unknown}, which are no classes of y; those are {list(named)}.")
    weights = np.array([given.get(label, 1.0) for label in named], dtype=np.float64)
    if not (np.isfinite(weights).all() and (weights > 0).all()):
        raise UsageError("Every class_vote_weight must be a positive, finite number.")
    return weights


def draws_of(queries: Any) -> NDArray[np.uint64]:
    """One number per query that depends on its values alone: equal queries draw alike, in whatever batch they come.

    Parameters
    ----------
    queries : ndarray of float32 or float64, shape (n_queries, n_features)

    Returns
    -------
    ndarray of uint64, shape (n_queries,)
    """
    mixed = np.full(len(queries), 0x9E3779B97F4A7C15, dtype=np.uint64)
    for column in range(queries.shape[1]):
        # Adding 0 makes -0.0 the number that it equals. The steps are those of splitmix64.
        bits = (queries[:, column].astype(np.float64) + 0.0).view(np.uint64)
        mixed = (mixed ^ bits) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    return mixed


def _runs(lists: Lists, settings: Sequence[Voting]) -> Iterator[tuple[list[int], Any, Any, Any]]:
    """Settings that the engine answers in one pass: named weightings of one rule together, every callable by itself."""
    named: dict[tuple[Any, ...], list[int]] = {}
    for i, setting in enumerate(settings):
        if not callable(setting.weights):
            named.setdefault(setting.rule, []).append(i)
    for chosen in named.values():
        weighting = np.array([_NATIVE_WEIGHTS[settings[i].weights] for i in chosen], dtype=np.int32)
        yield chosen, np.array([settings[i].k for i in chosen], dtype=np.int32), weighting, None
    for i, setting in enumerate(settings):
        if callable(setting.weights):
            given = _given_weights(setting, lists)
            yield [i], np.array([setting.k], dtype=np.int32), np.array([_GIVEN], dtype=np.int32), given


def _given_weights(setting: Voting, lists: Lists) -> NDArray[np.float64]:
    """What the callable says of the neighbours that vote; those behind them have weight 0 and no vote."""
    counts = lists.counts
    if len(counts) and setting.k < ALL and (counts == counts[0]).all():
        width = int(counts[0])
        asked = lists.distances.reshape(-1, width)[:, : setting.k]
        full = np.zeros((len(lists), width))
        full[:, : setting.k] = _called(setting.weights, asked)
        given = full.reshape(-1)
    else:
        given = _called(setting.weights, lists.distances)
    query = np.repeat(np.arange(len(lists)), counts)
    infinite = np.isinf(given)
    if infinite.any():
        # As 1/distance at distance 0: such neighbours win outright.
        outright = np.bincount(query, infinite, len(lists)) > 0
        given = np.where(outright[query], infinite.astype(np.float64), given)
    if (np.bincount(query, given, len(lists))[counts > 0] == 0).any():
        raise UsageError(
            "All neighbors of some sample is getting zero weights. Please modify 'weights' to avoid this case if you "
            "are using a user-defined function."
        )
    return given


def _called(weights: Any, distances: NDArray[np.float64]) -> NDArray[np.float64]:
    given = np.ascontiguousarray(weights(distances.copy()), dtype=np.float64)
    if given.shape != distances.shape:
        raise UsageError(
            f"The callable given as weights returned shape {given.shape} for distances of shape {distances.shape}.",
            "It must return one weight per distance.",
        )
    if np.isnan(given).any() or (given < 0).any():
        raise UsageError("The callable given as weights returned a negative weight or NaN.")
    return given
