"""Where the lines, marks and ticks of the report's pictures lie; the template draws them as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tonari.report.wording import score

# Colours, line styles and markers that can still be told apart; further series are drawn in grey.
STYLES = 6
# From this many points on, markers would hide the line.
_MOST_MARKERS = 40


@dataclass(frozen=True)
class Scale:
    """A stretch of numbers laid along a stretch of the picture."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def at(self, value: float) -> float:
        """Where a number lies, in the picture's units."""
        if self.logarithmic:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)


@dataclass(frozen=True)
class Tick:
    """A mark on an axis."""

    at: float
    label: str


@dataclass(frozen=True)
class Line:
    """One series: its line, its band and its points. `style` is 1 to `STYLES`, or 0 for a line in the background."""

    name: str
    style: int
    path: str
    band: str = ""
    points: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class Mark:
    """A point that is pointed out, and what it is."""

    x: float
    y: float
    label: str


@dataclass(frozen=True)
class Chart:
    """A picture with two axes."""

    title: str
    summary: str
    width: int
    height: int
    x: Scale
    y: Scale
    x_label: str
    y_label: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    lines: tuple[Line, ...]
    reference: str = ""
    mark: Mark | None = None


@dataclass(frozen=True)
class Bar:
    """An interval on a scale shared by several: ends and middle, or the side on which it leaves the scale."""

    low: float
    high: float
    middle: float
    beyond: str = ""


def nice_ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers from at or below `low` to at or above `high`, at most about `most` of them.

    >>> nice_ticks(0.031, 0.187, 5)
    [0.0, 0.05, 0.1, 0.15, 0.2]
    """
    raw = (high - low) / max(most - 1, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 12) + 0.0 for i in range(first, last + 1)]


def tick_labels(values: Sequence[float]) -> list[str]:
    """Write ticks with as many decimals as they need to differ.

    >>> tick_labels([0.0, 0.05, 0.1]), tick_labels([0, 1000])
    (['0.00', '0.05', '0.10'], ['0', '1,000'])
    """
    digits = next((d for d in range(9) if all(abs(value - round(value, d)) < 1e-9 for value in values)), 9)
    return [f"{value:,.{digits}f}".replace("-", "\N{MINUS SIGN}") for value in values]


def error_curve(curve: Mapping[str, Any]) -> tuple[Chart, list[int]]:
    """Lay out one of a result's curves: error against a parameter, a line for each series, the best point marked.

    Parameters
    ----------
    curve : mapping
        One of the ``curves`` of a result, with at least one finite point.

    Returns
    -------
    Chart
    list of int
        Series by their least error, the marked one first: those with a style of their own, then the others.
    """
    width, height, left, right, top, bottom = 680, 400, 64, 16, 40, 52
    marked = curve.get("marked")
    series = curve["series"]
    order = sorted(range(len(series)), key=lambda i: (not _passes(series[i], marked), _least(series[i]), i))
    banded = set(order[: 3 if len(order) <= 3 else 1])
    xs = [x for one in series for x, _, _ in _points(one)]
    ends = [end for i, one in enumerate(series) for _, y, e in _points(one) for end in _ends(y, e, i in banded)]
    x = _x_scale(xs, left, width - right)
    x_ticks = _x_ticks(xs, x)
    low, high = min(ends), max(ends)
    if high - low < 1e-9:
        low, high = (max(low - 0.05, 0.0) if low >= 0 else low - 0.05), high + 0.05
    y_values = nice_ticks(low, high, 6)
    y = Scale(y_values[0], y_values[-1], height - bottom, top)
    lines = []
    for rank, i in enumerate(order):
        points = _points(series[i])
        style = rank + 1 if rank < STYLES else 0
        places = [(x.at(px), y.at(py)) for px, py, _ in points]
        band = ""
        if i in banded and any(error for _, _, error in points):
            upper = [(x.at(px), y.at(py + e)) for px, py, e in points]
            lower = [(x.at(px), y.at(max(py - e, y.low))) for px, py, e in points]
            band = _path(upper + lower[::-1]) + "Z"
        shown = tuple(places) if style and len(places) <= _MOST_MARKERS else ()
        lines.append(Line(series[i]["name"], style, _path(places), band, shown))
    mark = None
    if marked is not None and _finite(marked["x"], marked["y"]):
        words = f"best: {curve['x_label']} = {_plain(marked['x'])} ({score(marked['y'])})"
        mark = Mark(x.at(marked["x"]), y.at(marked["y"]), words)
    best = series[order[0]]["name"]
    summary = (
        f"{len(series)} lines over {curve['x_label']} from {_plain(min(xs))} to {_plain(max(xs))}; "
        f"error from {score(min(ends))} to {score(max(ends))}."
    )
    if mark is not None:
        summary += f" Marked: {mark.label}, on the line {best}."
    ticks = tuple(Tick(y.at(value), label) for value, label in zip(y_values, tick_labels(y_values), strict=True))
    return Chart(
        curve["title"], summary, width, height, x, y, curve["x_label"], curve["y_label"], x_ticks, ticks,
        tuple(lines[::-1]), mark=mark,
    ), order  # fmt: skip


def roc_chart(roc: Mapping[str, Any], own: tuple[float, float] | None) -> Chart:
    """Lay out the ROC curve with the diagonal of chance, and the model's own (false, true) positive rate."""
    x, y = _square()
    line = Line("ROC curve", 1, _path([(x.at(a), y.at(b)) for a, b in zip(roc["fpr"], roc["tpr"], strict=True)]))
    chance = _path([(x.at(0), y.at(0)), (x.at(1), y.at(1))])
    summary = f"Area under the curve {score(roc['auc'])}; chance would give 0.500."
    return _unit_chart("ROC curve", summary, "false positive rate", "true positive rate (recall)", line, chance, own)


