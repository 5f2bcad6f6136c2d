"""Delimited text into a table: DuckDB splits the cells, and the whole of every column decides what it holds."""

from __future__ import annotations

import csv
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tonari.base.errors import DataError
from tonari.tables.delimited import Dialect, find_dialect, line_of_row, open_text, records_of, wrong_encoding
from tonari.tables.table import Kind, Origin, Table

if TYPE_CHECKING:
    import duckdb

#: From this share of numbers on, a column of categories is probably a column of numbers with a slip in it.
NEARLY_NUMERIC = 0.9

# A filter and no join: joins do not keep the order of rows.
_CHOSEN = "(?::BOOLEAN[])[col + 1]"
_DATE = r"\d{4}[-/]\d{1,2}[-/]\d{1,2}([ T]\d.*)?|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})( \d.*)?"


def read_text(
    connection: duckdb.DuckDBPyConnection, file: Path, plain: Path, *, gzipped: bool, delimiter: str | None,
    header: bool | None, decimal: str, encoding: str | None, missing: frozenset[str], kinds: Mapping[str, Kind],
) -> Table:  # fmt: skip
    """Read delimited text; `read_table` is the public door and has the description.

    Parameters
    ----------
    connection : DuckDBPyConnection
    file : Path
        The file as it was given, which messages name.
    plain : Path
        The same without compression.
    gzipped : bool
        Whether `file` is compressed.
    delimiter, header, decimal, encoding, missing, kinds
        As in `read_table`.

    Returns
    -------
    Table
    """
    dialect = find_dialect(
        file, plain, gzipped=gzipped, delimiter=delimiter, header=header, encoding=encoding, missing=missing
    )
    _load(connection, dialect, plain, told=encoding is not None)
    return _Cells(connection, dialect, decimal, missing).table(kinds)


@dataclass(frozen=True)
class _Facts:
    """What the cells of one column look like: how many there are of each look, and an example."""

    present: int
    numbers: int
    padded: int
    huge: int
    marked: int
    mark: str | None
    booleans: int
    dates: int
    foreign: int
    example: str | None


