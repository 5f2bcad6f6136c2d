"""Tables that are already in memory: pandas, polars, mappings and numpy arrays. None of those libraries is imported."""

from __future__ import annotations

import datetime
import decimal
import numbers
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tonari.base.errors import DataError, UsageError
from tonari.tables.table import LARGEST_EXACT, Kind, Origin, Table

_DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
_ORIGINS: tuple[Origin, ...] = ("text", "boolean", "date")


def table_from_frame(
    frame: Any, *, names: Sequence[str] | None, kinds: Mapping[str, Kind] | None, source: str
) -> Table:
    """Build a table; `Table.from_frame` is the public door and has the description.

    Parameters
    ----------
    frame : object
    names : sequence of str or None
    kinds : mapping or None
    source : str

    Returns
    -------
    Table
    """
    if isinstance(frame, Table):
        return frame
    said = dict(kinds or {})
    seen: set[str] = set()
    columns: dict[str, NDArray[Any]] = {}
    origins: dict[str, Origin] = {}
    notes: dict[str, tuple[str, ...]] = {}
    for title, values in _columns(frame, names, source):
        name = str(title)
        if name in seen:
            raise DataError(f"Two columns of {source} are called {name!r}.", "Rename one of them.")
        seen.add(name)
        array, origin, note = _converted(values, name, source)
        if note:
            notes[name] = (note,)
        if array is None:
            continue
        if said.get(name) == "categorical" and array.dtype != object:
            array, origin = labels_of(array), "text"
        elif said.get(name) == "numeric" and array.dtype == object:
            raise DataError(f"The column {name!r} of {source} does not hold numbers.", "Convert it first.")
        columns[name], origins[name] = array, origin
    made: dict[str, Kind] = {name: "categorical" if columns[name].dtype == object else "numeric" for name in columns}
    return Table(list(columns), columns, made, source, origins, notes)


def label(value: Any) -> str:
    """The text of a category, the same whether it came as 3, 3.0 or "3".

    Parameters
    ----------
    value : object
        Not missing.

    Returns
    -------
    str

    Examples
    --------
    >>> label(3.0), label(True), label("x"), label(0.5)
    ('3', 'true', 'x', '0.5')
    """
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return str(int(number)) if number.is_integer() and abs(number) <= LARGEST_EXACT else repr(number)
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="backslashreplace")
    return str(value)


def labels_of(column: NDArray[Any]) -> NDArray[Any]:
    """A numeric table column as text, None where it is NaN.

    Parameters
    ----------
    column : ndarray of float64

    Returns
    -------
    ndarray of object
    """
    distinct, codes = np.unique(column, return_inverse=True)
    texts = np.array([None if np.isnan(value) else label(value) for value in distinct], dtype=object)
    return texts[codes.reshape(-1)]


def _columns(frame: Any, names: Sequence[str] | None, source: str) -> Iterator[tuple[Any, Any]]:
    if isinstance(frame, np.ndarray) and frame.dtype.names is None:
        if frame.ndim != 2:
            raise UsageError(f"An array must have two dimensions to be a table; this one has {frame.ndim}.")
        titles = [f"x{i}" for i in range(frame.shape[1])] if names is None else list(names)
        if len(titles) != frame.shape[1]:
            raise UsageError(f"{len(titles)} names were given for an array of {frame.shape[1]} columns.")
        return ((title, frame[:, i]) for i, title in enumerate(titles))
    if names is not None:
        raise UsageError("Names are for plain arrays; this table has its own.", "Leave `names` out.")
    if isinstance(frame, np.ndarray):
        return ((title, frame[title]) for title in frame.dtype.names or ())
    if isinstance(frame, Mapping):
        return iter(frame.items())
    if hasattr(frame, "iloc") and hasattr(frame, "columns"):
        return ((title, frame.iloc[:, i]) for i, title in enumerate(frame.columns))
    if hasattr(frame, "get_columns") and hasattr(frame, "columns"):
        return ((series.name, series) for series in frame.get_columns())
    remedy = "Call .collect() first." if hasattr(frame, "collect") else ""
    raise UsageError(
        f"{source} cannot be made from {type(frame).__name__}.",
        remedy or "Give a pandas or polars DataFrame, a mapping of arrays, or an array with column names.",
    )


