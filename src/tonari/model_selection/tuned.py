"""The model that `compare` hands over: columns, preparation and learner in one piece, from a table to labels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from tonari.base.errors import ModelFileError, UsageError
from tonari.neighbors import KNeighborsClassifier
from tonari.tables import Schema, Table, TableEncoder, read_table
from tonari.tables.frames import label

# Learners that a file may hold, by the name it gives them. Their to_file_parts() and from_file_parts() do the rest.
LEARNERS: dict[str, Any] = {"neighbors.KNeighborsClassifier": KNeighborsClassifier}


class TunedModel:
    """A fitted classifier that takes tables and gives labels.

    Parameters
    ----------
    schema : Schema
        The columns it was trained with.
    pipeline : Pipeline
        Steps ``"encode"`` (a `TableEncoder`) and ``"learn"`` (a classifier), fitted on the schema's matrix and on class
        numbers 0, 1, ...
    classes : ndarray of shape (n_classes,)
        What the class numbers stand for: int64, float64 or text.
    chosen : mapping
        How it was chosen: the parts ``data``, ``plan``, ``winner``, ``cross_validation`` and ``test`` of a result.

    Examples
    --------
    >>> from tonari.model_selection import compare
    >>> size = [1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16]
    >>> model = compare({"size": size, "kind": ["small"] * 6 + ["large"] * 6}, "kind", quiet=True).model
    >>> model.predict({"size": [2.5, 14.5]}).tolist()
    ['small', 'large']
    """

    def __init__(self, schema: Schema, pipeline: Pipeline, classes: NDArray[Any], chosen: Mapping[str, Any]) -> None:
        self.schema = schema
        self.pipeline = pipeline
        self.classes_ = classes
        self.chosen = dict(chosen)

    @property
    def target(self) -> str:
        """Name of the column that it predicts."""
        return str(self.schema.target)

    @property
    def labels(self) -> list[str]:
        """The classes as text, in the order of `classes_`."""
        return [label(value) for value in self.classes_]

    @property
    def writable(self) -> bool:
        """Whether it can be written to a file: its learner is one of tonari's own."""
        return type(self.pipeline["learn"]) in LEARNERS.values()

    def table(self, data: Any) -> Table:
        """Take over or read what is to be predicted.

        Parameters
        ----------
        data : path, Table, data frame, mapping of arrays, or array of shape (rows, columns)

        Returns
        -------
        Table
        """
        if isinstance(data, (str, Path)):
            return read_table(data, kinds=self.schema.kinds)
        return Table.from_frame(data)

    def predict(self, data: Any, notes: list[str] | None = None) -> NDArray[Any]:
        """Predict the class of every row.

        Parameters
        ----------
        data : path, Table, data frame, mapping of arrays, or array of shape (rows, columns)
            The columns of the training table, in any order; others are ignored, and so is the target.
        notes : list of str, default=None
            Filled with what a reader should know: columns ignored, categories never seen before.

        Returns
        -------
        ndarray of shape (rows,)
            Labels of the training table.
        """
        return self._labels(self._encoded(data, notes))

    def predict_proba(self, data: Any, notes: list[str] | None = None) -> NDArray[np.float64]:
        """Predict how likely each class is, row by row.

        Parameters
        ----------
        data : path, Table, data frame, mapping of arrays, or array of shape (rows, columns)
        notes : list of str, default=None
            As for `predict`.

        Returns
        -------
        ndarray of shape (rows, n_classes)
            Columns in the order of `classes_`.
        """
        return self._probabilities(self._encoded(data, notes))

    def answer(self, data: Any, notes: list[str] | None = None) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Labels and probabilities at once; the table is read and encoded once.

        Parameters
        ----------
        data : path, Table, data frame, mapping of arrays, or array of shape (rows, columns)
        notes : list of str, default=None
            As for `predict`.

        Returns
        -------
        labels : ndarray of shape (rows,)
        probabilities : ndarray of shape (rows, n_classes)
        """
        matrix = self._encoded(data, notes)
        return self._labels(matrix), self._probabilities(matrix)

    @staticmethod
    def spell(labels: NDArray[Any]) -> list[str]:
        """Labels as text, as the training table had them."""
        return [label(value) for value in labels.tolist()]

    def to_file_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a model file holds of it: a header for JSON, and named arrays.

        Returns
        -------
        header : dict
        arrays : dict of str to ndarray
        """
        learner = self.pipeline["learn"]
        kind = next((kind for kind, known in LEARNERS.items() if type(learner) is known), None)
        if kind is None:
            raise UsageError(
                f"{type(learner).__name__} is none of tonari's own classifiers and cannot be written without pickle.",
                "Keep the model in memory, or choose among tonari's own (writable_only=True).",
            )
        columns = self.schema.to_json()["columns"]
        # Levels may be many; a header must stay small.
        arrays: dict[str, NDArray[Any]] = {
            f"levels/{i}": _texts(column.pop("levels")) for i, column in enumerate(columns) if column["levels"]
        }
        for column in columns:
            column.pop("levels", None)
        arrays["classes"] = _texts(self.classes_) if self.classes_.dtype == object else self.classes_
        arrays |= {f"encoder/{name}": array for name, array in self.pipeline["encode"].state().items()}
        described, own = learner.to_file_parts()
        arrays |= {f"learner/{name}": array for name, array in own.items()}
        header = {
            "columns": columns,
            "target": self.target,
            "learner": {"kind": kind, "header": described},
            "chosen": self.chosen,
        }
        return header, arrays

    @classmethod
    def from_file_parts(cls, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> TunedModel:
        """Rebuild the model from `to_file_parts`, believing nothing.

        Parameters
        ----------
        header : mapping
        arrays : mapping of str to ndarray

        Returns
        -------
        TunedModel

        Raises
        ------
        ModelFileError
            If the parts are not what `to_file_parts` writes.
        """
        columns = [
            {**column, "levels": arrays[f"levels/{i}"].tolist() if f"levels/{i}" in arrays else []}
            for i, column in enumerate(header["columns"])
        ]
        schema = Schema.from_json({"columns": columns, "target": header["target"]})
        classes = arrays["classes"]
        if classes.dtype.kind not in "if":
            classes = _texts(classes)
        if classes.ndim != 1 or len(classes) < 2 or len(np.unique(classes)) != len(classes) or schema.target is None:
            raise ModelFileError("Its classes are not a list of different labels.", section="classes")
        opener = LEARNERS.get(header["learner"]["kind"])
        if opener is None:
            raise ModelFileError("Its learner is not known to this tonari.", "Open it with a newer one.", code="kind")
        encoder = TableEncoder.from_state(_part(arrays, "encoder"), schema=schema)
        learner = opener.from_file_parts(header["learner"]["header"], _part(arrays, "learner"))
        if len(encoder.get_feature_names_out()) != learner.n_features_in_:
            raise ModelFileError("Its learner was fitted on another number of columns.", section="learner")
        if not np.array_equal(learner.classes_, np.arange(len(classes))):
            raise ModelFileError("Its learner knows other classes.", section="learner")
        chosen = header["chosen"]
        if not isinstance(chosen, dict):
            raise ModelFileError("It does not say how it was chosen.")
        return cls(schema, Pipeline([("encode", encoder), ("learn", learner)]), classes, chosen)

    def _encoded(self, data: Any, notes: list[str] | None) -> NDArray[np.float64]:
        return self.schema.encode(self.table(data), notes)

    def _labels(self, matrix: NDArray[np.float64]) -> NDArray[Any]:
        codes = self.pipeline.predict(matrix) if len(matrix) else np.empty(0, dtype=np.int64)
        answer: NDArray[Any] = self.classes_[codes]
        return answer

    def _probabilities(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        if not hasattr(self.pipeline, "predict_proba"):
            raise UsageError(f"{type(self.pipeline['learn']).__name__} gives no probabilities.", "Use predict.")
        if not len(matrix):
            return np.empty((0, len(self.classes_)))
        return np.asarray(self.pipeline.predict_proba(matrix), dtype=np.float64)


def _texts(values: Any) -> NDArray[Any]:
    texts = np.empty(len(values), dtype=object)
    texts[:] = list(values)
    return texts


def _part(arrays: Mapping[str, NDArray[Any]], part: str) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(f"{part}/"): array for name, array in arrays.items() if name.startswith(f"{part}/")}
