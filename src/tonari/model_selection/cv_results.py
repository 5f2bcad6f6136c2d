"""What scikit-learn's searches keep as ``cv_results_``, from arrays of scores."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.model_selection._search import _yield_masked_array_for_each_param

from tonari.model_selection.scoring import Floats, Marks


def cv_results(candidates: Sequence[Mapping[str, Any]], marks: Marks) -> dict[str, Any]:
    """Build ``cv_results_``: the keys, types and values of scikit-learn's.

    Parameters
    ----------
    candidates : sequence of mapping
    marks : Marks
        Complete.

    Returns
    -------
    dict
    """
    results: dict[str, Any] = {}
    for name, times in (("fit_time", marks.fit_time), ("score_time", marks.score_time)):
        results[f"mean_{name}"], results[f"std_{name}"] = times.mean(axis=1), times.std(axis=1)
    results.update(_yield_masked_array_for_each_param(candidates))
    results["params"] = list(candidates)
    for name, scores in marks.scores.items():
        means, deviations = _moments(scores)
        results.update((f"split{i}_test_{name}", scores[:, i]) for i in range(scores.shape[1]))
        results[f"mean_test_{name}"], results[f"std_test_{name}"] = means, deviations
        results[f"rank_test_{name}"] = _ranks(means)
        if not np.isfinite(means).all():
            warnings.warn(f"One or more of the test scores are non-finite: {means}", UserWarning, stacklevel=4)
    return results


def _moments(scores: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation over the splits, in scikit-learn's own steps."""
    with np.errstate(invalid="ignore"):
        means = np.average(scores, axis=1)
        return means, np.sqrt(np.average((scores - means[:, np.newaxis]) ** 2, axis=1))


def _ranks(means: Floats) -> Any:
    """1 for the best; candidates without a score come last, together."""
    if np.isnan(means).all():
        return np.ones(len(means), dtype=np.int32)
    return rankdata(-np.where(np.isnan(means), np.nanmin(means) - 1, means), method="min").astype(np.int32)
