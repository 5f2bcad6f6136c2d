"""Reading what cannot be trusted: every damage is found, and nothing is allocated by a number in the file (trap 11)."""

from __future__ import annotations

import os
import struct
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from tests.fuzz import fuzz_model_file as fuzzing
from tests.reference import model_file as reference
from tonari.base.errors import DataError, ModelFileError
from tonari.store import inspect_model, read_model, write_model
from tonari.store.layout import REMEDIES

KIND = "neighbors.KNeighborsClassifier"
HEADER = {"params": {"n_neighbors": 5, "p": 2.0}, "labels": ["ja", "nein"], "note": "ü"}


def arrays() -> dict[str, Any]:
    return {
        "fit_X": np.linspace(0, 1, 120).reshape(40, 3),
        "labels": np.array(["ja", "nein", "vielleicht"]),
        "odd": np.arange(13, dtype=np.uint16),
        "truth": np.array([True, False, True]),
        "words": np.array(["", "dreißig"], dtype=object),
    }


@pytest.fixture
def small(tmp_path: Path) -> tuple[Path, bytes]:
    path = tmp_path / "small.tonari"
    write_model(path, KIND, HEADER, arrays())
    return path, path.read_bytes()


def refused(path: Path, data: bytes, **options: bool) -> ModelFileError:
    path.write_bytes(data)
    with pytest.raises(ModelFileError) as caught:
        read_model(path, **options)
    assert caught.value.code in REMEDIES
    assert caught.value.remedy
    assert isinstance(caught.value, DataError)
    assert str(path) in str(caught.value)
    return caught.value


@pytest.mark.parametrize("copy", [True, False])
def test_round_trip(small: tuple[Path, bytes], copy: bool) -> None:
    path, data = small
    file = read_model(path, copy=copy)
    assert file.kind == KIND
    assert file.header == HEADER
    assert list(file.arrays) == sorted(arrays())
    for name, array in arrays().items():
        np.testing.assert_array_equal(file.arrays[name], array)
        assert file.arrays[name].dtype == array.dtype
    assert file.sha256 == data[-32:].hex()
    numbers = [file.arrays[name] for name in ("fit_X", "odd", "truth")]
    assert all(array.ctypes.data % 64 == 0 for array in numbers)
    assert all(array.flags.writeable == copy for array in numbers)


def test_a_mapped_array_cannot_be_written(small: tuple[Path, bytes]) -> None:
    path, data = small
    with pytest.raises(ValueError, match="read-only"):
        read_model(path, copy=False).arrays["fit_X"][0] = 1
    assert path.read_bytes() == data


def test_a_copy_does_not_hold_the_file(small: tuple[Path, bytes]) -> None:
    """Trap 10: after copy=True the file may be cut short or deleted; under a map that would be the end."""
    path, _ = small
    file = read_model(path)
    os.truncate(path, 10)
    np.testing.assert_array_equal(file.arrays["fit_X"], arrays()["fit_X"])


