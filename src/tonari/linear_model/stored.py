"""Linear classifiers as model files, and the label of the largest score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tonari.base.errors import ModelFileError
from tonari.base.stored import Stored


class StoredLinear(Stored):
    """`predict`, and parameters and named arrays out and in, from ``coef_``, ``intercept_`` and ``classes_``."""

    classes_: NDArray[Any]
    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the largest score; the first among equals.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        found = self.decision_function(X)  # type: ignore[attr-defined]
        return np.asarray(self.classes_[self._winners(found)])

    @staticmethod
    def _winners(scores: NDArray[np.float64]) -> NDArray[np.int32]:
        """Codes from scores (rows,) or (rows, classes)."""
        return np.asarray(scores > 0 if scores.ndim == 1 else scores.argmax(axis=1), dtype=np.int32)

    def state(self) -> dict[str, NDArray[Any]]:
        """What was learned, as named arrays.

        Returns
        -------
        dict of str to ndarray
        """
        check_is_fitted(self)
        return {"classes": self.classes_, "coef": self.coef_, "intercept": self.intercept_}

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        classes = arrays["classes"]
        coef, intercept = (np.ascontiguousarray(arrays[name]) for name in ("coef", "intercept"))
        outputs = 1 if len(classes) == 2 else len(classes)
        if classes.ndim != 1 or len(classes) < 2 or coef.ndim != 2 or len(coef) != outputs:
            raise ModelFileError("coef must have a line for each class, or one for two classes.")
        if intercept.shape != (outputs,) or coef.dtype != np.float64 or intercept.dtype != np.float64:
            raise ModelFileError("coef and intercept must be float64 numbers that fit each other.")
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            raise ModelFileError("coef and intercept must be finite.")
        self.classes_, self.coef_, self.intercept_ = classes, coef, intercept
        self.n_features_in_ = coef.shape[1]
