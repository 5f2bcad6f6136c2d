"""From the matrix of a schema to the matrix that learners see: scaled numbers, flags, a column for each category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from tonari.base.errors import ModelFileError, UsageError
from tonari.tables.encoder_state import SCALES, checked_state
from tonari.tables.schema import Schema


class TableEncoder(TransformerMixin, BaseEstimator):
    """Scale numbers, fill and flag missing values, and give every category a column of its own.

    Everything is learned from the rows given to `fit`, so that inside a pipeline nothing leaks from held-out rows.
    A column of numbers becomes its scaled values, missing ones replaced by the median, followed by a column of 0 and 1
    that flags them if `fit` saw a missing value there. A column of categories becomes one column of 0 and 1 for each
    category seen by `fit`, and one for missing if `fit` saw that; anything else is zero in all of them.

    Parameters
    ----------
    categorical : sequence of int, default=()
        Positions of the columns that hold categories, as `Schema.encode` writes them: 0, 1, 2, ..., NaN where missing
        and -1 for a category that the schema does not know.
    scale : {"standard", "minmax", "none"}, default="standard"
        Subtract the mean and divide by the standard deviation over N - 1, or map the range to [0, 1], or leave the
        numbers alone. Scaled, a column without spread becomes zero.
    feature_names : sequence of str, default=None
        Names of the columns given to `fit`; ``x0``, ``x1``, ... where not given.
    level_names : mapping of int to sequence of str, default=None
        Names of the categories of a column, by its position; their numbers where not given.

    Attributes
    ----------
    n_features_in_ : int
    unit_, center_, spread_, fill_ : ndarray of float64, shape (n_features,)
        What a column is divided by first (1, unless its numbers are so large or small that squares overflow or vanish);
        then, in that unit: what is subtracted, what the difference is divided by (0 where the column has no spread),
        and what replaces a missing value. Of no meaning for categories.
    had_missing_ : ndarray of bool, shape (n_features,)
        Columns in which `fit` saw a missing value.
    levels_ : list of ndarray of int64
        Categories seen by `fit`, for every column; empty for numbers.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [3.0, 1.0], [np.nan, 1.0]])
    >>> encoder = TableEncoder(categorical=[1], scale="minmax", feature_names=["size", "colour"]).fit(X)
    >>> encoder.transform(X)
    array([[0. , 0. , 1. , 0. ],
           [1. , 0. , 0. , 1. ],
           [0.5, 1. , 0. , 1. ]])
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'size_missing', 'colour_0', 'colour_1']
    """

    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def __init__(
        self, categorical: Sequence[int] = (), *, scale: str = "standard", feature_names: Sequence[str] | None = None,
        level_names: Mapping[int, Sequence[str]] | None = None,
    ) -> None:  # fmt: skip
        self.categorical = categorical
        self.scale = scale
        self.feature_names = feature_names
        self.level_names = level_names

    @classmethod
    def for_schema(cls, schema: Schema, *, scale: str = "standard") -> Self:
        """An encoder for the matrices of a schema, with its names.

        Parameters
        ----------
        schema : Schema
        scale : {"standard", "minmax", "none"}, default="standard"

        Returns
        -------
        TableEncoder
        """
        levels = {i: list(schema.columns[i].levels) for i in schema.categorical}
        return cls(schema.categorical, scale=scale, feature_names=schema.names, level_names=levels)

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn means, deviations, medians and categories.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
        y : ignored

        Returns
        -------
        self
        """
        if self.scale not in SCALES:
            raise UsageError(f"scale={self.scale!r} is not known.", f"Choose one of {', '.join(SCALES)}.")
        matrix = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        columns = np.ascontiguousarray(matrix.T)
        width = len(columns)
        is_categorical = self._is_categorical(width)
        self.unit_, self.center_ = np.ones(width), np.zeros(width)
        self.spread_, self.fill_ = np.zeros(width), np.zeros(width)
        self.had_missing_ = np.isnan(columns).any(axis=1)
        self.levels_: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)] * width
        for i, column in enumerate(columns):
            present = column[~np.isnan(column)] if self.had_missing_[i] else column
            if is_categorical[i]:
                self.levels_[i] = _levels_seen(present, i)
            elif len(present):
                self.unit_[i] = _unit(present)
                self.center_[i], self.spread_[i], self.fill_[i] = _measures(present / self.unit_[i], self.scale)
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Apply what `fit` learned.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of float64, shape (n_rows, n_columns_out)
        """
        check_is_fitted(self)
        matrix = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        is_categorical = self._is_categorical(self.n_features_in_)
        out = np.zeros((len(matrix), self._width_out(is_categorical)), dtype=np.float64)
        at = 0
        for i in range(self.n_features_in_):
            column, missing = matrix[:, i], np.isnan(matrix[:, i])
            if is_categorical[i]:
                for level in self.levels_[i]:
                    out[:, at] = column == level
                    at += 1
            else:
                if self.scale == "none":
                    out[:, at] = np.where(missing, self.fill_[i] * self.unit_[i], column)
                elif self.spread_[i] > 0:
                    filled = np.where(missing, self.fill_[i], column / self.unit_[i])
                    out[:, at] = (filled - self.center_[i]) / self.spread_[i]
                at += 1
            if self.had_missing_[i]:
                out[:, at] = missing
                at += 1
        return out

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Names of the columns that `transform` returns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns given; by default those seen in `fit`, then `feature_names`, then ``x0``, ``x1``, ...

        Returns
        -------
        ndarray of object
        """
        check_is_fitted(self)
        is_categorical = self._is_categorical(self.n_features_in_)
        names: list[str] = []
        for i, name in enumerate(self._names_in(input_features)):
            levels = [f"{name}_{level}" for level in self._level_names(i)] if is_categorical[i] else [name]
            names += [*levels, f"{name}_missing"] if self.had_missing_[i] else levels
        return _texts(_all_different(names))

    def state(self) -> dict[str, NDArray[Any]]:
        """What `fit` learned, as named arrays for a model file; names are not among them.

        Returns
        -------
        dict of str to ndarray
        """
        check_is_fitted(self)
        counts = [len(levels) for levels in self.levels_]
        codes = np.concatenate(self.levels_) if counts else np.empty(0)
        return {
            "shape": np.array([self.n_features_in_, SCALES.index(self.scale)], dtype=np.int64),
            "categorical": np.flatnonzero(self._is_categorical(self.n_features_in_)).astype(np.int64),
            "unit": self.unit_.copy(), "center": self.center_.copy(), "spread": self.spread_.copy(),
            "fill": self.fill_.copy(), "had_missing": self.had_missing_.astype(np.uint8),
            "level_indptr": np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            "level_codes": codes.astype(np.int64),
        }  # fmt: skip

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]], *, schema: Schema | None = None) -> Self:
        """Rebuild a fitted encoder from `state`.

        Parameters
        ----------
        state : mapping of str to ndarray
        schema : Schema, default=None
            Where the names of columns and categories come from.

        Returns
        -------
        TableEncoder

        Raises
        ------
        ModelFileError
            If the arrays do not fit together.
        """
        width, scale = checked_state(state)
        categorical = [int(i) for i in state["categorical"]]
        if schema is None:
            encoder = cls(categorical, scale=scale)
        elif len(schema.columns) == width and schema.categorical == categorical:
            encoder = cls.for_schema(schema, scale=scale)
        else:
            raise ModelFileError("The encoder of the model does not fit its columns.")
        encoder.n_features_in_ = width
        for name in ("unit", "center", "spread", "fill"):
            setattr(encoder, f"{name}_", np.array(state[name], dtype=np.float64))
        encoder.had_missing_ = np.array(state["had_missing"], dtype=bool)
        indptr, codes = state["level_indptr"], state["level_codes"]
        encoder.levels_ = [np.array(codes[indptr[i] : indptr[i + 1]], dtype=np.int64) for i in range(width)]
        _check_level_names(encoder)
        return encoder

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _is_categorical(self, width: int) -> NDArray[np.bool_]:
        chosen = np.zeros(width, dtype=bool)
        for position in self.categorical:
            if not 0 <= position < width:
                raise UsageError(f"categorical names the column {position}; there are {width}, counted from 0.")
            chosen[position] = True
        return chosen

    def _width_out(self, is_categorical: NDArray[np.bool_]) -> int:
        return int((~is_categorical).sum() + sum(map(len, self.levels_)) + self.had_missing_.sum())

    def _level_names(self, i: int) -> list[str]:
        known = (self.level_names or {}).get(i)
        levels = self.levels_[i].tolist()
        if known is None:
            return [str(level) for level in levels]
        if levels and levels[-1] >= len(known):
            raise UsageError(f"level_names names {len(known)} categories of column {i}, which has more.")
        return [str(known[level]) for level in levels]

    def _names_in(self, input_features: ArrayLike | None) -> list[str]:
        seen = getattr(self, "feature_names_in_", None)
        if input_features is not None:
            names = [str(name) for name in np.asarray(input_features, dtype=object)]
            if seen is not None and names != [str(name) for name in seen]:
                raise ValueError("input_features is not equal to feature_names_in_")
        elif seen is not None:
            names = [str(name) for name in seen]
        elif self.feature_names is not None:
            names = [str(name) for name in self.feature_names]
        else:
            names = [f"x{i}" for i in range(self.n_features_in_)]
        if len(names) != self.n_features_in_:
            raise ValueError(
                "input_features should have length equal to number of features "
                f"({self.n_features_in_}), got {len(names)}"
            )
        return names


