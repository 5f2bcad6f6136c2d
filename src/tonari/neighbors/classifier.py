"""KNeighborsClassifier: the plurality of the k nearest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors._base import KNeighborsMixin
from sklearn.utils.validation import check_is_fitted

from tonari.base.held_out import Block
from tonari.base.validation import encode_labels
from tonari.neighbors.class_votes import ClassVotes, per_output
from tonari.neighbors.held_out import Found, HeldOutNeighbors
from tonari.neighbors.search import NeighborsBase
from tonari.neighbors.stored import StoredNeighbors
from tonari.neighbors.voting import Lists, Voting, class_vote_weights, draws_of, vote


class KNeighborsClassifier(StoredNeighbors, HeldOutNeighbors, ClassVotes, NeighborsBase, KNeighborsMixin):
    """Classify by the vote of the k nearest rows, found exactly.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours that vote.
    weights : {"uniform", "distance", "gaussian"}, callable or None, default="uniform"
        One vote each; 1/distance (exact matches win outright); exp(-distance^2 / 2 bandwidth^2); or a callable that
        turns the array of all distances into an array of weights.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        Every choice gives the same, exact answer. "auto" counts on a sample what a kd-tree would look at, and takes
        exhaustive search where that costs less; metrics that a tree cannot bound are always searched exhaustively.
    leaf_size : int, default=30
        A node of a tree with fewer than twice as many rows is a leaf.
    p : float, default=2
        Power of Minkowski.
    metric : str or callable, default="minkowski"
        As in :class:`NearestNeighbors`.
    metric_params : dict, default=None
        Further arguments of the metric.
    n_jobs : int, default=None
        Threads. None: all cores allowed to the process, and one inside a joblib worker. Never changes an answer.
    bandwidth : float, default=None
        Of ``weights="gaussian"``. None: each query's distance to the last neighbour that votes.
    class_vote_weight : dict, list of dict, "balanced" or None, default=None
        What every vote for a class counts; "balanced": as much as the class is rare. A list has one for each output.
    ties : {"first", "nearest", "random", "undecided"}, default="first"
        Which of several classes with the largest share wins: the first in `classes_`, the one whose neighbours have the
        smaller summed distance, one drawn by `random_state` and the query's values, or none.
    min_share : float, default=0.0
        A largest share below this does not win.
    max_distance : float, default=None
        A query whose nearest row lies further away than this has no winner.
    unknown_label : label, default=None
        What `predict` returns where nobody wins. None: "unknown" for labels of text; for others it must be given.
    random_state : int, default=0
        Seed of ``ties="random"``. The same query always draws the same.

    Attributes
    ----------
    classes_ : ndarray, or list of ndarray when y has several columns
    effective_metric_ : str or callable
    effective_metric_params_ : dict
    n_features_in_ : int
    feature_names_in_ : ndarray of str
    n_samples_fit_ : int
    outputs_2d_ : bool

    Examples
    --------
    >>> from tonari.neighbors import KNeighborsClassifier
    >>> model = KNeighborsClassifier(n_neighbors=3).fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> model.predict([[1.1]])
    array(['a'], dtype='<U1')
    >>> model.predict_proba([[0.9]])
    array([[0.66666667, 0.33333333]])
    """

    KIND = "neighbors.KNeighborsClassifier"

    def __init__(
        self, n_neighbors: int = 5, *, weights: Any = "uniform", algorithm: str = "auto", leaf_size: int = 30,
        p: float = 2, metric: Any = "minkowski", metric_params: dict[str, Any] | None = None, n_jobs: int | None = None,
        bandwidth: float | None = None, class_vote_weight: Any = None, ties: str = "first", min_share: float = 0.0,
        max_distance: float | None = None, unknown_label: Any = None, random_state: int = 0,
    ) -> None:  # fmt: skip
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.bandwidth = bandwidth
        self.class_vote_weight = class_vote_weight
        self.ties = ties
        self.min_share = min_share
        self.max_distance = max_distance
        self.unknown_label = unknown_label
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any, vote_weight: Any = None) -> Self:
        """Keep the labelled rows and prepare them for search.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) if metric="precomputed"
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels of any kind.
        vote_weight : array-like of shape (n_samples,), default=None
            What each row's vote counts, beside what its distance says; positive. A row that counts twice is still one
            neighbour, so this is no ``sample_weight``.

        Returns
        -------
        self : KNeighborsClassifier
        """
        metric = self._check_parameters()
        self._check_voting()
        rows, y = self._check_table_and_labels(X, y, metric)
        self._fit_labels(y, vote_weight)
        self._fit_rows(rows, metric)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of every query.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or None
            None: the fitted rows, none of which is its own neighbour.

        Returns
        -------
        ndarray of shape (n_queries,) or (n_queries, n_outputs)
        """
        return self._labelled(self._winners(*self._asked(X)))

    def predict_proba(self, X: Any) -> Any:
        """The share of the votes that each class gets.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or None
            None: the fitted rows, none of which is its own neighbour.

        Returns
        -------
        ndarray of shape (n_queries, n_classes), or a list of these when y has several columns
        """
        shares = self._shares(*self._asked(X))
        return shares if self.outputs_2d_ else shares[0]

    def _asked(self, X: Any) -> tuple[Lists, Voting, Any]:
        """Neighbours of the queries, the setting, and what ties are drawn by."""
        check_is_fitted(self)
        lists = Lists.of_equal_length(*self.kneighbors(X))
        drawn = self._draws(self._queries(X)[0], lists) if self.ties == "random" else None
        return lists, self._voting(self.n_neighbors), drawn

    def state(self) -> dict[str, NDArray[Any]]:
        """What was learned, as named arrays.

        Returns
        -------
        dict of str to ndarray
        """
        return {**super().state(), **self._label_state()}

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        super()._restore(arrays)
        self._restore_labels(arrays)

    # --- the held-out protocol --------------------------------------------------------------------------------------

    def _why_alone(self) -> str | None:
        try:
            self._check_voting()
        except (TypeError, ValueError):
            return None  # what is wrong is for `held_out` to report
        return "queries that stay without a class have no code in a block" if self._may_abstain else None

    def _setting(self) -> Voting:
        self._check_voting()
        return self._voting(int(self.n_neighbors))

    def _target_for_sharing(self, y: NDArray[Any]) -> Any:
        return encode_labels(y)

    def _share(self, found: Found, target: Any, wants: tuple[str, ...]) -> Iterator[Block]:
        classes, codes, several = target
        if "predict_proba" in wants and not found.classes_complete(codes, classes):
            # Only one split at a time comes here: the columns are the classes of its training part.
            present = [np.unique(codes[found.train, output]) for output in range(codes.shape[1])]
            recode = [np.searchsorted(codes_here, codes[:, o]) for o, codes_here in enumerate(present)]
            codes = np.column_stack(recode).astype(np.int32)
            classes = [all_classes[here] for all_classes, here in zip(classes, present, strict=True)]
            codes = np.minimum(codes, [len(here) - 1 for here in classes]).astype(np.int32)
        width = 4 + (8 * sum(map(len, classes)) if "predict_proba" in wants else 0)
        for part in found.portions(width * codes.shape[1]):
            answers = [
                _answers(found, [found.settings[i] for i in part], codes[:, output], classes[output], output,
                         codes.shape[1], shares="predict_proba" in wants)
                for output in range(codes.shape[1])
            ]  # fmt: skip
            responses: dict[str, Any] = {}
            if "predict" in wants:
                winners = [winner for winner, _ in answers]
                responses["predict"] = np.stack(winners, axis=2) if several else winners[0]
            if "predict_proba" in wants:
                shares = [share for _, share in answers]
                responses["predict_proba"] = shares if several else shares[0]
            yield found.block(part, classes if several else classes[0], responses)


