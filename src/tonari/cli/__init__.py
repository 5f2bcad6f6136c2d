"""The command ``tonari``: compare, predict, audit, inspect.

Exit codes: 0 done, 1 a check failed or something went wrong inside, 2 usage, 3 data, 4 partial result, 130 interrupted,
141 the reader of stdout went away.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

from cyclopts import App, CycloptsError, MissingArgumentError, UnusedCliTokensError

from tonari.base.errors import TonariError, UsageError
from tonari.cli import audit, compare, inspect, predict, streams

INTERRUPTED = 130
READER_GONE = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv : sequence of str, default=None
        Arguments without the program's name; None means those of the process.

    Returns
    -------
    int
        The exit code.
    """
    tokens = list(sys.argv[1:] if argv is None else argv)
    options = tokens[: tokens.index("--")] if "--" in tokens else tokens
    as_json = "--json" in options
    streams.prepare()
    if "--debug" not in options:
        streams.show_warnings_as_notes()
    try:
        code = _run(tokens)
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes stdout once more when it ends; let that go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_GONE
    except KeyboardInterrupt:
        return _fail("Interrupted", "Interrupted: the work was not finished.", "", INTERRUPTED, as_json)
    except TonariError as error:
        _trace(options)
        return _fail(type(error).__name__, error.message, error.remedy, error.exit_code, as_json)
    except MemoryError:
        _trace(options)
        remedy = "Give fewer rows or columns, or a machine with more memory."
        return _fail("MemoryError", "There is not enough memory for this table.", remedy, 1, as_json)
    except Exception as error:
        _trace(options)
        what = f"This should not happen: {type(error).__name__}: {error}"
        return _fail("InternalError", what, "Run it again with --debug and report what it prints.", 1, as_json)
    return code


def _run(tokens: list[str]) -> int:
    from tonari import __version__

    app = App(
        name="tonari", version=__version__, help_format="plaintext",
        help="Point it at labelled data: it tunes classifiers, says which is best and how sure that is, and hands over "
        "a model file and a report.",
        help_epilogue="tonari compare iris.csv --target species\ntonari predict iris-tonari/model.tonari new.csv",
    )  # fmt: skip
    app.command(compare.compare)
    app.command(predict.predict)
    app.command(audit.audit)
    app.command(inspect.inspect)
    try:
        command, bound, _ = app.parse_args(tokens, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        name = next((token for token in tokens if token in ("compare", "predict", "audit", "inspect")), "")
        raise UsageError(
            _worded(error, tokens), f"See 'tonari {name} --help'." if name else "See 'tonari --help'."
        ) from error
    answer = command(*bound.args, **bound.kwargs)
    return answer if isinstance(answer, int) else 0


def _worded(error: CycloptsError, tokens: list[str]) -> str:
    text = str(error)
    if isinstance(error, UnusedCliTokensError):
        return f"Too many arguments: {' '.join(map(repr, error.unused_tokens or ()))}."
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        given = {token.partition("=")[0] for token in tokens}
        if not given & set(error.argument.names):
            return text.replace("requires an argument", "is missing", 1)
    return text


def _fail(kind: str, message: str, remedy: str, code: int, as_json: bool) -> int:
    """Say what went wrong on stderr, and as JSON on stdout where that was asked for."""
    if as_json:
        streams.put_json(False, error={"kind": kind, "message": message, "remedy": remedy, "exit_code": code})
    streams.complain(message, remedy)
    return code


def _trace(options: list[str]) -> None:
    if "--debug" in options:
        traceback.print_exc()
