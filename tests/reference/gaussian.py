"""Gaussian MAP classification, written from the lecture's formulas: slow, and meant to be read."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def covariances(X: NDArray[np.float64], y: NDArray[np.int64], kind: str, shrinkage: float) -> list[NDArray[np.float64]]:
    """Maximum-likelihood covariance of every class 0, 1, ...

    Parameters
    ----------
    X, y : ndarray
    kind : {"full", "shared", "diagonal", "isotropic"}
    shrinkage : float

    Returns
    -------
    list of ndarray
    """
    classes = range(y.max() + 1)
    centred = [X[y == k] - X[y == k].mean(axis=0) for k in classes]
    found = [part.T @ part / len(part) for part in centred]
    if kind == "shared":
        found = [sum(part.T @ part for part in centred) / len(X)] * len(found)
    if kind == "diagonal":
        found = [np.diag(np.diag(matrix)) for matrix in found]
    dim = X.shape[1]
    if kind == "isotropic":
        found = [np.trace(matrix) / dim * np.eye(dim) for matrix in found]
    return [(1 - shrinkage) * matrix + shrinkage * np.trace(matrix) / dim * np.eye(dim) for matrix in found]


def log_posteriors(
    X: NDArray[np.float64], y: NDArray[np.int64], queries: NDArray[np.float64], kind: str, shrinkage: float
) -> NDArray[np.float64]:
    """Logarithm of p(x | class) P(class) without the factor of 2 pi, (queries, classes).

    Parameters
    ----------
    X, y, queries : ndarray
    kind : str
    shrinkage : float

    Returns
    -------
    ndarray
    """
    columns = []
    for k, matrix in enumerate(covariances(X, y, kind, shrinkage)):
        apart = queries - X[y == k].mean(axis=0)
        form = np.array([row @ np.linalg.solve(matrix, row) for row in apart])
        columns.append(np.log(np.mean(y == k)) - 0.5 * np.linalg.slogdet(matrix)[1] - 0.5 * form)
    return np.column_stack(columns)
