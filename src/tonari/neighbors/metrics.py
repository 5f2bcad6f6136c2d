"""Which distance a user means, and whether the native search serves it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.metrics import DistanceMetric
from sklearn.metrics.pairwise import distance_metrics
from sklearn.neighbors import VALID_METRICS, VALID_METRICS_SPARSE

from tonari.base.errors import UsageError
from tonari.base.validation import check_number

NATIVE = ("euclidean", "manhattan", "chebyshev", "minkowski", "cosine", "sqeuclidean")
BITS = ("hamming", "jaccard")
SPARSE = ("euclidean", "cosine")
_SAME = {"l2": "euclidean", "l1": "manhattan", "cityblock": "manhattan", "p": "minkowski", "infinity": "chebyshev"}
# Names that scipy's cdist serves beyond scikit-learn's list.
_FOREIGN = ("mahalanobis", "seuclidean", "sqeuclidean", "braycurtis", "canberra", "correlation", "hamming", "jaccard",
            "dice", "rogerstanimoto", "russellrao", "sokalsneath", "yule", "wminkowski")  # fmt: skip
METRICS = sorted({*NATIVE, *_SAME, *_FOREIGN, *distance_metrics(), "nan_euclidean", "precomputed", "minkowski"})


@dataclass(frozen=True)
class MetricChoice:
    """A metric as resolved at fit.

    Attributes
    ----------
    name : str or callable
        The metric that is computed (Minkowski with p = 1, 2 and infinity are Manhattan, Euclidean and Chebyshev).
    p : float
        Of Minkowski; 2 otherwise.
    params : dict
        What a metric outside the native set gets as keyword arguments.
    native : bool
        Whether the engine serves it.
    """

    name: str | Callable[..., Any]
    p: float = 2.0
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def native(self) -> bool:
        """Whether the engine serves it."""
        return self.name in NATIVE and not self.params and self.p >= 1

    @property
    def bits(self) -> Any:
        """How many columns a table of packed bits stands for; None where tables are not packed."""
        return self.params.get("bits") if self.name in BITS else None

    @property
    def learns(self) -> bool:
        """Whether a distance depends on other rows than the two: by what is learned from them, or by their mean."""
        return self.name in ("mahalanobis", "seuclidean") or "w" in self.params

    @property
    def dtypes(self) -> list[Any]:
        """The types that tables keep under this metric; others become the first of them."""
        if self.bits is not None:
            return [np.uint8]
        return [np.float64, np.float32, np.bool_] if self.name in BITS else [np.float64, np.float32]

    @property
    def effective_params(self) -> dict[str, Any]:
        """What scikit-learn shows as ``effective_metric_params_``."""
        return {**self.params, "p": self.p} if self.name == "minkowski" else dict(self.params)


def resolve_metric(metric: Any, p: Any, metric_params: Mapping[str, Any] | None) -> MetricChoice:
    """The metric that `metric`, `p` and `metric_params` mean together.

    Parameters
    ----------
    metric : str or callable
    p : float
        Power of Minkowski.
    metric_params : dict or None
        Further arguments of the metric; a ``p`` in it wins over `p`.

    Returns
    -------
    MetricChoice

    Examples
    --------
    >>> resolve_metric("minkowski", 1, None).name
    'manhattan'
    """
    params = dict(metric_params or {})
    if isinstance(metric, DistanceMetric):
        return MetricChoice(metric.pairwise, 2.0, params)
    if callable(metric):
        return MetricChoice(metric, 2.0, params)
    if not isinstance(metric, str) or metric not in METRICS:
        raise UsageError(
            f"The 'metric' parameter is {metric!r}, which is not known.",
            f"Choose one of {', '.join(METRICS)}, or give a callable.",
        )
    name = _SAME.get(metric, metric)
    if name != "minkowski":
        if name in ("euclidean", "manhattan") and params.get("w") is None:
            params.pop("w", None)
        return MetricChoice(name, 2.0, params)
    if "p" in params:
        if p is not None:
            warnings.warn(
                "Parameter p is found in metric_params. The corresponding parameter from __init__ is ignored.",
                SyntaxWarning,
                stacklevel=4,
            )
        p = params.pop("p")
    p = 2 if p is None else p
    check_number("p", p, least=0, above=True)
    if params.get("w") is None:
        params.pop("w", None)
        name = {1: "manhattan", 2: "euclidean", float("inf"): "chebyshev"}.get(float(p), name)
    return MetricChoice(name, float(p) if name == "minkowski" else 2.0, params)


def check_algorithm(algorithm: str, metric: Any, choice: MetricChoice) -> None:
    """Refuse what scikit-learn refuses: a tree that cannot serve the metric.

    Parameters
    ----------
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}
    metric : str, DistanceMetric or callable
        As the user gave it.
    choice : MetricChoice
        As it was resolved.
    """
    tree = algorithm in ("ball_tree", "kd_tree")
    if choice.name == "minkowski" and choice.p < 1:
        if tree:
            raise UsageError(
                f'algorithm="{algorithm}" does not support 0 < p < 1 for the Minkowski metric. To resolve this problem '
                'either set p >= 1 or algorithm="brute".'
            )
        warnings.warn(
            "Mind that for 0 < p < 1, Minkowski metrics are not distance metrics. Continuing the execution with "
            "`algorithm='brute'`.",
            UserWarning,
            stacklevel=4,
        )
    if not tree or isinstance(metric, DistanceMetric):
        return
    if callable(metric) and algorithm == "kd_tree":
        raise UsageError(
            f"kd_tree does not support callable metric {metric!r}.", "Use algorithm='ball_tree' or 'brute'."
        )
    if not callable(metric) and metric not in VALID_METRICS[algorithm]:
        raise UsageError(
            f"Metric {metric!r} is not valid for algorithm={algorithm!r}.", "Use algorithm='brute' or 'auto'."
        )
    if algorithm == "kd_tree" and "w" in choice.params:
        raise UsageError(
            "algorithm='kd_tree' is not valid for metric='minkowski' with a weight parameter 'w':",
            "try algorithm='ball_tree' or algorithm='brute' instead.",
        )


def serves_sparse(metric: Any) -> bool:
    """Whether a sparse table may be given under this metric.

    Parameters
    ----------
    metric : str, DistanceMetric or callable

    Returns
    -------
    bool
    """
    return not isinstance(metric, str) or metric in (*VALID_METRICS_SPARSE["brute"], *NATIVE)


def keeps_sparse(metric: MetricChoice) -> bool:
    """Whether the engine searches a sparse table as it is.

    Parameters
    ----------
    metric : MetricChoice

    Returns
    -------
    bool
    """
    return metric.name in SPARSE and not metric.params


def check_sparse(algorithm: str, choice: MetricChoice) -> None:
    """Refuse a sparse table where scikit-learn does: beside a tree, or under a metric it has not for sparse input.

    Parameters
    ----------
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}
    choice : MetricChoice
    """
    if algorithm in ("ball_tree", "kd_tree"):
        warnings.warn("cannot use tree with sparse input: using brute force", UserWarning, stacklevel=4)
    if not serves_sparse(choice.name):
        raise UsageError(f"Metric {choice.name!r} not valid for sparse input.", "Densify the table, or choose another.")
