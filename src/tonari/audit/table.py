"""The table as an audit sees it: numbers in comparable units, equal rows found once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tonari.base.errors import UsageError
from tonari.base.validation import check_choice, check_rows
from tonari.neighbors import NearestNeighbors
from tonari.neighbors.left_out_scale import SCALINGS, scale_of

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Distinct:
    """The different rows of a table.

    Attributes
    ----------
    rows : ndarray of float64, shape (n_distinct, n_columns)
        In the order of their first appearance.
    of_row : ndarray of int64, shape (n_rows,)
        Which of them each row of the table is.
    """

    rows: Floats
    of_row: NDArray[np.int64]

    def groups(self) -> list[NDArray[np.int64]]:
        """Row numbers of every set of two or more equal rows, in the order of their first rows."""
        order = np.argsort(self.of_row, kind="stable")
        sizes = np.bincount(self.of_row, minlength=len(self.rows))
        parts = np.split(order, np.cumsum(sizes)[:-1])
        return [part.astype(np.int64) for part in parts if len(part) > 1]


def numbers_of(X: Any, *others: Any) -> list[Floats]:
    """Tables of finite numbers, as float64, with the columns of the first.

    Parameters
    ----------
    X, *others : array-like of shape (n_rows, n_columns)

    Returns
    -------
    list of ndarray of float64
    """
    checker = NearestNeighbors()
    first = check_rows(checker, X, reset=True)
    return [
        np.asarray(table, dtype=np.float64) for table in (first, *(check_rows(checker, o, reset=False) for o in others))
    ]


def scaled(scaling: str, *tables: Floats) -> list[Floats]:
    """Every column divided by its scale in the first table.

    Parameters
    ----------
    scaling : {"standard", "minmax", "none"}
    *tables : ndarray of float64

    Returns
    -------
    list of ndarray of float64
    """
    check_choice("scaling", scaling, SCALINGS)
    scale = scale_of(tables[0], scaling)
    return [table / scale for table in tables]


def distinct(rows: Floats) -> Distinct:
    """Find equal rows; -0.0 equals 0.0.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_rows, n_columns)

    Returns
    -------
    Distinct

    Examples
    --------
    >>> distinct(np.array([[2.0], [1.0], [2.0]])).of_row
    array([0, 1, 0])
    """
    keys = np.ascontiguousarray(rows + 0.0).view(np.dtype((np.void, rows.shape[1] * 8))).ravel()
    _, first, of_row = np.unique(keys, return_index=True, return_inverse=True)
    # np.unique sorts by bytes; first appearance is the order that people expect.
    rank = np.argsort(np.argsort(first))
    return Distinct(rows[np.sort(first)], rank[of_row.ravel()].astype(np.int64))


def labels_of(y: Any, n_rows: int) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Classes and codes of one column of labels.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
    n_rows : int

    Returns
    -------
    classes : ndarray
    codes : ndarray of int32
    """
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise UsageError(f"y has shape {labels.shape} for {n_rows} rows.", "Give one label for each row.")
    classes, codes = np.unique(labels, return_inverse=True)
    return classes, codes.astype(np.int32)


def intrinsic_dimension(distances: Floats) -> float:
    """The dimension in which rows spread locally: the median of Levina and Bickel's estimates (2004).

    Parameters
    ----------
    distances : ndarray of float64, shape (n_rows, k)
        From every row to its k nearest others, ascending.

    Returns
    -------
    float
    """
    with np.errstate(divide="ignore"):
        logs = np.log(distances[:, -1:] / distances[:, :-1])
    local = (logs.shape[1] - 1) / np.maximum(logs.sum(axis=1), 1e-12)
    return float(np.median(local[np.isfinite(local)])) if np.isfinite(local).any() else 1.0
