"""Throw spoilt model files at the reader for a given time: python tests/fuzz/fuzz_model_file.py --seconds 60

Most inputs keep every checksum right, so that the checks behind the checksums are reached. Each file must be refused
with a `ModelFileError`, quickly and without much memory, or be exactly what the writer makes of its content. Files of
fitted learners are opened too: they must be refused, or give a learner that answers.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import copy
import json
import os
import random
import sys
import tempfile
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from tests.reference import model_file as reference
from tonari.base.errors import ModelFileError, TonariError
from tonari.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors
from tonari.store import open_model, read_model, save_model, write_model
from tonari.store.layout import REMEDIES

MAX_SECONDS = 20  # for one file of a few kilobytes, on a busy machine: a hang, not slowness
MAX_EXPANSION, MAX_FIXED = 40, 16 << 20  # Python objects from JSON and short strings; imports and caches

NUMBERS = [
    0, 1, -1, 2, 7, 8, 63, 64, 65, 127, 128, 255, 256, 1023, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53, 2**61,
    2**62, 2**63 - 1, 2**63, 2**64 - 64, 2**64 - 1, 2**64, 10**30, -(2**63), -64, 1.0, 8.0, 1e308, -0.0,
]  # fmt: skip
WORDS = [
    "",
    "a",
    "b",
    "zz",
    "a/b",
    "../x",
    "f8",
    "f4",
    "f16",
    "u1",
    "bool",
    "str",
    "str_fixed",
    "O",
    "00000000",
    "\x00",
    "ü",
]
ODD: list[Any] = [None, True, False, [], {}, [[]], {"a": {}}]
Seed = tuple[dict[str, Any], list[bytes]]


def seeds() -> list[Seed]:
    """Well-formed files as (JSON document, sections)."""
    doubles = bytes(range(240))
    words = reference.strings(["ja", "nein", "", "dreißig"])
    tables = [
        [],
        [("a", "f8", [5, 6], doubles), ("b", "bool", [3], b"\0\1\1"), ("c", "u2", [], b"\1\0")],
        [
            ("empty", "f8", [0, 9], b""),
            ("s", "str", [4], words),
            ("t", "str_fixed", [2, 2], words),
            ("z", "i1", [1], b"a"),
        ],
        [(f"n{i:02}", "u1", [i], bytes(i)) for i in range(40)],
    ]
    header = {"params": {"k": 5, "p": 2.5}, "labels": ["ja", "nein"], "deep": [[[[None, True]]]]}
    found = []
    for table in tables:
        document = {"header": header, "kind": "neighbors.KNeighborsClassifier", "sections": reference.lines(table)}
        found.append((document, [data for *_, data in table]))
    return found


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of a JSON document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(items):
        yield value, key
        yield from places(inner)


def spoil_document(draw: random.Random, document: dict[str, Any]) -> None:
    """Change, delete, double or move some values of the JSON."""
    for _ in range(draw.randint(1, 3)):
        container, key = draw.choice(list(places(document)) or [(document, "header")])
        action = draw.randrange(6)
        if action == 0:
            del container[key]
        elif action == 1 and isinstance(container, list):
            container.insert(key, copy.deepcopy(container[key]))
        elif action == 2 and isinstance(container, list):
            draw.shuffle(container)
        elif action == 3 and isinstance(container[key], int):
            container[key] += draw.choice([-64, -8, -1, 1, 8, 64])
        elif action == 4 and isinstance(container, dict):
            container[draw.choice(WORDS)] = draw.choice(NUMBERS)
        else:
            container[key] = copy.deepcopy(draw.choice([draw.choice(NUMBERS), draw.choice(WORDS), draw.choice(ODD)]))


def spoil_bytes(draw: random.Random, data: bytes) -> bytes:
    """Flip, set, cut, repeat or insert some bytes."""
    changed = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        start = draw.randrange(len(changed) + 1)
        stop = min(len(changed), start + draw.choice([1, 1, 2, 8, 64]))
        action = draw.randrange(6)
        if action == 0:
            del changed[start:stop]
        elif action == 1:
            changed[start:start] = changed[start:stop]
        elif action == 2:
            changed[start:start] = draw.randbytes(draw.choice([1, 8, 64]))
        elif action == 3:
            changed[start:stop] = (draw.choice(NUMBERS[:26]) % 2**64).to_bytes(8, "little")[: stop - start]
        else:
            for place in range(start, stop):
                changed[place] ^= 1 << draw.randrange(8)
    return bytes(changed)


def spoil(draw: random.Random, seed: Seed) -> tuple[str, bytes]:
    """One input, with the name of how it was made."""
    document, sections = copy.deepcopy(seed)
    way = draw.choice(["raw", "table", "table", "json", "content", "content", "prologue", "padding"])
    count, options = len(sections), {}
    if way == "content" and sections:
        number = draw.randrange(len(sections))
        kept = len(sections[number])
        sections[number] = spoil_bytes(draw, sections[number])
        if draw.random() < 0.7:  # the same length, so that only the content is wrong
            sections[number] = sections[number][:kept].ljust(kept, b"\0")
        end = 0
        for line, data in zip(document["sections"], sections, strict=True):
            line.update(length=len(data), offset=end, crc32=f"{zlib.crc32(data):08x}")
            end += len(reference.pad(data))
    if way == "table":
        spoil_document(draw, document)
        count += draw.choice([0, 0, 0, 0, 1, -1]) if count else 0
        if draw.random() < 0.5 and isinstance(document.get("sections"), list):
            count = len(document["sections"])
    if way == "prologue":
        field = draw.choice(["length", "text_length", "flags", "version", "mark"])
        limit = 2**64 if field in ("length", "text_length") else 2**32
        options = {field: int(draw.choice(NUMBERS)) % limit}
    text = reference.spell(document)
    if way == "json":
        text = spoil_bytes(draw, text)
    data = b"".join(map(reference.pad, sections))
    if way == "padding":
        data = spoil_bytes(draw, data)
    whole = reference.assemble(text, data, count, **options)
    return way, spoil_bytes(draw, whole) if way == "raw" else whole


class Finding(Exception):
    """A file that was treated wrongly."""


def judge(path: Path, data: bytes, *, copied: bool, verify: bool) -> str:
    """Read one file and say how it was refused, or "accepted"; `Finding` where the reader broke its word."""
    path.unlink(missing_ok=True)  # a new file: emptying an old one makes some file systems flush
    path.write_bytes(data)
    start = time.perf_counter()
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    try:
        file = read_model(path, copy=copied, verify=verify)
    except ModelFileError as error:
        if error.code not in REMEDIES or not error.remedy:
            raise Finding(f"refused without a known code: {error}") from error
        outcome = error.code
    except Exception as error:
        raise Finding(f"{type(error).__name__}: {error}") from error
    else:
        outcome = "accepted"
    peak = tracemalloc.get_traced_memory()[1] - before
    if peak > MAX_EXPANSION * len(data) + MAX_FIXED:
        raise Finding(f"took {peak} bytes for a file of {len(data)}")
    if time.perf_counter() - start > MAX_SECONDS:
        raise Finding(f"took {time.perf_counter() - start:.0f} seconds")
    if outcome == "accepted" and verify:
        again = path.with_name("again")
        again.unlink(missing_ok=True)
        write_model(again, file.kind, file.header, file.arrays)
        if again.read_bytes() != data:
            raise Finding("accepted, but the writer would have written something else")
    return outcome


def learners(folder: Path) -> list[Seed]:
    """Files of fitted learners, taken apart."""
    draw = np.random.default_rng(0)
    X = draw.normal(size=(12, 3))
    y = X[:, 0] > 0
    fitted = [
        KNeighborsClassifier(3).fit(X, np.where(y, "ja", "nein")),
        KNeighborsClassifier(3, weights="distance", p=1).fit(X.astype(np.float32), np.column_stack([y, X[:, 1] > 0])),
        KNeighborsRegressor(2).fit(X, X[:, :2]),
        NearestNeighbors(n_neighbors=2, metric="cosine").fit(X),
    ]
    found = []
    for learner in fitted:
        path = folder / "learner"
        path.unlink(missing_ok=True)
        save_model(path, learner)
        data = path.read_bytes()
        length = int.from_bytes(data[24:32], "little")
        document, rest = json.loads(data[64 : 64 + length]), data[64 + len(reference.pad(data[64 : 64 + length])) :]
        lines = document["sections"]
        found.append((document, [rest[line["offset"] : line["offset"] + line["length"]] for line in lines]))
    return found


def judge_learner(path: Path, data: bytes, *, copied: bool, verify: bool) -> str:
    """Open one file as a learner and ask it; `Finding` for anything but an answer or one of tonari's own errors."""
    outcome = judge(path, data, copied=copied, verify=verify)
    if outcome != "accepted":
        return outcome
    try:
        learner = open_model(path, copy=copied)
    except TonariError as error:
        return f"not opened: {getattr(error, 'code', type(error).__name__)}"
    except Exception as error:
        raise Finding(f"opening: {type(error).__name__}: {error}") from error
    query = np.resize(np.linspace(-1, 1, 7), (4, learner.n_features_in_))
    if getattr(learner, "metric_params", None):
        return "opened"  # what goes to another library's distances is its user's business
    try:
        learner.kneighbors(query)
        for method in ("predict", "predict_proba"):
            if hasattr(learner, method):
                getattr(learner, method)(query)
    except TonariError:
        return "opened, refuses"
    except Exception as error:
        raise Finding(f"asking: {type(error).__name__}: {error}") from error
    return "answers"


