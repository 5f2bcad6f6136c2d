"""Which file is opened, and as what: names that are patterns or SQL, compression, folders, no network."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tonari.base.errors import DataError, UsageError
from tonari.tables import read_table
from tonari.tables.read import _connected

PLAIN = "size,kind\n1,a\n2,b\n"


def write(path: Path, text: str | bytes = PLAIN) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    "name",
    [
        "plain.csv", "plain.data", "no_extension", "quote'd.csv", 'double"quote.csv', "a; DROP TABLE raw; --.csv",
        "100%s {}.csv", "ünïcode 隣.csv", "new\nline.csv", "year=2020/table.csv", "~home.csv", "s3:/bucket/a.csv",
    ],
)  # fmt: skip
@pytest.mark.skipif(sys.platform == "win32", reason="Windows forbids most of these names")
def test_any_file_name_is_only_a_name(tmp_path: Path, name: str) -> None:
    """Trap 18: names in SQL; and folders like year=2020 must not become columns."""
    table = read_table(write(tmp_path / name))
    assert table.names == ["size", "kind"]
    assert table.columns["size"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("folder", ["", "[1]*"])
@pytest.mark.skipif(sys.platform == "win32", reason="Windows forbids these names")
def test_a_name_with_wildcards_opens_no_other_file(tmp_path: Path, folder: str) -> None:
    """Trap 18: DuckDB would take part[1]*.csv for a pattern and read part1x.csv."""
    write(tmp_path / folder / "part1x.csv", "size,kind\n9,z\n")
    table = read_table(write(tmp_path / folder / "part[1]*.csv"))
    assert table.columns["size"].tolist() == [1.0, 2.0]


def test_relative_paths_and_text_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "a.csv")
    monkeypatch.chdir(tmp_path)
    assert read_table("a.csv").n_rows == read_table(Path("a.csv")).n_rows == 2
    assert read_table("a.csv").source == "a.csv"


def test_gzip_is_told_by_content(tmp_path: Path) -> None:
    packed = gzip.compress(PLAIN.encode())
    for name in ("a.csv.gz", "a.csv", "a.bin"):
        assert read_table(write(tmp_path / name, packed)).columns["kind"].tolist() == ["a", "b"]
    assert read_table(write(tmp_path / "named.csv.gz")).n_rows == 2
    assert read_table(write(tmp_path / "a.json.gz", gzip.compress(b'[{"size": 1}]'))).n_rows == 1


@pytest.mark.parametrize("harm", ["cut", "cut trailer", "checksum", "flipped", "garbage after"])
def test_damaged_gzip_is_refused(tmp_path: Path, harm: str) -> None:
    """DuckDB 1.1 reads a gzip file that was cut short as a shorter table, and no version compares the checksum."""
    packed = gzip.compress(("size\n" + "".join(f"{i}\n" for i in range(5000))).encode(), mtime=0)
    middle = len(packed) // 2
    harmed = {
        "cut": packed[:middle],
        "cut trailer": packed[:-4],
        "checksum": packed[:-8] + b"\0\0\0\0" + packed[-4:],
        "flipped": packed[:middle] + bytes([packed[middle] ^ 255]) + packed[middle + 1 :],
        "garbage after": packed + b"junk",
    }[harm]
    with pytest.raises(DataError, match=r"a\.csv\.gz is a damaged gzip file"):
        read_table(write(tmp_path / "a.csv.gz", harmed))


def test_missing_files_say_what_is_there(tmp_path: Path) -> None:
    write(tmp_path / "iris.csv")
    with pytest.raises(DataError, match=r"There is no file .*irsi\.csv\. Did you mean 'iris\.csv'\?") as caught:
        read_table(tmp_path / "irsi.csv")
    assert caught.value.exit_code == 3
    with pytest.raises(DataError, match=r"there is no folder .*nowhere"):
        read_table(tmp_path / "nowhere" / "iris.csv")
    with pytest.raises(DataError, match="is a folder"):
        read_table(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="no such device")
def test_a_device_is_not_read() -> None:
    with pytest.raises(DataError, match="not a regular file"):
        read_table(os.devnull)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"PK\x03\x04rest", "Excel workbook"),
        (b"\xd0\xcf\x11\xe0rest", "old Excel"),
        (b"SQLite format 3\0rest", "SQLite"),
        (b"\x28\xb5\x2f\xfdrest", "zstd"),
        (b"BZh9rest", "bzip2"),
        (b"\xfd7zXZ\0rest", "xz"),
        (b"<!DOCTYPE html><title>404</title>", "web page"),
        (b"% from Weka\n\n@RELATION iris\n@ATTRIBUTE a NUMERIC\n", "ARFF"),
        (b"a,b\n1,\x00\n", "zero bytes"),
        (b"", "empty"),
        (b"\n \n\r\n", "empty"),
        (b"size,kind\n", "no rows"),
        (b"size,kind", "no rows"),
    ],
)
def test_what_is_no_table_is_named(tmp_path: Path, content: bytes, what: str) -> None:
    with pytest.raises(DataError, match=what):
        read_table(write(tmp_path / "a.csv", content))


def test_options_are_checked(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv")
    with pytest.raises(UsageError, match="decimal='x'"):
        read_table(path, decimal="x")
    with pytest.raises(UsageError, match="kind 'text'"):
        read_table(path, kinds={"size": "text"})  # type: ignore[dict-item]
    for delimiter in ("", ",,", '"', "\n"):
        with pytest.raises(UsageError, match="delimiter"):
            read_table(path, delimiter=delimiter)
    with pytest.raises(UsageError, match="klingon"):
        read_table(path, encoding="klingon")


def test_the_parser_fetches_nothing_and_sees_no_python() -> None:
    """No extension is loaded from the network or the home folder, and a Python variable is no table."""
    secret = {"a": [1]}  # noqa: F841
    with _connected() as connection:
        query = "SELECT name, value FROM duckdb_settings() WHERE name LIKE 'auto%extensions' OR name LIKE '%community%'"
        settings = dict(connection.execute(query).fetchall())
        assert settings
        assert set(settings.values()) == {"false"}
        with pytest.raises(Exception, match="secret"):
            connection.execute("SELECT * FROM secret")


def test_libraries_are_imported_late(tmp_path: Path) -> None:
    """`tonari.tables` needs none of them; reading needs DuckDB, and works where there is no pandas."""
    code = (
        "import sys; sys.modules['pandas'] = None\n"
        "import tonari.tables; assert not {'duckdb', 'polars', 'rich'} & set(sys.modules)\n"
        "assert tonari.tables.read_table(sys.argv[1]).n_rows == 2"
    )
    subprocess.run([sys.executable, "-c", code, str(write(tmp_path / "a.csv"))], check=True)
