"""GridSearchCV against scikit-learn's of that name: the same results from fewer fits, and the same failures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sklearn.model_selection
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.reference.searches import assert_same_results, both_searches
from tests.reference.sharing import PlainClassifier, PlainRegressor
from tonari.model_selection import GridSearchCV
from tonari.neighbors import KNeighborsClassifier, KNeighborsRegressor

X, y = make_classification(n_samples=90, n_features=4, n_informative=3, n_redundant=0, n_classes=3, random_state=0)
Xr, yr = make_regression(n_samples=60, n_features=3, noise=5.0, random_state=0)
GROUPS = np.arange(len(y)) % 7
GRID = {"k": [1, 2, 5, 12]}


@pytest.fixture(autouse=True)
def _fresh_log() -> Iterator[None]:
    PlainClassifier.log.clear()
    yield
    PlainClassifier.log.clear()


SPLITTERS: list[Any] = [
    None,
    4,
    KFold(5, shuffle=True, random_state=3),
    KFold(len(y)),
    StratifiedKFold(3, shuffle=True, random_state=1),
    RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
    ShuffleSplit(4, test_size=0.2, random_state=0),
    ShuffleSplit(3, test_size=0.2, train_size=0.5, random_state=0),
    LeaveOneOut(),
    PredefinedSplit(np.where(np.arange(len(y)) < 20, -1, np.arange(len(y)) % 3)),
    [(np.arange(60), np.arange(60, 90)), (np.arange(90) >= 30, np.arange(90) < 30), (np.arange(-50, 0), np.arange(9))],
]


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("cv", SPLITTERS, ids=lambda cv: type(cv).__name__)
def test_any_splitter(cv: Any, together: bool) -> None:
    """Trap 14 of sharing: a fold's own rows must not help; every splitter gives what refitting gives."""
    ours, _ = both_searches(PlainClassifier(together=together), GRID, cv=cv, refit=False, X=X, y=y)
    assert ours.work_ == {
        "fits_asked": 4 * ours.n_splits_, "fits_done": 1, "shared": True, "reason": None,
    }  # fmt: skip


def test_groups_reach_the_splitter() -> None:
    ours, _ = both_searches(PlainClassifier(), GRID, cv=GroupKFold(3), X=X, y=y, fit={"groups": GROUPS})
    assert ours.work_["fits_done"] == 1
    with pytest.raises(ValueError, match="groups"):
        GridSearchCV(PlainClassifier(), GRID, cv=GroupKFold(3)).fit(X, y)


def test_splits_of_a_random_splitter_are_drawn_once() -> None:
    """A generator, or a splitter with a random state of its own, would tell others the second time."""
    for cv in (
        lambda: KFold(4, shuffle=True, random_state=np.random.RandomState(7)),
        lambda: (pair for pair in KFold(4, shuffle=True, random_state=2).split(X)),
    ):
        for learner, grid in ((PlainClassifier(), GRID), (LogisticRegression(), {"C": [0.1, 1.0]})):
            ours = GridSearchCV(learner, grid, cv=cv()).fit(X, y)
            theirs = sklearn.model_selection.GridSearchCV(learner, grid, cv=cv()).fit(X, y)
            assert_same_results(ours, theirs)


def test_fits_are_few_and_best_estimator_is_one_more() -> None:
    search = GridSearchCV(PlainClassifier(), {"k": list(range(1, 9))}, cv=5).fit(X, y)
    assert PlainClassifier.log == ["pass", "fit"]
    assert search.work_["fits_asked"] == 40
    np.testing.assert_array_equal(search.predict(X), search.best_estimator_.predict(X))
    assert search.best_estimator_.k == search.best_params_["k"]
    assert search.refit_time_ > 0
    assert search.n_features_in_ == 4
    assert search.classes_.tolist() == [0, 1, 2]


