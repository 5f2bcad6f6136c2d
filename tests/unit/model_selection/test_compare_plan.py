"""What is decided before anything is fitted: classes, columns, the part set aside, the folds."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tonari.base.errors import DataError, UsageError
from tonari.model_selection.plan import Plan, draw_up


def planned(data: Any, target: str | None = "kind", **options: Any) -> Plan:
    return draw_up(
        data, target, **{"drop": (), "seed": 0, "test_size": 1 / 3, "folds": 10, "metric": "accuracy"} | options
    )


def table(rows_of_class: dict[str, int], seed: int = 0) -> dict[str, Any]:
    """Numbers drawn at random beside classes with so many rows each."""
    kinds = [label for label, rows in rows_of_class.items() for _ in range(rows)]
    random = np.random.default_rng(seed)
    return {"size": random.normal(size=len(kinds)), "weight": random.normal(size=len(kinds)), "kind": kinds}


def test_parts_are_stratified_disjoint_and_complete() -> None:
    plan = planned(table({"a": 60, "b": 30}))
    assert np.array_equal(np.sort(np.concatenate([plan.train, plan.test])), np.arange(90))
    assert np.bincount(plan.y[plan.test]).tolist() == [20, 10]
    held_out = np.sort(np.concatenate([test for _, test in plan.folds]))
    assert np.array_equal(held_out, np.arange(60))
    for train, test in plan.folds:
        assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(60))
        assert (np.diff(train) > 0).all()
        assert np.bincount(plan.y[plan.train][test], minlength=2).tolist() == [4, 2]


def test_the_seed_decides_the_parts() -> None:
    data = table({"a": 60, "b": 30})
    first, again, other = planned(data), planned(data), planned(data, seed=1)
    assert np.array_equal(first.test, again.test)
    assert not np.array_equal(first.test, other.test)
    assert not np.array_equal(first.folds[0][1], other.folds[0][1])


def test_rows_are_shuffled_before_they_are_cut() -> None:
    """Trap: a table sorted by something else than the class gives folds that are blocks of it."""
    plan = planned(table({"a": 300, "b": 300}))
    within = plan.train[plan.folds[0][1]]
    assert len(np.unique(within // 60)) > 5


@pytest.mark.parametrize("labels", [["x"] * 12, [3] * 12])
def test_one_class_only_is_refused(labels: list[Any]) -> None:
    with pytest.raises(DataError, match=r"only one class, '(x|3)', in all 12 rows"):
        planned({"size": np.arange(12.0) ** 2, "kind": labels})


def test_a_class_of_one_row_is_refused_with_a_remedy() -> None:
    with pytest.raises(DataError, match=r"Class 'rare' of the target column 'kind' .* has one row only") as caught:
        planned(table({"a": 20, "rare": 1}))
    assert caught.value.remedy


def test_a_class_that_leaves_one_row_to_learn_from_is_refused() -> None:
    with pytest.raises(DataError, match="fewer than two rows of class 'rare'"):
        planned(table({"a": 20, "rare": 2}))


def test_too_few_rows_for_both_parts_are_refused() -> None:
    with pytest.raises(DataError, match="too few to set"):
        planned(table({"a": 2, "b": 2}), test_size=0.1)


def test_a_class_with_fewer_rows_than_folds_gives_fewer_folds_and_a_note() -> None:
    """Trap: scikit-learn only warns, and some folds then say nothing about the class."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan = planned(table({"a": 60, "few": 12}))
    assert len(plan.folds) == 8
    assert any("Class 'few' of 'kind' has fewer rows to learn from than the 10 folds asked for: 8 are used." in note
               for note in plan.notes)  # fmt: skip
    assert all((plan.y[plan.train][test] == 1).any() for _, test in plan.folds)


def test_accuracy_keeps_five_folds_where_a_class_is_rarer_and_other_metrics_do_not() -> None:
    data = table({"a": 60, "few": 4})
    kept = planned(data)
    assert len(kept.folds) == 5
    assert any("Some held-out parts have no row of a rare class" in note for note in kept.notes)
    assert all((kept.y[kept.train][train] == 1).any() for train, _ in kept.folds)
    assert len(planned(data, metric="f1").folds) == 3


def test_a_class_without_a_test_row_is_noted() -> None:
    plan = planned(table({"a": 500, "b": 500, "few": 3}), test_size=0.1)
    assert any("The test part holds no row of class 'few'" in note for note in plan.notes)


def test_a_target_that_does_not_exist_is_guessed() -> None:
    with pytest.raises(DataError, match="Did you mean 'kind'"):
        planned(table({"a": 20, "b": 20}), "kin")


def test_a_constant_column_is_noted_and_left_out() -> None:
    plan = planned({**table({"a": 20, "b": 20}), "same": [7] * 40})
    assert plan.schema.names == ["size", "weight"]
    assert any("'same'" in note and "same value" in note for note in plan.notes)
    assert [column["name"] for column in plan.table["columns"]] == ["size", "weight", "same"]


