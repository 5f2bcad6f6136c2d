"""``tonari compare``: a table in, a tuned and judged model out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from tonari.cli import streams

if TYPE_CHECKING:
    from tonari.model_selection.comparison import Comparison

Flag = Annotated[bool, Parameter(negative="", show_default=False)]

#: Endings of table files, taken off their name to make that of the output folder.
_ENDINGS = {".gz", ".csv", ".tsv", ".txt", ".data", ".parquet", ".pq", ".json", ".jsonl", ".ndjson"}


def compare(
    data: Path,
    /,
    *,
    target: Annotated[str, Parameter(name=["--target", "-t"])],
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    metric: Literal["accuracy", "balanced_accuracy", "f1", "roc_auc"] = "accuracy",
    drop: Annotated[list[str] | None, Parameter(negative="", show_default=False)] = None,
    seed: int = 0,
    test_size: Annotated[float, Parameter(show_default=lambda _: "1/3")] = 1 / 3,
    folds: int = 10,
    jobs: Annotated[int | None, Parameter(name=["--jobs", "-j"])] = None,
    json: Flag = False,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="", show_default=False)] = False,
    force: Flag = False,
    debug: Flag = False,
) -> None:
    """Tune classifiers on a table, judge the best once on rows set aside, write model.tonari, report.html, result.json.

    Parameters
    ----------
    data
        A CSV, TSV, Parquet or JSON file; gzip is fine.
    target
        The column of classes.
    output
        Folder for the three files; by default the table's name and "-tonari", here.
    metric
        What decides; f1 is the mean over classes, roc_auc is for two classes.
    drop
        A column to leave out; may be given several times.
    seed
        Of the split and the folds: the same seed gives the same files.
    test_size
        Share of rows set aside for the test.
    folds
        Of the cross-validation.
    jobs
        Threads; by default all cores.
    json
        Print one JSON object instead of the table.
    quiet
        Show no progress.
    force
        Replace files that are there already.
    debug
        Show where an error came from.
    """
    from tonari.model_selection.comparison import compare as run

    folder = _folder(data) if output is None else output
    comparison = run(
        data, target, output=folder, seed=seed, test_size=test_size, folds=folds, metric=metric, drop=drop or (),
        n_jobs=jobs, quiet=quiet, force=force,
    )  # fmt: skip
    if json:
        files = {what: str(path) for what, path in comparison.paths.items()}
        streams.put_json(True, result=comparison.result, files=files)
        return
    if sys.stdout.isatty():
        _show(comparison)
    else:
        streams.put(comparison.table())
    streams.put("")
    width = max(map(len, comparison.paths))
    for what, path in comparison.paths.items():
        streams.put(f"{what.ljust(width)}  {path}")


def _folder(data: Path) -> Path:
    name = Path(data.name)
    while name.suffix.lower() in _ENDINGS:
        name = name.with_suffix("")
    return Path(f"{name}-tonari")


def _show(comparison: Comparison) -> None:
    """The table for a terminal: aligned, the chosen row bold, those not told apart from the best in plain letters."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from tonari.model_selection import summary

    result = comparison.result
    rows, left_out = summary.shown(result, 12)
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for title in summary.HEADINGS:
        table.add_column(title, justify="right" if title in summary.NUMBERS else "left", overflow="fold")
    for row in rows:
        style = "bold green" if row[0] == summary.CHOSEN else "" if row[0] == summary.TIED else "dim"
        table.add_row(*(Text(streams.printable(cell), style=style) for cell in row))
    console = Console(highlight=False)
    console.print(Text(streams.printable(summary.opening(result))))
    console.print(table)
    console.print(Text(streams.printable(summary.closing(result, left_out))))
    for note in result["notes"]:
        console.print(Text.assemble(("Note: ", "yellow"), streams.printable(note)))
