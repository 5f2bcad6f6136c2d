"""Parquet and JSON: files that say what their columns hold."""

from __future__ import annotations

import datetime
import json
import math
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tonari.base.errors import DataError
from tonari.tables import Schema, Table, read_table


def parquet(path: Path, query: str) -> Path:
    literal = str(path).replace("'", "''")
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({query}) TO '{literal}' (FORMAT parquet)")
    return path


def read_json(tmp_path: Path, content: Any, name: str = "a.json") -> Table:
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return read_table(path)


def test_parquet_types(tmp_path: Path) -> None:
    query = """
        SELECT 1::TINYINT AS i8, 300::USMALLINT AS u16, 1.5::FLOAT AS f4, 0.1::DOUBLE AS f8,
               12.25::DECIMAL(10, 2) AS dec, true AS yes, 'x' AS t, DATE '2020-01-02' AS d,
               TIMESTAMP '2020-01-02 03:04:05' AS ts, TIME '01:02:03' AS tm, uuid() AS u,
               'lo'::ENUM('lo', 'hi') AS e, [1, 2] AS l, {'a': 1} AS s, map([1], [2]) AS m, 'raw'::BLOB AS b
        UNION ALL
        SELECT NULL, 400, 'nan'::FLOAT, NULL, NULL, false, '', NULL, NULL, NULL, NULL, 'hi', NULL, NULL, NULL, 'w'
    """
    table = read_table(parquet(tmp_path / "a.parquet", query))
    kinds = "".join(table.kinds[name][0] for name in table.names)
    assert dict(zip(table.names, kinds, strict=True)) == {
        "i8": "n", "u16": "n", "f4": "n", "f8": "n", "dec": "n", "yes": "c", "t": "c", "d": "c", "ts": "c", "tm": "c",
        "u": "c", "e": "c", "b": "c",
    }  # fmt: skip
    first = {name: table.columns[name][0] for name in table.names if name != "u"}
    assert first == {
        "i8": 1.0, "u16": 300.0, "f4": 1.5, "f8": 0.1, "dec": 12.25, "yes": "true", "t": "x", "d": "2020-01-02",
        "ts": "2020-01-02 03:04:05", "tm": "01:02:03", "e": "lo", "b": "raw",
    }  # fmt: skip
    assert math.isnan(table.columns["i8"][1])
    assert math.isnan(table.columns["f4"][1])
    assert [table.columns[name][1] for name in ("yes", "t", "d", "e")] == ["false", None, None, "hi"]
    assert [name for name in ("d", "ts", "tm") if table.origins[name] == "date"] == ["d", "ts", "tm"]
    assert table.origins["yes"] == "boolean"
    assert {name for name, notes in table.notes.items() if "left out" in notes[0]} == {"l", "s", "m"}


def test_parquet_is_told_by_content(tmp_path: Path) -> None:
    assert read_table(parquet(tmp_path / "table.data", "SELECT 1 AS a")).names == ["a"]
    (tmp_path / "b.parquet").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=r"b\.parquet is not a Parquet file"):
        read_table(tmp_path / "b.parquet")
    (tmp_path / "c.parquet").write_bytes(b"PAR1" + b"\0" * 40 + b"PAR1")
    with pytest.raises(DataError, match=r"c\.parquet cannot be read"):
        read_table(tmp_path / "c.parquet")


def test_a_folder_called_year_adds_no_column(tmp_path: Path) -> None:
    folder = tmp_path / "year=2020"
    folder.mkdir()
    assert read_table(parquet(folder / "a.parquet", "SELECT 1 AS a")).names == ["a"]


def test_a_name_with_wildcards_opens_no_other_file(tmp_path: Path) -> None:
    """Trap 18."""
    parquet(tmp_path / "p1x.parquet", "SELECT 9 AS a")
    chosen = parquet(tmp_path / "plain.parquet", "SELECT 1 AS a").rename(tmp_path / "p[1]*.parquet")
    assert read_table(chosen).columns["a"].tolist() == [1.0]


def test_rows_keep_their_order(tmp_path: Path) -> None:
    table = read_table(
        parquet(tmp_path / "a.parquet", "SELECT i, 't' || (i % 7) AS t FROM range(300000) r(i) ORDER BY i")
    )
    assert (table.columns["i"] == range(300_000)).all()
    assert table.columns["t"].tolist() == [f"t{i % 7}" for i in range(300_000)]


def test_whole_numbers_beyond_float64_are_noted(tmp_path: Path) -> None:
    """Trap 5."""
    table = read_table(parquet(tmp_path / "a.parquet", "SELECT 9007199254740993 AS a, 1e300 AS b, 7 AS c"))
    assert list(table.notes) == ["a"]
    assert "2^53" in table.notes["a"][0]


def test_kinds_that_are_said(tmp_path: Path) -> None:
    """Whole numbers keep all digits as categories, and speak as they do in CSV."""
    path = parquet(tmp_path / "a.parquet", "SELECT 9007199254740993 AS a, 2.0::DOUBLE AS b, 2.5::DOUBLE AS c")
    table = read_table(path, kinds={"a": "categorical", "b": "categorical", "c": "categorical"})
    assert [table.columns[name][0] for name in "abc"] == ["9007199254740993", "2", "2.5"]


