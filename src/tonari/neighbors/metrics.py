"""Which distance a user means, and whether the native search serves it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sklearn.metrics.pairwise import distance_metrics

from tonari.base.errors import UsageError
from tonari.base.validation import check_number

NATIVE = ("euclidean", "manhattan", "chebyshev", "minkowski", "cosine")
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
    if callable(metric):
        return MetricChoice(metric, 2.0, params)
    if not isinstance(metric, str) or metric not in METRICS:
        raise UsageError(
            f"The 'metric' parameter is {metric!r}, which is not known.",
            f"Choose one of {', '.join(METRICS)}, or give a callable.",
        )
    name = _SAME.get(metric, metric)
    if name != "minkowski":
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
