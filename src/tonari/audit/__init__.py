"""Questions about the data, answered by neighbours: wrong labels, duplicates, conflicts, leakage, rows out of range."""

from tonari.audit.duplicates import Duplicates, Leakage, find_duplicates, find_leakage
from tonari.audit.labels import LabelErrors, find_label_errors
from tonari.audit.range import OutOfRange, find_out_of_range

__all__ = [
    "Duplicates",
    "LabelErrors",
    "Leakage",
    "OutOfRange",
    "find_duplicates",
    "find_label_errors",
    "find_leakage",
    "find_out_of_range",
]
