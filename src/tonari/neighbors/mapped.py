"""Metrics that are a plain one of mapped rows: Mahalanobis, standardised and weighted distances, correlation.

Rows and queries are mapped once, in float64, row by row in one order of additions (so equal rows stay equal and nothing
depends on the batch), and the engine searches among them. Rows are centred first: what a map loses is relative to the
distance from the mean, not from the origin. With F the map, m the mean and e = 2**-52:

- weighted and standardised:  |found - true| <= 8 e (|F(x - m)| + |F(y - m)| + true)
- Mahalanobis:  |found**2 - true**2| <= 64 e d |VI| (|x - m| + |y - m|)**2,  d columns, |VI| the largest eigenvalue;
  where V is given or learned its inversion comes on top, as it does in scipy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from tonari import _core
from tonari.base.errors import DataError, UsageError
from tonari.neighbors.index import Groups, Index, Lists, Nearest, Radius
from tonari.neighbors.metrics import MetricChoice

Map = Callable[[NDArray[Any]], NDArray[np.float64]]
_POWER = {"euclidean": 2.0, "manhattan": 1.0}


@dataclass(frozen=True)
class Mapping:
    """A map of rows and queries, and the metric among what it gives."""

    apply: Map
    metric: MetricChoice


class MappedIndex:
    """An index over mapped rows that is asked with plain queries.

    Parameters
    ----------
    rows : ndarray
        As they were fitted.
    mapping : Mapping
    index : NativeIndex
        Over the mapped rows.
    """

    def __init__(self, rows: NDArray[Any], mapping: Mapping, index: Index) -> None:
        self.rows = rows
        self._map = mapping.apply
        self._index = index

    def search(self, queries: Any, k: int, row_groups: Groups, query_groups: Groups, threads: int) -> Nearest:
        """See :class:`Index`."""
        return self._index.search(self._map(queries), k, row_groups, query_groups, threads)

    def within(self, queries: Any, radius: Radius, row_groups: Groups, query_groups: Groups, threads: int) -> Lists:
        """See :class:`Index`."""
        return self._index.within(self._map(queries), radius, row_groups, query_groups, threads)


def mapping_for(rows: NDArray[Any], metric: MetricChoice, threads: int) -> Mapping | None:
    """The map under which this metric is a plain one, or None where there is none.

    Parameters
    ----------
    rows : ndarray
        What V, VI and variances are learned from where they are not given.
    metric : MetricChoice
    threads : int

    Returns
    -------
    Mapping or None
    """
    given = set(metric.params)
    if metric.name == "correlation" and not given:
        return Mapping(_directions, MetricChoice("cosine"))
    if metric.name == "mahalanobis" and given <= {"V", "VI"}:
        matrix = _whitening(rows, metric.params)
        return None if matrix is None else Mapping(_linear(rows, matrix, threads), MetricChoice("euclidean"))
    if metric.name == "seuclidean" and given <= {"V"}:
        return Mapping(_scaling(rows, _inverse_deviations(rows, metric.params.get("V"))), MetricChoice("euclidean"))
    if metric.name in ("minkowski", *_POWER) and given == {"w"}:
        p = _POWER.get(str(metric.name), metric.p)
        if not 1 <= p < np.inf:
            return None
        plain = {power: name for name, power in _POWER.items()}.get(p, "minkowski")
        weights = _vector("w", metric.params["w"], rows.shape[1], least=0.0)
        return Mapping(_scaling(rows, weights ** (1 / p)), MetricChoice(plain, p))
    return None


def _directions(table: NDArray[Any]) -> NDArray[np.float64]:
    """Rows less their own mean; a row of equal values has no direction and is 0, as under cosine."""
    wide = table.astype(np.float64)
    centred: NDArray[np.float64] = wide - wide.mean(axis=1, keepdims=True)
    lost = 2.0**-52 * wide.shape[1] * np.abs(wide).max(axis=1)
    centred[np.abs(centred).max(axis=1) <= lost] = 0
    return centred


def _middle(rows: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(rows.mean(axis=0, dtype=np.float64))


def _scaling(rows: NDArray[Any], factors: NDArray[np.float64]) -> Map:
    middle = _middle(rows)
    return lambda table: (table.astype(np.float64) - middle) * factors


def _linear(rows: NDArray[Any], matrix: NDArray[np.float64], threads: int) -> Map:
    middle = _middle(rows)

    def apply(table: NDArray[Any]) -> NDArray[np.float64]:
        mapped = np.empty((len(table), matrix.shape[1]))
        _core.exact_map(np.ascontiguousarray(table, dtype=np.float64), middle, matrix, mapped, threads)
        return mapped

    return apply


def _vector(name: str, value: Any, columns: int, *, least: float) -> NDArray[np.float64]:
    vector = np.asarray(value, dtype=np.float64)
    if vector.shape != (columns,):
        raise UsageError(f"metric_params['{name}'] must hold one number for each of {columns} columns, got shape "
                         f"{vector.shape}.")  # fmt: skip
    if not np.isfinite(vector).all() or (vector < least).any():
        raise UsageError(f"metric_params['{name}'] must hold finite numbers of at least {least:g}.")
    return vector


def _inverse_deviations(rows: NDArray[Any], given: Any) -> NDArray[np.float64]:
    if given is not None:
        variances = _vector("V", given, rows.shape[1], least=0.0)
        if not variances.all():
            raise UsageError("metric_params['V'] holds a variance of 0.", "Drop that column, or give it a variance.")
        return np.asarray(1 / np.sqrt(variances))
    if len(rows) < 2:
        raise DataError("Variances cannot be learned from one row.", "Give metric_params={'V': variances}.")
    # A column that never varies says nothing between rows, and is left out.
    deviations = np.std(rows, axis=0, ddof=1, dtype=np.float64)
    inverse: NDArray[np.float64] = np.divide(1.0, deviations, out=np.zeros_like(deviations), where=deviations > 0)
    return inverse


def _whitening(rows: NDArray[Any], params: dict[str, Any]) -> NDArray[np.float64] | None:
    """F with F F' = VI: the distance is the length of (x - y) F. None where VI has a negative eigenvalue."""
    columns = rows.shape[1]
    inverse, covariance = params.get("VI"), params.get("V")
    with threadpool_limits(1, user_api="blas"):
        if inverse is not None:
            # Of VI only the symmetric part plays a role.
            square = _square("VI", inverse, columns)
            values, vectors = np.linalg.eigh((square + square.T) / 2)
            if values[0] < -columns * 2.0**-52 * abs(values).max():
                return None
            return np.ascontiguousarray(vectors * np.sqrt(np.maximum(values, 0)))
        if covariance is None:
            covariance = np.atleast_2d(np.cov(rows, rowvar=False, dtype=np.float64)) if len(rows) > 1 else None
        if covariance is None:
            raise DataError("A covariance cannot be learned from one row.", "Give metric_params={'VI': ...}.")
        square = _square("V", covariance, columns)
        if not np.allclose(square, square.T, rtol=1e-9, atol=1e-12 * float(np.abs(square).max(initial=0))):
            raise UsageError("metric_params['V'] must be symmetric.")
        values, vectors = np.linalg.eigh((square + square.T) / 2)
        if values[0] <= columns * 2.0**-52 * values[-1]:
            raise DataError(
                "The covariance of these columns has no inverse: one follows from the others, or rows are too few.",
                "Drop columns, or give metric_params={'VI': ...}.",
            )
        return np.ascontiguousarray(vectors / np.sqrt(values))


def _square(name: str, value: Any, columns: int) -> NDArray[np.float64]:
    matrix = np.asarray(value, dtype=np.float64)
    if matrix.shape != (columns, columns) or not np.isfinite(matrix).all():
        raise UsageError(f"metric_params['{name}'] must be a finite matrix of {columns} x {columns}, got shape "
                         f"{matrix.shape}.")  # fmt: skip
    return matrix
