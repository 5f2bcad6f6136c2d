"""``tonari audit``: wrong labels, duplicates, conflicts, and what a second table shares with the first."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from tonari.cli import streams

if TYPE_CHECKING:
    from tonari.tables import Table

Flag = Annotated[bool, Parameter(negative="", show_default=False)]

#: Findings of one kind that are printed for people; --json has them all.
SHOWN = 10


def audit(
    data: Path,
    /,
    *,
    target: Annotated[str, Parameter(name=["--target", "-t"])],
    new: Path | None = None,
    drop: Annotated[list[str] | None, Parameter(negative="", show_default=False)] = None,
    jobs: Annotated[int | None, Parameter(name=["--jobs", "-j"])] = None,
    check: Flag = False,
    json: Flag = False,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="", show_default=False)] = False,
    debug: Flag = False,
) -> int:
    """Say which labels of a table are probably wrong, which rows repeat or contradict one another, how good one can be.

    Parameters
    ----------
    data
        A CSV, TSV, Parquet or JSON file; gzip is fine.
    target
        The column of classes.
    new
        A second table, such as a test set: which of its rows are in the first one, and which are far from it.
    drop
        A column to leave out; may be given several times.
    jobs
        Threads; by default all cores.
    check
        End with exit code 1 if labels are suspect, labels conflict, or rows of --new are in the first table.
    json
        Print one JSON object with every finding.
    quiet
        Say nothing on stderr but errors.
    debug
        Show where an error came from.
    """
    from tonari.audit import (
        bayes_error_bounds,
        find_duplicates,
        find_label_errors,
        find_leakage,
        find_out_of_range,
    )
    from tonari.tables import Schema, TableEncoder, read_table

    table = read_table(data).drop(drop or ())
    labels = table.target(target)
    schema = Schema.learn(table, target)
    notes = list(schema.notes)
    encoder = TableEncoder.for_schema(schema).fit(schema.encode(table))
    rows = encoder.transform(schema.encode(table))
    # The encoder has scaled the columns already.
    errors = find_label_errors(rows, labels, scaling="none", n_jobs=jobs)
    duplicates = find_duplicates(rows, labels, scaling="none", n_jobs=jobs)
    bounds = bayes_error_bounds(rows, labels, scaling="none", n_jobs=jobs)
    suspects = [
        {"row": int(row), "place": table.place(row), "label": _plain(labels[row]), "likely": _plain(errors.likely[row]),
         "wrong": round(float(errors.wrong[row]), 4)}
        for row in errors.suspects
    ]  # fmt: skip
    found: dict[str, Any] = {
        "rows": len(rows), "suspects": suspects, "class_outliers": len(errors.class_outliers),
        "expected_from_overlap": round(errors.expected_from_overlap, 1),
        "duplicates": [group.tolist() for group in duplicates.exact],
        "conflicts": [group.tolist() for group in duplicates.conflicts], "near_duplicates": duplicates.near.tolist(),
        "bayes_error": {"upper": bounds.upper, "lower": None if bounds.withdrawn else bounds.lower},
    }  # fmt: skip
    sections = [
        ("Labels", str(errors).splitlines()[:2] + [
            f"  {one['place']}: {one['label']}, by its neighbours {one['likely']} (wrong: {one['wrong']:.0%})"
            for one in suspects
        ]),
        ("Duplicates", str(duplicates).splitlines() + _places(table, duplicates.conflicts, "conflict: ")
         + _places(table, duplicates.near, "nearly equal: ")),
        ("How good anyone could be", str(bounds).splitlines()),
    ]  # fmt: skip
    leaked = 0
    if new is not None:
        other = read_table(new)
        asked = encoder.transform(schema.encode(other, notes))
        leak = find_leakage(rows, asked, scaling="none", n_jobs=jobs)
        far = find_out_of_range(rows, asked, scaling="none", n_jobs=jobs)
        leaked = len(leak.exact) + len(leak.near)
        found["leaked"] = {"exact": leak.exact.tolist(), "near": leak.near.tolist(),
                           "expected_exact": round(leak.expected_exact, 1)}  # fmt: skip
        found["out_of_range"] = far.rows.tolist()
        names = encoder.get_feature_names_out()
        sections.append((f"{new.name} beside {data.name}", [
            *str(leak).splitlines(), *str(far).splitlines()[:1],
            *(f"  {other.place(row)}: {', '.join(names[columns]) or 'no single column, the combination'}"
              for row, columns in zip(far.rows.tolist(), far.columns, strict=True)),
        ]))  # fmt: skip
    if json:
        streams.put_json(True, target=target, found=found, notes=notes)
    else:
        streams.put("\n\n".join("\n".join([title, *_cut(lines)]) for title, lines in sections))
    streams.say(notes, quiet=quiet)
    return int(check and bool(suspects or duplicates.conflicts or leaked))


def _plain(label: Any) -> Any:
    return label.item() if hasattr(label, "item") else label


def _places(table: Table, groups: Iterable[Any], what: str) -> list[str]:
    return [f"  {what}{' and '.join(table.place(int(row)) for row in group)}" for group in groups]


def _cut(lines: list[str]) -> list[str]:
    """All sentences, and the first of the indented findings below them."""
    findings = [line for line in lines if line.startswith("  ")]
    more = [f"  and {len(findings) - SHOWN:,} more: --json has them all"] if len(findings) > SHOWN else []
    return [line for line in lines if not line.startswith("  ")] + findings[:SHOWN] + more
