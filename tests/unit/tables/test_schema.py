"""What is learned of a table's columns, and how a table of that kind becomes numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tonari.base.errors import DataError, ModelFileError
from tonari.tables import Schema, Table, read_table


@pytest.fixture
def houses() -> Table:
    frame = {
        "area": [50.0, None, 70.0, 60.0],
        "town": ["Ulm", "Bonn", None, "Bonn"],
        "lift": [True, False, True, None],
        "sold": ["y", "n", "y", "n"],
    }
    return Table.from_frame(frame, source="houses")


def test_encoding(houses: Table) -> None:
    schema = Schema.learn(houses, "sold")
    assert (schema.names, schema.categorical) == (["area", "town", "lift"], [1, 2])
    assert [column.levels for column in schema.columns] == [(), ("Bonn", "Ulm"), ("false", "true")]
    matrix = schema.encode(houses)
    assert (matrix.dtype, matrix.flags.c_contiguous) == (np.float64, True)
    np.testing.assert_array_equal(matrix, [[50, 1, 1], [np.nan, 0, 0], [70, np.nan, 1], [60, 0, np.nan]])


def test_new_data_may_come_in_any_order_and_with_more(houses: Table) -> None:
    """Trap 8: columns accepted in another order than at fit."""
    schema = Schema.learn(houses, "sold")
    notes: list[str] = []
    new = Table.from_frame({"lift": [False], "garden": [3], "sold": ["y"], "town": ["Ulm"], "area": [1.0]})
    np.testing.assert_array_equal(schema.encode(new, notes), [[1, 1, 0]])
    assert notes == ["Not used, because the model was not trained with them: 'garden'."]


def test_missing_columns_are_listed(houses: Table) -> None:
    schema = Schema.learn(houses, "sold")
    with pytest.raises(DataError, match=r"new lacks a column .*: 'town'\. Did you mean 'Town '\?"):
        schema.encode(Table.from_frame({"area": [1.0], "Town ": ["Ulm"], "lift": [True]}, source="new"))
    with pytest.raises(DataError, match=r"new lacks 2 columns .*: 'town', 'lift'\. Its columns are 'area', 'x'\."):
        schema.encode(Table.from_frame({"area": [1.0], "x": ["Ulm"]}, source="new"))


def test_unknown_categories_are_counted(houses: Table) -> None:
    schema = Schema.learn(houses, "sold")
    notes: list[str] = []
    new = Table.from_frame({"area": [1, 2, 3], "town": ["Kiel", "Bonn", "Kiel"], "lift": ["no", "true", None]})
    np.testing.assert_array_equal(schema.encode(new, notes), [[1, -1, -1], [2, 0, 1], [3, -1, np.nan]])
    assert notes == [
        "Column 'town': 2 rows hold a category that the model has never seen ('Kiel').",
        "Column 'lift': 1 row holds a category that the model has never seen ('no').",
    ]


def test_text_among_numbers_is_named(houses: Table, tmp_path: Path) -> None:
    schema = Schema.learn(houses, "sold")
    new = Table.from_frame({"area": [1, "2.5", None, "big"], "town": ["Ulm"] * 4, "lift": [True] * 4}, source="new")
    with pytest.raises(
        DataError, match=r"new, row 4: column 'area' holds 'big' where the model was trained with numbers"
    ):
        schema.encode(new)
    with pytest.raises(DataError, match="row 4"):
        schema.encode(new.take([0, 3]))
    np.testing.assert_array_equal(schema.encode(new.take([0, 1, 2]))[:, 0], [1, 2.5, np.nan])
    (tmp_path / "new.csv").write_text('area,town,lift\n1,"Ulm\n",true\n\nbig,Bonn,false\n')
    for options in ({}, {"kinds": schema.kinds}):
        with pytest.raises(DataError, match=r"new\.csv, line 5: column 'area' holds 'big'"):
            schema.encode(read_table(tmp_path / "new.csv", **options))


@pytest.mark.parametrize("odd", ["1_000", "٣", "nan", "inf", "0x1F", "1,5"])
def test_text_is_read_as_a_number_only_where_it_is_one(odd: str) -> None:
    """Trap 5: what Python's float() takes is more than a number."""
    schema = Schema.learn(Table.from_frame({"x": [1, 2]}))
    with pytest.raises(DataError, match="row 2"):
        schema.encode(Table.from_frame({"x": ["1", odd]}))


