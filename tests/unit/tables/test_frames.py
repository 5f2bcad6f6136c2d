"""Tables in memory: pandas, polars, mappings, arrays. Each gives the table that the file of it would give."""

from __future__ import annotations

import datetime
import decimal
import math
from typing import Any

import numpy as np
import pytest

from tonari.base.errors import DataError, UsageError
from tonari.tables import Table
from tonari.tables.frames import label


def only(values: Any, **options: Any) -> tuple[str, str, list[Any]]:
    table = Table.from_frame({"x": values}, **options)
    found = table.columns["x"]
    assert found.dtype == (np.float64 if table.kinds["x"] == "numeric" else object)
    return table.kinds["x"], table.origins["x"], [None if v is None or v != v else v for v in found.tolist()]


NUMBERS = ("numeric", "number")
TEXT = ("categorical", "text")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2.5, None], (*NUMBERS, [1.0, 2.5, None])),
        ([1, float("nan"), True], (*TEXT, ["1", None, "true"])),
        ([True, None, False], ("categorical", "boolean", ["true", None, "false"])),
        (["a", "", None], (*TEXT, ["a", None, None])),
        ([decimal.Decimal("1.5"), decimal.Decimal("NaN")], (*NUMBERS, [1.5, None])),
        ([None, None], (*NUMBERS, [None, None])),
        ([1, "a", 2.0], (*TEXT, ["1", "a", "2"])),
        ([b"a", b""], (*TEXT, ["a", None])),
        ([10**400, 1], (*NUMBERS, [math.inf, 1.0])),
        ([datetime.date(2020, 1, 2), None], ("categorical", "date", ["2020-01-02", None])),
        ((1, 2), (*NUMBERS, [1.0, 2.0])),
        (np.array([1, 2], dtype=np.uint8), (*NUMBERS, [1.0, 2.0])),
        (np.array([1.5, np.nan], dtype=np.float32), (*NUMBERS, [1.5, None])),
        (np.array([True, False]), ("categorical", "boolean", ["true", "false"])),
        (np.array(["a", ""]), (*TEXT, ["a", None])),
        (np.ma.array([1, 2], mask=[True, False]), (*NUMBERS, [None, 2.0])),
        (np.ma.array(["a", "b"], mask=[True, False]), (*TEXT, [None, "b"])),
        (np.array(["2020-01-02", "NaT"], dtype="M8[D]"), ("categorical", "date", ["2020-01-02", None])),
        (np.array(["2020-01-02T03:04:05"], dtype="M8[ns]"), ("categorical", "date", ["2020-01-02 03:04:05"])),
        (range(2), (*NUMBERS, [0.0, 1.0])),
        ([], (*NUMBERS, [])),
    ],
)
def test_sequences(values: Any, expected: tuple[str, str, list[Any]]) -> None:
    assert only(values) == expected


def test_mixed_values_are_noted() -> None:
    """Trap 5."""
    assert Table.from_frame({"x": [1, "a"]}).notes == {
        "x": ("Column 'x' mixes number and text values: taken as categories.",)
    }


def test_whole_numbers_beyond_float64_are_noted() -> None:
    """Trap 5."""
    frame = {"a": [2**53 + 1, 1], "b": np.array([2**60]).repeat(2), "c": [1e300, 1], "d": [2**53 - 1, 0]}
    assert list(Table.from_frame(frame).notes) == ["a", "b"]


def test_lists_and_records_are_left_out() -> None:
    table = Table.from_frame({"x": [1, 2], "deep": [[1], None], "deeper": [{"a": 1}, None]})
    assert table.names == ["x"]
    assert set(table.notes) == {"deep", "deeper"}


def test_kinds_that_are_said() -> None:
    assert only([1, 2.0, None], kinds={"x": "categorical"}) == (*TEXT, ["1", "2", None])
    with pytest.raises(DataError, match="'x' of the table does not hold numbers"):
        only(["a"], kinds={"x": "numeric"})


@pytest.mark.parametrize("values", ["abc", {"a": 1}, 3, np.zeros((2, 2)), np.array(3)])
def test_what_is_no_column(values: Any) -> None:
    with pytest.raises(UsageError, match="not one sequence"):
        Table.from_frame({"x": values})
    with pytest.raises(DataError, match="complex"):
        Table.from_frame({"x": np.array([1j])})


def test_arrays() -> None:
    table = Table.from_frame(np.array([[1, 2], [3, 4]]), names=["a", "b"])
    assert {name: table.columns[name].tolist() for name in table.names} == {"a": [1.0, 3.0], "b": [2.0, 4.0]}
    assert Table.from_frame(np.zeros((2, 2))).names == ["x0", "x1"]
    records = np.array([(1, "a"), (2, "b")], dtype=[("n", "i4"), ("t", "U1")])
    table = Table.from_frame(records)
    assert (table.columns["n"].tolist(), table.columns["t"].tolist()) == ([1.0, 2.0], ["a", "b"])
    objects = np.array([[1, "a"], [2, "b"]], dtype=object)
    assert list(Table.from_frame(objects).kinds.values()) == ["numeric", "categorical"]


