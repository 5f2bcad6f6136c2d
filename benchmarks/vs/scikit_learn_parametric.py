"""scikit-learn: discriminant analysis, logistic regression, its perceptron; every candidate fitted on every split."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.model_selection import GridSearchCV

NEEDS = "scikit-learn"


def discriminant_grid(grid: dict[str, list[Any]], cv: Any, threads: int) -> GridSearchCV:
    """The grid over quadratic discriminant analysis.

    Parameters
    ----------
    grid : dict
    cv : splitter
    threads : int

    Returns
    -------
    GridSearchCV
    """
    return GridSearchCV(QuadraticDiscriminantAnalysis(), grid, cv=cv, n_jobs=threads)


def seconds_of_refits(X: np.ndarray, y: np.ndarray, rows: np.ndarray) -> tuple[float, np.ndarray]:
    """Leave-one-out by refitting, for some rows: seconds of one, and the labels.

    Parameters
    ----------
    X, y : ndarray
    rows : ndarray of int

    Returns
    -------
    seconds : float
    labels : ndarray
    """
    labels = []
    start = time.perf_counter()
    for row in rows:
        rest = np.delete(np.arange(len(X)), row)
        model = QuadraticDiscriminantAnalysis().fit(X[rest], y[rest])
        labels.append(model.predict(X[row : row + 1])[0])
    return (time.perf_counter() - start) / len(rows), np.array(labels)


def logistic_grid(grid: dict[str, list[Any]], cv: Any, threads: int) -> GridSearchCV:
    """The grid over logistic regression (lbfgs).

    Parameters
    ----------
    grid : dict
    cv : splitter
    threads : int

    Returns
    -------
    GridSearchCV
    """
    return GridSearchCV(LogisticRegression(), grid, cv=cv, n_jobs=threads)


def logistic_fit(C: float, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients and intercepts of one fit; what it says about its convergence is left to the gradient.

    Parameters
    ----------
    C : float
    X, y : ndarray

    Returns
    -------
    coef, intercept : ndarray
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression(C=C).fit(X, y)
    return model.coef_, model.intercept_


def perceptron_grid(epochs: int, cv: Any, threads: int) -> GridSearchCV:
    """A grid over the number of epochs; rows in their order, no early end.

    Parameters
    ----------
    epochs : int
    cv : splitter
    threads : int

    Returns
    -------
    GridSearchCV
    """
    grid = {"max_iter": list(range(1, epochs + 1))}
    return GridSearchCV(Perceptron(tol=None, shuffle=False), grid, cv=cv, n_jobs=threads)
