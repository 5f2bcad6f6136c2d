"""What goes where: results to stdout, everything said about them to stderr, one JSON object where it was asked for."""

from __future__ import annotations

import json
import sys
import unicodedata
import warnings
from collections.abc import Iterable
from typing import Any, TextIO

SCHEMA = 1


def prepare() -> None:
    """Let no character stop the program: what a terminal cannot show is spelled out."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def printable(text: str) -> str:
    r"""The text without control characters: a name from a file must not steer the terminal.

    Examples
    --------
    >>> print(printable("a\x1b[2Jb"))
    a\x1b[2Jb
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter == "\n" or unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
        else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )  # fmt: skip


def put(text: str) -> None:
    """Write a result for people to stdout."""
    print(printable(text))


def put_json(ok: bool, **parts: Any) -> None:
    """Write the one JSON object of a ``--json`` run to stdout: ASCII, keys in order, no NaN."""
    document = {"schema": SCHEMA, "ok": ok, **parts}
    print(json.dumps(document, separators=(",", ":"), allow_nan=False))


def say(notes: Iterable[str], *, quiet: bool = False) -> None:
    """Write notes to stderr, one a line."""
    if not quiet:
        for note in notes:
            _styled("note", "yellow", note)


def complain(message: str, remedy: str = "") -> None:
    """Write an error to stderr: what is wrong, and below it what to do."""
    _styled("error", "bold red", message)
    if remedy:
        print(f"  {printable(remedy)}", file=sys.stderr)


def show_warnings_as_notes() -> None:
    """Say a library's warning in one line, without the place in its source, and the same one once."""
    said: set[str] = set()

    def show(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, file: TextIO | None = None,
        line: str | None = None,
    ) -> None:  # fmt: skip
        text = " ".join(str(message).split())
        if text not in said:
            said.add(text)
            _styled("warning", "yellow", text)

    warnings.showwarning = show


def _styled(word: str, style: str, text: str) -> None:
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.text import Text

        console = Console(stderr=True, soft_wrap=True, highlight=False)
        console.print(Text.assemble((f"{word}: ", style), printable(text)))
    else:
        print(f"{word}: {printable(text)}", file=sys.stderr)
