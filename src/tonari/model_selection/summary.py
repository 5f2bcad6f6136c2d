"""A comparison as text: what was compared, the candidates, the verdict of the test part, the notes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tonari.model_selection.judge import METRICS

HEADINGS = ("", "rank", "model", "mean", "std. error", "95 % interval")
NUMBERS = {"rank", "mean", "std. error"}
CHOSEN, TIED = "*", "="


def opening(result: Mapping[str, Any]) -> str:
    """What was compared, in two sentences."""
    data, plan = result["data"], result["plan"]
    return (
        f"{data['name']}: {data['rows']:,} rows, {_many(len(data['columns']), 'column')}, "
        f"{_many(len(data['classes']), 'class')} of {data['target']!r}.\n"
        f"{_many(plan['candidates'], 'candidate')} on {plan['train_rows']:,} rows by {plan['folds']}-fold "
        f"cross-validation ({METRICS[plan['metric']].title}); {plan['test_rows']:,} rows set aside for the test; "
        f"seed {plan['seed']}."
    )


def shown(result: Mapping[str, Any], most: int) -> tuple[list[tuple[str, ...]], int]:
    """The rows of the table of candidates as text, and how many candidates have no row.

    Parameters
    ----------
    result : mapping
    most : int
        Every family's best and the references are shown in any case.

    Returns
    -------
    rows : list of tuple of str
        Under `HEADINGS`.
    left_out : int
    """
    every = result["candidates"]
    leading = {id(row) for row in every if row["reference"] or row["chosen"]}
    seen: set[str] = set()
    for row in every:
        if row["family"] not in seen:
            leading.add(id(row))
            seen.add(row["family"])
    room = max(0, most - len(leading))
    others = [row for row in every if id(row) not in leading]
    leading |= {id(row) for row in others[:room]}
    kept = [row for row in every if id(row) in leading]
    kept.sort(key=lambda row: (row["reference"], row["rank"] or 0))
    return [_cells(row) for row in kept], len(others[room:])


def closing(result: Mapping[str, Any], left_out: int) -> str:
    """What the marks mean, and the verdict of the test part."""
    every = [row for row in result["candidates"] if not row["reference"]]
    tied = sum(row["tied"] for row in every)
    test, folds = result["test"], result["plan"]["folds"]
    lines = []
    if left_out:
        lines.append(f"... and {left_out:,} more in the report.")
    lines += [
        f"{CHOSEN} chosen; {TIED} not told apart from the best (corrected paired t, 95 %): "
        f"{tied - 1:,} of the {len(every) - 1:,} others." if tied > 1 else
        f"{CHOSEN} chosen; all others are told apart from it (corrected paired t, 95 %)." if len(every) > 1 else
        f"{CHOSEN} chosen.",
        f"std. error: over {folds} folds, corrected for the rows that they share.",
        "",
        f"Test, looked at once: {METRICS[test['metric']].title} {test['score']:.3f} "
        f"({test['interval'][0]:.3f} to {test['interval'][1]:.3f}) on {test['rows']:,} rows; "
        f"the majority class scores {test['majority_score']:.3f}.",
        f"The interval is of {test['interval_of']}.",
    ]  # fmt: skip
    return "\n".join(lines)


def summary(result: Mapping[str, Any], most: int = 12) -> str:
    """The comparison as plain text.

    Parameters
    ----------
    result : mapping
        Schema 1.
    most : int, default=12
        Candidates to show.

    Returns
    -------
    str
    """
    rows, left_out = shown(result, most)
    widths = [max(len(row[i]) for row in [HEADINGS, *rows]) for i in range(len(HEADINGS))]
    lines = [
        "  ".join(
            cell.rjust(width) if HEADINGS[i] in NUMBERS else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [HEADINGS, *rows]
    ]
    lines.insert(1, "-" * max(map(len, lines)))
    text = [opening(result), "", *lines, "", closing(result, left_out)]
    if result["notes"]:
        text += ["", *(f"Note: {note}" for note in result["notes"])]
    return "\n".join(text)


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    mark = CHOSEN if row["chosen"] else TIED if row["tied"] else ""
    return (
        mark, "-" if row["rank"] is None else f"{row['rank']:,}", row["label"],
        f"{row['mean']:.4f}", f"{row['se']:.4f}", f"{row['low']:.3f} to {row['high']:.3f}",
    )  # fmt: skip


def _many(count: int, word: str) -> str:
    plural = word + ("es" if word.endswith("s") else "s")
    return f"{count:,} {word if count == 1 else plural}"
