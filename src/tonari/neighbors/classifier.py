"""KNeighborsClassifier: the plurality of the k nearest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from tonari.base.errors import ModelFileError
from tonari.base.held_out import Block
from tonari.base.threads import thread_count
from tonari.base.validation import encode_labels
from tonari.neighbors.held_out import Found, HeldOutNeighbors
from tonari.neighbors.search import NeighborsBase
from tonari.neighbors.stored import StoredNeighbors
from tonari.neighbors.voting import check_weights, vote


class KNeighborsClassifier(StoredNeighbors, HeldOutNeighbors, ClassifierMixin, NeighborsBase):
    """Classify by the vote of the k nearest rows, found exactly.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours that vote.
    weights : {"uniform", "distance"}, callable or None, default="uniform"
        One vote each, or votes of 1/distance (exact matches win outright), or a callable that turns an array of
        distances into an array of weights. Ties go to the class that comes first.
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
    ) -> None:  # fmt: skip
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Keep the labelled rows and prepare them for search.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) if metric="precomputed"
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels of any kind.

        Returns
        -------
        self : KNeighborsClassifier
        """
        metric = self._check_parameters()
        check_weights(self.weights)
        rows, y = self._check_table_and_labels(X, y, metric)
        classes, self._y, self.outputs_2d_ = encode_labels(y)
        self.classes_: Any = classes if self.outputs_2d_ else classes[0]
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
        check_is_fitted(self)
        distances, neighbours = self.kneighbors(X)
        columns = [
            classes[self._vote(distances, neighbours, output, shares=False)[0][0]]
            for output, classes in enumerate(self._class_list())
        ]
        return np.column_stack(columns) if self.outputs_2d_ else np.asarray(columns[0])

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
        check_is_fitted(self)
        distances, neighbours = self.kneighbors(X)
        shares = []
        for output in range(len(self._class_list())):
            found = self._vote(distances, neighbours, output, shares=True)[1]
            assert found is not None
            shares.append(found[0])
        return shares if self.outputs_2d_ else shares[0]

    def state(self) -> dict[str, NDArray[Any]]:
        """What was learned, as named arrays.

        Returns
        -------
        dict of str to ndarray
        """
        classes = {f"classes_{output}": classes for output, classes in enumerate(self._class_list())}
        return {**super().state(), "labels": self._y, **classes}

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        check_weights(self.weights)
        super()._restore(arrays)
        labels = np.ascontiguousarray(arrays["labels"])
        classes = [np.asarray(arrays[f"classes_{output}"]) for output in range(labels.shape[1])]
        if labels.dtype != np.int32 or labels.ndim != 2 or len(labels) != self.n_samples_fit_:
            raise ModelFileError("The labels must be int32 codes, one row for each fitted row.")
        for output, found in enumerate(classes):
            codes = labels[:, output]
            if found.ndim != 1 or not len(found) or codes.min() < 0 or codes.max() >= len(found):
                raise ModelFileError("A label lies outside the classes.")
        self._y, self.outputs_2d_ = labels, len(classes) > 1
        self.classes_ = classes if self.outputs_2d_ else classes[0]

    def _class_list(self) -> list[NDArray[Any]]:
        return list(self.classes_) if self.outputs_2d_ else [np.asarray(self.classes_)]

    def _vote(
        self, distances: NDArray[np.float64], neighbours: NDArray[np.int64], output: int, *, shares: bool
    ) -> tuple[NDArray[np.int32], NDArray[np.float64] | None]:
        setting = (distances.shape[1], self.weights)
        n_classes = len(self._class_list()[output])
        return vote(
            distances, neighbours, [setting], self._y[:, output], n_classes, thread_count(self.n_jobs), shares=shares
        )

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
                vote(
                    found.distances, found.neighbours, [found.settings[i] for i in part], codes[:, output],
                    len(classes[output]), found.threads, shares="predict_proba" in wants,
                )
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
