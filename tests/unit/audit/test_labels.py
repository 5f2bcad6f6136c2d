"""Wrong labels: planted ones are found, clean tables stay quiet, the arithmetic is that of plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs
from sklearn.metrics import average_precision_score
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsClassifier

from tonari.audit import find_label_errors


def _planted(y: NDArray[Any], kind: str, seed: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """5 % of the labels replaced: by any other class, or by the next one."""
    rng = np.random.default_rng(seed)
    noisy, classes = y.copy(), len(np.unique(y))
    chosen = rng.permutation(len(y))[: round(0.05 * len(y))]
    step = rng.integers(1, classes, len(chosen)) if kind == "uniform" else 1
    noisy[chosen] = (y[chosen] + step) % classes
    return noisy, noisy != y


@pytest.mark.parametrize("kind", ["uniform", "next class"])
@pytest.mark.parametrize("load", [load_digits, load_wine])
def test_planted_labels_are_found(kind: str, load: Any) -> None:
    X, y = load(return_X_y=True)
    noisy, wrong = _planted(y, kind, 0)
    found = find_label_errors(X, noisy)
    spread = X.std(axis=0)
    shares = cross_val_predict(KNeighborsClassifier(5), X / np.where(spread, spread, 1), noisy, cv=5,
                               method="predict_proba")  # fmt: skip
    plain = average_precision_score(wrong, -shares[np.arange(len(y)), noisy])
    ours = average_precision_score(wrong, found.scores)
    assert ours > max(0.93, plain + 0.02)
    low, high = found.noise_interval
    assert low < 0.05 < high
    if load is load_digits:
        assert wrong[found.suspects].mean() > 0.85
        assert wrong[found.suspects].sum() > 0.8 * wrong.sum()
        assert np.mean(found.likely[wrong] == y[wrong]) > 0.95


@pytest.mark.parametrize("load", [load_digits, load_iris, load_wine])
def test_clean_tables_stay_quiet(load: Any) -> None:
    X, y = load(return_X_y=True)
    assert len(find_label_errors(X, y).suspects) <= 2


def test_overlap_is_not_taken_for_wrong_labels() -> None:
    """Two Gaussians of Bayes error 16 %: many class outliers, nearly all of them expected."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 2000)
    X = rng.normal(size=(2000, 2)) + 2.0 * y[:, np.newaxis] * [1, 0]
    found = find_label_errors(X, y)
    assert len(found.class_outliers) > 200
    assert found.expected_from_overlap > 0.8 * len(found.class_outliers)
    assert len(found.suspects) < 0.02 * len(y)
    nothing = find_label_errors(X, rng.permutation(y))
    assert np.isnan(nothing.noise)
    assert len(nothing.suspects) == 0
    assert "cannot be told from overlap" in str(nothing)


def test_equal_rows_do_not_vouch_for_one_another() -> None:
    """Trap 15: twenty copies of one mislabelled row are one wrong opinion, not twenty right ones."""
    X, y = make_blobs(300, centers=[[0, 0], [10, 0]], random_state=0)
    copies = np.repeat(X[:1], 30, axis=0)
    X, y = np.r_[X, copies], np.r_[y, np.full(30, 1 - y[0])]
    y[0] = 1 - y[0]
    found = find_label_errors(X, y)
    assert set(found.ranking[:31].tolist()) == {0, *range(300, 330)}
    assert all(one["row"] not in {0, *range(300, 330)} for one in found.evidence(0))


def test_class_outliers_are_counted_as_the_definition_says() -> None:
    """More than r of k neighbours of other classes; with classes of equal size there is nothing to correct."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(80, 2)), np.arange(80) % 2
    distances = np.linalg.norm(X[:, np.newaxis] - X, axis=2)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1)[:, :7]
    others = (y[nearest] != y[:, np.newaxis]).sum(axis=1)
    for r in (2, 3, 5):
        found = find_label_errors(X, y, k=7, r=r, scaling="none")
        assert found.class_outliers.tolist() == np.flatnonzero(others > r).tolist()
    assert [one["row"] for one in found.evidence(5)] == nearest[5].tolist()


def test_class_shares_are_corrected_for() -> None:
    """A rare class inside a frequent one: its rows are outliers by count, not by what the shares lead one to expect."""
    rng = np.random.default_rng(0)
    y = (np.arange(1000) < 100).astype(int)
    X = rng.normal(size=(1000, 2))
    X[y == 1] *= 0.5
    rare = set(np.flatnonzero(y == 1).tolist())
    corrected = set(find_label_errors(X, y).class_outliers.tolist())
    assert len(corrected & rare) < 0.5 * len(rare)


def test_names_threads_and_order_change_nothing() -> None:
    X, y = load_wine(return_X_y=True)
    noisy = _planted(y, "uniform", 1)[0]
    first = find_label_errors(X, noisy)
    again = find_label_errors(X, np.array(["c", "a", "b"])[noisy], n_jobs=1)
    np.testing.assert_allclose(first.scores, again.scores, rtol=1e-9, atol=1e-12)
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = find_label_errors(X[order], noisy[order])
    np.testing.assert_allclose(shuffled.scores, first.scores[order], rtol=1e-7, atol=1e-9)


def test_what_cannot_be_judged() -> None:
    with pytest.raises(ValueError, match="one class only"):
        find_label_errors([[0.0], [1.0]], ["a", "a"])
    with pytest.raises(ValueError, match="All rows are equal"):
        find_label_errors([[0.0], [0.0]], ["a", "b"])
    with pytest.raises(ValueError, match="one label for each row"):
        find_label_errors([[0.0], [1.0]], ["a"])
