"""Leave-one-out for the nearest neighbour: six training points, accuracy 4/6, error 2/6.

On its own training points the nearest neighbour is always right, because each point is its own neighbour. Leave each
one out in turn, and the rate means something. A lecture draws six points of two classes, without coordinates, and gives
the answer, 4/6. These six are placed to the same effect: two pairs of one class each, and one mixed pair, whose two
points are each other's nearest neighbour.
"""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from tonari.neighbors import KNeighborsClassifier

X = np.array([[1.0, 4.0], [1.5, 4.5], [4.0, 1.0], [4.5, 1.5], [2.8, 2.8], [3.2, 2.6]])
y = np.array(["red", "red", "green", "green", "red", "green"])


def main() -> None:
    """Print what each point is called when it is left out."""
    nearest = KNeighborsClassifier(n_neighbors=1)
    print(f"on the training points themselves: {np.sum(nearest.fit(X, y).predict(X) == y)}/{len(y)} right")
    answer = cross_val_predict(nearest, X, y, cv=LeaveOneOut())
    for point, truth, found in zip(X, y, answer, strict=True):
        print(f"  ({point[0]:.1f}, {point[1]:.1f})  {truth:5}  called {found}")
    right = int(np.sum(answer == y))
    print(f"leaving one out: accuracy {right}/{len(y)} = {right / len(y):.2%}, error {1 - right / len(y):.2%}")


if __name__ == "__main__":
    main()