def test_the_array_of_the_caller_is_neither_shared_nor_changed() -> None:
    values = np.array([1.0, 2.0])
    table = Table.from_frame({"x": values})
    values[0] = 9
    assert table.columns["x"].tolist() == [1.0, 2.0]


def test_what_is_no_table() -> None:
    for frame in ([[1, 2]], "a.csv", None, np.zeros(3), np.zeros((1, 1, 1))):
        with pytest.raises(UsageError):
            Table.from_frame(frame)
    with pytest.raises(UsageError, match="1 names were given for an array of 2 columns"):
        Table.from_frame(np.zeros((2, 2)), names=["a"])
    with pytest.raises(UsageError, match="its own"):
        Table.from_frame({"a": [1]}, names=["b"])
    with pytest.raises(DataError, match="differ in length"):
        Table.from_frame({"a": [1, 2], "b": [1]})


def test_two_columns_of_one_name() -> None:
    with pytest.raises(DataError, match="Two columns of here are called '1'"):
        Table.from_frame({1: [1], "1": [2]}, source="here")


def test_a_table_is_itself() -> None:
    table = Table.from_frame({"a": [1]})
    assert Table.from_frame(table) is table


def test_pandas() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "int": [1, 2, 3],
            "nullable": pd.array([1, None, 3], dtype="Int64"),
            "float": [0.5, np.nan, 2],
            "float32": pd.array([0.5, None, 2], dtype="Float32"),
            "bool": [True, False, True],
            "boolean": pd.array([True, None, False], dtype="boolean"),
            "text": ["a", None, ""],
            "string": pd.array(["a", None, "b"], dtype="string"),
            "category": pd.Categorical(["lo", None, "hi"], categories=["lo", "mid", "hi"]),
            "numbered": pd.Categorical([1.0, 2.5, 1.0]),
            "time": pd.to_datetime(["2020-01-02 00:00:00", None, "2020-01-03 01:02:03"]),
            "span": pd.to_timedelta([1, 2, None], unit="D"),
            "object": np.array([1, 2.5, None], dtype=object),
            "sparse": pd.arrays.SparseArray([0.0, 1.0, 0.0]),
        },
        index=[7, 7, 9],
    )
    table = Table.from_frame(frame)
    found = {name: [None if v is None or v != v else v for v in table.columns[name].tolist()] for name in table.names}
    assert found == {
        "int": [1.0, 2.0, 3.0], "nullable": [1.0, None, 3.0], "float": [0.5, None, 2.0], "float32": [0.5, None, 2.0],
        "bool": ["true", "false", "true"], "boolean": ["true", None, "false"], "text": ["a", None, None],
        "string": ["a", None, "b"], "category": ["lo", None, "hi"], "numbered": ["1", "2.5", "1"],
        "time": ["2020-01-02 00:00:00", None, "2020-01-03 01:02:03"],
        "span": ["1 days 00:00:00", "2 days 00:00:00", None],
        "object": [1.0, 2.5, None], "sparse": [0.0, 1.0, 0.0],
    }  # fmt: skip
    assert {name for name, origin in table.origins.items() if origin == "date"} == {"time", "span"}
    assert Table.from_frame(pd.DataFrame(np.zeros((2, 2)))).names == ["0", "1"]
    with pytest.raises(DataError, match="Two columns"):
        Table.from_frame(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_polars() -> None:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(
        {
            "int": [1, None, 3],
            "float": [0.5, None, float("nan")],
            "bool": [True, None, False],
            "text": ["a", None, ""],
            "category": pl.Series(["lo", None, "hi"], dtype=pl.Categorical),
            "enum": pl.Series(["lo", None, "hi"], dtype=pl.Enum(["lo", "hi"])),
            "decimal": pl.Series([decimal.Decimal("1.5"), None, decimal.Decimal("2")]),
            "day": [datetime.date(2020, 1, 2), None, datetime.date(2020, 1, 3)],
            "list": [[1], None, [2]],
            "struct": [{"a": 1}, None, {"a": 2}],
            "null": pl.Series([None, None, None]),
        }
    )
    table = Table.from_frame(frame)
    found = {name: [None if v is None or v != v else v for v in table.columns[name].tolist()] for name in table.names}
    assert found == {
        "int": [1.0, None, 3.0], "float": [0.5, None, None], "bool": ["true", None, "false"], "text": ["a", None, None],
        "category": ["lo", None, "hi"], "enum": ["lo", None, "hi"], "decimal": [1.5, None, 2.0],
        "day": ["2020-01-02", None, "2020-01-03"], "null": [None, None, None],
    }  # fmt: skip
    assert set(table.notes) == {"list", "struct"}
    with pytest.raises(UsageError, match="collect"):
        Table.from_frame(frame.lazy())


@pytest.mark.parametrize(
    ("value", "text"),
    [(3, "3"), (3.0, "3"), (np.int8(3), "3"), (-0.0, "0"), (2.5, "2.5"), (np.float32(0.5), "0.5"), (1e300, "1e+300"),
     (True, "true"), (np.bool_(False), "false"), ("x", "x"), (b"\xff", "\\xff"), (np.str_("s"), "s")],
)  # fmt: skip
def test_labels(value: Any, text: str) -> None:
    found = label(value)
    assert (found, type(found)) == (text, str)
