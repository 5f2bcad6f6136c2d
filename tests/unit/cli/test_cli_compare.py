"""``tonari compare`` from the outside: what it prints where, what it writes, how it fails."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tonari.cli import main
from tonari.store import open_model

Captured = pytest.CaptureFixture[str]


def write(path: Path, frame: pd.DataFrame) -> Path:
    frame.to_csv(path, index=False)
    return path


def frame(rows: int = 60) -> pd.DataFrame:
    random = np.random.default_rng(0)
    kind = random.integers(0, 2, rows)
    return pd.DataFrame({
        "length": random.normal(size=rows) + kind, "width": random.normal(size=rows),
        "kind": np.array(["no", "yes"])[kind],
    })  # fmt: skip


@pytest.fixture
def csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write(Path("flowers.csv"), frame())


def test_a_table_on_stdout_and_three_files(csv: Path, capsys: Captured) -> None:
    assert main(["compare", "flowers.csv", "--target", "kind", "--folds", "3"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].startswith("flowers.csv: 60 rows, 2 columns, 2 classes of 'kind'.")
    assert "Test, looked at once: accuracy" in out
    assert [line.split()[-1] for line in lines[-3:]] == [
        "flowers-tonari/model.tonari", "flowers-tonari/report.html", "flowers-tonari/result.json",
    ]  # fmt: skip
    assert all(Path(line.split()[-1]).is_file() for line in lines[-3:])
    assert "k-NN" in err or "done" in err
    assert "\x1b" not in out + err


def test_quiet_says_nothing_on_stderr(csv: Path, capsys: Captured) -> None:
    assert main(["compare", "flowers.csv", "-t", "kind", "--folds", "3", "-q"]) == 0
    assert capsys.readouterr().err == ""


def test_json_is_one_versioned_object(csv: Path, capsys: Captured) -> None:
    assert main(["compare", "flowers.csv", "-t", "kind", "--folds", "3", "--json", "-o", "out"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["ok"]) == (1, True)
    assert document["result"] == json.loads(Path("out/result.json").read_text())
    assert document["files"]["model"] == "out/model.tonari"


def test_options_reach_the_comparison(csv: Path, capsys: Captured) -> None:
    arguments = [
        "--folds", "4", "--seed", "7", "--metric", "f1", "--test-size", "0.25", "--jobs", "1", "--drop", "width",
    ]  # fmt: skip
    assert main(["compare", "flowers.csv", "-t", "kind", "--json", "--quiet", *arguments]) == 0
    result = json.loads(capsys.readouterr().out)["result"]
    plan = result["plan"]
    assert (plan["folds"], plan["seed"], plan["metric"], plan["test_fraction"]) == (4, 7, "f1", 0.25)
    assert plan["test_rows"] == 15
    assert [column["name"] for column in result["data"]["columns"]] == ["length"]


def test_nothing_is_overwritten_without_force(csv: Path, capsys: Captured) -> None:
    arguments = ["compare", "flowers.csv", "-t", "kind", "--folds", "3", "-q"]
    assert main(arguments) == 0
    first = Path("flowers-tonari/result.json").read_bytes()
    assert main([*arguments, "--seed", "1"]) == 2
    assert "exists already" in capsys.readouterr().err
    assert Path("flowers-tonari/result.json").read_bytes() == first
    assert main([*arguments, "--seed", "1", "--force"]) == 0
    assert Path("flowers-tonari/result.json").read_bytes() != first


@pytest.mark.parametrize(
    ("name", "folder"),
    [("a.csv", "a-tonari"), ("b.csv.gz", "b-tonari"), ("my.data.parquet", "my-tonari"), ("v1.2.csv", "v1.2-tonari")],
)
def test_the_folder_is_named_after_the_table(
    name: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if name.endswith("parquet"):
        import duckdb

        data = frame()  # noqa: F841
        duckdb.sql(f"COPY (SELECT * FROM data) TO '{name}' (FORMAT parquet)")
    else:
        write(Path(name), frame())
    assert main(["compare", name, "-t", "kind", "--folds", "3", "-q"]) == 0
    assert (tmp_path / folder / "model.tonari").is_file()


# --- what goes wrong: what, where, what to do, and the exit code ----------------------------------------------------


def failing(csv: Path, name: str) -> list[str]:
    data = frame()
    if name == "missing file":
        return ["flower.csv", "-t", "kind"]
    if name == "missing column":
        return ["flowers.csv", "-t", "kinds"]
    if name == "unreadable row":
        lines = csv.read_text().splitlines()
        lines[7] += ",surplus"
        csv.write_text("\n".join(lines))
    if name == "one class":
        write(csv, data.assign(kind="no"))
    if name == "lonely class":
        data.loc[5, "kind"] = "maybe"
        write(csv, data)
    if name == "missing label":
        data.loc[5, "kind"] = None
        write(csv, data)
    if name == "regression":
        write(csv, data.assign(kind=data["length"]))
    return ["flowers.csv", "-t", "kind"]


@pytest.mark.parametrize(
    ("name", "code", "parts"),
    [
        ("missing file", 3, ["There is no file flower.csv", "Did you mean 'flowers.csv'"]),
        ("missing column", 3, ["has no column 'kinds'", "Did you mean 'kind'"]),
        ("unreadable row", 3, ["line 8"]),
        ("one class", 3, ["only one class, 'no', in all 60 rows", "Two classes"]),
        ("lonely class", 3, ["Class 'maybe'", "one row only", "Remove such rows"]),
        ("missing label", 3, ["line 7", "'kind'", "remove the row"]),
        ("regression", 3, ["regression target"]),
    ],
)
def test_errors_say_what_where_and_what_to_do(
    name: str, code: int, parts: list[str], csv: Path, capsys: Captured
) -> None:
    arguments = ["compare", *failing(csv, name), "--folds", "3", "-q"]
    assert main(arguments) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert "Traceback" not in err
    for part in parts:
        assert part in err
    assert not Path("flowers-tonari").exists()
    assert main([*arguments, "--json"]) == code
    out, again = capsys.readouterr()
    assert again == err
    document = json.loads(out)
    assert (document["schema"], document["ok"]) == (1, False)
    assert document["error"]["exit_code"] == code
    assert document["error"]["message"] in err


def test_fewer_rows_than_folds_and_a_constant_column_are_notes_not_errors(csv: Path, capsys: Captured) -> None:
    data = frame().assign(same=1.5)
    data["kind"] = ["rare"] * 9 + ["usual"] * 51
    write(csv, data)
    assert main(["compare", "flowers.csv", "-t", "kind", "-q"]) == 0
    out = capsys.readouterr().out
    assert "Note: Class 'rare' of 'kind' has fewer rows to learn from than the 10 folds asked for: 6 are used." in out
    assert "Note: Column 'same' was left out" in out


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["compare", "x.csv", "--targt", "y"], ["--target is missing", "Did you mean --target"]),
        (["compare", "x.csv"], ["--target is missing", "tonari compare --help"]),
        (["compare", "x.csv", "--target"], ["--target requires an argument"]),
        (["compare", "-t", "y"], ["DATA is missing"]),
        (["compare", "x.csv", "z.csv", "-t", "y"], ["Too many arguments: 'z.csv'"]),
        (["compare", "x.csv", "-t", "y", "--fold", "3"], ["Unknown option: --fold", "Did you mean --folds"]),
        (["compare", "x.csv", "-t", "y", "--metric", "acuracy"], ["acuracy", "balanced_accuracy"]),
        (["compare", "x.csv", "-t", "y", "--folds", "many"], ["many"]),
        (["comparre"], ["comparre", 'Did you mean "compare"']),
        (["compare", "flowers.csv", "-t", "kind", "--folds", "1"], ["at least 2 folds"]),
        (["compare", "flowers.csv", "-t", "kind", "--test-size", "2"], ["between 0 and 1"]),
        (["compare", "flowers.csv", "-t", "kind", "-o", "flowers.csv"], ["cannot be written to"]),
    ],
)
def test_wrong_usage_is_code_2(arguments: list[str], parts: list[str], csv: Path, capsys: Captured) -> None:
    assert main([*arguments, "-q"] if arguments[0] == "compare" else arguments) == 2
    err = capsys.readouterr().err
    for part in parts:
        assert part in err
    assert main([*arguments, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "UsageError"


def test_a_bug_shows_no_traceback_unless_asked(csv: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trap: a bare traceback as the message."""

    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("tonari.model_selection.comparison.draw_up", broken)
    arguments = ["compare", "flowers.csv", "-t", "kind"]
    assert main(arguments) == 1
    err = capsys.readouterr().err
    assert "ZeroDivisionError: by zero" in err
    assert "--debug" in err
    assert "Traceback" not in err
    assert main([*arguments, "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupt_is_code_130_and_a_sentence(csv: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tonari.model_selection.comparison.judge", interrupted)
    assert main(["compare", "flowers.csv", "-t", "kind", "--folds", "3", "-q"]) == 130
    assert capsys.readouterr().err == "error: Interrupted: the work was not finished.\n"
    assert not Path("flowers-tonari").exists()


def test_names_from_a_file_do_not_steer_the_terminal(csv: Path, capsys: Captured) -> None:
    """Trap: escape sequences in column names and labels."""
    write(csv, frame().rename(columns={"kind": "ki\x1b[31mnd"}).assign(**{"le\x07": 1}))
    assert main(["compare", "flowers.csv", "-t", "ki\x1b[31mnd", "--folds", "3"]) == 0
    out, err = capsys.readouterr()
    assert "ki\\x1b[31mnd" in out
    assert "\x1b" not in out + err
    assert "\x07" not in out + err


# --- as a process ---------------------------------------------------------------------------------------------------


def command(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    run = "import sys; from tonari.cli import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", run, *arguments], capture_output=True, text=True, timeout=120, check=False, **options
    )