def _converted(values: Any, name: str, source: str) -> tuple[NDArray[Any] | None, Origin, str]:
    """The column as a table holds it, what it was, and a note; None for a column that cannot be used."""
    shape = getattr(values, "shape", (0,))
    if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__len__") or len(shape) != 1:
        raise UsageError(f"The column {name!r} of {source} is not one sequence of values.")
    look = _look(values)
    if look == "complex":
        raise DataError(f"The column {name!r} of {source} holds complex numbers.", "Split it into two real columns.")
    if look == "number":
        numeric = _as_float(values)
        whole = "int" in str(values.dtype).lower()
        return numeric, "number", _lost_digits(name, whole and bool((np.abs(numeric) >= LARGEST_EXACT).any()))
    objects = _as_objects(values)
    present = [value for value in objects if not _is_missing(value)]
    if look == "category":
        return _texts(objects), "text", ""
    classes = {_class_of(value) for value in present}
    if "nested" in classes:
        return None, "text", f"Column {name!r} holds lists or records and was left out."
    if classes <= {"number"}:
        numeric = np.array([np.nan if _is_missing(value) else _float(value) for value in objects], dtype=np.float64)
        large = any(isinstance(value, numbers.Integral) and abs(int(value)) >= LARGEST_EXACT for value in present)
        return numeric, "number", _lost_digits(name, large)
    for origin in _ORIGINS:
        if classes == {origin}:
            return _texts(objects), origin, ""
    mixed = " and ".join(sorted(classes))
    return _texts(objects), "text", f"Column {name!r} mixes {mixed} values: taken as categories."


def _look(values: Any) -> str:
    """What a dtype alone settles: number, complex, category; "object" asks for a look at the values."""
    dtype = getattr(values, "dtype", None)
    if hasattr(dtype, "categories"):
        return "category"
    is_numeric = getattr(dtype, "is_numeric", None)
    if callable(is_numeric):
        return "number" if is_numeric() else "object"
    return {"i": "number", "u": "number", "f": "number", "c": "complex"}.get(getattr(dtype, "kind", ""), "object")


def _as_float(values: Any) -> NDArray[np.float64]:
    if isinstance(values, np.ma.MaskedArray):
        return np.array(np.ma.filled(values.astype(np.float64), np.nan))
    if hasattr(values, "iloc"):
        return np.array(values.to_numpy(dtype=np.float64, na_value=np.nan), dtype=np.float64)
    return np.array(values.to_numpy() if hasattr(values, "to_numpy") else values, dtype=np.float64)


def _as_objects(values: Any) -> list[Any]:
    if isinstance(values, np.ndarray) and values.dtype.kind in "Mm":
        # Finer than microseconds, numpy would hand over bare integers.
        unit = np.datetime_data(values.dtype)[0]
        values = values.astype(f"{values.dtype.kind}8[us]") if unit in ("ns", "ps", "fs", "as") else values
    for method in ("to_list", "tolist"):
        if hasattr(values, method):
            return list(getattr(values, method)())
    return list(values)


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, (str, bytes)):
        return len(value) == 0
    return isinstance(value, (float, np.floating, decimal.Decimal)) and value != value


def _class_of(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "boolean"
    if isinstance(value, (list, tuple, dict, set, frozenset, np.ndarray)) or hasattr(value, "to_list"):
        return "nested"
    if isinstance(value, (numbers.Real, decimal.Decimal)):
        return "number"
    return "date" if isinstance(value, _DATES) else "text"


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def _texts(objects: list[Any]) -> NDArray[Any]:
    column = np.empty(len(objects), dtype=object)
    column[:] = [None if _is_missing(value) else label(value) for value in objects]
    return column


def _lost_digits(name: str, large: bool) -> str:
    return f"Column {name!r} holds whole numbers beyond 2^53, which lose digits as float64." if large else ""