def _answers(
    found: Found, settings: list[Voting], codes: NDArray[np.int32], classes: NDArray[Any], output: int, outputs: int,
    *, shares: bool,
) -> tuple[NDArray[np.int32], NDArray[np.float64] | None]:  # fmt: skip
    """Winners and shares of one output; settings that weigh classes alike are answered together."""
    alike: dict[str, list[int]] = {}
    for i, setting in enumerate(settings):
        alike.setdefault(repr(setting.class_weight), []).append(i)
    winners = np.empty((len(settings), len(found.rows)), dtype=np.int32)
    wanted = np.empty((*winners.shape, len(classes))) if shares else None
    draws = draws_of(found.queries) if any(setting.ties == "random" for setting in settings) else None
    for chosen in alike.values():
        given = per_output(settings[chosen[0]].class_weight, outputs)[output]
        weights, part = (None, None) if given is None else _weights_by_part(found, given, codes, classes)
        own, own_shares = vote(
            found.lists, [settings[i] for i in chosen], codes, len(classes), found.threads, shares=shares,
            row_weights=found.row_weights, class_weights=weights, part=part, draws=draws,
        )  # fmt: skip
        winners[chosen] = own
        if wanted is not None:
            wanted[chosen] = own_shares
    return winners, wanted


def _weights_by_part(
    found: Found, given: Any, codes: NDArray[np.int32], classes: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Class weights of every training part that these queries belong to, and which part each query belongs to."""
    splits, part = np.unique(np.broadcast_to(found.split, len(found.rows)), return_inverse=True)
    weights = np.ones((len(splits), len(classes)))
    total = np.bincount(codes, minlength=len(classes))
    order = np.argsort(part, kind="stable")
    bounds = np.concatenate([[0], np.cumsum(np.bincount(part))])
    for i in range(len(splits)):
        if found.train is not None:
            counts = np.bincount(codes[found.train], minlength=len(classes))
        else:
            held = found.rows[order[bounds[i] : bounds[i + 1]]]
            counts = total - np.bincount(codes[held], minlength=len(classes))
        own = class_vote_weights(given, classes, counts)
        weights[i] = 1.0 if own is None else own
    return weights, part.astype(np.int32)
