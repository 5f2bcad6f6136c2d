"""GaussianClassifier: the most probable class under one normal density each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tonari.base.errors import ModelFileError, UsageError
from tonari.base.validation import check_choice, check_number, check_weighted_rows
from tonari.discriminant_analysis.boundary import Boundary, boundary_between
from tonari.discriminant_analysis.densities import Densities, Spectra
from tonari.discriminant_analysis.held_out import HeldOutDensities
from tonari.discriminant_analysis.normal import NormalClassifier, log_priors_of
from tonari.discriminant_analysis.sums import Sums, sums_of

COVARIANCES = ("full", "shared", "diagonal", "isotropic")


class GaussianClassifier(HeldOutDensities, NormalClassifier):
    """Classify by the largest posterior probability (MAP), every class having a normal density.

    Priors, means and covariances are those of maximum likelihood (sums over N, not N - 1). A fitted model holds sums,
    no rows: more rows can follow (`partial_fit`), and two models can be merged (`merge`).

    Parameters
    ----------
    covariance : {"full", "shared", "diagonal", "isotropic"}, default="full"
        One matrix per class (a quadratic boundary), one for all classes (a linear boundary), a variance per class and
        column (naive Bayes), or one variance per class.
    shrinkage : float, default=0.0
        Between 0 and 1: the covariance becomes ``(1 - shrinkage) * covariance + shrinkage * v * identity`` with v the
        mean of the variances of its columns. Bring the columns to like units first. At 0 units do not matter, and
        singular classes are handled: along no direction is a class's variance taken for less than 1e-10 of what rows
        spread within classes there; columns that are constant over all rows count nothing.
    priors : array-like of shape (n_classes,), default=None
        Probabilities of the classes; they need not be those of the rows. None: the shares of the rows.
    n_jobs : int, default=None
        Threads. None: all cores allowed to the process, and one inside a joblib worker. Never changes an answer.

    Attributes
    ----------
    classes_ : ndarray
    class_count_ : ndarray of shape (n_classes,)
        Rows of each class, or their weights.
    priors_ : ndarray of shape (n_classes,)
    means_ : ndarray of shape (n_classes, n_features)
    covariance_ : ndarray of shape (n_classes, n_features, n_features)
        As they are used: shrunk and regularised.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Examples
    --------
    >>> from tonari.discriminant_analysis import GaussianClassifier
    >>> X, y = [[0.0], [2.0], [7.0], [9.0]], ["left", "left", "right", "right"]
    >>> model = GaussianClassifier(covariance="shared").fit(X, y)
    >>> model.predict([[4.0], [5.0]])
    array(['left', 'right'], dtype='<U5')
    >>> line = model.boundary("left", "right")
    >>> line.b / line.w
    array([4.5])
    """

    KIND = "discriminant_analysis.GaussianClassifier"
    _WEIGHTS = ("sample_weight",)
    _sums: Sums

    def __init__(
        self, covariance: str = "full", *, shrinkage: float = 0.0, priors: Any = None, n_jobs: int | None = None
    ) -> None:
        self.covariance = covariance
        self.shrinkage = shrinkage
        self.priors = priors
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Sum the rows of every class and derive the densities.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Labels of any kind.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight k counts as k copies; classes without weight are left out.

        Returns
        -------
        self : GaussianClassifier
        """
        self._check_parameters()
        rows, classes, codes, weights = check_weighted_rows(self, X, y, sample_weight)
        sums = sums_of(rows, codes, len(classes), weights, self._threads())
        kept = sums.weight > 0
        self.classes_ = classes[kept]
        return self._derive(sums[kept])

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to those already seen.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        classes : array-like, default=None
            All classes that will ever come; needed in the first call. Those without rows are never predicted.
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        self : GaussianClassifier
        """
        self._check_parameters()
        first = not hasattr(self, "classes_")
        if first and classes is None:
            raise UsageError("classes must be passed on the first call to partial_fit.")
        known = np.unique(classes) if first else self.classes_
        if not first and classes is not None and not np.array_equal(np.unique(classes), known):
            raise UsageError(f"classes={list(classes)} is not the same as on the last call to partial_fit.")
        rows, found, _, weights = check_weighted_rows(self, X, y, sample_weight, reset=first)
        unknown = found[~np.isin(found, known)]
        if len(unknown):
            raise UsageError(f"The labels {unknown.tolist()} are not among the classes {known.tolist()}.")
        codes = np.searchsorted(known, np.asarray(y).reshape(-1)).astype(np.int32)
        sums = sums_of(rows, codes, len(known), weights, self._threads())
        self.classes_ = known
        return self._derive(sums if first else self._sums.merged(sums))

    def merge(self, other: GaussianClassifier) -> GaussianClassifier:
        """The model of both models' rows, from their sums alone; neither is changed.

        Parameters
        ----------
        other : GaussianClassifier
            Fitted on rows of the same columns. Its parameters do not matter.

        Returns
        -------
        GaussianClassifier
        """
        check_is_fitted(self)
        check_is_fitted(other)
        if other.n_features_in_ != self.n_features_in_:
            raise UsageError(f"One model knows {self.n_features_in_} columns, the other {other.n_features_in_}.")
        merged = type(self)(**self.get_params(deep=False))
        merged.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            merged.feature_names_in_ = self.feature_names_in_
        merged.classes_ = np.union1d(self.classes_, other.classes_)
        mine, theirs = (_spread(model._sums, model.classes_, merged.classes_) for model in (self, other))
        return merged._derive(mine.merged(theirs))

    def boundary(self, first: Any, second: Any) -> Boundary:
        """Where two classes are equally likely, as an equation.

        Parameters
        ----------
        first, second : label
            Two of ``classes_``.

        Returns
        -------
        Boundary
            ``b - w'x + x'Mx``, positive where `first` is likelier. A column that is constant over all rows has no part.
        """
        check_is_fitted(self)
        known = self.classes_[self._present]
        places = []
        for label in (first, second):
            found = np.flatnonzero(known == label)
            if len(found) != 1:
                raise UsageError(f"{label!r} is no class with rows.", f"One of {known.tolist()}.")
            places.append(int(found[0]))
        densities = self._densities
        return boundary_between(
            places[0], places[1], densities.mean, densities.covariance(), densities.logdet[0], self._log_priors
        )  # fmt: skip

    def state(self) -> dict[str, NDArray[Any]]:
        """What was learned, as named arrays: sums, and the densities derived from them.

        Returns
        -------
        dict of str to ndarray
        """
        state = super().state()
        sums = {"sums_weight": self._sums.weight, "sums_mean": self._sums.mean, "sums_scatter": self._sums.scatter}
        return {**state, **sums}

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._check_parameters()
        super()._restore(arrays)
        sums = Sums(*(np.ascontiguousarray(arrays[f"sums_{name}"]) for name in ("weight", "mean", "scatter")))
        classes, dim = len(self.classes_), self.n_features_in_
        shapes = [part.shape for part in (sums.weight, sums.mean, sums.scatter)]
        parts_finite = all(np.isfinite(part).all() for part in (sums.weight, sums.mean, sums.scatter))
        if shapes != [(classes,), (classes, dim), (classes, dim, dim)] or not parts_finite:
            raise ModelFileError("The sums must be finite, one set for each class.")
        if not np.array_equal(np.flatnonzero(sums.weight > 0), self._present):
            raise ModelFileError("The sums are not those of the densities.")
        self._describe(sums)

    def _check_parameters(self) -> None:
        check_choice("covariance", self.covariance, COVARIANCES)
        check_number("shrinkage", self.shrinkage, least=0)
        if self.shrinkage > 1:
            raise UsageError(f"The 'shrinkage' parameter must be at most 1, got {self.shrinkage!r}.")

    def _derive(self, sums: Sums) -> Self:
        self._present = np.flatnonzero(sums.weight > 0)
        present = sums[self._present]
        priors = log_priors_of(self.priors, sums.weight)
        self._log_priors = priors[self._present]
        ((_, self._densities),) = self._candidates(Spectra(present, self.covariance), np.array([float(self.shrinkage)]))
        self._describe(sums)
        return self

    def _describe(self, sums: Sums) -> None:
        self._sums = sums
        self.class_count_ = sums.weight.copy()
        self.means_ = sums.mean.copy()
        self.priors_ = np.zeros(len(self.classes_))
        self.priors_[self._present] = np.exp(self._log_priors)
        self.covariance_ = np.zeros_like(sums.scatter)
        self.covariance_[self._present] = self._densities.covariance()

    # --- what the held-out answer asks ------------------------------------------------------------------------------

    def _kind(self) -> tuple[str, str]:
        return self.covariance, "mean"

    def _amount(self) -> float:
        return float(self.shrinkage)

    def _candidates(self, spectra: Spectra, amounts: NDArray[np.float64]) -> list[tuple[NDArray[np.intp], Densities]]:
        return spectra.densities(amounts)


def _spread(sums: Sums, own: NDArray[Any], everyone: NDArray[Any]) -> Sums:
    """The same sums among more classes."""
    at = np.searchsorted(everyone, own)
    dim = sums.mean.shape[1]
    wide = Sums(np.zeros(len(everyone)), np.zeros((len(everyone), dim)), np.zeros((len(everyone), dim, dim)))
    wide.weight[at], wide.mean[at], wide.scatter[at] = sums.weight, sums.mean, sums.scatter
    return wide
