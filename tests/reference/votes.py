"""The decision of neighbours, slowly and plainly: one query, one neighbour after the other.

Given   one query's neighbours (distance, label, weight of the row), nearest first
Gives   class shares, and the classes that share the largest one
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

Neighbour = tuple[float, int, float]


def weight_of(neighbours: Sequence[Neighbour], place: int, weights: Any, bandwidth: float | None) -> float:
    """What the neighbour at this place counts, its row's own weight included.

    >>> weight_of([(0.0, 0, 1.0), (2.0, 1, 1.0)], 1, "distance", None)
    0.0
    """
    distance, _, own = neighbours[place]
    if weights == "distance":
        exact = neighbours[0][0] == 0
        return own * ((1.0 if distance == 0 else 0.0) if exact else 1.0 / distance)
    if weights == "gaussian":
        width = bandwidth or neighbours[-1][0]
        return own if width == 0 else own * math.exp(-(distance**2) / (2 * width**2))
    return own if weights == "uniform" else own * float(weights(distance))


def shares_of(
    neighbours: Sequence[Neighbour], n_classes: int, weights: Any = "uniform", bandwidth: float | None = None,
    class_weights: Sequence[float] | None = None,
) -> list[float]:  # fmt: skip
    """The share of every class."""
    votes = [0.0] * n_classes
    for place, (_, label, _) in enumerate(neighbours):
        votes[label] += weight_of(neighbours, place, weights, bandwidth)
    votes = [vote * (class_weights[c] if class_weights else 1.0) for c, vote in enumerate(votes)]
    return [vote / sum(votes) for vote in votes]


def winner_of(neighbours: Sequence[Neighbour], shares: Sequence[float], ties: str) -> int | None:
    """The winner under a rule without chance; None where the rule leaves it undecided."""
    best = [c for c, share in enumerate(shares) if share == max(shares)]
    if len(best) == 1 or ties == "first":
        return best[0]
    if ties == "undecided":
        return None
    return min(best, key=lambda c: (sum(distance for distance, label, _ in neighbours if label == c), c))
