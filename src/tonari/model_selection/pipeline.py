"""Candidates in groups that share work: one learner behind one setting of the pipeline steps that learn before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metadata_routing import _routing_enabled
from sklearn.utils.validation import _check_method_params

from tonari.base.held_out import RESPONSES, HeldOut, Refusal, Splits

# A pipeline's own parameters that say how it is run, not what it computes.
_HOW_IT_RUNS = ("memory", "verbose")
# What a class that shares work need not define itself for a subclass to change its answers.
_ANSWERING = ("fit", "score", *RESPONSES)
# What abc and scikit-learn's base classes write into every subclass.
_MADE_BY_BASES = ("_abc_impl", "_parameter_constraints", "_sklearn_auto_wrap_output_keys")


@dataclass
class Group:
    """Candidates that one learner answers together.

    Attributes
    ----------
    learner : estimator
        Not fitted, without the candidates' parameters.
    steps : Pipeline or None
        What learns before it, not fitted, with parameters set; None if nothing does.
    name : str
        The learner's own name in the pipeline, with which its fit parameters begin; empty outside a pipeline.
    positions : list of int
        The candidates, numbered as in the whole search.
    candidates : list of dict
        Their parameters, as the learner itself calls them.
    """

    learner: Any
    steps: Pipeline | None = None
    name: str = ""
    positions: list[int] = field(default_factory=list)
    candidates: list[dict[str, Any]] = field(default_factory=list)


def groups_of(estimator: Any, candidates: Sequence[Mapping[str, Any]], configured: Sequence[Any]) -> list[Group]:
    """Put candidates that can share work together.

    Parameters
    ----------
    estimator : estimator
        A learner, or a scikit-learn pipeline that ends in one.
    candidates : sequence of mapping
        Parameters of `estimator`, as a grid names them.
    configured : sequence of estimator
        Clones of `estimator` with these parameters.

    Returns
    -------
    list of Group
    """
    if type(estimator) is not Pipeline:
        group = Group(clone(estimator), None, "", list(range(len(candidates))), [dict(given) for given in candidates])
        return [group]
    name = estimator.steps[-1][0]
    groups: dict[Any, Group] = {}
    for position, (given, own) in enumerate(zip(candidates, configured, strict=True)):
        learners = {key[len(name) + 2 :]: value for key, value in given.items() if key.startswith(f"{name}__")}
        before = {key: value for key, value in given.items() if not key.startswith(f"{name}__")}
        learner = given.get(name, estimator.steps[-1][1])
        if "steps" in given:
            # Steps given as a whole: what the other names mean is told by the configured pipeline alone.
            learners, before, learner = {}, dict(given), own.steps[-1][1]
        key = tuple((key, _identity(before[key])) for key in sorted(before) if key not in _HOW_IT_RUNS)
        if key not in groups:
            groups[key] = Group(clone(learner, safe=False), _steps_before(own), own.steps[-1][0])
        groups[key].positions.append(position)
        groups[key].candidates.append(learners)
    return list(groups.values())


def why_not_shared(learner: Any) -> str | None:
    """Why a learner cannot answer for held-out rows, or None.

    Parameters
    ----------
    learner : estimator

    Returns
    -------
    str or None
        It does not implement the protocol, or a subclass changed what the protocol's author relied on.
    """
    kind = type(learner)
    if isinstance(learner, type) or not isinstance(learner, HeldOut):
        return f"{kind.__name__} does not implement the held-out protocol"
    author = next(base for base in kind.__mro__ if "held_out" in vars(base))
    if _is_own(author):
        # Our learners inherit the protocol; what they make of it is theirs.
        author = next(base for base in kind.__mro__ if _is_own(base))
    for base in kind.__mro__[: kind.__mro__.index(author)]:
        for name in vars(base):
            if (hasattr(author, name) or name in _ANSWERING) and not _is_bookkeeping(name, vars(base)[name]):
                return f"{kind.__name__} overrides {name!r} of {author.__name__}"
    return None


def split_behind_steps(
    group: Group, X: Any, y: Any, train: NDArray[np.int64], test: NDArray[np.int64], fit_params: Mapping[str, Any]
) -> tuple[Any, Any, Splits, dict[str, Any]]:
    """Fit a group's steps on one training part; give the learner what it sees behind them.

    Parameters
    ----------
    group : Group
        With `steps`.
    X, y : array-like
    train, test : ndarray of int64
        Rows of the split; the steps see nothing of the held-out ones.
    fit_params : mapping
        As the pipeline's ``fit`` takes them, for all rows.

    Returns
    -------
    X, y : array-like
        Training rows, then held-out rows, transformed.
    splits : Splits
        One: train on the first, hold out the others.
    fit_params : dict
        The learner's own, for these rows.

    Raises
    ------
    Refusal
        If the steps cannot be fitted apart from the learner, or what they give cannot be put together.
    """
    if get_tags(group.steps).input_tags.pairwise:
        raise Refusal("the steps before the learner take distances between rows")
    rows = np.concatenate([train, test])
    learners, before = _fit_params_of(group, fit_params)
    steps = clone(group.steps)
    training = steps.fit_transform(
        _safe_indexing(X, train), _safe_indexing(y, train), **_check_method_params(X, params=before, indices=train)
    )
    together = _joined(training, steps.transform(_safe_indexing(X, test)))
    splits = Splits.from_tests([np.arange(len(train), len(rows), dtype=np.int64)], len(rows))
    return together, _safe_indexing(y, rows), splits, _check_method_params(X, params=learners, indices=rows)


def learners_fit_params(group: Group, fit_params: Mapping[str, Any]) -> dict[str, Any]:
    """Fit parameters as the learner itself calls them.

    Parameters
    ----------
    group : Group
    fit_params : mapping
        As the estimator's ``fit`` takes them.

    Returns
    -------
    dict
    """
    return _fit_params_of(group, fit_params)[0] if group.name else dict(fit_params)


def _fit_params_of(group: Group, fit_params: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The learner's own, and those of the steps before it, which keep their names."""
    if fit_params and _routing_enabled():
        raise Refusal("fit parameters are routed through a pipeline by requests of its steps")
    prefix = f"{group.name}__"
    learners = {key[len(prefix) :]: value for key, value in fit_params.items() if key.startswith(prefix)}
    return learners, {key: value for key, value in fit_params.items() if not key.startswith(prefix)}


