"""What the documents say is so: commands run, links and paths lead somewhere, the result has the fields described.

Examples in Python run as doctests; here is the rest.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tonari.cli import main

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").glob("*/*.md"))
FOLDERS = ("src", "cpp", "tests", "docs", "benchmarks", "examples", "cmake", ".github")


def commands(document: Path) -> list[list[str]]:
    """The lines `$ tonari ...` of a document, in order."""
    blocks = re.findall(r"^```console\n(.*?)^```", document.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    lines = [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    return [shlex.split(line) for line in lines]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that shows `examples/`."""
    (tmp_path / "examples").symlink_to(ROOT / "examples", target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "document", [document for document in DOCUMENTS if commands(document)], ids=lambda path: path.stem
)
def test_commands_run(document: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for program, *arguments in commands(document):
        assert program == "tonari"
        assert main(arguments) == 0, capsys.readouterr().err
        assert capsys.readouterr().out or "--output" in arguments
    assert sorted(path.name for path in folder.rglob("*.tonari")) == ["model.tonari"]
    assert [path for path in folder.rglob("report.html") if "<html" in path.read_text(encoding="utf-8")]


def fields(value: Any) -> set[str]:
    """Every name in a JSON document; the names of parameters belong to the learners and are left out."""
    if isinstance(value, list):
        return set().union(*map(fields, value))
    if isinstance(value, dict):
        return set(value) | set().union(
            *(fields(item) for key, item in value.items() if key not in ("params", "files"))
        )
    return set()


def test_every_field_of_a_result_is_described(folder: Path) -> None:
    assert (
        main(["compare", "examples/data/blood_donation.csv", "-t", "donated", "-o", "out", "--folds", "2", "-q"]) == 0
    )
    page = (ROOT / "docs/reference/result.md").read_text(encoding="utf-8")
    result = json.loads((folder / "out/result.json").read_text(encoding="utf-8"))
    curves = set(result["test"]["roc"]) | set(result["test"]["pr"])
    assert list(result["test"]["roc"]), "two classes have curves"
    assert not {name for name in fields(result) - curves | {"roc", "pr"} if f"`{name}`" not in page}
    assert re.findall(r"^\| `(\w+)` +\|", page, re.MULTILINE) == [key for key in ORDER if key in result]
    assert set(ORDER) == set(result)


ORDER = ["schema", "tonari", "data", "plan", "candidates", "curves", "winner", "test", "notes", "files"]


def links() -> list[tuple[Path, str]]:
    found = []
    for document in DOCUMENTS:
        text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        found += [(document, link) for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)]
    return [(document, link) for document, link in found if "://" not in link]


def test_links_lead_somewhere() -> None:
    found = links()
    assert found
    assert not [(document.name, link) for document, link in found if not (document.parent / link).exists()]


def test_paths_exist() -> None:
    """Trap: a map of a house that was rebuilt. A file that is to come is named without its folder."""
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        for path in re.findall(rf"`((?:{'|'.join(map(re.escape, FOLDERS))})/[\w./-]*)`", text):
            made = path.startswith(("docs/_site", "benchmarks/results"))
            assert made or (ROOT / path).exists(), f"{document.name} names {path}"


def test_where_is_names_what_is_there() -> None:
    """The three questions of a newcomer, and the parameters that the answers name."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (where [^|]+?) \| `([\w./]+)`", text, re.MULTILINE))
    assert rows["where is it checked that `X` is two-dimensional?"] == "src/tonari/base/validation.py"
    assert "validate_data" in (ROOT / "src/tonari/base/validation.py").read_text(encoding="utf-8")
    excluded = (ROOT / rows["where is a fold excluded from a search?"]).read_text(encoding="utf-8")
    assert "row_groups" in excluded
    assert "query_groups" in excluded


def test_make_commands_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    described = set(re.findall(r"^([a-z]+):.*## ", makefile, re.MULTILINE))
    named = {
        target
        for document in DOCUMENTS
        for target in re.findall(r"(?:`|^    )make ([a-z]+)", document.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert named <= targets
    assert described - {"help"} <= named, "a command that no document names"
