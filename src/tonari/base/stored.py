"""Estimators as the parts of a model file: parameters and named arrays out, an equal estimator in."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tonari.base.errors import ModelFileError, TonariError
from tonari.base.parameters import plain_params


class Stored:
    """`to_file_parts` and `from_file_parts` from `state` and `_restore`; `KIND` names the class in a file."""

    KIND = ""
    feature_names_in_: NDArray[Any]

    @abstractmethod
    def state(self) -> dict[str, NDArray[Any]]:
        """What was learned, as named arrays."""

    @abstractmethod
    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `state` gave; what is not of its shape and sense is refused."""

    def to_file_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Header (plain JSON values) and arrays of a model file.

        Returns
        -------
        header : dict
        arrays : dict of str to ndarray
        """
        state = self.state()
        if hasattr(self, "feature_names_in_"):
            state["feature_names"] = self.feature_names_in_
        return {"params": plain_params(self)}, state

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
        if "feature_names" in arrays:
            estimator.feature_names_in_ = np.asarray(arrays["feature_names"], dtype=object)
        return estimator
