"""The perceptron as the lecture writes it, one row at a time: slow, and meant to be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def epochs(
    X: Floats, y: NDArray[np.int64], most: int, start: Floats | None = None, orders: Any = None
) -> Iterator[tuple[Floats, Floats, Floats, int]]:
    """Last, best and mean weights [-b, w] after each epoch, and the training errors of the last.

    Parameters
    ----------
    X : ndarray
    y : ndarray
        -1 or 1.
    most : int
        Epochs; ends earlier when no error is left.
    start : ndarray, default=None
    orders : list of ndarray, default=None
        Order of the rows in each epoch.

    Yields
    ------
    last, best, mean : ndarray
    errors : int
    """
    rows = np.column_stack([np.ones(len(X)), X])
    w = np.zeros(rows.shape[1]) if start is None else np.array(start, dtype=np.float64)

    def sign(value: Any) -> Any:
        return np.where(value >= 0, 1, -1)

    best, fewest = w.copy(), int((sign(rows @ w) != y).sum())
    total, steps, errors = np.zeros_like(w), 0, fewest
    for epoch in range(most):
        if errors == 0:
            return
        for i in range(len(X)) if orders is None else orders[epoch]:
            w = w + 0.5 * (y[i] - sign(rows[i] @ w)) * rows[i]
            total, steps = total + w, steps + 1
        errors = int((sign(rows @ w) != y).sum())
        if errors < fewest:
            best, fewest = w.copy(), errors
        yield w, best, total / steps, errors
