"""Before anything is fitted: the table, its classes, the part set aside for the test, and the folds."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from tonari.base.errors import DataError, UsageError
from tonari.model_selection.judge import METRICS, Metric
from tonari.tables import Column, Schema, Table, read_table
from tonari.tables.frames import label
from tonari.tables.names import did_you_mean, listed

#: Accuracy is defined on a held-out part that lacks a rare class: folds are not reduced below this for its sake.
FEWEST_FOLDS_FOR_ACCURACY = 5
#: From this many rows on, a column that counts 1, 2, 3, ... down the table is taken for row numbers.
ROWS_FOR_ROW_NUMBERS = 10
#: A text column with more categories is left out: one-hot it would take more memory than all others together.
MOST_LEVELS = 1000


@dataclass(frozen=True)
class Plan:
    """What is decided before anything is fitted.

    Attributes
    ----------
    table : dict
        The ``"data"`` part of a result.
    schema : Schema
    classes : ndarray
        Class labels, sorted: int64, float64 or text.
    X : ndarray of float64 of shape (rows, columns)
    y : ndarray of int64
        Positions in `classes`.
    train, test : ndarray of int64
        Row numbers, ascending.
    folds : list of (ndarray, ndarray)
        Positions within `train`: a training and a held-out part for each fold.
    seed : int
    metric : Metric
    notes : list of str
    """

    table: dict[str, Any]
    schema: Schema
    classes: NDArray[Any]
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    train: NDArray[np.int64]
    test: NDArray[np.int64]
    folds: list[tuple[NDArray[np.int64], NDArray[np.int64]]]
    seed: int
    metric: Metric
    notes: list[str]

    @property
    def labels(self) -> list[str]:
        """The classes as text."""
        return [label(value) for value in self.classes]

    @property
    def majority(self) -> int:
        """The most frequent class of the training part."""
        return int(np.argmax(np.bincount(self.y[self.train])))

    @property
    def smallest_training_part(self) -> int:
        """Rows in the smallest training part of the folds."""
        return min(len(train) for train, _ in self.folds)


def draw_up(
    data: Any, target: str | None, *, drop: Sequence[str], seed: int, test_size: float, folds: int, metric: str
) -> Plan:
    """Read and check the table, set the test part aside and cut the rest into folds.

    Parameters
    ----------
    data : path, Table, data frame, mapping of arrays, or (X, y)
    target : str or None
    drop : sequence of str
        Columns to leave out.
    seed : int
    test_size : float
        Share of rows set aside.
    folds : int
    metric : str

    Returns
    -------
    Plan
    """
    chosen = METRICS.get(metric)
    if chosen is None:
        raise UsageError(
            f"There is no metric {metric!r}.", did_you_mean(metric, METRICS) or f"One of {listed(METRICS)}."
        )
    if not 0 < test_size < 1:
        raise UsageError(f"The share of rows for the test lies between 0 and 1: got {test_size}.", "1/3 is usual.")
    if folds < 2:
        raise UsageError(f"Cross-validation needs at least 2 folds: got {folds}.", "10 is usual.")
    if not 0 <= seed < 2**32:
        raise UsageError(f"The seed is a whole number from 0 to 4294967295: got {seed}.")
    table, target, name, digest = _table(data, target)
    answer = table.target(target)
    if target in drop:
        raise UsageError(f"The column {target!r} is the target and cannot be dropped.")
    kept = table.drop(drop)
    schema = _schema(kept, target)
    classes, y = np.unique(answer, return_inverse=True)
    y = y.reshape(-1).astype(np.int64)
    rows = np.bincount(y, minlength=len(classes))
    _check_classes(table.source, target, [label(value) for value in classes], rows, chosen)
    X = schema.encode(kept)
    train, test = _set_aside(y, test_size, seed)
    notes = schema.notes
    notes += _copies_of_target(schema, X, y)
    notes += _copies_across(X, train, test)
    parts = _cut(y[train], [label(value) for value in classes], folds, chosen, seed, notes, target)
    absent = [label(classes[i]) for i in range(len(classes)) if not (y[test] == i).any()]
    if absent:
        notes.append(
            f"The test part holds no row of {_classes(absent)}: nothing is known about how they are recognised."
        )
    described = {
        "name": name,
        "sha256": digest,
        "rows": table.n_rows,
        "target": target,
        "columns": schema.describe(),
        "classes": [{"label": label(value), "rows": int(count)} for value, count in zip(classes, rows, strict=True)],
    }
    return Plan(described, schema, classes, X, y, train, test, parts, seed, chosen, notes)


def _table(data: Any, target: str | None) -> tuple[Table, str, str, str]:
    """The table with its target in it, the target's name, the table's name and its SHA-256."""
    if isinstance(data, (str, Path)):
        if target is None:
            raise UsageError(f"Which column of {data} holds the classes?", "Name it as the target.")
        table = read_table(data)
        return table, target, Path(data).name, _hash_of_file(Path(data))
    if isinstance(data, tuple):
        if len(data) != 2:
            raise UsageError(f"A pair (X, y) was expected: got {len(data)} parts.")
        name = target or str(getattr(data[1], "name", None) or "target")
        table = _joined(Table.from_frame(data[0]), data[1], name)
        return table, name, "table", _hash_of_table(table)
    if target is None:
        raise UsageError("Which column holds the classes?", "Name it as the target, or give a pair (X, y).")
    table = Table.from_frame(data)
    return table, target, Path(table.source).name if isinstance(data, Table) else "table", _hash_of_table(table)


def _joined(table: Table, y: Any, name: str) -> Table:
    if name in table.columns:
        raise UsageError(f"X has a column {name!r} already.", "Give y another name as the target.")
    values = Table.from_frame({name: y})
    if values.n_rows != table.n_rows:
        raise DataError(f"X has {table.n_rows:,} rows and y has {values.n_rows:,}.", "They must be as many.")
    return Table(
        [*table.names, name], {**table.columns, **values.columns}, {**table.kinds, **values.kinds}, table.source,
        {**table.origins, **values.origins}, {**table.notes, **values.notes}, table.row_numbers, table.line_of,
    )  # fmt: skip


def _hash_of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _hash_of_table(table: Table) -> str:
    digest = hashlib.sha256()
    for name in table.names:
        column = table.columns[name]
        # Lengths are written first, so that no two tables spell the same bytes.
        parts = [column.astype("<f8").tobytes()] if column.dtype != object else [
            b"\xff" if value is None else value.encode("utf-8", "surrogatepass") for value in column
        ]  # fmt: skip
        for part in [name.encode("utf-8", "surrogatepass"), table.kinds[name].encode(), *parts]:
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part)
    return digest.hexdigest()


def _schema(table: Table, target: str) -> Schema:
    """The schema of the table, without columns that only number the rows or that hold too many categories."""
    learned = Schema.learn(table, target)
    columns = []
    for column in learned.all_columns:
        reason = _reason_to_leave_out(table, column) if column.used else ""
        if reason:
            column = replace(column, used=False, note=f"Column {column.name!r} was left out: {reason}.")
        columns.append(column)
    if not any(column.used for column in columns):
        raise DataError(f"{table.source} has no column to learn from. {' '.join(column.note for column in columns)}")
    return replace(learned, all_columns=tuple(columns))


def _reason_to_leave_out(table: Table, column: Column) -> str:
    if len(column.levels) > MOST_LEVELS:
        return f"it holds {len(column.levels):,} different texts, and each of them would become a column"
    values = table.columns[column.name]
    if column.kind == "numeric" and len(values) >= ROWS_FOR_ROW_NUMBERS and bool((np.diff(values) == 1).all()):
        return "it only numbers the rows"
    return ""


def _check_classes(source: str, target: str, labels: list[str], rows: NDArray[np.int64], metric: Metric) -> None:
    if len(labels) < 2:
        found = f"only one class, {labels[0]!r}, in all {int(rows.sum()):,} rows" if labels else "no rows"
        raise DataError(f"The target column {target!r} of {source} holds {found}.", "Two classes at least are needed.")
    rare = [name for name, count in zip(labels, rows, strict=True) if count < 2]
    if rare:
        raise DataError(
            f"{_classes(rare, 'Class')} of the target column {target!r} of {source} "
            f"{'has' if len(rare) == 1 else 'have'} one row only: too few to learn from and be judged on.",
            "Remove such rows, give them another class, or add more of them.",
        )
    if metric.name == "roc_auc" and len(labels) != 2:
        raise UsageError(
            f"The metric roc_auc is for two classes; {target!r} has {len(labels)}.",
            "Use accuracy, balanced_accuracy or f1.",
        )


def _set_aside(y: NDArray[np.int64], test_size: float, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    try:
        train, test = next(StratifiedShuffleSplit(1, test_size=test_size, random_state=seed).split(y, y))
    except ValueError as error:
        raise DataError(
            f"{len(y):,} rows are too few to set {test_size:.3g} of them aside with every class in both parts.",
            "Add rows, merge classes, or choose another share for the test.",
        ) from error
    return np.sort(train).astype(np.int64), np.sort(test).astype(np.int64)


def _cut(
    y: NDArray[np.int64], labels: list[str], folds: int, metric: Metric, seed: int, notes: list[str], target: str
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Stratified folds of the training part; fewer than asked where a class has fewer rows than folds."""
    rows = np.bincount(y, minlength=len(labels))
    lonely = [labels[i] for i in np.flatnonzero(rows < 2)]
    if lonely:
        raise DataError(
            f"After the test part is set aside, fewer than two rows of {_classes(lonely)} of {target!r} are left: "
            "too few for cross-validation.",
            "Remove such rows, give them another class, add more of them, or set fewer rows aside.",
        )
    least = FEWEST_FOLDS_FOR_ACCURACY if metric.name == "accuracy" else 2
    used = max(min(folds, int(rows.min())), min(folds, least, int(rows.max())))
    small = [labels[i] for i in np.flatnonzero(rows < folds)]
    if small:
        said = (
            f"{_classes(small, 'Class')} of {target!r} {'has' if len(small) == 1 else 'have'} fewer rows to learn from "
            f"than the {folds} folds asked for"
        )
        said += f": {used} are used." if used < folds else "."
        if rows.min() < used:
            said += " Some held-out parts have no row of a rare class."
        notes.append(said)
    with warnings.catch_warnings():
        # The note above says it in words that fit the table.
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        splits = list(StratifiedKFold(used, shuffle=True, random_state=seed).split(y, y))
    return [(np.sort(train).astype(np.int64), np.sort(test).astype(np.int64)) for train, test in splits]


