"""QuadraticDiscriminantAnalysis: scikit-learn's class over the same sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.covariance import ledoit_wolf

from tonari.base.errors import UsageError
from tonari.base.validation import check_choice, check_number, check_weighted_rows
from tonari.discriminant_analysis.densities import Densities, Spectra
from tonari.discriminant_analysis.held_out import HeldOutDensities
from tonari.discriminant_analysis.normal import NormalClassifier, log_priors_of
from tonari.discriminant_analysis.sums import Sums, sums_of


class QuadraticDiscriminantAnalysis(HeldOutDensities, NormalClassifier):
    """Classify by a normal density per class, with scikit-learn's parameters, attributes and errors.

    Covariances are sums over N, as in scikit-learn 1.9. A class whose covariance is not of full rank is an error; see
    :class:`GaussianClassifier` for one that is regularised instead.

    Parameters
    ----------
    solver : {"svd", "eigen"}, default="svd"
        Which regularisation goes with it: ``reg_param``, or ``shrinkage`` and ``covariance_estimator``. Both use the
        eigenvectors of the covariance.
    shrinkage : "auto", float or None, default=None
        Only with ``solver="eigen"``: the share of the mean variance times the identity; ``"auto"`` by Ledoit and Wolf.
    priors : array-like of shape (n_classes,), default=None
        Class probabilities. None: the shares of the rows.
    reg_param : float, default=0.0
        Only with ``solver="svd"``: variances become ``(1 - reg_param) * variance + reg_param``.
    store_covariance : bool, default=False
        Whether ``covariance_`` is kept.
    tol : float, default=1e-4
        A variance not above this makes a covariance count as not of full rank.
    covariance_estimator : estimator, default=None
        Only with ``solver="eigen"``: an estimator with ``fit`` and ``covariance_``.

    Attributes
    ----------
    classes_ : ndarray
    priors_ : ndarray of shape (n_classes,)
    means_ : ndarray of shape (n_classes, n_features)
    rotations_ : list of ndarray of shape (n_features, n_features)
        Eigenvectors of each class's covariance, that of the largest variance first.
    scalings_ : list of ndarray of shape (n_features,)
        Variances along them, regularised.
    covariance_ : list of ndarray
        Only if `store_covariance`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Examples
    --------
    >>> from tonari.discriminant_analysis import QuadraticDiscriminantAnalysis
    >>> X = [[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]]
    >>> model = QuadraticDiscriminantAnalysis().fit(X, [1, 1, 1, 2, 2, 2])
    >>> model.predict([[-0.8, -1]])
    array([1])
    """

    KIND = "discriminant_analysis.QuadraticDiscriminantAnalysis"

    def __init__(
        self, *, solver: str = "svd", shrinkage: Any = None, priors: Any = None, reg_param: float = 0.0,
        store_covariance: bool = False, tol: float = 1.0e-4, covariance_estimator: Any = None,
    ) -> None:  # fmt: skip
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.reg_param = reg_param
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    def fit(self, X: Any, y: Any) -> Self:
        """Sum the rows of every class and derive the densities.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)

        Returns
        -------
        self : QuadraticDiscriminantAnalysis
        """
        self._check_parameters()
        rows, classes, codes, _ = check_weighted_rows(self, X, y, None)
        count = len(classes)
        sums = sums_of(rows, codes, count, None, self._threads())
        _check_classes(classes, sums)
        log_priors = log_priors_of(self.priors, sums.weight)
        spectra = Spectra(sums, "full")
        if self._needs_rows(self.get_params(deep=False)):
            matrices = [estimated(rows[codes == k], self.shrinkage, self.covariance_estimator) for k in range(count)]
            spectra.matrix = np.array(matrices)
            densities = spectra.mixed(np.zeros(1), np.zeros(count))
        else:
            ((_, densities),) = self._candidates(spectra, np.array([self._amount()]))
        complaint = self._complaint(densities, 0, sums, classes)
        if complaint is not None:
            raise complaint
        self.classes_, self._present = classes, np.arange(count)
        self._densities, self._log_priors = densities, log_priors
        self._describe(sums.mean)
        return self

    def _describe(self, means: NDArray[np.float64]) -> None:
        densities = self._densities
        self.means_ = means.copy()
        self.priors_ = np.exp(self._log_priors) if self.priors is None else np.array(self.priors, dtype=np.float64)
        falling = np.argsort(densities.variance[0], axis=1, kind="stable")[:, ::-1]
        self.rotations_ = [densities.basis[k][:, order] for k, order in enumerate(falling)]
        self.scalings_ = [densities.variance[0, k][order] for k, order in enumerate(falling)]
        if self.store_covariance:
            self.covariance_ = list(densities.covariance())

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._check_parameters()
        super()._restore(arrays)
        self._describe(self._densities.mean)

    def _check_parameters(self) -> None:
        check_choice("solver", self.solver, ("svd", "eigen"))
        for name in ("reg_param", "shrinkage"):
            value = getattr(self, name)
            if name == "shrinkage" and (value is None or (isinstance(value, str) and value == "auto")):
                continue
            check_number(name, value, least=0)
            if value > 1:
                raise UsageError(f"The {name!r} parameter must be at most 1, got {value!r}.")
        check_number("tol", self.tol, least=0)
        if self.solver == "svd" and self.shrinkage is not None:
            raise NotImplementedError("shrinkage not supported with 'svd' solver.")
        if self.solver == "svd" and self.covariance_estimator is not None:
            raise UsageError(
                "covariance_estimator is not supported with solver='svd'. Try solver='eigen' instead."
            )  # fmt: skip
        if self.covariance_estimator is not None and self.shrinkage not in (None, 0):
            raise UsageError(
                "covariance_estimator and shrinkage parameters are not None. Only one of the two can be set."
            )

    # --- what the held-out answer asks ------------------------------------------------------------------------------

    def _needs_rows(self, params: Mapping[str, Any]) -> str | None:
        if params["covariance_estimator"] is not None:
            return "an estimator of covariances takes rows, not sums"
        if isinstance(params["shrinkage"], str):
            return "shrinkage='auto' takes rows, not sums"
        return None

    def _kind(self) -> tuple[str, str]:
        return "full", "identity" if self.solver == "svd" else "plain mean"

    def _amount(self) -> float:
        return float(self.reg_param if self.solver == "svd" else self.shrinkage or 0.0)

    def _candidates(self, spectra: Spectra, amounts: NDArray[np.float64]) -> list[tuple[NDArray[np.intp], Densities]]:
        target = np.ones(len(spectra.matrix)) if self.solver == "svd" else spectra.mean_variance
        return [(np.arange(len(amounts)), spectra.mixed(amounts, target))]

    def _complaint(self, densities: Densities, candidate: int, sums: Sums, classes: NDArray[Any]) -> Exception | None:
        try:
            _check_classes(classes, sums)
        except ValueError as error:
            return error
        dim = densities.mean.shape[1]
        for k, label in enumerate(classes.tolist()):
            few = self.solver == "svd" and sums.weight[k] <= dim
            full = (densities.variance[candidate, k] > self.tol).all()
            if full and not (few and sums.weight[k] < dim):
                continue
            message = f"The covariance matrix of class {label} is not full rank. "
            if few:
                return np.linalg.LinAlgError(
                    message + "When using `solver='svd'` the number of samples in each class should be more than the "
                    f"number of features, but class {label} has {sums.weight[k]:g} samples and {dim} features. Try "
                    "using `solver='eigen'` and setting the parameter `shrinkage` for regularization."
                )
            name = "shrinkage" if self.solver == "eigen" else "reg_param"
            return np.linalg.LinAlgError(f"{message}Increase the value of `{name}` to reduce the collinearity.")
        return None

    def _settles(self, sums: Sums) -> NDArray[np.bool_]:
        return np.asarray((sums.weight > sums.mean.shape[1] + 1) & (sums.weight > 2))

    def _least_variance(self, learners: Sequence[Any]) -> float:
        return 2.0 * float(max(learner.tol for learner in learners))


def _check_classes(classes: NDArray[Any], sums: Sums) -> None:
    if len(classes) < 2:
        raise UsageError(f"The number of classes has to be greater than one. Got {len(classes)} class.")
    for label, weight in zip(classes.tolist(), sums.weight.tolist(), strict=True):
        if weight <= 1:
            raise UsageError(f"y has only 1 sample in class {label}, covariance is ill defined.")


def estimated(rows: NDArray[Any], shrinkage: Any, estimator: Any) -> NDArray[np.float64]:
    """A covariance by Ledoit and Wolf on standardised columns, as scikit-learn does it, or by a given estimator.

    Parameters
    ----------
    rows : ndarray
    shrinkage : "auto" or None
    estimator : estimator or None

    Returns
    -------
    ndarray of shape (n_features, n_features)
    """
    if estimator is not None:
        estimator.fit(rows)
        if not hasattr(estimator, "covariance_"):
            raise UsageError(f"{type(estimator).__name__} does not have a covariance_ attribute")
        return np.asarray(estimator.covariance_, dtype=np.float64)
    spread = rows.std(axis=0, dtype=np.float64)
    spread[spread == 0] = 1.0
    matrix = ledoit_wolf((rows - rows.mean(axis=0, dtype=np.float64)) / spread)[0]
    return np.asarray(spread[:, None] * matrix * spread)
