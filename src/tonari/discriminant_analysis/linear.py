"""LinearDiscriminantAnalysis: scikit-learn's class over the same sums."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from tonari import _core
from tonari.base.errors import ModelFileError, UsageError
from tonari.base.held_out import Block, Candidate, Refusal, Splits, why_refused
from tonari.base.stored import Stored
from tonari.base.threads import thread_count
from tonari.base.validation import check_choice, check_number, check_rows, check_weighted_rows
from tonari.discriminant_analysis.densities import posterior
from tonari.discriminant_analysis.fisher import Discriminant, Shapes, discriminant
from tonari.discriminant_analysis.held_out import Table, without
from tonari.discriminant_analysis.sums import Sums, TrainingSums, sums_of

_LEARNED = ("coef_", "intercept_", "means_", "priors_", "classes_")
_SOMETIMES = ("xbar_", "scalings_", "explained_variance_ratio_", "covariance_")


class LinearDiscriminantAnalysis(
    Stored, ClassNamePrefixFeaturesOutMixin, ClassifierMixin, TransformerMixin, BaseEstimator
):  # fmt: skip
    """Classify by normal densities with one covariance, with scikit-learn's parameters, attributes and errors.

    Fitted from the sums of the classes alone. Covariances are sums over N, as in scikit-learn 1.9.

    Parameters
    ----------
    solver : {"svd", "lsqr", "eigen"}, default="svd"
        "svd" drops directions without variance; "lsqr" and "eigen" take a `shrinkage` or a `covariance_estimator`.
    shrinkage : "auto", float or None, default=None
        The share of the mean variance times the identity in each class's covariance; ``"auto"`` by Ledoit and Wolf.
    priors : array-like of shape (n_classes,), default=None
        Class probabilities. None: the shares of the rows.
    n_components : int, default=None
        Columns of `transform`, at most ``min(n_classes - 1, n_features)``, which None means.
    store_covariance : bool, default=False
        Whether "svd" keeps ``covariance_`` too.
    tol : float, default=1e-4
        For "svd": deviations, relative to the column's, not above this count as none.
    covariance_estimator : estimator, default=None
        An estimator with ``fit`` and ``covariance_``, instead of `shrinkage`.

    Attributes
    ----------
    classes_ : ndarray
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
    intercept_ : ndarray of shape (n_classes,), or (1,) for two classes
    means_ : ndarray of shape (n_classes, n_features)
    priors_ : ndarray of shape (n_classes,)
    covariance_ : ndarray of shape (n_features, n_features)
        Within classes, weighted by the priors.
    scalings_ : ndarray of shape (n_features, rank)
        For "svd" and "eigen".
    xbar_ : ndarray of shape (n_features,)
        Overall mean, for "svd".
    explained_variance_ratio_ : ndarray of shape (n_components,)
        For "svd" and "eigen".
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Examples
    --------
    >>> from tonari.discriminant_analysis import LinearDiscriminantAnalysis
    >>> X = [[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]]
    >>> model = LinearDiscriminantAnalysis().fit(X, [1, 1, 1, 2, 2, 2])
    >>> model.predict([[-0.8, -1]])
    array([1])
    """

    KIND = "discriminant_analysis.LinearDiscriminantAnalysis"

    def __init__(
        self, solver: str = "svd", shrinkage: Any = None, priors: Any = None, n_components: int | None = None,
        store_covariance: bool = False, tol: float = 1e-4, covariance_estimator: Any = None,
    ) -> None:  # fmt: skip
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.n_components = n_components
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Sum the rows of every class and derive the boundary.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), default=None
            Weight k counts as k copies; classes without weight are left out.

        Returns
        -------
        self : LinearDiscriminantAnalysis
        """
        self._check_parameters()
        rows, classes, codes, weights = check_weighted_rows(self, X, y, sample_weight)
        if len(rows) < 2:
            raise UsageError(f"Found array with {len(rows)} sample(s) while a minimum of 2 is required.")
        sums = sums_of(rows, codes, len(classes), weights, thread_count(None))
        kept = np.flatnonzero(sums.weight > 0)
        shapes = None
        if self._needs_rows(self.get_params(deep=False)):
            if weights is not None:
                raise UsageError("Sample weights do not go with an estimator of covariances.", "Leave one out.")
            shapes = Shapes.estimated(rows, codes, self.shrinkage, self.covariance_estimator)
        found = self._derive(sums[kept], shapes)
        self.classes_ = classes[kept]
        self.means_, self.priors_ = sums.mean[kept], found.priors
        for name in _SOMETIMES:
            value = getattr(found, name.removesuffix("_"))
            if value is not None:
                setattr(self, name, value)
            elif hasattr(self, name):
                delattr(self, name)
        self.coef_ = found.coef.astype(rows.dtype)
        self.intercept_ = found.intercept.astype(rows.dtype)
        self._n_features_out = found.components
        return self

    def _derive(self, sums: Sums, shapes: Shapes | None = None) -> Discriminant:
        """Everything from the sums of the classes that are present."""
        if sums.total == len(sums.weight):
            raise UsageError("The number of samples must be more than the number of classes.")
        priors = self._priors(sums)
        most = min(len(priors) - 1, sums.mean.shape[1])
        if self.n_components is not None and self.n_components > most:
            raise UsageError("n_components cannot be larger than min(n_features, n_classes - 1).")
        components = most if self.n_components is None else int(self.n_components)
        return discriminant(
            sums, priors, self.solver, float(self.shrinkage or 0) if shapes is None else 0.0, float(self.tol),
            components, shapes, store_covariance=self.store_covariance,
        )  # fmt: skip

    def _priors(self, sums: Sums) -> NDArray[np.float64]:
        if self.priors is None:
            return np.asarray(sums.weight / sums.total)
        priors = np.asarray(self.priors, dtype=np.float64)
        if priors.shape != sums.weight.shape:
            raise UsageError(f"There are {len(sums.weight)} classes and priors of shape {priors.shape}.")
        if (priors < 0).any():
            raise UsageError("priors must be non-negative")
        if abs(priors.sum() - 1.0) > 1e-5:
            warnings.warn("The priors do not sum to 1. Renormalizing", UserWarning, stacklevel=4)
            return np.asarray(priors / priors.sum())
        return priors

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Log posterior of every class up to a constant of the row; of two classes the difference.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
        """
        check_is_fitted(self)
        scores = _scores(check_rows(self, X, reset=False), self.coef_, self.intercept_)
        return scores[0] if len(scores) == 1 else np.ascontiguousarray(scores.T)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class; the first among equals.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        scores = self.decision_function(X)
        return np.asarray(self.classes_[_winners(scores, len(self.classes_))])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of every class.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return posterior(_both(self.decision_function(X)))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithm of the probability of every class.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return posterior(_both(self.decision_function(X)), log=True)

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Project onto the directions that separate the classes best.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_components)
        """
        if self.solver == "lsqr":
            raise NotImplementedError("transform not implemented for 'lsqr' solver (use 'svd' or 'eigen').")
        check_is_fitted(self)
        rows = check_rows(self, X, reset=False)
        directions = self.scalings_[:, : self._n_features_out].T
        centred = rows - self.xbar_ if self.solver == "svd" else rows
        projected = _scores(np.ascontiguousarray(centred), directions, np.zeros(len(directions)))
        return np.ascontiguousarray(projected.T, dtype=rows.dtype)

    # --- the held-out protocol --------------------------------------------------------------------------------------

    def refuses(
        self, candidates: Sequence[Candidate], splits: Splits, fit_params: Mapping[str, Any], responses: Sequence[str]
    ) -> str | None:
        """Why these candidates must be fitted one by one, or None.

        Parameters
        ----------
        candidates : sequence of mapping
        splits : Splits
        fit_params : mapping
        responses : sequence of str

        Returns
        -------
        str or None
        """
        reason = why_refused(self, candidates, fit_params, responses, takes=("sample_weight",))
        known = self.get_params(deep=False)
        needs = (self._needs_rows({**known, **candidate}) for candidate in candidates)
        return reason or next((need for need in needs if need is not None), None)

    def held_out(
        self, X: Any, y: Any, splits: Splits, candidates: Sequence[Candidate], *,
        fit_params: Mapping[str, Any], responses: Sequence[str],
    ) -> Iterator[Block]:  # fmt: skip
        """Answer every candidate on every split, from sums that are taken once.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        splits : Splits
        candidates : sequence of mapping
        fit_params : mapping
        responses : sequence of str

        Yields
        ------
        Block
        """
        try:
            found = check_weighted_rows(clone(self), X, y, fit_params.get("sample_weight"))
            table = Table(*found, tuple(responses), thread_count(None))
            count = len(table.classes)
            training = TrainingSums(table.rows, table.codes, count, table.weights, splits, table.threads)
            alone = splits.fold is not None and len(splits) == splits.n_rows
            whole = sums_of(table.rows, table.codes, count, table.weights, table.threads) if alone else None
        except (ValueError, TypeError) as error:
            raise Refusal(f"the table as a whole does not pass validation ({error})") from error
        learners = [clone(self).set_params(**candidate) for candidate in candidates]
        parts: Iterable[Sums] = training
        if whole is not None:
            parts = (without(table, whole, int(splits.test(split)[0])) for split in range(len(splits)))
        for split, sums in enumerate(parts):
            if whole is None and not Shapes.well_conditioned(sums):
                sums = training.directly(split)
            yield from _answers(table, splits, split, sums, learners)

    def _needs_rows(self, params: Mapping[str, Any]) -> str | None:
        if params["covariance_estimator"] is not None:
            return "an estimator of covariances takes rows, not sums"
        return "shrinkage='auto' takes rows, not sums" if isinstance(params["shrinkage"], str) else None

    def _check_parameters(self) -> None:
        check_choice("solver", self.solver, ("svd", "lsqr", "eigen"))
        if isinstance(self.shrinkage, str):
            check_choice("shrinkage", self.shrinkage, ("auto",))
        elif self.shrinkage is not None:
            check_number("shrinkage", self.shrinkage, least=0)
            if self.shrinkage > 1:
                raise UsageError(f"The 'shrinkage' parameter must be at most 1, got {self.shrinkage!r}.")
        check_number("tol", self.tol, least=0)
        if self.n_components is not None:
            check_number("n_components", self.n_components, least=1, whole=True)
        if self.solver == "svd" and self.shrinkage is not None:
            raise NotImplementedError("shrinkage not supported with 'svd' solver.")
        if self.solver == "svd" and self.covariance_estimator is not None:
            raise UsageError("covariance estimator is not supported with svd solver. Try another solver")
        if self.covariance_estimator is not None and self.shrinkage not in (None, 0):
            raise UsageError(
                "covariance_estimator and shrinkage parameters are not None. Only one of the two can be set."
            )

    # --- model files ------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, NDArray[Any]]:
        """What was learned, as named arrays.

        Returns
        -------
        dict of str to ndarray
        """
        check_is_fitted(self)
        names = [*_LEARNED, *(name for name in _SOMETIMES if hasattr(self, name))]
        return {name.removesuffix("_"): getattr(self, name) for name in names}

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._check_parameters()
        for name in (*_LEARNED, *_SOMETIMES):
            if name.removesuffix("_") in arrays or name in _LEARNED:
                setattr(self, name, np.ascontiguousarray(arrays[name.removesuffix("_")]))
        k, dim = self.means_.shape
        outputs = 1 if k == 2 else k
        if self.coef_.shape != (outputs, dim) or self.intercept_.shape != (outputs,) or self.classes_.shape != (k,):
            raise ModelFileError("coef and intercept do not fit the classes and columns.")
        if not np.isfinite(self.coef_).all():
            raise ModelFileError("coef must be finite.")
        self.n_features_in_ = dim
        self._n_features_out = min(k - 1, dim) if self.n_components is None else int(self.n_components)


