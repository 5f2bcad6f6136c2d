"""What a fitted `TableEncoder` consists of, and the check of it when it comes from a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tonari.base.errors import ModelFileError

SCALES = ("standard", "minmax", "none")
STATE = ("shape", "categorical", "unit", "center", "spread", "fill", "had_missing", "level_indptr", "level_codes")


def checked_state(state: Mapping[str, NDArray[Any]]) -> tuple[int, str]:
    """Check that the arrays are what `TableEncoder.state` gives.

    Parameters
    ----------
    state : mapping of str to ndarray

    Returns
    -------
    width : int
        Number of columns.
    scale : str

    Raises
    ------
    ModelFileError
        If they are not.
    """
    absent = [name for name in STATE if name not in state]
    if absent:
        raise ModelFileError(f"The encoder of the model lacks {', '.join(absent)}.")
    shape, indptr, codes = state["shape"], state["level_indptr"], state["level_codes"]
    categorical = state["categorical"]
    per_column = [state[name] for name in ("unit", "center", "spread", "fill", "had_missing")]
    if not all(array.dtype.kind in "iu" for array in (shape, indptr, codes, categorical, per_column[-1])):
        raise ModelFileError("The encoder of the model is damaged: whole numbers were expected.")
    if not all(array.dtype.kind == "f" and np.isfinite(array).all() for array in per_column[:-1]):
        raise ModelFileError("The encoder of the model is damaged: finite numbers were expected.")
    if shape.shape != (2,) or not 0 <= int(shape[1]) < len(SCALES):
        raise ModelFileError("The encoder of the model is damaged: its shape.")
    width = int(shape[0])
    fits = (
        all(array.shape == (width,) for array in per_column)
        and indptr.shape == (width + 1,)
        and indptr[0] == 0
        and bool((np.diff(indptr) >= 0).all())
        and codes.shape == (int(indptr[-1]),)
        and bool((codes >= 0).all())
        and categorical.ndim == 1
        and bool(((categorical >= 0) & (categorical < width)).all())
    )
    if not fits:
        raise ModelFileError("The encoder of the model is damaged: its arrays do not fit together.")
    spread, unit, counts = state["spread"], state["unit"], np.diff(indptr)
    ascending = np.diff(codes) > 0
    ascending[indptr[1:-1][(indptr[1:-1] > 0) & (indptr[1:-1] < len(codes))] - 1] = True
    coded = np.zeros(width, dtype=bool)
    coded[categorical] = True
    if (spread < 0).any() or (unit <= 0).any() or not ascending.all() or counts[~coded].any():
        raise ModelFileError("The encoder of the model is damaged: its values contradict each other.")
    return width, SCALES[int(shape[1])]
