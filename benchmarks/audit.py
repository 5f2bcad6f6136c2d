"""Planted label noise: average precision of tonari's ranking against cleanlab's, and what clean tables report.

    python benchmarks/audit.py [--save] [--quick] [--data FOLDER --tables letter satimage segment ...]

5 % of the labels are replaced, by any other class (uniform) or always by the next class (class-dependent), with
several seeds. cleanlab is fed as its users feed it: ten-fold cross-validated probabilities of scikit-learn's k-NN on
standardised columns. It gets the best of three k and of its two scores, chosen with the truth in hand; tonari runs on
its defaults. FOLDER holds NAME.csv.gz tables of numbers with the class in a last column `target`; without it only
scikit-learn's digits are used.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks import record
from tonari.audit import find_label_errors

RATE = 0.05
RIVAL_K = (5, 10, 20)
RIVAL_SCORES = ("self_confidence", "normalized_margin")


def table(name: str, folder: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """Rows and codes of one table."""
    if name == "digits" or folder is None:
        return load_digits(return_X_y=True)
    import pandas as pd

    frame = pd.read_csv(folder / f"{name}.csv.gz")
    rows = frame.drop(columns="target").to_numpy(float)
    return rows, np.unique(frame["target"].to_numpy(str), return_inverse=True)[1]


def planted(y: np.ndarray, kind: str, seed: int) -> np.ndarray:
    """Labels of which 5 % are wrong."""
    rng = np.random.default_rng(seed)
    noisy, classes = y.copy(), int(y.max()) + 1
    chosen = rng.permutation(len(y))[: round(RATE * len(y))]
    step = rng.integers(1, classes, len(chosen)) if kind == "uniform" else 1
    noisy[chosen] = (y[chosen] + step) % classes
    return noisy


def rivals(X: np.ndarray, noisy: np.ndarray, wrong: np.ndarray, threads: int) -> dict[str, float]:
    """Average precision of cleanlab for every k and score."""
    from cleanlab.rank import get_label_quality_scores

    found = {}
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    for k in RIVAL_K:
        learner = make_pipeline(StandardScaler(), KNeighborsClassifier(k))
        shares = cross_val_predict(learner, X, noisy, cv=folds, method="predict_proba", n_jobs=threads)
        for score in RIVAL_SCORES:
            quality = get_label_quality_scores(noisy, shares, method=score)
            found[f"k={k} {score}"] = float(average_precision_score(wrong, -quality))
    return found


def measured(X: np.ndarray, y: np.ndarray, kind: str, seeds: int, threads: int) -> dict[str, Any]:
    """Means over seeds."""
    ours: list[dict[str, float]] = []
    theirs: list[dict[str, float]] = []
    for seed in range(seeds):
        noisy = planted(y, kind, seed)
        wrong = noisy != y
        found = find_label_errors(X, noisy, n_jobs=threads)
        hits = int(wrong[found.suspects].sum())
        ours.append({
            "average_precision": float(average_precision_score(wrong, found.scores)), "estimated_rate": found.noise,
            "suspects": len(found.suspects), "planted": int(wrong.sum()),
            "precision": hits / max(1, len(found.suspects)), "recall": hits / int(wrong.sum()),
        })  # fmt: skip
        theirs.append(rivals(X, noisy, wrong, threads))
    mean = {key: round(float(np.mean([one[key] for one in ours])), 4) for key in ours[0]}
    cleanlab = {key: round(float(np.mean([one[key] for one in theirs])), 4) for key in theirs[0]}
    return {"tonari": mean, "cleanlab": cleanlab, "cleanlab_best": max(cleanlab.values())}


def main(arguments: list[str] | None = None) -> int:
    """Plant, rank, record."""
    options = record.parser(__doc__)
    options.add_argument("--data", type=Path, default=None, help="a folder of tables NAME.csv.gz")
    options.add_argument("--tables", nargs="+", default=["letter", "satimage", "segment"], help="names in that folder")
    options.add_argument("--seeds", type=int, default=5)
    chosen = record.checked(options, arguments)
    if record.installed("cleanlab") is None:
        print("benchmarks/audit.py needs cleanlab (the extra `bench`): left out")
        return 0
    tables = ["digits", *(chosen.tables if chosen.data else [])]
    result: dict[str, Any] = {}
    for name in tables:
        X, y = table(name, chosen.data)
        if chosen.quick:
            X, y = X[:300], y[:300]
        clean = find_label_errors(X, y, n_jobs=chosen.threads)
        result[name] = {
            "rows": len(X), "columns": X.shape[1], "classes": int(y.max()) + 1,
            "clean": {"suspects": len(clean.suspects), "class_outliers": len(clean.class_outliers),
                      "expected_from_overlap": round(clean.expected_from_overlap, 1)},
            **{kind: measured(X, y, kind, 1 if chosen.quick else chosen.seeds, chosen.threads)
               for kind in ("uniform", "class-dependent")},
        }  # fmt: skip
    packages = ("numpy", "scikit-learn", "cleanlab")
    record.finish("audit", {**record.circumstances(chosen, packages), "rate": RATE, "tables": result}, chosen)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
