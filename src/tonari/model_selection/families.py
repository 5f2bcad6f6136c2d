"""What `compare` tunes: families of classifiers, each with its grid, its labels and its order of simplicity.

A new family is one function that returns a `Family`, and one line in `FAMILIES`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone, is_classifier

from tonari.base.errors import UsageError

Params = Mapping[str, Any]

#: Every odd k up to 49, then steps of about a seventh: one search of the largest answers all of them.
NEIGHBOURS = (*range(1, 50, 2), 57, 65, 75, 87, 101)
METRICS = ("euclidean", "manhattan", "chebyshev", "cosine")
WEIGHTINGS = ("uniform", "distance")


@dataclass(frozen=True)
class Curve:
    """How a family's cross-validated error is drawn: against one parameter, one line for each setting of the others."""

    parameter: str
    name: str
    others: tuple[str, ...]


@dataclass(frozen=True)
class Family:
    """Classifiers of one kind that are tuned together.

    Attributes
    ----------
    name : str
    learner : classifier
        Not fitted; it is cloned for every fit.
    grid : mapping of str to sequence
        Values to try for each parameter of `learner`; empty for the learner as it is.
    simplicity : callable
        Sorts settings of equal score: the least is chosen, then the one that comes first in the grid.
    curve : Curve or None
    shown : callable
        A setting as the words of its label.
    edges : tuple of str
        Parameters for which a best value at the upper end of the grid is worth a note.
    own : bool
        Whether it is one of `FAMILIES`.
    writable : bool
        Whether a model of it can be written to a file (tonari's own can; foreign ones would need pickle).
    """

    name: str
    learner: Any
    grid: Mapping[str, Sequence[Any]]
    simplicity: Callable[[Params], tuple[Any, ...]]
    curve: Curve | None
    shown: Callable[[Params], list[str]]
    edges: tuple[str, ...]
    own: bool
    writable: bool

    @property
    def size(self) -> int:
        """Number of settings in the grid."""
        return math.prod(len(values) for values in self.grid.values())

    def label(self, params: Params) -> str:
        """Name and setting, such as ``k-NN, k=5, euclidean, uniform``."""
        return ", ".join([self.name, *self.shown(params)])


def k_nearest_neighbours(smallest_training_part: int) -> Family:
    """k-NN over k, metric and weighting; one neighbour search per metric answers all of them.

    Parameters
    ----------
    smallest_training_part : int
        Rows in the smallest training part of the folds: k goes no further.

    Returns
    -------
    Family
        Among equal scores the larger k (the smoother rule) is simpler, then the uniform vote, then the metric that
        comes first in `METRICS`.
    """
    from tonari.neighbors import KNeighborsClassifier

    return Family(
        name="k-NN",
        learner=KNeighborsClassifier(),
        grid={
            "n_neighbors": [k for k in NEIGHBOURS if k <= smallest_training_part],
            "metric": list(METRICS),
            "weights": list(WEIGHTINGS),
        },
        simplicity=lambda params: (
            -params["n_neighbors"], WEIGHTINGS.index(params["weights"]), METRICS.index(params["metric"]),
        ),
        curve=Curve("n_neighbors", "k", ("metric", "weights")),
        shown=lambda params: [f"k={params['n_neighbors']}", params["metric"], params["weights"]],
        # Where the rows end before the grid does, there is no more to try.
        edges=("n_neighbors",) if smallest_training_part > NEIGHBOURS[-1] else (),
        own=True,
        writable=True,
    )  # fmt: skip


FAMILIES: dict[str, Callable[[int], Family]] = {"k-NN": k_nearest_neighbours}


def foreign(name: str, given: Any, seed: int) -> Family:
    """A scikit-learn classifier given by the user, with or without a grid.

    Parameters
    ----------
    name : str
        What the table calls it.
    given : classifier, or (classifier, grid)
        A grid maps parameters to sequences of values, as for `GridSearchCV`.
    seed : int
        Given to every ``random_state`` that is None, so that a comparison gives the same answer every time.

    Returns
    -------
    Family
        Equal scores fall to the setting that comes first in the grid.
    """
    classifier, grid = given if isinstance(given, tuple) and len(given) == 2 else (given, {})
    if not isinstance(name, str) or not name or name in FAMILIES or name == MAJORITY:
        raise UsageError(f"{name!r} cannot name an extra classifier.", "Use a text that is not one of tonari's own.")
    if isinstance(classifier, type) or not hasattr(classifier, "get_params") or not is_classifier(classifier):
        raise UsageError(
            f"extra[{name!r}] is no scikit-learn classifier but {type(classifier).__name__}.",
            "Give an instance such as LogisticRegression(), or a pair (instance, grid).",
        )
    if not isinstance(grid, Mapping):
        raise UsageError(f"The grid of extra[{name!r}] is no mapping from parameter names to lists of values.")
    known = classifier.get_params(deep=True)
    for parameter, values in grid.items():
        if parameter not in known:
            raise UsageError(f"extra[{name!r}]: {type(classifier).__name__} has no parameter {parameter!r}.")
        if isinstance(values, str) or not hasattr(values, "__len__") or len(values) == 0:
            raise UsageError(f"extra[{name!r}]: the values of {parameter!r} must be a non-empty list.")
    from tonari.model_selection.tuned import LEARNERS

    learner = clone(classifier)
    unseeded = [key for key, value in known.items() if key.split("__")[-1] == "random_state" and value is None]
    learner.set_params(**dict.fromkeys(unseeded, seed))
    return Family(
        name=name,
        learner=learner,
        grid={parameter: list(values) for parameter, values in grid.items()},
        simplicity=lambda params: (),
        curve=None,
        shown=lambda params: [f"{parameter}={plain(params[parameter])}" for parameter in grid],
        edges=(),
        own=False,
        writable=type(learner) in LEARNERS.values(),
    )


MAJORITY = "majority class"


def plain(value: Any) -> Any:
    """A parameter's value as JSON can hold it, the same on every run (no addresses)."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        return plain(value.item())
    return str(getattr(value, "__name__", type(value).__name__))
