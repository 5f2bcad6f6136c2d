"""Ticks, scales and lines lie where the numbers say."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tonari.report.charts import (
    STYLES,
    Scale,
    bar,
    error_curve,
    interval_scale,
    nice_ticks,
    precision_recall_chart,
    roc_chart,
    tick_labels,
)

finite = st.floats(-1e6, 1e6)


@given(finite, st.floats(1e-6, 1e6), st.integers(3, 10))
def test_ticks_are_even_and_cover(low: float, width: float, most: int) -> None:
    ticks = nice_ticks(low, low + width, most)
    step = ticks[1] - ticks[0]
    assert ticks[0] <= low + 1e-6 * step + 1e-9
    assert ticks[-1] >= low + width - 1e-6 * step - 1e-9
    assert 2 <= len(ticks) <= most + 1
    assert all(abs((b - a) - step) <= 1e-6 * step + 1e-9 for a, b in itertools.pairwise(ticks))
    assert "-0" not in [f"{tick:g}" for tick in ticks]


def test_labels_of_ticks_differ() -> None:
    assert tick_labels([0.0, 0.025, 0.05]) == ["0.000", "0.025", "0.050"]
    assert tick_labels([-1, 0, 1]) == ["\N{MINUS SIGN}1", "0", "1"]
    for low, high in ((0.991, 0.9934), (0, 12345), (0.3, 0.9)):
        labels = tick_labels(nice_ticks(low, high, 6))
        assert len(set(labels)) == len(labels)


def test_scales() -> None:
    assert Scale(0, 2, 100, 0).at(0.5) == 75
    assert Scale(1, 100, 0, 10, logarithmic=True).at(10) == 5


def places(path: str) -> list[tuple[float, float]]:
    pairs = [part.split(",") for part in path.strip("MZ").split("L")]
    return [(float(x), float(y)) for x, y in pairs]


def curve(series: list[dict[str, Any]], marked: dict[str, float] | None = None) -> dict[str, Any]:
    return {"title": "t", "x_label": "k", "y_label": "error", "series": series, "marked": marked}


def line(name: str, y: list[float], se: list[float] | None = None, x: list[float] | None = None) -> dict[str, Any]:
    return {"name": name, "x": x or list(range(1, len(y) + 1)), "y": y, "se": se}


def test_lines_and_mark_lie_on_the_numbers() -> None:
    series = [line("a", [0.4, 0.3, 0.5], [0.1, 0.1, 0.1]), line("b", [0.2, 0.6, 0.6])]
    chart, order = error_curve(curve(series, {"x": 2, "y": 0.3}))
    assert order == [0, 1]
    by_name = {one.name: one for one in chart.lines}
    for one in series:
        expected = [(chart.x.at(x), chart.y.at(y)) for x, y in zip(one["x"], one["y"], strict=True)]
        assert places(by_name[one["name"]].path) == expected
        assert list(by_name[one["name"]].points) == expected
    assert chart.mark is not None
    assert (chart.mark.x, chart.mark.y) == (chart.x.at(2), chart.y.at(0.3))
    assert chart.mark.label == "best: k = 2 (0.300)"
    band = [y for _, y in places(by_name["a"].band)]
    assert min(band) == chart.y.at(0.6)
    assert max(band) == chart.y.at(0.2)
    assert not by_name["b"].band
    assert chart.y.high >= 0.6
    for tick in chart.y_ticks:
        assert chart.y.end <= tick.at <= chart.y.start


def test_the_marked_line_comes_first_and_the_surplus_is_grey() -> None:
    series = [line(str(i), [0.1 + i / 100, 0.2, 0.3], [0.01] * 3) for i in range(9)]
    chart, order = error_curve(curve(series, {"x": 1, "y": 0.17}))
    assert order == [7, 0, 1, 2, 3, 4, 5, 6, 8]
    styles = {one.name: one.style for one in chart.lines}
    assert styles["7"] == 1
    assert sorted(styles.values()) == [0, 0, 0, *range(1, STYLES + 1)]
    # Bands of many lines would be mud: only the marked one has its own.
    assert [one.name for one in chart.lines if one.band] == ["7"]
    # What matters is drawn last, on top.
    assert chart.lines[-1].name == "7"


def test_the_axis_of_errors_does_not_go_below_zero() -> None:
    chart, _ = error_curve(curve([line("a", [0.0, 0.02], [0.05, 0.05])]))
    assert chart.y.low == 0
    assert chart.y_ticks[0].label.startswith("0.0")
    assert max(y for _, y in places(chart.lines[0].band)) <= chart.y.start


@pytest.mark.parametrize(
    "series",
    [
        [line("one point", [0.2])],
        [line("flat", [0.2, 0.2, 0.2])],
        [line("all right", [0.0, 0.0], [0.0, 0.0])],
        [line("gap", [0.2, math.nan, 0.3])],
        [line("gap", [0.2, 0.1]), line("nothing", [math.nan, math.nan])],
        [line("large", [0.5] * 60, x=[2.0**i for i in range(60)])],
    ],
)
def test_odd_series_are_drawn(series: list[dict[str, Any]]) -> None:
    chart, order = error_curve(curve(series))
    assert sorted(order) == list(range(len(series)))
    for one in chart.lines:
        for x, y in places(one.path) if one.path else []:
            assert chart.x.start <= x <= chart.x.end
            assert chart.y.end <= y <= chart.y.start
    at = [tick.at for tick in chart.x_ticks]
    assert all(b - a >= 44 for a, b in itertools.pairwise(at))


def test_crowded_values_are_spread_by_their_logarithm() -> None:
    ks = [1, 2, 3, 5, 10, 20, 50, 100, 200]
    chart, _ = error_curve(curve([line("a", [0.1] * 9, x=ks)]))
    assert chart.x.logarithmic
    even, _ = error_curve(curve([line("a", [0.1] * 25, x=list(range(1, 50, 2)))]))
    assert not even.x.logarithmic


def test_roc_and_precision_recall() -> None:
    roc = {"positive": "yes", "fpr": [0.0, 0.0, 1.0], "tpr": [0.0, 0.8, 1.0], "auc": 0.9}
    chart = roc_chart(roc, (0.0, 0.8))
    assert places(chart.lines[0].path) == [(chart.x.at(x), chart.y.at(y)) for x, y in ((0, 0), (0, 0.8), (1, 1))]
    assert chart.mark is not None
    assert (chart.mark.x, chart.mark.y) == (chart.x.at(0), chart.y.at(0.8))
    assert "0.900" in chart.summary
    pr = {"positive": "yes", "recall": [0.0, 0.5, 1.0], "precision": [1.0, 1.0, 0.4], "ap": 0.7}
    steps = precision_recall_chart(pr, 0.4, None)
    corners = [(0, 1), (0, 1), (0.5, 1), (0.5, 0.4), (1, 0.4)]
    assert places(steps.lines[0].path) == [(steps.x.at(x), steps.y.at(y)) for x, y in corners]
    assert steps.mark is None
    assert {y for _, y in places(steps.reference)} == {steps.y.at(0.4)}


def test_bars_share_a_scale_and_leave_it_visibly() -> None:
    scale, ticks = interval_scale([(0.8, 0.9), (0.85, 0.95)], 0, 100, 3)
    inside = bar(scale, 0.85, 0.9, 0.95)
    assert inside is not None
    assert inside.low == scale.at(0.85)
    assert inside.beyond == ""
    assert ticks[0].at == 0
    assert ticks[-1].at == 100
    below = bar(scale, 0.1, 0.1, 0.1)
    assert below is not None
    assert (below.beyond, below.low) == ("below", 0)
    assert bar(scale, None, math.nan, None) is None
    assert interval_scale([(0.5, 0.5)], 0, 1, 3)[0].low < 0.5
