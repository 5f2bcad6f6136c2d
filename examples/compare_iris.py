"""Compare classifiers on a table in a few lines, two of scikit-learn's beside tonari's own."""

from __future__ import annotations

from pathlib import Path

from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import tonari

TABLE = Path(__file__).parent / "data" / "iris.csv"


def main() -> None:
    """Print the table of candidates; with output="folder" it also writes a model file, a report and the result."""
    extra = {
        "forest": RandomForestClassifier(n_estimators=20),
        "logistic": (LogisticRegression(max_iter=1000), {"C": [0.1, 1.0, 10.0]}),
    }
    found = tonari.compare(TABLE, target="species", extra=extra)
    print(found)


if __name__ == "__main__":
    main()
