"""From scikit-learn's splitters to the held-out protocol's splits, with training rows in ascending order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, LeaveOneOut
from sklearn.utils.validation import _num_samples

from tonari.base.held_out import Splits


def draw_splits(splitter: Any, X: Any, y: Any, n_rows: int, parameters: Mapping[str, Any]) -> Splits:
    """Draw a splitter's splits once; leave-one-out and K-fold of many folds need no n x n mask.

    Parameters
    ----------
    splitter : splitter of scikit-learn's
    X, y : array-like
    n_rows : int
        Rows of `X`.
    parameters : mapping
        What ``split`` is called with besides, such as ``groups``.

    Returns
    -------
    Splits

    Examples
    --------
    >>> draw_splits(LeaveOneOut(), np.zeros((3, 1)), None, 3, {}).fold
    array([0, 1, 2], dtype=int32)
    """
    # Their own split() walks over all rows once per fold. With groups it has something to say about them.
    if all(value is None for value in parameters.values()):
        if type(splitter) is LeaveOneOut and n_rows > 1:
            return Splits.leave_one_out(n_rows)
        if type(splitter) is KFold and splitter.n_splits <= n_rows:
            fold = np.empty(n_rows, dtype=np.int32)
            for number, rows in enumerate(splitter._iter_test_indices(X, y)):
                fold[rows] = number
            return Splits.from_fold(fold)
    return Splits.from_pairs(splitter.split(X, y, **parameters), n_rows)


class AscendingTraining:
    """A splitter that hands on another's splits with the training rows in ascending order.

    Ties that the order of training rows decides then fall the same way for every splitter and every way of fitting.

    Parameters
    ----------
    splitter : splitter of scikit-learn's
    """

    def __init__(self, splitter: Any) -> None:
        self.splitter = splitter

    def split(self, X: Any, y: Any = None, groups: Any = None, **parameters: Any) -> Iterator[tuple[Any, Any]]:
        """Yield (train, test) of the other splitter, the training rows as ascending numbers.

        Parameters
        ----------
        X, y, groups : array-like
        **parameters : dict
            Handed on.

        Yields
        ------
        train, test : ndarray
        """
        if groups is not None:
            parameters["groups"] = groups
        for train, test in self.splitter.split(X, y, **parameters):
            yield _ascending(train, _num_samples(X)), test

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None, **parameters: Any) -> int:
        """Return the number of splits of the other splitter.

        Parameters
        ----------
        X, y, groups : array-like
        **parameters : dict
            Handed on.

        Returns
        -------
        int
        """
        if groups is not None:
            parameters["groups"] = groups
        return int(self.splitter.get_n_splits(X, y, **parameters))

    def get_metadata_routing(self) -> Any:
        """Return the other splitter's requests, or none.

        Returns
        -------
        MetadataRequest or MetadataRouter
        """
        from sklearn.utils.metadata_routing import get_routing_for_object

        return get_routing_for_object(self.splitter)


def _ascending(train: Any, n_rows: int) -> NDArray[np.intp]:
    rows = np.asarray(train)
    return np.flatnonzero(rows) if rows.dtype == bool else np.sort(np.where(rows < 0, rows + n_rows, rows))
