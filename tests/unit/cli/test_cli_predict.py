"""``tonari predict`` and ``tonari inspect``: every row in order, escaped rightly, and what a file says of itself."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tonari.cli import main
from tonari.cli.predict import as_cell
from tonari.store import inspect_model, open_model, save_model

Captured = pytest.CaptureFixture[str]


def frame(labels: tuple[str, str] = ("no", "yes"), target: str = "kind", rows: int = 60) -> pd.DataFrame:
    random = np.random.default_rng(0)
    kind = random.integers(0, 2, rows)
    return pd.DataFrame({
        "length": random.normal(size=rows) + kind, "colour": np.array(["red", "blue"])[random.integers(0, 2, rows)],
        target: np.array(labels)[kind],
    })  # fmt: skip


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    frame().to_csv(folder / "train.csv", index=False)
    assert (
        main(["compare", str(folder / "train.csv"), "-t", "kind", "--folds", "3", "-q", "-o", str(folder / "o")]) == 0
    )
    return folder / "o" / "model.tonari"


@pytest.fixture
def new(tmp_path: Path) -> Path:
    frame().drop(columns="kind").to_csv(tmp_path / "new.csv", index=False)
    return tmp_path / "new.csv"


def test_every_row_in_order_with_its_probabilities(model: Path, new: Path, capsys: Captured) -> None:
    assert main(["predict", str(model), str(new)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    answer = pd.read_csv(io.StringIO(out))
    assert answer.columns.tolist() == ["kind", "probability_no", "probability_yes"]
    labels, probabilities = open_model(model).answer(frame())
    assert answer["kind"].tolist() == labels.tolist()
    assert np.array_equal(answer.iloc[:, 1:].to_numpy(), probabilities)


def test_the_same_goes_to_a_file(model: Path, new: Path, tmp_path: Path, capsys: Captured) -> None:
    assert main(["predict", str(model), str(new)]) == 0
    out = capsys.readouterr().out
    arguments = ["predict", str(model), str(new), "--output", str(tmp_path / "answer.csv")]
    assert main(arguments) == 0
    assert capsys.readouterr().out == ""
    assert (tmp_path / "answer.csv").read_text() == out
    assert main(arguments) == 2
    assert "exists already" in capsys.readouterr().err
    assert main([*arguments, "--force", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["output"] == str(tmp_path / "answer.csv")
    assert "labels" not in document


def test_json_holds_labels_and_probabilities(model: Path, new: Path, capsys: Captured) -> None:
    assert main(["predict", str(model), str(new), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    labels, probabilities = open_model(model).answer(frame())
    assert (document["schema"], document["ok"], document["rows"]) == (1, True, 60)
    assert document["classes"] == ["no", "yes"]
    assert document["labels"] == labels.tolist()
    assert document["probabilities"] == probabilities.tolist()


def test_a_column_unseen_at_training_is_ignored_with_a_note(
    model: Path, new: Path, tmp_path: Path, capsys: Captured
) -> None:
    assert main(["predict", str(model), str(new)]) == 0
    expected = capsys.readouterr().out
    frame().assign(price=3).to_csv(tmp_path / "more.csv", index=False)
    assert main(["predict", str(model), str(tmp_path / "more.csv")]) == 0
    out, err = capsys.readouterr()
    assert out == expected
    assert err.startswith("note: ")
    assert "'price'" in err
    assert "'kind'" not in err
    assert main(["predict", str(model), str(tmp_path / "more.csv"), "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_a_missing_column_is_an_error_that_names_it(model: Path, tmp_path: Path, capsys: Captured) -> None:
    frame().rename(columns={"length": "lenght"}).to_csv(tmp_path / "less.csv", index=False)
    assert main(["predict", str(model), str(tmp_path / "less.csv")]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert "'length'" in err
    assert "Did you mean 'lenght'" in err


def test_text_among_numbers_is_an_error_with_its_line(model: Path, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "bad.csv").write_text("length,colour\n1.5,red\nlong,blue\n")
    assert main(["predict", str(model), str(tmp_path / "bad.csv")]) == 3
    err = capsys.readouterr().err
    assert "line 3" in err
    assert "'length'" in err
    assert "'long'" in err


def test_a_table_without_rows_is_refused(model: Path, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "empty.csv").write_text("length,colour\n")
    assert main(["predict", str(model), str(tmp_path / "empty.csv")]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert "no rows" in err


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no model", b"\x80\x04\x95pickle"])
def test_what_is_no_model_is_refused(content: bytes, new: Path, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "m.tonari").write_bytes(content)
    for arguments in (["predict", str(tmp_path / "m.tonari"), str(new)], ["inspect", str(tmp_path / "m.tonari")]):
        assert main(arguments) == 3
        err = capsys.readouterr().err
        assert "m.tonari" in err
        assert "Traceback" not in err


def test_a_model_of_arrays_takes_no_tables(new: Path, tmp_path: Path, capsys: Captured) -> None:
    from tonari.neighbors import KNeighborsClassifier

    save_model(tmp_path / "k.tonari", KNeighborsClassifier(1).fit([[0.0], [1.0]], [0, 1]))
    assert main(["predict", str(tmp_path / "k.tonari"), str(new)]) == 3
    assert "takes arrays and not tables" in capsys.readouterr().err
    assert main(["inspect", str(tmp_path / "k.tonari")]) == 0
    assert "neighbors.KNeighborsClassifier" in capsys.readouterr().out


def test_labels_and_names_are_quoted_and_no_formula(tmp_path: Path, capsys: Captured) -> None:
    """Trap: names and labels pasted into CSV unescaped; cells that a spreadsheet would run."""
    labels = ('a "quoted", long\nlabel', "=HYPERLINK(1)")
    frame(labels, "the, target").to_csv(tmp_path / "t.csv", index=False)
    assert main([
        "compare", str(tmp_path / "t.csv"), "-t", "the, target", "--folds", "3", "-q", "-o", str(tmp_path / "o"),
    ]) == 0  # fmt: skip
    capsys.readouterr()
    model = str(tmp_path / "o" / "model.tonari")
    assert main(["predict", model, str(tmp_path / "t.csv")]) == 0
    out, err = capsys.readouterr()
    header, *rows = list(csv.reader(io.StringIO(out)))
    assert header == ["the, target", "probability_=HYPERLINK(1)", f"probability_{labels[0]}"]
    assert {row[0] for row in rows} == {labels[0], "'=HYPERLINK(1)"}
    assert len(rows) == 60
    assert "would be a formula" in err
    assert main(["predict", model, str(tmp_path / "t.csv"), "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["labels"]) == set(labels)


@pytest.mark.parametrize("text", ["=1", "+a", "-x", "@b", "\tx", "\rx", "+1+1", "-", "+", "-1.5", "+3e4", "a=", ""])
def test_only_what_a_spreadsheet_would_run_is_marked(text: str) -> None:
    """Trap: a guard that turns -1.5 and the classes + and - into something else."""
    harmless = text in ("-", "+", "-1.5", "+3e4", "a=", "")
    assert as_cell(text) == (text if harmless else f"'{text}")


def test_a_reader_that_goes_away_is_no_error_message(model: Path, tmp_path: Path) -> None:
    """Trap: BrokenPipeError, as in ``tonari predict ... | head``."""
    pd.concat([frame()] * 500).to_csv(tmp_path / "many.csv", index=False)
    run = "import sys; from tonari.cli import main; sys.exit(main())"
    with subprocess.Popen(
        [sys.executable, "-c", run, "predict", str(model), str(tmp_path / "many.csv")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "kind,probability_no,probability_yes\n"
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=60) == 141


def test_inspect_says_what_the_file_holds(model: Path, capsys: Captured) -> None:
    assert main(["inspect", str(model)]) == 0
    out = capsys.readouterr().out
    for part in (
        "model_selection.TunedModel",
        "Predicts 'kind': no, yes",
        "colour  categorical  blue, red",
        "k-NN, k=",
    ):
        assert part in out
    assert inspect_model(model)["sha256"] in out
    assert main(["inspect", str(model), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["ok"]) == (1, True)
    assert document["file"]["sha256"] == inspect_model(model)["sha256"]
    assert [column["name"] for column in document["columns"]] == ["length", "colour"]
    assert document["chosen"]["winner"]["family"] == "k-NN"
