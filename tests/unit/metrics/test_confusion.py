"""The confusion matrix and what follows from its counts; scikit-learn is the referee."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, precision_recall_fscore_support

from tonari.metrics import Confusion


@pytest.fixture
def pair() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = rng.choice(["x", "y", "z"], 200, p=[0.6, 0.3, 0.1])
    return truth, np.where(rng.random(200) < 0.7, truth, rng.choice(["x", "y", "z"], 200))


def test_counts_and_measures_are_scikit_learns(pair: tuple[np.ndarray, np.ndarray]) -> None:
    truth, answer = pair
    ours = Confusion.from_predictions(truth, answer)
    assert_array_equal(ours.counts, confusion_matrix(truth, answer))
    precision, recall, f1, rows = precision_recall_fscore_support(truth, answer)
    assert_allclose(ours.precision, precision)
    assert_allclose(ours.recall, recall)
    assert_allclose(ours.f1, f1)
    assert [one["rows"] for one in ours.per_class()] == rows.tolist()
    assert ours.accuracy == pytest.approx(np.mean(truth == answer))
    assert ours.balanced_accuracy == pytest.approx(balanced_accuracy_score(truth, answer))


def test_truth_is_in_rows() -> None:
    ours = Confusion.from_predictions(["a", "a", "a", "b"], ["b", "b", "a", "b"])
    assert ours.counts.tolist() == [[1, 2], [0, 1]]
    assert ours.most_confused(5) == [("a", "b", 2, pytest.approx(2 / 3))]


def test_what_is_undefined_is_none_and_not_zero() -> None:
    ours = Confusion.from_predictions(["a", "b"], ["a", "a"], classes=["a", "b", "c"])
    a, b, c = ours.per_class()
    assert (a["precision"], a["recall"]) == (0.5, 1.0)
    assert (b["precision"], b["recall"], b["f1"]) == (None, 0.0, 0.0)
    assert (c["precision"], c["recall"], c["f1"], c["rows"]) == (None, None, None, 0)
    assert ours.balanced_accuracy == 0.5


def test_classes_give_the_order() -> None:
    ours = Confusion.from_predictions([1, 2, 2], [1, 1, 2], classes=[2, 1])
    assert ours.counts.tolist() == [[1, 1], [0, 1]]
    assert [one["label"] for one in ours.per_class()] == ["2", "1"]


def test_most_confused_pairs_come_in_a_stable_order(pair: tuple[np.ndarray, np.ndarray]) -> None:
    ours = Confusion.from_predictions(*pair)
    pairs = ours.most_confused(100)
    assert [one.rows for one in pairs] == sorted((one.rows for one in pairs), reverse=True)
    assert sum(one.rows for one in pairs) == ours.counts.sum() - ours.counts.trace()
    assert all(one.truth != one.prediction and one.rows > 0 for one in pairs)
    tied = Confusion.from_predictions(["a", "b", "c"], ["b", "a", "a"]).most_confused(2)
    assert [(one.truth, one.prediction) for one in tied] == [("a", "b"), ("b", "a")]
