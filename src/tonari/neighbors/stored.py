"""State as named arrays: the one door for model files (and what a pickle holds)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tonari.base.errors import ModelFileError, TonariError, UsageError
from tonari.base.validation import FLOATS
from tonari.neighbors.metrics import MetricChoice, keeps_sparse


class StoredNeighbors:
    """Parameters and named arrays out, an equal estimator in; mixed into every neighbour estimator."""

    KIND = ""

    def state(self) -> dict[str, NDArray[Any]]:
        """What was learned, as named arrays.

        Returns
        -------
        dict of str to ndarray
        """
        rows = self._fit_X  # type: ignore[attr-defined]
        state: dict[str, NDArray[Any]] = {}
        if sparse.issparse(rows):
            state["indptr"] = rows.indptr.astype(np.int64)
            state["columns"] = rows.indices.astype(np.int32)
            state["values"] = rows.data
            state["shape"] = np.array(rows.shape, dtype=np.int64)
        else:
            state["rows"] = rows
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
        metric = self._check_parameters()  # type: ignore[attr-defined]
        rows = _sparse_rows(arrays) if keeps_sparse(metric) and "indptr" in arrays else _dense_rows(arrays, metric)
        values = rows.data if sparse.issparse(rows) else rows
        if metric.name != "nan_euclidean" and not np.isfinite(values).all():
            raise ModelFileError("The fitted rows must be finite.")
        self.n_features_in_ = rows.shape[1]
        if "feature_names" in arrays:
            self.feature_names_in_ = np.asarray(arrays["feature_names"], dtype=object)
        self._fit_rows(rows, metric)  # type: ignore[attr-defined]


def _dense_rows(arrays: Mapping[str, NDArray[Any]], metric: MetricChoice) -> NDArray[Any]:
    rows = np.ascontiguousarray(arrays["rows"])
    if rows.ndim != 2 or rows.dtype not in metric.dtypes or not rows.size:
        names = " or ".join(np.dtype(kind).name for kind in metric.dtypes)
        raise ModelFileError(f"The fitted rows must be a table of {names}.")
    return rows


def _sparse_rows(arrays: Mapping[str, NDArray[Any]]) -> Any:
    indptr, columns, values, shape = (
        np.ascontiguousarray(arrays[key]) for key in ("indptr", "columns", "values", "shape")
    )
    wanted = {"indptr": np.int64, "columns": np.int32, "shape": np.int64}
    kinds_agree = all(np.dtype(kind) == arrays[key].dtype for key, kind in wanted.items())
    if not kinds_agree or values.dtype not in FLOATS or shape.shape != (2,):
        raise ModelFileError("The fitted rows must be a sparse table of float32 or float64.")
    rows = sparse.csr_matrix((values, columns, indptr), shape=tuple(shape.tolist()))
    rows.check_format(full_check=True)
    return rows


def _plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _plain(item) for key, item in value.items())
    return isinstance(value, str | int | float | bool | type(None))
