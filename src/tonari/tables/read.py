"""Reading CSV, TSV, Parquet and JSON files into tables, with DuckDB as the parser."""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tonari.base.errors import DataError, UsageError
from tonari.tables.names import did_you_mean
from tonari.tables.table import Kind, Table

if TYPE_CHECKING:
    import duckdb

#: What stands for a missing value in delimited text, besides an empty cell. "None" is not here: it is a usual category.
MISSING = ("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "<NA>", "?")

# DuckDB takes these for wildcards, and would then open other files as well.
_WILDCARDS = frozenset("*?[]{}")
_SETTINGS: dict[str, Any] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
}


def read_table(
    path: str | os.PathLike[str], *, delimiter: str | None = None, header: bool | None = None, decimal: str = ".",
    encoding: str | None = None, missing: Collection[str] = MISSING, kinds: Mapping[str, Kind] | None = None,
) -> Table:  # fmt: skip
    r"""Read a file into a table.

    Parameters
    ----------
    path : str or path
        A Parquet file, a ``.json``, ``.jsonl`` or ``.ndjson`` file of records, or delimited text of any other name;
        each may be compressed with gzip.
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

    Notes
    -----
    Every cell decides: a column is numeric if each of its cells is a number or missing, whatever the first rows look
    like. Blanks around a cell do not count. ``true`` and ``false`` in any spelling become these two categories.
    Numbers padded with zeros ("007") are codes, and so categories.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "flowers.csv")
    ...     length = path.write_text("petal_length,species\n1.4,setosa\n4.7,versicolor\n?,setosa\n")
    ...     table = read_table(path)
    >>> table.kinds
    {'petal_length': 'numeric', 'species': 'categorical'}
    >>> table.columns["petal_length"].tolist()
    [1.4, 4.7, nan]
    """
    if decimal not in (".", ","):
        raise UsageError(f"decimal={decimal!r} is not known.", "Use '.' or ','.")
    wrong = [kind for kind in (kinds or {}).values() if kind not in ("numeric", "categorical")]
    if wrong:
        raise UsageError(f"The kind {wrong[0]!r} is not known.", "Use 'numeric' or 'categorical'.")
    file = _existing(Path(path))
    with _interruptible(), ExitStack() as stack:
        plain, gzipped = _plain(file, stack)
        form = _form_of(file, plain)
        connection = stack.enter_context(_connected())
        if form == "text":
            from tonari.tables.text import read_text

            return read_text(
                connection, file, plain, gzipped=gzipped, delimiter=delimiter, header=header, decimal=decimal,
                encoding=encoding, missing=frozenset(missing), kinds=kinds or {},
            )  # fmt: skip
        from tonari.tables.typed import read_typed

        return read_typed(connection, file, plain, form, kinds or {})


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C while DuckDB works comes out of it as an error; make it what it was."""
    try:
        yield
    except RuntimeError as error:
        if "interrupted" in str(error).lower():
            raise KeyboardInterrupt from None
        raise


def _existing(path: Path) -> Path:
    if path.is_dir():
        raise DataError(f"{path} is a folder.", "Name a file in it.")
    if path.is_file():
        return path.absolute()
    if path.exists():
        raise DataError(f"{path} is not a regular file.", "Write its content to a file first.")
    folder = path.parent
    if not folder.is_dir():
        raise DataError(f"There is no file {path}: there is no folder {folder}.")
    beside = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    raise DataError(f"There is no file {path}.", did_you_mean(path.name, beside))


def _plain(file: Path, stack: ExitStack) -> tuple[Path, bool]:
    """The file without compression and under a name that is no pattern, a copy if need be; and whether it was gzip."""
    try:
        with file.open("rb") as stream:
            gzipped = stream.read(2) == b"\x1f\x8b"
        if not gzipped and not _WILDCARDS & set(str(file)) and str(file).isprintable():
            return file, False
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tonari-"))
        plain = Path(folder) / "table"
        # Unpacked here: DuckDB does not compare checksums, and reads a file cut short as if it were whole.
        with gzip.open(file, "rb") if gzipped else file.open("rb") as source, plain.open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{file.name} is a damaged gzip file: {error}.", "Fetch or compress it again.") from error
    except OSError as error:
        raise DataError(f"{file.name} cannot be read: {error.strerror or error}.") from error
    return plain, gzipped


def _form_of(file: Path, plain: Path) -> str:
    with plain.open("rb") as stream:
        head = stream.read(4)
    if head == b"PAR1":
        return "parquet"
    suffixes = [suffix.lower() for suffix in file.suffixes if suffix.lower() != ".gz"]
    last = suffixes[-1] if suffixes else ""
    if last in (".parquet", ".pq"):
        raise DataError(f"{file.name} is not a Parquet file.", "Fetch it again, or give it its right name.")
    return "json" if last in (".json", ".jsonl", ".ndjson") else "text"


def _connected() -> duckdb.DuckDBPyConnection:
    """A database in memory that neither fetches extensions nor looks at Python's variables."""
    import duckdb

    connection = duckdb.connect(":memory:", config=_SETTINGS)
    # Measured: it gains nothing here, and in DuckDB 1.1 it breaks statements that choose columns by a list.
    connection.execute("PRAGMA disable_optimizer")
    return connection
