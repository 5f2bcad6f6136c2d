"""Reading a model file without believing it: everything is checked against the file's own size before it is used."""

from __future__ import annotations

import hashlib
import mmap
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tonari.store import layout
from tonari.store.arrays import Buffer, decode_array
from tonari.store.layout import Damage, Section


@dataclass(frozen=True, eq=False)
class ModelFile:
    """What a model file holds.

    Attributes
    ----------
    kind : str
        What it is, as in ``tonari.store.OPENERS``.
    header : dict
        The writer's JSON header; keys sorted.
    arrays : dict of str to ndarray
        In order of name; read-only where the file is mapped.
    sha256 : str
        Names the content: SHA-256 over all but the file's last 32 bytes, which record it.
    sections : tuple of Section
        The table of sections, as the file has it.
    size : int
        Bytes of the file.

    Examples
    --------
    >>> import numpy as np
    >>> from tonari.neighbors import NearestNeighbors
    >>> from tonari.store import read_model, save_model
    >>> sha256 = save_model("near.tonari", NearestNeighbors().fit(np.eye(3)))
    >>> file = read_model("near.tonari")
    >>> file.kind, [section.name for section in file.sections], file.arrays["rows"].shape
    ('neighbors.NearestNeighbors', ['rows'], (3, 3))
    """

    kind: str
    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    sha256: str
    sections: tuple[Section, ...]
    size: int


def read_model(path: str | os.PathLike[str], *, copy: bool = True, verify: bool = True) -> ModelFile:
    """Read a model file; anything wrong with it is one `ModelFileError`.

    Parameters
    ----------
    path : path-like
    copy : bool, default=True
        Read into private memory: nothing that happens to the file afterwards matters. False maps the file instead:
        the arrays are read-only and shared with other processes, and the file must not be changed in place while
        they live (`write_model` never does that; a file cut short under a map kills the process).
    verify : bool, default=True
        Compare every section's checksum and the SHA-256 of the whole. False leaves the numbers of a mapped file
        unread until they are used; the structure is checked all the same.

    Returns
    -------
    ModelFile

    Examples
    --------
    >>> from tonari.store import read_model
    >>> read_model("examples/data/iris.csv")
    Traceback (most recent call last):
    ...
    tonari.base.errors.ModelFileError: examples/data/iris.csv: not a tonari model file. ...
    """
    try:
        with _opened(Path(path)) as (file, size):
            return _read(file, size, copy, verify)
    except Damage as damage:
        raise damage.as_error(path) from None
    except FileNotFoundError:
        raise Damage("missing", "no such file").as_error(path) from None
    except OSError as error:
        raise Damage("unreadable", f"cannot be read: {error.strerror or error}").as_error(path) from error


def inspect_model(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Describe a model file, checked in full, as JSON values.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    dict
        ``format``, ``kind``, ``sha256``, ``bytes``, ``header`` and ``sections``: a list of ``name``, ``dtype``,
        ``shape`` and ``bytes``.
    """
    file = read_model(path, copy=False)
    return {
        "format": layout.VERSION,
        "kind": file.kind,
        "sha256": file.sha256,
        "bytes": file.size,
        "header": file.header,
        "sections": [
            {"name": section.name, "dtype": section.dtype, "shape": list(section.shape), "bytes": section.length}
            for section in file.sections
        ],
    }


@contextmanager
def _opened(path: Path) -> Iterator[tuple[FileIO, int]]:
    # O_NONBLOCK: opening a named pipe must not wait for a writer.
    flags = os.O_RDONLY
    for name in ("O_CLOEXEC", "O_NONBLOCK", "O_BINARY"):
        flags |= getattr(os, name, 0)
    with FileIO(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise Damage("unreadable", "not a regular file")
        yield file, status.st_size


def _read(file: FileIO, size: int, copy: bool, verify: bool) -> ModelFile:
    raw = _take(file, min(size, layout.PROLOGUE.size)).tobytes()
    prologue = layout.unpack_prologue(raw, size)
    # Read once into private memory and never from the map: a map can change between the check and the use.
    block = _take(file, prologue.data_start - layout.PROLOGUE.size)
    text = block[: prologue.json_length].tobytes()
    layout.check_head(raw, text, prologue)
    _check_zero(block, prologue.json_length, layout.PROLOGUE.size)
    kind, header, sections = layout.decode_head(text)
    if len(sections) != prologue.n_sections:
        raise Damage("sections", "the number of sections is not the one announced", offset=32)
    layout.check_sections(sections, prologue.data_start, size)

    stop = size - layout.TRAILER.size
    data = _take(file, stop - prologue.data_start) if copy else _mapped(file, size)[prologue.data_start : stop]
    file.seek(stop)
    trailer = _take(file, layout.TRAILER.size).tobytes()
    digest = layout.unpack_trailer(trailer, size)
    arrays = {}
    for section in sections:
        image = data[section.offset : section.offset + section.length]
        if verify and f"{layout.checksum(image):08x}" != section.crc32:
            raise Damage(
                "checksum", "the section does not match its checksum",
                offset=prologue.data_start + section.offset, section=section.name,
            )  # fmt: skip
        end = section.offset + section.length
        _check_zero(data[: layout.padded(end)], end, prologue.data_start)
        arrays[section.name] = decode_array(section, image)
    if verify and _sha256(raw, block, data, trailer[: -len(digest)]) != digest:
        raise Damage("checksum", "the file does not match its SHA-256", offset=size - len(digest))
    return ModelFile(kind, header, arrays, digest.hex(), tuple(sections), size)


def _take(file: FileIO, length: int) -> Buffer:
    """The next bytes of the file, in memory of our own that begins at a multiple of 64."""
    buffer = np.empty(length + layout.ALIGNMENT, dtype=np.uint8)
    start = -buffer.ctypes.data % layout.ALIGNMENT
    wanted = buffer[start : start + length]
    rest = wanted.data
    while rest:
        count = file.readinto(rest)
        if not count:
            raise Damage("length", "cut short while it was being read")
        rest = rest[count:]
    return wanted


def _mapped(file: FileIO, size: int) -> Buffer:
    return np.frombuffer(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ), dtype=np.uint8)


def _check_zero(block: Buffer, start: int, origin: int) -> None:
    """Demand that the rest of the block is padding; `origin` is where the block begins in the file."""
    if block[start:].any():
        raise Damage("padding", "the bytes between two sections are not zero", offset=origin + start)


def _sha256(*parts: Any) -> bytes:
    sha = hashlib.sha256()
    for part in parts:
        sha.update(part)
    return sha.digest()
