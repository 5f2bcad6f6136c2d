"""Which of scikit-learn's scorers can be answered from many candidates' answers at once, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn.metrics
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.multiclass import type_of_target

from tonari.metrics.scores import LabelMeasure

# A scorer of make_scorer's: it shows its function nothing but the truth and one response of the estimator.
PlainScorer: type[Any] = type(sklearn.metrics.get_scorer("accuracy"))

_LABELS = {
    sklearn.metrics.accuracy_score: "accuracy",
    sklearn.metrics.balanced_accuracy_score: "balanced_accuracy",
    sklearn.metrics.precision_score: "precision",
    sklearn.metrics.recall_score: "recall",
    sklearn.metrics.f1_score: "fbeta",
    sklearn.metrics.fbeta_score: "fbeta",
    sklearn.metrics.jaccard_score: "jaccard",
    sklearn.metrics.matthews_corrcoef: "matthews",
}
_ERRORS = {
    sklearn.metrics.r2_score: "r2",
    sklearn.metrics.explained_variance_score: "explained_variance",
    sklearn.metrics.mean_squared_error: "squared",
    sklearn.metrics.root_mean_squared_error: "root_squared",
    sklearn.metrics.mean_absolute_error: "absolute",
    sklearn.metrics.max_error: "max",
}
_ACCURACY = LabelMeasure("accuracy")
_RANKING = ("decision_function", "predict_proba")


@dataclass(frozen=True)
class Target:
    """What is to be predicted, as far as scores of many candidates at once can use it.

    Attributes
    ----------
    kind : {"labels", "values", "other"}
        One label per row for a classifier, one number per row for a regressor, or neither.
    classes : ndarray
        The sorted labels.
    codes : ndarray of int32
        Each row's position in `classes`.
    values : ndarray of float64
        The numbers.
    """

    kind: str
    classes: NDArray[Any]
    codes: NDArray[np.int32]
    values: NDArray[np.float64]

    @classmethod
    def of(cls, estimator: Any, y: Any) -> Target:
        """Look at a target.

        Parameters
        ----------
        estimator : estimator
            Says whether `y` is to be classified or regressed.
        y : array-like

        Returns
        -------
        Target
        """
        other = cls("other", np.empty(0, dtype=object), np.empty(0, dtype=np.int32), np.empty(0))
        try:
            return cls._known(estimator, np.asarray(y)) or other
        except (ValueError, TypeError):
            # What cannot be a target is for the fit to name.
            return other

    @classmethod
    def _known(cls, estimator: Any, array: NDArray[Any]) -> Target | None:
        if array.ndim == 1 and is_classifier(estimator) and type_of_target(array) in ("binary", "multiclass"):
            classes, codes = np.unique(array, return_inverse=True)
            return cls("labels", classes, codes.astype(np.int32), np.empty(0))
        if array.ndim == 1 and is_regressor(estimator) and array.dtype.kind in "fiub" and np.isfinite(array).all():
            return cls("values", np.empty(0, dtype=object), np.empty(0, dtype=np.int32), array.astype(np.float64))
        return None


@dataclass(frozen=True)
class BatchMeasure:
    """How one scorer is answered.

    Attributes
    ----------
    kind : {"labels", "errors", "roc_auc", "average_precision", "log_loss", "brier"}
    sign : int
        -1 for a loss.
    responses : tuple of str
        The first that the estimator has is used.
    labels : LabelMeasure
        For ``"labels"``.
    errors : str
        For ``"errors"``: one of ERROR_MEASURES.
    positive : int
        Code of the positive class, for the ranking measures and Brier's.
    both_classes : bool
        Whether a held-out part that lacks a class must be left to scikit-learn.
    """

    kind: str
    sign: int
    responses: tuple[str, ...] = ("predict",)
    labels: LabelMeasure = _ACCURACY
    errors: str = ""
    positive: int = 1
    both_classes: bool = False


def default_measure(target: Target) -> BatchMeasure | None:
    """What ``score`` of scikit-learn's classifiers (accuracy) and regressors (R squared) measures.

    Parameters
    ----------
    target : Target

    Returns
    -------
    BatchMeasure or None
    """
    if target.kind == "labels":
        return BatchMeasure("labels", 1)
    if target.kind == "values":
        return BatchMeasure("errors", 1, errors="r2")
    return None


def batch_measure(scorer: Any, target: Target) -> BatchMeasure | None:
    """Recognise a scorer by its function and parameters; None for one that must be called.

    Parameters
    ----------
    scorer : scorer, as of ``make_scorer``
    target : Target

    Returns
    -------
    BatchMeasure or None

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> target = Target.of(LogisticRegression(), ["a", "b", "a"])
    >>> batch_measure(sklearn.metrics.get_scorer("f1_macro"), target).labels.name
    'fbeta'
    >>> batch_measure(sklearn.metrics.get_scorer("roc_auc_ovo"), target) is None
    True
    """
    # scikit-learn 1.6 and 1.7 warn of old names when these scorers are called.
    if type(scorer) is not PlainScorer or getattr(scorer, "_deprecation_msg", None) is not None:
        return None
    function, options, sign = scorer._score_func, dict(scorer._kwargs), scorer._sign
    response = scorer._response_method
    responses = (response,) if isinstance(response, str) else tuple(response)
    if responses == ("predict",) and target.kind == "labels" and function in _LABELS:
        labels = _label_measure(function, options, target)
        return None if labels is None else BatchMeasure("labels", sign, labels=labels)
    if responses == ("predict",) and target.kind == "values" and function in _ERRORS and not options:
        return BatchMeasure("errors", sign, errors=_ERRORS[function])
    if target.kind != "labels":
        return None
    return _probability_measure(function, options, sign, responses, target.classes)


def _label_measure(function: Any, options: Mapping[str, Any], target: Target) -> LabelMeasure | None:
    name = _LABELS[function]
    if name in ("accuracy", "balanced_accuracy", "matthews"):
        return None if options else LabelMeasure(name)
    if not options.keys() <= {"average", "pos_label", "zero_division", "beta"}:
        return None
    average, zero_division = options.get("average", "binary"), options.get("zero_division", "warn")
    if average not in ("binary", "micro", "macro", "weighted") or zero_division not in ("warn", 0, 1):
        return None
    if "beta" in options and (function is not sklearn.metrics.fbeta_score or not 0 < options["beta"] < np.inf):
        return None
    positive = 1
    if average == "binary":
        found = _binary_position(options.get("pos_label", 1), target.classes)
        if found is None:
            return None
        positive = found
    elif options.get("pos_label", 1) not in (None, 1):
        return None
    return LabelMeasure(name, average, float(options.get("beta", 1.0)), positive, zero_division)


def _binary_position(label: Any, classes: NDArray[Any]) -> int | None:
    """Where a label stands among exactly two classes."""
    labels = classes.tolist()
    return labels.index(label) if len(labels) == 2 and label in labels else None


def _probability_measure(
    function: Any, options: Mapping[str, Any], sign: int, responses: tuple[str, ...], classes: NDArray[Any]
) -> BatchMeasure | None:
    ranks, binary = set(responses) <= set(_RANKING), len(classes) == 2
    if function is sklearn.metrics.roc_auc_score and ranks and binary and not options:
        return BatchMeasure("roc_auc", sign, responses)
    if function is sklearn.metrics.average_precision_score and ranks:
        positive = _binary_position(options.get("pos_label", 1), classes)
        if positive is not None and options.keys() <= {"pos_label"}:
            return BatchMeasure("average_precision", sign, responses, positive=positive)
    if responses != ("predict_proba",) or len(classes) < 2:
        return None
    if function is sklearn.metrics.log_loss:
        if not options:
            return BatchMeasure("log_loss", sign, responses, both_classes=True)
        if options.keys() == {"labels"} and np.array_equal(np.unique(options["labels"]), classes):
            return BatchMeasure("log_loss", sign, responses)
    # Text labels have no natural positive class: scikit-learn asks for one.
    if function is sklearn.metrics.brier_score_loss and binary and not options and classes.dtype.kind not in "OUS":
        return BatchMeasure("brier", sign, responses, both_classes=classes.tolist() not in ([0, 1], [-1, 1]))
    return None
