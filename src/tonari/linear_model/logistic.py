"""LogisticRegression: binary and multinomial, with or without an L2 penalty, to a certified gradient."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from tonari.base.errors import DataError, ModelFileError, UsageError
from tonari.base.threads import thread_count
from tonari.base.validation import check_choice, check_number, check_weighted_rows
from tonari.linear_model.held_out import BEYOND_TOL, HeldOutLogistic, log_chances
from tonari.linear_model.path import LogisticPath
from tonari.linear_model.rows import rows_for, scores
from tonari.linear_model.solver import Objective, Solution, minimise
from tonari.linear_model.stored import StoredLinear

#: Names of scikit-learn's solvers that minimise the same objective.
SOLVERS = ("lbfgs", "newton-cg", "newton-cholesky", "sag", "saga")


class LogisticRegression(StoredLinear, HeldOutLogistic, ClassifierMixin, BaseEstimator):
    """Logistic regression by Newton's method, with scikit-learn's parameters and objective.

    The objective is the mean loss, weighted, plus ``1 / (2 C n)`` times the squared coefficients, n the sum of the
    weights; intercepts are not penalised. Every solution carries a certificate: the largest element of the gradient,
    which is at most `tol`, or a warning says that it is not.

    Parameters
    ----------
    penalty : {"l2", None}, default="l2"
        None, like an infinite `C`, leaves the coefficients free; separable classes then have no solution, and a warning
        says so.
    C : float, default=1.0
        The larger, the weaker the penalty.
    l1_ratio : float, default=0.0
        Accepted for compatibility: there is no L1 penalty here.
    dual : bool, default=False
        Accepted for compatibility: False.
    tol : float, default=1e-4
        Largest element that the gradient may have.
    fit_intercept : bool, default=True
    intercept_scaling : float, default=1
        Accepted for compatibility; without meaning where the intercept is not penalised.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes; "balanced" makes all classes weigh the same.
    random_state : int, RandomState or None, default=None
        Accepted for compatibility; nothing is random here.
    solver : {"lbfgs", "newton-cg", "newton-cholesky", "sag", "saga"}, default="lbfgs"
        Accepted for compatibility: every name gives the same solution, by Newton's steps (L-BFGS when large).
    max_iter : int, default=100
        Steps.
    verbose : int, default=0
        Accepted for compatibility.
    warm_start : bool, default=False
        Whether to start from the last solution.
    n_jobs : int, default=None
        Threads. None: all cores allowed to the process, and one inside a joblib worker. Never changes an answer.

    Attributes
    ----------
    classes_ : ndarray
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    n_iter_ : ndarray of int32, shape (1,)
        Steps taken.
    gradient_norm_ : float
        Largest element of the gradient at the solution.
    separable_ : bool
        Whether a plane separates the classes and nothing penalises the coefficients.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tonari.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression().fit(X, y)
    >>> model.predict(X[:2])
    array([0, 0])
    >>> model.gradient_norm_ < 1e-4
    True
    """

    KIND = "linear_model.LogisticRegression"

    def __init__(
        self, penalty: str | None = "l2", *, C: float = 1.0, l1_ratio: float | None = 0.0, dual: bool = False,
        tol: float = 1e-4, fit_intercept: bool = True, intercept_scaling: float = 1, class_weight: Any = None,
        random_state: Any = None, solver: str = "lbfgs", max_iter: int = 100, verbose: int = 0,
        warm_start: bool = False, n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the coefficients.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            A sparse matrix stays sparse.
        y : array-like of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), default=None
            Weight k counts as k copies.

        Returns
        -------
        self : LogisticRegression
        """
        self._check_parameters()
        rows, classes, codes, weights = check_weighted_rows(self, X, y, sample_weight, sparse_too=True)
        start = None
        if self.warm_start and hasattr(self, "coef_") and np.array_equal(self.classes_, classes):
            start = np.column_stack([self.coef_, self.intercept_]).astype(np.float64)
        solution = self.solve(rows, classes, codes, weights, [self._strength()], start)[0]
        self._say(solution)
        outputs = 1 if len(classes) == 2 else len(classes)
        dim = rows.shape[1]
        self.classes_ = classes
        self.coef_ = np.ascontiguousarray(solution.coef[:, :dim])
        self.intercept_ = solution.coef[:, dim].copy() if self.fit_intercept else np.zeros(outputs)
        self.n_iter_ = np.array([solution.steps], dtype=np.int32)
        self.gradient_norm_ = solution.norm
        self.separable_ = solution.separable
        return self

    def path(self, X: Any, y: Any, Cs: Sequence[float], sample_weight: Any = None) -> LogisticPath:
        """Solve for many penalties, each from its neighbour's solution; the estimator itself stays as it is.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        Cs : sequence of float
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        LogisticPath
        """
        self._check_parameters()
        for C in Cs:
            check_number("Cs", C, least=0, above=True)
        fresh = type(self)(**self.get_params(deep=False))
        rows, classes, codes, weights = check_weighted_rows(fresh, X, y, sample_weight, sparse_too=True)
        order = np.argsort(np.asarray(Cs, dtype=np.float64), kind="stable")
        solutions = self.solve(rows, classes, codes, weights, [float(Cs[i]) for i in order])
        solutions = [solutions[i] for i in np.argsort(order, kind="stable")]
        for solution in solutions:
            self._say(solution)
        dim = rows.shape[1]
        coef = np.array([solution.coef for solution in solutions])
        intercept = coef[:, :, dim] if self.fit_intercept else np.zeros(coef.shape[:2])
        norms = np.array([solution.norm for solution in solutions])
        return LogisticPath(np.asarray(Cs, dtype=np.float64), coef[:, :, :dim], intercept, norms)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Score of every class; of two classes that of the second.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
        """
        check_is_fitted(self)
        rows = validate_data(
            self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32], order="C"
        )  # fmt: skip
        found = scores(rows, self.coef_, self.intercept_, thread_count(self.n_jobs))
        return found[0] if len(found) == 1 else np.ascontiguousarray(found.T)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of every class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithm of the probability of every class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return log_chances(self.decision_function(X))

    # --- what fitting and the held-out answer share -----------------------------------------------------------------

    def solve(
        self, rows: Any, classes: NDArray[Any], codes: NDArray[np.int32], weights: NDArray[np.float64] | None,
        Cs: Sequence[float], start: NDArray[np.float64] | None = None,
    ) -> list[Solution]:  # fmt: skip
        """Solutions for ascending C, each from the last.

        Parameters
        ----------
        rows : ndarray or CSR matrix
        classes : ndarray
        codes : ndarray of int32
        weights : ndarray or None
        Cs : sequence of float
        start : ndarray of shape (outputs, n_features + 1), default=None

        Returns
        -------
        list of Solution
        """
        counted = self.row_weights(classes, codes, weights)
        seen = np.bincount(codes, weights=counted, minlength=len(classes))
        if len(classes) < 2 or (seen > 0).sum() < 2:
            raise DataError(
                "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
                f"{classes[int(np.argmax(seen))]!r}."
            )
        total = float(counted.sum())
        outputs = 1 if len(classes) == 2 else len(classes)
        table = rows_for(rows, codes, outputs, self.fit_intercept, thread_count(self.n_jobs))
        coef = np.zeros((outputs, table.width))
        if start is not None:
            used = rows.shape[1] + int(self.fit_intercept)
            coef[:, :used] = start[:, :used]
        found: list[Solution] = []
        for C in Cs:
            problem = Objective(table, counted / total, 1.0 / (C * total))
            found.append(minimise(problem, coef, self.tol * BEYOND_TOL, int(self.max_iter)))
            coef = found[-1].coef
            if not np.isfinite(coef).all():
                raise DataError("The coefficients exceed float64.", "Bring the columns to a like scale.")
        return found

    def row_weights(
        self, classes: NDArray[Any], codes: NDArray[np.int32], weights: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Weights of rows and of their classes multiplied.

        Parameters
        ----------
        classes : ndarray
        codes : ndarray of int32
        weights : ndarray or None

        Returns
        -------
        ndarray
        """
        own = np.ones(len(codes)) if weights is None else weights
        if self.class_weight is None:
            return own
        if isinstance(self.class_weight, Mapping):
            factors = np.array([float(self.class_weight.get(label, 1.0)) for label in classes.tolist()])
        else:
            counts = np.bincount(codes, weights=own, minlength=len(classes))
            factors = np.divide(counts.sum() / len(classes), counts, out=np.zeros(len(classes)), where=counts > 0)
        return np.asarray(own * factors[codes])

    def _strength(self) -> float:
        return float(np.inf if self.penalty is None else self.C)

    def _say(self, solution: Solution) -> None:
        if solution.separable:
            warnings.warn(
                "A plane separates the classes, so that without a penalty larger coefficients are always better and "
                "there is no solution; these are the first that separate. Use penalty='l2'.",
                ConvergenceWarning, stacklevel=3,
            )  # fmt: skip
        elif solution.norm > self.tol:
            warnings.warn(
                f"The gradient is {solution.norm:.2g} after {solution.steps} steps, and tol={self.tol:g}. Bring the "
                "columns to a like scale, or raise max_iter.", ConvergenceWarning, stacklevel=3,
            )  # fmt: skip

    def _check_parameters(self) -> None:
        if self.penalty is not None:
            check_choice("penalty", self.penalty, ("l2", "deprecated"))
        check_number("C", self.C, least=0, above=True)
        if self.l1_ratio not in (None, 0, 0.0):
            raise UsageError(f"There is no L1 penalty here: l1_ratio={self.l1_ratio!r}.", "Leave it at 0.")
        if self.dual:
            raise UsageError("dual=True is not offered.", "Leave it at False.")
        check_number("tol", self.tol, least=0)
        check_choice("solver", self.solver, SOLVERS)
        check_number("max_iter", self.max_iter, least=0, whole=True)
        if not (self.class_weight is None or isinstance(self.class_weight, Mapping)):
            check_choice("class_weight", self.class_weight, ("balanced",))

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._check_parameters()
        super()._restore(arrays)
        steps, norm, separable = arrays["certificate"].tolist()
        if not norm >= 0:
            raise ModelFileError("The certificate is no number.")
        self.n_iter_ = np.array([int(steps)], dtype=np.int32)
        self.gradient_norm_, self.separable_ = float(norm), bool(separable)

    def state(self) -> dict[str, NDArray[Any]]:
        """What was learned, as named arrays.

        Returns
        -------
        dict of str to ndarray
        """
        certificate = np.array([float(self.n_iter_[0]), self.gradient_norm_, float(self.separable_)])
        return {**super().state(), "certificate": certificate}
