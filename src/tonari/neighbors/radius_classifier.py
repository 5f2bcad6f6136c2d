"""RadiusNeighborsClassifier: the plurality of all rows within a radius."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tonari.base.errors import ParameterTypeError, UsageError
from tonari.base.validation import check_number
from tonari.neighbors.class_votes import ClassVotes
from tonari.neighbors.radius import RadiusOnly
from tonari.neighbors.search import NeighborsBase
from tonari.neighbors.stored import StoredNeighbors
from tonari.neighbors.voting import ALL, Lists


class RadiusNeighborsClassifier(StoredNeighbors, RadiusOnly, ClassVotes, NeighborsBase):
    """Classify by the vote of all rows within a radius, found exactly.

    Parameters
    ----------
    radius : float, default=1.0
        Rows at most this far away vote.
    weights : {"uniform", "distance", "gaussian"}, callable or None, default="uniform"
        One vote each; 1/distance (exact matches win outright); exp(-distance^2 / 2 bandwidth^2); or a callable that
        turns the flat array of all distances into an array of weights.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        As in :class:`NearestNeighbors`.
    leaf_size : int, default=30
        As in :class:`NearestNeighbors`.
    p : float, default=2
        Power of Minkowski.
    metric : str or callable, default="minkowski"
        As in :class:`NearestNeighbors`.
    outlier_label : label, list of labels, "most_frequent" or None, default=None
        What a query without rows in its radius gets: this label (a list has one for each output), the label that is
        most frequent at fit, or an error. A label that is no class of y has share 0, as every class then has.
    metric_params : dict, default=None
        Further arguments of the metric.
    n_jobs : int, default=None
        Threads. None: all cores allowed to the process, and one inside a joblib worker. Never changes an answer.
    bandwidth : float, default=None
        Of ``weights="gaussian"``. None: the radius.
    class_vote_weight : dict, list of dict, "balanced" or None, default=None
        As in :class:`KNeighborsClassifier`.
    ties : {"first", "nearest", "random", "undecided"}, default="first"
        As in :class:`KNeighborsClassifier`.
    min_share : float, default=0.0
        A largest share below this does not win.
    unknown_label : label, default=None
        What `predict` returns where rows vote and nobody wins. None: "unknown" for labels of text; for others it must
        be given.
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
    outlier_label_ : list of labels, or None
    outputs_2d_ : bool

    Examples
    --------
    >>> from tonari.neighbors import RadiusNeighborsClassifier
    >>> model = RadiusNeighborsClassifier(radius=1.0, outlier_label="top")
    >>> model.fit([[0.0], [1.0], [2.0], [3.0]], ["low", "low", "top", "top"]).predict([[1.5], [9.0]])
    array(['low', 'top'], dtype='<U3')
    >>> model.predict_proba([[1.0]])
    array([[0.66666667, 0.33333333]])
    """

    KIND = "neighbors.RadiusNeighborsClassifier"

    def __init__(
        self, radius: float = 1.0, *, weights: Any = "uniform", algorithm: str = "auto", leaf_size: int = 30,
        p: float = 2, metric: Any = "minkowski", outlier_label: Any = None,
        metric_params: dict[str, Any] | None = None, n_jobs: int | None = None, bandwidth: float | None = None,
        class_vote_weight: Any = None, ties: str = "first", min_share: float = 0.0, unknown_label: Any = None,
        random_state: int = 0,
    ) -> None:  # fmt: skip
        self.radius = radius
        self.weights = weights
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.outlier_label = outlier_label
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.bandwidth = bandwidth
        self.class_vote_weight = class_vote_weight
        self.ties = ties
        self.min_share = min_share
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
            What each row's vote counts, beside what its distance says; positive.

        Returns
        -------
        self : RadiusNeighborsClassifier
        """
        metric = self._check_parameters()
        check_number("radius", self.radius, least=0)
        self._check_voting()
        rows, y = self._check_table_and_labels(X, y, metric)
        self._fit_labels(y, vote_weight)
        self.outlier_label_ = self._outlier_labels()
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
        lists, voting, draws = self._asked(X)
        winners = self._winners(lists, voting, draws)
        empty = lists.counts == 0
        for codes in winners:
            codes[empty] = 0
        labels = self._labelled(winners)
        if empty.any() and self.outlier_label_ is not None:
            # Labels of text may be longer than those of y.
            labels = labels.astype(np.result_type(labels, np.asarray(self.outlier_label_)), copy=False)
            labels[empty] = self.outlier_label_ if self.outputs_2d_ else self.outlier_label_[0]
        return labels

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
        lists, voting, draws = self._asked(X)
        shares = self._shares(lists, voting, draws)
        empty = lists.counts == 0
        if empty.any() and self.outlier_label_ is not None:
            for own, classes, label in zip(shares, self._class_list(), self.outlier_label_, strict=True):
                own[np.ix_(empty, np.flatnonzero(classes == label))] = 1.0
        return shares if self.outputs_2d_ else shares[0]

    def state(self) -> dict[str, NDArray[Any]]:
        """What was learned, as named arrays.

        Returns
        -------
        dict of str to ndarray
        """
        return {**super().state(), **self._label_state()}

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        check_number("radius", self.radius, least=0)
        super()._restore(arrays)
        self._restore_labels(arrays)
        self.outlier_label_ = self._outlier_labels()

    def _asked(self, X: Any) -> tuple[Lists, Any, Any]:
        """Neighbours of the queries, the setting, and what ties are drawn by."""
        check_is_fitted(self)
        lists = self._within(X, self.radius)
        if self.outlier_label_ is None and (lists.counts == 0).any():
            raise UsageError(
                f"No neighbors found for test samples {np.flatnonzero(lists.counts == 0)}, you can try using larger "
                "radius, giving a label for outliers, or considering removing them from your dataset."
            )
        if (lists.counts == 0).any():
            for label, classes in zip(self.outlier_label_ or [], self._class_list(), strict=True):
                if label not in classes:
                    warnings.warn(
                        f"Outlier label {label} is not in training classes. All class probabilities of outliers will "
                        "be assigned with 0.", stacklevel=3,
                    )  # fmt: skip
        drawn = self._draws(self._queries(X)[0], lists) if self.ties == "random" else None
        return lists, self._voting(ALL, self.radius), drawn

    def _outlier_labels(self) -> list[Any] | None:
        classes, given = self._class_list(), self.outlier_label
        if given is None:
            return None
        if isinstance(given, str) and given == "most_frequent":
            return [found[np.bincount(self._y[:, output]).argmax()] for output, found in enumerate(classes)]
        several = isinstance(given, list | tuple | np.ndarray)
        labels = list(given) if several else [given] * len(classes)
        if len(labels) != len(classes):
            raise UsageError(
                f"The length of outlier_label: {given} is inconsistent with the output length: {len(classes)}"
            )
        for found, label in zip(classes, labels, strict=True):
            if isinstance(label, list | tuple | np.ndarray):
                raise ParameterTypeError(
                    f"The outlier_label of classes {found} is supposed to be a scalar, got {label}."
                )
            if found.dtype.kind != "O" and np.append(found, label).dtype.kind != found.dtype.kind:
                raise ParameterTypeError(
                    f"The dtype of outlier_label {label} is inconsistent with classes {found} in y."
                )
        return labels
