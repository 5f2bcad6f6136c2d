"""What a table looked like when something was learned from it, and how to turn a table of that kind into numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tonari.base.errors import DataError, ModelFileError
from tonari.tables.frames import labels_of
from tonari.tables.names import did_you_mean, listed
from tonari.tables.table import Kind, Table, missing_mask

#: A date has an order and a distance that categories do not show: only few of them are kept, as categories.
MOST_DATES = 20
#: From this many rows on, text of which nine in ten values occur once is taken for an identifier or free text.
ROWS_FOR_NEARLY_UNIQUE = 50

_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)


@dataclass(frozen=True)
class Column:
    """One column of a table, as it was when something was learned from it.

    Attributes
    ----------
    name : str
    kind : {"numeric", "categorical"}
    levels : tuple of str
        The categories, sorted; empty for numbers.
    missing : int
        Rows without a value.
    note : str
        What a reader should know about it.
    used : bool
        Whether it is learned from.

    Examples
    --------
    >>> schema = Schema.learn(Table.from_frame({"size": [1, None, 3], "colour": ["red", "blue", None]}))
    >>> [(column.name, column.levels, column.missing) for column in schema.all_columns]
    [('size', (), 1), ('colour', ('blue', 'red'), 1)]
    """

    name: str
    kind: Kind
    levels: tuple[str, ...] = ()
    missing: int = 0
    note: str = ""
    used: bool = True


@dataclass(frozen=True)
class Schema:
    """The columns to learn from, in order, and what was noticed about the others.

    Attributes
    ----------
    all_columns : tuple of Column
        Every column of the table but the target, in its order.
    target : str or None
    table_notes : tuple of str
        What concerns the whole table.

    Examples
    --------
    >>> schema = Schema.learn(Table.from_frame({"size": [1, 2, 3], "kind": ["a", "b", "b"]}), target="kind")
    >>> schema.encode(Table.from_frame({"kind": ["b"], "size": [7]})).tolist()
    [[7.0]]
    """

    all_columns: tuple[Column, ...]
    target: str | None = None
    table_notes: tuple[str, ...] = ()

    @classmethod
    def learn(cls, table: Table, target: str | None = None) -> Schema:
        """Look at a table's columns and choose those that can be learned from.

        Left out, with a note: a column without any value, with one value only, dates of many values, and text that
        is different in (nearly) every row.

        Parameters
        ----------
        table : Table
        target : str, default=None
            The column of class labels, which is not learned from.

        Returns
        -------
        Schema

        Examples
        --------
        >>> table = Table.from_frame({"size": [1, 2, 2], "colour": ["red", "blue", "blue"], "kind": ["a", "b", "b"]})
        >>> schema = Schema.learn(table, "kind")
        >>> schema.encode(table).tolist()
        [[1.0, 1.0], [2.0, 0.0], [2.0, 0.0]]
        """
        if target is not None:
            table.target(target)
        columns = tuple(_look_at(table, name) for name in table.names if name != target)
        notes = [note for name, said in table.notes.items() if name == "" or name not in table.columns for note in said]
        if not any(column.used for column in columns):
            reasons = " ".join(column.note for column in columns if column.note)
            raise DataError(f"{table.source} has no column to learn from. {reasons}".strip())
        return cls(columns, target, tuple(notes))

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that are learned from: the columns of the encoded matrix."""
        return tuple(column for column in self.all_columns if column.used)

    @property
    def names(self) -> list[str]:
        """Names of the columns that are learned from."""
        return [column.name for column in self.columns]

    @property
    def kinds(self) -> dict[str, Kind]:
        """Kind of every column that is learned from; give it to `read_table` for new data."""
        return {column.name: column.kind for column in self.columns}

    @property
    def categorical(self) -> list[int]:
        """Positions of the categories in the encoded matrix; give them to `TableEncoder`."""
        return [i for i, column in enumerate(self.columns) if column.kind == "categorical"]

    @property
    def notes(self) -> list[str]:
        """Everything a reader should know, as sentences."""
        return [*self.table_notes, *(column.note for column in self.all_columns if column.note)]

    def encode(self, table: Table, notes: list[str] | None = None) -> NDArray[np.float64]:
        """Turn a table with these columns into numbers.

        Parameters
        ----------
        table : Table
            Columns may stand in any order; those that were not learned from are ignored.
        notes : list of str, default=None
            Filled with what a reader should know: columns ignored, categories never seen before.

        Returns
        -------
        ndarray of float64, shape (n_rows, n_columns)
            Numbers as they are and categories as the position of their level; NaN where missing, -1 for a level that
            was not there when the schema was learned.
        """
        self._check_names(table, notes)
        matrix = np.empty((table.n_rows, len(self.columns)), dtype=np.float64)
        for position, column in enumerate(self.columns):
            if column.kind == "numeric":
                matrix[:, position] = _numbers(table, column.name)
            else:
                matrix[:, position] = _levels(table, column, notes)
        return matrix

    def describe(self) -> list[dict[str, Any]]:
        """Every column but the target, for a result file.

        Returns
        -------
        list of dict
            With the keys name, kind, missing, levels and note.
        """
        return [
            {"name": c.name, "kind": c.kind, "missing": c.missing, "levels": len(c.levels), "note": c.note}
            for c in self.all_columns
        ]

    def to_json(self) -> dict[str, Any]:
        """What `encode` needs, as values that JSON can hold.

        Returns
        -------
        dict
        """
        columns = [{"name": c.name, "kind": c.kind, "levels": list(c.levels)} for c in self.columns]
        return {"columns": columns, "target": self.target}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Schema:
        """Rebuild a schema from `to_json`.

        Parameters
        ----------
        document : mapping

        Returns
        -------
        Schema

        Raises
        ------
        ModelFileError
            If the document is not what `to_json` writes.
        """
        try:
            target = document["target"]
            columns = tuple(_column_from_json(entry) for entry in document["columns"])
            if not (target is None or isinstance(target, str)):
                raise TypeError("the target is not a name")
            if len({column.name for column in columns}) != len(columns):
                raise ValueError("two columns have the same name")
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"The description of the columns is damaged: {error}.") from error
        return cls(columns, target)

    def _check_names(self, table: Table, notes: list[str] | None) -> None:
        absent = [name for name in self.names if name not in table.columns]
        if absent:
            spare = [name for name in table.names if name not in self.kinds]
            guess = did_you_mean(absent[0], spare)
            raise DataError(
                f"{table.source} lacks {'a column' if len(absent) == 1 else f'{len(absent)} columns'} "
                f"that the model was trained with: {listed(absent)}.",
                guess or f"Its columns are {listed(table.names)}.",
            )
        extra = [name for name in table.names if name not in self.kinds and name != self.target]
        if extra and notes is not None:
            notes.append(f"Not used, because the model was not trained with them: {listed(extra)}.")