def test_a_column_that_counts_the_rows_is_left_out() -> None:
    """Trap: an identifier in a table sorted by class tells the class."""
    plan = planned({"id": np.arange(100, 140), **table({"a": 20, "b": 20})})
    assert plan.schema.names == ["size", "weight"]
    assert any("'id' was left out: it only numbers the rows" in note for note in plan.notes)


def test_a_text_column_of_very_many_values_is_left_out() -> None:
    """Trap: one-hot columns that fill the memory."""
    data = {
        **table({"a": 1000, "b": 1000}),
        "name": [f"n{i % 1001}" for i in range(2000)],
        "zip": [f"z{i % 900}" for i in range(2000)],
    }
    plan = planned(data)
    assert plan.schema.names == ["size", "weight", "zip"]
    assert any("'name' was left out: it holds 1,001 different texts" in note for note in plan.notes)
    assert [column["levels"] for column in plan.table["columns"]] == [0, 0, 1001, 900]


def test_a_table_without_a_usable_column_is_refused() -> None:
    with pytest.raises(
        DataError, match=r"no column to learn from\. Column 'id' was left out: it only numbers the rows"
    ):
        planned({"id": np.arange(20), "kind": ["a", "b"] * 10})


def test_a_copy_of_the_target_is_noted() -> None:
    data = table({"a": 20, "b": 20})
    plan = planned({**data, "code": [{"a": 17, "b": 4}[kind] for kind in data["kind"]], "half": [0] * 20 + [0, 1] * 10})
    assert [note for note in plan.notes if "says the same as the target" in note] == [
        "Column 'code' says the same as the target in every row. If it is not known before the class is, drop it: "
        "the scores mean nothing otherwise."
    ]


def test_rows_on_both_sides_are_counted() -> None:
    """Trap: the same row in the training and the test part."""
    data = table({"a": 30, "b": 30})
    assert not any("same values" in note for note in planned(data).notes)
    doubled = {name: np.concatenate([values, values]) for name, values in data.items()}
    plan = planned(doubled)
    origin, known = plan.test % 60, set((plan.train % 60).tolist())
    expected = sum(int(row) in known for row in origin)
    assert any(note.startswith(f"{expected} of the 40 test rows have the same values") for note in plan.notes)


def test_dropped_columns_do_not_take_part() -> None:
    plan = planned(table({"a": 20, "b": 20}), drop=["weight"])
    assert plan.schema.names == ["size"]
    with pytest.raises(DataError, match="Did you mean 'weight'"):
        planned(table({"a": 20, "b": 20}), drop=["wieght"])
    with pytest.raises(UsageError, match="target and cannot be dropped"):
        planned(table({"a": 20, "b": 20}), drop=["kind"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test_size": 0.0}, "between 0 and 1"),
        ({"test_size": 5}, "between 0 and 1"),
        ({"folds": 1}, "at least 2 folds"),
        ({"seed": -1}, "The seed is"),
        ({"metric": "acuracy"}, "no metric 'acuracy'. Did you mean 'accuracy'"),
    ],
)
def test_options_that_cannot_be_carried_out_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        planned(table({"a": 20, "b": 20}), **options)


def test_roc_auc_is_for_two_classes() -> None:
    with pytest.raises(UsageError, match="'kind' has 3"):
        planned(table({"a": 20, "b": 20, "c": 20}), metric="roc_auc")


def test_every_way_to_give_a_table_gives_the_same_plan(tmp_path: Path) -> None:
    import polars as pl

    data = table({"a": 20, "b": 20})
    frame = pd.DataFrame(data)
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    plans = [
        planned(data), planned(frame), planned(pl.DataFrame(data)), planned(path), planned(str(path)),
        planned((frame[["size", "weight"]], frame["kind"]), None),
    ]  # fmt: skip
    for plan in plans[1:]:
        assert np.array_equal(plan.X, plans[0].X)
        assert np.array_equal(plan.y, plans[0].y)
        assert np.array_equal(plan.test, plans[0].test)
        assert plan.schema.target == "kind"
    assert plans[3].table["name"] == "t.csv"


def test_the_hash_names_the_content() -> None:
    first, other = table({"a": 20, "b": 20}), table({"a": 20, "b": 20}, seed=1)
    assert planned(first).table["sha256"] == planned(pd.DataFrame(first)).table["sha256"]
    assert planned(first).table["sha256"] != planned(other).table["sha256"]


def test_x_and_y_must_fit() -> None:
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(DataError, match="20 rows and y has 19"):
        planned((X, [0, 1] * 9 + [1]), None)
    with pytest.raises(UsageError, match="has a column 'x0' already"):
        planned((X, [0, 1] * 10), "x0")
    with pytest.raises(UsageError, match="Which column holds the classes"):
        planned({"a": [1, 2]}, None)


def test_whole_numbers_stay_whole_as_classes() -> None:
    """Trap: integer labels that come back as 1.0 and 2.0."""
    plan = planned((np.random.default_rng(0).normal(size=(20, 2)), np.array([1, 2] * 10)), None)
    assert plan.classes.dtype == np.int64
    assert plan.labels == ["1", "2"]
