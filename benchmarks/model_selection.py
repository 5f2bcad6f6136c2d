"""Grid search: k-NN over 50 k, two weightings and ten folds, against scikit-learn fitting every candidate.

    python benchmarks/model_selection.py [--save] [--quick]

The rival gets the algorithm that is fastest for it here, and as many processes as we have threads. Faster counts only
where `cv_results_` agree: the largest difference of the scores stands beside the ratio.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks import record, workloads
from benchmarks.vs import scikit_learn
from tonari.model_selection import GridSearchCV
from tonari.neighbors import KNeighborsClassifier

FOLDS = 10


def once(make: Callable[[], Any], X: np.ndarray, y: np.ndarray, keep: dict[str, Any]) -> Callable[[], dict[str, float]]:
    """One search from scratch, the final refit included."""

    def work() -> dict[str, float]:
        seconds, keep["search"] = record.timed(lambda: make().fit(X, y))
        return {"search": seconds}

    return work


def differences(ours: Any, theirs: Any) -> dict[str, Any]:
    """How far two searches over the same grid and splits lie apart."""
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    keys = ["mean_test_score", "std_test_score", *(f"split{i}_test_score" for i in range(FOLDS))]
    largest = {key: float(np.abs(ours.cv_results_[key] - theirs.cv_results_[key]).max()) for key in keys}
    return {
        "candidates": len(ours.cv_results_["params"]),
        "largest_difference_of_mean_test_score": largest["mean_test_score"],
        "largest_difference_of_std_test_score": largest["std_test_score"],
        "largest_difference_of_a_split_score": max(largest[key] for key in keys[2:]),
        "same_best_params": ours.best_params_ == theirs.best_params_,
        "best_params": ours.best_params_,
        "best_score": ours.best_score_,
    }


def main(arguments: list[str] | None = None) -> int:
    """Measure, compare, record."""
    chosen = record.checked(record.parser(__doc__), arguments)
    load = workloads.blobs_16(quick=chosen.quick)
    X, y = load.rows, load.labels
    assert y is not None
    grid: dict[str, list[Any]] = {"n_neighbors": list(range(1, 51)), "weights": ["uniform", "distance"]}
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    train, test = next(folds.split(X, y))
    probe = scikit_learn.fastest_algorithm(X, y, train, test, grid["n_neighbors"])
    algorithm = min(probe, key=lambda name: probe[name])
    found: dict[str, dict[str, Any]] = {"tonari": {}, "scikit_learn": {}}
    timings = record.alternate(
        {
            "tonari": once(
                lambda: GridSearchCV(KNeighborsClassifier(n_jobs=chosen.threads), grid, cv=folds), X, y, found["tonari"]
            ),
            "scikit_learn": once(
                lambda: scikit_learn.grid_search(grid, folds, algorithm, chosen.threads), X, y, found["scikit_learn"]
            ),
        },
        chosen.repeats,
    )
    result = {
        **record.circumstances(chosen, ("numpy", "scikit-learn", "joblib")),
        "data": load.describe(),
        "grid": {"n_neighbors": "1..50", "weights": grid["weights"], "folds": FOLDS},
        "rival_seconds_by_algorithm": {name: round(seconds, 6) for name, seconds in probe.items()},
        "rival_algorithm": algorithm,
        "seconds": timings,
        "times_faster": record.ratios(timings, "search"),
        "work": found["tonari"]["search"].work_,
        "quality": differences(found["tonari"]["search"], found["scikit_learn"]["search"]),
    }
    record.finish("model_selection_neighbors", result, chosen)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
