"""Delimited text into a table: DuckDB splits the cells, and the whole of every column decides what it holds."""

from __future__ import annotations

import csv
import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tonari.base.errors import DataError
from tonari.tables.delimited import Dialect, find_dialect, line_of_row, open_text, records_of, wrong_encoding
from tonari.tables.table import LARGEST_EXACT, Kind, Table

if TYPE_CHECKING:
    import duckdb

#: From this share of numbers on, a column of categories is probably a column of numbers with a slip in it.
NEARLY_NUMERIC = 0.9

#: DuckDB's planner takes time quadratic in the columns of one statement (arrhythmia: 263 at once 50 s, 64 at once 1 s).
COLUMNS_AT_ONCE = 64

_DATE = r"\d{4}-\d{1,2}-\d{1,2}([ T]\d.*)?|\d{1,2}([/.])\d{1,2}[/.](\d{4}|\d{2})( \d.*)?|\d{4}/\d{1,2}/\d{1,2}( \d.*)?"


@dataclass(frozen=True)
class _Facts:
    """What the cells of one column look like: numbers of cells."""

    present: int
    numbers: int
    padded: int
    marked: int
    mark: str | None
    booleans: int = 0
    dates: int = 0
    commas: int = 0
    comma_example: str | None = None


def read_text(
    connection: duckdb.DuckDBPyConnection, file: Path, reachable: Path, *, delimiter: str | None, header: bool | None,
    decimal: str, encoding: str | None, missing: frozenset[str], kinds: Mapping[str, Kind],
) -> Table:  # fmt: skip
    """Read delimited text; `read_table` is the public door and has the description.

    Parameters
    ----------
    connection : DuckDBPyConnection
    file : Path
        What messages name.
    reachable : Path
        The same file under a name without wildcards.
    delimiter, header, decimal, encoding, missing, kinds
        As in `read_table`.

    Returns
    -------
    Table
    """
    dialect = find_dialect(file, delimiter=delimiter, header=header, encoding=encoding, missing=missing)
    _load(connection, dialect, reachable, told=encoding is not None)
    reader = _Reader(connection, dialect, decimal, missing)
    if reader.rows == 0:
        raise DataError(f"{file.name} has a header but no rows.", "Give a file with at least one row.")
    return reader.table(kinds)


