"""The main job from a table to a verdict: honest scores, stated ties, the same answer every time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.neighbors import KNeighborsClassifier as TheirNeighbours
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from tonari.base.errors import UsageError
from tonari.metrics.intervals import corrected_paired_t, corrected_standard_error
from tonari.model_selection import Comparison, compare
from tonari.model_selection.families import plain
from tonari.model_selection.judge import METRICS
from tonari.model_selection.output import canonical
from tonari.model_selection.plan import draw_up


def mixed(rows: int = 90, classes: int = 2, seed: int = 0) -> pd.DataFrame:
    """Numbers, categories and gaps that say something about the class."""
    random = np.random.default_rng(seed)
    kind = random.integers(0, classes, rows)
    width = random.normal(size=rows) + kind
    width[random.random(rows) < 0.1] = np.nan
    return pd.DataFrame({
        "length": random.normal(size=rows) * 100 + 80 * kind,
        "width": width,
        "colour": np.array(["red", "blue", "green"])[(kind + (random.random(rows) < 0.4)) % 3],
        "kind": np.array(["a", "b", "c"])[kind],
    })  # fmt: skip


def numbers(rows: int = 90, classes: int = 2, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    kind = random.integers(0, classes, rows)
    return pd.DataFrame({
        "length": random.normal(size=rows) * 100 + 120 * kind, "width": random.normal(size=rows) + kind,
        "kind": np.array(["a", "b", "c"])[kind],
    })  # fmt: skip


def run(data: Any, target: str | None = "kind", **options: Any) -> Comparison:
    return compare(data, target, **{"quiet": True, "folds": 3} | options)


def rows_of(comparison: Comparison, **wanted: Any) -> list[dict[str, Any]]:
    return [row for row in comparison.result["candidates"] if wanted.items() <= {**row, **row["params"]}.items()]


@pytest.fixture(scope="module")
def found() -> Comparison:
    return run(mixed())


def test_the_result_is_complete_and_json(found: Comparison) -> None:
    result = json.loads(canonical(found.result))
    assert result == found.result
    assert set(result) == {
        "schema", "tonari", "data", "plan", "candidates", "curves", "winner", "test", "notes", "files",
    }  # fmt: skip
    plan = result["plan"]
    assert (plan["train_rows"], plan["test_rows"], plan["folds"], plan["candidates"]) == (60, 30, 3, 160)
    assert plan["fits_asked"] == 480
    assert len(result["candidates"]) == 161
    assert sum(row["chosen"] for row in result["candidates"]) == 1
    assert all(len(row["fold_scores"]) == 3 for row in result["candidates"])
    assert sum(len(series["x"]) for series in result["curves"][0]["series"]) == 160


def test_the_shared_search_saves_fits(found: Comparison) -> None:
    """Trap: a fit for every candidate and fold, as in a plain grid search."""
    assert found.result["plan"]["fits_done"] < found.result["plan"]["fits_asked"] / 10


def test_the_winner_has_the_best_mean_and_comes_first(found: Comparison) -> None:
    candidates = [row for row in found.result["candidates"] if not row["reference"]]
    assert candidates[0]["chosen"]
    assert candidates[0]["rank"] == 1
    assert candidates[0]["mean"] == max(row["mean"] for row in candidates)
    assert [row["rank"] for row in candidates] == list(range(1, 161))
    assert found.result["winner"]["label"] == candidates[0]["label"]


def test_standard_errors_and_ties_are_corrected_for_shared_rows(found: Comparison) -> None:
    """Trap: sd / sqrt(K), as if folds shared no rows."""
    best = found.result["candidates"][0]
    for row in found.result["candidates"]:
        assert row["mean"] == pytest.approx(np.mean(row["fold_scores"]))
        assert row["se"] == pytest.approx(np.std(row["fold_scores"], ddof=1) * np.sqrt(1 / 3 + 1 / 2))
        assert row["tied"] == (corrected_paired_t(best["fold_scores"], row["fold_scores"]).p_value >= 0.05)
    assert {row["tied"] for row in found.result["candidates"]} == {True, False}


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("params", [
    {"n_neighbors": 1, "metric": "manhattan", "weights": "uniform"},
    {"n_neighbors": 7, "metric": "euclidean", "weights": "distance"},
    {"n_neighbors": 15, "metric": "cosine", "weights": "uniform"},
])  # fmt: skip
def test_fold_scores_are_those_of_scikit_learn(metric: str, params: dict[str, Any]) -> None:
    """Trap: trusting one library. Here scaler, k-NN and scorer are all theirs, fitted in each fold."""
    frame = numbers()
    comparison = run(frame, metric=metric, folds=4)
    plan = draw_up(frame, "kind", drop=(), seed=0, test_size=1 / 3, folds=4, metric=metric)
    theirs = make_pipeline(StandardScaler(), TheirNeighbours(algorithm="brute", **params))
    X, y = plan.X[plan.train], plan.y[plan.train]
    expected = [get_scorer(METRICS[metric].scorer)(theirs.fit(X[a], y[a]), X[b], y[b]) for a, b in plan.folds]
    (row,) = rows_of(comparison, **params)
    assert row["fold_scores"] == pytest.approx(expected, abs=1e-9)


def test_the_verdict_is_that_of_scikit_learn_fitted_on_the_training_part() -> None:
    frame = numbers(rows=150)
    comparison = run(frame)
    plan = draw_up(frame, "kind", drop=(), seed=0, test_size=1 / 3, folds=3, metric="accuracy")
    theirs = make_pipeline(
        StandardScaler(), TheirNeighbours(algorithm="brute", **comparison.result["winner"]["params"])
    )
    theirs.fit(plan.X[plan.train], plan.y[plan.train])
    assert comparison.result["test"]["score"] == pytest.approx(theirs.score(plan.X[plan.test], plan.y[plan.test]))
    theirs.fit(plan.X, plan.y)
    assert np.array_equal(comparison.model.predict(frame), plan.classes[theirs.predict(plan.X)])


def test_nothing_leaks_from_held_out_rows() -> None:
    """Trap: scaling and imputing before the split. A planted giant makes the leak visible."""
    frame = numbers(rows=60)
    frame.loc[::7, "width"] = np.nan
    plan = draw_up(frame, "kind", drop=(), seed=0, test_size=1 / 3, folds=3, metric="accuracy")
    giant = plan.train[plan.folds[0][1][0]]
    frame.loc[giant, "length"] = 1e6
    plan = draw_up(frame, "kind", drop=(), seed=0, test_size=1 / 3, folds=3, metric="accuracy")
    X, y = plan.X[plan.train], plan.y[plan.train]
    params = {"n_neighbors": 5, "metric": "euclidean", "weights": "distance"}
    honest, leaky = [], []
    for train, test in plan.folds:
        learner = TheirNeighbours(algorithm="brute", **params)
        steps = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), _ScaleNumbers(2))
        inside = steps.fit(X[train]).transform(X[test])
        honest.append(learner.fit(steps.transform(X[train]), y[train]).score(inside, y[test]))
        everything = steps.fit(X).transform(X)
        leaky.append(learner.fit(everything[train], y[train]).score(everything[test], y[test]))
    (row,) = rows_of(run(frame), **params)
    assert row["fold_scores"] == pytest.approx(honest)
    assert row["fold_scores"] != pytest.approx(leaky)


class _ScaleNumbers(BaseEstimator):  # type: ignore[misc]
    """Standardise the first columns, leave the indicators as they are."""

    def __init__(self, columns: int) -> None:
        self.columns = columns

    def fit(self, X: NDArray[Any], y: object = None) -> _ScaleNumbers:
        self.scaler_ = StandardScaler().fit(X[:, : self.columns])
        return self

    def transform(self, X: NDArray[Any]) -> NDArray[Any]:
        return np.hstack([self.scaler_.transform(X[:, : self.columns]), X[:, self.columns :]])


def test_the_test_part_has_no_say_in_the_choice() -> None:
    """Trap: the test set looked at twice."""
    frame = numbers()
    before = run(frame)
    plan = draw_up(frame, "kind", drop=(), seed=0, test_size=1 / 3, folds=3, metric="accuracy")
    frame.loc[plan.test, ["length", "width"]] = np.random.default_rng(1).normal(size=(len(plan.test), 2)) * 1e3
    after = run(frame)
    assert after.result["candidates"] == before.result["candidates"]
    assert after.result["test"] != before.result["test"]


def test_equal_scores_fall_to_the_simplest() -> None:
    """Trap: ties broken by the order of the work. Two far clouds: every rule with k up to the smaller is perfect."""
    random = np.random.default_rng(0)
    kind = np.repeat(["a", "b"], 120)
    frame = pd.DataFrame({"length": random.normal(size=240) + 1e3 * (kind == "b"), "kind": kind})
    comparison = run(frame)
    perfect = [row["params"] for row in comparison.result["candidates"] if row["mean"] == 1.0]
    chosen = comparison.result["winner"]["params"]
    assert len(perfect) > 20
    assert chosen["n_neighbors"] == max(params["n_neighbors"] for params in perfect)
    assert (chosen["weights"], chosen["metric"]) == ("uniform", "euclidean")
    assert any("The best n_neighbors is the largest tried (101)" in note for note in comparison.notes)
    assert not any("largest tried" in note for note in run(frame.iloc[60:180]).notes)


def test_two_runs_and_any_number_of_threads_give_the_same_bytes(tmp_path: Path) -> None:
    """Trap: answers that change with the thread count, and files that carry a time."""
    frame = mixed()
    for name, n_jobs in (("one", 1), ("two", 2), ("again", None)):
        run(frame, n_jobs=n_jobs, output=tmp_path / name)
    for file in ("model.tonari", "report.html", "result.json"):
        first = (tmp_path / "one" / file).read_bytes()
        assert (tmp_path / "two" / file).read_bytes() == first
        assert (tmp_path / "again" / file).read_bytes() == first


def test_the_majority_class_is_a_reference_and_never_wins() -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"noise": random.normal(size=90), "kind": ["a"] * 60 + ["b"] * 30})
    comparison = run(frame)
    (reference,) = rows_of(comparison, reference=True)
    assert reference["fold_scores"] == pytest.approx([2 / 3] * 3, abs=0.04)
    assert reference["rank"] is None
    assert not reference["chosen"]
    assert any("not told apart from always answering 'a'" in note for note in comparison.notes)
    assert comparison.result["test"]["majority_score"] == pytest.approx(2 / 3)


def test_extra_classifiers_see_the_same_folds() -> None:
    frame = numbers()
    tree = DecisionTreeClassifier(random_state=3)
    comparison = run(frame, extra={"tree": (tree, {"max_depth": np.array([1, 3]), "criterion": ["gini"]})})
    plan = draw_up(frame, "kind", drop=(), seed=0, test_size=1 / 3, folds=3, metric="accuracy")
    X, y = plan.X[plan.train], plan.y[plan.train]
    for depth in (1, 3):
        (row,) = rows_of(comparison, family="tree", max_depth=depth)
        tree.set_params(max_depth=depth)
        assert row["fold_scores"] == pytest.approx([tree.fit(X[a], y[a]).score(X[b], y[b]) for a, b in plan.folds])
        assert row["label"] == f"tree, max_depth={depth}, criterion=gini"
    assert comparison.result["plan"]["candidates"] == len(rows_of(comparison, reference=False))
    leading = [row["family"] for row in comparison.result["candidates"][:3]]
    assert sorted(leading) == ["k-NN", "majority class", "tree"]


def test_an_extra_classifier_is_seeded() -> None:
    """Trap: a forest without a seed gives another result every time."""
    forest = RandomForestClassifier(n_estimators=3, max_features=1)
    first, again, other = (
        run(mixed(), families=(), extra={"forest": forest}, seed=seed).result for seed in (0, 0, 1)
    )  # fmt: skip
    assert first == again
    assert first["candidates"] != other["candidates"]
    assert forest.random_state is None


class _Lucky(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Knows the class from the first column; stands for a foreign classifier that wins."""

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> _Lucky:
        self.classes_ = np.unique(y)
        self.cut_ = (X[y == 0, 0].max() + X[y == 1, 0].min()) / 2
        return self

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        return (X[:, 0] > self.cut_).astype(np.int64)