def test_infinite_numbers_are_refused() -> None:
    with pytest.raises(DataError, match="row 2: column 'x' is infinite"):
        Schema.learn(Table.from_frame({"x": [1, np.inf]}))
    schema = Schema.learn(Table.from_frame({"x": [1, 2]}))
    with pytest.raises(DataError, match="row 1: column 'x' is infinite"):
        schema.encode(Table.from_frame({"x": [-np.inf, 1]}))


def test_categories_that_look_like_numbers_in_new_data(tmp_path: Path) -> None:
    """Trap 5: codes trained as text, of which the new rows hold only those of digits."""
    schema = Schema.learn(Table.from_frame({"code": ["1", "2", "x", "007", "2.50"] * 2, "row": range(10)}))
    np.testing.assert_array_equal(schema.encode(Table.from_frame({"code": [2, 1], "row": [0, 0]}))[:, 0], [2, 1])
    np.testing.assert_array_equal(
        schema.encode(Table.from_frame({"code": [2.0, np.nan], "row": [0, 0]}))[:, 0], [2, np.nan]
    )
    (tmp_path / "new.csv").write_text("code,row\n007,0\n2.50,0\n1,0\n")
    table = read_table(tmp_path / "new.csv", kinds=schema.kinds)
    np.testing.assert_array_equal(schema.encode(table)[:, 0], [0, 3, 1])


@pytest.mark.parametrize("spelling", [("true", "false"), ("True", "False"), ("TRUE", "FALSE")])
def test_truth_values_in_any_spelling(tmp_path: Path, spelling: tuple[str, str]) -> None:
    """Trained on Parquet or a data frame, asked about a CSV that pandas wrote."""
    schema = Schema.learn(Table.from_frame({"ok": [True, False, True]}))
    (tmp_path / "new.csv").write_text("ok,x\n{},1\n{},2\n".format(*spelling))
    for options in ({}, {"kinds": schema.kinds}):
        np.testing.assert_array_equal(schema.encode(read_table(tmp_path / "new.csv", **options))[:, 0], [1, 0])


def test_columns_without_values_in_new_data(houses: Table) -> None:
    schema = Schema.learn(houses, "sold")
    empty = Table.from_frame({name: [None, None] for name in schema.names})
    assert np.isnan(schema.encode(empty)).all()


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([None] * 60, "no value at all"),
        ([7] * 60, "same value in every row"),
        (["a"] * 60, "same value in every row"),
        ([f"id{i}" for i in range(60)], "differs in every row"),
        ([f"id{i}" for i in range(30)] + [None] * 30, "differs in every row"),
        ([f"id{i}" for i in range(56)] + ["id0"] * 4, "differs in nearly every row"),
        ([f"2020-{1 + i // 28:02}-{1 + i % 28:02}" for i in range(60)], "differs in every row"),
    ],
)
def test_columns_that_teach_nothing_are_left_out(values: list[Any], why: str) -> None:
    """Trap 15: an identifier among the columns."""
    schema = Schema.learn(Table.from_frame({"x": values, "y": range(60)}))
    assert schema.names == ["y"]
    assert schema.notes[0].startswith("Column 'x' was left out: ")
    assert why in schema.notes[0]


@pytest.mark.parametrize(
    "values",
    [
        [7] * 59 + [None], ["a"] * 59 + [None], [f"t{i % 20}" for i in range(60)], list(range(60)),
        [f"id{i}" for i in range(50)] + ["id0"] * 10,
    ],
)  # fmt: skip
def test_columns_that_may_teach_are_kept(values: list[Any]) -> None:
    assert Schema.learn(Table.from_frame({"x": values, "y": range(60)})).names == ["x", "y"]