def fuzz(seed: int, go_on: Callable[[int], bool], keep: Path) -> collections.Counter[tuple[str, str]]:
    """Judge inputs while `go_on(how many so far)`; the first that is treated wrongly is kept, and raised."""
    draw = random.Random(seed)
    tally: collections.Counter[tuple[str, str]] = collections.Counter()
    # Flushing to the disk is tested elsewhere and would be most of the time here.
    with (
        tempfile.TemporaryDirectory() as name,
        contextlib.ExitStack() as stack,
        mock.patch.object(os, "fsync", return_value=None),
    ):
        material = [(judge, seeds()), (judge_learner, learners(Path(name)))]
        tracemalloc.start()
        stack.callback(tracemalloc.stop)
        while go_on(tally.total()):
            judged, files = draw.choice(material)
            way, data = spoil(draw, draw.choice(files))
            try:
                outcome = judged(Path(name) / "m", data, copied=draw.random() < 0.5, verify=draw.random() < 0.9)
            except Finding as finding:
                keep.mkdir(parents=True, exist_ok=True)
                kept = keep / f"model_file_{zlib.crc32(data):08x}.tonari"
                kept.write_bytes(data)
                raise Finding(f"{finding} ({way}; kept as {kept})") from finding
            tally[way, outcome] += 1
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=None, help="of the random mutations (default: a new one)")
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"), help="where a failing file goes")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    print(f"model files: {options.seconds:g} s, --seed {seed}", file=sys.stderr)
    end = time.monotonic() + options.seconds
    try:
        tally = fuzz(seed, lambda done: time.monotonic() < end, options.keep)
    except Finding as finding:
        print(f"FAILED with --seed {seed}: {finding}", file=sys.stderr)
        return 1
    for (way, outcome), count in sorted(tally.items()):
        print(f"{count:8} {way:9} {outcome}")
    print(f"{tally.total():8} files, none treated wrongly")
    return 0


if __name__ == "__main__":
    sys.exit(main())
