"""Writing a model file so that a crash leaves the old file or the new one, never half of either."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tonari.base.errors import ModelFileError, UsageError
from tonari.store import layout
from tonari.store.arrays import Buffer, encode_array
from tonari.store.layout import Damage, Section

_CHUNK = 1 << 22  # hash and write while the bytes are still in cache
_NO_FOLDER_FSYNC = {errno.EINVAL, errno.ENOTSUP}
_NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


def write_model(
    path: str | os.PathLike[str],
    kind: str,
    header: Mapping[str, Any],
    arrays: Mapping[str, Any],
    *,
    force: bool = False,
) -> str:
    """Write a model file: all of it, or nothing.

    The bytes go to a temporary file in the same folder, are flushed to the disk, and take their name only then. The
    same content always gives the same bytes, whatever the order of the keys. Permissions follow the umask.

    Parameters
    ----------
    path : path-like
        Where to write; a symbolic link is followed.
    kind : str
        What the file holds, as in ``tonari.store.OPENERS``.
    header : mapping
        JSON values: dictionaries with string keys, lists, strings, finite numbers, bool, None. numpy scalars become
        plain numbers, tuples become lists. At most 1 MiB.
    arrays : mapping of str to ndarray
        Named arrays: bool, integers, float32, float64, strings. They come back in C order.
    force : bool, default=False
        Replace a file that exists already.

    Returns
    -------
    str
        The SHA-256 that identifies the file, as in ``ModelFile.sha256``.

    Examples
    --------
    >>> import numpy as np
    >>> from tonari.store import read_model, write_model
    >>> sha256 = write_model("a.tonari", "neighbors.NearestNeighbors", {"k": 5}, {"x": np.arange(3.0)})
    >>> file = read_model("a.tonari")
    >>> file.header, file.arrays["x"], file.sha256 == sha256
    ({'k': 5}, array([0., 1., 2.]), True)
    """
    target = Path(os.path.realpath(path))
    try:
        image = _encode(kind, _plain(header), arrays)
    except Damage as damage:
        where = f" (section {damage.section!r})" if damage.section is not None else ""
        raise UsageError(f"The model cannot be written: {damage.finding}{where}.") from None
    try:
        _check_target(target, force)
        digest = _write_atomically(target, image, force)
    except OSError as error:
        raise ModelFileError(
            f"{target} could not be written: {error.strerror or error}.",
            "Check the free space and the permissions of its folder; a file that was there before is unchanged.",
            code="write",
        ) from error
    try:
        _fsync_folder(target.parent)
    except OSError as error:
        raise ModelFileError(
            f"{target} was written, but its folder could not be flushed to the disk: {error.strerror or error}.",
            "A power failure may still undo it: check the disk, then write it again.",
            code="write",
        ) from error
    return digest


@dataclass(frozen=True)
class _Image:
    """A model as it will stand in the file, up to the trailer."""

    head: bytes
    sections: list[Section]
    buffers: list[list[Buffer]]
    size: int


def _plain(value: Any, depth: int = 1) -> Any:
    """The same value as JSON has it, or `Damage` where JSON would quietly change its meaning."""
    if depth > layout.MAX_DEPTH:
        raise Damage("header", f"the header is nested deeper than {layout.MAX_DEPTH}, or holds itself")
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise Damage("header", "the keys of the header must be strings")
        return {str(key): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, depth + 1) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _encode(kind: str, header: dict[str, Any], arrays: Mapping[str, Any]) -> _Image:
    for name in arrays:
        layout.check_name(name)
    sections: list[Section] = []
    pieces: list[list[Buffer]] = []
    end = 0
    for name in sorted(arrays):
        dtype, shape, buffers = encode_array(name, arrays[name])
        length = sum(len(buffer) for buffer in buffers)
        sections.append(Section(name, dtype, shape, end, length, f"{layout.checksum(*buffers):08x}"))
        pieces.append(buffers)
        end += layout.padded(length)
    text = layout.encode_head(kind, header, sections)
    data_start = layout.PROLOGUE.size + layout.padded(len(text))
    size = data_start + end + layout.TRAILER.size
    # What the reader would refuse must not be written.
    layout.decode_head(text)
    layout.check_sections(sections, data_start, size)
    head = layout.pack_prologue(size, text, len(sections)) + text
    return _Image(head.ljust(data_start, b"\0"), sections, pieces, size)


def _check_target(target: Path, force: bool) -> None:
    if target.exists():
        if not target.is_file():
            raise UsageError(f"{target} is not a regular file.", "Give the name of a file.")
        if not force:
            raise _exists(target)
    elif not target.parent.is_dir():
        raise UsageError(f"There is no folder {target.parent}.", "Create it first.")


def _exists(target: Path) -> UsageError:
    return UsageError(f"{target} exists already.", "Choose another name, or ask for it to be replaced (force).")


def _write_atomically(target: Path, image: _Image, force: bool) -> str:
    temporary = target.with_name(f".{secrets.token_hex(8)}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, flags, 0o666)
    try:
        try:
            digest = _write_all(descriptor, image)
            # A failed fsync is not tried again: the kernel may have dropped the pages and call them clean.
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        _publish(temporary, target, force)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    return digest


def _write_all(descriptor: int, image: _Image) -> str:
    sha = hashlib.sha256()

    def put(view: memoryview) -> None:
        for chunk in _chunks(view):
            sha.update(chunk)
            _write_fully(descriptor, chunk)

    put(memoryview(image.head))
    for section, buffers in zip(image.sections, image.buffers, strict=True):
        crc = 0
        for buffer in buffers:
            put(buffer.data)
            crc = zlib.crc32(buffer.data, crc)
        if f"{crc:08x}" != section.crc32:
            raise ModelFileError(
                f"The array {section.name!r} was changed while it was being saved.",
                "Save again when nothing else writes to the model.", code="write", section=section.name,
            )  # fmt: skip
        put(memoryview(bytes(layout.padded(section.length) - section.length)))
    # The digest covers the trailer up to itself.
    sha.update(layout.pack_trailer(image.size, b"")[: -sha.digest_size])
    _write_fully(descriptor, memoryview(layout.pack_trailer(image.size, sha.digest())))
    return sha.hexdigest()


def _chunks(view: memoryview) -> Iterator[memoryview]:
    for start in range(0, len(view), _CHUNK):
        yield view[start : start + _CHUNK]


def _write_fully(descriptor: int, chunk: memoryview) -> None:
    while chunk:
        written = os.write(descriptor, chunk)
        if written == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        chunk = chunk[written:]


def _publish(temporary: Path, target: Path, force: bool) -> None:
    """Give the finished file its name; without force, never in place of a file that appeared meanwhile."""
    if force:
        temporary.replace(target)
        return
    try:
        target.hardlink_to(temporary)
    except FileExistsError:
        raise _exists(target) from None
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        _check_target(target, force)
        temporary.replace(target)
    else:
        with contextlib.suppress(OSError):  # the file has its name; a second one does no harm
            temporary.unlink()


def _fsync_folder(folder: Path) -> None:
    """Make the new name itself durable, where the system can."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_FOLDER_FSYNC:
            raise
    finally:
        os.close(descriptor)
