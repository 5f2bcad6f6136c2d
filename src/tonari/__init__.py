"""tonari: classical supervised learning, every classifier tuned at nearly the price of one fit, judged honestly.

Public names sit where a scikit-learn user looks for them, for example ``from tonari.neighbors import
KNeighborsClassifier``. Two functions stand here: ``tonari.compare`` does the main job, ``tonari.show_config`` says what
this build runs on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tonari.base.config import __version__, show_config

if TYPE_CHECKING:
    from tonari.model_selection import compare

__all__ = ["__version__", "compare", "show_config"]


def __getattr__(name: str) -> Any:
    # compare brings in tables and model selection: only those who ask for it pay for it.
    if name == "compare":
        from tonari.model_selection import compare

        return compare
    raise AttributeError(f"module 'tonari' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
