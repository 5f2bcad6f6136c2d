"""NearestNeighbors: the search itself, without labels."""

from __future__ import annotations

from typing import Any, Self

from sklearn.neighbors._base import KNeighborsMixin

from tonari.base.validation import check_number
from tonari.neighbors.radius import RadiusSearch
from tonari.neighbors.search import NeighborsBase
from tonari.neighbors.stored import StoredNeighbors


class NearestNeighbors(StoredNeighbors, RadiusSearch, NeighborsBase, KNeighborsMixin):
    """Find nearest neighbours exactly, by trees or by exhaustive search at the speed of the machine.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours returned by `kneighbors`.
    radius : float, default=1.0
        Radius of `radius_neighbors`.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        Every choice gives the same, exact answer. "auto" counts on a sample what a kd-tree would look at, and takes
        exhaustive search where that costs less; metrics that a tree cannot bound are always searched exhaustively.
    leaf_size : int, default=30
        A node of a tree with fewer than twice as many rows is a leaf.
    metric : str or callable, default="minkowski"
        ``euclidean``, ``sqeuclidean``, ``manhattan``, ``chebyshev``, ``minkowski`` (any ``p >= 1``, weights ``w`` too),
        ``cosine``, ``correlation``, ``mahalanobis``, ``seuclidean``, ``hamming`` and ``jaccard`` run in the engine;
        other names of scikit-learn and ``precomputed`` run through its ``pairwise_distances``. A callable takes two
        rows and gives a number, or takes two tables and gives a matrix.
    p : float, default=2
        Power of Minkowski.
    metric_params : dict, default=None
        Further arguments of the metric: ``w``, ``V``, ``VI``; ``bits`` for tables of packed bits (the guide says more).
    n_jobs : int, default=None
        Threads. None: all cores allowed to the process, and one inside a joblib worker. Never changes an answer.

    Attributes
    ----------
    effective_metric_ : str or callable
    effective_metric_params_ : dict
    n_features_in_ : int
    feature_names_in_ : ndarray of str
    n_samples_fit_ : int

    Examples
    --------
    >>> from tonari.neighbors import NearestNeighbors
    >>> index = NearestNeighbors(n_neighbors=2).fit([[0.0], [1.0], [5.0]])
    >>> distances, rows = index.kneighbors([[0.9]])
    >>> rows
    array([[1, 0]])
    """

    KIND = "neighbors.NearestNeighbors"

    def __init__(
        self, *, n_neighbors: int = 5, radius: float = 1.0, algorithm: str = "auto", leaf_size: int = 30,
        metric: Any = "minkowski", p: float = 2, metric_params: dict[str, Any] | None = None, n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the rows and prepare them for search.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) if metric="precomputed"
        y : ignored

        Returns
        -------
        self : NearestNeighbors
        """
        metric = self._check_parameters()
        if self.radius is not None:
            check_number("radius", self.radius, least=0)
        rows = self._check_table(X, metric)
        self._fit_rows(rows, metric)
        return self
