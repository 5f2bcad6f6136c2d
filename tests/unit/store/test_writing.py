"""Saving: the old file or the new one, never half of either (trap 12), and the same bytes every time."""

from __future__ import annotations

import errno
import os
import stat
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.reference import model_file as reference
from tonari.base.errors import ModelFileError, UsageError
from tonari.store import read_model, write_model

KIND = "neighbors.KNeighborsClassifier"
OLD = {"a": np.arange(5)}
NEW = {"a": np.arange(500), "b": np.array(["x", "yy"])}


def save_old(folder: Path) -> tuple[Path, bytes]:
    path = folder / "m.tonari"
    write_model(path, KIND, {"old": True}, OLD)
    return path, path.read_bytes()


def test_bytes_are_those_of_the_written_format(tmp_path: Path) -> None:
    """FORMAT.md, written down twice: what ours writes is what the second writer makes of the page alone."""
    header = {"z": [1, 2.5, None, True, 'ü"\n'], "a": {"b": -0.0, "c": 2**64 - 1}}
    arrays = {
        "f8": np.array([[1.5, np.nan], [-np.inf, 0.0]]),
        "f4": np.float32([1, 2, 3]),
        "bool": np.array([True, False]),
        "i2": np.array(-3, dtype=">i2"),
        "none/here": np.empty((0, 4)),
        "words": np.array(["eins", "", "dreißig"]),
        "objects": np.array(["a\0", ""], dtype=object),
    }
    write_model(tmp_path / "a.tonari", KIND, header, arrays)
    words = arrays["words"]
    expected = reference.build(
        KIND,
        header,
        [
            ("bool", "bool", [2], b"\1\0"),
            ("f4", "f4", [3], np.array([1, 2, 3], "<f4").tobytes()),
            ("f8", "f8", [2, 2], arrays["f8"].astype("<f8").tobytes()),
            ("i2", "i2", [], b"\xfd\xff"),
            ("none/here", "f8", [0, 4], b""),
            ("objects", "str", [2], reference.strings(["a\0", ""])),
            ("words", "str_fixed", [3], reference.strings(words.tolist())),
        ],
    )
    assert (tmp_path / "a.tonari").read_bytes() == expected


def test_same_content_same_bytes_whatever_the_order(tmp_path: Path) -> None:
    rows = np.arange(12.0).reshape(3, 4)
    first = write_model(tmp_path / "1", KIND, {"a": 1, "b": (2, 3)}, {"x": rows, "y": rows[0]})
    second = write_model(
        tmp_path / "2",
        KIND,
        {"b": [np.int64(2), 3], "a": np.int8(1)},
        {"y": rows[0].copy(), "x": np.asfortranarray(rows)},
    )
    assert first == second
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_views_of_every_kind_are_stored_by_value(tmp_path: Path) -> None:
    """Trap 5: strides, byte order and read-only memory must not change what is stored."""
    base = np.arange(24, dtype=np.float64).reshape(4, 6)
    frozen = base.copy()
    frozen.setflags(write=False)
    arrays = {"stepped": base[::-2, 1::2], "swapped": base.astype(">f8"), "turned": base.T, "frozen": frozen}
    write_model(tmp_path / "m", KIND, {}, arrays)
    for name, array in read_model(tmp_path / "m").arrays.items():
        np.testing.assert_array_equal(array, arrays[name])
        assert array.dtype.isnative


def test_refuses_to_overwrite_unless_asked(tmp_path: Path) -> None:
    path, before = save_old(tmp_path)
    with pytest.raises(UsageError, match="exists already"):
        write_model(path, KIND, {}, NEW)
    assert path.read_bytes() == before
    write_model(path, KIND, {}, NEW, force=True)
    assert set(read_model(path).arrays) == {"a", "b"}
    assert names(tmp_path) == ["m.tonari"]


def test_a_file_that_appears_meanwhile_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.tonari"
    fsync = os.fsync

    def other_program_is_first(descriptor: int) -> None:
        fsync(descriptor)
        path.write_bytes(b"theirs")

    monkeypatch.setattr(os, "fsync", other_program_is_first)
    with pytest.raises(UsageError, match="exists already"):
        write_model(path, KIND, {}, NEW)
    assert path.read_bytes() == b"theirs"
    assert names(tmp_path) == ["m.tonari"]


