"""What the cells of delimited text are taken for, and what is refused rather than guessed."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tonari.base.errors import DataError
from tonari.tables import Table, read_table


def read(tmp_path: Path, content: str, **options: Any) -> Table:
    path = tmp_path / "a.csv"
    path.write_text(content, encoding="utf-8", newline="")
    return read_table(path, **options)


def column(tmp_path: Path, cells: list[str], **options: Any) -> tuple[Table, list[Any]]:
    table = read(tmp_path, "x,row\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(cells)), **options)
    return table, table.columns["x"].tolist()


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1", "-2", "+3"], [1.0, -2.0, 3.0]),
        (["1.", ".5", "1e3", "2E-2", "1.5e+1"], [1.0, 0.5, 1000.0, 0.02, 15.0]),
        ([" 1", "2 ", " 3 "], [1.0, 2.0, 3.0]),
        (["0", "-0.0", "0.5"], [0.0, 0.0, 0.5]),
        (["0.1", "1234567.891", "2.5e-308"], [0.1, 1234567.891, 2.5e-308]),
    ],
)
def test_numbers(tmp_path: Path, cells: list[str], values: list[float]) -> None:
    table, found = column(tmp_path, cells)
    assert table.kinds["x"] == "numeric"
    assert found == values


@pytest.mark.parametrize("odd", ["0x1F", "1_000", "1 000", "5%", "+-1", "1e", "--1", "٣", "1/2", "$5", "a"])
def test_what_is_almost_a_number_is_text(tmp_path: Path, odd: str) -> None:
    table, found = column(tmp_path, [odd, "2"])
    assert table.kinds["x"] == "categorical"
    assert found == [odd, "2"]


def test_every_row_decides(tmp_path: Path) -> None:
    """Trap 5: a type guessed from the first rows."""
    table, found = column(tmp_path, [*map(str, range(30_000)), "many"])
    assert table.kinds["x"] == "categorical"
    assert found[-1] == "many"
    assert table.notes["x"] == (
        "Column 'x' is taken as categories although 30,000 of its 30,001 values are numbers: "
        "a.csv, line 30002 holds 'many'.",
    )


@pytest.mark.parametrize("cells", [["1,5", "2"], ["0,5", ",25"], ["1,234,567.8", "2"], ["1,5e3", "-2,0"]])
def test_decimal_commas_are_refused_not_guessed(tmp_path: Path, cells: list[str]) -> None:
    """Trap 5: decimal commas by locale."""
    with pytest.raises(DataError, match=r"a\.csv: column 'x' holds numbers with a comma, as in .*decimal=','"):
        column(tmp_path, [f'"{cell}"' for cell in cells])


def test_decimal_commas_when_said(tmp_path: Path) -> None:
    table = read(tmp_path, "x;y\n1,5;a\n-2;b\n,5e1;c\n", decimal=",")
    assert table.columns["x"].tolist() == [1.5, -2.0, 5.0]
    with pytest.raises(DataError, match=r"holds numbers with a point, as in '1\.5'"):
        read(tmp_path, "x;y\n1.5;a\n2;b\n", decimal=",")
    with pytest.raises(DataError, match="holds numbers with a point"):
        read(tmp_path, "x;y\n1.234,5;a\n2;b\n", decimal=",")


def test_cells_with_commas_may_be_text(tmp_path: Path) -> None:
    table = read(tmp_path, 'x,y\n"1,2",a\n"3",b\n', kinds={"x": "categorical"})
    assert table.columns["x"].tolist() == ["1,2", "3"]


@pytest.mark.parametrize(
    "mark", ["", '""', "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "<NA>", "?", " ? "]
)
def test_missing_values(tmp_path: Path, mark: str) -> None:
    table, found = column(tmp_path, ["1", mark, "3"])
    assert table.kinds["x"] == "numeric"
    assert math.isnan(found[1])
    assert [found[0], found[2]] == [1.0, 3.0]
    table, found = column(tmp_path, ["a", mark, "b"])
    assert found == ["a", None, "b"]
    written = mark.strip().strip('"')
    assert ("x" in table.notes) == bool(written)
    assert not written or f"1 cell such as {written!r} read as missing" in table.notes["x"][0]


def test_none_is_a_category(tmp_path: Path) -> None:
    """Surveys and catalogues write None, and mean it."""
    assert column(tmp_path, ["None", "none", "-"])[1] == ["None", "none", "-"]


def test_missing_marks_can_be_said(tmp_path: Path) -> None:
    _, found = column(tmp_path, ["1", "-99", "3"], missing=["-99"])
    assert math.isnan(found[1])
    assert column(tmp_path, ["NA", "DE", ""], missing=[])[1] == ["NA", "DE", None]
    assert column(tmp_path, ["it's", "{c}", "%s", "b"], missing=["it's", "{c}", "%s"])[1] == [None, None, None, "b"]


def test_columns_without_values_are_kept_for_the_schema_to_drop(tmp_path: Path) -> None:
    table, found = column(tmp_path, ["", "NA"])
    assert table.kinds["x"] == "numeric"
    assert all(map(math.isnan, found))


@pytest.mark.parametrize("cells", [["true", "false"], ["TRUE", "FALSE"], ["True", "false"]])
def test_booleans(tmp_path: Path, cells: list[str]) -> None:
    table, found = column(tmp_path, [*cells, ""])
    assert table.origins["x"] == "boolean"
    assert found == ["true", "false", None]


def test_codes_keep_their_zeros(tmp_path: Path) -> None:
    """Trap 5: 01234 is a postcode and not a number."""
    table, found = column(tmp_path, ["01234", "99999"])
    assert found == ["01234", "99999"]
    assert "leading zeros" in table.notes["x"][0]
    assert column(tmp_path, ["01234", "99999"], kinds={"x": "numeric"})[1] == [1234.0, 99999.0]


def test_whole_numbers_beyond_float64_are_noted(tmp_path: Path) -> None:
    """Trap 5."""
    table, found = column(tmp_path, ["9007199254740993", "1"])
    assert found == [9007199254740992.0, 1.0]
    assert "2^53" in table.notes["x"][0]
    assert "x" not in column(tmp_path, ["9007199254740991", "1e20", "0.1234567890123456"])[0].notes


@pytest.mark.parametrize(
    "cells",
    [
        ["2020-01-31", "2021-12-01"],
        ["2020-01-31 10:00:00", "2020-01-31T11:00"],
        ["31.01.2020", "1.2.20"],
        ["1/31/2020", "12/1/20"],
    ],
)
def test_dates_are_never_numbers(tmp_path: Path, cells: list[str]) -> None:
    table, found = column(tmp_path, cells)
    assert (table.kinds["x"], table.origins["x"]) == ("categorical", "date")
    assert found == cells


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n1,2,3\n1,2\n", r"a\.csv, line 3: expected 2 columns, found 3"),
        ("a,b,c\n1,2,3\n1,2\n", r"a\.csv, line 3: expected 3 columns, found 2"),
        ('a,b,c\n"x\ny",2,3\n\n1,2\n', r"a\.csv, line 5: expected 3 columns, found 2"),
        ('a,b\n1,2\n1,"x\n2,y\n', r"a\.csv, line 3: a double quote is opened and never closed"),
        ('a,b\n1,"x"y\n2,z\n', r"a\.csv, line 2: .*expected after"),
    ],
)
def test_unreadable_rows_are_named_by_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, text)


def test_an_empty_last_cell_is_forgiven(tmp_path: Path) -> None:
    assert read(tmp_path, "a,b\n1,2,\n3,4,\n").columns["b"].tolist() == [2.0, 4.0]
    assert read(tmp_path, "a,b\r\n1,2,\n3,4,\r\n").columns["b"].tolist() == [2.0, 4.0]


def test_quotes(tmp_path: Path) -> None:
    table = read(tmp_path, 'a,b\n"x, ""y""\nz",1\n5" pipe,2\n')
    assert table.columns["a"].tolist() == ['x, "y"\nz', '5" pipe']
    assert table.place(1) == "a.csv, line 4"


def test_nasty_column_names(tmp_path: Path) -> None:
    """Trap 18: column names in SQL."""
    names = ["a'; DROP TABLE raw; --", 'b"q', "c%s{}", "d\n2", "SELECT", "c0", "隣", "x, y"]
    path = tmp_path / "a.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([names, [str(i) for i in range(len(names))], ["x"] * len(names)])
    table = read_table(path)
    assert table.names == names
    assert [table.columns[name][0] for name in names] == [str(i) for i in range(len(names))]


def test_kinds_that_are_said(tmp_path: Path) -> None:
    table, found = column(tmp_path, ["1", "2", ""], kinds={"x": "categorical", "no such column": "numeric"})
    assert (table.kinds["x"], found) == ("categorical", ["1", "2", None])
    assert column(tmp_path, ["True", "1.50"], kinds={"x": "categorical"})[1] == ["True", "1.50"]
    with pytest.raises(DataError, match=r"a\.csv, line 4: column 'x' holds 'oops' where a number is expected"):
        column(tmp_path, ["1", "", "oops"], kinds={"x": "numeric"})


def test_rows_keep_their_order(tmp_path: Path) -> None:
    """Enough rows for several threads: numbers, text and numbers among text stand where they stood."""
    rows = 150_000
    path = tmp_path / "a.csv"
    numbers = np.arange(rows)
    with path.open("w", encoding="utf-8") as stream:
        stream.write("i,t,m\n")
        stream.writelines(f"{i},t{i % 1000},{'?' if i % 7 == 0 else i * 2}\n" for i in numbers)
    table = read_table(path)
    np.testing.assert_array_equal(table.columns["i"], numbers)
    assert table.columns["t"].tolist() == [f"t{i % 1000}" for i in numbers]
    np.testing.assert_array_equal(table.columns["m"], np.where(numbers % 7 == 0, np.nan, numbers * 2.0))


def test_many_columns(tmp_path: Path) -> None:
    """DuckDB plans in time quadratic in the expressions of a statement: 1,000 columns once took minutes."""
    cells = [[f"{r}.{c}" if c % 3 else f"t{r}" for c in range(1000)] for r in range(3)]
    path = tmp_path / "a.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([[f"n{c}" for c in range(1000)], *cells])
    table = read_table(path)
    assert table.columns["n0"].tolist() == ["t0", "t1", "t2"]
    for c in (1, 500, 998):
        assert table.columns[f"n{c}"].tolist() == [float(row[c]) for row in cells]


CELLS = st.text(
    st.one_of(st.sampled_from(" ,;\"'\n\r\t#\\é"), st.characters(codec="utf-8", exclude_characters="\0")), max_size=8
)
ROWS = st.tuples(CELLS, st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["\n", "\n", "\r\n", "\r"]))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ROWS, min_size=1, max_size=8), st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]))
def test_any_text_and_any_number_come_back(tmp_path: Path, rows: list[tuple[str, float, str]], quoting: Any) -> None:
    """Against Python's own writer: text apart from the blanks around it, numbers to the last bit."""
    path = tmp_path / "a.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, lineterminator="\n").writerow(["text", "number"])
        for text, number, end in rows:
            # Python's writer quotes only its own kind of line end.
            how = csv.QUOTE_ALL if {"\n", "\r"} & set(text) else quoting
            csv.writer(stream, quoting=how, lineterminator=end).writerow([text, repr(number)])
    table = read_table(path, header=True, delimiter=",", missing=[], kinds={"text": "categorical"})
    assert table.columns["text"].tolist() == [text.strip(" ") or None for text, _, _ in rows]
    assert table.columns["number"].tolist() == [number for _, number, _ in rows]
