"""Arrays as sections of a model file: little-endian, C order; strings as offsets and UTF-8."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tonari.store.layout import ITEM_SIZES, Damage, Section

# A fixed-width array may take this many times its bytes in the file: one long string among many short ones must not
# make a small file ask for much memory.
MAX_EXPANSION = 16

Buffer = NDArray[np.uint8]


def encode_array(name: str, array: Any) -> tuple[str, tuple[int, ...], list[Buffer]]:
    """The element type, the shape and the bytes (in pieces) of an array.

    Parameters
    ----------
    name : str
    array : ndarray
        Bool, integers, float32, float64, or strings (fixed width, ``StringDType`` or objects that are all ``str``).

    Returns
    -------
    dtype : str
    shape : tuple of int
    buffers : list of ndarray of uint8
    """
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
        raise Damage("content", f"a section must be a numpy array, not {type(array).__name__}", section=name)
    if array.dtype.kind in "UOT":
        return _encode_strings(name, array)
    dtype = "bool" if array.dtype.kind == "b" else f"{array.dtype.kind}{array.dtype.itemsize}"
    if dtype not in ITEM_SIZES:
        raise Damage("content", f"arrays of {array.dtype} cannot be stored", section=name)
    image = np.asarray(array, dtype=_stored(dtype), order="C").reshape(-1).view(np.uint8)
    _check_truth(name, dtype, image)
    return dtype, array.shape, [image]


def decode_array(section: Section, image: Buffer) -> NDArray[Any]:
    """The array that a section holds; numbers are views of `image`, strings are new.

    Parameters
    ----------
    section : Section
        Already checked against the file: `image` has ``section.length`` bytes.
    image : ndarray of uint8

    Returns
    -------
    ndarray
    """
    if section.dtype == "str":
        return _shaped(_strings(section, image), section.shape)
    if section.dtype == "str_fixed":
        return _fixed_width(section, _strings(section, image))
    _check_truth(section.name, section.dtype, image)
    array = image.view(_stored(section.dtype)).reshape(section.shape)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _stored(dtype: str) -> np.dtype[Any]:
    return np.dtype(np.bool_) if dtype == "bool" else np.dtype(f"<{dtype}")


def _check_truth(name: str, dtype: str, image: Buffer) -> None:
    if dtype == "bool" and bool((image > 1).any()):
        raise Damage("content", "a truth value is neither 0 nor 1", section=name)


def _encode_strings(name: str, array: NDArray[Any]) -> tuple[str, tuple[int, ...], list[Buffer]]:
    strings = array.reshape(-1).tolist()
    if not all(isinstance(string, str) for string in strings):
        raise Damage("content", "an array of objects can be stored only when all of them are strings", section=name)
    try:
        encoded = [string.encode() for string in strings]
    except UnicodeEncodeError:
        raise Damage("content", "a string is not Unicode", section=name) from None
    offsets = np.zeros(len(encoded) + 1, dtype="<u8")
    np.cumsum([len(part) for part in encoded], out=offsets[1:])
    buffers = [offsets.view(np.uint8), np.frombuffer(b"".join(encoded), dtype=np.uint8)]
    fixed = array.dtype.kind == "U" and _fits(strings, sum(len(buffer) for buffer in buffers))
    return "str_fixed" if fixed else "str", array.shape, buffers


def _strings(section: Section, image: Buffer) -> list[str]:
    offsets = image[: 8 * (section.count + 1)].view("<u8")
    body = image[8 * (section.count + 1) :].tobytes()
    if offsets[0] != 0 or offsets[-1] != len(body) or bool((offsets[1:] < offsets[:-1]).any()):
        raise Damage("content", "the bounds of the strings are not in order", section=section.name)
    bounds = offsets.tolist()
    try:
        return [body[start:stop].decode() for start, stop in pairwise(bounds)]
    except UnicodeDecodeError:
        raise Damage("content", "a string is not UTF-8", section=section.name) from None


def _fixed_width(section: Section, strings: list[str]) -> NDArray[Any]:
    # numpy drops NUL at the end of a fixed-width string: such a string could not be given back.
    if any(string.endswith("\0") for string in strings):
        raise Damage("content", "a fixed-width string ends in NUL", section=section.name)
    if not _fits(strings, section.length):
        raise Damage("content", "fixed-width strings would take too much memory", section=section.name)
    return np.array(strings, dtype=np.str_).reshape(section.shape)


def _fits(strings: list[str], stored: int) -> bool:
    return 4 * len(strings) * max(map(len, strings), default=0) <= MAX_EXPANSION * stored


def _shaped(strings: list[str], shape: tuple[int, ...]) -> NDArray[Any]:
    array = np.empty(len(strings), dtype=object)
    array[:] = strings
    return array.reshape(shape)
