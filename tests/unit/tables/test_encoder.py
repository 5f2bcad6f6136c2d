"""The encoder: scaled numbers, filled gaps, a column for each category, and nothing learned from held-out rows."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tonari.base.errors import ModelFileError, UsageError
from tonari.tables import Schema, Table, TableEncoder

NAN = np.nan


def mixed(rows: int = 40, seed: int = 0) -> np.ndarray:
    """Two columns of numbers (the first with gaps), two of categories (the first with gaps and an unknown level)."""
    rng = np.random.default_rng(seed)
    matrix = np.column_stack(
        [rng.normal(5, 2, rows), rng.normal(0, 1e-3, rows), rng.integers(-1, 3, rows), rng.integers(0, 2, rows)]
    )
    matrix[rng.random(rows) < 0.2, 0] = NAN
    matrix[rng.random(rows) < 0.2, 2] = NAN
    return matrix


def by_hand(train: np.ndarray, test: np.ndarray, categorical: set[int], scale: str) -> np.ndarray:
    """The definition, one value at a time."""
    columns = []
    for i in range(train.shape[1]):
        seen = [value for value in train[:, i] if not np.isnan(value)]
        if i in categorical:
            columns += [[float(v == level) for v in test[:, i]] for level in sorted(set(seen) - {-1.0})]
        else:
            middle = float(np.median(seen)) if seen else 0.0
            mean = sum(seen) / len(seen)
            deviation = (sum((v - mean) ** 2 for v in seen) / (len(seen) - 1)) ** 0.5
            low, width = {
                "standard": (mean, deviation),
                "minmax": (min(seen), max(seen) - min(seen)),
                "none": (0.0, 1.0),
            }[scale]
            columns.append([((middle if np.isnan(v) else v) - low) / width for v in test[:, i]])
        if len(seen) < len(train):
            columns.append([float(np.isnan(v)) for v in test[:, i]])
    return np.array(columns).T


@pytest.mark.parametrize("scale", ["standard", "minmax", "none"])
def test_against_the_definition(scale: str) -> None:
    """Mission A7: standardised with the N - 1 deviation, always fitted on the training part only."""
    matrix = mixed()
    train, test = matrix[:25], matrix[25:]
    encoder = TableEncoder(categorical=[2, 3], scale=scale).fit(train)
    for part in (train, test):
        found = encoder.transform(part)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, by_hand(train, part, {2, 3}, scale), rtol=1e-12, atol=1e-12)
    assert found.shape[1] == len(encoder.get_feature_names_out())


def test_the_deviation_is_over_n_minus_1() -> None:
    """Mission A7; scikit-learn's scaler divides by N."""
    X = np.array([[1.0], [2.0], [4.0]])
    np.testing.assert_allclose(TableEncoder().fit_transform(X).std(ddof=1), 1.0)
    ratio = TableEncoder().fit_transform(X) / StandardScaler().fit_transform(X)
    np.testing.assert_allclose(ratio, (2 / 3) ** 0.5)


def test_rows_seen_by_fit_decide_alone() -> None:
    """Trap 15: a column, level or gap that only held-out rows show leaves no trace."""
    encoder = TableEncoder(categorical=[1]).fit([[1.0, 0.0], [3.0, 2.0]])
    found = encoder.transform([[NAN, 1.0], [1e9, NAN], [2.0, -1.0]])
    half = 2**0.5
    np.testing.assert_allclose(found, [[0, 0, 0], [(1e9 - 2) / half, 0, 0], [0, 0, 0]])
    assert encoder.get_feature_names_out().tolist() == ["x0", "x1_0", "x1_2"]


def test_nothing_leaks_through_a_pipeline() -> None:
    """Trap 15: held-out answers are those of an encoder fitted on the training rows alone."""
    matrix = mixed(60)
    y = (np.nan_to_num(matrix[:, 0]) > 5).astype(int)
    learner = make_pipeline(TableEncoder(categorical=[2, 3]), KNeighborsClassifier(3))
    thirds = [np.arange(20), np.arange(20, 40), np.arange(40, 60)]
    cv = [(np.setdiff1d(np.arange(60), third), third) for third in thirds]
    answers = cross_val_predict(learner, matrix, y, cv=cv)
    encoder = TableEncoder(categorical=[2, 3]).fit(matrix[:40])
    alone = KNeighborsClassifier(3).fit(encoder.transform(matrix[:40]), y[:40])
    np.testing.assert_array_equal(answers[40:], alone.predict(encoder.transform(matrix[40:])))
    # Planted: the same with everything seen by the encoder is another matrix.
    assert not np.array_equal(TableEncoder([2, 3]).fit(matrix).transform(matrix[:40]), encoder.transform(matrix[:40]))


