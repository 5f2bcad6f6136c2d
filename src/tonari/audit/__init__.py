"""Questions about the data, answered by neighbours: wrong labels, duplicates, leakage, rows out of range, bounds."""

from tonari.audit.bayes import BayesErrorBounds, bayes_error_bounds
from tonari.audit.duplicates import Duplicates, Leakage, find_duplicates, find_leakage
from tonari.audit.labels import LabelErrors, find_label_errors
from tonari.audit.range import OutOfRange, find_out_of_range

__all__ = [
    "BayesErrorBounds",
    "Duplicates",
    "LabelErrors",
    "Leakage",
    "OutOfRange",
    "bayes_error_bounds",
    "find_duplicates",
    "find_label_errors",
    "find_leakage",
    "find_out_of_range",
]
