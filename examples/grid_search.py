"""tonari's GridSearchCV in the place of scikit-learn's: the same arguments, the same results, the work shared.

Scaling stands in the pipeline, so it is learned on the training part of each fold only. For each fold the rows are
scaled once and searched once per metric; every k and every weighting is then read off the same neighbours.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from tonari.model_selection import GridSearchCV
from tonari.neighbors import KNeighborsClassifier

TABLE = Path(__file__).parent / "data" / "wine.csv"


def main() -> None:
    """Tune k-NN on the wines, and print the best settings and what scaling was worth."""
    with TABLE.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    X, y = np.array([row[:-1] for row in rows], dtype=float), np.array([row[-1] for row in rows])

    pipeline = Pipeline([("scale", StandardScaler()), ("knn", KNeighborsClassifier())])
    grid = {
        "scale": [StandardScaler(), "passthrough"],
        "knn__n_neighbors": list(range(1, 31)),
        "knn__weights": ["uniform", "distance"],
        "knn__metric": ["euclidean", "manhattan"],
    }
    search = GridSearchCV(pipeline, grid, cv=10, scoring="accuracy").fit(X, y)

    results = search.cv_results_
    unscaled = results["param_scale"] == "passthrough"
    knn = search.best_estimator_["knn"]
    print(f"{len(results['params'])} candidates, 10 folds")
    print(f"best: k={knn.n_neighbors}, {knn.metric}, {knn.weights}; accuracy {search.best_score_:.3f}")
    print(f"best without scaling: accuracy {results['mean_test_score'][unscaled].max():.3f}")


if __name__ == "__main__":
    main()
