"""How delimited text is written: delimiter, header, encoding, line ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from tonari.base.errors import DataError
from tonari.tables import Table, read_table
from tonari.tables import delimited as module


def read(tmp_path: Path, content: str | bytes, name: str = "a.csv", **options: object) -> Table:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_table(path, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_found(tmp_path: Path, delimiter: str) -> None:
    table = read(tmp_path, "size,kind,note\n1,a,x y\n2,b,z\n".replace(",", delimiter))
    assert table.names == ["size", "kind", "note"]
    assert table.columns["note"].tolist() == ["x y", "z"]


def test_a_delimiter_inside_text_does_not_mislead(tmp_path: Path) -> None:
    rows = "".join(f'{i},"one; two; three",b\n' for i in range(5))
    assert read(tmp_path, "size,words,kind\n" + rows).names == ["size", "words", "kind"]
    assert read(tmp_path, "a;b\nx,y;1\nz,w;2\n").columns["a"].tolist() == ["x,y", "z,w"]


def test_decimal_commas_do_not_pass_for_delimiters(tmp_path: Path) -> None:
    """Trap 5: every line of this file has as many commas as semicolons."""
    table = read(tmp_path, "1,5;2,5;a\n3,5;4,5;b\n", decimal=",")
    assert [table.columns[name].tolist() for name in table.names] == [[1.5, 3.5], [2.5, 4.5], ["a", "b"]]


def test_a_single_column(tmp_path: Path) -> None:
    assert read(tmp_path, "size\n1\n2\n").columns["size"].tolist() == [1.0, 2.0]
    assert read(tmp_path, 'kind\na\n""\n\nb\n\n').columns["kind"].tolist() == ["a", None, "b"]


def test_the_delimiter_can_be_said(tmp_path: Path) -> None:
    assert read(tmp_path, "a b\n1 2\n", delimiter=" ").names == ["a", "b"]
    assert read(tmp_path, "a,b\nx,y\n", delimiter=";").names == ["a,b"]


@pytest.mark.parametrize(
    ("text", "has_header"),
    [
        ("size,kind\n1,a\n2,b\n", True),
        ("5.1,3.5,setosa\n4.9,3.0,setosa\n", False),
        ("x,s,n\nb,y,w\n", True),
        ("id,2019,2020\n1,5,6\n2,7,8\n", True),
        ("2019,2020\n5,6\n", False),
        ("?,3.5,a\n1,2,b\n", False),
        (",size\n1,2\n", True),
    ],
)
def test_headers_are_recognised(tmp_path: Path, text: str, has_header: bool) -> None:
    table = read(tmp_path, text)
    assert table.n_rows == text.count("\n") - int(has_header)
    assert ("" in table.notes) == (not has_header or text.startswith(","))


def test_the_header_can_be_said(tmp_path: Path) -> None:
    table = read(tmp_path, "a,b\nc,d\n", header=False)
    assert table.names == ["column_1", "column_2"]
    assert table.columns["column_1"].tolist() == ["a", "c"]
    assert "no header" in table.notes[""][0]
    assert read(tmp_path, "2019,2020\n5,6\n", header=True).names == ["2019", "2020"]


def test_columns_without_a_name_are_called_by_position(tmp_path: Path) -> None:
    table = read(tmp_path, ",size,\n1,2,3\n")
    assert table.names == ["column_1", "size", "column_3"]
    assert "position" in table.notes[""][0]


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.csv, line 1: 2 columns are called 'a' \(columns 1, 3\)"):
        read(tmp_path, "a,b, a\n1,2,3\n")
    assert read(tmp_path, "a,A\n1,2\n").names == ["a", "A"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends(tmp_path: Path, end: str, last: bool) -> None:
    text = end.join(["size,kind", "1,a", "2,b"]) + end * last
    table = read(tmp_path, text)
    assert table.columns["size"].tolist() == [1.0, 2.0]
    assert table.columns["kind"].tolist() == ["a", "b"]


def test_mixed_line_ends_and_blank_lines(tmp_path: Path) -> None:
    text = "\n  \nsize,kind\r\n1,a\n\n2,b\r\n   \n3,c\n\n\n"
    table = read(tmp_path, text)
    assert table.columns["size"].tolist() == [1.0, 2.0, 3.0]
    assert [table.place(row) for row in range(3)] == ["a.csv, line 4", "a.csv, line 6", "a.csv, line 8"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("inside", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("header", [True, False])
def test_line_ends_inside_quotes(tmp_path: Path, end: str, inside: str, header: bool) -> None:
    """DuckDB 2.0 takes the kind of line end from inside a quoted name, and then drops every row without a word."""
    text = end.join([f'size,"b{inside}c"', "1,a", f'2,"{inside}d"', "3,e"])
    table = read(tmp_path, text, header=header)
    assert table.names == (["size", f"b{inside}c"] if header else ["column_1", "column_2"])
    assert table.columns[table.names[1]].tolist() == [f"b{inside}c"] * (not header) + ["a", f"{inside}d", "e"]


def test_line_ends_that_change(tmp_path: Path) -> None:
    """DuckDB 2.0 then loses the first letter of a row without a word."""
    table = read(tmp_path, 'a,b\r\nx,"1\r\n"\rhash,2\rlast,3\r')
    assert table.columns["a"].tolist() == ["x", "hash", "last"]


def test_blanks_before_a_quote(tmp_path: Path) -> None:
    for end in ("\n", "\r\n"):
        table = read(tmp_path, 'a, b, c\n1, "x, y", "z"\n2, "q", r' + end)
        assert [table.columns[name].tolist() for name in "abc"] == [[1.0, 2.0], ["x, y", "q"], ["z", "r"]]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-8"])
@pytest.mark.parametrize("header", [True, False])
def test_byte_order_marks(tmp_path: Path, encoding: str, header: bool) -> None:
    table = read(tmp_path, ("größe,é\n" * header + "1,ü\n2,隣\n").encode(encoding))
    assert table.names == (["größe", "é"] if header else ["column_1", "column_2"])
    assert table.columns[table.names[0]].tolist() == [1.0, 2.0]
    assert table.columns[table.names[1]].tolist() == ["ü", "隣"]


def test_another_encoding_is_refused_until_it_is_said(tmp_path: Path) -> None:
    content = "size,kind\n1,a\n2,café\n".encode("latin-1")
    with pytest.raises(DataError, match=r"a\.csv, line 3: the text is not UTF-8.*encoding=.*latin-1"):
        read(tmp_path, content)
    assert read(tmp_path, content, encoding="latin-1").columns["kind"].tolist() == ["a", "café"]
    with pytest.raises(DataError, match="line 3: the text is not ascii"):
        read(tmp_path, content, encoding="ascii")


def test_another_encoding_far_below_is_found_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SAMPLE_BYTES", 64)
    content = "size,kind\n" + "1,a\n" * 100 + "2,café\n"
    with pytest.raises(DataError, match="line 102: the text is not UTF-8"):
        read(tmp_path, content.encode("cp1252"))
    assert read(tmp_path, content.encode("cp1252"), encoding="cp1252").columns["kind"][-1] == "café"


def test_the_sample_may_end_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample that ends inside a character, a quote or a row must not change what is read."""
    content = 'größe,kind\n1,"a, ""b""\nc"\n2,隣隣\n3,z\n'
    expected = ["a, \"b\"\nc", "隣隣", "z"]  # fmt: skip
    for size in range(14, len(content.encode()) + 2):
        monkeypatch.setattr(module, "SAMPLE_BYTES", size)
        table = read(tmp_path, content)
        assert table.names == ["größe", "kind"]
        assert table.columns["kind"].tolist() == expected