class _Cells:
    """The cells of one file in DuckDB, one below the other in the order of the text.

    Long and not wide, because DuckDB plans one expression for each column of a wide statement, which takes longer than
    running it (1,560 rows of 618 columns: 1.4 s wide, 0.5 s long; 100 of 3,000: 3.9 and 0.7).
    """

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, dialect: Dialect, decimal: str, missing: frozenset[str]
    ) -> None:
        self.connection = connection
        self.dialect = dialect
        self.decimal = decimal
        counted = connection.execute("SELECT count(*) FROM raw").fetchone()
        self.rows = int(counted[0]) if counted else 0
        if self.rows == 0:
            raise DataError(f"{dialect.path.name} has a header but no rows.", "Give a file with at least one row.")
        width = len(dialect.names)
        marks = ", ".join(_literal(mark) for mark in sorted({mark.strip() for mark in missing} | {""}))
        row = ", ".join(f"c{i}" for i in range(width))
        point = "replace(cell, ',', '.')" if decimal == "," else "cell"
        # The cast takes more for a number than people write as one.
        barred = "contains(cell, '_') OR contains(cell, '+-')" + (" OR contains(cell, '.')" if decimal == "," else "")
        connection.execute(
            f"CREATE TEMP TABLE cells AS WITH long AS (SELECT unnest(range({width})) AS col, unnest([{row}]) AS cell "
            f"FROM raw), trimmed AS (SELECT col, trim(cell) AS cell FROM long), marked AS (SELECT col, "
            f"CASE WHEN cell IN ({marks}) THEN NULL ELSE cell END AS cell, "
            f"CASE WHEN cell IN ({marks}) AND cell <> '' THEN cell END AS mark FROM trimmed) "
            f"SELECT *, CASE WHEN {barred} THEN NULL ELSE try_cast({point} AS DOUBLE) END AS number FROM marked"
        )
        connection.execute("DROP TABLE raw")

    def table(self, kinds: Mapping[str, Kind]) -> Table:
        """Decide what every column holds, and fetch it."""
        names, facts = self.dialect.names, self._facts()
        decided = [self._decide(name, facts[i], kinds.get(name)) for i, name in enumerate(names)]
        table = Table(
            list(names), self._fetch([origin for _, origin in decided]),
            {name: kind for name, (kind, _) in zip(names, decided, strict=True)}, self.dialect.path.name,
            {name: origin for name, (_, origin) in zip(names, decided, strict=True)},
            line_of=partial(line_of_row, self.dialect),
        )  # fmt: skip
        for i, name in enumerate(names):
            if kinds.get(name) == "numeric" and table.kinds[name] == "categorical":
                self._refuse_text(table, name)
            notes = self._notes(table, name, facts[i], kinds.get(name))
            if notes:
                table.notes[name] = notes
        if not self.dialect.header:
            table.notes[""] = (f"{table.source} was read as having no header: its columns are called column_1, ...",)
        elif self.dialect.unnamed:
            table.notes[""] = ("Columns without a name in the header are called by their position, as in column_1.",)
        return table

    def _facts(self) -> list[_Facts]:
        counts = self.connection.execute(
            "SELECT count(cell), count(number), count(*) FILTER (cell SIMILAR TO '[+-]?0[0-9]+'), "
            "count(*) FILTER (length(cell) > 15 AND cell SIMILAR TO '[+-]?[0-9]+' AND abs(number) >= 2::DOUBLE ** 53), "
            "count(mark), min(mark) FROM cells GROUP BY col ORDER BY col"
        ).fetchall()
        date, foreign = _literal(_DATE), _literal(_foreign_number(self.decimal))
        looks = self.connection.execute(
            f"SELECT col, count(*) FILTER (lower(cell) IN ('true', 'false')), "
            f"count(*) FILTER (regexp_full_match(cell, {date})), count(*) FILTER (regexp_full_match(cell, {foreign})), "
            f"min(cell) FILTER (regexp_full_match(cell, {foreign})) "
            f"FROM cells WHERE {_CHOSEN} GROUP BY col",
            [[numbers < present for present, numbers, *_ in counts]],
        ).fetchall()
        seen = {look[0]: look[1:] for look in looks}
        return [_Facts(*count, *seen.get(i, (0, 0, 0, None))) for i, count in enumerate(counts)]

    def _fetch(self, origins: list[Origin]) -> dict[str, NDArray[Any]]:
        numeric = [i for i, origin in enumerate(origins) if origin == "number"]
        texts = [i for i, origin in enumerate(origins) if origin != "number"]
        columns: dict[int, NDArray[Any]] = {}
        for chosen, what in ((numeric, "number"), (texts, "cell")):
            query = f"SELECT {what} FROM cells WHERE {_CHOSEN}"
            mask = np.isin(np.arange(len(origins)), chosen).tolist()
            fetched = self.connection.execute(query, [mask]).fetchnumpy()[what]
            values = column_of(fetched, numeric=what == "number").reshape(self.rows, len(chosen))
            columns |= {i: np.ascontiguousarray(values[:, at]) for at, i in enumerate(chosen)}
        for i in texts:
            if origins[i] == "boolean":
                columns[i][:] = [None if cell is None else cell.lower() for cell in columns[i]]
        return {name: columns[i] for i, name in enumerate(self.dialect.names)}

    def _decide(self, name: str, facts: _Facts, wanted: Kind | None) -> tuple[Kind, Origin]:
        if wanted == "categorical":
            return "categorical", "text"
        if facts.present == facts.numbers and (facts.padded == 0 or wanted == "numeric"):
            return "numeric", "number"
        if facts.foreign and facts.foreign + facts.numbers >= NEARLY_NUMERIC * facts.present:
            sign, other = ("comma", ",") if self.decimal == "." else ("point", ".")
            raise DataError(
                f"{self.dialect.path.name}: column {name!r} holds numbers with a {sign}, as in {facts.example!r}.",
                f"If the {sign} is the decimal mark, read the file with read_table(path, decimal={other!r}); if it "
                f"separates thousands, remove it; if this is text, give kinds={{{name!r}: 'categorical'}}.",
            )
        if wanted is None and facts.present == facts.booleans:
            return "categorical", "boolean"
        return "categorical", "date" if facts.present == facts.dates else "text"

    def _first_text(self, table: Table, name: str) -> int | None:
        """The first row of a column that is not a number."""
        cells = enumerate(table.columns[name])
        return next((row for row, cell in cells if cell is not None and not _is_number(cell, self.decimal)), None)

    def _refuse_text(self, table: Table, name: str) -> None:
        row = self._first_text(table, name)
        if row is not None:
            raise DataError(
                f"{table.place(row)}: column {name!r} holds {table.columns[name][row]!r} where a number is expected.",
                "Correct the value, or leave it empty where it is not known.",
            )

    def _notes(self, table: Table, name: str, facts: _Facts, wanted: Kind | None) -> tuple[str, ...]:
        notes = []
        if facts.marked:
            cells = "cell" if facts.marked == 1 else "cells"
            notes.append(f"Column {name!r}: {facts.marked:,} {cells} such as {facts.mark!r} read as missing.")
        values = table.columns[name]
        if table.kinds[name] == "numeric":
            if facts.huge:
                notes.append(f"Column {name!r} holds whole numbers beyond 2^53, which lose digits as float64.")
        elif wanted is None and facts.numbers:
            if facts.numbers == facts.present:
                notes.append(f"Column {name!r} holds codes with leading zeros: taken as categories.")
            elif facts.numbers >= NEARLY_NUMERIC * facts.present and (row := self._first_text(table, name)) is not None:
                notes.append(
                    f"Column {name!r} is taken as categories although {facts.numbers:,} of its {facts.present:,} "
                    f"values are numbers: {table.place(row)} holds {values[row]!r}."
                )
        return tuple(notes)