MULTI = ["accuracy", "f1_macro", "balanced_accuracy", "neg_log_loss", "roc_auc_ovr"]


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize(
    ("scoring", "refit"),
    [
        ("f1_weighted", True),
        ("neg_log_loss", True),
        ("roc_auc_ovo", True),
        (MULTI, "neg_log_loss"),
        (tuple(MULTI), False),
        ({"ours": "accuracy", "default": None}, "default"),
        ("accuracy", lambda results: 2),
        (MULTI, lambda results: int(np.argmax(results["mean_test_accuracy"]))),
    ],
)
def test_scoring_and_refit(scoring: Any, refit: Any, together: bool) -> None:
    learner = PlainClassifier(together=together)
    ours, theirs = both_searches(learner, GRID, scoring=scoring, refit=refit, cv=3, X=X, y=y, rtol=1e-13)
    assert ours.work_["fits_done"] == 1
    assert hasattr(ours, "best_score_") == hasattr(theirs, "best_score_")
    assert type(ours.scorer_) is type(theirs.scorer_)
    if refit and not (callable(refit) and ours.multimetric_):
        assert ours.score(X, y) == theirs.score(X, y)


@pytest.mark.parametrize(("labels", "scoring"), [
    ((0, 1), ["roc_auc", "average_precision", "neg_brier_score", "f1", "precision", "recall", "jaccard", "accuracy"]),
    ((-1, 1), ["roc_auc", "average_precision", "neg_brier_score", "f1", "matthews_corrcoef"]),
    ((3, 1), ["roc_auc", "neg_brier_score", "f1"]),
    # Apart from the area under the ROC curve: scikit-learn's cache would hand on the scores of the other class.
    ((3, 1), ["average_precision"]),
    ((False, True), ["roc_auc", "average_precision", "f1", "neg_log_loss"]),
    (("no", "yes"), ["roc_auc", "neg_log_loss", "f1_macro", "accuracy"]),
])  # fmt: skip
def test_two_classes_of_any_label(labels: Any, scoring: list[str]) -> None:
    two = np.array(labels)[(y > 0).astype(int)]
    ours, _ = both_searches(PlainClassifier(), GRID, scoring=scoring, refit=False, cv=4, X=X, y=two, rtol=1e-12)
    assert ours.work_["fits_done"] == 1


def test_regression() -> None:
    scoring = [
        "r2", "explained_variance", "neg_mean_squared_error", "neg_root_mean_squared_error",
        "neg_mean_absolute_error", "neg_max_error", "neg_median_absolute_error",
    ]  # fmt: skip
    for cv in (3, KFold(7, shuffle=True, random_state=0)):
        ours, _ = both_searches(PlainRegressor(), GRID, scoring=scoring, refit=False, cv=cv, X=Xr, y=yr, rtol=1e-10)
        assert ours.work_["fits_done"] == 1
    both_searches(PlainRegressor(), GRID, X=Xr, y=yr, rtol=1e-10)


def test_several_outputs() -> None:
    both_outputs = np.column_stack([yr, yr**2])
    ours, _ = both_searches(PlainRegressor(together=False), GRID, X=Xr, y=both_outputs, rtol=1e-12)
    assert ours.work_["fits_done"] == 1
    two = np.column_stack([y, y % 2])
    for scoring in (_all_right, _second_is_sure):
        ours, _ = both_searches(
            KNeighborsClassifier(), {"n_neighbors": [1, 4, 9]}, cv=KFold(4), scoring=scoring, X=X, y=two
        )
        assert ours.work_["fits_done"] == 1


def _all_right(estimator: Any, X: Any, y: Any) -> float:
    return float((estimator.predict(X) == y).all(axis=1).mean())


def _second_is_sure(estimator: Any, X: Any, y: Any) -> float:
    assert [classes.tolist() for classes in estimator.classes_] == [[0, 1, 2], [0, 1]]
    return float(estimator.predict_proba(X)[1].max(axis=1).mean())


