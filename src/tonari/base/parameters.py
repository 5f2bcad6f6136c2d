"""Parameters of estimators as plain values, for model files."""

from __future__ import annotations

from typing import Any

import numpy as np

from tonari.base.errors import UsageError


def plain_params(estimator: Any) -> dict[str, Any]:
    """Parameters as a model file holds them: numbers, texts and lists; ``n_jobs`` belongs to the machine.

    Parameters
    ----------
    estimator : estimator

    Returns
    -------
    dict
    """
    params = {}
    for name, value in estimator.get_params(deep=False).items():
        given = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
        if isinstance(given, tuple):
            given = list(given)
        if not _plain(given):
            raise UsageError(
                f"A model file holds numbers, texts and lists of them, and {name}={value!r} is none of these.",
                "Set another value, or keep the model in memory.",
            )
        if name != "n_jobs":
            params[name] = given
    return params


def _plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(_plain(item) for item in value)
    return isinstance(value, str | int | float | bool | type(None))
