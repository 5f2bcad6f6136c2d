"""The held-out protocol's promise for learners whose answers are numbers: equal to refitting within a stated bound."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from tonari.base.held_out import HeldOut, Splits

#: Of decision values, relative to the largest of a row's (at least 1), and of probabilities.
BOUND = 1e-9


def check_like_refitting(
    estimator: Any, grid: Any, X: Any, y: Any, splits: Splits, *, responses: tuple[str, ...], bound: float = BOUND,
    sample_weight: Any = None,
) -> int:  # fmt: skip
    """Compare every candidate on every split with a fit on that training part; labels where they are not a tie.

    Parameters
    ----------
    estimator : estimator
    grid : dict or list of dict
    X, y : array-like
    splits : Splits
    responses : tuple of str
    bound : float
    sample_weight : ndarray, default=None

    Returns
    -------
    int
        How many (candidate, split) pairs failed, in the same way on both sides.
    """
    candidates = list(ParameterGrid(grid))
    fit_params = {} if sample_weight is None else {"sample_weight": sample_weight}
    assert isinstance(estimator, HeldOut)
    assert estimator.refuses(candidates, splits, fit_params, responses) is None
    seen = np.zeros((len(candidates), len(splits)), dtype=int)
    failures = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for block in estimator.held_out(X, y, splits, candidates, fit_params=fit_params, responses=responses):
            split_of_row = np.broadcast_to(block.split, len(block.rows))
            for split in np.unique(split_of_row).tolist():
                at = np.flatnonzero(split_of_row == split)
                train, rows = splits.train(split), block.rows[at]
                assert sorted(rows.tolist()) == sorted(splits.test(split).tolist())
                for position, candidate in enumerate(block.candidates.tolist()):
                    seen[candidate, split] += 1
                    model = clone(estimator).set_params(**candidates[candidate])
                    weight = {} if sample_weight is None else {"sample_weight": sample_weight[train]}
                    if block.error is not None:
                        failures += 1
                        with pytest.raises(type(block.error)):
                            model.fit(X[train], y[train], **weight).predict(X[rows])
                        continue
                    model.fit(X[train], y[train], **weight)
                    _compare(block, position, at, model, X[rows], responses, bound, (candidates[candidate], split))
    assert (seen == 1).all(), "every candidate is answered, or fails, exactly once on every split"
    return failures


def _compare(
    block: Any, position: int, at: Any, model: Any, rows: Any, responses: tuple[str, ...], bound: float, what: Any
) -> None:
    assert set(block.responses) == set(responses)
    scores = model.decision_function(rows)
    size = np.maximum(1.0, np.abs(scores) if scores.ndim == 1 else np.abs(scores).max(axis=1, keepdims=True))
    if "decision_function" in responses:
        found = block.responses["decision_function"][position][at]
        assert (np.abs(found - scores) <= bound * size).all(), (what, np.abs((found - scores) / size).max())
    if "predict_proba" in responses:
        found, expected = block.responses["predict_proba"][position][at], model.predict_proba(rows)
        np.testing.assert_array_equal(block.classes, model.classes_)
        np.testing.assert_allclose(found, expected, rtol=0, atol=bound * size.max(), err_msg=str(what))
    if "predict" in responses:
        ordered = np.sort(scores.reshape(len(scores), -1), axis=1)
        gap = np.abs(scores) if scores.ndim == 1 else ordered[:, -1] - ordered[:, -2]
        clear = gap.reshape(-1) > 2 * bound * size.reshape(-1)
        labels, expected = block.predict(position, at), model.predict(rows)
        np.testing.assert_array_equal(labels[clear], expected[clear], err_msg=str(what))
