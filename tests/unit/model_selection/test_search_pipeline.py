"""Pipelines whose steps learn: fitted inside each split, once for all candidates behind them, and nothing leaks."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_selection import SelectKBest
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold, LeaveOneOut, RepeatedKFold, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from tests.reference.searches import both_searches
from tests.reference.sharing import PlainClassifier
from tonari.model_selection import GridSearchCV, pipeline
from tonari.neighbors import KNeighborsClassifier, KNeighborsRegressor

X, y = make_classification(n_samples=80, n_features=6, n_informative=3, n_classes=3, random_state=2)
X = X * [1, 10, 100, 1, 1, 1]


class Counting(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Centres, and notes how many rows it was fitted on."""

    fitted: ClassVar[list[int]] = []

    def __init__(self, power: float = 1.0) -> None:
        self.power = power

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        assert sample_weight is None or len(sample_weight) == len(X)
        self.fitted.append(len(X))
        self.mean_ = np.average(X, axis=0, weights=sample_weight)
        return self

    def transform(self, X: Any) -> Any:
        shifted = np.asarray(X) - self.mean_
        return np.sign(shifted) * np.abs(shifted) ** self.power


@pytest.fixture(autouse=True)
def _fresh_counts() -> None:
    Counting.fitted.clear()
    PlainClassifier.log.clear()


def _pipeline(*steps: Any) -> Pipeline:
    return Pipeline([*((f"s{i}", step) for i, step in enumerate(steps)), ("knn", KNeighborsClassifier())])


GRID = {"knn__n_neighbors": [1, 5, 9], "knn__weights": ["uniform", "distance"]}


@pytest.mark.parametrize(
    "cv",
    [
        3,
        StratifiedKFold(4, shuffle=True, random_state=0),
        KFold(3, shuffle=True, random_state=1),
        RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
        ShuffleSplit(4, test_size=0.3, random_state=0),
        LeaveOneOut(),
    ],
    ids=lambda cv: type(cv).__name__,
)
def test_scaling_and_projection(cv: Any) -> None:
    ours, _ = both_searches(_pipeline(StandardScaler(), PCA(2)), GRID, cv=cv, refit=False, X=X, y=y)
    assert ours.work_["fits_done"] == ours.n_splits_
    assert ours.work_["reason"] is None


def test_steps_are_fitted_once_per_split_and_setting_of_their_own() -> None:
    grid = {**GRID, "s0__power": [0.5, 1.0, 2.0]}
    search = GridSearchCV(_pipeline(Counting()), grid, cv=KFold(4), refit=False).fit(X, y)
    assert search.work_ == {"fits_asked": 18 * 4, "fits_done": 3 * 4, "shared": True, "reason": None}
    assert Counting.fitted == [60] * 12, "fitted on training rows, once for each power and split"
    both_searches(_pipeline(Counting()), grid, cv=KFold(4), X=X, y=y)


