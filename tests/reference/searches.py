"""scikit-learn's grid search beside ours, on the same question."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn.model_selection

from tonari.model_selection import GridSearchCV


def assert_same_results(ours: Any, theirs: Any, rtol: float = 0.0) -> None:
    """``cv_results_`` agree in keys, their order, types and values; times only in being there.

    Parameters
    ----------
    ours, theirs : fitted searches
    rtol : float
        Of scores; ranks must then be equal all the same.
    """
    found, expected = ours.cv_results_, theirs.cv_results_
    assert list(found) == list(expected)
    for key, column in expected.items():
        if key == "params":
            assert [repr(params) for params in found[key]] == [repr(params) for params in column]
            continue
        assert type(found[key]) is type(column), key
        assert found[key].dtype == column.dtype, key
        assert found[key].shape == column.shape, key
        if key.endswith("_time"):
            assert (found[key] >= 0).all()
        elif isinstance(column, np.ma.MaskedArray):
            np.testing.assert_array_equal(np.ma.getmaskarray(found[key]), np.ma.getmaskarray(column), err_msg=key)
            assert [repr(value) for value in found[key]] == [repr(value) for value in column], key
        else:
            np.testing.assert_allclose(found[key], column, rtol=rtol, atol=rtol and 1e-15, err_msg=key)
    for name in ("best_index_", "best_params_", "multimetric_", "n_splits_"):
        assert hasattr(ours, name) == hasattr(theirs, name), name
        if hasattr(theirs, name):
            assert repr(getattr(ours, name)) == repr(getattr(theirs, name)), name


def both_searches(*args: Any, X: Any, y: Any, rtol: float = 0.0, fit: Any = None, **options: Any) -> tuple[Any, Any]:
    """Fit our search and scikit-learn's with the same arguments; they must agree.

    Parameters
    ----------
    *args, **options
        Of ``GridSearchCV``.
    X, y : array-like
    rtol : float
    fit : dict, default=None
        Further arguments of ``fit``.

    Returns
    -------
    ours, theirs
    """
    ours = GridSearchCV(*args, **options).fit(X, y, **(fit or {}))
    theirs = sklearn.model_selection.GridSearchCV(*args, **options).fit(X, y, **(fit or {}))
    assert_same_results(ours, theirs, rtol)
    return ours, theirs
