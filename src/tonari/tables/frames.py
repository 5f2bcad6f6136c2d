"""Tables that are already in memory: pandas, polars, mappings and numpy arrays. None of those libraries is imported."""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tonari.base.errors import DataError, UsageError
from tonari.tables.names import listed
from tonari.tables.table import LARGEST_EXACT, Kind, Origin, Table


def table_from_frame(frame: Any, *, names: Sequence[str] | None, kinds: Mapping[str, Kind] | None, source: str) -> Table:
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
    table = Table([], {}, {}, source)
    rows, seen = -1, set[str]()
    for raw_name, values in _columns(frame, names, source):
        name = str(raw_name)
        if name in seen:
            raise DataError(f"{source} has two columns called {name!r}.", "Rename one of them.")
        seen.add(name)
        array, origin, remark = _converted(values, name, source)
        if rows >= 0 and array is not None and len(array) != rows:
            raise DataError(f"The column {name!r} of {source} has {len(array):,} rows where others have {rows:,}.")
        if remark:
            table.notes[name] = (remark,)
        if array is None:
            continue
        rows = len(array)
        wanted = (kinds or {}).get(name)
        if wanted == "categorical" and array.dtype != object:
            array, origin = labels_of(array), "text"
        elif wanted == "numeric" and array.dtype == object:
            raise DataError(f"The column {name!r} of {source} is not numeric.", "Convert it, or do not call it so.")
        table.names.append(name)
        table.columns[name] = array
        table.kinds[name] = "categorical" if array.dtype == object else "numeric"
        table.origins[name] = origin
    table.row_numbers = np.arange(max(rows, 0), dtype=np.int64)
    return table


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
        return value
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
    """The column as a table holds it, what it was, and a remark; None for a column that cannot be used."""
    if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__len__") or np.ndim(getattr(values, "shape", ((),))[0:1]) > 1:
        raise UsageError(f"The column {name!r} of {source} is not a sequence of values.")
def _converted(values: Any, name: str, source: str) -> tuple[NDArray[Any] | None, Origin, str]:
    """The column as a table holds it, what it was, and a remark; None for a column that cannot be used."""
    kind = _dtype_kind(values)
    if kind == "number":
        numeric = _as_float(values)
        return numeric, "number", beyond_exact(name, numeric, values)
    if kind == "complex":
        raise DataError(f"The column {name!r} of {source} holds complex numbers.", "Split it into two real columns.")
    objects = _as_objects(values)
    present = [value for value in objects if not _is_missing(value)]
    if kind == "category":
        return _texts(objects), "text", ""
    types = {_class_of(value) for value in present}
    if "nested" in types:
        return None, "text", f"Column {name!r} holds lists or records and was left out."
    if types == {"number"}:
        numeric = np.array([np.nan if _is_missing(value) else float(value) for value in objects], dtype=np.float64)
        return numeric, "number", beyond_exact(name, numeric, present)
    if not types:
        return np.full(len(objects), np.nan), "number", ""
    if types == {"boolean"} or types == {"date"} or types == {"text"}:
        return _texts(objects), types.pop(), ""  # type: ignore[return-value]
    return _texts(objects), "text", f"Column {name!r} mixes {' and '.join(sorted(types))} values: taken as categories."


def _dtype_kind(values: Any) -> str:
    """Tell apart what a dtype alone settles: number, complex, category; "object" asks for a look at the values."""
    dtype = getattr(values, "dtype", None)
    if dtype is None:
        return "object"
    code = getattr(dtype, "kind", "")
    if hasattr(dtype, "categories"):
        return "category"
    is_numeric = getattr(dtype, "is_numeric", None)
    if callable(is_numeric):
        return "number" if is_numeric() else "object"
    return {"i": "number", "u": "number", "f": "number", "c": "complex"}.get(code, "object")


def _as_float(values: Any) -> NDArray[np.float64]:
    if isinstance(values, np.ndarray):
        return np.array(values, dtype=np.float64)
    if hasattr(values, "iloc"):
        return np.array(values.to_numpy(dtype=np.float64, na_value=np.nan), dtype=np.float64)
    return np.array(values.to_numpy(), dtype=np.float64)


def _as_objects(values: Any) -> list[Any]:
    if isinstance(values, np.ndarray) and values.dtype.kind in "Mm":
        return [None if np.isnat(value) else value for value in values]
    for method in ("to_list", "tolist"):
        if hasattr(values, method):
            return list(getattr(values, method)())
    return list(values)


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str):
        return value == ""
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def _class_of(value: Any) -> str:
    if isinstance(value, (str, bytes)):
        return "text"
    if isinstance(value, (bool, np.bool_)):
        return "boolean"
    if isinstance(value, (list, tuple, dict, set, np.ndarray)) or hasattr(value, "to_list"):
        return "nested"
    if isinstance(value, numbers.Number) or type(value).__name__ == "Decimal":
        return "number"
    if hasattr(value, "isoformat") or isinstance(value, (np.datetime64, np.timedelta64)):
        return "date"
    return "text"


def _texts(objects: list[Any]) -> NDArray[Any]:
    column = np.empty(len(objects), dtype=object)
    column[:] = [None if _is_missing(value) else label(value) for value in objects]
    return column


def beyond_exact(name: str, numeric: NDArray[np.float64], values: Any) -> str:
    """A remark where whole numbers are too large for float64, "" otherwise.

    Parameters
    ----------
    name : str
    numeric : ndarray of float64
        The column as numbers.
    values : object
        The column as it was: only integers can lose digits.

    Returns
    -------
    str
    """
    if not len(numeric) or not np.nanmax(np.abs(numeric), initial=0.0) > LARGEST_EXACT:
        return ""
    dtype = getattr(values, "dtype", None)
    whole = "int" in str(dtype).lower() if dtype is not None else any(isinstance(value, int) for value in values)
    return f"Column {name!r} holds whole numbers beyond 2^53, which lose digits as float64." if whole else ""