def column_of(fetched: Any, *, numeric: bool) -> NDArray[Any]:
    """A column as DuckDB hands it over, as a table holds it.

    Parameters
    ----------
    fetched : ndarray or masked array
    numeric : bool

    Returns
    -------
    ndarray
    """
    if numeric:
        return np.asarray(np.ma.filled(np.ma.asarray(fetched).astype(np.float64), np.nan))
    column = np.array(np.ma.getdata(fetched), dtype=object)
    column[np.ma.getmaskarray(fetched)] = None
    return column


def _load(connection: duckdb.DuckDBPyConnection, dialect: Dialect, plain: Path, *, told: bool) -> None:
    """Split the cells; a file that DuckDB does not take is checked record by record, and cleaned if it is sound."""
    import duckdb

    if dialect.plain:
        try:
            _split(connection, dialect, plain, header=dialect.header)
            return
        except duckdb.Error:
            # What is wrong, and whether it is, is found out below, in the same words for every version of DuckDB.
            pass
    with tempfile.TemporaryDirectory(prefix="tonari-") as folder:
        clean = Path(folder) / "clean.csv"
        _write_clean(dialect, clean, told=told)
        try:
            _split(connection, dialect, clean, header=True)
        except duckdb.Error as error:
            complaint = "; ".join(str(error).splitlines()[:3]).replace(str(clean), dialect.path.name)
            raise DataError(f"{dialect.path.name} cannot be split into columns: {complaint}.") from error


def _split(connection: duckdb.DuckDBPyConnection, dialect: Dialect, path: Path, *, header: bool) -> None:
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(dialect.names)))
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE raw AS SELECT * FROM read_csv(?, auto_detect=false, columns={" + columns + "}, "
        "delim=?, quote='\"', escape='\"', header=?, compression='none', nullstr='', null_padding=false, "
        "ignore_errors=false, hive_partitioning=false, filename=false)",
        [str(path), dialect.delimiter, header],
    )


def _write_clean(dialect: Dialect, clean: Path, *, told: bool) -> None:
    """Copy as UTF-8 with one kind of line end and a plain header; raise where a record is not sound."""
    width, name = len(dialect.names), dialect.path.name
    try:
        with clean.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, delimiter=dialect.delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
            writer.writerow([f"c{i}" for i in range(width)])
            for number, (line, record) in enumerate(records_of(dialect)):
                if len(record) == width + 1 and record[-1] == "":
                    del record[-1]
                if len(record) != width:
                    raise DataError(
                        f"{name}, line {line}: expected {width} columns, found {len(record)}.",
                        "Correct the line; a cell that contains the delimiter must stand in double quotes.",
                    )
                if number > 0 or not dialect.header:
                    writer.writerow(record)
    except UnicodeDecodeError as error:
        raise wrong_encoding(dialect.path, dialect.encoding, _first_undecodable(dialect), told=told) from error


def _first_undecodable(dialect: Dialect) -> int:
    """The first line that is not in the encoding: each is read with one character per byte, and decoded by itself."""
    with open_text(dialect.path, "latin-1", gzipped=dialect.gzipped) as stream:
        for number, text in enumerate(stream, 1):
            try:
                text.encode("latin-1").decode(dialect.encoding)
            except UnicodeDecodeError:
                return number
    return 1


def _is_number(text: str, decimal: str) -> bool:
    mark = re.escape(decimal)
    pattern = rf"[+-]?(\d+{mark}?\d*|{mark}\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?"
    return re.fullmatch(pattern, text, re.IGNORECASE | re.ASCII) is not None


def _foreign_number(decimal: str) -> str:
    """Numbers with the mark that is not the decimal mark: 5,1 or 1,234,567.8 where the mark is a point."""
    other, mark = (",", r"\.") if decimal == "." else (r"\.", ",")
    return rf"[+-]?(\d*{other}\d+|\d+{other})([eE][+-]?\d+)?|[+-]?\d{{1,3}}({other}\d{{3}})+({mark}\d*)?"


def _literal(text: str) -> str:
    """Text as an SQL literal: quotes doubled, which is all that standard strings need."""
    return "'" + text.replace("'", "''") + "'"
