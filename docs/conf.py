"""How `make docs` builds the documentation. A warning is an error there."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

_project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = "tonari"
author = copyright = "The tonari developers"
version = release = _project["version"]
language = "en-GB"

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
exclude_patterns = ["_site"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"tonari {release}"
html_copy_source = False
html_show_sourcelink = False
pygments_style = "friendly"

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say the types, in numpydoc's words
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False


def _skip(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool:
    """Leave out what scikit-learn's base classes put into every estimator: its own pages describe it."""
    inherited = name in {"get_metadata_routing", "get_params", "set_params", "set_output"}
    return skip or inherited or (name.startswith("set_") and name.endswith("_request"))


def setup(app: Any) -> None:
    """Register what this file defines."""
    app.connect("autodoc-skip-member", _skip)
