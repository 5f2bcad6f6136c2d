"""How a file of delimited text is written: encoding, delimiter, header. Decided from its first part."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tonari.base.errors import DataError, UsageError

DELIMITERS = (",", ";", "\t", "|")
#: What is looked at to find the delimiter and the header: 300 rows of two thousand columns.
SAMPLE_BYTES = 4 << 20
SAMPLE_RECORDS = 300

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_OTHER_BYTES = (
    (b"PK\x03\x04", "a zip archive or an Excel workbook", "Unpack it, or save the sheet as CSV."),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", "Save the sheet as CSV."),
    (b"SQLite format 3", "an SQLite database", "Export the table as CSV or Parquet."),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", "Decompress it, or use gzip."),
    (b"BZh", "compressed with bzip2", "Decompress it, or use gzip."),
    (b"\xfd7zXZ", "compressed with xz", "Decompress it, or use gzip."),
)
_OTHER_TEXTS = (
    (re.compile(r"\s*<(!doctype|html|\?xml)", re.IGNORECASE), "a web page or XML", "Fetch the file itself."),
    (re.compile(r"(\s*%.*\n|\s)*@relation\s", re.IGNORECASE), "an ARFF file", "Convert it to CSV."),
)
_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True)
class Dialect:
    """How one file is written.

    Attributes
    ----------
    path : Path
    gzipped : bool
    encoding : str
    delimiter : str
    header : bool
    names : tuple of str
        Column names, from the header or made up.
    unnamed : int
        Columns whose name is made up although there is a header.
    plain : bool
        Whether DuckDB may split the file as it is: UTF-8, several columns, no blank line on top, one kind of line end.
    """

    path: Path
    gzipped: bool
    encoding: str
    delimiter: str
    header: bool
    names: tuple[str, ...]
    unnamed: int = 0
    plain: bool = True


def find_dialect(
    file: Path, plain: Path, *, gzipped: bool, delimiter: str | None, header: bool | None, encoding: str | None,
    missing: frozenset[str],
) -> Dialect:  # fmt: skip
    """Find out how a file is written; what is given is not guessed.

    Parameters
    ----------
    file : Path
        The file as it was given.
    plain : Path
        The same without compression.
    gzipped : bool
        Whether `file` is compressed.
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
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise UsageError(f"The delimiter {delimiter!r} is not one character.", "A tab is written as '\\t'.")
    with plain.open("rb") as stream:
        data = stream.read(SAMPLE_BYTES)
    for magic, what, remedy in _OTHER_BYTES:
        if data.startswith(magic):
            raise DataError(f"{file.name} is {what}, not delimited text.", remedy)
    found = encoding or next((name for mark, name in _BOMS if data.startswith(mark)), "utf-8")
    text = _decoded(data, found, file, told=encoding is not None)
    for pattern, what, remedy in _OTHER_TEXTS:
        if pattern.match(text):
            raise DataError(f"{file.name} is {what}, not delimited text.", remedy)
    chosen = delimiter or _best_delimiter(text, file)
    records = _records(text, chosen, SAMPLE_RECORDS)
    if not records:
        raise DataError(f"{file.name} is empty.", "Give a file with a header line and at least one row.")
    has_header = _looks_like_header(records, missing) if header is None else header
    if has_header:
        names, unnamed = _names(records[0], file)
    else:
        names, unnamed = tuple(f"column_{i + 1}" for i in range(len(records[0]))), 0
    as_it_is = (
        len(names) > 1
        and codecs.lookup(found).name in ("utf-8", "utf-8-sig", "ascii")
        and re.split(r"[\r\n]", text, maxsplit=1)[0].strip() != ""
        and _has_one_line_end(plain)
    )
    return Dialect(file, gzipped, found, chosen, has_header, names, unnamed, as_it_is)


def open_text(path: Path, encoding: str, *, gzipped: bool) -> IO[str]:
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
    if gzipped:
        return gzip.open(path, "rt", encoding=encoding, errors="strict", newline="")
    return path.open("r", encoding=encoding, errors="strict", newline="")


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
        Blank lines are no records.

    Raises
    ------
    DataError
        If a double quote is out of place.
    """
    with open_text(dialect.path, dialect.encoding, gzipped=dialect.gzipped) as stream:
        single = len(dialect.names) == 1
        reader = _reader(stream, dialect.delimiter, strict=True, single=single)
        line = 1
        try:
            for record in reader:
                if not _is_blank(record, single=single):
                    yield line, record
                line = reader.line_num + 1
        except csv.Error as error:
            unclosed = "end of data" in str(error)
            what = "a double quote is opened and never closed" if unclosed else str(error)
            raise DataError(f"{dialect.path.name}, line {line}: {what}.", "Correct the line.") from error


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


def wrong_encoding(file: Path, encoding: str, line: int, *, told: bool) -> DataError:
    """The error for bytes that an encoding does not know.

    Parameters
    ----------
    file : Path
    encoding : str
    line : int
    told : bool
        Whether the encoding was given by the user.

    Returns
    -------
    DataError
    """
    name = "UTF-8" if encoding.startswith("utf-8") else encoding
    remedy = (
        "Try another encoding." if told
        else "Save it as UTF-8, or read it with read_table(path, encoding=...), often 'latin-1' or 'cp1252'."
    )  # fmt: skip
    return DataError(f"{file.name}, line {line}: the text is not {name}.", remedy)


def _reader(lines: Iterable[str], delimiter: str, *, strict: bool, single: bool = False) -> Any:
    """Python's reader, set so that it splits as DuckDB does: blanks may stand before a quote."""
    return csv.reader(lines, delimiter=delimiter, strict=strict, skipinitialspace=delimiter != " " and not single)