class _Reader:
    """The cells of one file as text in DuckDB's table `raw`, with columns c0, c1, ..."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, dialect: Dialect, decimal: str, missing: frozenset[str]
    ) -> None:
        self.connection = connection
        self.dialect = dialect
        self.decimal = decimal
        self.marks = ", ".join(_literal(mark) for mark in sorted({mark.strip() for mark in missing} | {""}))
        self.width = len(dialect.names)
        counted = connection.execute("SELECT count(*) FROM raw").fetchone()
        self.rows = int(counted[0]) if counted else 0
        self.parts = [range(low, min(low + COLUMNS_AT_ONCE, self.width)) for low in range(0, self.width, COLUMNS_AT_ONCE)]
        for number, part in enumerate(self.parts):
            cells = (f"CASE WHEN trim(c{i}) IN ({self.marks}) THEN NULL ELSE trim(c{i}) END AS c{i}" for i in part)
            connection.execute(f"CREATE TEMP TABLE cells{number} AS SELECT {', '.join(cells)} FROM raw")

    def table(self, kinds: Mapping[str, Kind]) -> Table:
        """Decide what every column holds and fetch it."""
        names = self.dialect.names
        facts = self._facts()
        columns: dict[str, NDArray[Any]] = {}
        table = Table([], {}, {}, self.dialect.path.name, line_of=partial(line_of_row, self.dialect))
        expressions = []
        for i, name in enumerate(names):
            kind, origin = self._decide(name, facts[i], kinds.get(name))
            table.kinds[name] = kind
            table.origins[name] = origin  # type: ignore[assignment]
            cell = f"lower(c{i})" if origin == "boolean" else f"c{i}"
            expressions.append(f"{self._number(i) if kind == 'numeric' else cell} AS c{i}")
        for number, part in enumerate(self.parts):
            chosen = ", ".join(expressions[part.start : part.stop])
            fetched = self.connection.execute(f"SELECT {chosen} FROM cells{number}").fetchnumpy()
            for i in part:
                columns[names[i]] = plain(fetched[f"c{i}"], table.kinds[names[i]])
        table.names, table.columns = list(names), columns
        table.row_numbers = np.arange(self.rows, dtype=np.int64)
        for i, name in enumerate(names):
            if kinds.get(name) == "numeric" and table.kinds[name] == "categorical":
                self._refuse_text(table, name)
            notes = self._notes(table, name, facts[i], kinds.get(name))
            if notes:
                table.notes[name] = notes
        whole = self._whole_notes()
        if whole:
            table.notes[""] = whole
        return table

    def _number(self, i: int) -> str:
        """SQL for a cell as float64, NULL where it is not a number as people write them."""
        cell = f"replace(c{i}, ',', '.')" if self.decimal == "," else f"c{i}"
        barred = f"contains(c{i}, '_') OR contains(c{i}, '+-')" + (f" OR contains(c{i}, '.')" if self.decimal == "," else "")
        return f"CASE WHEN {barred} THEN NULL ELSE try_cast({cell} AS DOUBLE) END"

    def _facts(self) -> list[_Facts]:
        columns = range(self.width)
        written = self._counts("count({c})", columns, raw=True)
        present = self._counts("count({c})", columns)
        numbers = self._counts("count({number})", columns)
        padded = self._counts("count(*) FILTER ({c} SIMILAR TO '[+-]?0[0-9]+')", [i for i in columns if numbers[i]])
        marks = f"FILTER (trim({{c}}) IN ({self.marks}) AND trim({{c}}) <> '')"
        marked = [i for i in columns if present[i] < written[i]]
        mark = self._counts(f"min(trim({{c}})) {marks}", marked, raw=True)
        n_marked = self._counts(f"count(*) {marks}", marked, raw=True)
        texts = [i for i in columns if numbers[i] < present[i]]
        booleans = self._counts("count(*) FILTER (lower({c}) IN ('true', 'false'))", texts)
        dates = self._counts(f"count(*) FILTER (regexp_full_match({{c}}, {_literal(_braced(_DATE))}))", texts)
        foreign = f"FILTER (regexp_full_match({{c}}, {_literal(_braced(_other_mark(self.decimal)))}))"
        commas = self._counts(f"count(*) {foreign}", texts)
        example = self._counts(f"min({{c}}) {foreign}", [i for i in texts if commas[i]])
        return [
            _Facts(
                present[i], numbers[i], padded.get(i, 0), n_marked.get(i, 0), mark.get(i), booleans.get(i, 0),
                dates.get(i, 0), commas.get(i, 0), example.get(i),
            ) for i in columns
        ]  # fmt: skip

    def _counts(self, template: str, columns: Iterable[int], *, raw: bool = False) -> dict[int, Any]:
        """One aggregate for each of some columns, a part of them at a time."""
        wanted, found = set(columns), {}
        for number, part in enumerate(self.parts):
            chosen = [i for i in part if i in wanted]
            if chosen:
                aggregates = ", ".join(template.format(c=f"c{i}", number=self._number(i)) for i in chosen)
                source = "raw" if raw else f"cells{number}"
                row = self.connection.execute(f"SELECT {aggregates} FROM {source}").fetchone() or ()
                found.update(zip(chosen, row, strict=True))
        return found

    def _decide(self, name: str, facts: _Facts, wanted: Kind | None) -> tuple[Kind, str]:
        if wanted == "categorical":
            return "categorical", "text"
        if facts.present == facts.numbers and (facts.padded == 0 or wanted == "numeric"):
            return "numeric", "number"
        if facts.commas and facts.commas + facts.numbers >= NEARLY_NUMERIC * facts.present:
            other = "comma" if self.decimal == "." else "point"
            raise DataError(
                f"{self.dialect.path.name}: column {name!r} holds numbers with a {other}, such as "
                f"{facts.comma_example!r}.",
                f"If the {other} is the decimal mark, say so with the option decimal={',' if other == 'comma' else '.'!r}; "
                f"if it separates thousands, remove it; if the cells are text, call the column categorical.",
            )
        if wanted is None and facts.present == facts.booleans and facts.present:
            return "categorical", "boolean"
        return "categorical", "date" if facts.present == facts.dates and facts.present else "text"

    def _refuse_text(self, table: Table, name: str) -> None:
        for row, value in enumerate(table.columns[name]):
            if value is not None and not _is_number(value, self.decimal):
                raise DataError(
                    f"{table.place(row)}: column {name!r} holds {value!r} where numbers are expected.",
                    "Correct the value, or leave it empty where it is not known.",
                )

    def _notes(self, table: Table, name: str, facts: _Facts, wanted: Kind | None) -> tuple[str, ...]:
        notes = []
        if facts.marked:
            cells = "cell" if facts.marked == 1 else "cells"
            notes.append(f"Column {name!r}: {facts.marked:,} {cells} such as {facts.mark!r} read as missing.")
        values = table.columns[name]
        if table.kinds[name] == "numeric":
            if len(values) and np.nanmax(np.abs(values), initial=0.0) > LARGEST_EXACT:
                notes.append(f"Column {name!r} holds numbers beyond 2^53: as float64 they keep 15 to 16 digits.")
        elif wanted is None:
            if facts.padded and facts.numbers == facts.present:
                notes.append(f"Column {name!r} holds codes with leading zeros: taken as categories.")
            elif facts.numbers >= NEARLY_NUMERIC * facts.present and facts.numbers:
                row = next(r for r, v in enumerate(values) if v is not None and not _is_number(v, self.decimal))
                notes.append(
                    f"Column {name!r} is taken as categories although {facts.numbers:,} of {facts.present:,} values are "
                    f"numbers: {table.place(row)} holds {values[row]!r}."
                )
        return tuple(notes)

    def _whole_notes(self) -> tuple[str, ...]:
        name = self.dialect.path.name
        if not self.dialect.header:
            return (f"{name} was read as a file without a header: its columns are called column_1, column_2, ...",)
        if self.dialect.unnamed:
            return (f"{name} has {self.dialect.unnamed} columns without a name: they are called by their position.",)
        return ()


def plain(fetched: Any, kind: Kind) -> NDArray[Any]:
    """A column as DuckDB hands it over, as a table holds it.

    Parameters
    ----------
    fetched : ndarray or masked array
    kind : {"numeric", "categorical"}

    Returns
    -------
    ndarray
    """
    if kind == "numeric":
        return np.asarray(np.ma.filled(np.ma.asarray(fetched).astype(np.float64), np.nan))
    column = np.array(np.ma.getdata(fetched), dtype=object)
    column[np.ma.getmaskarray(fetched)] = None
    return column


def _load(connection: duckdb.DuckDBPyConnection, dialect: Dialect, reachable: Path, *, told: bool) -> None:
    """Split the cells; a file that DuckDB does not take is checked record by record, and cleaned if it is sound."""
    import duckdb

    if dialect.encoding.startswith("utf-8"):
        try:
            _split(connection, dialect, reachable, gzipped=dialect.gzipped)
            return
        except duckdb.Error as error:
            complaint = str(error).split("\n", 1)[0]
    else:
        complaint = "the text cannot be split into columns"
    with tempfile.TemporaryDirectory(prefix="tonari-") as folder:
        clean = Path(folder) / "clean.csv"
        _write_clean(dialect, clean, told=told)
        try:
            _split(connection, dialect, clean, gzipped=False)
        except duckdb.Error as error:
            raise DataError(f"{dialect.path.name} cannot be read: {complaint}.") from error


def _split(connection: duckdb.DuckDBPyConnection, dialect: Dialect, path: Path, *, gzipped: bool) -> None:
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(dialect.names)))
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE raw AS SELECT * FROM read_csv(?, auto_detect=false, columns={" + columns + "}, "
        "delim=?, quote='\"', escape='\"', header=?, compression=?, nullstr='', null_padding=false, "
        "ignore_errors=false, hive_partitioning=false, filename=false)",
        [str(path), dialect.delimiter, dialect.header, "gzip" if gzipped else "none"],
    )


def _write_clean(dialect: Dialect, clean: Path, *, told: bool) -> None:
    """Copy as UTF-8 with one kind of line end; raise where a record is not sound."""
    width, name = len(dialect.names), dialect.path.name
    line = 0
    try:
        with clean.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, delimiter=dialect.delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
            for line, record in records_of(dialect):  # noqa: B007
                if len(record) == width + 1 and record[-1] == "":
                    del record[-1]
                if len(record) != width:
                    raise DataError(
                        f"{name}, line {line}: expected {width} columns, found {len(record)}.",
                        "Correct the line; a cell that contains the delimiter must stand in double quotes.",
                    )
                writer.writerow(record)
    except UnicodeDecodeError as error:
        raise wrong_encoding(dialect.path, dialect.encoding, _first_undecodable(dialect), told=told) from error
    except csv.Error as error:
        what = "a quote is opened and never closed" if "end of data" in str(error) else str(error)
        raise DataError(f"{name}, after line {line}: {what}.", "Correct the line.") from error
    except (EOFError, OSError) as error:
        raise DataError(f"{name} cannot be read to its end: {error}.", "Fetch it again.") from error


def _first_undecodable(dialect: Dialect) -> int:
    """The first line that is not in the encoding; each is read with one character per byte and decoded by itself."""
    with open_text(dialect.path, "latin-1", dialect.gzipped) as stream:
        for number, text in enumerate(stream, 1):
            try:
                text.encode("latin-1").decode(dialect.encoding)
            except UnicodeDecodeError:
                return number
    return 1


def _is_number(text: str, decimal: str) -> bool:
    mark = re.escape(decimal)
    return re.fullmatch(rf"[+-]?(\d+{mark}?\d*|{mark}\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", text, re.IGNORECASE) is not None


def _other_mark(decimal: str) -> str:
    """Numbers written with the mark that is not the decimal mark: 5,1 or 1,234,567 where the mark is a point."""
    other, mark = (",", r"\.") if decimal == "." else (r"\.", ",")
    return rf"[+-]?(\d*{other}\d+|\d+{other})([eE][+-]?\d+)?|[+-]?\d{{1,3}}({other}\d{{3}})+({mark}\d*)?"


def _braced(pattern: str) -> str:
    """A pattern that survives str.format."""
    return pattern.replace("{", "{{").replace("}", "}}")


def _literal(text: str) -> str:
    """Text as an SQL literal: quotes doubled, which is all that standard strings need."""
    return "'" + text.replace("'", "''") + "'"

