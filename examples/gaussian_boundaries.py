"""Boundaries between normal classes: a lecture's four cases for two classes, and three classes, as equations.

Equal isotropic and equal covariances give a line, unequal ones a conic; with equal means as well as with unequal ones.
`figure()` draws them all (needs matplotlib): python -i examples/gaussian_boundaries.py, then
figure().savefig("boundaries.png").
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tonari.discriminant_analysis import GaussianClassifier

ROUND, TILTED, FLAT = np.eye(2), np.array([[2.0, 0.9], [0.9, 0.8]]), np.array([[0.4, -0.2], [-0.2, 1.6]])
LEFT, RIGHT, UPPER = (-1.5, 0.0), (1.5, 0.5), (0.0, 3.0)
# Name, means, covariances, and the covariance that the classifier assumes.
CASES: dict[str, tuple[list[Any], list[Any], str]] = {
    "equal isotropic covariance": ([LEFT, RIGHT], [ROUND, ROUND], "shared"),
    "equal covariances": ([LEFT, RIGHT], [TILTED, TILTED], "shared"),
    "equal means": ([LEFT, LEFT], [TILTED, FLAT], "full"),
    "unequal covariances": ([LEFT, RIGHT], [TILTED, FLAT], "full"),
    "three classes": ([LEFT, RIGHT, UPPER], [TILTED, FLAT, ROUND], "full"),
}
ROWS = 200


def rows(name: str) -> tuple[Any, Any]:
    """Rows drawn for a case, and their classes 0, 1 (and 2)."""
    means, covariances, _ = CASES[name]
    rng = np.random.default_rng(0)
    drawn = [rng.multivariate_normal(mean, matrix, ROWS) for mean, matrix in zip(means, covariances, strict=True)]
    return np.vstack(drawn), np.repeat(np.arange(len(means)), ROWS)


def figure() -> Any:
    """One picture per case: rows, and the regions in which each class is the most probable."""
    import matplotlib.pyplot as plt

    picture, axes = plt.subplots(1, len(CASES), figsize=(4 * len(CASES), 4), layout="constrained")
    for ax, (name, (_, _, kind)) in zip(axes, CASES.items(), strict=True):
        X, y = rows(name)
        across, along = np.meshgrid(np.linspace(-6, 6, 241), np.linspace(-6, 6, 241))
        regions = GaussianClassifier(kind).fit(X, y).predict(np.column_stack([across.ravel(), along.ravel()]))
        ax.contourf(across, along, regions.reshape(across.shape), levels=[-0.5, 0.5, 1.5, 2.5], alpha=0.3)
        for label, marker in zip(np.unique(y), "os^", strict=False):
            ax.plot(*X[y == label].T, marker, linestyle="none", markersize=2)
        ax.set_title(name)
    return picture


def main() -> None:
    """Print the boundary of the first two classes of every case, and how many rows lie on their side."""
    for name, (_, _, kind) in CASES.items():
        X, y = rows(name)
        model = GaussianClassifier(kind).fit(X, y)
        found = model.boundary(0, 1)
        shape = "a line" if not found.M.any() else ("an ellipse" if np.linalg.det(found.M) > 0 else "a hyperbola")
        w, m = -found.w, found.M
        print(f"{name}: {shape}, {model.score(X, y):.1%} of the rows on their side")
        line = f"{found.b:+.2f} {w[0]:+.2f} x {w[1]:+.2f} y"
        print(f"  {line} {m[0, 0]:+.2f} x^2 {2 * m[0, 1]:+.2f} xy {m[1, 1]:+.2f} y^2 = 0")


if __name__ == "__main__":
    main()
