"""The path of logistic regression over its penalty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class LogisticPath:
    """Solutions along the penalty, each started from its neighbour's.

    Attributes
    ----------
    Cs : ndarray of shape (n_Cs,)
        As they were given.
    coef : ndarray of shape (n_Cs, n_outputs, n_features)
    intercept : ndarray of shape (n_Cs, n_outputs)
    gradient_norms : ndarray of shape (n_Cs,)
        Largest element of the gradient at each solution, the certificate of `LogisticRegression`.

    Examples
    --------
    >>> from tonari.linear_model import LogisticRegression
    >>> path = LogisticRegression().path([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1], Cs=[0.1, 1.0, 10.0])
    >>> path.coef[:, 0, 0].round(2)
    array([0.11, 0.52, 0.78])
    """

    Cs: NDArray[np.float64]
    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    gradient_norms: NDArray[np.float64]
