"""What a foreign scorer is given in place of a fitted estimator: it answers from a block, and tells what it cannot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.metrics import accuracy_score, r2_score

from tonari.base.held_out import RESPONSES

_METHODS = (*RESPONSES, "predict_log_proba")


class Touched(BaseException):
    """A scorer asked for something that only a fitted estimator has.

    No `Exception`, so that a scorer which catches those cannot go on and return a number of its own making.
    """


class Record:
    """The answers behind one stand-in, and the first thing asked of it that they do not hold.

    Parameters
    ----------
    estimator : estimator
        The candidate, not fitted: its class and tags are shown.
    X : array-like
        The held-out rows that were answered.
    classes : ndarray, list of ndarray, or None
        What ``classes_`` holds after fitting the training part; None for a regressor.
    responses : mapping of str to callable
        Each makes the array that the estimator's method of that name would return for `X`.
    """

    def __init__(
        self, estimator: Any, X: Any, classes: Any, responses: Mapping[str, Callable[[], NDArray[Any]]]
    ) -> None:
        self.estimator = estimator
        self.X = X
        self.classes = classes
        self.responses = responses
        self.touched: str | None = None

    def touch(self, what: str) -> NoReturn:
        """Note what was asked for, and stop the scorer."""
        self.touched = self.touched or what
        raise Touched(what)

    def method(self, name: str) -> Callable[[Any], NDArray[Any]]:
        """The estimator's method of that name, for the held-out rows and no others."""

        def response(X: Any) -> NDArray[Any]:
            if name not in self.responses:
                self.touch(name)
            if not self._are_the_held_out_rows(X):
                self.touch(f"{name} for other rows than those held out")
            return self.responses[name]()

        response.__name__ = name
        return response

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """What ``score`` of scikit-learn's classifiers and regressors gives."""
        measure = r2_score if is_regressor(self.estimator) else accuracy_score
        return float(measure(y, self.method("predict")(X), sample_weight=sample_weight))

    def _are_the_held_out_rows(self, X: Any) -> bool:
        if X is self.X:
            return True
        try:
            given, own = np.asarray(X), np.asarray(self.X)
            return given.shape == own.shape and given.ndim > 0 and bool((given == own).all())
        except (TypeError, ValueError):
            return False


class StandIn:
    """A read-only estimator made of answers: ``predict`` and the like for the held-out rows, ``classes_``, tags.

    Anything else that is read, set, called or copied raises `Touched`, which ends the scorer: that candidate is then
    fitted and scored for real on that split. So a scorer never gets a wrong answer, whatever it looks at.

    Parameters
    ----------
    record : Record
    """

    __slots__ = ("_record",)

    def __init__(self, record: Record) -> None:
        object.__setattr__(self, "_record", record)

    def __getattribute__(self, name: str) -> Any:
        record = _record_of(self)
        if name == "__class__":
            return type(record.estimator)
        if name in _METHODS:
            if hasattr(record.estimator, name):
                return record.method(name)
            raise AttributeError(f"{type(record.estimator).__name__!r} object has no attribute {name!r}")
        if name == "score":
            return record.score
        if name == "classes_" and record.classes is not None:
            several = isinstance(record.classes, list)
            return [_locked(classes) for classes in record.classes] if several else _locked(record.classes)
        if name in ("__sklearn_tags__", "_estimator_type"):
            return getattr(record.estimator, name)
        return record.touch(name)

    def __sklearn_tags__(self) -> Any:
        """The candidate's tags; scikit-learn 1.6 looks for this in the class."""
        return _record_of(self).estimator.__sklearn_tags__()

    def __setattr__(self, name: str, value: Any) -> None:
        _touch(self, f"setting {name}")

    def __delattr__(self, name: str) -> None:
        _touch(self, f"deleting {name}")

    def __repr__(self) -> NoReturn:
        _touch(self, "repr")

    def __dir__(self) -> NoReturn:
        _touch(self, "dir")

    def __len__(self) -> NoReturn:
        _touch(self, "len")

    def __iter__(self) -> NoReturn:
        _touch(self, "iteration")

    def __getitem__(self, key: Any) -> NoReturn:
        _touch(self, f"[{key!r}]")

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Touch: an estimator is not called."""
        _touch(self, "a call")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        _touch(self, "a copy")


def _locked(classes: NDArray[Any]) -> NDArray[Any]:
    """A scorer that writes into what was learned fails here, and then gets an estimator of its own to spoil."""
    own = classes.copy()
    own.setflags(write=False)
    return own


def _touch(stand_in: StandIn, what: str) -> NoReturn:
    _record_of(stand_in).touch(what)


def _record_of(stand_in: StandIn) -> Record:
    record: Record = object.__getattribute__(stand_in, "_record")
    return record