def test_works_where_there_are_no_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "no hard links here")

    monkeypatch.setattr(os, "link", refuse)
    write_model(tmp_path / "m.tonari", KIND, {}, NEW)
    assert read_model(tmp_path / "m.tonari").arrays["a"].size == 500
    with pytest.raises(UsageError, match="exists already"):
        write_model(tmp_path / "m.tonari", KIND, {}, OLD)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_that_cannot_be_flushed_at_all_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some file systems have no fsync of folders; they say so by EINVAL, and only for the folder."""
    fsync = os.fsync

    def files_only(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not for folders")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", files_only)
    write_model(tmp_path / "m.tonari", KIND, {}, NEW)
    assert read_model(tmp_path / "m.tonari").arrays["a"].size == 500


def test_a_new_name_that_cannot_be_given_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "link", full)
    with pytest.raises(ModelFileError, match=os.strerror(errno.ENOSPC)):
        write_model(tmp_path / "m.tonari", KIND, {}, NEW)
    assert not names(tmp_path)


class Failing:
    """Lets a system call pass `after` times, then fails, once or for ever."""

    def __init__(self, name: str, error: BaseException, after: int) -> None:
        self.real, self.error, self.after, self.calls = getattr(os, name), error, after, 0

    def __call__(self, *args: Any, **options: Any) -> Any:
        self.calls += 1
        if self.calls > self.after:
            raise self.error
        return self.real(*args, **options)


def failure_of_saving(path: Path) -> ModelFileError | None:
    try:
        write_model(path, KIND, {}, NEW, force=True)
    except ModelFileError as error:
        return error
    return None


@pytest.mark.parametrize("name", ["open", "write", "fsync", "replace"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_failed_save_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, number: int
) -> None:
    """Trap 12: disk full or broken, at every call of the way to the new name."""
    path, before = save_old(tmp_path)
    for after in range(50):
        with monkeypatch.context() as patch:
            failing = Failing(name, OSError(number, os.strerror(number)), after)
            patch.setattr(os, name, failing)
            error = failure_of_saving(path)
        if error is None:
            break
        assert error.code == "write"
        assert os.strerror(number) in error.message
        assert names(tmp_path) == ["m.tonari"]
        if "was written" in error.message:  # only the folder's own flush failed: the new file must be whole
            assert read_model(path).arrays["a"].size == 500
            path.write_bytes(before)
        assert path.read_bytes() == before
    assert after > 0
    assert failing.calls <= after
    np.testing.assert_array_equal(read_model(path).arrays["a"], NEW["a"])


@pytest.mark.parametrize("name", ["write", "fsync", "replace"])
def test_an_interrupted_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Trap 10: Ctrl-C while saving."""
    path, before = save_old(tmp_path)
    monkeypatch.setattr(os, name, Failing(name, KeyboardInterrupt(), 0))
    with pytest.raises(KeyboardInterrupt):
        write_model(path, KIND, {}, NEW, force=True)
    assert path.read_bytes() == before
    assert names(tmp_path) == ["m.tonari"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork to be killed")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("name", ["write", "fsync", "replace"])
def test_a_killed_save_leaves_the_old_file(tmp_path: Path, name: str) -> None:
    """Trap 12: a process that vanishes at a system call, without a chance to tidy up."""
    path, before = save_old(tmp_path)
    child = os.fork()
    if child == 0:
        setattr(os, name, lambda *_, **__: os._exit(9))
        write_model(path, KIND, {}, NEW, force=True)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert path.read_bytes() == before
    assert read_model(path).header == {"old": True}


def test_a_failed_fsync_is_not_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trap 12: after a failed fsync the kernel may call lost pages clean; a second fsync would then lie."""
    failing = Failing("fsync", OSError(errno.EIO, "broken"), 0)
    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(ModelFileError, match="broken"):
        write_model(tmp_path / "m", KIND, {}, NEW)
    assert failing.calls == 1
    assert not names(tmp_path)


def test_flushes_the_file_then_names_it_then_flushes_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trap 12: without the first flush a power failure leaves an empty file, without the second no file."""
    done: list[str] = []
    fsync, link, replace = os.fsync, os.link, os.replace

    def noting_fsync(descriptor: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noting_fsync)
    monkeypatch.setattr(os, "link", lambda *a, **k: (done.append("name"), link(*a, **k)))
    monkeypatch.setattr(os, "replace", lambda *a, **k: (done.append("name"), replace(*a, **k)))
    write_model(tmp_path / "m", KIND, {}, NEW)
    assert done == ["file", "name", "folder"]
    write_model(tmp_path / "m", KIND, {}, OLD, force=True)
    assert done == ["file", "name", "folder"] * 2


def test_short_writes_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trap 12: write() may take fewer bytes than it was given."""
    write_model(tmp_path / "whole", KIND, {}, NEW)
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, bytes(data[:7])))
    write_model(tmp_path / "bits", KIND, {}, NEW)
    assert (tmp_path / "bits").read_bytes() == (tmp_path / "whole").read_bytes()
    monkeypatch.setattr(os, "write", lambda descriptor, data: 0)
    with pytest.raises(ModelFileError, match=os.strerror(errno.ENOSPC)):
        write_model(tmp_path / "full", KIND, {}, NEW)


def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    for mask, wanted in ((0o022, 0o644), (0o077, 0o600), (0o002, 0o664)):
        before = os.umask(mask)
        try:
            write_model(tmp_path / "m", KIND, {}, OLD, force=True)
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / "m").stat().st_mode) == wanted


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    path, _ = save_old(tmp_path / "real")
    (tmp_path / "link").symlink_to(path)
    write_model(tmp_path / "link", KIND, {}, NEW, force=True)
    assert (tmp_path / "link").is_symlink()
    assert set(read_model(path).arrays) == {"a", "b"}


def test_a_mapped_file_can_be_replaced(tmp_path: Path) -> None:
    """Trap 10: a map of the old file stays valid, because nothing is written in place."""
    path, _ = save_old(tmp_path)
    mapped = read_model(path, copy=False).arrays["a"]
    write_model(path, KIND, {}, {"a": np.arange(5) + 100}, force=True)
    np.testing.assert_array_equal(mapped, np.arange(5))


def test_a_name_that_the_system_refuses(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="could not be written") as caught:
        write_model(tmp_path / ("m" * 300), KIND, {}, OLD)
    assert caught.value.code == "write"
    with pytest.raises(ModelFileError) as caught:
        read_model(tmp_path / ("m" * 300))
    assert caught.value.code == "unreadable"


def test_what_is_no_file_is_never_replaced(tmp_path: Path) -> None:
    """Replacing a folder or a device (as root, /dev/null) by name would be the end of it."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(UsageError, match="not a regular file"):
            write_model(tmp_path / name, KIND, {}, OLD, force=True)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    with pytest.raises(UsageError, match="There is no folder"):
        write_model(tmp_path / "nowhere" / "m", KIND, {}, OLD)


def test_an_array_that_changes_while_it_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file whose checksum cannot match must not be left behind as if it were saved."""
    rows = np.zeros(1000)
    write = os.write

    def meddle(descriptor: int, data: Any) -> int:
        rows[3] += 1
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", meddle)
    with pytest.raises(ModelFileError, match="changed while it was being saved") as caught:
        write_model(tmp_path / "m", KIND, {}, {"rows": rows})
    assert caught.value.section == "rows"
    assert not names(tmp_path)


def test_many_writers_one_name(tmp_path: Path) -> None:
    """Every reader sees one of the files, whole, while several threads replace it."""
    path, _ = save_old(tmp_path)
    contents = [{"a": np.full(2000, number)} for number in range(4)]
    threads = [
        threading.Thread(target=lambda mine=mine: [write_model(path, KIND, {}, mine, force=True) for _ in range(10)])
        for mine in contents
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert len(set(read_model(path).arrays["a"].tolist())) in (1, 5)
    for thread in threads:
        thread.join()
    assert names(tmp_path) == ["m.tonari"]


CYCLE: dict[str, Any] = {}
CYCLE["self"] = [CYCLE]


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ({"a": float("nan")}, "not JSON"),
        ({"a": np.float64("inf")}, "not JSON"),
        ({1: "a"}, "keys of the header must be strings"),
        ({"a": {None: 1}}, "keys of the header must be strings"),
        ({"a": 2**64}, "integer beyond 64 bits"),
        ({"a": -(2**63) - 1}, "integer beyond 64 bits"),
        ({"a": b"bytes"}, "not JSON"),
        ({"a": {1, 2}}, "not JSON"),
        ({"a": np.arange(3)}, "not JSON"),
        ({"a": "\ud800"}, "not Unicode"),
        ({"a": "x" * (1 << 20)}, "bytes; 1048576 are allowed"),
        (CYCLE, "nested deeper"),
        (["a"], "must be a dictionary"),
    ],
)
def test_headers_that_json_would_bend_are_refused(tmp_path: Path, header: Any, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        write_model(tmp_path / "m", KIND, header, {})
    assert not names(tmp_path)


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (np.zeros(2, dtype=complex), "complex128 cannot be stored"),
        (np.zeros(2, dtype=np.float16), "float16 cannot be stored"),
        (np.zeros(2, dtype=np.longdouble), "cannot be stored"),
        (np.zeros(2, dtype="M8[s]"), "cannot be stored"),
        (np.zeros(2, dtype="S3"), "cannot be stored"),
        (np.zeros(2, dtype=[("a", "f8")]), "cannot be stored"),
        (np.array(["a", None], dtype=object), "all of them are strings"),
        (np.array([b"a"], dtype=object), "all of them are strings"),
        (np.array(["\udc80"]), "not Unicode"),
        (np.array([2], dtype=np.uint8).view(bool), "neither 0 nor 1"),
        (np.ma.masked_array([1, 2], [True, False]), "not MaskedArray"),
        ([1, 2], "not list"),
    ],
)
def test_arrays_that_cannot_come_back_are_refused(tmp_path: Path, array: Any, reason: str) -> None:
    """Trap 5: nothing is cast in silence to something that can be stored."""
    with pytest.raises(UsageError, match=f"{reason}.*section 'a'"):
        write_model(tmp_path / "m", KIND, {}, {"a": array})
    assert not names(tmp_path)


@pytest.mark.parametrize("kind", ["", "neighbors", "Neighbors.A", "a.b c", "../a.b", "a." + "b" * 100, "a.b\n"])
def test_kinds_are_names(tmp_path: Path, kind: str) -> None:
    with pytest.raises(UsageError, match="kind must look like"):
        write_model(tmp_path / "m", kind, {}, {})


@pytest.mark.parametrize("name", ["", "a b", "ä", "a" * 201, "a\n", 3])
def test_section_names_are_names(tmp_path: Path, name: Any) -> None:
    with pytest.raises(UsageError, match="section's name"):
        write_model(tmp_path / "m", KIND, {}, {name: np.zeros(1)})
