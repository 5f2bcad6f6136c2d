"""The model that is handed over: tables in, labels out, and through a file unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tonari.base.errors import DataError, ModelFileError
from tonari.model_selection import TunedModel, compare
from tonari.store import open_model, read_model, save_model, write_model


def frame(labels: list[Any] | None = None, rows: int = 60) -> pd.DataFrame:
    random = np.random.default_rng(0)
    kind = random.integers(0, 2, rows)
    width = random.normal(size=rows) + kind
    width[::9] = np.nan
    return pd.DataFrame({
        "length": random.normal(size=rows) + 2 * kind,
        "width": width,
        "colour": np.array(["red", "blue", "green"])[(kind + (random.random(rows) < 0.3)) % 3],
        "same": 1,
        "kind": np.array(labels or ["no", "yes"])[kind],
    })  # fmt: skip


@pytest.fixture(scope="module")
def model() -> TunedModel:
    return compare(frame(), "kind", folds=3, quiet=True).model


def test_probabilities_and_labels_agree(model: TunedModel) -> None:
    """Trap: predict that disagrees with the largest probability."""
    labels, probabilities = model.answer(frame())
    assert np.array_equal(labels, model.predict(frame()))
    assert np.array_equal(probabilities, model.predict_proba(frame()))
    assert np.array_equal(labels, model.classes_[probabilities.argmax(axis=1)])
    assert probabilities.sum(axis=1) == pytest.approx(1)


def test_columns_are_found_by_name(model: TunedModel) -> None:
    """Trap: columns accepted in another order than at fit."""
    data = frame()
    shuffled = data[["colour", "kind", "width", "length"]]
    assert np.array_equal(model.predict_proba(shuffled), model.predict_proba(data))


def test_an_unknown_column_is_noted_and_a_missing_one_refused(model: TunedModel) -> None:
    data = frame()
    notes: list[str] = []
    model.predict(data.assign(price=1.0), notes)
    assert any("'price'" in note for note in notes)
    with pytest.raises(DataError, match="'width'"):
        model.predict(data.drop(columns="width"))
    with pytest.raises(DataError, match="Did you mean 'Width'"):
        model.predict(data.rename(columns={"width": "Width"}))


def test_a_category_never_seen_is_noted_and_predicted(model: TunedModel) -> None:
    notes: list[str] = []
    labels = model.predict(frame().assign(colour="mauve"), notes)
    assert set(labels) <= {"no", "yes"}
    assert any("never seen" in note and "'mauve'" in note for note in notes)


def test_gaps_are_predicted_and_no_rows_give_no_labels(model: TunedModel) -> None:
    data = frame()
    gaps = data.assign(length=np.nan, colour=None)
    assert np.isfinite(model.predict_proba(gaps)).all()
    assert model.predict(data.iloc[:0]).shape == (0,)
    assert model.predict_proba(data.iloc[:0]).shape == (0, 2)


@pytest.mark.parametrize(
    ("labels", "kind", "texts"),
    [(["no", "yes"], "O", ["no", "yes"]), ([1, 2], "i", ["1", "2"]), ([0.5, 2.25], "f", ["0.5", "2.25"])],
)
def test_a_model_file_gives_the_same_model(labels: list[Any], kind: str, texts: list[str], tmp_path: Path) -> None:
    data = frame(labels)
    model = compare(data, "kind", folds=3, quiet=True).model
    save_model(tmp_path / "m.tonari", model)
    opened = open_model(tmp_path / "m.tonari")
    assert isinstance(opened, TunedModel)
    assert np.array_equal(opened.predict_proba(data), model.predict_proba(data))
    assert opened.predict(data).tolist() == model.predict(data).tolist()
    assert opened.classes_.dtype.kind == kind
    assert opened.labels == texts
    assert opened.schema.to_json() == model.schema.to_json()
    assert opened.chosen == model.chosen
    save_model(tmp_path / "again.tonari", opened)
    assert (tmp_path / "again.tonari").read_bytes() == (tmp_path / "m.tonari").read_bytes()


def test_the_file_says_how_the_model_was_chosen(model: TunedModel) -> None:
    chosen = model.chosen
    assert chosen["winner"]["family"] == "k-NN"
    assert chosen["plan"]["folds"] == 3
    assert 0 < chosen["test"]["interval"][0] <= chosen["test"]["score"]
    assert len(chosen["data"]["sha256"]) == 64


def test_a_column_of_many_categories_fits_a_file(tmp_path: Path) -> None:
    """Trap: a header that grows with the data; it may hold 1 MiB."""
    random = np.random.default_rng(0)
    data = pd.DataFrame({
        "size": random.normal(size=120),
        "text": [f"{i % 100}{'x' * 20_000}" for i in range(120)],
        "kind": ["a", "b"] * 60,
    })  # fmt: skip
    comparison = compare(data, "kind", folds=3, quiet=True, output=tmp_path / "out")
    assert comparison.model.schema.names == ["size", "text"]
    opened = open_model(comparison.paths["model"])
    assert opened.schema.columns[1].levels == comparison.model.schema.columns[1].levels


def _without(mapping: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in mapping.items() if name != key}


@pytest.mark.parametrize(
    "damage",
    [
        lambda header, arrays: (_without(header, "columns"), arrays),
        lambda header, arrays: ({**header, "target": None}, arrays),
        lambda header, arrays: ({**header, "chosen": []}, arrays),
        lambda header, arrays: ({**header, "columns": header["columns"][:-1]}, arrays),
        lambda header, arrays: ({**header, "columns": header["columns"][::-1]}, arrays),
        lambda header, arrays: ({**header, "learner": {**header["learner"], "kind": "os.system"}}, arrays),
        lambda header, arrays: (header, _without(arrays, "classes")),
        lambda header, arrays: (header, {**arrays, "classes": np.array(["no", "no"])}),
        lambda header, arrays: (header, {**arrays, "classes": np.array(["a", "b", "c"])}),
        lambda header, arrays: (header, {**arrays, "classes": np.zeros((2, 2))}),
        lambda header, arrays: (header, _without(arrays, "encoder/center")),
        lambda header, arrays: (header, {**arrays, "encoder/had_missing": np.ones(3, dtype=np.uint8)}),
        lambda header, arrays: (header, {n: a for n, a in arrays.items() if not n.startswith("learner/")}),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(damage: Any, model: TunedModel, tmp_path: Path) -> None:
    """Trap: a loader that believes the file. Checksums are right here; only the content is wrong."""
    save_model(tmp_path / "good.tonari", model)
    file = read_model(tmp_path / "good.tonari")
    header, arrays = damage(file.header, file.arrays)
    write_model(tmp_path / "bad.tonari", file.kind, header, arrays)
    with pytest.raises(ModelFileError):
        open_model(tmp_path / "bad.tonari")