@pytest.mark.parametrize("lines", [True, False])
def test_json_records(tmp_path: Path, lines: bool) -> None:
    records = [
        {"size": 1, "share": 0.5, "ok": True, "kind": "a", "day": "2020-01-31", "deep": {"x": 1}, "code": "007"},
        {"size": None, "share": 2, "ok": False, "kind": "", "day": "2020-02-01", "deep": None, "code": "1"},
    ]
    content = "\n".join(map(json.dumps, records)) if lines else json.dumps(records)
    table = read_json(tmp_path, content, "a.jsonl" if lines else "a.json")
    assert table.columns["share"].tolist() == [0.5, 2.0]
    assert table.columns["size"][0] == 1
    assert math.isnan(table.columns["size"][1])
    assert table.columns["ok"].tolist() == ["true", "false"]
    assert table.columns["kind"].tolist() == ["a", None]
    assert table.columns["day"].tolist() == ["2020-01-31", "2020-02-01"]
    assert table.columns["code"].tolist() == ["007", "1"]
    assert list(table.notes) == ["deep"]


def test_json_of_many_like_fields_is_a_table(tmp_path: Path) -> None:
    """DuckDB takes records of 200 fields of one type, or of sparse ones, for a single column of maps."""
    assert len(read_json(tmp_path, [{f"x{i}": i for i in range(300)}] * 2).names) == 300
    assert len(read_json(tmp_path, [{f"x{i}": i} for i in range(100)]).names) == 100


def test_json_that_mixes(tmp_path: Path) -> None:
    table = read_json(tmp_path, [{"a": 1, "n": None}, {"a": "x"}, {"a": True, "n": None}])
    assert table.columns["a"].tolist() == ["1", "x", "true"]
    assert table.kinds["n"] == "numeric"
    assert "a" in read_json(tmp_path, [{"a": 1, "b": 2}, {"a": {"b": 1}, "b": 2}]).notes


def test_json_rows_keep_their_order(tmp_path: Path) -> None:
    lines = "\n".join(f'{{"i": {i}, "t": "t{i}"}}' for i in range(100_000))
    table = read_json(tmp_path, lines, "a.ndjson")
    assert (table.columns["i"] == range(100_000)).all()
    assert table.columns["t"][99_999] == "t99999"


@pytest.mark.parametrize("content", ["3", "[1, 2]", "[]", "", '[{"a": 1}, 3]', '"a"'])
def test_json_that_is_no_table(tmp_path: Path, content: str) -> None:
    with pytest.raises(DataError, match=r"a\.json does not hold rows\. Write a list of records"):
        read_json(tmp_path, content)


@pytest.mark.parametrize(
    "content", ['[{"a": 1}, {"a":', '{"a": 1}\n{"a":\n{"a": 3}\n', '[{"a": 1, "a": 2}]', "{'a': 1}"]
)
def test_damaged_json(tmp_path: Path, content: str) -> None:
    with pytest.raises(DataError, match=r"a\.json (cannot be read|does not hold rows)") as caught:
        read_json(tmp_path, content)
    assert str(tmp_path) not in str(caught.value)


def test_names_that_differ_in_case_only(tmp_path: Path) -> None:
    """DuckDB would call the second one Size_1 without a word."""
    with pytest.raises(DataError, match=r"a\.json has several columns called 'Size'"):
        read_json(tmp_path, [{"size": 1, "Size": 2}])
    assert read_json(tmp_path, [{"size": 1, "size_1": 2, "Size_2": 3}]).names == ["size", "size_1", "Size_2"]
    path = parquet(tmp_path / "a.parquet", "SELECT 1 AS size, 2 AS size_1")
    assert read_table(path).names == ["size", "size_1"]


def test_nasty_column_names(tmp_path: Path) -> None:
    """Trap 18: column names in SQL."""
    names = ['a"; DROP TABLE raw; --', "b'c", "d%s{}", "line\nend", "隣", "SELECT"]
    table = read_json(tmp_path, [dict(zip(names, range(6), strict=True)), dict.fromkeys(names, 7)])
    assert table.names == names
    assert [table.columns[name][0] for name in names] == list(range(6))


def test_dates_speak_alike_in_csv_json_and_parquet(tmp_path: Path) -> None:
    day = datetime.date(2020, 1, 31)
    (tmp_path / "a.csv").write_text(f"day,x\n{day},1\n{day},2\n")
    tables = [
        read_table(tmp_path / "a.csv"),
        read_json(tmp_path, [{"day": str(day), "x": 1}, {"day": str(day), "x": 2}]),
        read_table(parquet(tmp_path / "a.parquet", f"SELECT DATE '{day}' AS day, x FROM (VALUES (1), (2)) v(x)")),
        Table.from_frame({"day": [day, day], "x": [1, 2]}),
    ]
    assert {(table.columns["day"][1], table.origins["day"]) for table in tables} == {("2020-01-31", "date")}
    assert len({tuple(Schema.learn(table).names) for table in tables}) == 1
