"""A table in memory: named columns of numbers or of text, with what was noticed while it was read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tonari.base.errors import DataError
from tonari.tables.names import did_you_mean, listed

Kind = Literal["numeric", "categorical"]
Origin = Literal["number", "text", "boolean", "date"]

#: Integers beyond this lose digits as float64.
LARGEST_EXACT = 2.0**53
#: More distinct values than this, and a target of fractions is taken for something to regress on.
MOST_FRACTIONAL_LABELS = 20


@dataclass(eq=False, repr=False)
class Table:
    """Named columns of equal length.

    Attributes
    ----------
    names : list of str
        Column names, in order; no two are equal.
    columns : dict of str to ndarray
        Numeric: float64, NaN where missing. Categorical: object array of str, None where missing.
    kinds : dict of str to {"numeric", "categorical"}
    source : str
        What the table was read from, for messages.
    origins : dict of str to {"number", "text", "boolean", "date"}
        What the values were before they became numbers or text.
    notes : dict of str to tuple of str
        What a reader should know, by column; "" holds what concerns the whole table.
    row_numbers : ndarray of int64
        Position of every row in the source, counted from 0; kept by `take`.
    line_of : callable or None
        Gives the line of the source at which a row stands, where it has lines.

    Examples
    --------
    >>> table = Table.from_frame({"size": [1, None, 3], "colour": ["red", "blue", None]})
    >>> table.kinds
    {'size': 'numeric', 'colour': 'categorical'}
    >>> table.columns["size"]
    array([ 1., nan,  3.])
    """

    names: list[str]
    columns: dict[str, NDArray[Any]]
    kinds: dict[str, Kind]
    source: str = "the table"
    origins: dict[str, Origin] = field(default_factory=dict)
    notes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    row_numbers: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    line_of: Callable[[int], int] | None = None

    def __post_init__(self) -> None:
        lengths = {len(self.columns[name]) for name in self.names}
        if len(lengths) > 1:
            raise DataError(f"The columns of {self.source} differ in length: {sorted(lengths)}.")
        if lengths and len(self.row_numbers) not in lengths:
            self.row_numbers = np.arange(lengths.pop(), dtype=np.int64)
        for name in self.names:
            self.origins.setdefault(name, "number" if self.kinds[name] == "numeric" else "text")

    def __repr__(self) -> str:
        return f"<Table of {self.source}: {self.n_rows:,} rows, {len(self.names):,} columns>"

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.row_numbers)

    @classmethod
    def from_frame(
        cls, frame: Any, *, names: Sequence[str] | None = None, kinds: Mapping[str, Kind] | None = None,
        source: str = "the table",
    ) -> Table:  # fmt: skip
        """Take over a table that is already in memory.

        Parameters
        ----------
        frame : pandas or polars DataFrame, mapping of arrays, structured array or 2-D array
        names : sequence of str, default=None
            Column names of a 2-D array; ``x0``, ``x1``, ... where not given.
        kinds : mapping of str to {"numeric", "categorical"}, default=None
            Columns whose kind is not to be found out but said.
        source : str, default="the table"
            What messages call it.

        Returns
        -------
        Table

        Examples
        --------
        >>> table = Table.from_frame({"size": [1, 2, None], "colour": ["red", "", "blue"]})
        >>> table.kinds
        {'size': 'numeric', 'colour': 'categorical'}
        >>> table.columns["colour"].tolist()
        ['red', None, 'blue']
        """
        from tonari.tables.frames import table_from_frame

        return table_from_frame(frame, names=names, kinds=kinds, source=source)

    def take(self, rows: ArrayLike) -> Table:
        """Some of the rows, in the order given.

        Parameters
        ----------
        rows : array-like of int or of bool

        Returns
        -------
        Table
        """
        chosen = np.asarray(rows)
        if len(chosen) == 0:
            chosen = chosen.astype(np.intp)
        return Table(
            list(self.names), {name: self.columns[name][chosen] for name in self.names}, dict(self.kinds), self.source,
            dict(self.origins), dict(self.notes), self.row_numbers[chosen], self.line_of,
        )  # fmt: skip

    def drop(self, names: Iterable[str]) -> Table:
        """All columns but these.

        Parameters
        ----------
        names : iterable of str

        Returns
        -------
        Table
        """
        unwanted = set(names)
        for name in unwanted:
            self._require(name)
        kept = [name for name in self.names if name not in unwanted]
        return Table(
            kept, {name: self.columns[name] for name in kept}, {name: self.kinds[name] for name in kept}, self.source,
            {name: self.origins[name] for name in kept},
            {name: said for name, said in self.notes.items() if name not in unwanted}, self.row_numbers, self.line_of,
        )  # fmt: skip

    def place(self, row: int) -> str:
        """Where a row stands, for a message.

        Parameters
        ----------
        row : int
            Position in this table.

        Returns
        -------
        str
            The source with its line where it has lines, otherwise with its row counted from 1.
        """
        number = int(self.row_numbers[row])
        if self.line_of is not None:
            return f"{self.source}, line {self.line_of(number)}"
        return f"{self.source}, row {number + 1}"

    def target(self, name: str) -> NDArray[Any]:
        """One column as class labels.

        Parameters
        ----------
        name : str

        Returns
        -------
        ndarray
            int64 or float64 where the column is numeric, otherwise an object array of str.

        Raises
        ------
        DataError
            If the column does not exist, a label is missing, or the values look like something to regress on.
        """
        self._require(name)
        column = self.columns[name]
        missing = missing_mask(column)
        if missing.any():
            first = int(np.flatnonzero(missing)[0])
            count = int(missing.sum())
            raise DataError(
                f"{self.place(first)}: the target column {name!r} holds no label"
                + (f" (the first of {count:,} such rows)." if count > 1 else "."),
                "Fill it in, or remove the row. Cells such as NA and ? count as empty.",
            )
        if self.kinds[name] == "categorical":
            return column.copy()
        if not np.isfinite(column).all():
            first = int(np.flatnonzero(~np.isfinite(column))[0])
            raise DataError(f"{self.place(first)}: the target column {name!r} is infinite.", "Correct the label.")
        return self._numeric_labels(name, column)

    def _numeric_labels(self, name: str, column: NDArray[Any]) -> NDArray[Any]:
        distinct = len(np.unique(column))
        whole = bool((column == np.floor(column)).all())
        if distinct > MOST_FRACTIONAL_LABELS and (not whole or distinct > len(column) // 2):
            what = "different values" if whole else "different values, not all whole numbers"
            raise DataError(
                f"The column {name!r} of {self.source} looks like a regression target: {distinct:,} {what} "
                f"in {len(column):,} rows.",
                "tonari tells classes apart: name a column of classes, or cut this one into ranges first.",
            )
        if whole and (np.abs(column) <= LARGEST_EXACT).all():
            return column.astype(np.int64)
        return column.copy()

    def _require(self, name: str) -> None:
        if name not in self.columns:
            columns = f"Its columns are {listed(self.names)}." if self.names else "It has no columns."
            raise DataError(f"{self.source} has no column {name!r}.", did_you_mean(name, self.names) or columns)


def missing_mask(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Which values of a table column are missing.

    Parameters
    ----------
    column : ndarray
        As `Table.columns` holds it.

    Returns
    -------
    ndarray of bool
    """
    if column.dtype == object:
        return np.fromiter((value is None for value in column), dtype=bool, count=len(column))
    return np.asarray(np.isnan(column), dtype=bool)