def test_dates(tmp_path: Path) -> None:
    """Never numbers in silence: few are categories, many are left out."""
    for days, kept in ((20, True), (21, False)):
        dates = [f"2020-01-{1 + i % days:02}" for i in range(100)]
        (tmp_path / "a.csv").write_text("day,x\n" + "".join(f"{date},{i}\n" for i, date in enumerate(dates)))
        schema = Schema.learn(read_table(tmp_path / "a.csv"))
        assert ("day" in schema.names) == kept
        assert kept or "21 different dates" in schema.notes[0]


def test_what_is_left_out_is_not_asked_of_new_data() -> None:
    schema = Schema.learn(Table.from_frame({"id": [f"a{i}" for i in range(9)], "x": range(9)}))
    notes: list[str] = []
    assert schema.encode(Table.from_frame({"x": [1]}), notes).tolist() == [[1.0]]
    assert schema.encode(Table.from_frame({"x": [1], "id": ["new"]}), notes).tolist() == [[1.0]]


def test_no_column_left() -> None:
    with pytest.raises(DataError, match=r"here has no column to learn from\. Column 'x' was left out: "):
        Schema.learn(Table.from_frame({"x": [1, 1], "y": ["a", "b"]}, source="here"), "y")
    with pytest.raises(DataError, match=r"here has no column 'z'"):
        Schema.learn(Table.from_frame({"x": [1, 1]}, source="here"), "z")


def test_description(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,size,kind,y\nu,1,a,p\nv,?,b,q\nw,3,a,p\n")
    schema = Schema.learn(read_table(tmp_path / "a.csv"), "y")
    assert schema.describe() == [
        {"name": "id", "kind": "categorical", "missing": 0, "levels": 3,
         "note": "Column 'id' was left out: it is text that differs in every row, as an identifier does."},
        {"name": "size", "kind": "numeric", "missing": 1, "levels": 0,
         "note": "Column 'size': 1 cell such as '?' read as missing."},
        {"name": "kind", "kind": "categorical", "missing": 0, "levels": 2, "note": ""},
    ]  # fmt: skip
    assert schema.notes == [entry["note"] for entry in schema.describe() if entry["note"]]


def test_what_was_left_out_while_reading_is_told() -> None:
    schema = Schema.learn(Table.from_frame({"deep": [[1], [2]], "x": [1, 2]}))
    assert schema.notes == ["Column 'deep' holds lists or records and was left out."]


def test_json_round_trip(houses: Table) -> None:
    schema = Schema.learn(houses, "sold")
    again = Schema.from_json(json.loads(json.dumps(schema.to_json())))
    assert (again.kinds, again.target, again.categorical) == (schema.kinds, "sold", schema.categorical)
    np.testing.assert_array_equal(again.encode(houses), schema.encode(houses))
    assert again.to_json() == schema.to_json()


GOOD = {"columns": [{"name": "a", "kind": "categorical", "levels": ["x", "y"]}], "target": "t"}


@pytest.mark.parametrize(
    "change",
    [
        {"columns": None}, {"columns": [3]}, {"columns": [{"name": "a", "kind": "numeric"}]}, {"target": 3},
        {"columns": GOOD["columns"] * 2}, {"columns": [{"name": 1, "kind": "numeric", "levels": []}]},
        {"columns": [{"name": "a", "kind": "odd", "levels": []}]},
        {"columns": [{"name": "a", "kind": "categorical", "levels": ["x", "x"]}]},
        {"columns": [{"name": "a", "kind": "categorical", "levels": [1]}]},
        {"columns": [{"name": "a", "kind": "categorical", "levels": "xy"}]},
    ],
)  # fmt: skip
def test_damaged_descriptions_are_refused(change: dict[str, Any]) -> None:
    """Trap 11."""
    assert Schema.from_json(GOOD).names == ["a"]
    with pytest.raises(ModelFileError, match="description of the columns is damaged"):
        Schema.from_json({**GOOD, **change})
    with pytest.raises(ModelFileError):
        Schema.from_json({key: value for key, value in GOOD.items() if key not in change})