def test_help_and_version_load_no_library_of_the_work() -> None:
    """Trap: a help text that takes seconds because everything is imported first."""
    run = (
        "import sys; from tonari.cli import main; main(['compare', '--help']); main(['--version']);"
        "print([name for name in ('sklearn', 'duckdb', 'scipy', 'jinja2') if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, timeout=60, check=True)
    assert "--target" in done.stdout
    assert done.stdout.splitlines()[-1] == open_version()
    assert done.stderr.strip() == "[]"


def open_version() -> str:
    from tonari import __version__

    return __version__


def test_a_terminal_gets_colours_and_a_bar_unless_it_wants_none(csv: Path) -> None:
    pty = pytest.importorskip("pty")
    text = {}
    for colour in ("", "1"):
        master, slave = pty.openpty()
        environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "CI", "FORCE_COLOR")}
        environment |= {"TERM": "xterm-256color", "COLUMNS": "120"} | ({"NO_COLOR": colour} if colour else {})
        run = "import sys; from tonari.cli import main; sys.exit(main())"
        process = subprocess.Popen(
            [sys.executable, "-c", run, "compare", "flowers.csv", "-t", "kind", "--folds", "3", "--force"],
            stdout=slave, stderr=slave, stdin=slave, env=environment,
        )  # fmt: skip
        os.close(slave)
        chunks = []
        try:
            while chunk := os.read(master, 65536):
                chunks.append(chunk)
        except OSError:
            pass
        os.close(master)
        assert process.wait(timeout=60) == 0
        text[colour] = b"".join(chunks).decode()
    assert "\x1b[1;32m" in text[""]
    assert "\x1b[1;32m" not in text["1"]
    for output in text.values():
        assert "flowers-tonari/result.json" in output


