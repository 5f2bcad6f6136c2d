"""Reading CSV, TSV, Parquet and JSON files into tables, with DuckDB as the parser."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tonari.base.errors import DataError, UsageError
from tonari.tables.names import did_you_mean
from tonari.tables.table import Kind, Table

if TYPE_CHECKING:
    import duckdb

#: What stands for a missing value in delimited text, besides an empty cell. "None" is not here: it is a usual category.
MISSING = ("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "<NA>", "?")


def read_table(
    path: str | os.PathLike[str], *, delimiter: str | None = None, header: bool | None = None, decimal: str = ".",
    encoding: str | None = None, missing: Collection[str] = MISSING, kinds: Mapping[str, Kind] | None = None,
) -> Table:  # fmt: skip
    """Read a file into a table.

    Parameters
    ----------
    path : str or path
        A ``.parquet`` file, a ``.json``, ``.jsonl`` or ``.ndjson`` file of records, or delimited text of any other
        name; each may be compressed with gzip.
    delimiter : str, default=None
        What separates cells of delimited text; found among comma, semicolon, tab and bar where not given.
    header : bool, default=None
        Whether the first line of delimited text holds names. Where not given it does if a word stands above a column
        of numbers, or if it holds words only.
    decimal : {".", ","}, default="."
        The decimal mark of delimited text. Cells that look like decimal commas are refused unless this says so.
    encoding : str, default=None
        The encoding of delimited text; UTF-8 where not given and where no byte order mark says otherwise.
    missing : collection of str, default=("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "<NA>", "?")
        Texts that stand for a missing value in delimited text. An empty cell always does.
    kinds : mapping of str to {"numeric", "categorical"}, default=None
        Columns whose kind is not to be found out but said: categories are then taken letter by letter ("007"), and
        text among numbers is an error. For new data give `Schema.kinds`.

    Returns
    -------
    Table

    Raises
    ------
    DataError
        If the file does not exist or cannot be read as it is; the message names the file and the line.
    """
    if decimal not in (".", ","):
        raise UsageError(f"decimal={decimal!r} is not known.", "Use '.' or ','.")
    file = _existing(Path(path))
    said = dict(kinds or {})
    form = _form_of(file)
    with ExitStack() as stack:
        connection = stack.enter_context(_connected())
        reachable = _reachable(file, stack)
        if form == "text":
            from tonari.tables.text import read_text

            return read_text(
                connection, file, reachable, delimiter=delimiter, header=header, decimal=decimal, encoding=encoding,
                missing=frozenset(missing), kinds=said,
            )  # fmt: skip
        from tonari.tables.typed import read_typed

        return read_typed(connection, file, reachable, form, said)


def _existing(path: Path) -> Path:
    if path.is_dir():
        raise DataError(f"{path} is a folder.", "Name a file in it.")
    if not path.exists():
        folder = path.parent
        try:
            beside = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
        except OSError:
            raise DataError(f"There is no file {path}: its folder {folder} does not exist.") from None
        raise DataError(f"There is no file {path}.", did_you_mean(path.name, beside))
    return path.absolute()


def _form_of(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            head = stream.read(4)
    except OSError as error:
        raise DataError(f"{path.name} cannot be read: {error.strerror}.") from error
    if head == b"PAR1":
        return "parquet"
    suffixes = [suffix.lower() for suffix in path.suffixes]
    last = suffixes[-2] if len(suffixes) > 1 and suffixes[-1] == ".gz" else (suffixes[-1] if suffixes else "")
    if last in (".parquet", ".pq"):
        raise DataError(f"{path.name} is not a Parquet file.", "Fetch it again, or give it its right name.")
    return "json" if last in (".json", ".jsonl", ".ndjson") else "text"


def _reachable(path: Path, stack: ExitStack) -> Path:
    """The file itself, or a copy where DuckDB would take its name for a pattern and open other files."""
    if not set("*?[]{}") & set(str(path)):
        return path
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tonari-"))
    suffix = "".join(suffix for suffix in path.suffixes[-2:] if suffix.isascii() and suffix[1:].isalnum())
    return Path(shutil.copyfile(path, Path(folder) / f"table{suffix}"))


def _connected() -> duckdb.DuckDBPyConnection:
    """A database in memory that neither fetches extensions nor looks at Python's variables."""
    import duckdb

    settings: dict[str, Any] = {
        "autoinstall_known_extensions": False, "autoload_known_extensions": False, "allow_community_extensions": False,
        "python_enable_replacements": False,
    }  # fmt: skip
    connection = duckdb.connect(":memory:", config=settings)
    # Our statements are simple and wide: planning them took longer than running them.
    connection.execute("PRAGMA disable_optimizer")
    return connection
