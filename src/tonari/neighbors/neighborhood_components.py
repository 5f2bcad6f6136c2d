"""NeighborhoodComponentsAnalysis: the linear map under which random neighbours share the label most often.

Given   rows x_i, labels, a first map A
Gives   A that (locally) maximises the sum over rows of  p_i = sum_{j of i's class} p_ij,  where
        p_ij = exp(-|A x_i - A x_j|^2) / sum_{k != i} exp(-|A x_i - A x_k|^2)
        (Goldberger, Roweis, Hinton and Salakhutdinov 2005)
How     L-BFGS. The gradient is  2 (V - colsum(W) AX)' X  with  W_ij = p_ij ([same class] - p_i),  V = (W + W') AX
        Rows are sorted by class, so that "same class" is a range of columns; W exists only in tiles of a few rows
Time    rows^2 * components per step
Memory  the rows twice, a few numbers per row and component, and one tile of at most TILE numbers (16 MB) or one W row
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn import get_config
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tonari.base.errors import ParameterTypeError, UsageError
from tonari.base.threads import one_blas_thread
from tonari.base.validation import check_choice, check_number
from tonari.neighbors.linear_map import LinearMap

INITS = ("auto", "pca", "lda", "identity", "random")
#: Numbers in a tile. Its height depends on the rows alone, so that the order of sums does too.
TILE = 2**21
#: Absolute error of a squared distance up to which it is taken from norms and a matrix product.
EXPANDED = 1e-9

Floats = NDArray[np.float64]


class NeighborhoodComponentsAnalysis(LinearMap):
    """Learn a linear map for nearest neighbours, with scikit-learn's parameters, attributes and starting points.

    Columns should be on like scales first: where all rows lie far apart under the first map, each has one neighbour
    that counts, and the search for a better map ends where it began. Memory does not grow with rows squared.

    Parameters
    ----------
    n_components : int, default=None
        Dimensions to map into. None: as many as columns.
    init : {"auto", "pca", "lda", "identity", "random"} or array-like of (n_components, n_features), default="auto"
        The first map. "auto" is "lda" for fewer components than classes, "pca" for fewer than columns, else "identity".
    warm_start : bool, default=False
        Whether a further `fit` starts from the map that the last one found.
    max_iter : int, default=50
        Steps of the optimiser.
    tol : float, default=1e-5
        Its tolerance, as in scikit-learn.
    callback : callable, default=None
        Gets the flat map and the number of the step, after each step.
    verbose : int, default=0
        1 prints progress; it also warns when `max_iter` ends the search.
    random_state : int, RandomState or None, default=None
        For "random", and for "pca" where its solver is random.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
    n_iter_ : int
        Steps, counting the start as one.
    random_state_ : RandomState
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from tonari.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
    >>> X, y = load_wine(return_X_y=True)
    >>> nca = NeighborhoodComponentsAnalysis(n_components=2)
    >>> model = make_pipeline(StandardScaler(), nca, KNeighborsClassifier(3)).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.93
    True
    """

    KIND = "neighbors.NeighborhoodComponentsAnalysis"

    def __init__(
        self, n_components: int | None = None, *, init: Any = "auto", warm_start: bool = False, max_iter: int = 50,
        tol: float = 1e-5, callback: Callable[..., Any] | None = None, verbose: int = 0, random_state: Any = None,
    ) -> None:  # fmt: skip
        self.n_components = n_components
        self.init = init
        self.warm_start = warm_start
        self.max_iter = max_iter
        self.tol = tol
        self.callback = callback
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the map.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)

        Returns
        -------
        self : NeighborhoodComponentsAnalysis
        """
        self._check_parameters()
        began = time.monotonic()
        rows, codes = self._check_table(X, y)
        self.random_state_ = check_random_state(self.random_state)
        with one_blas_thread():
            first = self._first_map(rows, codes)
            objective = Objective(rows, codes)
            self.n_iter_ = 1

            def negative(flat: Floats) -> tuple[float, Floats]:
                value, gradient = objective(flat.reshape(first.shape))
                self._say(f"step {self.n_iter_}: {value:.6g} of {len(rows)} rows, {time.monotonic() - began:.2f} s")
                return -value, -gradient.ravel()

            found = minimize(
                negative, first.ravel(), jac=True, method="L-BFGS-B", tol=self.tol, callback=self._step,
                options={"maxiter": int(self.max_iter)},
            )  # fmt: skip
        self.components_ = np.ascontiguousarray(found.x.reshape(first.shape))
        if self.verbose and not found.success:
            message = f"NeighborhoodComponentsAnalysis did not converge ({found.message}). Raise max_iter or tol."
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        return self

    def _step(self, flat: Floats) -> None:
        if self.callback is not None:
            self.callback(flat, self.n_iter_)
        self.n_iter_ += 1

    def _say(self, text: str) -> None:
        if self.verbose:
            sys.stdout.write(f"[NeighborhoodComponentsAnalysis] {text}\n")
            sys.stdout.flush()

    def _first_map(self, rows: Floats, codes: NDArray[np.int32]) -> Floats:
        columns = rows.shape[1]
        if self.warm_start and hasattr(self, "components_"):
            if self.components_.shape[1] != columns:
                raise UsageError(
                    f"The map learned before takes {self.components_.shape[1]} columns, and this table has {columns}.",
                    "Set warm_start=False, or give the columns it knows.",
                )
            return self.components_
        components = columns if self.n_components is None else int(self.n_components)
        init = self.init
        if not isinstance(init, str):
            return self._given_map(columns)
        if init == "auto":
            if components < len(np.unique(codes)):
                init = "lda"
            else:
                init = "pca" if components < min(rows.shape) else "identity"
        if init == "identity":
            return np.eye(components, columns)
        if init == "random":
            return np.asarray(self.random_state_.standard_normal((components, columns)))
        if init == "pca":
            return self._principal(rows, components)
        with np.errstate(divide="ignore", invalid="ignore"):
            separating = LinearDiscriminantAnalysis().fit(rows, codes).scalings_.T[:components]
        separating = separating[np.isfinite(separating).all(axis=1)]
        missing = components - len(separating)
        return np.vstack([separating, self._principal(rows, missing)]) if missing else np.ascontiguousarray(separating)

    def _principal(self, rows: Floats, components: int) -> Floats:
        if components > min(rows.shape):
            raise UsageError(
                f"{components} principal components of {rows.shape[0]} rows and {rows.shape[1]} columns do not exist.",
                "Ask for fewer components, or for init='identity'.",
            )
        with np.errstate(divide="ignore", invalid="ignore"):  # shares of no variance
            return np.asarray(PCA(components, random_state=self.random_state_).fit(rows).components_)

    def _given_map(self, columns: int) -> Floats:
        given = np.array(self.init, dtype=np.float64)
        if given.ndim != 2 or given.shape[1] != columns or not 1 <= len(given) <= columns:
            raise UsageError(
                f"init has shape {given.shape}, and a map of {columns} columns needs (at most {columns}, {columns})."
            )
        if not np.isfinite(given).all():
            raise UsageError("init holds NaN or infinite numbers.")
        if self.n_components is not None and self.n_components != len(given):
            raise UsageError(f"n_components={self.n_components}, and init has {len(given)} rows.", "Leave one out.")
        return given

    def _check_parameters(self) -> None:
        if isinstance(self.init, str):
            check_choice("init", self.init, INITS)
        check_number("max_iter", self.max_iter, least=1, whole=True)
        check_number("tol", self.tol, least=0)
        if self.callback is not None and not callable(self.callback):
            raise ParameterTypeError(f"The 'callback' parameter must be callable or None, got {self.callback!r}.")

    def state(self) -> dict[str, NDArray[Any]]:
        """What was learned, as named arrays.

        Returns
        -------
        dict of str to ndarray
        """
        check_is_fitted(self)
        return {**super().state(), "n_iter": np.array([self.n_iter_])}

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._check_parameters()
        super()._restore(arrays)
        self.n_iter_ = int(arrays["n_iter"][0])


