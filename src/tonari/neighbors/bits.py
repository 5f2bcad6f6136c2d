"""Hamming and Jaccard over packed bits: how a table becomes bits, and the index that counts them.

A table of 0 and 1 takes one bit per value. Under Hamming any other table takes one bit for every value that a column
holds, as long as these are few: two rows then share as many bits as they have equal columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tonari import _core
from tonari.base.errors import DataError, UsageError
from tonari.base.validation import check_number
from tonari.neighbors.index import Groups, Lists, Nearest, Radius, radii_of
from tonari.neighbors.metrics import MetricChoice
from tonari.neighbors.pairwise import PairwiseIndex

Bytes = NDArray[np.uint8]
# Values a column may hold on average: 64 bits are the memory of one float64.
_MOST_VALUES = 64
_PEEK = 4096  # rows that show whether the columns hold few values
_BLOCK = 2**24  # values turned into bits at a time


@dataclass(frozen=True)
class Packed:
    """A table that came as bits, eight to a byte, the first in the lowest place."""

    columns: int

    def encode(self, table: NDArray[Any]) -> Bytes:
        """The table, once its form and the padding of its last byte are checked."""
        wide = -(-self.columns // 8)
        if table.dtype != np.uint8 or table.shape[1] != wide:
            raise UsageError(
                f"metric_params={{'bits': {self.columns}}} takes uint8 tables of {wide} columns, got {table.dtype} and "
                f"{table.shape[1]} columns.",
                "Pack with numpy.packbits(table, axis=1, bitorder='little').",
            )
        if self.columns % 8 and (table[:, -1] >> self.columns % 8).any():
            raise DataError(f"Bits beyond the {self.columns} columns must be 0.")
        return np.ascontiguousarray(table)


@dataclass(frozen=True)
class Flags:
    """A table of 0 and 1, one bit per value."""

    columns: int

    def encode(self, table: NDArray[Any]) -> Bytes | None:
        """The table as bits, or None if it holds anything but 0 and 1."""
        packed = np.empty((len(table), -(-self.columns // 8)), dtype=np.uint8)
        for part in _parts(len(table), self.columns):
            some = table[part]
            flags = some if some.dtype == np.bool_ else some != 0
            if flags is not some and not np.array_equal(flags, some):
                return None
            packed[part] = np.packbits(flags, axis=1, bitorder="little")
        return packed


@dataclass(frozen=True)
class Categories:
    """A table whose columns hold few values, one bit for each of them; what was not seen at fit has none."""

    values: list[NDArray[Any]]

    @classmethod
    def of(cls, rows: NDArray[Any]) -> Categories | None:
        """The values of every column, or None where there are too many."""
        most = _MOST_VALUES * rows.shape[1]
        for part in (slice(0, _PEEK), slice(None)):
            values, total = [], 0
            for column in rows[part].T:
                values.append(np.unique(column))
                total += len(values[-1])
                if total > most:
                    return None
            if len(rows) <= _PEEK:
                break
        return cls(values)

    def encode(self, table: NDArray[Any]) -> Bytes:
        """The table as bits."""
        width = sum(len(values) for values in self.values)
        packed = np.empty((len(table), -(-width // 8)), dtype=np.uint8)
        for part in _parts(len(table), width):
            flags = np.zeros((part.stop - part.start, width), dtype=np.bool_)
            first = 0
            for column, values in zip(table[part].T, self.values, strict=True):
                place = np.minimum(np.searchsorted(values, column), len(values) - 1)
                flags[np.arange(len(flags)), first + place] = values[place] == column
                first += len(values)
            packed[part] = np.packbits(flags, axis=1, bitorder="little")
        return packed


def _parts(rows: int, width: int) -> Iterator[slice]:
    height = max(1, _BLOCK // max(1, width))
    for start in range(0, rows, height):
        yield slice(start, min(rows, start + height))


class BitIndex:
    """Rows as packed bits; answers like the native index, with the very numbers of scipy.

    Parameters
    ----------
    rows : ndarray
        As they were fitted.
    metric : MetricChoice
    packed : ndarray of uint8
        The rows as bits.
    coding : Packed, Flags or Categories
        How queries become bits.
    threads : int
    """

    def __init__(
        self, rows: NDArray[Any], metric: MetricChoice, packed: Bytes, coding: Packed | Flags | Categories, threads: int
    ) -> None:
        self.rows = rows
        self._metric = metric
        self._coding = coding
        name = "categories" if isinstance(coding, Categories) else str(metric.name)
        columns = coding.columns if isinstance(coding, Packed) else rows.shape[1]
        self._index = _core.bits_build(packed, columns, name, threads)

    def search(self, queries: Any, k: int, row_groups: Groups, query_groups: Groups, threads: int) -> Nearest:
        """See :class:`Index`."""
        packed = self._coding.encode(queries)
        if packed is None:
            return PairwiseIndex(self.rows, self._metric).search(queries, k, row_groups, query_groups, threads)
        distances = np.empty((len(packed), k))
        neighbours = np.empty((len(packed), k), dtype=np.int64)
        _core.bits_search(self._index, packed, distances, neighbours, row_groups, query_groups, threads)
        return distances, neighbours

    def within(self, queries: Any, radius: Radius, row_groups: Groups, query_groups: Groups, threads: int) -> Lists:
        """See :class:`Index`."""
        packed = self._coding.encode(queries)
        if packed is None:
            return PairwiseIndex(self.rows, self._metric).within(queries, radius, row_groups, query_groups, threads)
        radii = radii_of(radius, len(packed))
        indptr, rows, distances = _core.bits_within(self._index, packed, radii, row_groups, query_groups, threads)
        return indptr, rows, distances


def bit_index(rows: NDArray[Any], metric: MetricChoice, threads: int) -> BitIndex | None:
    """An index over bits, or None where this table under this metric has none.

    Parameters
    ----------
    rows : ndarray
    metric : MetricChoice
    threads : int

    Returns
    -------
    BitIndex or None
    """
    codings: list[Callable[[], Packed | Flags | Categories | None]] = []
    if metric.bits is not None:
        check_number("bits", metric.bits, least=1, whole=True)
        codings = [lambda: Packed(int(metric.bits))]
    elif not metric.params:
        codings = [lambda: Flags(rows.shape[1])]
        if metric.name == "hamming" and rows.dtype != np.bool_:
            codings.append(lambda: Categories.of(rows))
    for make in codings:
        coding = make()
        packed = None if coding is None else coding.encode(rows)
        if coding is not None and packed is not None:
            return BitIndex(rows, metric, packed, coding, threads)
    return None