def _copies_of_target(schema: Schema, X: NDArray[np.float64], y: NDArray[np.int64]) -> list[str]:
    """Columns that spell the class in another way: as many values as classes, and each value in one class only."""
    notes = []
    classes = int(y.max()) + 1
    for position, name in enumerate(schema.names):
        values = X[:, position]
        distinct, codes = np.unique(values[~np.isnan(values)], return_inverse=True)
        if len(distinct) != classes:
            continue
        pairs = np.unique(np.column_stack([codes.reshape(-1), y[~np.isnan(values)]]), axis=0)
        if len(pairs) == classes:
            notes.append(
                f"Column {name!r} says the same as the target in every row. If it is not known before the class is, "
                "drop it: the scores mean nothing otherwise."
            )
    return notes


def _copies_across(X: NDArray[np.float64], train: NDArray[np.int64], test: NDArray[np.int64]) -> list[str]:
    rows = np.ascontiguousarray(X + 0.0)
    keys = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).reshape(-1)
    known = set(keys[train].tolist())
    count = sum(key in known for key in keys[test].tolist())
    if count == 0:
        return []
    return [
        f"{count:,} of the {len(test):,} test rows {'has' if count == 1 else 'have'} the same values as a training row "
        "in every column. If the same thing was recorded twice, the scores are too hopeful."
    ]


def _classes(labels: list[str], word: str = "class") -> str:
    return f"{word if len(labels) == 1 else word + 'es'} {listed(labels)}"
