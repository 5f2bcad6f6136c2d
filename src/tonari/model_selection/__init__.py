"""Choosing a model: search that shares work between candidates and folds, and `compare`, which does the whole job."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tonari.model_selection.comparison import Comparison, compare
    from tonari.model_selection.search import GridSearchCV
    from tonari.model_selection.tuned import TunedModel

__all__ = ["Comparison", "GridSearchCV", "TunedModel", "compare"]

# Imported when first asked for: a search needs no tables, and a comparison needs every learner.
_HOMES = {"Comparison": "comparison", "GridSearchCV": "search", "TunedModel": "tuned", "compare": "comparison"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
