"""What learned distances share: rows times `components_`, and a place in a model file.

The Euclidean distance after `transform` is the learned one: ``|A x - A z|``, a Mahalanobis distance with ``A'A``.
Time    rows * columns * components; every row by itself, so batches and threads change nothing
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tonari import _core
from tonari.base.errors import DataError, ModelFileError, UsageError
from tonari.base.stored import Stored
from tonari.base.threads import thread_count
from tonari.base.validation import check_number, check_rows, check_weighted_rows


class LinearMap(Stored, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A transformer whose `fit` learns `components_` from labels."""

    components_: NDArray[np.float64]
    n_features_in_: int
    n_components: int | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Map rows into the space whose Euclidean distance was learned.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of float64, shape (n_rows, n_components)
        """
        check_is_fitted(self)
        rows = check_rows(self, X, reset=False)
        mapped = np.empty((len(self.components_), len(rows)))
        _core.linear_scores(rows, self.components_, np.zeros(len(mapped)), mapped, thread_count(None))
        return np.ascontiguousarray(mapped.T)

    def _check_n_components(self, columns: int) -> None:
        if self.n_components is None:
            return
        check_number("n_components", self.n_components, least=1, whole=True)
        if self.n_components > columns:
            raise UsageError(
                f"n_components={self.n_components} is more than the table has columns ({columns}).",
                "A linear map of them into more dimensions gains nothing: ask for fewer, or for None.",
            )

    def _check_table(self, X: Any, y: Any) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Rows in float64 with the mean of each column at 0, and codes of the labels."""
        rows, _, codes, _ = check_weighted_rows(self, X, y, None)
        if len(rows) < 2:
            raise UsageError(f"Found array with {len(rows)} sample(s) while a minimum of 2 is required.")
        self._check_n_components(rows.shape[1])
        with np.errstate(over="ignore", invalid="ignore"):
            centred = rows.astype(np.float64) - rows.mean(axis=0, dtype=np.float64)
            spread = np.abs(centred).max(axis=0)
            fits = spread**2 * centred.size < np.finfo(np.float64).max
        if not fits.all():
            raise DataError(
                f"Column {int(np.argmin(fits))} spreads so far that its squares exceed float64.",
                "Divide it by a power of ten.",
            )
        return centred, codes

    # --- model files ------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, NDArray[Any]]:
        """What was learned, as named arrays.

        Returns
        -------
        dict of str to ndarray
        """
        check_is_fitted(self)
        return {"components": self.components_}

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.components_ = np.ascontiguousarray(arrays["components"], dtype=np.float64)
        if self.components_.ndim != 2 or not np.isfinite(self.components_).all():
            raise ModelFileError("The components must be a table of finite numbers.")
        self.n_features_in_ = self.components_.shape[1]
