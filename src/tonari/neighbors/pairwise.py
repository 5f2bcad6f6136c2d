"""Search under metrics that the engine has no kernel for: scikit-learn's pairwise distances, in tiles.

Slower, and as exact as the metric's own function; ordered by (distance, row) like the native search.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.metrics import DistanceMetric, pairwise_distances

from tonari.base.errors import UsageError
from tonari.neighbors.graph import check_stored, is_graph, open_graph
from tonari.neighbors.index import Groups, Lists, Nearest, Radius
from tonari.neighbors.metrics import MetricChoice


class PairwiseIndex:
    """Rows and a metric; answers like the native index.

    Parameters
    ----------
    rows : ndarray
        The fitted rows; ignored for ``precomputed``.
    metric : MetricChoice
    """

    def __init__(self, rows: Any, metric: MetricChoice) -> None:
        self.rows = rows
        self.metric = metric
        self._whole = callable(metric.name) and takes_tables(metric.name, rows, metric.params)

    def search(self, queries: Any, k: int, row_groups: Groups, query_groups: Groups, threads: int) -> Nearest:
        """See :class:`Index`."""
        distances = np.empty((queries.shape[0], k))
        neighbours = np.empty((queries.shape[0], k), dtype=np.int64)
        for part, found in self._tiles(queries, row_groups, query_groups):
            # A stable sort keeps equal distances in the order of rows.
            order = np.argsort(found, axis=1, kind="stable")[:, :k]
            neighbours[part] = order
            distances[part] = np.take_along_axis(found, order, axis=1)
        if is_graph(queries):
            check_stored(distances, k)
        return distances, neighbours

    def within(self, queries: Any, radius: Radius, row_groups: Groups, query_groups: Groups, threads: int) -> Lists:
        """See :class:`Index`."""
        rows: list[NDArray[np.int64]] = []
        distances: list[NDArray[np.float64]] = []
        radii = np.broadcast_to(radius, queries.shape[0])
        for part, found in self._tiles(queries, row_groups, query_groups):
            for line, reach in zip(found, radii[part], strict=True):
                # Infinite: excluded, or not stored.
                near = np.flatnonzero((line <= reach) & (line < np.inf))
                near = near[np.argsort(line[near], kind="stable")]
                rows.append(near)
                distances.append(line[near])
        indptr = np.concatenate([[0], np.cumsum([len(r) for r in rows])]).astype(np.int64)
        return indptr, np.concatenate([*rows, np.empty(0, np.int64)]).astype(np.int64), np.concatenate(
            [*distances, np.empty(0)]
        )  # fmt: skip

    def _tiles(
        self, queries: Any, row_groups: NDArray[np.int32] | None, query_groups: NDArray[np.int32] | None
    ) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        width = queries.shape[1] if self.metric.name == "precomputed" else len(self.rows)
        n_queries = queries.shape[0]
        height = max(1, int(get_config()["working_memory"] * 2**20 / (3 * 8 * max(1, width))))
        for start in range(0, n_queries, height):
            part = slice(start, min(n_queries, start + height))
            found = np.array(self._distances(queries[part]), dtype=np.float64)
            if row_groups is not None and query_groups is not None:
                found[query_groups[part][:, None] == row_groups[None, :]] = np.inf
            yield part, found

    def _distances(self, queries: Any) -> NDArray[Any]:
        if self.metric.name == "precomputed":
            return open_graph(queries) if is_graph(queries) else queries
        if self._whole:
            return self._whole_table(queries)
        if isinstance(getattr(self.metric.name, "__self__", None), DistanceMetric):
            return np.asarray(self.metric.name(queries, self.rows))  # type: ignore[operator]
        found: NDArray[Any] = pairwise_distances(
            queries, self.rows, metric=self.metric.name, ensure_all_finite=self.metric.name != "nan_euclidean",
            **self.metric.effective_params,
        )  # fmt: skip
        return found

    def _whole_table(self, queries: Any) -> NDArray[Any]:
        found = np.asarray(self.metric.name(queries, self.rows, **self.metric.params))  # type: ignore[operator]
        if found.shape != (len(queries), len(self.rows)):
            raise UsageError(
                f"The metric gave an array of shape {found.shape} for {len(queries)} queries and {len(self.rows)} rows."
            )
        if np.isnan(found).any():
            raise UsageError("The metric gave a distance that is no number.")
        return found


def takes_tables(metric: Callable[..., Any], rows: NDArray[Any], params: Mapping[str, Any]) -> bool:
    """Whether a callable metric takes whole tables, ``f(queries, rows) -> matrix``, or one pair of rows.

    It is shown two rows and three: a metric of tables answers with two by three numbers. One of pairs fails, or answers
    with something of another shape.

    Parameters
    ----------
    metric : callable
    rows : ndarray
    params : mapping
        Its further arguments.

    Returns
    -------
    bool

    Examples
    --------
    >>> rows = np.zeros((4, 2))
    >>> takes_tables(lambda Q, X: np.abs(Q[:, None] - X).sum(axis=2), rows, {})
    True
    >>> takes_tables(lambda x, y: np.abs(x - y).sum(), rows, {})
    False
    """
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = metric(rows[[0, 0]], rows[[0, 0, 0]], **params)
    except Exception:  # whatever a metric of pairs makes of tables
        return False
    return isinstance(found, np.ndarray) and found.shape == (2, 3) and found.dtype.kind in "fiub"