class RemembersLabels(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Gives every row that it was fitted on its own label, and any other row noise: a leak made visible."""

    def fit(self, X: Any, y: Any) -> Self:
        self.known_ = {row.tobytes(): label for row, label in zip(np.asarray(X), y, strict=True)}
        return self

    def transform(self, X: Any) -> Any:
        rng = np.random.default_rng(len(X))
        noise = rng.random(len(X)) * 3
        return np.array(
            [[self.known_.get(row.tobytes(), noise[i])] for i, row in enumerate(np.asarray(X))], dtype=float
        )


def test_nothing_leaks_and_a_leak_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trap 15: a step fitted on all rows knows the held-out labels. Planted here, it makes the score perfect."""
    steps = _pipeline(RemembersLabels())
    honest, _ = both_searches(steps, GRID, cv=KFold(5), refit=False, X=X, y=y)
    assert honest.work_["shared"]
    assert (honest.cv_results_["mean_test_score"] < 0.6).all()

    fit_on_training_rows = pipeline.split_behind_steps

    def leaks(group: Any, X: Any, y: Any, train: Any, test: Any, fit_params: Any) -> Any:
        X = np.asarray(X).copy()
        known = RemembersLabels().fit(X, y)
        _, y, splits, fit_params = fit_on_training_rows(group, X, y, train, test, fit_params)
        return known.transform(X[np.concatenate([train, test])]), y, splits, fit_params

    monkeypatch.setattr("tonari.model_selection.drive.split_behind_steps", leaks)
    leaky = GridSearchCV(steps, GRID, cv=KFold(5), refit=False).fit(X, y)
    assert (leaky.cv_results_["mean_test_score"] == 1.0).all()


def test_steps_that_look_at_the_labels() -> None:
    ours, _ = both_searches(_pipeline(SelectKBest(k=2)), {**GRID, "s0__k": [1, 3]}, X=X, y=y)
    assert ours.work_["fits_done"] == 2 * 5


def test_steps_replaced_by_the_grid() -> None:
    grid = {"s0": [StandardScaler(), MinMaxScaler(), "passthrough", None], **GRID}
    ours, _ = both_searches(_pipeline(StandardScaler()), grid, X=X, y=y)
    # Two scalers in five splits; without a step all splits come from one pass, twice.
    assert ours.work_["fits_done"] == 2 * 5 + 2


def test_a_learner_replaced_by_the_grid() -> None:
    grid = [
        {"knn": [KNeighborsClassifier(metric="manhattan"), KNeighborsClassifier()], "knn__n_neighbors": [1, 7]},
        {"knn": [DecisionTreeClassifier(random_state=0)], "knn__max_depth": [1, 3]},
        {"knn__n_neighbors": [2, 3], "s0__with_mean": [False, True]},
        {"knn": ["passthrough"]},
    ]
    with pytest.warns(UserWarning, match=r"Scoring failed|non-finite"):
        ours, _ = both_searches(_pipeline(StandardScaler()), grid, cv=3, X=X, y=y)
    assert ours.work_["fits_done"] == 2 * 3 + 2 * 3 + 2 * 3 + 3
    assert "DecisionTreeClassifier does not implement" in ours.work_["reason"]


def test_settings_do_not_wander_between_grids() -> None:
    """The same replaced learner in two grids: what one grid sets must not reach the other's candidates."""
    learner = KNeighborsClassifier(n_neighbors=3)
    grid = [{"knn": [learner], "knn__n_neighbors": [1]}, {"knn": [learner], "knn__weights": ["distance"]}]
    both_searches(_pipeline(StandardScaler()), grid, X=X, y=y)


def test_all_steps_given_as_a_whole() -> None:
    whole = [("scale", MinMaxScaler()), ("knn", KNeighborsClassifier(3))]
    other = [("tree", DecisionTreeClassifier(max_depth=2, random_state=0))]
    grid = [{"steps": [whole], "knn__n_neighbors": [1, 4], "scale__clip": [True]}, {"steps": [other]}]
    both_searches(_pipeline(StandardScaler()), grid, cv=3, refit=False, X=X, y=y)


def test_no_learned_step_means_one_pass() -> None:
    for steps in (_pipeline(), _pipeline("passthrough"), _pipeline(None, "passthrough")):
        ours, _ = both_searches(steps, GRID, X=X, y=y)
        assert ours.work_["fits_done"] == 1
    # A function may look at all the rows it is given: it is a step like any other.
    ours, _ = both_searches(_pipeline(FunctionTransformer(lambda rows: rows - rows.mean(axis=0))), GRID, X=X, y=y)
    assert ours.work_["fits_done"] == 5


def test_how_a_pipeline_runs_is_no_setting(tmp_path: Any) -> None:
    grid = {**GRID, "memory": [None, str(tmp_path / "one"), str(tmp_path / "two")], "verbose": [False]}
    ours, _ = both_searches(_pipeline(StandardScaler()), grid, cv=3, X=X, y=y)
    assert ours.work_["fits_done"] == 3


@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
def test_steps_that_give_frames(output: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "kind": np.array(["u", "v", "w"])[np.arange(80) % 3]})
    encode = OneHotEncoder(sparse_output=False, handle_unknown="ignore")
    columns = ColumnTransformer([("numbers", StandardScaler(), ["a", "b"]), ("kinds", encode, ["kind"])])
    steps = _pipeline(columns).set_output(transform=output)
    labels = np.array(["no", "yes"], dtype=object)[(y > 0).astype(int)]
    ours, _ = both_searches(steps, GRID, scoring=["accuracy", "roc_auc"], refit=False, rtol=1e-13, X=frame, y=labels)
    assert ours.work_["fits_done"] == 5
    assert ours.work_["reason"] is None


