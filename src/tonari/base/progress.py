"""Progress of long work on standard error: a bar with the time left on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

#: Seconds between two lines where standard error is not a terminal.
SECONDS_BETWEEN_LINES = 5.0


class Progress:
    """Shows how much of some work is done, while the ``with`` block around the work runs.

    On a terminal a bar with the time left; elsewhere at most one line every few seconds and one at the end; nothing
    when quiet. Standard output is never written to. `advance` and `describe` may be called from any thread.

    Parameters
    ----------
    total : int
        How many steps there are.
    description : str
        What is being done.
    quiet : bool, default=False

    Examples
    --------
    >>> with Progress(3, "searching", quiet=True) as progress:
    ...     for _ in range(3):
    ...         progress.advance()
    >>> progress.done
    3
    """

    def __init__(self, total: int, description: str, *, quiet: bool = False) -> None:
        self.total = total
        self.description = description
        self.quiet = quiet
        self.done = 0
        self._lock = threading.Lock()
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None
        self._stream: TextIO | None = None
        self._started = 0.0
        self._last_line = 0.0

    def __enter__(self) -> Self:
        self.done = 0
        self._started = self._last_line = time.monotonic()
        # Looked up now, not at import: tests and notebooks put another stream in its place.
        stream = sys.stderr
        if self.quiet or stream is None:
            return self
        self._stream = stream
        if _is_terminal(stream):
            self._bar, self._task = _start_bar(stream, self.description, self.total)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._lock:
            bar, self._bar = self._bar, None
            stream, self._stream = self._stream, None
        if bar is not None:
            # Shows the cursor again and ends the line, also when Ctrl-C ended the block.
            bar.stop()
        elif stream is not None:
            _write(stream, self._line("stopped" if kind is not None else "done"))

    def advance(self, n: int = 1) -> None:
        """Count steps as done.

        Parameters
        ----------
        n : int, default=1
        """
        with self._lock:
            self.done += n
            self._show()

    def describe(self, text: str) -> None:
        """Say what is being done now.

        Parameters
        ----------
        text : str
        """
        with self._lock:
            self.description = text
            self._show()

    def _show(self) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self.done, description=_escaped(self.description))
        elif self._stream is not None:
            now = time.monotonic()
            if now - self._last_line >= SECONDS_BETWEEN_LINES:
                self._last_line = now
                _write(self._stream, self._line(f"about {_duration(self._left(now))} left" if self.done else "started"))

    def _left(self, now: float) -> float:
        return (now - self._started) / self.done * max(self.total - self.done, 0)

    def _line(self, state: str) -> str:
        share = 100 * self.done // self.total if self.total else 100
        spent = _duration(time.monotonic() - self._started)
        return f"{self.description}: {self.done:,} of {self.total:,} ({share} %), {spent}, {state}\n"


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False


def _start_bar(stream: TextIO, description: str, total: int) -> tuple[RichProgress | None, TaskID | None]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    console = Console(file=stream)
    if not console.is_terminal or console.is_dumb_terminal:
        return None, None
    # Output of others is left alone: redirecting standard output would send data through the bar.
    bar = RichProgress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        console=console, transient=True, redirect_stdout=False, redirect_stderr=False,
    )  # fmt: skip
    task = bar.add_task(_escaped(description), total=total)
    bar.start()
    return bar, task


def _escaped(text: str) -> str:
    """Text in which rich sees no markup: a column may be called [bold]."""
    from rich.markup import escape

    return escape(text)


def _write(stream: TextIO, line: str) -> None:
    try:
        stream.write(line)
        stream.flush()
    except (OSError, ValueError):
        # A closed pipe must not end the work whose progress it was to show.
        pass


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
