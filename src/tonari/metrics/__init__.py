"""Measures, intervals, curves and displays."""

from __future__ import annotations

from tonari.metrics.confusion import Confusion
from tonari.metrics.curves import PrecisionRecallCurve, RocCurve
from tonari.metrics.displays import NeighborCurveDisplay
from tonari.metrics.intervals import (
    balanced_accuracy_interval,
    bootstrap_interval,
    clopper_pearson,
    corrected_paired_t,
    corrected_standard_error,
    delong_interval,
    fold_interval,
    macro_f1_interval,
    wilson,
)
from tonari.metrics.regions import DecisionRegionDisplay

__all__ = [
    "Confusion",
    "DecisionRegionDisplay",
    "NeighborCurveDisplay",
    "PrecisionRecallCurve",
    "RocCurve",
    "balanced_accuracy_interval",
    "bootstrap_interval",
    "clopper_pearson",
    "corrected_paired_t",
    "corrected_standard_error",
    "delong_interval",
    "fold_interval",
    "macro_f1_interval",
    "wilson",
]