def test_a_fold_that_lacks_a_class() -> None:
    """Trap 7: the classes of that training part decide, and held-out rows of the missing class count as wrong."""
    order = np.argsort(y, kind="stable")
    for together in (True, False):
        for scoring in ("accuracy", "f1_weighted"):
            both_searches(
                PlainClassifier(together=together), GRID, cv=KFold(3), scoring=scoring, X=X[order], y=y[order]
            )


def test_measures_that_a_fold_does_not_define_fail_as_in_scikit_learn() -> None:
    """Log loss without a class, areas without one: scikit-learn's word, and its warning, for that split only."""
    order = np.argsort(y > 0, kind="stable")
    for learner in (PlainClassifier(), PlainClassifier(together=False)):
        with pytest.warns(UserWarning, match=r"Scoring failed|Only one class|non-finite"):
            both_searches(
                learner, GRID, cv=KFold(3), refit=False, X=X[order], y=(y > 0)[order],
                scoring=["neg_log_loss", "roc_auc", "average_precision", "accuracy"],
            )  # fmt: skip


# --- failures -------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_a_candidate_that_cannot_be_scored() -> None:
    grid = {"k": [1, 80, 3]}
    with pytest.warns(UserWarning, match="Scoring failed"):
        ours, _ = both_searches(PlainClassifier(), grid, error_score=np.nan, X=X, y=y)
    assert ours.work_["fits_done"] == 1 + 5
    assert "k=80" in ours.work_["reason"]
    with pytest.warns(UserWarning, match="Scoring failed"):
        both_searches(PlainClassifier(), grid, error_score=-1.0, scoring=["accuracy"], refit="accuracy", X=X, y=y)
    for search in (GridSearchCV, sklearn.model_selection.GridSearchCV):
        with pytest.raises(ValueError, match="k=80 is more"):
            search(PlainClassifier(), grid, error_score="raise").fit(X, y)


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
@pytest.mark.parametrize("scoring", [None, ["accuracy", "f1_macro"]])
def test_a_candidate_that_cannot_be_fitted(scoring: Any) -> None:
    options = {"scoring": scoring, "refit": False, "X": X, "y": y}
    grid = {"k": [1, 3], "fault": ["", "unfit"]}
    with pytest.warns(FitFailedWarning, match="10 fits failed out of a total of 20"):
        both_searches(PlainClassifier(fault="refused"), grid, **options)
    with pytest.warns(FitFailedWarning):
        both_searches(_Picky(), {"k": [1, 3]}, error_score=0.25, **options)
    for search in (GridSearchCV, sklearn.model_selection.GridSearchCV):
        with pytest.raises(ValueError, match="All the 10 fits failed"):
            search(
                PlainClassifier(fault="refused"), {"k": [1, 2], "fault": ["unfit"]}, scoring=scoring, refit=False
            ).fit(X, y)
        with pytest.raises(ValueError, match="cannot be fitted"):
            search(PlainClassifier(), grid, error_score="raise").fit(X, y)


_FIRST_ROW = X[0]


class _Picky(PlainClassifier):
    """Cannot be fitted where a certain row is missing: one failed split, not shared because it overrides fit."""

    def fit(self, X: Any, y: Any) -> Any:
        if not (X == _FIRST_ROW).all(axis=1).any():
            raise ValueError("the first row is missing")
        return super().fit(X, y)


