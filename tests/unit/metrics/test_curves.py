"""ROC and precision-recall points: scikit-learn is the referee; thinning keeps the area."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve

from tonari.base.errors import UsageError
from tonari.metrics import PrecisionRecallCurve, RocCurve


def _scores(rows: int, separation: float, *, ties: bool, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = np.where(rng.random(rows) < 0.3, "yes", "no")
    score = rng.standard_normal(rows) + separation * (truth == "yes")
    return truth, np.round(score, 1) if ties else score


def _step_area(recall: np.ndarray, precision: np.ndarray) -> float:
    return float(np.sum(np.diff(recall) * precision[1:]))


def test_short_curves_are_scikit_learns() -> None:
    truth, score = _scores(300, 1.0, ties=True)
    ours = RocCurve.from_scores(truth, score, positive="yes")
    fpr, tpr, _ = roc_curve(truth, score, pos_label="yes")
    assert_array_equal(ours.fpr, fpr)
    assert_array_equal(ours.tpr, tpr)
    assert ours.auc == pytest.approx(roc_auc_score(truth == "yes", score))
    pr = PrecisionRecallCurve.from_scores(truth, score, positive="yes")
    precision, recall, _ = precision_recall_curve(truth, score, pos_label="yes")
    assert_array_equal(pr.recall, recall[::-1])
    assert_array_equal(pr.precision, precision[::-1])


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("separation", [-0.5, 0.0, 1.0, 4.0])
@pytest.mark.parametrize("rows", [2_000, 50_000])
def test_thinning_keeps_the_area_and_stays_on_the_curve(rows: int, separation: float, ties: bool) -> None:
    truth, score = _scores(rows, separation, ties=ties)
    ours = RocCurve.from_scores(truth, score, positive="yes")
    fpr, tpr, _ = roc_curve(truth, score, pos_label="yes", drop_intermediate=False)
    assert len(ours.fpr) <= 500
    assert (ours.fpr[0], ours.tpr[0], ours.fpr[-1], ours.tpr[-1]) == (0, 0, 1, 1)
    assert np.trapezoid(ours.tpr, ours.fpr) == pytest.approx(ours.auc, abs=1e-5)
    assert set(zip(ours.fpr, ours.tpr, strict=True)) <= set(zip(fpr, tpr, strict=True))
    # Nothing that could be seen is lost: the whole curve stays within half a percent of the kept one.
    kept = np.interp(fpr + tpr, ours.fpr + ours.tpr, ours.tpr)
    assert np.abs(kept - tpr).max() < 0.005

    pr = PrecisionRecallCurve.from_scores(truth, score, positive="yes")
    assert len(pr.recall) <= 500
    assert pr.average_precision == pytest.approx(average_precision_score(truth == "yes", score))
    assert _step_area(pr.recall, pr.precision) == pytest.approx(pr.average_precision, abs=1e-3)
    assert (np.diff(pr.recall) >= 0).all()


def test_max_points_is_kept() -> None:
    truth, score = _scores(5_000, 1.0, ties=False)
    for points in (2, 3, 10, 101):
        assert 2 <= len(RocCurve.from_scores(truth, score, "yes", points).fpr) <= points
    with pytest.raises(UsageError, match="max_points=1"):
        RocCurve.from_scores(truth, score, "yes", 1)


def test_one_class_has_no_curve() -> None:
    for curve in (RocCurve, PrecisionRecallCurve):
        with pytest.raises(UsageError, match="on all rows or on none"):
            curve.from_scores(["no", "no"], [0.1, 0.2], "yes")


def test_curves_become_json() -> None:
    truth, score = _scores(50, 1.0, ties=True)
    roc = json.loads(json.dumps(RocCurve.from_scores(truth, score, "yes").to_json(), allow_nan=False))
    assert set(roc) == {"positive", "fpr", "tpr", "auc"}
    pr = json.loads(json.dumps(PrecisionRecallCurve.from_scores(truth, score, "yes").to_json(), allow_nan=False))
    assert set(pr) == {"positive", "recall", "precision", "ap"}
