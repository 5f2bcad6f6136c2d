"""Gaussian classifiers, logistic regression and the perceptron: whole grids and leave-one-out against refitting.

    python benchmarks/parametric.py [--save] [--quick] [--work quadratic_unequal_9]

The rivals get as many processes as we have threads. Faster counts only where answers agree: the difference of the
scores stands beside the ratio; for logistic regression also the gradient at both sides' solutions, by scikit-learn's
own measure. Perceptrons differ (scikit-learn's is another form): there the best scores stand side by side.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import LeaveOneOut, StratifiedKFold

from benchmarks import record, workloads
from benchmarks.vs import scikit_learn_intelex_parametric as intelex
from benchmarks.vs import scikit_learn_parametric as scikit_learn
from tonari.discriminant_analysis import QuadraticDiscriminantAnalysis
from tonari.linear_model import LogisticRegression, PerceptronClassifier
from tonari.model_selection import GridSearchCV

FOLDS = StratifiedKFold(10, shuffle=True, random_state=0)
SHRINKAGES = {"reg_param": np.linspace(0.01, 0.95, 20).tolist()}
PENALTIES = {"C": np.logspace(-4, 4, 20).tolist()}
EPOCHS = 50
#: Rows that the rival refits; the others are extrapolated.
REFITTED = 40


def timed_fit(make: Callable[[], Any], X: np.ndarray, y: np.ndarray, keep: dict[str, Any]) -> Any:
    """One search from scratch, the final refit included."""

    def once() -> dict[str, float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            seconds, keep["search"] = record.timed(lambda: make().fit(X, y))
        return {"search": seconds}

    return once


def grid(load: workloads.Workload, makers: dict[str, Callable[[], Any]], repeats: int) -> dict[str, Any]:
    """Timings of the same grid on all sides, and how far the scores lie apart."""
    kept: dict[str, dict[str, Any]] = {name: {} for name in makers}
    X, y = load.rows, load.labels
    assert y is not None
    timings = record.alternate(
        {name: timed_fit(make, X, y, kept[name]) for name, make in makers.items()}, repeats
    )  # fmt: skip
    ours = kept["tonari"]["search"]
    apart = {
        name: float(
            np.abs(found["search"].cv_results_["mean_test_score"] - ours.cv_results_["mean_test_score"]).max()
        )
        for name, found in kept.items() if name != "tonari"
    }  # fmt: skip
    return {
        "data": load.describe(),
        "candidates": len(ours.cv_results_["params"]),
        "folds": ours.n_splits_,
        "seconds": timings,
        "times_faster": record.ratios(timings, "search"),
        "work": ours.work_,
        "quality": {
            "largest_difference_of_mean_test_score": apart,
            "best_score": {name: float(found["search"].best_score_) for name, found in kept.items()},
        },
    }


def quadratic(load: workloads.Workload, repeats: int, threads: int) -> dict[str, Any]:
    """Twenty shrinkages, ten folds."""
    return grid(
        load,
        {
            "tonari": lambda: GridSearchCV(QuadraticDiscriminantAnalysis(), SHRINKAGES, cv=FOLDS),
            "scikit_learn": lambda: scikit_learn.discriminant_grid(SHRINKAGES, FOLDS, threads),
        },
        repeats,
    )


def leave_one_out(load: workloads.Workload, repeats: int, threads: int) -> dict[str, Any]:
    """Every row by the model of all others; the rival refits a sample, in one process, divided by the threads."""
    X, y = load.rows, load.labels
    assert y is not None
    sample = np.linspace(0, len(X) - 1, REFITTED).astype(int)
    kept: dict[str, Any] = {}
    splitter = LeaveOneOut()

    def ours() -> dict[str, float]:
        search = GridSearchCV(QuadraticDiscriminantAnalysis(), {"reg_param": [0.0]}, cv=splitter, refit=False)
        seconds, kept["search"] = record.timed(lambda: search.fit(X, y))
        return {"search": seconds}

    def theirs() -> dict[str, float]:
        seconds, kept["labels"] = scikit_learn.seconds_of_refits(X, y, sample)
        return {"search": seconds * len(X) / threads}

    timings = record.alternate({"tonari": ours, "scikit_learn": theirs}, repeats)
    columns = kept["search"].cv_results_
    hits = np.array([columns[f"split{row}_test_score"][0] for row in sample])
    return {
        "data": load.describe(),
        "extrapolated_from_refits": REFITTED,
        "seconds": timings,
        "times_faster": record.ratios(timings, "search"),
        "quality": {"sampled_rows_scored_alike": float(np.mean(hits == (kept["labels"] == y[sample])))},
    }


def logistic(load: workloads.Workload, repeats: int, threads: int) -> dict[str, Any]:
    """Twenty penalties, ten folds, and the gradients on the first fold."""
    makers: dict[str, Callable[[], Any]] = {
        "tonari": lambda: GridSearchCV(LogisticRegression(n_jobs=threads), PENALTIES, cv=FOLDS),
        "scikit_learn": lambda: scikit_learn.logistic_grid(PENALTIES, FOLDS, threads),
    }
    if record.installed(intelex.NEEDS):
        makers["scikit_learn_intelex"] = lambda: intelex.logistic_grid(PENALTIES, FOLDS, threads)
    else:
        print(f"left out scikit_learn_intelex: {intelex.NEEDS} is not installed", file=sys.stderr)
    result = grid(load, makers, repeats)
    X, y = load.rows, load.labels
    assert y is not None
    train, _ = next(FOLDS.split(X, y))
    path = LogisticRegression().path(X[train], y[train], PENALTIES["C"])
    gradients: dict[str, list[float]] = {"tonari": [], "scikit_learn": []}
    for i, C in enumerate(PENALTIES["C"]):
        gradients["tonari"].append(gradient(path.coef[i], path.intercept[i], C, X[train], y[train]))
        gradients["scikit_learn"].append(
            gradient(*scikit_learn.logistic_fit(C, X[train], y[train]), C, X[train], y[train])
        )
    result["quality"]["gradient_on_first_fold"] = gradients
    result["quality"]["gradient_no_larger"] = bool(
        (np.array(gradients["tonari"]) <= np.array(gradients["scikit_learn"])).all()
    )
    return result


def gradient(coef: np.ndarray, intercept: np.ndarray, C: float, X: np.ndarray, y: np.ndarray) -> float:
    """Largest element of the gradient of the mean loss plus penalty, written down once more."""
    classes, codes = np.unique(y, return_inverse=True)
    scores = X @ coef.T + intercept
    if len(classes) == 2:
        rests = 1 / (1 + np.exp(-scores)) - codes[:, None]
    else:
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        rests = powers / powers.sum(axis=1, keepdims=True)
        rests[np.arange(len(y)), codes] -= 1
    slopes = rests.T @ X / len(X) + coef / (C * len(X))
    return float(max(np.abs(slopes).max(), np.abs(rests.mean(axis=0)).max()))


def perceptron(load: workloads.Workload, repeats: int, threads: int) -> dict[str, Any]:
    """The number of epochs, one to fifty, ten folds."""
    ours = {"max_epochs": list(range(1, EPOCHS + 1))}
    return grid(
        load,
        {
            "tonari": lambda: GridSearchCV(PerceptronClassifier(keep="last", n_jobs=threads), ours, cv=FOLDS),
            "scikit_learn": lambda: scikit_learn.perceptron_grid(EPOCHS, FOLDS, threads),
        },
        repeats,
    )


WORK: dict[str, tuple[Callable[..., dict[str, Any]], Callable[..., workloads.Workload]]] = {
    "quadratic_unequal_9": (quadratic, workloads.unequal_9),
    "quadratic_blobs_16": (quadratic, workloads.blobs_16),
    "leave_one_out_blobs_16": (leave_one_out, workloads.blobs_16),
    "logistic_two_classes_50": (logistic, workloads.two_classes_50),
    "logistic_digits": (logistic, workloads.labelled_digits),
    "perceptron_blobs_16": (perceptron, workloads.blobs_16),
}


def main(arguments: list[str] | None = None) -> int:
    """Measure the work asked for; one result file each."""
    options = record.parser(__doc__)
    options.add_argument("--work", choices=WORK, action="append", help="default: all of it")
    chosen = record.checked(options, arguments)
    packages = ("numpy", "scipy", "scikit-learn", "joblib", intelex.NEEDS)
    for name in chosen.work or WORK:
        measure, make = WORK[name]
        result = measure(make(quick=chosen.quick), chosen.repeats, chosen.threads)
        record.finish(f"parametric_{name}", {**record.circumstances(chosen, packages), **result}, chosen)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