def test_missing_values_are_refused_with_their_name() -> None:
    spoilt = X.copy()
    spoilt[3, 1] = np.nan
    for learner, grid in ((PlainClassifier(), GRID), (KNeighborsClassifier(), {"n_neighbors": [1, 2]})):
        with pytest.raises(ValueError, match="NaN"):
            GridSearchCV(learner, grid, error_score="raise").fit(spoilt, y)


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_splits_with_an_empty_part() -> None:
    rows, none = np.arange(len(y)), np.empty(0, dtype=int)
    for pairs in ([(rows[10:], rows[:10]), (rows, none)], [(rows[10:], rows[:10]), (none, rows)], [(rows[:9], none)]):
        with pytest.warns((UserWarning, FitFailedWarning), match=r"Scoring failed|fits failed"):
            ours, _ = both_searches(PlainClassifier(), GRID, cv=pairs, refit=False, X=X, y=y)
        assert not ours.work_["shared"]
        assert ours.work_["reason"] == "a split has no training rows or none held out"


ODD_TARGETS = {
    "mixed": np.array(["a", 1, None] * 30, dtype=object),
    "missing": np.where(y == 1, np.nan, y),
    "complex": y + 1j,
    "ragged": [[1], [1, 2], [3]] * 30,
    "fractions": y + 0.5,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ODD_TARGETS)
def test_targets_that_cannot_be_classified(name: str) -> None:
    """The error of a target is of scikit-learn's kind, whoever meets it first."""
    found = []
    for search in (GridSearchCV, sklearn.model_selection.GridSearchCV):
        with pytest.raises((ValueError, TypeError)) as raised:
            search(KNeighborsClassifier(), {"n_neighbors": [1, 3]}, cv=KFold(3), error_score="raise").fit(
                X, ODD_TARGETS[name]
            )
        found.append((raised.type.__mro__, str(raised.value)))
    assert found[0] == found[1]


def test_impossible_questions() -> None:
    with pytest.raises(ValueError, match="n_splits=100 greater"):
        GridSearchCV(PlainClassifier(), GRID, cv=KFold(100)).fit(X, y)
    with pytest.raises(ValueError, match="No fits were performed"):
        GridSearchCV(PlainClassifier(), GRID, cv=[]).fit(X, y)
    with pytest.raises(ValueError, match="Invalid parameter"):
        GridSearchCV(PlainClassifier(), {"nonsense": [1]}).fit(X, y)
    with pytest.raises(ValueError, match="multi-metric"):
        GridSearchCV(PlainClassifier(), GRID, scoring=["accuracy", "f1_macro"]).fit(X, y)
    with pytest.raises(ValueError, match="inconsistent results"):
        GridSearchCV(PlainClassifier(), GRID, cv=_Liar()).fit(X, y)
    with pytest.raises(ValueError, match="The 'error_score' parameter"):
        GridSearchCV(PlainClassifier(), GRID, error_score="fail").fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        GridSearchCV(PlainClassifier(), GRID).fit(X, y[:-1])
    with pytest.raises(TypeError, match="missing"):
        GridSearchCV(PlainClassifier())
    with pytest.raises(NotFittedError):
        GridSearchCV(PlainClassifier(), GRID).predict(X)


class _Liar(KFold):
    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        return 4


# --- what is fitted one by one ---------------------------------------------------------------------------------------


class _Twice(PlainClassifier):
    def predict(self, X: Any) -> Any:
        return super().predict(X)[::-1]


class _Stricter(KNeighborsClassifier):
    def predict(self, X: Any) -> Any:
        return super().predict(X)[::-1]


class _OtherDefault(KNeighborsClassifier):
    def __init__(self, n_neighbors: int = 1, *, weights: str = "distance") -> None:
        super().__init__(n_neighbors, weights=weights)


@pytest.mark.parametrize(("learner", "grid"), [(_Twice(), GRID), (_Stricter(), {"n_neighbors": [1, 3]})])
def test_a_subclass_that_overrides_is_fitted_one_by_one(learner: Any, grid: Any) -> None:
    ours, _ = both_searches(learner, grid, X=X, y=y)
    assert not ours.work_["shared"]
    assert "overrides 'predict'" in ours.work_["reason"]
    assert ours.work_["fits_done"] == ours.work_["fits_asked"]


