"""CondensedNearestNeighbor keeps the rows that 1-NN needs, EditedNearestNeighbors drops those that are doubtful.

Given   labelled rows
Gives   the rows kept: a sampler (`fit_resample`) and a learner that holds only those
Hart    rows in their order; a row that the rows kept so far classify wrongly is kept too; repeated until nothing
        changes (Hart 1968). "fcnn": from the row nearest to each class's mean, in rounds every kept row adds the
        nearest row of its Voronoi cell that it classifies wrongly (Angiulli 2005): the order matters to ties only
Either  1-NN on the rows kept decides every training row as 1-NN on all of them does
Time    kept * rows * columns; memory: a few numbers per row
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from tonari.base.errors import ModelFileError, UsageError
from tonari.base.threads import thread_count
from tonari.base.validation import check_choice, check_number, dense
from tonari.neighbors.classifier import KNeighborsClassifier
from tonari.neighbors.search import build_index
from tonari.neighbors.voting import Lists, Voting, vote

RULES = ("hart", "fcnn")
KINDS = ("mode", "all")


class _Condenser(KNeighborsClassifier):
    """What both have in common; a subclass says which rows are `_kept`."""

    # Parameters of the vote that are fixed here.
    weights: Any = "uniform"
    algorithm: Any = "auto"
    leaf_size: Any = 30
    bandwidth: Any = None
    class_vote_weight: Any = None
    ties: Any = "first"
    min_share: Any = 0.0
    max_distance: Any = None
    unknown_label: Any = None
    random_state: Any = 0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        tags.target_tags.multi_output = False
        return tags

    def fit(self, X: Any, y: Any) -> Self:  # type: ignore[override]
        """Choose the rows to keep and forget the others.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of any kind.

        Returns
        -------
        self : estimator
        """
        self._fit_kept(X, y)
        return self

    def fit_resample(self, X: Any, y: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Fit, and return the rows kept with their labels, as imbalanced-learn's samplers do.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        X, y : ndarray
        """
        rows, labels = self._fit_kept(X, y)
        return rows[self.sample_indices_], labels[self.sample_indices_]

    def refuses(self, candidates: Any, splits: Any, fit_params: Any, responses: Any) -> str | None:
        """Always: which rows are kept depends on the training part, so every one is condensed by itself.

        Parameters
        ----------
        candidates, splits, fit_params, responses
            As the held-out protocol gives them.

        Returns
        -------
        str
        """
        return "which rows are kept depends on the training part"

    def _fit_kept(self, X: Any, y: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        metric = self._check_parameters()
        if metric.name == "precomputed":
            raise UsageError("Rows are dropped here, and precomputed distances have none.", "Give the table itself.")
        self._check_own()
        rows, y = self._check_table_and_labels(X, y, metric)
        rows = dense(rows)
        self._fit_labels(y, None)
        if self.outputs_2d_:
            raise UsageError("Rows are kept for the sake of one column of labels; y has several.")
        codes = self._y[:, 0]
        self.sample_indices_ = self._kept(rows, codes, metric)
        self.share_kept_ = len(self.sample_indices_) / len(rows)
        self._y = np.ascontiguousarray(self._y[self.sample_indices_])
        self._fit_rows(np.ascontiguousarray(rows[self.sample_indices_]), metric)
        return rows, y.reshape(len(rows))

    def state(self) -> dict[str, NDArray[Any]]:
        """What was learned, as named arrays.

        Returns
        -------
        dict of str to ndarray
        """
        return {
            **super().state(), "sample_indices": self.sample_indices_, "share_kept": np.array([self.share_kept_]),
        }  # fmt: skip

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._check_own()
        super()._restore(arrays)
        self.sample_indices_ = np.asarray(arrays["sample_indices"], dtype=np.int64)
        self.share_kept_ = float(arrays["share_kept"][0])
        if self.sample_indices_.shape != (self.n_samples_fit_,):
            raise ModelFileError("There must be one number of a row for each row kept.")

    def _check_own(self) -> None:
        raise NotImplementedError

    def _kept(self, rows: NDArray[Any], codes: NDArray[np.int32], metric: Any) -> NDArray[np.int64]:
        raise NotImplementedError


class CondensedNearestNeighbor(_Condenser):
    """Keep the rows that 1-NN needs to decide every training row as it does with all of them.

    Parameters
    ----------
    rule : {"hart", "fcnn"}, default="hart"
        Hart's rule goes through the rows in their order; Angiulli's fast condensed nearest neighbours does not depend
        on it, except among equal distances, and is much faster.
    metric : str or callable, default="minkowski"
        As in :class:`NearestNeighbors`, without "precomputed".
    p : float, default=2
        Power of Minkowski.
    metric_params : dict, default=None
        Further arguments of the metric.
    n_jobs : int, default=None
        Threads. None: all cores allowed to the process, and one inside a joblib worker. Never changes an answer.

    Attributes
    ----------
    sample_indices_ : ndarray of int64
        The rows kept, ascending.
    share_kept_ : float
    classes_ : ndarray
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tonari.neighbors import CondensedNearestNeighbor
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CondensedNearestNeighbor().fit(X, y)
    >>> model.score(X, y), model.share_kept_ < 0.2
    (1.0, True)
    """

    KIND = "neighbors.CondensedNearestNeighbor"
    n_neighbors = 1

    def __init__(
        self, *, rule: str = "hart", metric: Any = "minkowski", p: float = 2,
        metric_params: dict[str, Any] | None = None, n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        self.rule = rule
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def _check_own(self) -> None:
        check_choice("rule", self.rule, RULES)

    def _kept(self, rows: NDArray[Any], codes: NDArray[np.int32], metric: Any) -> NDArray[np.int64]:
        store = _Store(rows, metric, thread_count(self.n_jobs))
        # What 1-NN on all rows says: of equal rows the first decides.
        everything = build_index(rows, metric, store.threads)
        target = codes[everything.search(rows, 1, None, None, store.threads)[1][:, 0]]
        if self.rule == "hart":
            _hart(store, codes, target)
        else:
            _fcnn(store, codes, target)
        return np.sort(np.array(store.members, dtype=np.int64))


class EditedNearestNeighbors(_Condenser):
    """Drop the rows that their neighbours would label otherwise (Wilson 1972); classify by 1-NN on the rest.

    Parameters
    ----------
    n_neighbors : int, default=3
        Neighbours that judge a row.
    kind_sel : {"mode", "all"}, default="all"
        A row is dropped when their plurality is of another class, or when one of them is.
    metric : str or callable, default="minkowski"
        As in :class:`NearestNeighbors`, without "precomputed".
    p : float, default=2
        Power of Minkowski.
    metric_params : dict, default=None
        Further arguments of the metric.
    n_jobs : int, default=None
        Threads. None: all cores allowed to the process, and one inside a joblib worker. Never changes an answer.

    Attributes
    ----------
    sample_indices_ : ndarray of int64
        The rows kept, ascending. A class of which nothing would be left is kept whole.
    share_kept_ : float
    classes_ : ndarray
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tonari.neighbors import EditedNearestNeighbors
    >>> X, y = load_iris(return_X_y=True)
    >>> len(EditedNearestNeighbors(kind_sel="mode").fit(X, y).sample_indices_)
    144
    """

    KIND = "neighbors.EditedNearestNeighbors"

    def __init__(
        self, *, n_neighbors: int = 3, kind_sel: str = "all", metric: Any = "minkowski", p: float = 2,
        metric_params: dict[str, Any] | None = None, n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        self.n_neighbors = n_neighbors
        self.kind_sel = kind_sel
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def _check_own(self) -> None:
        check_number("n_neighbors", self.n_neighbors, least=1, whole=True)
        check_choice("kind_sel", self.kind_sel, KINDS)

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = 1, return_distance: bool = True, *, allowed: Any = None
    ) -> Any:
        """Find the nearest kept rows of every query; one of them if not said otherwise.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), default=None
        n_neighbors : int, default=1
        return_distance : bool, default=True
        allowed : array-like, default=None
            Kept rows that may be neighbours: one boolean for each, or their numbers. None: all.

        Returns
        -------
        distances, neighbours : ndarray of shape (n_queries, n_neighbors)
        """
        return super().kneighbors(X, n_neighbors, return_distance, allowed=allowed)

    def _kept(self, rows: NDArray[Any], codes: NDArray[np.int32], metric: Any) -> NDArray[np.int64]:
        threads = thread_count(self.n_jobs)
        k = min(int(self.n_neighbors), len(rows) - 1)
        if k < 1:
            return np.arange(len(rows), dtype=np.int64)
        own = np.arange(len(rows), dtype=np.int32)
        distances, found = build_index(rows, metric, threads).search(rows, k, own, own, threads)
        if self.kind_sel == "all":
            agrees = (codes[found] == codes[:, np.newaxis]).all(axis=1)
        else:
            lists = Lists.of_equal_length(distances, found)
            agrees = vote(lists, [Voting(k)], codes, int(codes.max()) + 1, threads, shares=False)[0][0] == codes
        for code in np.flatnonzero(np.bincount(codes[agrees], minlength=int(codes.max()) + 1) == 0):
            agrees[codes == code] = True
        return np.flatnonzero(agrees).astype(np.int64)


def condensing_cost(condenser: Any, X: Any, y: Any, *, cv: int = 5, random_state: int = 0) -> dict[str, float]:
    """What condensing saves and costs: the share of rows kept, and 1-NN accuracy with all rows and with those kept.

    Parameters
    ----------
    condenser : CondensedNearestNeighbor or EditedNearestNeighbors
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    cv : int, default=5
        Folds; rows are condensed without the fold that judges.
    random_state : int, default=0

    Returns
    -------
    dict
        ``share_kept``, ``accuracy_all``, ``accuracy_kept``, ``accuracy_lost``; ``standard_error`` is that of the loss,
        from the rows on which the two differ.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> cost = condensing_cost(CondensedNearestNeighbor(), *load_digits(return_X_y=True))
    >>> cost["share_kept"] < 0.2, cost["accuracy_all"] > 0.98
    (True, True)
    """
    X, y = np.asarray(X), np.asarray(y)
    full = np.zeros(len(y), dtype=bool)
    kept = np.zeros(len(y), dtype=bool)
    shares = []
    plain = KNeighborsClassifier(
        1, metric=condenser.metric, p=condenser.p, metric_params=condenser.metric_params, n_jobs=condenser.n_jobs
    )
    for train, test in StratifiedKFold(cv, shuffle=True, random_state=random_state).split(X, y):
        model = clone(condenser).fit(X[train], y[train])
        shares.append(model.share_kept_)
        kept[test] = model.predict(X[test]) == y[test]
        full[test] = plain.fit(X[train], y[train]).predict(X[test]) == y[test]
    lost = full.astype(float) - kept
    return {
        "share_kept": float(np.mean(shares)), "accuracy_all": float(full.mean()), "accuracy_kept": float(kept.mean()),
        "accuracy_lost": float(lost.mean()), "standard_error": float(lost.std(ddof=1) / np.sqrt(len(lost))),
    }  # fmt: skip


class _Store:
    """The rows kept so far, and for every row the nearest of them by (distance, row)."""

    def __init__(self, rows: NDArray[Any], metric: Any, threads: int) -> None:
        self.rows, self.metric, self.threads = rows, metric, threads
        self.members: list[int] = []
        self.distance = np.full(len(rows), np.inf)
        self.nearest = np.full(len(rows), len(rows), dtype=np.int64)

    def add(self, new: NDArray[np.int64]) -> None:
        """Keep these rows too; they ascend."""
        self.members.extend(new.tolist())
        index = build_index(np.ascontiguousarray(self.rows[new]), self.metric, self.threads)
        distances, found = index.search(self.rows, 1, None, None, self.threads)
        candidate, away = new[found[:, 0]], distances[:, 0]
        closer = (away < self.distance) | ((away == self.distance) & (candidate < self.nearest))
        self.distance[closer], self.nearest[closer] = away[closer], candidate[closer]


def _hart(store: _Store, codes: NDArray[np.int32], target: NDArray[np.int32]) -> None:
    store.add(np.array([0]))
    place = 0
    while True:
        wrong = np.flatnonzero(codes[store.nearest] != target)
        if not len(wrong):
            return
        # The next wrong row of this pass; behind the last one a new pass begins.
        later = wrong[np.searchsorted(wrong, place) :]
        place = int(later[0] if len(later) else wrong[0])
        store.add(np.array([place]))


def _fcnn(store: _Store, codes: NDArray[np.int32], target: NDArray[np.int32]) -> None:
    means = np.stack([np.nanmean(store.rows[codes == code], axis=0) for code in np.unique(target)])
    index = build_index(store.rows, store.metric, store.threads)
    store.add(np.unique(index.search(means.astype(store.rows.dtype), 1, None, None, store.threads)[1]))
    while True:
        wrong = np.flatnonzero(codes[store.nearest] != target)
        if not len(wrong):
            return
        # Of every cell the wrong row nearest to its centre, ties by row.
        order = wrong[np.lexsort((wrong, store.distance[wrong], store.nearest[wrong]))]
        cells = store.nearest[order]
        store.add(np.sort(order[np.r_[True, cells[1:] != cells[:-1]]]))