def test_steps_that_give_sparse_rows_are_joined_and_left_to_the_learner() -> None:
    kinds = (np.arange(80) % 7)[:, np.newaxis]
    steps = _pipeline(OneHotEncoder(handle_unknown="ignore"))
    both_searches(steps, {"knn__n_neighbors": [1, 5]}, X=kinds, y=y)


class _Fickle(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Training rows come out as float64, others as float32."""

    def fit(self, X: Any, y: Any = None) -> Self:
        self.fitted_ = True
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        return self.fit(X).transform(X).astype(np.float64)

    def transform(self, X: Any) -> Any:
        return np.asarray(X, dtype=np.float32)


class _Listing(_Fickle):
    def fit_transform(self, X: Any, y: Any = None) -> Any:
        return self.fit(X).transform(X)

    def transform(self, X: Any) -> Any:
        return np.asarray(X).tolist()


@pytest.mark.parametrize(("step", "words"), [(_Fickle(), "different types"), (_Listing(), "give a list")])
def test_what_cannot_be_joined_is_fitted_one_by_one(step: Any, words: str) -> None:
    ours, _ = both_searches(_pipeline(step), {"knn__n_neighbors": [1, 5]}, X=X, y=y)
    assert words in ours.work_["reason"]
    assert not ours.work_["shared"]


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_a_step_that_fails() -> None:
    grid = {"s0__n_components": [2, 50], "knn__n_neighbors": [1, 3]}
    with pytest.warns(FitFailedWarning, match="10 fits failed out of a total of 20"):
        ours, _ = both_searches(_pipeline(PCA()), grid, X=X, y=y)
    assert ours.work_["fits_done"] == 5 + 10
    assert "n_components=50" in ours.work_["reason"]
    with pytest.raises(ValueError, match="n_components=50"):
        GridSearchCV(_pipeline(PCA()), grid, error_score="raise").fit(X, y)


def test_fit_parameters_of_the_steps() -> None:
    weights = np.linspace(0.0, 3.0, len(y))
    plain = GridSearchCV(_pipeline(Counting(2.0)), GRID, refit=False).fit(X, y)
    ours, _ = both_searches(_pipeline(Counting(2.0)), GRID, X=X, y=y, fit={"s0__sample_weight": weights})
    assert ours.work_["fits_done"] == 5
    assert plain.cv_results_["mean_test_score"].tolist() != ours.cv_results_["mean_test_score"].tolist()
    with config_context(enable_metadata_routing=True):
        steps = _pipeline(Counting().set_fit_request(sample_weight=True))
        scorer = get_scorer("accuracy").set_score_request(sample_weight=False)
        ours, _ = both_searches(steps, GRID, scoring=scorer, X=X, y=y, fit={"sample_weight": weights})
    assert "routed" in ours.work_["reason"]


class _Resampling(Pipeline):  # type: ignore[misc]
    """As pipelines of other packages: it is not known what they do between the steps."""

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        return super().fit(X[::2], y[::2], **params)  # type: ignore[no-any-return]


def test_other_pipelines_are_not_taken_for_scikit_learns() -> None:
    steps = _Resampling([("scale", StandardScaler()), ("knn", KNeighborsClassifier())])
    ours, _ = both_searches(steps, GRID, X=X, y=y)
    assert ours.work_["reason"] == "_Resampling does not implement the held-out protocol"


def test_regression_behind_steps() -> None:
    target = X[:, 0] + X[:, 1] ** 2
    steps = make_pipeline(StandardScaler(), KNeighborsRegressor())
    grid = {"kneighborsregressor__n_neighbors": [1, 3, 8], "standardscaler__with_std": [True, False]}
    scoring = ["r2", "neg_mean_absolute_error"]
    ours, _ = both_searches(steps, grid, scoring=scoring, refit="r2", rtol=1e-10, X=X, y=target)
    assert ours.work_["fits_done"] == 10
    assert ours.predict(X).shape == target.shape