def test_a_subclass_with_other_defaults_still_shares() -> None:
    ours, _ = both_searches(_OtherDefault(), {"n_neighbors": [1, 3]}, X=X, y=y)
    assert ours.work_["fits_done"] == 1


def test_training_scores_and_foreign_learners_take_scikit_learns_path() -> None:
    ours, _ = both_searches(PlainClassifier(), GRID, return_train_score=True, X=X, y=y)
    assert ours.work_["reason"] == "training scores need every fit"
    ours, _ = both_searches(LogisticRegression(), {"C": [0.1, 1.0]}, X=X, y=y)
    assert ours.work_["reason"] == "LogisticRegression does not implement the held-out protocol"
    assert ours.cv is None, "the splitter that the parent was lent must not stay"


def test_fit_parameters_that_a_learner_refuses() -> None:
    class Weighted(PlainClassifier):
        held_out = PlainClassifier.held_out

        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            assert sample_weight is None or len(sample_weight) == len(X)
            return super().fit(X, y)

    # Accuracy then weighs the held-out rows too (scikit-learn >= 1.9).
    weights = np.linspace(0.5, 2.0, len(y))
    ours, _ = both_searches(Weighted(), GRID, X=X, y=y, fit={"sample_weight": weights})
    assert ours.work_["reason"] == "fit parameters are given"
    assert not ours.work_["shared"]


def test_score_parameters_are_routed_to_the_scorer() -> None:
    """Metadata routing: the weights of held-out rows reach the scorer, and no native score forgets them."""
    weights = np.linspace(0.0, 3.0, len(y))
    with config_context(enable_metadata_routing=True):
        for scoring in ("accuracy", "neg_log_loss"):
            scorer = sklearn.metrics.get_scorer(scoring).set_score_request(sample_weight=True)
            options: dict[str, Any] = {"scoring": scorer, "X": X, "y": y, "fit": {"sample_weight": weights}}
            ours, _ = both_searches(PlainClassifier(), GRID, rtol=1e-13, **options)
            assert ours.work_["fits_done"] == 1
            plain = GridSearchCV(PlainClassifier(), GRID, scoring=scoring).fit(X, y)
            assert (plain.cv_results_["mean_test_score"] != ours.cv_results_["mean_test_score"]).any()


def test_one_refused_candidate_does_not_stop_the_others() -> None:
    ours, _ = both_searches(PlainClassifier(), {"k": [1, 3], "fault": ["", "refused"]}, X=X, y=y)
    assert ours.work_ == {
        "fits_asked": 20, "fits_done": 1 + 10, "shared": True, "reason": "this candidate is refused",
    }  # fmt: skip


@pytest.mark.parametrize("fault", ["rows missing", "raises"])
def test_a_mistake_in_a_learner_is_told_and_never_a_number(fault: str) -> None:
    expected = GridSearchCV(PlainClassifier(), GRID, refit=False).fit(X, y)
    search = GridSearchCV(PlainClassifier(fault=fault), GRID, refit=False)
    with pytest.warns(RuntimeWarning, match="a mistake in the learner"):
        search.fit(X, y)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"])
    assert not search.work_["shared"]


def test_a_split_that_a_learner_forgets_is_fitted() -> None:
    ours, _ = both_searches(PlainClassifier(fault="split missing"), GRID, X=X, y=y)
    assert ours.work_["fits_done"] == 1 + 4


def test_data_that_only_the_learner_can_refuse() -> None:
    sparse = pytest.importorskip("scipy.sparse").csr_array(X)
    with pytest.raises(ValueError, match="All the 20 fits failed"):
        GridSearchCV(PlainClassifier(), GRID).fit(sparse, y)


def test_callbacks_follow_single_fits() -> None:
    callback = pytest.importorskip("sklearn.callback")
    search = GridSearchCV(PlainClassifier(), GRID)
    search.set_callbacks(callback.ProgressBar())
    with pytest.warns(UserWarning, match="does not support callbacks"):
        search.fit(X, y)
    assert search.work_["reason"] == "callbacks follow every single fit"