def spoilt(path: Path, flips: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Flip these bits of the file one after the other, each undone before the next."""
    original = path.read_bytes()
    with path.open("r+b", buffering=0) as file:
        for place, flip in flips:
            os.pwrite(file.fileno(), bytes([original[place] ^ flip]), place)
            yield place, flip
            os.pwrite(file.fileno(), original[place : place + 1], place)


def test_every_flipped_bit_is_found(small: tuple[Path, bytes]) -> None:
    path, data = small
    assert 1500 < len(data) < 3000
    for _ in spoilt(path, [(place, 1 << bit) for place in range(len(data)) for bit in range(8)]):
        with pytest.raises(ModelFileError):
            read_model(path)
    assert read_model(path).header == HEADER


def test_every_flipped_byte_of_a_map_is_found(small: tuple[Path, bytes]) -> None:
    path, data = small
    for _ in spoilt(path, [(place, 0xFF) for place in range(len(data))]):
        with pytest.raises(ModelFileError):
            read_model(path, copy=False)


def test_every_value_of_every_byte_of_the_prologue_is_found(small: tuple[Path, bytes]) -> None:
    """These meet other checks before the checksum: no value may get past them to a crash."""
    path, _ = small
    for _ in spoilt(path, [(place, flip) for place in range(64) for flip in range(1, 256)]):
        with pytest.raises(ModelFileError):
            read_model(path, verify=False)


@pytest.mark.parametrize("copy", [True, False])
def test_every_length_but_the_right_one_is_found(small: tuple[Path, bytes], copy: bool) -> None:
    path, data = small
    for length in reversed(range(len(data))):
        os.truncate(path, length)
        with pytest.raises(ModelFileError) as caught:
            read_model(path, copy=copy)
        assert caught.value.code in ({"length"} if length >= 8 else {"not_a_model", "text_mode"})
    for tail in (b"\0", b"\0" * 64, b"PK\3\4", data):
        assert refused(path, data + tail, copy=copy).code == "length"


def test_without_verify_only_numbers_go_unseen(small: tuple[Path, bytes]) -> None:
    """The structure is checked all the same: what flips unseen may change a number, a letter, never anything else."""
    path, data = small
    whole = read_model(path)
    numbers = np.zeros(len(data), dtype=bool)
    numbers[-32:] = True
    start = len(data) - 64 - sum(-(-section.length // 64) * 64 for section in whole.sections)
    for section in whole.sections:
        numbers[start + section.offset : start + section.offset + section.length] = True
    shapes = {name: array.shape for name, array in whole.arrays.items()}
    unseen = 0
    for place, _ in spoilt(path, [(place, 0x80) for place in range(len(data))]):
        try:
            file = read_model(path, copy=False, verify=False)
        except ModelFileError:
            continue
        unseen += 1
        assert numbers[place]
        assert {name: array.shape for name, array in file.arrays.items()} == shapes
    assert unseen > 900, "verify=False must not read every number"


def test_text_mode_and_foreign_files_are_named(tmp_path: Path, small: tuple[Path, bytes]) -> None:
    _, data = small
    path = tmp_path / "other"
    for changed in (data.replace(b"\r\n", b"\n"), data.replace(b"\n", b"\r\n")):
        assert refused(path, changed).code == "text_mode"
    for foreign in (b"", b"\x80\x04\x95", b"PK\x03\x04" + bytes(500), b"a,b\n1,2\n" * 100):
        assert refused(path, foreign).code == "not_a_model"


def test_what_is_no_file(tmp_path: Path) -> None:
    """A pipe must be refused, not waited for; every failure to open is the one exception."""
    os.mkfifo(tmp_path / "pipe")
    for name, code in (("pipe", "unreadable"), (".", "unreadable"), ("nowhere", "missing")):
        with pytest.raises(ModelFileError) as caught:
            read_model(tmp_path / name)
        assert caught.value.code == code


def test_a_file_that_shrinks_while_it_is_read(small: tuple[Path, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    path, data = small
    fstat = os.fstat

    def then_cut(descriptor: int) -> os.stat_result:
        found = fstat(descriptor)
        os.truncate(path, len(data) - 100)
        return found

    monkeypatch.setattr(os, "fstat", then_cut)
    with pytest.raises(ModelFileError, match="while it was being read") as caught:
        read_model(path)
    assert caught.value.code == "length"


# --- files with the right checksums and the wrong content -----------------------------------------------------------

NUMBERS = np.arange(8, dtype="<f8").tobytes()
SECTIONS = [("a", "f8", [8], NUMBERS), ("b", "str", [2], reference.strings(["x", "yz"])), ("c", "bool", [3], b"\0\1\1")]
DATA = b"".join(reference.pad(data) for *_, data in SECTIONS)


def document() -> dict[str, Any]:
    return {"header": {"k": 1}, "kind": KIND, "sections": reference.lines(SECTIONS)}


def test_the_hostile_files_are_well_formed_before_they_are_spoilt(tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_bytes(reference.assemble(reference.spell(document()), DATA, 3))
    assert read_model(path).arrays["b"].tolist() == ["x", "yz"]


def line(number: int, **changes: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda document: document["sections"][number].update(changes)


HOSTILE: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "huge count": (line(0, shape=[2**62]), "sections"),
    "huge product": (line(0, shape=[2**40, 2**40]), "sections"),
    "product that wraps to the right length": (line(0, shape=[2**61 + 1, 8]), "sections"),
    "empty but impossible": (line(0, shape=[0, 2**62], length=0), "sections"),
    "negative axis": (line(0, shape=[-8]), "sections"),
    "two negative axes": (line(0, shape=[-2, -4]), "sections"),
    "fractional axis": (line(0, shape=[8.0]), "sections"),
    "axis that is true": (line(0, shape=[8, True]), "sections"),
    "too many axes": (line(0, shape=[1] * 32 + [8]), "sections"),
    "shape that is a number": (line(0, shape=8), "sections"),
    "shape too small": (line(0, shape=[7]), "sections"),
    "more strings than bytes": (line(1, shape=[2**50]), "sections"),
    "one string too many": (line(1, shape=[3]), "sections"),
    "one string too few": (line(1, shape=[1]), "content"),
    "length beyond the file": (line(2, length=2**40, shape=[2**40]), "sections"),
    "length into the trailer": (line(2, length=100, shape=[100]), "sections"),
    "negative length": (line(0, length=-64), "sections"),
    "length that is true": (line(2, length=True, shape=[1]), "sections"),
    "overlap": (line(1, offset=0), "sections"),
    "overlap by one block": (line(2, offset=64), "sections"),
    "hole": (line(1, offset=128), "sections"),
    "negative offset": (line(1, offset=-64), "sections"),
    "offset of 64 bits": (line(1, offset=2**64 - 64), "sections"),
    "unaligned": (line(1, offset=65), "sections"),
    "unknown type": (line(0, dtype="f16"), "sections"),
    "object type": (line(0, dtype="O"), "sections"),
    "type that is a list": (line(0, dtype=["f8"]), "sections"),
    "same name twice": (line(1, name="a"), "sections"),
    "names out of order": (line(0, name="z"), "sections"),
    "name with a line break": (line(0, name="a\n"), "sections"),
    "name that is a number": (line(0, name=1), "sections"),
    "name too long": (line(0, name="a" * 201), "sections"),
    "checksum of no file": (line(0, crc32="00000000"), "checksum"),
    "checksum in capitals": (line(0, crc32="ABCDEF00"), "sections"),
    "checksum as a number": (line(0, crc32=0), "sections"),
    "unknown field": (line(0, codec="gzip"), "sections"),
    "section that is a string": (lambda document: document["sections"].__setitem__(0, "a"), "sections"),
    "field missing": (lambda document: document["sections"][0].pop("crc32"), "sections"),
    "section missing": (lambda document: document["sections"].pop(), "sections"),
    "section too many": (lambda document: document["sections"].append(document["sections"][2]), "sections"),
    "sections as an object": (lambda document: document.update(sections={}), "header"),
    "header that is a list": (lambda document: document.update(header=[]), "header"),
    "no header": (lambda document: document.pop("header"), "header"),
    "unknown member": (lambda document: document.update(imports="os"), "header"),
    "kind that is a number": (lambda document: document.update(kind=3), "header"),
    "kind that is a path": (lambda document: document.update(kind="../../etc.passwd"), "header"),
    "kind with a line break": (lambda document: document.update(kind=KIND + "\n"), "header"),
    "nested too deep": (lambda document: document.update(header={"a": _nested(40)}), "header"),
    "integer too large": (lambda document: document.update(header={"a": 10**30}), "header"),
}


def _nested(depth: int) -> list[Any]:
    return [_nested(depth - 1)] if depth else []


@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_tables(tmp_path: Path, name: str, copy: bool) -> None:
    """Trap 11: each with every checksum right, each refused before anything is allocated by it."""
    spoil, code = HOSTILE[name]
    table = document()
    spoil(table)
    tracemalloc.start()
    try:
        error = refused(tmp_path / "m", reference.assemble(reference.spell(table), DATA, 3), copy=copy)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
    assert error.code == code


GOOD = reference.spell(document())


@pytest.mark.parametrize(
    "text",
    [
        b"", b"{", b"[]", b"null", b"1" * 10_000, b"[" * 100_000, b'{"a":' * 100_000, b"\xff\xfe",
        b'"' + b'\\"' * 400_000, b'["' + b"\\" * 400_001 + b'"', GOOD + b" ", b" " + GOOD, GOOD + b"\0", GOOD[:-1],
        GOOD.replace(b'"k":1', b'"k":NaN'), GOOD.replace(b'"k":1', b'"k":-Infinity'),
        GOOD.replace(b'"k":1', b'"k":1e999'), GOOD.replace(b'"k":1', b'"k":1.00'), GOOD.replace(b'"k":1', b'"k": 1'),
        GOOD.replace(b'"k":1', b'"k":1,"k":1'), GOOD.replace(b'"k":1', b'"z":1,"k":1'),
        GOOD.replace(b'"k":1', b'"k":"\\ud800"'), GOOD.replace(b'"k":1', b'"k":"\\u0041"'),
        GOOD.replace(b'"k":1', b'"k":-0'), GOOD.replace(b'"k":1', b'"k":' + b"9" * 5_000),
        GOOD.replace(b'"k":1', b'"k":"' + b"x" * (1 << 20) + b'"'), GOOD.replace(b'"k":1', b'"k":"\t"'),
    ],
)  # fmt: skip
def test_hostile_json(tmp_path: Path, text: bytes) -> None:
    """Only the one spelling is read; refusing neither recurses deeply nor (the escaped quotes) takes quadratic time."""
    error = refused(tmp_path / "m", reference.assemble(text, DATA, 3))
    assert error.code in ("header", "prologue")


@pytest.mark.parametrize(
    ("spoilt", "reason"),
    [
        (b'"k":NaN', "NaN"), (b'"k":1e999', "beyond float64"), (b'"k":1,"k":1', "twice"), (b'"k":1 ', "one permitted"),
        (b'"k":' + b"[" * 40 + b"]" * 40, "nested deeper"), (b'"k":18446744073709551616', "beyond 64 bits"),
    ],
)  # fmt: skip
def test_refusals_of_json_say_why(tmp_path: Path, spoilt: bytes, reason: str) -> None:
    text = GOOD.replace(b'"k":1', spoilt)
    assert reason in str(refused(tmp_path / "m", reference.assemble(text, DATA, 3)))


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"length": 0}, "length"), ({"length": 2**64 - 1}, "length"), ({"text_length": 0}, "prologue"),
        ({"text_length": 2**64 - 1}, "prologue"), ({"text_length": len(GOOD) + 10_000}, "prologue"),
        ({"flags": 1}, "prologue"), ({"version": 0}, "version"), ({"version": 2}, "version"),
        ({"mark": 0x04030201}, "byte_order"), ({"mark": 0}, "byte_order"),
    ],
)  # fmt: skip
def test_hostile_prologues(tmp_path: Path, options: dict[str, int], code: str) -> None:
    assert refused(tmp_path / "m", reference.assemble(GOOD, DATA, 3, **options)).code == code


@pytest.mark.parametrize("count", [0, 2, 4, 2**32 - 1])
def test_announced_sections_are_counted(tmp_path: Path, count: int) -> None:
    assert refused(tmp_path / "m", reference.assemble(GOOD, DATA, count)).code == "sections"


def one(dtype: str, shape: list[int], data: bytes) -> bytes:
    return reference.build(KIND, {}, [("a", dtype, shape, data)])


def ragged(*offsets: int, body: bytes = b"") -> bytes:
    return struct.pack(f"<{len(offsets)}Q", *offsets) + body


@pytest.mark.parametrize(
    ("dtype", "shape", "data"),
    [
        ("bool", [2], b"\0\2"),
        ("str", [1], ragged(1, 2, body=b"ab")),
        ("str", [1], ragged(0, 1, body=b"ab")),
        ("str", [1], ragged(0, 3, body=b"ab")),
        ("str", [2], ragged(0, 3, 2, body=b"ab")),
        ("str", [2], ragged(0, 2**64 - 1, 2, body=b"ab")),
        ("str", [1], ragged(0, 1, body=b"\xff")),
        ("str", [1], ragged(0, 3, body="\ud800".encode("utf-8", "surrogatepass"))),
        ("str", [2], ragged(0, 1, 2, body="ü".encode())),
        ("str", [0], ragged(1)),
        ("str_fixed", [1], ragged(0, 2, body=b"a\0")),
        ("str_fixed", [1000], ragged(*[0] * 1000, 40_000, body=b"a" * 40_000)),
    ],
)
def test_hostile_content(tmp_path: Path, dtype: str, shape: list[int], data: bytes) -> None:
    error = refused(tmp_path / "m", one(dtype, shape, data))
    assert (error.code, error.section) == ("content", "a")


def test_an_empty_array_of_impossible_shape(tmp_path: Path) -> None:
    """No byte is asked for, yet numpy could not hold the shape."""
    assert refused(tmp_path / "m", one("f8", [0, 2**62], b"")).code == "sections"


def test_padding_is_checked_where_no_checksum_looks(tmp_path: Path) -> None:
    """No polyglots: nothing can be hidden between sections, even by one who makes the SHA-256 right."""
    data = bytearray(DATA)
    data[len(DATA) - 1] = 1
    assert refused(tmp_path / "m", reference.assemble(GOOD, bytes(data), 3)).code == "padding"
    hidden = reference.assemble(GOOD, DATA + b"#" * 64, 3)
    assert refused(tmp_path / "m", hidden).code == "length"


def test_the_fuzzer_finds_nothing_in_a_few_hundred_files(tmp_path: Path) -> None:
    """What `make fuzz` does for longer."""
    tally = fuzzing.fuzz(20, lambda done: done < 300, tmp_path)
    assert {outcome for _, outcome in tally} > {"accepted", "content", "header", "sections", "checksum", "length"}


def test_the_fuzzer_would_find_something(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tonari.store.reading._check_zero", lambda *_: None)
    with pytest.raises(fuzzing.Finding, match="the writer would have written something else"):
        fuzzing.fuzz(20, lambda done: done < 3_000, tmp_path)
    assert len(list(tmp_path.iterdir())) == 1


# --- everything that is written comes back ---------------------------------------------------------------------------

words = st.text(st.characters(codec="utf-8"), max_size=30)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=12,
)
shapes = st_numpy.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)
dtypes = st.sampled_from(
    [np.dtype(code) for code in ("?", "i1", "i2", "<i4", ">i4", "i8", "u1", "u4", "u8", "f4", ">f8")]
)
stored_arrays = (
    dtypes.flatmap(lambda dtype: st_numpy.arrays(dtype, shapes))
    | st.lists(words, max_size=6).map(lambda values: np.array(values, dtype=np.str_))
    | st.lists(words, max_size=6).map(lambda values: np.array(values, dtype=object))
)


@given(
    header=st.dictionaries(words, json_values, max_size=5),
    stored=st.dictionaries(st.from_regex(r"[A-Za-z0-9_./-]{1,20}", fullmatch=True), stored_arrays, max_size=5),
    copy=st.booleans(),
)
def test_whatever_is_written_comes_back(
    tmp_path_factory: pytest.TempPathFactory, header: dict[str, Any], stored: dict[str, Any], copy: bool
) -> None:
    path = tmp_path_factory.mktemp("trip") / "m"
    digest = write_model(path, KIND, header, stored)
    file = read_model(path, copy=copy)
    assert (file.header, file.kind, file.sha256) == (header, KIND, digest)
    assert set(file.arrays) == set(stored)
    for name, array in stored.items():
        found = file.arrays[name]
        assert found.shape == array.shape
        if array.dtype.kind in "UO":
            assert found.tolist() == array.tolist()
        else:
            assert found.dtype == array.dtype.newbyteorder("=")
            assert found.tobytes() == array.astype(found.dtype).tobytes()
    again = path.with_name("again")
    assert write_model(again, file.kind, file.header, file.arrays) == digest
    assert again.read_bytes() == path.read_bytes()


def test_one_long_string_among_many_does_not_take_much_memory(tmp_path: Path) -> None:
    """A fixed-width array of these would take 4,000 times the file."""
    strings = np.array(["a"] * 5_000 + ["b" * 20_000], dtype=object)
    write_model(tmp_path / "m", KIND, {}, {"objects": strings, "fixed": strings[4_900:].astype(str)})
    file = read_model(tmp_path / "m")
    assert file.arrays["objects"].tolist() == strings.tolist()
    assert file.arrays["fixed"].dtype == object
    assert file.arrays["fixed"].tolist() == strings[4_900:].tolist()


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="numpy 2")
def test_numpys_own_strings_are_stored(tmp_path: Path) -> None:
    write_model(tmp_path / "m", KIND, {}, {"a": np.array(["x", "yü"], dtype=np.dtypes.StringDType())})
    assert read_model(tmp_path / "m").arrays["a"].tolist() == ["x", "yü"]


def test_inspect_describes_without_opening(small: tuple[Path, bytes]) -> None:
    path, data = small
    described = inspect_model(path)
    assert described["kind"] == KIND
    assert described["header"] == HEADER
    assert described["bytes"] == len(data)
    assert described["sha256"] == data[-32:].hex()
    assert described["format"] == 1
    assert {"name": "fit_X", "dtype": "f8", "shape": [40, 3], "bytes": 960} in described["sections"]
