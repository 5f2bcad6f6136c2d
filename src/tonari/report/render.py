"""A result in, one HTML file out: no network, no script needed to read it, everything from the data escaped."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from typing import Any

from tonari.base.errors import UsageError
from tonari.report import content, wording

SCHEMA = 1
# Digits of the numbers in the embedded result; `result.json` has all of them.
_DIGITS = 6


def render_report(result: Mapping[str, Any]) -> str:
    """Render the result of a comparison as one HTML file.

    Parameters
    ----------
    result : mapping
        What `tonari.compare` produces and ``result.json`` holds (schema 1).

    Returns
    -------
    str
        A whole document, the same for the same result. It loads nothing, runs nothing, and holds the result as JSON in
        ``<script type="application/json" id="result">``: numbers to six digits, candidates of low rank in short.
    """
    schema = result.get("schema")
    if schema != SCHEMA:
        raise UsageError(
            f"A result of schema {schema!r} cannot be shown; this tonari knows schema {SCHEMA}.",
            "Compare again, or use the version that wrote it.",
        )
    ranks = content.Ranks.of(result)
    return str(
        _environment().get_template("report.html.jinja").render(
            result=result,
            plan=result["plan"],
            test=result["test"],
            winner=result["winner"],
            metric=content.metric_name(result["test"]["metric"]),
            answer=content.answer(result, ranks),
            candidates=content.candidates(ranks),
            curves=content.curves(result),
            confusion=content.confusion(result),
            binary=content.binary(result),
            data=content.data(result),
            usage=content.usage(result),
            embedded=_embedded(content.embedded(result, ranks)),
        )
    )  # fmt: skip


@cache
def _environment() -> Any:
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tonari.report"), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip

    def user(text: object, length: int = 0) -> Any:
        """Text from the data, kept apart from the direction of the text around it."""
        name = wording.short(text, length) if length else wording.clean(text)
        return name if name.isascii() else Markup("<bdi>{}</bdi>").format(name)

    environment.filters.update(
        user=user, clean=wording.clean, short=wording.short, count=wording.count, score=wording.score,
        percent=wording.percent, counted=wording.counted, capital=wording.capital,
    )  # fmt: skip
    return environment


def _embedded(result: Mapping[str, Any]) -> Any:
    """The result as JSON that cannot end the element it stands in, whatever its texts say."""
    from markupsafe import Markup

    text = json.dumps(_rounded(result), separators=(",", ":"), sort_keys=True, allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(item) for item in value]
    return value
