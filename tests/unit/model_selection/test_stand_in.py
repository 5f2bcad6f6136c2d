"""Foreign scorers: answered from blocks where that is all they look at, fitted for where it is not.

Every scorer here runs in scikit-learn's search too, on fitted estimators: the scores must be the same.
"""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.datasets import make_classification
from sklearn.metrics import accuracy_score, cohen_kappa_score, get_scorer, make_scorer
from sklearn.model_selection import KFold, LeaveOneOut
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_array

from tests.reference.searches import both_searches
from tests.reference.sharing import PlainClassifier, PlainRegressor
from tonari.model_selection import GridSearchCV
from tonari.model_selection.stand_in import Record, StandIn, Touched

X, y = make_classification(n_samples=60, n_features=4, n_informative=3, n_redundant=0, n_classes=3, random_state=1)
GRID = {"k": [1, 4, 9]}


def _right(estimator: Any, X: Any, y: Any) -> float:
    return float(np.mean(estimator.predict(X) == y))


def _by_checked_rows(estimator: Any, X: Any, y: Any) -> float:
    """An equal copy of the held-out rows is as good."""
    return _right(estimator, check_array(X, copy=True), y)


def _by_classes(estimator: Any, X: Any, y: Any) -> float:
    assert is_classifier(estimator)
    proba = estimator.predict_proba(X)
    return float(proba[np.arange(len(y)), np.searchsorted(estimator.classes_, y)].mean())


def _spoils_its_answers(estimator: Any, X: Any, y: Any) -> dict[str, float]:
    """What it does to an array must not reach the next scorer or candidate."""
    first = _right(estimator, X, y)
    estimator.predict_proba(X)[:] = 0
    estimator.predict(X)[:] = 0
    return {"before": first, "after": _right(estimator, X, y), "sure": float(estimator.predict_proba(X).max())}


def _by_own_score(estimator: Any, X: Any, y: Any) -> float:
    return float(estimator.score(X, y) + (0 if hasattr(estimator, "predict_log_proba") else 1))


SHOWN = [
    _right,
    _by_checked_rows,
    _by_classes,
    _by_own_score,
    make_scorer(cohen_kappa_score),
    make_scorer(accuracy_score, normalize=False),
    make_scorer(lambda y, proba: float(proba.max()), response_method="predict_proba"),
    get_scorer("roc_auc_ovr_weighted"),
    get_scorer("top_k_accuracy"),
]


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("scorer", SHOWN)
def test_scorers_that_the_block_answers(scorer: Any, together: bool) -> None:
    ours, _ = both_searches(PlainClassifier(together=together), GRID, scoring=scorer, cv=3, X=X, y=y)
    assert ours.work_ == {"fits_asked": 9, "fits_done": 1, "shared": True, "reason": None}


def test_several_scores_from_one_callable() -> None:
    options: dict[str, Any] = {"scoring": _spoils_its_answers, "refit": "sure", "cv": 4, "X": X, "y": y}
    ours, _ = both_searches(PlainClassifier(), GRID, **options)
    assert ours.work_["fits_done"] == 1
    assert ours.multimetric_
    np.testing.assert_array_equal(ours.cv_results_["mean_test_before"], ours.cv_results_["mean_test_after"])


def _reads_a_parameter(estimator: Any, X: Any, y: Any) -> float:
    return float(estimator.k)


def _reads_what_was_learned(estimator: Any, X: Any, y: Any) -> float:
    return float(estimator.rows_.sum())


def _asks_for_other_rows(estimator: Any, X: Any, y: Any) -> float:
    return float(np.mean(estimator.predict(X[:-1]) == y[:-1]))


def _hides_what_went_wrong(estimator: Any, X: Any, y: Any) -> float:
    """Trap: a scorer that catches everything would turn the stand-in's limits into a number."""
    with contextlib.suppress(Exception):
        return float(len(estimator.rows_))
    return -1.0


def _hides_it_even_better(estimator: Any, X: Any, y: Any) -> float:
    try:
        return float(len(estimator.rows_))
    except BaseException:
        return -1.0


def _asks_whether_there_is(estimator: Any, X: Any, y: Any) -> float:
    return float(hasattr(estimator, "rows_"))


def _asks_for_its_kind(estimator: Any, X: Any, y: Any) -> float:
    return float(isinstance(estimator, PlainClassifier) and estimator.k > 1)


def _copies(estimator: Any, X: Any, y: Any) -> float:
    return _right(copy.deepcopy(estimator), X, y)


def _writes(estimator: Any, X: Any, y: Any) -> float:
    estimator.note = 1
    del estimator.note
    return _right(estimator, X, y)


def _writes_into_the_classes(estimator: Any, X: Any, y: Any) -> float:
    estimator.classes_[:] = estimator.classes_[::-1].copy()
    return _right(estimator, X, y)


def _prints(estimator: Any, X: Any, y: Any) -> float:
    return float(len(f"{estimator}"))