def test_training_rows_come_in_ascending_order_either_way() -> None:
    """Ties by row number must not depend on the splitter's shuffling, nor on whether work was shared."""
    rng = np.random.default_rng(0)
    tied, labels = rng.integers(2, size=(60, 2)).astype(float), rng.integers(3, size=60)
    pairs = [(rng.permutation(np.arange(20, 60)), np.arange(20)), (rng.permutation(40), np.arange(40, 60))]
    shared = GridSearchCV(PlainClassifier(), GRID, cv=pairs, refit=False).fit(tied, labels)
    single = GridSearchCV(_Same(), GRID, cv=pairs, refit=False).fit(tied, labels)
    assert shared.work_["shared"]
    assert not single.work_["shared"]
    assert_same_results(shared, single)
    disordered = sklearn.model_selection.GridSearchCV(_Same(), GRID, cv=pairs, refit=False).fit(tied, labels)
    assert (disordered.cv_results_["mean_test_score"] != shared.cv_results_["mean_test_score"]).any()


class _Same(PlainClassifier):
    def fit(self, X: Any, y: Any) -> Any:
        return super().fit(X, y)


def test_leave_one_out_stays_linear_in_memory() -> None:
    """4,000 rows: an n x n mask of bytes would be 16 MB, train parts as rows 128 MB."""
    tracemalloc = pytest.importorskip("tracemalloc")
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(4000, 3)), rng.integers(3, size=4000)
    search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 9]}, cv=LeaveOneOut(), refit=False)
    tracemalloc.start()
    try:
        search.fit(rows, labels)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert search.work_["fits_done"] == 1
    assert search.n_splits_ == 4000
    assert peak < 12e6


# --- the estimator's manners ----------------------------------------------------------------------------------------


@parametrize_with_checks(
    [
        GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 3]}, cv=2, error_score="raise"),
        GridSearchCV(KNeighborsRegressor(), {"n_neighbors": [1, 3]}, cv=2, error_score="raise"),
        GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2, error_score="raise"),
    ]
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_clone_parameters_and_representation() -> None:
    search = GridSearchCV(PlainClassifier(k=2), GRID, cv=3, scoring="accuracy")
    reference = sklearn.model_selection.GridSearchCV(PlainClassifier(k=2), GRID, cv=3, scoring="accuracy")
    assert search.get_params().keys() == reference.get_params().keys()
    assert repr(search) == repr(reference)
    copy = clone(search).set_params(estimator__k=7)
    assert copy.estimator.k == 7
    assert search.estimator.k == 2
    assert "GridSearchCV" in search._repr_html_()
    assert isinstance(search, sklearn.model_selection.GridSearchCV)


def test_words_on_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    GridSearchCV(PlainClassifier(), GRID, verbose=1).fit(X, y)
    told = capsys.readouterr().out.splitlines()
    assert told == [
        "Fitting 5 folds for each of 4 candidates, totalling 20 fits",
        "1 shared passes and 0 single fits were done",
    ]
    GridSearchCV(PlainClassifier(), GRID).fit(X, y)
    assert capsys.readouterr().out == ""


def test_frames_and_labels_of_text() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"), index=np.arange(len(X))[::-1])
    labels = pandas.Series(np.array(["x", "y", "z"], dtype=object)[y], index=frame.index)
    ours, _ = both_searches(KNeighborsClassifier(), {"n_neighbors": [1, 4]}, X=frame, y=labels)
    assert ours.work_["fits_done"] == 1
    assert ours.feature_names_in_.tolist() == list("abcd")
    polars = pytest.importorskip("polars")
    ours, _ = both_searches(KNeighborsClassifier(), {"n_neighbors": [1, 4]}, X=polars.DataFrame(frame), y=labels)
    assert ours.work_["fits_done"] == 1