def _is_blank(record: list[str], *, single: bool = False) -> bool:
    """An empty line, or one of blanks only; in a table of one column, two double quotes are a missing value."""
    return not record or (len(record) == 1 and (record[0].isspace() or (not single and record[0] == "")))


def _has_one_line_end(plain: Path) -> bool:
    """Whether all line ends are alike, inside of quotes too.

    Where they are not, DuckDB 2.0 has dropped rows, or the first letter of one, without a word.
    """
    pairs = returns = feeds = 0
    with plain.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            if chunk.endswith(b"\r"):
                chunk += stream.read(1)
            pairs += chunk.count(b"\r\n")
            returns += chunk.count(b"\r")
            feeds += chunk.count(b"\n")
    return [pairs > 0, returns > pairs, feeds > pairs].count(True) <= 1


def _decoded(data: bytes, encoding: str, file: Path, *, told: bool) -> str:
    try:
        decoder = codecs.getincrementaldecoder(encoding)("strict")
    except LookupError as error:
        raise UsageError(f"The encoding {encoding!r} is not known.", "Usual ones: utf-8, latin-1, cp1252.") from error
    whole = len(data) < SAMPLE_BYTES
    try:
        text = decoder.decode(data, final=whole)
    except UnicodeDecodeError as error:
        raise wrong_encoding(file, encoding, data[: error.start].count(b"\n") + 1, told=told) from error
    if "\0" in text:
        raise DataError(f"{file.name} holds zero bytes: it is not text.", "Give a CSV, TSV, Parquet or JSON file.")
    # A record cut in two would look like one with too few columns.
    return text if whole else text[: text.rfind("\n") + 1] or text


def _records(text: str, delimiter: str, most: int) -> list[list[str]]:
    records: list[list[str]] = []
    try:
        for record in _reader(io.StringIO(text, newline=""), delimiter, strict=False):
            if not _is_blank(record):
                records.append([cell.strip() for cell in record])
            if len(records) == most:
                break
    except csv.Error:
        # A cell too long for Python's reader; what was read so far is enough to judge by.
        pass
    return records


def _best_delimiter(text: str, file: Path) -> str:
    """The one that cuts the most lines into the same number of cells, then into cells free of other delimiters."""
    is_tsv = ".tsv" in file.suffixes or ".tab" in file.suffixes
    best, best_score = "\t" if is_tsv else ",", (0.0, 0.0, 0)
    for delimiter in ("\t", ",", ";", "|") if is_tsv else DELIMITERS:
        records = _records(text, delimiter, SAMPLE_RECORDS)
        if not records:
            continue
        width, count = Counter(map(len, records)).most_common(1)[0]
        if width == 1:
            continue
        cells = [cell for record in records for cell in record]
        clean = sum(1 for cell in cells if not any(d in cell for d in DELIMITERS) or _NUMBER.fullmatch(cell))
        score = (round(count / len(records), 2), round(clean / len(cells), 2), width)
        if score > best_score:
            best, best_score = delimiter, score
    return best


def _looks_like_header(records: list[list[str]], missing: frozenset[str]) -> bool:
    """A header has a word above a column of numbers, or holds words only."""
    first, rest = records[0], records[1:]
    is_number = [_NUMBER.fullmatch(cell) is not None for cell in first]
    for i, cell in enumerate(first):
        below = [record[i] for record in rest if i < len(record) and record[i] not in missing and record[i]]
        if not is_number[i] and cell not in missing and cell and below and all(map(_NUMBER.fullmatch, below)):
            return True
    return not any(is_number)


def _names(first: list[str], file: Path) -> tuple[tuple[str, ...], int]:
    names = [cell or f"column_{i + 1}" for i, cell in enumerate(first)]
    for name, count in Counter(names).items():
        if count > 1:
            where = [str(i + 1) for i, other in enumerate(names) if other == name]
            raise DataError(
                f"{file.name}, line 1: {count} columns are called {name!r} (columns {', '.join(where)}).",
                "Rename them. If the first line is a row and no header, read it with read_table(path, header=False).",
            )
    return tuple(names), sum(1 for cell in first if not cell)