def precision_recall_chart(pr: Mapping[str, Any], prevalence: float | None, own: tuple[float, float] | None) -> Chart:
    """Lay out precision against recall in steps, the share of positive rows, and the model's own point."""
    x, y = _square()
    corners: list[tuple[float, float]] = []
    for recall, precision in zip(pr["recall"], pr["precision"], strict=True):
        if corners:
            corners.append((corners[-1][0], y.at(precision)))
        corners.append((x.at(recall), y.at(precision)))
    line = Line("precision-recall curve", 1, _path(corners))
    chance = "" if prevalence is None else _path([(x.at(0), y.at(prevalence)), (x.at(1), y.at(prevalence))])
    summary = f"Average precision {score(pr['ap'])}; chance would give {score(prevalence)}."
    return _unit_chart("Precision-recall curve", summary, "recall", "precision", line, chance, own)


def interval_scale(
    intervals: Iterable[tuple[float, float]], start: float, end: float, most_ticks: int
) -> tuple[Scale, tuple[Tick, ...]]:
    """A scale that holds all intervals, with a few round ticks."""
    finite = [(low, high) for low, high in intervals if _finite(low, high)] or [(0.0, 1.0)]
    low, high = min(low for low, _ in finite), max(high for _, high in finite)
    if high - low < 1e-9:
        low, high = low - 0.05, high + 0.05
    values = nice_ticks(low, high, most_ticks)
    scale = Scale(values[0], values[-1], start, end)
    return scale, tuple(Tick(scale.at(v), label) for v, label in zip(values, tick_labels(values), strict=True))


def bar(scale: Scale, low: float | None, middle: float | None, high: float | None) -> Bar | None:
    """An interval on a scale; cut where it leaves it."""
    if middle is None or not math.isfinite(middle):
        return None
    beyond = "below" if middle < scale.low else "above" if middle > scale.high else ""
    ends = [middle if end is None or not math.isfinite(end) else end for end in (low, high)]
    left, right, centre = (scale.at(min(max(value, scale.low), scale.high)) for value in (*ends, middle))
    return Bar(left, right, centre, beyond)


def _unit_chart(
    title: str, summary: str, x_label: str, y_label: str, line: Line, reference: str, own: tuple[float, float] | None
) -> Chart:
    x, y = _square()
    values = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    labels = tick_labels(values)
    mark = None
    if own is not None:
        mark = Mark(x.at(own[0]), y.at(own[1]), "as predicted")
        summary += f" The model's own answers lie at {x_label} {score(own[0])}, {y_label} {score(own[1])}."
    return Chart(
        title, summary, 360, 350, x, y, x_label, y_label,
        tuple(Tick(x.at(v), label) for v, label in zip(values, labels, strict=True)),
        tuple(Tick(y.at(v), label) for v, label in zip(values, labels, strict=True)), (line,), reference, mark,
    )  # fmt: skip


def _square() -> tuple[Scale, Scale]:
    return Scale(0, 1, 44, 346), Scale(0, 1, 304, 34)


def _x_scale(xs: list[float], start: float, end: float) -> Scale:
    low, high = min(xs), max(xs)
    if low == high:
        return Scale(low - 1, high + 1, start, end)
    middle = sorted(xs)[len(xs) // 2]
    # Values crowded at the left, as in 1, 2, 5, 10, 20, ...: equal steps would hide them.
    crowded = low > 0 and high / low >= 20 and middle - low < 0.25 * (high - low)
    pad = 0.0 if crowded else (high - low) * 0.02
    return Scale(low - pad, high + pad, start, end, crowded)


def _x_ticks(xs: list[float], scale: Scale) -> tuple[Tick, ...]:
    distinct = sorted(set(xs))
    if len(distinct) <= 8 or scale.logarithmic:
        values = distinct
    else:
        values = [v for v in nice_ticks(distinct[0], distinct[-1], 9) if scale.low <= v <= scale.high]
    ticks: list[Tick] = []
    for value in values:
        # Labels need room; where values crowd, some go without.
        if not ticks or scale.at(value) - ticks[-1].at >= 44:
            ticks.append(Tick(scale.at(value), _plain(value)))
    return tuple(ticks)


def _points(series: Mapping[str, Any]) -> list[tuple[float, float, float]]:
    errors = series.get("se") or [0.0] * len(series["x"])
    triples = zip(series["x"], series["y"], errors, strict=True)
    return [(x, y, e if _finite(e) else 0.0) for x, y, e in triples if _finite(x, y)]


def _ends(y: float, error: float, banded: bool) -> tuple[float, ...]:
    return (max(y - error, 0.0) if y >= 0 else y - error, y + error) if banded else (y,)


def _least(series: Mapping[str, Any]) -> float:
    return min((y for _, y, _ in _points(series)), default=math.inf)


def _passes(series: Mapping[str, Any], marked: Mapping[str, Any] | None) -> bool:
    if marked is None or not _finite(marked["x"], marked["y"]):
        return False
    return any(x == marked["x"] and abs(y - marked["y"]) < 1e-9 for x, y, _ in _points(series))


def _path(places: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:g},{y:g}" for x, y in places) if places else ""


def _plain(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,g}"


def _finite(*values: Any) -> bool:
    return all(isinstance(value, (int, float)) and math.isfinite(value) for value in values)
