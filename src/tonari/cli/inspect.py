"""``tonari inspect``: what a model file holds and how the model was chosen."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from tonari.cli import streams

Flag = Annotated[bool, Parameter(negative="", show_default=False)]

#: Categories of a column that are shown; the file may hold many more.
MOST_LEVELS = 8


def inspect(model: Path, /, *, json: Flag = False, debug: Flag = False) -> None:
    """Say what a model file holds: its kind, the columns it needs, its classes, how it was chosen.

    Parameters
    ----------
    model
        A file that tonari has written; it is checked in full, and nothing in it is run.
    json
        Print one JSON object.
    debug
        Show where an error came from.
    """
    from tonari.model_selection.tuned import TunedModel
    from tonari.store import inspect_model, open_model

    described = inspect_model(model)
    opened = open_model(model)
    tuned = opened if isinstance(opened, TunedModel) else None
    if json:
        parts = {} if tuned is None else {
            "target": tuned.target, "classes": tuned.labels, "columns": tuned.schema.to_json()["columns"],
            "chosen": tuned.chosen,
        }  # fmt: skip
        file = {key: described[key] for key in ("format", "kind", "sha256", "bytes", "sections")}
        streams.put_json(True, file=file, **parts)
        return
    streams.put(f"{model}: {described['kind']}, format {described['format']}, {described['bytes']:,} bytes")
    streams.put(f"sha256 {described['sha256']}")
    if tuned is not None:
        streams.put("\n".join(_model(tuned)))
    else:
        for section in described["sections"]:
            streams.put(f"  {section['name']}  {section['dtype']} {section['shape']}")


def _model(tuned: Any) -> list[str]:
    lines = ["", f"Predicts {tuned.target!r}: {', '.join(tuned.labels)}", "", "Columns"]
    columns = tuned.schema.columns
    width = max(len(column.name) for column in columns)
    for column in columns:
        levels = ", ".join(column.levels[:MOST_LEVELS])
        more = f" and {len(column.levels) - MOST_LEVELS:,} more" if len(column.levels) > MOST_LEVELS else ""
        lines.append(f"  {column.name.ljust(width)}  {column.kind}  {levels}{more}".rstrip())
    return [*lines, "", "How it was chosen", *_history(tuned.chosen)]


def _history(chosen: Mapping[str, Any]) -> list[str]:
    data, plan, scores, test = (chosen[part] for part in ("data", "plan", "cross_validation", "test"))
    return [
        f"  model   {chosen['winner']['label']}, the best of {plan['candidates']:,}; "
        f"fitted on all {data['rows']:,} rows",
        f"  data    {data['name']}, sha256 {data['sha256']}",
        f"  plan    {plan['folds']} folds on {plan['train_rows']:,} rows, {plan['test_rows']:,} set aside, "
        f"metric {plan['metric']}, seed {plan['seed']}, tonari {chosen['tonari']}",
        f"  folds   {scores['mean']:.4f}, standard error {scores['se']:.4f}",
        f"  test    {test['score']:.4f} ({test['interval'][0]:.4f} to {test['interval'][1]:.4f}); "
        f"majority class {test['majority_score']:.4f}",
        f"          the interval is of {test['interval_of']}",
    ]
