"""State as named arrays: the one door for model files (and what a pickle holds)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tonari.base.errors import ModelFileError, TonariError, UsageError


class StoredNeighbors:
    """Parameters and named arrays out, an equal estimator in; mixed into every neighbour estimator."""

    KIND = ""

    def state(self) -> dict[str, NDArray[Any]]:
        """What was learned, as named arrays.

        Returns
        -------
        dict of str to ndarray
        """
        state: dict[str, NDArray[Any]] = {"rows": self._fit_X}  # type: ignore[attr-defined]
        if hasattr(self, "feature_names_in_"):
            state["feature_names"] = self.feature_names_in_
        return state

    def to_file_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Header (plain JSON values) and arrays of a model file.

        Returns
        -------
        header : dict
        arrays : dict of str to ndarray
        """
        params = self.get_params(deep=False)  # type: ignore[attr-defined]
        for name, value in params.items():
            if callable(value) or (name == "metric_params" and value and not _plain(value)):
                raise UsageError(
                    f"A model file holds no code, and {name}={value!r} is code.",
                    "Use one of the named choices, or keep the model in memory.",
                )
        if not isinstance(params.get("class_vote_weight"), str | None):
            params["class_vote_weight"] = None  # its keys are labels: the arrays hold the weights
        params = {name: value.item() if isinstance(value, np.generic) else value for name, value in params.items()}
        return {"params": {name: value for name, value in params.items() if name != "n_jobs"}}, self.state()

    @classmethod
    def from_file_parts(cls, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The estimator that `to_file_parts` described.

        Parameters
        ----------
        header : mapping
        arrays : mapping of str to ndarray

        Returns
        -------
        estimator
        """
        try:
            estimator = cls(**header["params"])
            estimator._restore(arrays)
        except (KeyError, TypeError, IndexError, ValueError) as error:
            reason = error.message if isinstance(error, TonariError) else f"{type(error).__name__}: {error}"
            raise ModelFileError(f"This is no {cls.KIND} as this version writes it: {reason}.") from error
        return estimator

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        rows = np.ascontiguousarray(arrays["rows"])
        if rows.ndim != 2 or rows.dtype not in (np.float32, np.float64) or not rows.size:
            raise ModelFileError("The fitted rows must be a table of float32 or float64.")
        metric = self._check_parameters()  # type: ignore[attr-defined]
        if metric.name != "nan_euclidean" and not np.isfinite(rows).all():
            raise ModelFileError("The fitted rows must be finite.")
        self.n_features_in_ = rows.shape[1]
        if "feature_names" in arrays:
            self.feature_names_in_ = np.asarray(arrays["feature_names"], dtype=object)
        self._fit_rows(rows, metric)  # type: ignore[attr-defined]


def _plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _plain(item) for key, item in value.items())
    return isinstance(value, str | int | float | bool | type(None))
