"""How a file of delimited text is written: compression, encoding, delimiter, header. Decided from its first part."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tonari.base.errors import DataError, UsageError

DELIMITERS = (",", ";", "\t", "|")
#: Bytes that are looked at to find the delimiter and the header; one thousand rows of a thousand columns.
SAMPLE_BYTES = 4 << 20
SAMPLE_RECORDS = 1000

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_MAGIC = (
    (b"PK\x03\x04", "a zip archive or an Excel workbook", "Unpack it, or save the sheet as CSV."),
    (b"SQLite format 3", "an SQLite database", "Export the table as CSV or Parquet."),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", "Decompress it, or use gzip."),
    (b"BZh", "compressed with bzip2", "Decompress it, or use gzip."),
    (b"\xfd7zXZ", "compressed with xz", "Decompress it, or use gzip."),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", "Save the sheet as CSV."),
)
_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Dialect:
    """How one file is written.

    Attributes
    ----------
    path : Path
    encoding : str
    gzipped : bool
    delimiter : str
    header : bool
    names : tuple of str
        Column names, from the header or made up.
    unnamed : int
        Columns whose name is made up although there is a header.
    """

    path: Path
    encoding: str
    gzipped: bool
    delimiter: str
    header: bool
    names: tuple[str, ...]
    unnamed: int = 0


def find_dialect(
    path: Path, *, delimiter: str | None, header: bool | None, encoding: str | None, missing: frozenset[str]
) -> Dialect:
    """Find out how a file is written; what is given is not guessed.

    Parameters
    ----------
    path : Path
    delimiter : str or None
    header : bool or None
    encoding : str or None
    missing : frozenset of str
        Texts that stand for a missing value.

    Returns
    -------
    Dialect

    Raises
    ------
    DataError
        If the file is empty, is no text, is written in another encoding, or two columns share a name.
    """
    if delimiter is not None and len(delimiter) != 1:
        raise UsageError(f"The delimiter {delimiter!r} is not one character.", "A tab is written as '\\t'.")
    gzipped = _is_gzip(path)
    found = encoding or _encoding_of(path, gzipped)
    text = _sample(path, found, gzipped, told=encoding is not None)
    if not text.strip():
        raise DataError(f"{path.name} is empty.", "Give a file with a header line and at least one row.")
    chosen = delimiter or _best_delimiter(text, path)
    records = _records(text, chosen)
    has_header = _looks_like_header(records, missing) if header is None else header
    if not has_header:
        names = tuple(f"column_{i + 1}" for i in range(len(records[0])))
        return Dialect(path, found, gzipped, chosen, False, names)
    names, unnamed = _names(records[0], path)
    return Dialect(path, found, gzipped, chosen, True, names, unnamed)


def open_text(path: Path, encoding: str, gzipped: bool) -> IO[str]:
    """Open a file as text, its line ends untouched.

    Parameters
    ----------
    path : Path
    encoding : str
    gzipped : bool

    Returns
    -------
    text stream
    """
    raw = gzip.open(path, "rb") if gzipped else path.open("rb")
    return io.TextIOWrapper(raw, encoding=encoding, errors="strict", newline="")


def records_of(dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """Every record of a file, read slowly and strictly, with the line at which it starts.

    Parameters
    ----------
    dialect : Dialect

    Yields
    ------
    line : int
        Counted from 1.
    record : list of str
        Empty lines are skipped in a table of several columns, where they cannot be rows.
    """
    with open_text(dialect.path, dialect.encoding, dialect.gzipped) as stream:
        reader = csv.reader(stream, delimiter=dialect.delimiter, strict=True)
        line = 1
        for record in reader:
            if record:
                yield line, record
            elif len(dialect.names) == 1:
                yield line, [""]
            line = reader.line_num + 1


def line_of_row(dialect: Dialect, row: int) -> int:
    """The line at which a row of the table starts.

    Parameters
    ----------
    dialect : Dialect
    row : int
        Counted from 0, the header not counted.

    Returns
    -------
    int
        Counted from 1; 0 if there is no such row.
    """
    wanted = row + int(dialect.header)
    for number, (line, _record) in enumerate(records_of(dialect)):
        if number == wanted:
            return line
    return 0


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as stream:
        head = stream.read(16)
    for magic, what, remedy in _MAGIC:
        if head.startswith(magic):
            raise DataError(f"{path.name} is {what}, not delimited text.", remedy)
    return head.startswith(b"\x1f\x8b")


def _encoding_of(path: Path, gzipped: bool) -> str:
    with gzip.open(path, "rb") if gzipped else path.open("rb") as stream:
        head = _guarded_read(stream, 4, path)
    return next((name for mark, name in _BOMS if head.startswith(mark)), "utf-8")


def _guarded_read(stream: IO[bytes], size: int, path: Path) -> bytes:
    try:
        return stream.read(size)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path.name} is a damaged gzip file: {error}.", "Fetch or compress it again.") from error


def _sample(path: Path, encoding: str, gzipped: bool, *, told: bool) -> str:
    with gzip.open(path, "rb") if gzipped else path.open("rb") as stream:
        data = _guarded_read(stream, SAMPLE_BYTES, path)
    try:
        decoder = codecs.getincrementaldecoder(encoding)("strict")
    except LookupError as error:
        raise UsageError(f"The encoding {encoding!r} is not known.", "Usual ones are utf-8, latin-1, cp1252.") from error
    try:
        text = decoder.decode(data, final=len(data) < SAMPLE_BYTES)
    except UnicodeDecodeError as error:
        raise wrong_encoding(path, encoding, data[: error.start].count(b"\n") + 1, told=told) from error
    if "\0" in text:
        raise DataError(f"{path.name} holds zero bytes: it is not delimited text.", "Give a CSV, Parquet or JSON file.")
    return text if len(data) < SAMPLE_BYTES else text[: text.rfind("\n") + 1] or text


def wrong_encoding(path: Path, encoding: str, line: int, *, told: bool) -> DataError:
    """The error for bytes that an encoding does not know.

    Parameters
    ----------
    path : Path
    encoding : str
    line : int
    told : bool
        Whether the encoding was given by the user.

    Returns
    -------
    DataError
    """
    name = "UTF-8" if encoding.startswith("utf-8") else encoding
    remedy = "Try another encoding." if told else "Name its encoding with the option encoding, often latin-1 or cp1252."
    return DataError(f"{path.name}, line {line}: the text is not {name}.", remedy)


def _records(text: str, delimiter: str, most: int = SAMPLE_RECORDS) -> list[list[str]]:
    records: list[list[str]] = []
    try:
        for record in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            if record:
                records.append([cell.strip() for cell in record])
            if len(records) == most:
                break
    except csv.Error:
        # A cell too long for Python's reader; what was read so far is enough to judge by.
        pass
    return records


def _best_delimiter(text: str, path: Path) -> str:
    best, best_score = ",", (0.0, 0.0, 0)
    order = ("\t", *[d for d in DELIMITERS if d != "\t"]) if ".tsv" in path.suffixes else DELIMITERS
    for delimiter in order:
        records = _records(text, delimiter, 200)
        if not records:
            continue
        width, count = Counter(map(len, records)).most_common(1)[0]
        if width == 1:
            continue
        cells = [cell for record in records for cell in record]
        plain = sum(1 for cell in cells if not any(d in cell for d in DELIMITERS) or _NUMBER.fullmatch(cell))
        score = (round(count / len(records), 2), round(plain / len(cells), 2), width)
        if score > best_score:
            best, best_score = delimiter, score
    return best


def _looks_like_header(records: list[list[str]], missing: frozenset[str]) -> bool:
    """A header has a word above a column of numbers, or holds words only."""
    first, rest = records[0], records[1:]
    is_number = [_NUMBER.fullmatch(cell) is not None for cell in first]
    for i, cell in enumerate(first):
        below = [record[i] for record in rest if i < len(record) and record[i] not in missing]
        if not is_number[i] and cell not in missing and below and all(map(_NUMBER.fullmatch, below)):
            return True
    return not any(is_number)


def _names(first: list[str], path: Path) -> tuple[tuple[str, ...], int]:
    names = [cell or f"column_{i + 1}" for i, cell in enumerate(first)]
    for name, count in Counter(names).items():
        if count > 1:
            where = [str(i + 1) for i, other in enumerate(names) if other == name]
            raise DataError(
                f"{path.name}, line 1: {count} columns are called {name!r} (columns {', '.join(where)}).",
                "Rename them; if the file has no header line, say so with the option header=False.",
            )
    return tuple(names), sum(1 for cell in first if not cell)
