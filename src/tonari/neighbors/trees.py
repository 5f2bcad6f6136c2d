"""KDTree and BallTree: rows in a tree, for those who want the tree itself."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from tonari.base.errors import UsageError
from tonari.base.threads import thread_count
from tonari.base.validation import check_choice, check_number
from tonari.neighbors.metrics import resolve_metric
from tonari.neighbors.space_tree import SpaceTreeIndex, serves

SPLITS = ("spread", "cyclic")
THRESHOLDS = ("median", "midpoint")
_NAMES = ("euclidean", "l2", "minkowski", "p", "manhattan", "cityblock", "l1", "chebyshev", "infinity")


class _SpaceTree:
    """What the two trees share: everything but how the engine bounds a node."""

    KIND: ClassVar[str]
    valid_metrics: ClassVar[list[str]] = list(_NAMES)

    def __init__(
        self, X: Any, leaf_size: int = 40, metric: Any = "minkowski", *, p: float = 2, split: str = "spread",
        threshold: str = "median", n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        check_number("leaf_size", leaf_size, least=1, whole=True)
        check_choice("split", split, SPLITS)
        check_choice("threshold", threshold, THRESHOLDS)
        choice = resolve_metric(metric, p, None)
        if not serves(choice):
            raise UsageError(
                f"{type(self).__name__} does not serve the metric {metric!r}.",
                f"Choose one of {', '.join(self.valid_metrics)} (p at least 1), or use NearestNeighbors.",
            )
        rows = np.array(check_array(X, dtype=[np.float64, np.float32], order="C"), order="C")
        rows.flags.writeable = False
        self._params = {
            "leaf_size": int(leaf_size), "metric": metric, "p": float(p), "split": split, "threshold": threshold,
            "n_jobs": n_jobs,
        }  # fmt: skip
        self._index = SpaceTreeIndex(
            rows, self.KIND, choice, thread_count(n_jobs), leaf_size=int(leaf_size), split=split, threshold=threshold
        )

    @property
    def data(self) -> NDArray[Any]:
        """The rows, read-only."""
        return self._index.rows

    def query(
        self, X: Any, k: int = 1, return_distance: bool = True, dualtree: bool = False, breadth_first: bool = False,
        sort_results: bool = True, *, backtrack: bool = True, eps: float = 1.0,
    ) -> Any:  # fmt: skip
        """Find the k nearest rows of every query, in order of (distance, row).

        Parameters
        ----------
        X : array-like of shape (..., n_features)
        k : int, default=1
        return_distance : bool, default=True
        dualtree, breadth_first, sort_results : bool
            Accepted for compatibility: they never change the answer, which is always sorted.
        backtrack : bool, default=True
            False: end with the leaf that fills the list of k, the query's own. Fast, and not exact.
        eps : float, default=1.0
            In (0, 1]. Below 1 the search leaves out what lies beyond `eps` times the k-th distance (the circle shrunk
            by `eps`): the i-th distance is then at most ``1 / eps`` times the true i-th distance, and 1 is exact.

        Returns
        -------
        distances : ndarray of float64, shape (..., k)
            Only if `return_distance`.
        neighbours : ndarray of int64, shape (..., k)
        """
        queries, shape = self._queries(X)
        check_number("k", k, least=1, whole=True)
        if k > len(self.data):
            raise UsageError(
                f"k must be less than or equal to the number of training points, {len(self.data)}; got {k}."
            )
        distances, neighbours = self._index.search(
            queries, int(k), None, None, self._threads(), backtrack=bool(backtrack), eps=_shrinkage(eps)
        )
        distances, neighbours = distances.reshape(*shape, k), neighbours.reshape(*shape, k)
        return (distances, neighbours) if return_distance else neighbours

    def query_radius(
        self, X: Any, r: Any, return_distance: bool = False, count_only: bool = False, sort_results: bool = False, *,
        eps: float = 1.0,
    ) -> Any:  # fmt: skip
        """Find all rows within a radius of every query.

        Parameters
        ----------
        X : array-like of shape (..., n_features)
        r : float or array-like of shape (...)
            Inclusive; one for all or one for each query.
        return_distance : bool, default=False
        count_only : bool, default=False
            Return how many there are instead.
        sort_results : bool, default=False
            By (distance, row) if True, by row otherwise; needs `return_distance`.
        eps : float, default=1.0
            In (0, 1]. Below 1 all rows within ``eps * r`` are found, and of those between that and `r` perhaps not all.

        Returns
        -------
        neighbours : ndarray of object, shape (...)
            Arrays of int64; with `count_only` an array of int64.
        distances : ndarray of object, shape (...)
            Arrays of float64; only if `return_distance`.
        """
        if count_only and return_distance:
            raise UsageError("count_only and return_distance cannot both be true.")
        if sort_results and not return_distance:
            raise UsageError("return_distance must be True if sort_results is True.")
        queries, shape = self._queries(X)
        radii = np.asarray(r, dtype=np.float64)
        if radii.ndim and radii.shape != shape:
            raise UsageError(f"r has shape {radii.shape}, and the queries need {shape} or one number.")
        radii = np.broadcast_to(radii.ravel() if radii.ndim else radii, (len(queries),))
        if np.isnan(radii).any():
            raise UsageError("r must be a number or numbers, not NaN.")
        neighbours = np.empty(len(queries), dtype=object)
        distances = np.empty(len(queries), dtype=object)
        indptr, rows, found = self._index.within(queries, radii, None, None, self._threads(), eps=_shrinkage(eps))
        for i, (start, end) in enumerate(pairwise(indptr)):
            part = slice(start, end)
            order = slice(None) if sort_results else np.argsort(rows[part], kind="stable")
            neighbours[i], distances[i] = rows[part][order], found[part][order]
        if count_only:
            return np.array([len(part) for part in neighbours], dtype=np.int64).reshape(shape)
        return (neighbours.reshape(shape), distances.reshape(shape)) if return_distance else neighbours.reshape(shape)

    def state(self) -> dict[str, NDArray[Any]]:
        """Rows and parameters as named arrays: they make the same tree again.

        Returns
        -------
        dict of str to ndarray
        """
        return {"rows": self.data, **{name: np.asarray(value) for name, value in self._stored().items()}}

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]]) -> Self:
        """The tree that `state` described.

        Parameters
        ----------
        state : mapping of str to ndarray

        Returns
        -------
        KDTree or BallTree
        """
        return cls(state["rows"], **{name: array.item() for name, array in state.items() if name != "rows"})

    def __getstate__(self) -> dict[str, Any]:
        return {"rows": self.data, **self._params}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["rows"], **{name: v for name, v in state.items() if name != "rows"})  # type: ignore[misc]

    def __repr__(self) -> str:
        rows, columns = self.data.shape
        return f"{type(self).__name__}({rows} x {columns}, metric={self._params['metric']!r})"

    def _stored(self) -> dict[str, Any]:
        return {name: value for name, value in self._params.items() if name != "n_jobs"}

    def _threads(self) -> int:
        return thread_count(self._params["n_jobs"])

    def _queries(self, X: Any) -> tuple[NDArray[Any], tuple[int, ...]]:
        queries = check_array(X, dtype=[np.float64, np.float32], order="C", allow_nd=True)
        if queries.shape[-1] != self.data.shape[1]:
            raise UsageError(
                f"The queries have {queries.shape[-1]} columns, and the tree's rows have {self.data.shape[1]}.",
            )
        return queries.reshape(-1, queries.shape[-1]), queries.shape[:-1]


def _shrinkage(eps: Any) -> float:
    check_number("eps", eps, least=0, above=True)
    if eps > 1:
        raise UsageError(
            f"The 'eps' parameter must lie in (0, 1], got {eps!r}.", "It shrinks the circle: the error is 1 / eps."
        )
    return float(eps)


class KDTree(_SpaceTree):
    """A kd-tree: rows halved by one coordinate at a time, nodes bounded by boxes. Exact unless told otherwise.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        float32 and float64 keep their type.
    leaf_size : int, default=40
        A node of fewer than twice as many rows is a leaf. Changes the time, never the answer.
    metric : str, default="minkowski"
        One of `valid_metrics`.
    p : float, default=2
        Power of Minkowski, at least 1.
    split : {"spread", "cyclic"}, default="spread"
        The coordinate by which a node is split: the one of widest spread, or each in its turn.
    threshold : {"median", "midpoint"}, default="median"
        Where it is split: half of the rows on either side, or the middle of the box that they fill.
    n_jobs : int, default=None
        Threads. None: all cores allowed to the process, and one inside a joblib worker. Never changes an answer.

    Examples
    --------
    >>> from tonari.neighbors import KDTree
    >>> tree = KDTree([[0.0, 0.0], [3.0, 4.0], [1.0, 1.0]])
    >>> distances, rows = tree.query([[3.0, 3.0]], k=2)
    >>> rows
    array([[1, 2]])
    >>> tree.query_radius([[0.0, 0.0]], r=5.0, count_only=True)
    array([3])
    """

    KIND = "kd_tree"


class BallTree(_SpaceTree):
    """A ball tree: rows halved as in a kd-tree, nodes bounded by a centre and a radius. Exact unless told otherwise.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        float32 and float64 keep their type.
    leaf_size : int, default=40
        A node of fewer than twice as many rows is a leaf. Changes the time, never the answer.
    metric : str, default="minkowski"
        One of `valid_metrics`.
    p : float, default=2
        Power of Minkowski, at least 1.
    split : {"spread", "cyclic"}, default="spread"
        As in :class:`KDTree`.
    threshold : {"median", "midpoint"}, default="median"
        As in :class:`KDTree`.
    n_jobs : int, default=None
        Threads. None: all cores allowed to the process, and one inside a joblib worker. Never changes an answer.

    Examples
    --------
    >>> from tonari.neighbors import BallTree
    >>> tree = BallTree([[0.0, 0.0], [3.0, 4.0], [1.0, 1.0]], metric="manhattan")
    >>> distances, rows = tree.query([[3.0, 3.0]], k=1)
    >>> distances
    array([[1.]])
    """

    KIND = "ball_tree"
