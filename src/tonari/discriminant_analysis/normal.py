"""What classifiers with a normal density per class have in common: checking rows, answering, model files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from tonari.base.errors import ModelFileError, UsageError
from tonari.base.stored import Stored
from tonari.base.threads import thread_count
from tonari.base.validation import check_rows
from tonari.discriminant_analysis.densities import Densities, posterior, scores_of


def log_priors_of(priors: Any, weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithms of given priors, or of the shares of the classes.

    Parameters
    ----------
    priors : array-like or None
    weight : ndarray of shape (n_classes,)

    Returns
    -------
    ndarray of shape (n_classes,)
    """
    with np.errstate(divide="ignore"):
        if priors is None:
            return np.asarray(np.log(weight / weight.sum()))
        given = np.asarray(priors, dtype=np.float64)
        if given.shape != weight.shape:
            raise UsageError(f"There are {len(weight)} classes and priors of shape {given.shape}.", "Give one each.")
        if (given < 0).any() or not np.isfinite(given).all():
            raise UsageError("priors must be non-negative.")
        return np.asarray(np.log(given))


class NormalClassifier(Stored, ClassifierMixin, BaseEstimator):
    """Answers from `_densities` and `_log_priors` of the classes that have rows (`_present`)."""

    classes_: NDArray[Any]
    _densities: Densities
    _log_priors: NDArray[np.float64]
    _present: NDArray[np.intp]

    def _threads(self) -> int:
        return thread_count(getattr(self, "n_jobs", None))

    def _log_posterior(self, X: Any) -> NDArray[np.float64]:
        """Log posterior of every class up to a constant of the row; minus infinity for a class without rows."""
        check_is_fitted(self)
        rows = check_rows(self, X, reset=False)
        found, _ = scores_of(
            rows, self._densities, self._log_priors[None], self._threads(), scores=True, codes=False
        )  # fmt: skip
        assert found is not None
        if len(self._present) == len(self.classes_):
            return np.asarray(found[0])
        scores = np.full((len(rows), len(self.classes_)), -np.inf)
        scores[:, self._present] = found[0]
        return scores

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Log posterior of every class up to a constant of the row; of two classes the difference.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
        """
        scores = self._log_posterior(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class; the first among equals.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        rows = check_rows(self, X, reset=False)
        _, codes = scores_of(
            rows, self._densities, self._log_priors[None], self._threads(), scores=False, codes=True
        )  # fmt: skip
        assert codes is not None
        return np.asarray(self.classes_[self._present[codes[0]]])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of every class.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return posterior(self._log_posterior(X))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithm of the probability of every class, exact where the probability itself is too small to write.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return posterior(self._log_posterior(X), log=True)

    def state(self) -> dict[str, NDArray[Any]]:
        """What was learned, as named arrays.

        Returns
        -------
        dict of str to ndarray
        """
        check_is_fitted(self)
        densities = self._densities
        return {
            "classes": self.classes_, "present": self._present.astype(np.int64), "log_priors": self._log_priors,
            "mean": densities.mean, "basis": densities.basis, "root": densities.root,
            "variance": densities.variance[0], "logdet": densities.logdet[0],
        }  # fmt: skip

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        classes, present = arrays["classes"], np.asarray(arrays["present"], dtype=np.intp)
        parts = {name: np.ascontiguousarray(arrays[name]) for name in ("mean", "basis", "root", "variance", "logdet")}
        k, dim = parts["mean"].shape
        shapes = {"mean": (k, dim), "basis": (k, dim, dim), "root": (k, dim, dim), "variance": (k, dim), "logdet": (k,)}
        for name, array in (*parts.items(), ("log_priors", arrays["log_priors"])):
            if array.shape != shapes.get(name, (k,)) or array.dtype != np.float64 or np.isnan(array).any():
                raise ModelFileError(f"{name} must hold float64 numbers, one set for each class.")
        ascending = len(present) == k >= 1 and (np.diff(present) > 0).all() and present[0] >= 0
        if classes.ndim != 1 or not ascending or present[-1] >= len(classes) or not (parts["variance"] > 0).all():
            raise ModelFileError("Classes and densities do not belong together.")
        self.classes_, self._present = classes, present
        self._log_priors = np.ascontiguousarray(arrays["log_priors"])
        variance, logdet = parts["variance"][None], parts["logdet"][None]
        self._densities = Densities(
            parts["mean"], parts["basis"], parts["root"], variance, logdet, np.ones_like(logdet)
        )  # fmt: skip
        self.n_features_in_ = dim
