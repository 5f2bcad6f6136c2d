"""``tonari predict``: labels and probabilities for the rows of a table, as CSV or JSON."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tonari.base.errors import ModelFileError, UsageError
from tonari.cli import streams

if TYPE_CHECKING:
    from tonari.model_selection.tuned import TunedModel

Flag = Annotated[bool, Parameter(negative="", show_default=False)]

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def predict(
    model: Path,
    new: Path,
    /,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    json: Flag = False,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="", show_default=False)] = False,
    force: Flag = False,
    debug: Flag = False,
) -> None:
    """Predict the class of every row of a table: the label, then the probability of each class.

    Parameters
    ----------
    model
        A model.tonari that compare has written.
    new
        A table with the columns of the training table; others are ignored.
    output
        Write the CSV to this file instead of stdout.
    json
        Print one JSON object; without --output it holds the labels and probabilities, letter by letter.
    quiet
        Say nothing on stderr but errors.
    force
        Replace the output file if it is there already.
    debug
        Show where an error came from.
    """
    if output is not None:
        _check(output, force)
    tuned = opened(model)
    notes: list[str] = []
    labels, probabilities = tuned.answer(new, notes)
    texts = tuned.spell(labels)
    if not (json and output is None):
        guarded = sorted({text for text in [tuned.target, *tuned.labels] if as_cell(text) != text})
        if guarded:
            notes.append(
                f"{', '.join(map(repr, guarded))} would be a formula to a spreadsheet: written with a ' before it. "
                "--json gives it letter by letter."
            )
    if output is not None:
        _write(output, "".join(_lines(tuned, texts, probabilities.tolist())), force)
    if json:
        answers = {"output": str(output)} if output is not None else {
            "labels": texts, "probabilities": probabilities.tolist(),
        }  # fmt: skip
        streams.put_json(
            True, target=tuned.target, classes=tuned.labels, rows=len(texts), **answers, notes=notes
        )  # fmt: skip
    elif output is None:
        for line in _lines(tuned, texts, probabilities.tolist()):
            sys.stdout.write(line)
    streams.say(notes, quiet=quiet)


def opened(path: Path) -> TunedModel:
    """The model of a file that takes tables."""
    from tonari.model_selection.tuned import TunedModel
    from tonari.store import open_model

    model = open_model(path)
    if not isinstance(model, TunedModel):
        raise ModelFileError(
            f"{path} holds a {type(model).__name__}, which takes arrays and not tables.", "Open it from Python."
        )
    return model


def as_cell(text: str) -> str:
    """A label or name as a cell that no spreadsheet takes for a formula; numbers stay as they are.

    Examples
    --------
    >>> as_cell("=1+1"), as_cell("-1.5"), as_cell("yes"), as_cell("-")
    ("'=1+1", '-1.5', 'yes', '-')
    """
    if len(text) > 1 and text[0] in "=+-@\t\r\n\0" and _NUMBER.fullmatch(text) is None:
        return f"'{text}"
    return text


def _lines(tuned: TunedModel, labels: Sequence[str], probabilities: Sequence[Sequence[float]]) -> Iterator[str]:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    cells = {label: as_cell(label) for label in tuned.labels}

    def line(row: Sequence[object]) -> str:
        buffer.seek(0)
        buffer.truncate()
        writer.writerow(row)
        return buffer.getvalue()

    yield line([as_cell(tuned.target), *(f"probability_{label}" for label in tuned.labels)])
    for label, row in zip(labels, probabilities, strict=True):
        yield line([cells[label], *row])


def _check(output: Path, force: bool) -> None:
    if output.is_dir():
        raise UsageError(f"{output} is a folder.", "Give the name of a file.")
    if output.exists() and not force:
        raise UsageError(f"{output} exists already.", "Choose another name, or replace it with --force.")
    if not output.absolute().parent.is_dir():
        raise UsageError(f"There is no folder {output.parent} to write {output.name} to.", "Make it first.")


def _write(output: Path, text: str, force: bool) -> None:
    from tonari.model_selection.output import write_file

    write_file(output, text.encode("utf-8", "surrogatepass"), force)
