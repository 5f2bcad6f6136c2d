"""Which class opens which kind of model file: a closed table, so that a file can never name code to be run."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

from tonari.base.errors import ModelFileError, TonariError, UsageError
from tonari.store.layout import Damage
from tonari.store.reading import read_model
from tonari.store.writing import write_model

# Each class has to_file_parts() -> (header, arrays) and from_file_parts(header, arrays), a class method.
OPENERS: dict[str, str] = {
    "discriminant_analysis.GaussianClassifier": "tonari.discriminant_analysis:GaussianClassifier",
    "discriminant_analysis.LinearDiscriminantAnalysis": "tonari.discriminant_analysis:LinearDiscriminantAnalysis",
    "discriminant_analysis.QuadraticDiscriminantAnalysis": "tonari.discriminant_analysis:QuadraticDiscriminantAnalysis",
    "linear_model.LogisticRegression": "tonari.linear_model:LogisticRegression",
    "linear_model.PerceptronClassifier": "tonari.linear_model:PerceptronClassifier",
    "model_selection.TunedModel": "tonari.model_selection:TunedModel",
    "neighbors.CondensedNearestNeighbor": "tonari.neighbors:CondensedNearestNeighbor",
    "neighbors.DiscriminantMetric": "tonari.neighbors:DiscriminantMetric",
    "neighbors.EditedNearestNeighbors": "tonari.neighbors:EditedNearestNeighbors",
    "neighbors.KNeighborsClassifier": "tonari.neighbors:KNeighborsClassifier",
    "neighbors.KNeighborsRegressor": "tonari.neighbors:KNeighborsRegressor",
    "neighbors.NearestNeighbors": "tonari.neighbors:NearestNeighbors",
    "neighbors.NeighborhoodComponentsAnalysis": "tonari.neighbors:NeighborhoodComponentsAnalysis",
    "neighbors.RadiusNeighborsClassifier": "tonari.neighbors:RadiusNeighborsClassifier",
    "neighbors.RadiusNeighborsRegressor": "tonari.neighbors:RadiusNeighborsRegressor",
}


def save_model(path: str | os.PathLike[str], model: Any, *, force: bool = False) -> str:
    """Write a fitted model to a file that `open_model` opens.

    Parameters
    ----------
    path : path-like
    model : object
        An instance of one of the classes in ``OPENERS`` (not of a subclass, which the file could not name).
    force : bool, default=False
        Replace a file that exists already.

    Returns
    -------
    str
        The SHA-256 that identifies the file.
    """
    kind = next((kind for kind, target in OPENERS.items() if _names(target, type(model))), None)
    if kind is None:
        raise UsageError(
            f"A {type(model).__name__} cannot be saved as a model file.",
            f"These can: {', '.join(target.replace(':', '.') for target in OPENERS.values())}.",
        )
    header, arrays = model.to_file_parts()
    return write_model(path, kind, header, arrays, force=force)


def open_model(path: str | os.PathLike[str], *, copy: bool = True) -> Any:
    """Open a model file as the fitted model that was saved.

    Parameters
    ----------
    path : path-like
    copy : bool, default=True
        False maps the file instead of reading it, as in `read_model`.

    Returns
    -------
    object
        Of the class that ``OPENERS`` gives for the kind of the file.
    """
    file = read_model(path, copy=copy)
    if file.kind not in OPENERS:
        raise Damage("kind", f"holds a {file.kind}, which this tonari does not know").as_error(path)
    module, _, name = OPENERS[file.kind].partition(":")
    opener = getattr(importlib.import_module(module), name)
    try:
        return opener.from_file_parts(file.header, file.arrays)
    except ModelFileError as error:
        raise ModelFileError(
            f"{path}: {error.message}", error.remedy, code=error.code, offset=error.offset, section=error.section
        ) from error
    except TonariError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # Whole by its checksums, yet not what the class would have written.
        raise Damage("content", f"does not describe a {name}").as_error(path) from error


def _names(target: str, cls: type) -> bool:
    """Whether a line of the table names this class; imports nothing."""
    module, _, name = target.partition(":")
    if cls.__name__ != name or not f"{cls.__module__}.".startswith(f"{module}."):
        return False
    return getattr(sys.modules.get(module), name, None) is cls
