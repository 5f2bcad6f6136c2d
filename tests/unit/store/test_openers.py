"""Opening: a file names a kind, a closed table names the class, and no file can name code (trap 11)."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tonari.base.errors import DataError, ModelFileError, UsageError
from tonari.store import OPENERS, open_model, read_model, save_model, write_model


class Mean:
    """A learner as small as they come."""

    def __init__(self, mean: np.ndarray[Any, Any]) -> None:
        self.mean = mean

    def to_file_parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"columns": len(self.mean)}, {"mean": self.mean}

    @classmethod
    def from_file_parts(cls, header: dict[str, Any], arrays: dict[str, Any]) -> Mean:
        if header.get("trouble") == "model":
            raise ModelFileError("means are not means.", "Weigh them again.", section="mean")
        if header.get("trouble") == "data":
            raise DataError("no rows")
        if arrays["mean"].shape != (header["columns"],):
            raise ValueError("shape")
        return cls(arrays["mean"])


class Median(Mean):
    """A subclass that the table does not know."""


@pytest.fixture(autouse=True)
def _table(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("tonari_test_learners")
    module.Mean = Mean  # type: ignore[attr-defined]
    monkeypatch.setattr(Mean, "__module__", "tonari_test_learners.mean")
    monkeypatch.setitem(sys.modules, "tonari_test_learners", module)
    monkeypatch.setitem(OPENERS, "test.Mean", "tonari_test_learners:Mean")


def test_what_is_saved_opens(tmp_path: Path) -> None:
    path = tmp_path / "mean.tonari"
    digest = save_model(path, Mean(np.arange(3.0)))
    assert read_model(path).sha256 == digest
    assert read_model(path).kind == "test.Mean"
    for copy in (True, False):
        model = open_model(path, copy=copy)
        assert type(model) is Mean
        assert model.mean.tolist() == [0, 1, 2]
        assert model.mean.flags.writeable == copy


def test_saving_twice_must_be_asked_for(tmp_path: Path) -> None:
    save_model(tmp_path / "m", Mean(np.arange(3.0)))
    with pytest.raises(UsageError, match="exists already"):
        save_model(tmp_path / "m", Mean(np.arange(4.0)))
    save_model(tmp_path / "m", Mean(np.arange(4.0)), force=True)
    assert open_model(tmp_path / "m").mean.size == 4


class Other:
    """Not the learner of that name."""


Other.__name__ = "Mean"
Other.__module__ = "tonari_test_learners.other"


@pytest.mark.parametrize("model", [Median(np.arange(3.0)), Other(), object(), None, 3])
def test_what_the_table_does_not_know_is_not_saved(tmp_path: Path, model: Any) -> None:
    """A subclass saved as its base would open as something else."""
    with pytest.raises(UsageError, match="cannot be saved as a model file"):
        save_model(tmp_path / "m", model)
    assert not list(tmp_path.iterdir())


def test_an_unknown_kind_is_not_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name in the file leads to no import, whatever it looks like."""
    write_model(tmp_path / "m", "os.system", {}, {})
    monkeypatch.setattr(importlib, "import_module", lambda name: pytest.fail(f"imports {name}"))
    with pytest.raises(ModelFileError, match=r"holds a os\.system, which this tonari does not know") as caught:
        open_model(tmp_path / "m")
    assert caught.value.code == "kind"


@pytest.mark.parametrize(
    ("header", "arrays"),
    [
        ({}, {}),
        ({"columns": 3}, {}),
        ({}, {"mean": np.arange(3.0)}),
        ({"columns": 4}, {"mean": np.arange(3.0)}),
        ({"columns": 3}, {"mean": np.array("x")}),
    ],
)
def test_whole_files_with_wrong_parts(tmp_path: Path, header: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Right checksums say nothing about meaning; still no traceback from the depths of a class."""
    write_model(tmp_path / "m", "test.Mean", header, arrays)
    with pytest.raises(ModelFileError, match="does not describe a Mean") as caught:
        open_model(tmp_path / "m")
    assert caught.value.code == "content"
    assert caught.value.__cause__ is not None


def test_what_the_class_says_itself_is_kept(tmp_path: Path) -> None:
    write_model(tmp_path / "m", "test.Mean", {"trouble": "model"}, {})
    with pytest.raises(ModelFileError, match=r"m: means are not means\. Weigh them again\.") as caught:
        open_model(tmp_path / "m")
    assert caught.value.section == "mean"
    write_model(tmp_path / "d", "test.Mean", {"trouble": "data"}, {})
    with pytest.raises(DataError, match="no rows"):
        open_model(tmp_path / "d")


@pytest.mark.parametrize("kind", sorted(set(OPENERS)))
def test_every_line_of_the_table_leads_to_a_class(kind: str) -> None:
    module, _, name = OPENERS[kind].partition(":")
    opener = getattr(importlib.import_module(module), name)
    assert callable(opener.to_file_parts)
    assert callable(opener.from_file_parts)
    assert kind == f"{module.removeprefix('tonari.')}.{name}"


@pytest.mark.parametrize("name", ["KNeighborsClassifier", "KNeighborsRegressor", "NearestNeighbors"])
@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbours_answer_the_same_from_a_file(tmp_path: Path, name: str, copy: bool, dtype: type) -> None:
    """To the bit, read or mapped (read-only memory), labels of the same type."""
    draw = np.random.default_rng(0)
    X, query = draw.normal(size=(200, 7)).astype(dtype), draw.normal(size=(40, 7)).astype(dtype)
    y = {"KNeighborsClassifier": np.array(["no", "yes"])[(X[:, 0] > 0).astype(int)]}.get(name, X[:, 0])
    model = getattr(importlib.import_module("tonari.neighbors"), name)(n_neighbors=np.int64(3)).fit(X, y)
    save_model(tmp_path / "m", model)
    opened = open_model(tmp_path / "m", copy=copy)
    assert opened.get_params() == model.get_params()
    for expected, found in zip(model.kneighbors(query), opened.kneighbors(query), strict=True):
        assert found.tobytes() == expected.tobytes()
    for method in ("predict", "predict_proba"):
        if hasattr(model, method):
            expected, found = getattr(model, method)(query), getattr(opened, method)(query)
            assert found.dtype == expected.dtype
            assert found.tobytes() == expected.tobytes()
    save_model(tmp_path / "again", opened)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def test_store_imports_no_learner() -> None:
    """The table is text: reading or inspecting a file needs no native module."""
    program = "import sys, tonari.store; print([m for m in sys.modules if m.startswith('tonari.')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "tonari.store.layout" in done.stdout
    for package in ("_core", "neighbors", "model_selection", "tables"):
        assert f"tonari.{package}" not in done.stdout
