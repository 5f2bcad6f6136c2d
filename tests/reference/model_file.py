"""A second writer of model files, from FORMAT.md alone and without tonari: what ours must equal, and, with every rule
open to being broken, the source of hostile files whose checksums are right."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from typing import Any

MAGIC = b"\x89TNR\r\n\x1a\n"


def pad(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 64)


def strings(values: list[str]) -> bytes:
    """The bytes of a section of strings."""
    parts = [value.encode() for value in values]
    ends = [sum(map(len, parts[:i])) for i in range(len(parts) + 1)]
    return struct.pack(f"<{len(ends)}Q", *ends) + b"".join(parts)


def lines(sections: list[tuple[str, str, list[int], bytes]]) -> list[dict[str, Any]]:
    """The table of sections, from (name, dtype, shape, bytes), in the order given."""
    table, end = [], 0
    for name, dtype, shape, data in sections:
        table.append(
            {
                "crc32": f"{zlib.crc32(data):08x}", "dtype": dtype, "length": len(data), "name": name, "offset": end,
                "shape": shape,
            }
        )  # fmt: skip
        end += len(pad(data))
    return table


def spell(document: Any) -> bytes:
    """JSON in the one permitted spelling."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def assemble(
    text: bytes, data: bytes, n_sections: int, *, length: int | None = None, text_length: int | None = None,
    flags: int = 0, version: int = 1, mark: int = 0x01020304,
) -> bytes:  # fmt: skip
    """A file around this JSON and these (padded) sections, with the right checksums whatever else is wrong."""
    total = 64 + len(pad(text)) + len(data) + 64 if length is None else length
    size = len(text) if text_length is None else text_length
    head = struct.pack("<8sIIQQII20s", MAGIC, version, mark, total, size, n_sections, flags, b"")
    body = head + struct.pack("<I", zlib.crc32(head + text)) + pad(text) + data
    body += struct.pack("<8sQ16s", b"TNREND\r\n", total, b"")
    return body + hashlib.sha256(body).digest()


def build(kind: str, header: dict[str, Any], sections: list[tuple[str, str, list[int], bytes]]) -> bytes:
    """A well-formed file."""
    text = spell({"header": header, "kind": kind, "sections": lines(sections)})
    return assemble(text, b"".join(pad(data) for *_, data in sections), len(sections))
