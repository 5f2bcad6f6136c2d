"""Model files: written whole or not at all, read without being believed, and never a pickle. See FORMAT.md."""

from __future__ import annotations

from tonari.store.openers import OPENERS, open_model, save_model
from tonari.store.reading import ModelFile, inspect_model, read_model
from tonari.store.writing import write_model

__all__ = [
    "OPENERS",
    "ModelFile",
    "inspect_model",
    "open_model",
    "read_model",
    "save_model",
    "write_model",
]