def _answers(table: Table, splits: Splits, split: int, sums: Sums, learners: Sequence[Any]) -> Iterator[Block]:
    held = splits.test(split)
    present = np.flatnonzero(sums.weight > 0)
    kept, classes = sums[present], table.classes[present]
    rows = np.ascontiguousarray(table.rows[held])
    for i, learner in enumerate(learners):
        where = np.array([i])
        try:
            learner._check_parameters()
            found = learner._derive(kept)
        except (ValueError, TypeError, NotImplementedError) as error:
            yield Block(split, where, held, None, {}, error)
            continue
        coef, intercept = (part.astype(table.rows.dtype) for part in (found.coef, found.intercept))
        scores = _scores(rows, coef, intercept)
        scores = scores[0] if len(scores) == 1 else np.ascontiguousarray(scores.T)
        responses: dict[str, Any] = {}
        if "predict" in table.wants:
            responses["predict"] = _winners(scores, len(classes))[None]
        if "decision_function" in table.wants:
            responses["decision_function"] = scores[None]
        if "predict_proba" in table.wants:
            responses["predict_proba"] = posterior(_both(scores))[None]
        yield Block(split, where, held, classes, responses)


def _scores(rows: NDArray[Any], coef: NDArray[Any], intercept: NDArray[Any]) -> NDArray[np.float64]:
    """(outputs, rows); every row by itself, so that batches change nothing."""
    scores = np.empty((len(coef), len(rows)))
    coef, intercept = (np.ascontiguousarray(part, dtype=np.float64) for part in (coef, intercept))
    _core.linear_scores(rows, coef, intercept, scores, thread_count(None))
    return scores


def _winners(scores: NDArray[np.float64], classes: int) -> NDArray[np.int32]:
    codes = (scores > 0) & (classes > 1) if scores.ndim == 1 else scores.argmax(axis=1)
    return np.asarray(codes, dtype=np.int32)


def _both(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores of every class: of two, that of the first is 0."""
    return np.stack([np.zeros_like(scores), scores], axis=1) if scores.ndim == 1 else scores
