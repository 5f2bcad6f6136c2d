"""The folder that a comparison is written to: checked before the work starts, filled only when it is done."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tonari.base.errors import DataError, UsageError
from tonari.model_selection.tuned import TunedModel
from tonari.store import save_model

FILES = {"model": "model.tonari", "report": "report.html", "result": "result.json"}

# The report stands above this package in the import law; it is named here as a model file's kind names its class.
REPORT = ("tonari.report", "render_report")


class Output:
    """A folder for ``model.tonari``, ``report.html`` and ``result.json``.

    Parameters
    ----------
    folder : path-like
        Made if it does not exist.
    force : bool
        Replace files that are there already.

    Raises
    ------
    UsageError
        If the folder cannot be made or written to, or holds one of the files and `force` is False.
    """

    def __init__(self, folder: str | os.PathLike[str], force: bool) -> None:
        self.folder = Path(folder)
        self.force = force
        taken = [name for name in FILES.values() if (self.folder / name).exists()]
        if taken and not force:
            raise UsageError(
                f"{self.folder / taken[0]} exists already.",
                "Choose another output folder, or have it replaced (--force, force=True).",
            )
        for name in taken:
            if not (self.folder / name).is_file():
                raise UsageError(f"{self.folder / name} is not a regular file.", "Choose another output folder.")
        self._made = self._make()
        probe = self.folder / f".{secrets.token_hex(8)}.part"
        try:
            probe.touch(exist_ok=False)
            probe.unlink()
        except OSError as error:
            self.abandon()
            raise self._unwritable(error) from error

    def write(self, result: dict[str, Any], model: TunedModel) -> dict[str, Path]:
        """Write the files, each whole or not at all; the result comes last, so that where it is, all is.

        Parameters
        ----------
        result : dict
            Its ``"files"`` say which files are written.
        model : TunedModel

        Returns
        -------
        dict of str to Path
        """
        module, function = REPORT
        render: Callable[[dict[str, Any]], str] = getattr(importlib.import_module(module), function)
        texts = {"report": render(result), "result": canonical(result)}
        paths = {what: self.folder / name for what, name in result["files"].items() if name is not None}
        if "model" in paths:
            save_model(paths["model"], model, force=self.force)
        else:
            # A model of an earlier comparison must not be taken for this one's.
            (self.folder / FILES["model"]).unlink(missing_ok=True)
        for what, text in texts.items():
            write_file(paths[what], text.encode("utf-8"), self.force)
        return paths

    def abandon(self) -> None:
        """Remove the folder again if it was made for nothing."""
        for folder in self._made:
            with contextlib.suppress(OSError):
                folder.rmdir()

    def _make(self) -> list[Path]:
        """Make the folder; return those that were made, innermost first."""
        missing = [folder for folder in (self.folder, *self.folder.parents) if not folder.exists()]
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._unwritable(error) from error
        return missing

    def _unwritable(self, error: OSError) -> UsageError:
        return UsageError(
            f"The output folder {self.folder} cannot be written to: {error.strerror or error}.",
            "Choose another output folder.",
        )


def canonical(document: Any) -> str:
    r"""JSON in one spelling: keys sorted, no blanks, ASCII only, no NaN, a newline at the end.

    Parameters
    ----------
    document : object
        Values that JSON can hold.

    Returns
    -------
    str

    Examples
    --------
    >>> canonical({"b": 1.5, "a": [None, True]})
    '{"a":[null,true],"b":1.5}\n'
    """
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False) + "\n"


def write_file(path: Path, data: bytes, force: bool) -> None:
    """Write a file whole or not at all.

    Parameters
    ----------
    path : Path
    data : bytes
    force : bool
        Without it a file that appeared meanwhile is not replaced.
    """
    temporary = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if not force and path.exists():
            raise UsageError(
                f"{path} exists already.", "Choose another output folder, or have it replaced (--force, force=True)."
            )
        temporary.replace(path)
    except OSError as error:
        raise DataError(
            f"{path} could not be written: {error.strerror or error}.", "Check the free space and the permissions."
        ) from error
    finally:
        temporary.unlink(missing_ok=True)
