"""Progress: on standard error only, a bar on a terminal, few lines elsewhere, nothing when quiet."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

from tonari.base import progress as module
from tonari.base.progress import Progress


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Clock:
    """Time that passes only when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    stream = Terminal()
    # Not sys.stderr itself, which pytest puts back before the test begins.
    monkeypatch.setattr(module, "sys", SimpleNamespace(stderr=stream))
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return stream


def test_lines_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str], clock: Clock) -> None:
    with Progress(4000, "searching") as progress:
        for _ in range(1000):
            clock.now += 0.025
            progress.advance()
        progress.describe("judging")
        clock.now += 175.0
        progress.advance(3000)
    out, err = capsys.readouterr()
    assert out == ""
    *during, last = err.splitlines()
    assert 4 <= len(during) <= 6
    assert during[0] == "searching: 200 of 4,000 (5 %), 5 s, about 1 min 35 s left"
    assert during[-1] == "judging: 4,000 of 4,000 (100 %), 3 min 20 s, about 0 s left"
    assert last == "judging: 4,000 of 4,000 (100 %), 3 min 20 s, done"


def test_short_work_says_one_line(capsys: pytest.CaptureFixture[str], clock: Clock) -> None:
    with Progress(2, "searching") as progress:
        progress.advance(2)
    assert capsys.readouterr() == ("", "searching: 2 of 2 (100 %), 0 s, done\n")


def test_nothing_done_yet_promises_nothing(capsys: pytest.CaptureFixture[str], clock: Clock) -> None:
    with Progress(2, "searching") as progress:
        clock.now += 3700
        progress.describe("still searching")
    first, _ = capsys.readouterr().err.splitlines()
    assert first == "still searching: 0 of 2 (0 %), 1 h 01 min, started"


def test_no_steps_at_all(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(0, "searching"):
        pass
    assert "0 of 0 (100 %)" in capsys.readouterr().err


@pytest.mark.parametrize("fails", [True, False])
def test_quiet_is_silent(capsys: pytest.CaptureFixture[str], clock: Clock, fails: bool) -> None:
    work = Progress(2, "searching", quiet=True)
    try:
        with work:
            clock.now += 60
            work.advance()
            work.describe("more")
            if fails:
                raise RuntimeError("stop")
    except RuntimeError:
        pass
    assert capsys.readouterr() == ("", "")
    assert work.done == 1


def _interrupted(progress: Progress, error: type[BaseException] = KeyboardInterrupt) -> None:
    progress.advance()
    raise error


def test_the_error_inside_comes_out(capsys: pytest.CaptureFixture[str], clock: Clock) -> None:
    with pytest.raises(KeyboardInterrupt), Progress(2, "searching") as progress:
        _interrupted(progress)
    assert capsys.readouterr().err.endswith("searching: 1 of 2 (50 %), 0 s, stopped\n")


def test_a_bar_on_a_terminal(terminal: Terminal, capsys: pytest.CaptureFixture[str]) -> None:
    """Trap 18: the name of a column is no markup for the terminal."""
    with Progress(3, "searching [red]x[/red]") as progress:
        progress.advance(3)
        progress.describe("judging [bold]")
    shown = terminal.getvalue()
    assert "searching [red]x[/red]" in shown
    assert "judging [bold]" in shown
    assert "3/3" in shown
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_the_terminal_is_left_as_it_was(terminal: Terminal, error: type[BaseException]) -> None:
    """After Ctrl-C the cursor is back, the line is clean, and no thread goes on drawing."""
    before = set(threading.enumerate())
    with pytest.raises(error), Progress(3, "searching") as progress:
        _interrupted(progress, error)
    shown = terminal.getvalue()
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")
    assert shown.rindex("\x1b[2K") > shown.rindex("searching")
    for thread in set(threading.enumerate()) - before:
        thread.join(timeout=30)
        assert not thread.is_alive()


def test_a_terminal_that_can_do_nothing_gets_lines(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    with Progress(3, "searching") as progress:
        progress.advance(3)
    assert terminal.getvalue().endswith("searching: 3 of 3 (100 %), 0 s, done\n")
    assert "\x1b" not in terminal.getvalue()


def test_threads_lose_no_step() -> None:
    with Progress(8000, "searching", quiet=True) as progress:
        threads = [threading.Thread(target=lambda: [progress.advance() for _ in range(1000)]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert progress.done == 8000


@pytest.mark.parametrize("stream", ["none", "closed", "broken"])
def test_a_lost_stream_does_not_stop_the_work(monkeypatch: pytest.MonkeyPatch, clock: Clock, stream: str) -> None:
    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    lost = {"none": None, "closed": io.StringIO(), "broken": Broken()}[stream]
    if stream == "closed" and lost is not None:
        lost.close()
    monkeypatch.setattr(module, "sys", SimpleNamespace(stderr=lost))
    with Progress(2, "searching") as progress:
        clock.now += 60
        progress.advance(2)
    assert progress.done == 2


def test_steps_before_and_after_the_block_are_only_counted(capsys: pytest.CaptureFixture[str], clock: Clock) -> None:
    progress = Progress(2, "searching")
    with progress:
        progress.advance(2)
    clock.now += 60
    progress.advance()
    progress.describe("late")
    assert capsys.readouterr().err.count("\n") == 1


def test_rich_is_imported_for_a_terminal_only() -> None:
    code = (
        "import sys; from tonari.base.progress import Progress\n"
        "with Progress(1, 'x') as p: p.advance()\n"
        "assert 'rich' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=os.environ)
    assert (done.stdout, done.stderr) == ("", "x: 1 of 1 (100 %), 0 s, done\n")
