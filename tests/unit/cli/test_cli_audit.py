"""``tonari audit``: planted defects are named with their lines, clean tables end with 0."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tonari.cli import main

Captured = pytest.CaptureFixture[str]


def _frame(rows: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, rows)
    numbers = rng.normal(size=(rows, 3)) + 4.0 * kind[:, np.newaxis]
    return pd.DataFrame({
        "width": numbers[:, 0], "height": numbers[:, 1], "depth": numbers[:, 2],
        "colour": np.array(["red", "blue"])[rng.integers(0, 2, rows)], "kind": np.array(["cat", "dog"])[kind],
    })  # fmt: skip


def test_defects_are_named_with_their_lines(tmp_path: Path, capsys: Captured) -> None:
    frame = _frame()
    wrong = list(range(5, 400, 20))
    frame.loc[wrong, "kind"] = np.where(frame.loc[wrong, "kind"] == "cat", "dog", "cat")
    frame = pd.concat([frame, frame.iloc[[7, 8]]], ignore_index=True)
    frame.loc[400, "kind"] = "dog" if frame.loc[7, "kind"] == "cat" else "cat"
    frame.to_csv(tmp_path / "pets.csv", index=False)
    new = frame.iloc[[3, 9]].drop(columns="kind")
    new.loc[9, "width"] = 99.0
    new.to_csv(tmp_path / "new.csv", index=False)
    command = ["audit", str(tmp_path / "pets.csv"), "-t", "kind", "--new", str(tmp_path / "new.csv")]
    assert main(command) == 0
    out, _ = capsys.readouterr()
    for text in ("Labels", "conflict: ", "line 9 and", "1 of 2 test rows equal", "line 3: width"):
        assert text in out
    assert main([*command, "--check", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["ok"]
    found = answer["found"]
    suspects = {one["row"]: one for one in found["suspects"]}
    assert len(set(wrong) & set(suspects)) >= 14
    assert len(set(suspects) - set(wrong)) <= 4
    assert all(one["place"].endswith(f"line {row + 2}") for row, one in suspects.items())
    assert found["duplicates"] == [[7, 400], [8, 401]]
    assert found["conflicts"] == [[7, 400]]
    assert found["leaked"]["exact"] == [[0, 3]]
    assert found["out_of_range"] == [1]
    assert 0 < found["bayes_error"]["upper"] < 0.1


def test_a_clean_table_is_quiet(tmp_path: Path, capsys: Captured) -> None:
    _frame().to_csv(tmp_path / "pets.csv", index=False)
    assert main(["audit", str(tmp_path / "pets.csv"), "-t", "kind", "--check"]) == 0
    out, err = capsys.readouterr()
    assert "0 labels are probably wrong" in out
    assert err == ""


def test_what_is_wrong_is_said(tmp_path: Path, capsys: Captured) -> None:
    _frame().to_csv(tmp_path / "pets.csv", index=False)
    assert main(["audit", str(tmp_path / "pets.csv"), "-t", "breed"]) == 3
    assert "no column 'breed'" in capsys.readouterr().err
