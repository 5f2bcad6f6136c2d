"""Tables as the linear learners' engine takes them: packed float64 rows, or a sparse matrix, with a column of ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tonari import _core

#: The engine's rows are a multiple of so many columns.
STEP = 8
Floats = NDArray[np.float64]


def packed(rows: Any, *, ones: bool) -> Floats:
    """A float64 copy with a column of ones, then zeros up to a multiple of eight columns.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
    ones : bool
        Whether there is the column of ones.

    Returns
    -------
    ndarray of float64
    """
    n_rows, dim = rows.shape
    width = -(-(dim + ones) // STEP) * STEP
    table = np.zeros((n_rows, width))
    table[:, :dim] = rows
    table[:, dim : dim + ones] = 1.0
    return table


def scores(rows: Any, coef: NDArray[Any], intercept: NDArray[Any], threads: int) -> Floats:
    """Scores (outputs, rows); each row by itself, so that batches change nothing.

    Parameters
    ----------
    rows : ndarray or CSR matrix of shape (n_rows, n_features)
    coef : ndarray of shape (n_outputs, n_features)
    intercept : ndarray of shape (n_outputs,)
    threads : int

    Returns
    -------
    ndarray of float64, shape (n_outputs, n_rows)
    """
    coef = np.ascontiguousarray(coef, dtype=np.float64)
    intercept = np.ascontiguousarray(np.broadcast_to(intercept, len(coef)), dtype=np.float64)
    if sparse.issparse(rows):
        return np.ascontiguousarray((rows @ coef.T + intercept).T)
    found = np.empty((len(coef), len(rows)))
    _core.linear_scores(rows, coef, intercept, found, threads)
    return found


class DenseRows:
    """Loss, gradient and Hessian of logistic regression over a dense table, natively.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
    codes : ndarray of int32
    outputs : int
        1 for two classes, else the number of classes.
    intercept : bool
    threads : int
    """

    def __init__(self, rows: Any, codes: NDArray[np.int32], outputs: int, intercept: bool, threads: int) -> None:
        self.table = packed(rows, ones=intercept)
        self.codes = codes
        self.outputs = outputs
        self.dim = rows.shape[1]
        self.intercept = intercept
        self.width = self.table.shape[1]
        self.threads = threads

    def value(self, weights: Floats, coef: Floats) -> tuple[Floats, Floats, Floats]:
        """Loss, gradient and least margin of several problems.

        Parameters
        ----------
        weights : ndarray of shape (n_problems, n_rows)
        coef : ndarray of shape (n_problems, outputs, width)

        Returns
        -------
        loss, gradient, margin : ndarray
        """
        loss, margin, gradient = np.empty(len(coef)), np.empty(len(coef)), np.empty_like(coef)
        _core.linear_gradient(self.table, self.codes, weights, coef, loss, gradient, margin, self.threads)
        return loss, gradient, margin

    def hessian(self, weights: Floats, coef: Floats) -> Floats:
        """Hessian of one problem.

        Parameters
        ----------
        weights : ndarray of shape (n_rows,)
        coef : ndarray of shape (outputs, width)

        Returns
        -------
        ndarray of shape (outputs * width, outputs * width)
        """
        found = np.empty((coef.size, coef.size))
        _core.linear_hessian(self.table, self.codes, weights[None], coef[None], found, self.threads)
        return found

    def quarter_gram(self, weights: Floats) -> Floats:
        """A quarter of the weighted Gram matrix: no Hessian of two classes is larger (Boehning 1992)."""
        found = np.empty((self.width, self.width))
        codes, zeros = np.zeros_like(self.codes), np.zeros((1, 1, self.width))
        _core.linear_hessian(self.table, codes, weights[None], zeros, found, self.threads)
        return found


class SparseRows:
    """The same over a CSR matrix, which stays sparse; products are SciPy's, in one order and one thread.

    Parameters
    ----------
    rows : CSR matrix
    codes : ndarray of int32
    outputs : int
    intercept : bool
    """

    def __init__(self, rows: Any, codes: NDArray[np.int32], outputs: int, intercept: bool) -> None:
        table = rows.astype(np.float64)
        ones = np.ones((rows.shape[0], 1))
        self.table = sparse.csr_array(sparse.hstack([table, ones]) if intercept else table)
        self.turned = sparse.csr_array(self.table.T)
        self.codes = codes
        self.outputs = outputs
        self.dim = rows.shape[1]
        self.intercept = intercept
        self.width = self.table.shape[1]

    def value(self, weights: Floats, coef: Floats) -> tuple[Floats, Floats, Floats]:
        """Loss, gradient and least margin of several problems, as `DenseRows.value`."""
        loss, margin, gradient = np.empty(len(coef)), np.empty(len(coef)), np.empty_like(coef)
        for p in range(len(coef)):
            chances, losses, margins = self._chances(coef[p])
            counted = weights[p] > 0
            loss[p] = weights[p] @ losses
            margin[p] = margins[counted].min() if counted.any() else np.inf
            gradient[p] = (self.turned @ (self._rests(chances) * weights[p][:, None])).T
        return loss, gradient, margin

    def hessian(self, weights: Floats, coef: Floats) -> Floats:
        """Hessian of one problem, as `DenseRows.hessian`."""
        chances = self._chances(coef)[0]
        found = np.empty((self.outputs, self.width, self.outputs, self.width))
        for k in range(self.outputs):
            for other in range(k, self.outputs):
                curve = weights * chances[:, k] * (float(k == other) - chances[:, other])
                part = (self.turned @ (sparse.diags_array(curve) @ self.table)).toarray()
                found[k, :, other, :] = found[other, :, k, :] = part
        return found.reshape(coef.size, coef.size)

    def quarter_gram(self, weights: Floats) -> Floats:
        """A quarter of the weighted Gram matrix, as `DenseRows.quarter_gram`."""
        return np.asarray((self.turned @ (sparse.diags_array(0.25 * weights) @ self.table)).toarray())

    def _chances(self, coef: Floats) -> tuple[Floats, Floats, Floats]:
        values = self.table @ coef.T
        at = np.arange(len(self.codes))
        if self.outputs == 1:
            margin = np.where(self.codes == 1, values[:, 0], -values[:, 0])
            chance = 0.5 * (1 + np.tanh(0.5 * values))
            return chance, np.logaddexp(0.0, -margin), margin
        own = values[at, self.codes]
        largest = values.max(axis=1, keepdims=True)
        powers = np.exp(values - largest)
        total = powers.sum(axis=1, keepdims=True)
        losses = np.log(total[:, 0]) + largest[:, 0] - own
        others = values.copy()
        others[at, self.codes] = -np.inf
        return powers / total, losses, own - others.max(axis=1)

    def _rests(self, chances: Floats) -> Floats:
        rests = chances.copy()
        if self.outputs == 1:
            rests[:, 0] -= self.codes == 1
        else:
            rests[np.arange(len(rests)), self.codes] -= 1.0
        return rests


Rows = DenseRows | SparseRows


def rows_for(rows: Any, codes: NDArray[np.int32], outputs: int, intercept: bool, threads: int) -> Rows:
    """The table in the form that suits it.

    Parameters
    ----------
    rows : ndarray or CSR matrix
    codes : ndarray of int32
    outputs : int
    intercept : bool
    threads : int

    Returns
    -------
    DenseRows or SparseRows
    """
    if sparse.issparse(rows):
        return SparseRows(rows, codes, outputs, intercept)
    return DenseRows(rows, codes, outputs, intercept, threads)
