"""Tables: rows and columns of them, places in messages, targets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tonari.base.errors import DataError
from tonari.tables import Table, read_table


@pytest.fixture
def flowers() -> Table:
    frame = {"length": [1.4, 4.7, None, 6.0], "colour": ["red", None, "blue", "red"], "kind": ["a", "b", "a", "b"]}
    return Table.from_frame(frame, source="flowers")


def test_take_keeps_what_is_known_of_the_rows(flowers: Table) -> None:
    for rows in ([3, 0], np.array([3, 0])):
        part = flowers.take(rows)
        assert part.n_rows == 2
        assert part.columns["colour"].tolist() == ["red", "red"]
        assert part.columns["length"].tolist() == [6.0, 1.4]
        assert [part.place(0), part.place(1)] == ["flowers, row 4", "flowers, row 1"]
    part = flowers.take([False, True, False, True]).take([1])
    assert part.place(0) == "flowers, row 4"
    assert flowers.take([]).n_rows == 0
    part.columns["length"][0] = 99
    assert flowers.columns["length"][3] == 6.0


def test_drop(flowers: Table) -> None:
    part = flowers.drop(["colour"])
    assert (part.names, list(part.columns), list(part.kinds)) == (["length", "kind"],) * 3
    assert part.n_rows == 4
    assert flowers.names == ["length", "colour", "kind"]
    with pytest.raises(DataError, match=r"flowers has no column 'color'\. Did you mean 'colour'\?"):
        flowers.drop(["color"])
    assert flowers.drop(flowers.names).n_rows == 4


def test_lengths_must_agree() -> None:
    with pytest.raises(DataError, match="differ in length"):
        Table(["a", "b"], {"a": np.zeros(2), "b": np.zeros(3)}, {"a": "numeric", "b": "numeric"})


@pytest.mark.parametrize(
    ("values", "dtype", "labels"),
    [
        (["b", "a", "b"], object, ["b", "a", "b"]),
        ([1, 0, 1], np.int64, [1, 0, 1]),
        ([1.0, -3.0, 1.0], np.int64, [1, -3, 1]),
        ([0.5, 1.5, 0.5], np.float64, [0.5, 1.5, 0.5]),
        ([True, False, True], object, ["true", "false", "true"]),
    ],
)
def test_targets(values: list[Any], dtype: type, labels: list[Any]) -> None:
    """Trap 5: integer labels must not come back as floats."""
    found = Table.from_frame({"y": values}).target("y")
    assert (found.dtype, found.tolist()) == (dtype, labels)


def test_the_target_is_a_copy() -> None:
    table = Table.from_frame({"y": ["a", "b"], "z": [0.5, 1.5]})
    for name in table.names:
        before = table.columns[name].tolist()
        table.target(name)[0] = None if name == "y" else 9
        assert table.columns[name].tolist() == before


@pytest.mark.parametrize("values", [["a", None, "b", ""], [1, None, 2, None]])
def test_missing_labels_are_named(values: list[Any]) -> None:
    table = Table.from_frame({"y": values}, source="here")
    with pytest.raises(
        DataError, match=r"here, row 2: the target column 'y' holds no label \(the first of 2 such rows\)"
    ):
        table.target("y")


def test_missing_labels_are_named_by_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('x,y\n"1\n",a\n2,?\n')
    with pytest.raises(DataError, match=r"a\.csv, line 4: the target column 'y' holds no label\."):
        read_table(tmp_path / "a.csv").target("y")
    with pytest.raises(DataError, match=r"a\.csv has no column 'z'\. Its columns are 'x', 'y'\."):
        read_table(tmp_path / "a.csv").target("z")


def test_regression_targets_are_refused() -> None:
    rng = np.random.default_rng(0)
    for values in (rng.normal(size=100), np.arange(100), np.arange(0, 30, 0.5)):
        with pytest.raises(DataError, match="looks like a regression target"):
            Table.from_frame({"y": values}).target("y")
    for values in (
        np.tile(np.arange(26), 4),
        np.tile(np.arange(0, 5, 0.5), 9),
        np.arange(20),
        np.tile(np.arange(99), 3),
    ):
        assert len(Table.from_frame({"y": values}).target("y")) == len(values)


def test_infinite_labels_are_refused() -> None:
    with pytest.raises(DataError, match=r"row 2: the target column 'y' is infinite"):
        Table.from_frame({"y": [1.0, np.inf]}).target("y")
