"""The output folder: checked before the work, filled after it, never overwritten unasked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tonari.base.errors import DataError, UsageError
from tonari.model_selection import compare
from tonari.model_selection.output import FILES, Output, canonical, write_file


def data() -> dict[str, Any]:
    random = np.random.default_rng(0)
    return {"size": random.normal(size=40), "kind": ["a", "b"] * 20}


def test_three_files_are_written_and_nothing_else(tmp_path: Path) -> None:
    comparison = compare(data(), "kind", folds=3, quiet=True, output=tmp_path / "new" / "folder")
    folder = tmp_path / "new" / "folder"
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES.values())
    assert comparison.paths == {what: folder / name for what, name in FILES.items()}
    text = (folder / "result.json").read_text()
    assert json.loads(text) == comparison.result
    assert text == canonical(comparison.result)


def test_nothing_is_overwritten_unless_asked(tmp_path: Path) -> None:
    """Trap: found out after an hour of work, or not at all. The data here would fail if they were read."""
    (tmp_path / "report.html").write_text("mine")
    with pytest.raises(UsageError, match=r"report\.html exists already"):
        compare("no such file.csv", "kind", output=tmp_path)
    assert (tmp_path / "report.html").read_text() == "mine"
    compare(data(), "kind", folds=3, quiet=True, output=tmp_path, force=True)
    assert (tmp_path / "report.html").read_text().startswith("<!")


def test_a_folder_that_cannot_be_written_to_is_an_error_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="cannot be written to"):
        compare("no such file.csv", "kind", output=tmp_path / "file" / "out")
    (tmp_path / "result.json").mkdir()
    with pytest.raises(UsageError, match="not a regular file"):
        compare("no such file.csv", "kind", output=tmp_path, force=True)


def test_a_folder_made_for_nothing_is_removed_again(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        compare("no such file.csv", "kind", output=tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "kept").mkdir()
    with pytest.raises(DataError):
        compare("no such file.csv", "kind", output=tmp_path / "kept")
    assert (tmp_path / "kept").is_dir()


def test_a_model_of_an_earlier_comparison_does_not_stay_beside_another_result(tmp_path: Path) -> None:
    comparison = compare(data(), "kind", folds=3, quiet=True, output=tmp_path)
    result = {**comparison.result, "files": {**comparison.result["files"], "model": None}}
    Output(tmp_path, force=True).write(result, comparison.model)
    assert not (tmp_path / "model.tonari").exists()


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trap: saving in place."""
    path = tmp_path / "result.json"
    write_file(path, b"first", force=False)
    with pytest.raises(UsageError, match="exists already"):
        write_file(path, b"second", force=False)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(DataError, match="No space left on device"):
        write_file(path, b"second", force=True)
    assert path.read_bytes() == b"first"
    assert [each.name for each in tmp_path.iterdir()] == ["result.json"]


def test_canonical_json_has_one_spelling() -> None:
    assert canonical({"b": "é", "a": 1}) == '{"a":1,"b":"\\u00e9"}\n'
    with pytest.raises(ValueError, match="Out of range"):
        canonical({"a": float("nan")})