def _levels_seen(present: NDArray[np.float64], position: int) -> NDArray[np.int64]:
    codes = np.unique(present)
    if (codes != np.floor(codes)).any() or (codes < -1).any():
        raise UsageError(
            f"Column {position} is called categorical but does not hold 0, 1, 2, ...", "Encode it by a Schema first."
        )
    return codes[codes >= 0].astype(np.int64)


def _unit(present: NDArray[np.float64]) -> float:
    """A power of two to divide by first, where squares of the values would overflow or vanish; 1 for usual ones."""
    largest = float(np.abs(present).max())
    if largest == 0.0 or 1e-120 < largest < 1e120:
        return 1.0
    return float(np.ldexp(1.0, int(np.clip(np.frexp(largest)[1], -1000, 1000))))


def _measures(present: NDArray[np.float64], scale: str) -> tuple[float, float, float]:
    fill = float(np.median(present))
    low, high = float(present.min()), float(present.max())
    if scale == "minmax":
        return low, high - low, fill
    if scale == "none" or low == high:
        return 0.0, 0.0, fill
    return float(present.mean()), float(present.std(ddof=1)), fill


def _texts(values: Any) -> NDArray[Any]:
    texts = np.empty(len(values), dtype=object)
    texts[:] = [str(value) for value in values]
    return texts


def _all_different(names: list[str]) -> list[str]:
    """Names with "_" added where one came before: a column may be called as the flag of another is."""
    taken: dict[str, None] = {}
    for name in names:
        free = name
        while free in taken:
            free += "_"
        taken[free] = None
    return list(taken)


def _check_level_names(encoder: TableEncoder) -> None:
    for i, levels in enumerate(encoder.levels_):
        known = (encoder.level_names or {}).get(i)
        if known is not None and len(levels) and levels[-1] >= len(known):
            raise ModelFileError("The encoder of the model holds a category without a name.")