def _lists(estimator: Any, X: Any, y: Any) -> float:
    return float("rows_" in dir(estimator))


def _steals(estimator: Any, X: Any, y: Any) -> float:
    """Opens the stand-in by force; a real fit has no such slot, and its error is what counts."""
    return float(len(vars(estimator)) > 0)


NEEDS_A_FIT = [
    _reads_a_parameter, _reads_what_was_learned, _asks_for_other_rows, _hides_what_went_wrong, _hides_it_even_better,
    _asks_whether_there_is, _asks_for_its_kind, _copies, _writes,
    _writes_into_the_classes, _prints, _lists, _steals,
]  # fmt: skip


@pytest.mark.parametrize("scorer", NEEDS_A_FIT)
def test_scorers_that_look_at_more_get_a_fit(scorer: Any) -> None:
    ours, _ = both_searches(PlainClassifier(), GRID, scoring=scorer, cv=3, refit=False, X=X, y=y)
    assert ours.work_["fits_done"] == 1 + 9
    assert "a scorer" in ours.work_["reason"]


def test_one_such_scorer_among_others_costs_its_cells_only() -> None:
    def seldom(estimator: Any, X: Any, y: Any) -> float:
        return _reads_a_parameter(estimator, X, y) if len(X) == 15 else _right(estimator, X, y)

    scoring = {"accuracy": "accuracy", "seldom": seldom, "kappa": make_scorer(cohen_kappa_score)}
    cv = [(np.arange(20, 60), np.arange(20)), (np.arange(45), np.arange(45, 60))]
    ours, _ = both_searches(PlainClassifier(), GRID, scoring=scoring, cv=cv, refit="kappa", X=X, y=y)
    assert ours.work_["fits_done"] == 1 + 3
    assert ours.work_["reason"] == "a scorer asks for k"


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_scorers_that_fail() -> None:
    def fails(estimator: Any, X: Any, y: Any) -> float:
        raise ValueError("this scorer fails")

    wordy = make_scorer(lambda y, answer: "a text")
    for scoring in (fails, {"one": fails, "two": "accuracy"}, make_scorer(lambda y, answer: 1 / 0)):
        with pytest.warns(UserWarning, match="Scoring failed"):
            both_searches(PlainClassifier(), GRID, scoring=scoring, refit=False, error_score=0.5, cv=3, X=X, y=y)
    for scoring in (fails, {"one": fails, "two": "accuracy"}):
        with pytest.raises(ValueError, match="this scorer fails"):
            GridSearchCV(PlainClassifier(), GRID, scoring=scoring, refit=False, error_score="raise").fit(X, y)
    with pytest.raises(ValueError, match="scoring must return a number"):
        GridSearchCV(PlainClassifier(), GRID, scoring=wordy).fit(X, y)
    needs = make_scorer(cohen_kappa_score, response_method="decision_function")
    with pytest.warns(UserWarning, match="Scoring failed"):
        both_searches(PlainRegressor(), GRID, scoring=needs, refit=False, X=X, y=y.astype(float))


def test_every_split_of_leave_one_out_shows_its_own_rows_and_classes() -> None:
    lonely = np.array([*y[:-1], 9])

    def shows(estimator: Any, X: Any, y: Any) -> float:
        return float(len(estimator.classes_) * 100 + estimator.predict(X)[0])

    ours, _ = both_searches(PlainClassifier(), GRID, scoring=shows, cv=LeaveOneOut(), X=X, y=lonely)
    assert ours.work_["fits_done"] == 1
    assert ours.cv_results_["split59_test_score"][0] < 400 <= ours.cv_results_["split0_test_score"][0]


def test_pipelines_and_regressors() -> None:
    def steps(estimator: Any, X: Any, y: Any) -> float:
        return float(isinstance(estimator, Pipeline) and len(estimator[:-1]))

    pipeline = make_pipeline(StandardScaler(), PlainClassifier())
    grid = {"plainclassifier__k": [1, 5]}
    ours, _ = both_searches(pipeline, grid, scoring=_by_classes, cv=3, X=X, y=y)
    assert ours.work_["fits_done"] == 3
    ours, _ = both_searches(pipeline, grid, scoring=steps, cv=3, X=X, y=y)
    assert ours.work_["fits_done"] == 3 + 6
    ours, _ = both_searches(PlainRegressor(), GRID, scoring=_by_own_score, cv=KFold(3), X=X, y=y.astype(float))
    assert ours.work_["fits_done"] == 1


def test_the_first_thing_touched_is_told() -> None:
    record = Record(PlainClassifier(k=4), X, np.array([0, 1]), {})
    stand_in = StandIn(record)
    assert isinstance(stand_in, PlainClassifier)
    for _ in range(2):
        with pytest.raises(Touched):
            stand_in.k  # noqa: B018
    with pytest.raises(Touched):
        repr(stand_in)
    assert record.touched == "k"
    with pytest.raises(AttributeError):
        StandIn(Record(PlainRegressor(), X, None, {})).predict_proba  # noqa: B018
