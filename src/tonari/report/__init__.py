"""A result of `tonari.compare` as one HTML file."""

from __future__ import annotations

from tonari.report.render import render_report

__all__ = ["render_report"]
