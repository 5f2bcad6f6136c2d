"""The bytes of a model file: prologue, strict JSON header, table of sections, trailer. FORMAT.md says it in prose.

Pure functions over bytes, used by the writer and the reader alike, so that nothing can be written that would not be
read. They raise `Damage`; whoever knows the path turns it into an error for the user.
"""

from __future__ import annotations

import json
import math
import re
import struct
import zlib
from dataclasses import asdict, dataclass
from typing import Any

from tonari.base.errors import ModelFileError

# As PNG's: a byte over 127, CR LF, Ctrl-Z, LF, so that every kind of text-mode transfer shows.
MAGIC = b"\x89TNR\r\n\x1a\n"
END_MARK = b"TNREND\r\n"
VERSION = 1
ENDIAN_MARK = 0x01020304
ALIGNMENT = 64
MAX_JSON = 1 << 20
MAX_DEPTH = 32
MAX_AXES = 32

PROLOGUE = struct.Struct("<8sIIQQII20sI")
TRAILER = struct.Struct("<8sQ16s32s")
_UNSUMMED = 4  # the prologue's checksum covers everything before itself

ITEM_SIZES = {
    "bool": 1, "i1": 1, "i2": 2, "i4": 4, "i8": 8, "u1": 1, "u2": 2, "u4": 4, "u8": 8, "f4": 4, "f8": 8,
}  # fmt: skip
STRING_DTYPES = ("str", "str_fixed")

_KIND = re.compile(r"[a-z][a-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)+")
_NAME = re.compile(r"[A-Za-z0-9_./-]{1,200}")
_CRC = re.compile(r"[0-9a-f]{8}")
# A whole string, closed or not, or a bracket. Possessive, and never failing on a string: time is linear.
_BRACKETS = re.compile(rb'(?s)"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[\]{}]')

REMEDIES = {
    "missing": "Check the path.",
    "unreadable": "Check the path and its permissions.",
    "not_a_model": "tonari opens only model files that tonari wrote, and never a pickle.",
    "text_mode": "Copy it again in binary mode.",
    "version": "Open it with a newer tonari, or write the model again with this one.",
    "byte_order": "Write the model again on this machine.",
    "length": "The file was cut short or something was added to it: copy it again from the original.",
    "prologue": "Copy it again from the original.",
    "header": "Copy it again from the original.",
    "sections": "Copy it again from the original.",
    "padding": "Copy it again from the original.",
    "trailer": "Copy it again from the original.",
    "checksum": "Copy it again from the original, or make the model anew.",
    "content": "Make the model anew.",
    "kind": "Open it with the version of tonari that wrote it.",
}


class Damage(Exception):
    """What a check found; becomes a `ModelFileError` where the path is known.

    Parameters
    ----------
    code : str
        A key of `REMEDIES`.
    finding : str
        What is wrong, without the path. Never holds bytes of the file that were not checked.
    offset : int or None, default=None
    section : str or None, default=None
    """

    def __init__(self, code: str, finding: str, *, offset: int | None = None, section: str | None = None) -> None:
        super().__init__(finding)
        self.code = code
        self.finding = finding
        self.offset = offset
        self.section = section

    def as_error(self, path: object) -> ModelFileError:
        """The error that the user sees.

        Parameters
        ----------
        path : path-like

        Returns
        -------
        ModelFileError
        """
        where = f" (section {self.section!r})" if self.section is not None else ""
        where += f" (at byte {self.offset})" if self.offset is not None else ""
        return ModelFileError(
            f"{path}: {self.finding}{where}.", REMEDIES[self.code], code=self.code, offset=self.offset,
            section=self.section,
        )  # fmt: skip


@dataclass(frozen=True)
class Section:
    """One line of the table of sections.

    Attributes
    ----------
    name : str
    dtype : str
        A key of `ITEM_SIZES`, or one of `STRING_DTYPES`.
    shape : tuple of int
    offset : int
        First byte, counted from the end of the padded JSON (so that it does not depend on the JSON's own length).
    length : int
        Bytes, without the padding.
    crc32 : str
        Eight lower-case hexadecimal digits.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    length: int
    crc32: str

    @property
    def count(self) -> int:
        """How many elements the shape asks for."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Prologue:
    """What the first 64 bytes say, once they are found consistent with the file's real size."""

    file_length: int
    json_length: int
    n_sections: int
    checksum: int

    @property
    def data_start(self) -> int:
        """Where the first section begins."""
        return PROLOGUE.size + padded(self.json_length)


