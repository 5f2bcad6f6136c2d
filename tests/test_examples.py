"""Every script in examples/ runs and says what it promises; every table there is what its README says."""

from __future__ import annotations

import csv
import re
import runpy
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
TABLES = sorted((EXAMPLES / "data").glob("*.csv"))

# What must stand in the output of each script; a script without a line here fails.
SAYS = {
    "riding_mowers": r"slide, % wrong +33   33   33   33   33   17   17   50\s",
    "leave_one_out": r"themselves: 6/6 right(?s:.*)accuracy 4/6 = 66\.67%, error 33\.33%",
    "grid_search": r"240 candidates, 10 folds\nbest: k=11, manhattan, uniform; accuracy 0\.983\n.*accuracy 0\.821",
    "gaussian_boundaries": r"equal covariances: a line(?s:.*)equal means: a hyperbola(?s:.*)three classes",
    "compare_iris": r"(?s)k-NN.*forest|forest.*k-NN",
}


@pytest.mark.parametrize("script", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_script(script: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
    assert re.search(SAYS[script.stem], capsys.readouterr().out)
    assert not list(tmp_path.iterdir()), "an example leaves nothing behind"


def test_gaussian_boundaries_are_drawn() -> None:
    pytest.importorskip("matplotlib")
    script = runpy.run_path(str(EXAMPLES / "gaussian_boundaries.py"))
    assert [ax.get_title() for ax in script["figure"]().axes] == list(script["CASES"])


def test_riding_mowers(capsys: pytest.CaptureFixture[str]) -> None:
    """Mission row F6: the slide's own data cannot give the slide's row; the original data give seven of eight."""
    script = runpy.run_path(str(EXAMPLES / "riding_mowers.py"))
    X, y = script["families"]()
    assert Counter(y) == {"owner": 12, "non-owner": 12}
    assert script["NEIGHBOURS"] == [1, 3, 5, 7, 9, 11, 13, 18]
    assert script["errors"](X, y) == [33, 33, 33, 33, 33, 17, 0, 50]
    votes = y[np.setdiff1d(np.arange(24), script["TEST"])]
    assert Counter(votes) == {"owner": 9, "non-owner": 9}, "k = 18 is a tie"
    y[11] = "non-owner"
    agree = [ours == theirs for ours, theirs in zip(script["errors"](X, y), script["SLIDE"], strict=True)]
    assert agree == [k == 13 for k in script["NEIGHBOURS"]]
    script["main"]()
    printed = capsys.readouterr().out
    assert "7 of 8 agree" in printed
    assert "1 of 8 agree" in printed


def test_leave_one_out_is_not_the_training_error() -> None:
    """Mission row F5; trap 4: the row itself among its own neighbours would make it 6/6."""
    script = runpy.run_path(str(EXAMPLES / "leave_one_out.py"))
    X, y = script["X"], script["y"]
    distance = ((X[:, None] - X) ** 2).sum(axis=2)
    np.fill_diagonal(distance, np.inf)
    assert np.sum(y[distance.argmin(axis=1)] == y) == 4


def test_tables_are_small_and_described() -> None:
    assert sum(path.stat().st_size for path in TABLES) < 500_000
    assert max(path.stat().st_size for path in TABLES) < 150_000
    described = dict(
        re.findall(
            r"^\| `(\w+\.csv)` \| (\d+) \|", (EXAMPLES / "data/README.md").read_text(encoding="utf-8"), re.MULTILINE
        )
    )
    assert described == {path.name: str(len(read(path)) - 1) for path in TABLES}


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_table_is_plain(path: Path) -> None:
    rows = read(path)
    assert all(re.fullmatch(r"[A-Za-z0-9_]+", name) for name in rows[0])
    assert {len(row) for row in rows} == {len(rows[0])}
    assert not {"?", "NA", "NaN", "null"} & {cell for row in rows for cell in row}, "missing cells are empty"
    assert b"\r" not in path.read_bytes()


def test_readme_counts() -> None:
    """The numbers of classes, missing cells and repeated rows in the data's README."""
    text = (EXAMPLES / "data/README.md").read_text(encoding="utf-8")
    for path in TABLES:
        header, *rows = read(path)
        line = next(line for line in text.splitlines() if line.startswith(f"| `{path.name}`"))
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        target = re.search(r"`(\w+)`", cells[3])
        assert target, path.name
        counts = Counter(row[header.index(target[1])] for row in rows)
        assert sorted(map(int, re.findall(r"\d+", cells[3].split("(")[1]))) == sorted(counts.values())
        empty = sum(cell == "" for row in rows for cell in row)
        assert cells[4] == (f"{empty} cells in {sum('' in row for row in rows)} rows" if empty else "")
        assert sum(map(int, re.findall(r"(\d+) (?:numbers|categories)", cells[2]))) == len(header) - 1
        if repeated := re.search(r"(\d+) repeated rows", cells[5]):
            assert int(repeated[1]) == len(rows) - len(set(map(tuple, rows)))


def read(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))