@pytest.mark.parametrize("scale", ["standard", "minmax", "none"])
@pytest.mark.parametrize("value", [0.0, 0.1, 1e9 + 0.1, -1e300])
def test_constant_columns(scale: str, value: float) -> None:
    """Zero, not NaN and not rounding errors blown up; also for new values."""
    train = np.full((7, 1), value)
    encoder = TableEncoder(scale=scale).fit(train)
    expected = 0.0 if scale != "none" else value
    np.testing.assert_array_equal(encoder.transform(train), np.full((7, 1), expected))
    assert encoder.transform([[5.0]])[0, 0] == (0.0 if scale != "none" else 5.0)


def test_small_and_empty_columns() -> None:
    """One value only has no deviation; a fold may hold no value at all of a column that has some elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder = TableEncoder(categorical=[2]).fit([[NAN, 4.0, NAN], [NAN, NAN, NAN]])
        found = encoder.transform([[7.0, NAN, 0.0], [NAN, 6.0, NAN]])
    assert encoder.get_feature_names_out().tolist() == ["x0", "x0_missing", "x1", "x1_missing", "x2_missing"]
    np.testing.assert_array_equal(found, [[0, 0, 0, 1, 0], [0, 1, 0, 0, 1]])
    assert TableEncoder().fit_transform([[3.0]]).tolist() == [[0.0]]


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e160, 1e300, 1.7e308])
@pytest.mark.parametrize("scale", ["standard", "minmax", "none"])
def test_extreme_numbers(size: float, scale: str) -> None:
    """Squares of such numbers overflow or vanish."""
    column = np.array([[-1.0], [0.5], [1.0], [NAN]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = TableEncoder(scale=scale).fit_transform(column * size)
    usual = TableEncoder(scale=scale).fit_transform(column)
    np.testing.assert_allclose(found[:, 0], usual[:, 0] * (size if scale == "none" else 1.0), rtol=1e-12)


def test_far_from_zero() -> None:
    """Trap 1: years, ids and prices."""
    rng = np.random.default_rng(0)
    column = rng.integers(0, 1000, (500, 1)).astype(float)
    near, far = (TableEncoder().fit_transform(column + offset) for offset in (0.0, 1e12))
    np.testing.assert_allclose(far, near, rtol=0, atol=1e-6)


def test_names() -> None:
    schema = Schema.learn(
        Table.from_frame({"size": [1, None, 3], "colour": ["red", "blue", "red"], "ok": [True, False, True]})
    )
    encoder = TableEncoder.for_schema(schema)
    matrix = schema.encode(Table.from_frame({"size": [1, None], "colour": ["red", None], "ok": [True, True]}))
    assert encoder.fit(matrix).get_feature_names_out().tolist() == [
        "size", "size_missing", "colour_red", "colour_missing", "ok_true",
    ]  # fmt: skip
    encoder = TableEncoder().fit([[1.0, NAN], [2.0, 1.0]])
    assert encoder.get_feature_names_out(["a", "b"]).tolist() == ["a", "b", "b_missing"]
    with pytest.raises(ValueError, match="equal to number of features"):
        encoder.get_feature_names_out(["a"])


def test_names_are_all_different() -> None:
    """A data frame of polars refuses two columns of one name."""
    encoder = TableEncoder(feature_names=["size", "size_missing", "size_missing_"]).fit([[NAN, 1, 1], [1, 2, 2]])
    assert encoder.get_feature_names_out().tolist() == ["size", "size_missing", "size_missing_", "size_missing__"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_in_and_out(library: str) -> None:
    frames = pytest.importorskip(library)
    frame = frames.DataFrame({"a": [1.0, 3.0], "b": [0.0, 1.0]})
    out = TableEncoder(categorical=[1], scale="minmax").set_output(transform=library).fit_transform(frame)
    assert isinstance(out, frames.DataFrame)
    assert list(out.columns) == ["a", "b_0", "b_1"]
    np.testing.assert_array_equal(out.to_numpy(), [[0, 1, 0], [1, 0, 1]])


def test_wrong_settings() -> None:
    X = [[0.0, 1.0], [1.0, 0.5]]
    with pytest.raises(UsageError, match="scale='robust'"):
        TableEncoder(scale="robust").fit(X)
    for position in (2, -1):
        with pytest.raises(UsageError, match=f"column {position}; there are 2"):
            TableEncoder(categorical=[position]).fit(X)
    with pytest.raises(UsageError, match="Column 1 is called categorical"):
        TableEncoder(categorical=[1]).fit(X)
    with pytest.raises(UsageError, match="Column 0 is called categorical"):
        TableEncoder(categorical=[0]).fit([[-2.0], [1.0]])
    with pytest.raises(UsageError, match="names 1 categories of column 0"):
        TableEncoder(categorical=[0], level_names={0: ["a"]}).fit([[0.0], [1.0]]).get_feature_names_out()


def fitted() -> TableEncoder:
    return TableEncoder(categorical=[2, 3], scale="minmax").fit(mixed())


def test_state_round_trip() -> None:
    encoder = fitted()
    again = TableEncoder.from_state(encoder.state())
    np.testing.assert_array_equal(again.transform(mixed(seed=1)), encoder.transform(mixed(seed=1)))
    assert again.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()
    assert clone(again).get_params() == again.get_params()
    encoder.state()["center"][:] = 9
    np.testing.assert_array_equal(again.transform(mixed(seed=1)), encoder.transform(mixed(seed=1)))


def test_state_with_a_schema() -> None:
    table = Table.from_frame({"size": [1, 2, 4], "colour": ["red", "blue", "red"]})
    schema = Schema.learn(table)
    encoder = TableEncoder.for_schema(schema).fit(schema.encode(table))
    again = TableEncoder.from_state(encoder.state(), schema=schema)
    assert again.get_feature_names_out().tolist() == ["size", "colour_blue", "colour_red"]
    for frame in ({"size": [1, 2, 4]}, {"size": [1, 2, 4], "colour": [1, 2, 2]}):
        with pytest.raises(ModelFileError, match="does not fit its columns"):
            TableEncoder.from_state(encoder.state(), schema=Schema.learn(Table.from_frame(frame)))
    state = encoder.state()
    state["level_codes"] = np.array([0, 7])
    with pytest.raises(ModelFileError, match="category without a name"):
        TableEncoder.from_state(state, schema=schema)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("shape", np.array([4])), ("shape", np.array([4, 9])), ("shape", np.array([5, 0])),
        ("shape", np.array([-1, 0])), ("shape", np.array([4.0, 0.0])), ("center", np.zeros(3)),
        ("center", np.array([0, 0, 0, NAN])),
        ("center", np.zeros((4, 1))), ("spread", -np.ones(4)), ("unit", np.zeros(4)), ("had_missing", np.ones(4)),
        ("categorical", np.array([4])), ("categorical", np.array([-1])), ("categorical", np.array([[2, 3]])),
        ("categorical", np.array([3])), ("level_indptr", np.array([0, 0, 0, 3])),
        ("level_indptr", np.array([1, 1, 1, 3, 5])), ("level_indptr", np.array([0, 0, 4, 3, 5])),
        ("level_indptr", np.array([0, 0, 0, 3, 9])), ("level_codes", np.array([0, 1, 2, 0])),
        ("level_codes", np.array([0, 1, -2, 0, 1])), ("level_codes", np.array([0, 2, 1, 0, 1])),
    ],
)  # fmt: skip
def test_damaged_state_is_refused(name: str, array: np.ndarray) -> None:
    """Trap 11: whole by its checksum, and yet not what `state` gives."""
    state = fitted().state()
    TableEncoder.from_state(state)
    with pytest.raises(ModelFileError):
        TableEncoder.from_state({**state, name: array})
    with pytest.raises(ModelFileError, match=f"lacks {name}"):
        TableEncoder.from_state({key: value for key, value in state.items() if key != name})