def test_a_reader_that_goes_away_is_no_error_message(csv: Path) -> None:
    """Trap: BrokenPipeError, as in ``tonari compare ... | head -1``."""
    run = "import sys; from tonari.cli import main; sys.exit(main())"
    with subprocess.Popen(
        [sys.executable, "-c", run, "compare", "flowers.csv", "-t", "kind", "--folds", "3", "-q", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=60) == 141


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT for one process")
def test_ctrl_c_ends_the_process_with_130(tmp_path: Path) -> None:
    """Trap: native loops that ignore Ctrl-C, and folders left behind."""
    random = np.random.default_rng(0)
    data = pd.DataFrame(random.normal(size=(20_000, 30))).rename(columns="x{}".format).assign(kind=["a", "b"] * 10_000)
    write(tmp_path / "large.csv", data)
    run = "import sys; from tonari.cli import main; sys.exit(main())"
    process = subprocess.Popen(
        [sys.executable, "-c", run, "compare", "large.csv", "-t", "kind", "--jobs", "1"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not (tmp_path / "large-tonari").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert "Interrupted: the work was not finished." in err
    assert "Traceback" not in err
    assert not (tmp_path / "large-tonari").exists()


def test_the_model_opens_from_python(csv: Path, capsys: Captured) -> None:
    assert main(["compare", "flowers.csv", "-t", "kind", "--folds", "3", "-q"]) == 0
    model = open_model("flowers-tonari/model.tonari")
    assert set(model.predict(frame())) <= {"no", "yes"}