class Objective:
    """The expected number of rows whose random neighbour is of their class, and its gradient.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_rows, n_features)
        Columns with mean 0, which keeps norms small and changes no distance.
    codes : ndarray of int32
    """

    def __init__(self, rows: Floats, codes: NDArray[np.int32]) -> None:
        order = np.argsort(codes, kind="stable")
        self._rows = np.ascontiguousarray(rows[order])
        counts = np.bincount(codes)
        self._ends = np.cumsum(counts)
        self._starts = self._ends - counts

    def __call__(self, components: Floats) -> tuple[float, Floats]:
        """Value and gradient at a map.

        Parameters
        ----------
        components : ndarray of shape (n_components, n_features)

        Returns
        -------
        value : float
        gradient : ndarray of the shape of `components`
        """
        mapped = self._rows @ components.T
        norms = np.einsum("ij,ij->i", mapped, mapped)
        # 2k + 3 roundings, each of at most the largest norms that occur.
        expand = (2 * len(components) + 3) * 4 * norms.max() * np.finfo(np.float64).eps < EXPANDED
        pulls = np.zeros_like(mapped)
        pulled = np.zeros(len(mapped))
        value = 0.0
        for tile, same in self._tiles():
            weights = _squared(mapped[tile], mapped, norms[tile], norms) if expand else _direct(mapped[tile], mapped)
            own = np.arange(tile.start, tile.stop)
            weights[own - tile.start, own] = np.inf
            weights -= weights.min(axis=1, keepdims=True)
            np.exp(np.negative(weights, out=weights), out=weights)
            total = weights.sum(axis=1)
            share = weights[:, same].sum(axis=1) / total
            value += float(share.sum())
            weights[:, : same.start] *= (-share / total)[:, None]
            weights[:, same] *= ((1.0 - share) / total)[:, None]
            weights[:, same.stop :] *= (-share / total)[:, None]
            pulls[tile] += weights @ mapped
            pulls += weights.T @ mapped[tile]
            pulled += weights.sum(axis=0)
        pulls -= pulled[:, None] * mapped
        return value, 2.0 * (pulls.T @ self._rows)

    def _tiles(self) -> Iterator[tuple[slice, slice]]:
        """Some rows of one class, and all rows of it."""
        most = min(TILE, get_config()["working_memory"] * 2**16)
        height = max(1, int(most) // len(self._rows))
        for start, end in zip(self._starts.tolist(), self._ends.tolist(), strict=True):
            for first in range(start, end, height):
                yield slice(first, min(first + height, end)), slice(start, end)


def _squared(some: Floats, all_rows: Floats, some_norms: Floats, norms: Floats) -> Floats:
    squared = some @ all_rows.T
    squared *= -2.0
    squared += some_norms[:, None]
    squared += norms
    return squared


def _direct(some: Floats, all_rows: Floats) -> Floats:
    return np.asarray(cdist(some, all_rows, "sqeuclidean"))
