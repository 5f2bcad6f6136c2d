"""Meaning of parameters and tables, checked once, here: shapes, types, finite values, ranges."""

from __future__ import annotations

import mmap
import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from tonari.base.errors import DataError, ParameterTypeError, UsageError


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Refuse a value that is none of the choices.

    Parameters
    ----------
    name : str
        The parameter, as the user wrote it.
    value : object
    choices : sequence of str
    """
    if not isinstance(value, str) or value not in choices:
        raise UsageError(
            f"The {name!r} parameter is {value!r}, which is not known.",
            f"Choose one of: {', '.join(map(repr, choices))}.",
        )


def check_number(
    name: str, value: Any, *, least: float, whole: bool = False, above: bool = False
) -> None:  # fmt: skip
    """Refuse a value that is no number, not whole when it must be, or too small.

    Parameters
    ----------
    name : str
    value : object
    least : float
        The smallest value allowed.
    whole : bool, default=False
        Whether only whole numbers are allowed.
    above : bool, default=False
        Whether `least` itself is refused too.
    """
    kind = "a whole number" if whole else "a number"
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral if whole else Real):
        raise ParameterTypeError(
            f"The {name!r} parameter must be {kind}, got {value!r} of type {type(value).__name__}."
        )
    number = float(value)
    if np.isnan(number) or number < least or (above and number == least):
        raise UsageError(
            f"The {name!r} parameter must be {'more than' if above else 'at least'} {least:g}, got {value!r}."
        )


FLOATS = (np.float64, np.float32)


def _kept(dtypes: Sequence[Any]) -> list[Any] | None:
    return list(dtypes) if len(dtypes) > 1 else None


def check_rows(
    estimator: Any,
    X: Any,
    *,
    reset: bool,
    allow_nan: bool = False,
    densify: bool = True,
    copy: bool = False,
    dtypes: Sequence[Any] = FLOATS,
) -> NDArray[Any]:
    """Validate a table of numbers: two-dimensional, finite, float32 or float64, the columns seen at fit.

    Sparse input is made dense, within scikit-learn's ``working_memory``.

    Parameters
    ----------
    estimator : estimator
        Gets ``n_features_in_`` and ``feature_names_in_`` when `reset`; otherwise they are compared.
    X : array-like or sparse matrix
    reset : bool
        Whether this is `fit`.
    allow_nan : bool, default=False
        Whether NaN may occur (infinite values never).
    densify : bool, default=True
        Whether a sparse table is made dense; otherwise it is returned in CSR form.
    copy : bool, default=False
        Whether the result must not share memory with `X`.
    dtypes : sequence of dtype, default=(float64, float32)
        Types that are kept; any other becomes the first of them. One alone is demanded: nothing is converted to it.

    Returns
    -------
    ndarray of float32 or float64 (or another of `dtypes`), C order
    """
    table = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr",
        dtype=_kept(dtypes),
        order="C",
        copy=copy and sparse.issparse(X),
        ensure_all_finite="allow-nan" if allow_nan else True,
    )
    if copy:
        table = _own(table, X)
    return dense(table) if densify else table


def check_rows_and_labels(
    estimator: Any, X: Any, y: Any, *, allow_nan: bool = False, densify: bool = True, dtypes: Sequence[Any] = FLOATS
) -> tuple[NDArray[Any], NDArray[Any]]:
    """As `check_rows` at fit, and y as given beside it (one or several columns).

    Parameters
    ----------
    estimator : estimator
    X : array-like or sparse matrix
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
    allow_nan : bool, default=False
    densify : bool, default=True
    dtypes : sequence of dtype, default=(float64, float32)

    Returns
    -------
    X, y : ndarray
    """
    table, y = validate_data(
        estimator,
        X,
        y,
        accept_sparse="csr",
        dtype=_kept(dtypes),
        order="C",
        copy=sparse.issparse(X),
        multi_output=True,
        ensure_all_finite="allow-nan" if allow_nan else True,
    )
    table = _own(table, X)
    return dense(table) if densify else table, y.toarray() if sparse.issparse(y) else y


# numpy asks for large pages from 4 MiB on. On virtual machines that hand free memory back to their host these are dear
# when first touched (fit of neighbors_fashion_mnist.json: 0.56 s with them), and a copy that is read here and there gains
# nothing by them.
_LARGE_COPY = 2**22


def _own(table: Any, given: Any) -> Any:
    """The table in memory of its own, copied unless validation has made it anew."""
    if sparse.issparse(table) or (table is not given and table.flags.owndata):
        return table
    if table.nbytes < _LARGE_COPY or not hasattr(mmap, "MAP_PRIVATE"):
        return table.copy()
    memory = mmap.mmap(-1, table.nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    copied = np.frombuffer(memory, dtype=table.dtype).reshape(table.shape)
    np.copyto(copied, table)
    return copied


def check_weighted_rows(
    estimator: Any, X: Any, y: Any, sample_weight: Any, *, reset: bool = True, sparse_too: bool = False
) -> tuple[Any, NDArray[Any], NDArray[np.int32], NDArray[np.float64] | None]:
    """Validate a table with one column of labels, and weights of its rows.

    Parameters
    ----------
    estimator : estimator
    X : array-like or sparse matrix
    y : array-like of shape (n_samples,)
    sample_weight : array-like or None
        Finite, at least 0, not all 0.
    reset : bool, default=True
        Whether this is `fit`, or columns must be those seen there.
    sparse_too : bool, default=False
        Whether a sparse table is taken, and returned in CSR form.

    Returns
    -------
    rows : ndarray of float32 or float64, or CSR matrix
    classes : ndarray
    codes : ndarray of int32
    weights : ndarray of float64, or None
    """
    X, y = validate_data(
        estimator,
        X,
        y,
        reset=reset,
        accept_sparse="csr" if sparse_too else False,
        dtype=[np.float64, np.float32],
        order="C",
    )
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    weights = None
    if sample_weight is not None:
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not (weights > 0).any():
            raise DataError("All sample weights are zero: no row counts.", "Give at least one row a positive weight.")
    return X, classes, codes.astype(np.int32), weights


def encode_labels(y: NDArray[Any]) -> tuple[list[NDArray[Any]], NDArray[np.int32], bool]:
    """Classes and codes of labels.

    Parameters
    ----------
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)

    Returns
    -------
    classes : list of ndarray
        Sorted classes of every output.
    codes : ndarray of int32, shape (n_samples, n_outputs)
    several : bool
        Whether y had several columns.
    """
    several = y.ndim == 2 and y.shape[1] > 1
    if y.ndim == 2 and not several:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,), "
            "for example using ravel().",
            DataConversionWarning,
            stacklevel=4,
        )
    check_classification_targets(y)
    columns = y.reshape(len(y), -1)
    classes, codes = [], np.empty(columns.shape, dtype=np.int32)
    for output in range(columns.shape[1]):
        found, codes[:, output] = np.unique(columns[:, output], return_inverse=True)
        classes.append(found)
    return classes, codes, several


def dense(X: Any) -> NDArray[Any]:
    """A sparse matrix made dense within scikit-learn's ``working_memory`` (MiB); anything else as it is."""
    if not sparse.issparse(X):
        return np.ascontiguousarray(X)
    needed = X.shape[0] * X.shape[1] * X.dtype.itemsize / 2**20
    allowed = get_config()["working_memory"]
    if needed > allowed:
        raise DataError(
            f"This sparse table needs {needed:,.0f} MiB as a dense one, and working_memory allows {allowed:,} MiB.",
            f"Reduce its columns, or raise the limit with sklearn.set_config(working_memory={int(needed) + 1}).",
        )
    return np.ascontiguousarray(X.toarray())