def _steps_before(pipeline: Pipeline) -> Pipeline | None:
    if all(step is None or (isinstance(step, str) and step == "passthrough") for _, step in pipeline.steps[:-1]):
        return None
    return clone(pipeline[:-1])


def _identity(value: Any) -> Any:
    """Equal for values that are surely the same setting."""
    if value is None or isinstance(value, (bool, int, float, str, np.generic)):
        return (type(value), value)
    return (type(value), id(value))


def _is_own(kind: type) -> bool:
    return kind.__module__.split(".")[0] == "tonari"


def _is_bookkeeping(name: str, value: Any) -> bool:
    """Whether a subclass has this name by itself, or changes no answer with it."""
    if name.startswith("__") and name.endswith("__"):
        return name in ("__init__", "__repr__", "__init_subclass__") or not callable(value)
    return (name.startswith("set_") and name.endswith("_request")) or name in _MADE_BY_BASES


def _joined(training: Any, held_out: Any) -> Any:
    """One table of both parts, of the kind that each of them is."""
    if type(training) is not type(held_out):
        raise Refusal("the steps before the learner transform training and held-out rows to different kinds")
    if isinstance(training, np.ndarray):
        if training.dtype != held_out.dtype:
            raise Refusal("the steps before the learner transform training and held-out rows to different types")
        return np.concatenate([training, held_out])
    if scipy.sparse.issparse(training):
        return scipy.sparse.vstack([training, held_out], format=training.format)
    if type(training).__module__.split(".")[0] == "pandas":
        import pandas

        return pandas.concat([training, held_out])
    if type(training).__module__.split(".")[0] == "polars":
        import polars

        return polars.concat([training, held_out])
    raise Refusal(f"the steps before the learner give a {type(training).__name__}")
