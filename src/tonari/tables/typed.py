"""Parquet and JSON files into tables: files that say themselves what their columns hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tonari.base.errors import DataError
from tonari.tables.frames import labels_of
from tonari.tables.table import LARGEST_EXACT, Kind, Origin, Table
from tonari.tables.text import column_of

if TYPE_CHECKING:
    import duckdb

_INTEGER = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|BIGNUM|VARINT")
_REAL = re.compile(r"FLOAT|DOUBLE|DECIMAL\(.*\)")
_DATE = re.compile(r"(DATE|TIMESTAMP|TIME|INTERVAL).*")
_NESTED = re.compile(r".*\]|(STRUCT|MAP|UNION|GEOMETRY|VARIANT)\b.*")

_READERS = {
    "parquet": "read_parquet(?, hive_partitioning=false, filename=false, binary_as_string=true)",
    "json": "read_json(?, sample_size=-1, hive_partitioning=false, filename=false, ignore_errors=false)",
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
        described = connection.execute("DESCRIBE raw").fetchall()
        for row in described:
            _add(table, connection, str(row[0]), str(row[1]).upper(), kinds.get(str(row[0])))
        counted = connection.execute("SELECT count(*) FROM raw").fetchone()
    except duckdb.Error as error:
        complaint = str(error).split("\n", 1)[0].replace(str(plain), file.name)
        raise DataError(f"{file.name} cannot be read: {complaint}") from error
    rows = int(counted[0]) if counted else 0
    if rows == 0:
        raise DataError(f"{file.name} has no rows.", "Give a file with at least one row.")
    table.row_numbers = np.arange(rows, dtype=np.int64)
    return table


def _add(
    table: Table, connection: duckdb.DuckDBPyConnection, name: str, type_name: str, wanted: Kind | None
) -> None:  # fmt: skip
    column = '"' + name.replace('"', '""') + '"'
    if type_name == "JSON":
        tree = connection.execute(
            f"SELECT count(*) FROM raw WHERE json_type({column}) IN ('OBJECT', 'ARRAY')"
        ).fetchone()
        nested = bool(tree and tree[0])
        column = f"json_extract_string({column}, '$')"
    else:
        nested = _NESTED.fullmatch(type_name) is not None
    if nested:
        table.notes[name] = (f"Column {name!r} holds lists or records and was left out.",)
        return
    kind, origin, expression = _plan(column, type_name, wanted)
    fetched = connection.execute(f"SELECT {expression} AS c FROM raw").fetchnumpy()
    values = column_of(fetched["c"], numeric=kind == "numeric")
    if kind == "numeric" and wanted == "categorical":
        values, kind = labels_of(values), "categorical"
    if kind == "categorical":
        values[values == ""] = None
    elif _INTEGER.fullmatch(type_name) and np.nanmax(np.abs(values), initial=0.0) > LARGEST_EXACT:
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