def padded(length: int) -> int:
    """Round up to the next multiple of 64."""
    return -(-length // ALIGNMENT) * ALIGNMENT


def checksum(*parts: Any) -> int:
    """CRC-32 (zlib's) over the parts one after the other."""
    crc = 0
    for part in parts:
        crc = zlib.crc32(part, crc)
    return crc


def pack_prologue(file_length: int, text: bytes, n_sections: int) -> bytes:
    """The first 64 bytes, with the checksum over themselves and the JSON."""
    head = PROLOGUE.pack(MAGIC, VERSION, ENDIAN_MARK, file_length, len(text), n_sections, 0, bytes(20), 0)[:-_UNSUMMED]
    return head + struct.pack("<I", checksum(head, text))


def unpack_prologue(raw: bytes, size: int) -> Prologue:
    """Check the first 64 bytes against the size that the file really has.

    Parameters
    ----------
    raw : bytes
        The first 64 bytes, or fewer where the file is shorter.
    size : int

    Returns
    -------
    Prologue
    """
    if raw[: len(MAGIC)] != MAGIC:
        if raw[:4] == MAGIC[:4]:
            raise Damage("text_mode", "a text-mode transfer has changed its bytes, or its first bytes are damaged")
        raise Damage("not_a_model", "not a tonari model file")
    if size < PROLOGUE.size + TRAILER.size or len(raw) < PROLOGUE.size:
        raise Damage("length", f"cut short: {size} bytes hold no model")
    _, version, endian, file_length, json_length, n_sections, flags, reserved, crc = PROLOGUE.unpack(raw)
    if endian != ENDIAN_MARK:
        raise Damage("byte_order", "the byte-order mark is not this format's", offset=12)
    if version != VERSION:
        raise Damage("version", f"written in format {version}; this tonari reads format {VERSION}", offset=8)
    if file_length != size:
        raise Damage("length", f"{size} bytes long, but says {file_length}", offset=16)
    if not 2 <= json_length <= MAX_JSON or PROLOGUE.size + padded(json_length) + TRAILER.size > size:
        raise Damage("prologue", f"a header of {json_length} bytes is impossible here", offset=24)
    if flags or any(reserved):
        raise Damage("prologue", "reserved bytes are not zero", offset=36)
    return Prologue(file_length, json_length, n_sections, crc)


def check_head(raw: bytes, text: bytes, prologue: Prologue) -> None:
    """Compare the checksum of the prologue and the JSON with the recorded one."""
    if checksum(raw[:-_UNSUMMED], text) != prologue.checksum:
        raise Damage("checksum", "the header does not match its checksum", offset=0)


def pack_trailer(file_length: int, digest: bytes) -> bytes:
    """The last 64 bytes; `digest` is SHA-256 over all that stands before it in the file."""
    return TRAILER.pack(END_MARK, file_length, bytes(16), digest)


def unpack_trailer(raw: bytes, size: int) -> bytes:
    """Check the last 64 bytes and return the recorded SHA-256."""
    mark, file_length, reserved, digest = TRAILER.unpack(raw)
    if mark != END_MARK or file_length != size or any(reserved):
        raise Damage("trailer", "the end of the file is damaged", offset=size - TRAILER.size)
    return bytes(digest)


def encode_json(document: dict[str, Any]) -> bytes:
    """The one spelling of a JSON document: sorted keys, no blanks, UTF-8, no NaN.

    Parameters
    ----------
    document : dict

    Returns
    -------
    bytes
    """
    try:
        text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return text.encode()
    except UnicodeEncodeError:
        raise Damage("header", "the header holds text that is not Unicode") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise Damage("header", f"the header is not JSON: {error}") from None


def decode_json(raw: bytes) -> dict[str, Any]:
    """Read a JSON document, and refuse any but its one spelling.

    Two programs that read the same bytes then cannot differ about them: no duplicate keys, no NaN or Infinity, no
    integer beyond 64 bits, no nesting deeper than `MAX_DEPTH`, no other order of keys, no blanks.

    Parameters
    ----------
    raw : bytes

    Returns
    -------
    dict
    """
    if len(raw) > MAX_JSON:
        raise Damage("header", f"the header takes {len(raw)} bytes; {MAX_JSON} are allowed")
    _check_depth(raw)
    try:
        document = json.loads(
            raw.decode(),
            object_pairs_hook=_unique,
            parse_constant=_no_constant,
            parse_int=_integer,
            parse_float=_finite,
        )
    except UnicodeDecodeError:
        raise Damage("header", "the header is not UTF-8") from None
    except (ValueError, RecursionError):
        raise Damage("header", "the header is not JSON") from None
    if not isinstance(document, dict) or encode_json(document) != raw:
        raise Damage("header", "the header is not in its one permitted spelling")
    return document


def encode_head(kind: str, header: dict[str, Any], sections: list[Section]) -> bytes:
    """The JSON of a file: its kind, the caller's header, the table of sections."""
    if not isinstance(kind, str) or not _KIND.fullmatch(kind) or len(kind) > 100:
        raise Damage("header", "the kind must look like 'neighbors.KNeighborsClassifier'")
    if not isinstance(header, dict):
        raise Damage("header", "the header must be a dictionary")
    table = [{**asdict(section), "shape": list(section.shape)} for section in sections]
    return encode_json({"header": header, "kind": kind, "sections": table})


def decode_head(raw: bytes) -> tuple[str, dict[str, Any], list[Section]]:
    """Take the JSON of a file apart and check the type of everything in it.

    Parameters
    ----------
    raw : bytes

    Returns
    -------
    kind : str
    header : dict
    sections : list of Section
    """
    document = decode_json(raw)
    if set(document) != {"header", "kind", "sections"}:
        raise Damage("header", "the header lacks a part or holds an unknown one")
    kind, header, table = document["kind"], document["header"], document["sections"]
    if not isinstance(kind, str) or not _KIND.fullmatch(kind) or len(kind) > 100:
        raise Damage("header", "the kind is not a kind's name")
    if not isinstance(header, dict) or not isinstance(table, list):
        raise Damage("header", "a part of the header is of the wrong type")
    return kind, header, [_section(entry) for entry in table]


def check_sections(sections: list[Section], data_start: int, size: int) -> None:
    """Demand that the sections cover the file exactly, in order of name, without overlap or hole.

    Nothing has been allocated yet: after this check every length is backed by bytes that the file has.

    Parameters
    ----------
    sections : list of Section
    data_start : int
        Where the first section begins.
    size : int
        The real size of the file.
    """
    end, previous = 0, ""
    for section in sections:
        here, name = data_start + end, section.name
        if name <= previous:
            raise Damage("sections", "section names are not unique and in order", offset=here, section=name)
        if section.offset != end:
            raise Damage("sections", "the section overlaps another one or leaves a hole", offset=here, section=name)
        if data_start + section.offset + section.length + TRAILER.size > size:
            raise Damage("sections", "the section reaches beyond the end of the file", offset=here, section=name)
        check_shape(section)
        end, previous = padded(section.offset + section.length), name
    if data_start + end + TRAILER.size != size:
        raise Damage("length", "the sections do not account for every byte", offset=data_start + end)


def check_shape(section: Section) -> None:
    """Demand that shape, type and length of a section agree."""
    smallest = 8 if section.dtype in STRING_DTYPES else ITEM_SIZES[section.dtype]
    # numpy refuses shapes whose axes without the zeros are beyond its address space.
    if math.prod(max(axis, 1) for axis in section.shape) * smallest >= 2**63:
        raise Damage("sections", "the shape is impossible", section=section.name)
    if section.dtype in STRING_DTYPES:
        if section.length < 8 * (section.count + 1):
            raise Damage("sections", "the section is too short for its strings", section=section.name)
    elif section.count * smallest != section.length:
        raise Damage("sections", "shape and length do not agree", section=section.name)


def check_name(name: object) -> None:
    """Demand a name that is safe to show and to compare."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise Damage("sections", "a section's name must be 1 to 200 of the characters A-Z a-z 0-9 _ . / -")


def _section(entry: Any) -> Section:
    if not isinstance(entry, dict) or set(entry) != {"crc32", "dtype", "length", "name", "offset", "shape"}:
        raise Damage("sections", "a line of the table of sections lacks a field or holds an unknown one")
    check_name(entry["name"])
    name, dtype, shape = entry["name"], entry["dtype"], entry["shape"]
    if not isinstance(dtype, str) or (dtype not in ITEM_SIZES and dtype not in STRING_DTYPES):
        raise Damage("sections", "unknown element type", section=name)
    if not isinstance(shape, list) or len(shape) > MAX_AXES or not all(_is_size(axis) for axis in shape):
        raise Damage("sections", "the shape is impossible", section=name)
    if not _is_size(entry["offset"]) or not _is_size(entry["length"]):
        raise Damage("sections", "offset or length is impossible", section=name)
    if not isinstance(entry["crc32"], str) or not _CRC.fullmatch(entry["crc32"]):
        raise Damage("sections", "the checksum is not eight hexadecimal digits", section=name)
    return Section(name, dtype, tuple(shape), entry["offset"], entry["length"], entry["crc32"])


def _is_size(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _check_depth(raw: bytes) -> None:
    """Count brackets outside strings, in one linear pass, before the recursive parser sees them."""
    depth = 0
    for match in _BRACKETS.finditer(raw):
        token = match[0]
        if token in b"[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise Damage("header", f"the header is nested deeper than {MAX_DEPTH}", offset=PROLOGUE.size)
        elif token in b"]}":
            depth -= 1


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Damage("header", "the header names a key twice")
    return found


def _no_constant(text: str) -> Any:
    raise Damage("header", "the header holds NaN or Infinity")


def _integer(text: str) -> int:
    if len(text) > 20 or not -(2**63) <= int(text) < 2**64:
        raise Damage("header", "the header holds an integer beyond 64 bits")
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise Damage("header", "the header holds a number beyond float64")
    return value