def _look_at(table: Table, name: str) -> Column:
    values, kind = table.columns[name], table.kinds[name]
    absent = missing_mask(values)
    missing = int(absent.sum())
    present = values[~absent]
    levels = tuple(sorted(set(present))) if kind == "categorical" else ()
    reason = _reason_to_drop(table, name, present, levels, missing)
    said = [f"Column {name!r} was left out: {reason}."] if reason else []
    return Column(name, kind, levels, missing, " ".join([*said, *table.notes.get(name, ())]), used=not reason)


def _reason_to_drop(table: Table, name: str, present: NDArray[Any], levels: tuple[str, ...], missing: int) -> str:
    if len(present) == 0:
        return "it holds no value at all"
    if table.kinds[name] == "numeric":
        infinite = np.isinf(present)
        if infinite.any():
            row = int(np.flatnonzero(np.isinf(table.columns[name]))[0])
            raise _infinite(table, name, row)
        return "it holds the same value in every row" if missing == 0 and (present == present[0]).all() else ""
    if len(levels) == 1 and missing == 0:
        return "it holds the same value in every row"
    if table.origins[name] == "date" and len(levels) > MOST_DATES:
        return f"it holds {len(levels):,} different dates; derive numbers from them (year, month, age) to use it"
    if len(levels) == len(present) and len(present) > 1:
        return "it is text that differs in every row, as an identifier does"
    if len(present) >= ROWS_FOR_NEARLY_UNIQUE and len(levels) > 0.9 * len(present):
        return f"it is text that differs in nearly every row ({len(levels):,} values in {len(present):,} rows)"
    return ""


def _infinite(table: Table, name: str, row: int) -> DataError:
    return DataError(
        f"{table.place(row)}: column {name!r} is infinite.", "Write a number, or leave it empty where it is not known."
    )


def _numbers(table: Table, name: str) -> NDArray[np.float64]:
    values = table.columns[name]
    if values.dtype != object:
        infinite = np.flatnonzero(np.isinf(values))
        if len(infinite):
            raise _infinite(table, name, int(infinite[0]))
        return values
    numeric = np.full(len(values), np.nan)
    for row, value in enumerate(values):
        if value is None:
            continue
        if _NUMBER.fullmatch(value) is None:
            raise DataError(
                f"{table.place(row)}: column {name!r} holds {value!r} where the model was trained with numbers.",
                "Correct the value, or leave it empty where it is not known.",
            )
        numeric[row] = float(value)
    return numeric


def _levels(table: Table, column: Column, notes: list[str] | None) -> NDArray[np.float64]:
    values = table.columns[column.name]
    texts = values if values.dtype == object else labels_of(values)
    codes: dict[str | None, float] = {level: float(i) for i, level in enumerate(column.levels)}
    codes[None] = np.nan
    if set(column.levels) <= {"false", "true"}:
        # Read by itself the column would have been in this spelling; read as categories it keeps its own.
        codes |= {spelt: codes[level] for level in column.levels for spelt in (level.upper(), level.title())}
    encoded = np.fromiter((codes.get(text, -1.0) for text in texts), dtype=np.float64, count=len(texts))
    if notes is not None and (encoded == -1).any():
        unknown = sorted(set(texts[encoded == -1]))
        rows = int((encoded == -1).sum())
        notes.append(
            f"Column {column.name!r}: {rows:,} {'row holds' if rows == 1 else 'rows hold'} a category that the model "
            f"has never seen ({listed(unknown, most=4)})."
        )
    return encoded


def _column_from_json(entry: Mapping[str, Any]) -> Column:
    name, kind, levels = entry["name"], entry["kind"], entry["levels"]
    if not isinstance(name, str) or kind not in ("numeric", "categorical"):
        raise TypeError("a column has no proper name or kind")
    if not isinstance(levels, list) or not all(isinstance(level, str) for level in levels):
        raise TypeError(f"the categories of {name!r} are not a list of text")
    if len(set(levels)) != len(levels):
        raise ValueError(f"the categories of {name!r} repeat")
    return Column(name, kind, tuple(levels))