def hidden() -> pd.DataFrame:
    """One column that tells the class among ten that say nothing."""
    random = np.random.default_rng(0)
    values = random.normal(size=(120, 11))
    return pd.DataFrame({**{f"x{i}": values[:, i] for i in range(11)}, "kind": np.where(values[:, 0] > 0, "b", "a")})


def test_a_foreign_winner_has_no_model_file_and_says_why(tmp_path: Path) -> None:
    """Trap: pickle."""
    comparison = run(hidden(), extra={"lucky": _Lucky()}, output=tmp_path / "out")
    assert comparison.result["winner"]["family"] == "lucky"
    assert comparison.result["files"]["model"] is None
    assert sorted(comparison.paths) == ["report", "result"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["report.html", "result.json"]
    (note,) = [note for note in comparison.notes if note.startswith("No model file: _Lucky")]
    assert "k-NN" in note
    assert "writable_only=True" in note
    assert set(comparison.model.predict(hidden())) == {"a", "b"}
    with pytest.raises(UsageError, match="gives no probabilities"):
        comparison.model.predict_proba(hidden())


def test_writable_only_ranks_foreign_classifiers_and_does_not_choose_them(tmp_path: Path) -> None:
    comparison = run(hidden(), extra={"lucky": _Lucky()}, writable_only=True, output=tmp_path / "out")
    assert comparison.result["winner"]["family"] == "k-NN"
    assert comparison.result["candidates"][0]["family"] == "lucky"
    assert not comparison.result["candidates"][0]["chosen"]
    assert (tmp_path / "out" / "model.tonari").exists()
    assert any("scored higher by cross-validation" in note for note in comparison.notes)
    with pytest.raises(UsageError, match="no candidate to choose"):
        run(hidden(), families=(), extra={"lucky": _Lucky()}, writable_only=True)


def test_a_tonari_classifier_given_as_extra_can_be_written(tmp_path: Path) -> None:
    from tonari.neighbors import KNeighborsClassifier

    comparison = run(
        numbers(), families=(), extra={"mine": (KNeighborsClassifier(), {"n_neighbors": [2, 4]})}, output=tmp_path / "o"
    )
    assert comparison.result["winner"]["label"].startswith("mine, n_neighbors=")
    assert (tmp_path / "o" / "model.tonari").exists()


class _Broken(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    def __init__(self, works: bool = False) -> None:
        self.works = works

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> _Broken:
        if not self.works:
            raise RuntimeError("no licence\nfor this machine")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        return np.zeros(len(X), dtype=np.int64)


@pytest.mark.filterwarnings("error")
def test_an_extra_classifier_that_fails_is_left_out_and_noted() -> None:
    """Trap: one bad classifier ends the comparison, or vanishes in silence."""
    comparison = run(numbers(), extra={"broken": _Broken()})
    assert not rows_of(comparison, family="broken")
    assert any(note.startswith("broken was left out, because it failed") for note in comparison.notes)
    comparison = run(numbers(), extra={"broken": (_Broken(), {"works": [False, True]})})
    assert [row["params"] for row in rows_of(comparison, family="broken")] == [{"works": True}]
    assert "broken: 1 of 2 settings failed and were left out." in comparison.notes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"families": ["kNN"]}, "no family 'kNN'. Did you mean 'k-NN'"),
        ({"families": []}, "nothing to compare"),
        ({"extra": {"k-NN": LogisticRegression()}}, "cannot name an extra classifier"),
        ({"extra": {"a": LogisticRegression}}, "is no scikit-learn classifier"),
        ({"extra": {"a": StandardScaler()}}, "is no scikit-learn classifier but StandardScaler"),
        ({"extra": {"a": (LogisticRegression(), {"c": [1]})}}, "LogisticRegression has no parameter 'c'"),
        ({"extra": {"a": (LogisticRegression(), {"C": []})}}, "must be a non-empty list"),
        ({"extra": {"a": (LogisticRegression(), [1])}}, "is no mapping"),
    ],
)
def test_contenders_that_cannot_take_part_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run(numbers(), **options)


def test_the_table_shows_the_winner_the_reference_and_the_verdict(found: Comparison) -> None:
    text = found.table(4)
    lines = text.splitlines()
    assert lines[0].startswith("table: 90 rows, 3 columns, 2 classes of 'kind'.")
    chosen = next(line for line in lines if line.startswith("*"))
    assert found.result["winner"]["label"] in chosen
    assert sum("k-NN, k=" in line for line in lines) == 3
    assert any("majority class" in line for line in lines)
    assert "... and 157 more in the report." in lines
    assert f"accuracy {found.result['test']['score']:.3f}" in text
    assert repr(found) == found.table()


def test_values_of_parameters_become_json_the_same_every_time() -> None:
    """Trap: addresses of objects in a file that should be the same every time."""
    assert plain(np.float64(0.5)) == 0.5
    assert plain((1, None, np.int64(2))) == [1, None, 2]
    assert plain(float("inf")) == "inf"
    assert plain(DecisionTreeClassifier()) == "DecisionTreeClassifier"
    assert plain(corrected_standard_error) == "corrected_standard_error"
