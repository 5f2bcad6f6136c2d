"""Parquet and JSON files into tables: files that say themselves what their columns hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tonari.base.errors import DataError
from tonari.tables.frames import labels_of
from tonari.tables.table import LARGEST_EXACT, Kind, Origin, Table, missing_mask
from tonari.tables.text import column_of

if TYPE_CHECKING:
    import duckdb

_INTEGER = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|BIGNUM|VARINT")
_REAL = re.compile(r"FLOAT|DOUBLE|DECIMAL\(.*\)")
_DATE = re.compile(r"(DATE|TIMESTAMP|TIME|INTERVAL).*")
_NESTED = re.compile(r".*\]|(STRUCT|MAP|UNION|GEOMETRY|VARIANT)\b.*")

_READERS = {
    "parquet": "read_parquet(?, hive_partitioning=false, filename=false, binary_as_string=true)",
    # Without the thresholds a table of many like columns, or of sparse ones, would be taken for one column of maps.
    "json": "read_json(?, records=true, sample_size=-1, map_inference_threshold=-1, field_appearance_threshold=0, "
    "hive_partitioning=false, filename=false, ignore_errors=false)",
}
_SAYS_NAME = {
    "parquet": "SELECT count(*) FROM parquet_schema(?) WHERE name = ?",
    "json": "SELECT count(*) FROM read_json_objects(?) WHERE list_contains(json_keys(json), ?)",
}


def read_typed(
    connection: duckdb.DuckDBPyConnection, file: Path, plain: Path, form: str, kinds: Mapping[str, Kind]
) -> Table:
    """Read a Parquet or JSON file; `read_table` is the public door and has the description.

    Parameters
    ----------
    connection : DuckDBPyConnection
    file : Path
        The file as it was given, which messages name.
    plain : Path
        The same without compression.
    form : {"parquet", "json"}
    kinds : mapping

    Returns
    -------
    Table
    """
    import duckdb

    table = Table([], {}, {}, file.name)
    try:
        connection.execute(f"CREATE TEMP TABLE raw AS SELECT * FROM {_READERS[form]}", [str(plain)])
        described = [(str(row[0]), str(row[1]).upper()) for row in connection.execute("DESCRIBE raw").fetchall()]
        _refuse_renamed(connection, file, plain, form, [name for name, _ in described])
        for name, type_name in described:
            _add(table, connection, name, type_name, kinds.get(name))
        rows = _count(connection, "SELECT count(*) FROM raw")
    except duckdb.Error as error:
        if "records" in str(error) and "non-record" in str(error):
            raise DataError(
                f"{file.name} does not hold rows.", 'Write a list of records, [{"size": 1}, ...], or one on each line.'
            ) from error
        complaint = str(error).split("\n", 1)[0].replace(str(plain), file.name)
        raise DataError(f"{file.name} cannot be read: {complaint}") from error
    if rows == 0:
        raise DataError(f"{file.name} has no rows.", "Give a file with at least one row.")
    table.row_numbers = np.arange(rows, dtype=np.int64)
    return table


def _refuse_renamed(
    connection: duckdb.DuckDBPyConnection, file: Path, plain: Path, form: str, names: list[str]
) -> None:  # fmt: skip
    """DuckDB tells names apart without their case, and calls a second "Size" beside "size" "Size_1"."""
    folded = {name.casefold() for name in names}
    for name in names:
        stem, _, digits = name.rpartition("_")
        if not digits.isdecimal() or stem.casefold() not in folded:
            continue
        if _count(connection, _SAYS_NAME[form], [str(plain), name]) == 0:
            raise DataError(
                f"{file.name} has several columns called {stem!r} in capital or small letters.", "Rename them."
            )


def _count(connection: duckdb.DuckDBPyConnection, query: str, parameters: list[str] | None = None) -> int:
    row = connection.execute(query, parameters or []).fetchone()
    return int(row[0]) if row else 0


def _add(table: Table, connection: duckdb.DuckDBPyConnection, name: str, type_name: str, wanted: Kind | None) -> None:
    column = '"' + name.replace('"', '""') + '"'
    nested = _NESTED.fullmatch(type_name) is not None
    if type_name == "JSON":
        nested = _count(connection, f"SELECT count(*) FROM raw WHERE json_type({column}) IN ('OBJECT', 'ARRAY')") > 0
        column = f"json_extract_string({column}, '$')"
    if nested:
        table.notes[name] = (f"Column {name!r} holds lists or records and was left out.",)
        return
    kind, origin, expression = _plan(column, type_name, wanted)
    fetched = connection.execute(f"SELECT {expression} AS c FROM raw").fetchnumpy()
    values = column_of(fetched["c"], numeric=kind == "numeric")
    if kind == "numeric" and wanted == "categorical":
        values, kind, origin = labels_of(values), "categorical", "text"
    elif kind == "categorical":
        values[values == ""] = None
        if wanted is None and missing_mask(values).all():
            # Nothing is known of such a column; everywhere else it counts as numbers.
            values, kind, origin = np.full(len(values), np.nan), "numeric", "number"
    elif _INTEGER.fullmatch(type_name) and (np.abs(values) >= LARGEST_EXACT).any():
        table.notes[name] = (f"Column {name!r} holds whole numbers beyond 2^53, which lose digits as float64.",)
    table.names.append(name)
    table.columns[name] = values
    table.kinds[name] = kind
    table.origins[name] = origin


def _plan(column: str, type_name: str, wanted: Kind | None) -> tuple[Kind, Origin, str]:
    text = f"CAST({column} AS VARCHAR)"
    if _REAL.fullmatch(type_name) or (_INTEGER.fullmatch(type_name) and wanted != "categorical"):
        return "numeric", "number", f"CAST({column} AS DOUBLE)"
    if type_name == "BOOLEAN":
        return "categorical", "boolean", text
    return "categorical", "date" if _DATE.fullmatch(type_name) else "text", text
