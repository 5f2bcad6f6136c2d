"""Every script in examples/ runs and says what it promises; every table there is what its README says."""

from __future__ import annotations

import csv
import gzip
import re
import runpy
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tonari.neighbors import KDTree, NearestNeighbors

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
TABLES = sorted((EXAMPLES / "data").glob("*.csv"))

# What must stand in the output of each script; a script without a line here fails.
SAYS = {
    "riding_mowers": r"slide, % wrong +33   33   33   33   33   17   17   50\s",
    "leave_one_out": r"themselves: 6/6 right(?s:.*)accuracy 4/6 = 66\.67%, error 33\.33%",
    "grid_search": r"240 candidates, 10 folds\nbest: k=11, manhattan, uniform; accuracy 0\.983\n.*accuracy 0\.821",
    "gaussian_boundaries": r"equal covariances: a line(?s:.*)equal means: a hyperbola(?s:.*)three classes",
    "compare_iris": r"(?s)k-NN.*forest|forest.*k-NN",
    "image_annotation": r"as they are; copies of a query: 1\n(?s:.*)mirrored, shifts up to 2; copies of a query: 50\n"
    r"(?s:.*) 768 images: +\d+\.\d% wrong, 95 % interval",
    "kd_tree_search": r"without backtracking: [1-9]\d\.\d% find(?s:.*)with backtracking: 100\.0% find",
}


@pytest.mark.parametrize("script", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_script(script: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(script)])
    runpy.run_path(str(script), run_name="__main__")
    assert re.search(SAYS[script.stem], capsys.readouterr().out)
    assert not list(tmp_path.iterdir()), "an example leaves nothing behind"


def test_gaussian_boundaries_are_drawn() -> None:
    pytest.importorskip("matplotlib")
    script = runpy.run_path(str(EXAMPLES / "gaussian_boundaries.py"))
    assert [ax.get_title() for ax in script["figure"]().axes] == list(script["CASES"])


def test_riding_mowers(capsys: pytest.CaptureFixture[str]) -> None:
    """Mission row F6: the slide's own data cannot give the slide's row; the original data give seven of eight."""
    script = runpy.run_path(str(EXAMPLES / "riding_mowers.py"))
    X, y = script["families"]()
    assert Counter(y) == {"owner": 12, "non-owner": 12}
    assert script["NEIGHBOURS"] == [1, 3, 5, 7, 9, 11, 13, 18]
    assert script["errors"](X, y) == [33, 33, 33, 33, 33, 17, 0, 50]
    votes = y[np.setdiff1d(np.arange(24), script["TEST"])]
    assert Counter(votes) == {"owner": 9, "non-owner": 9}, "k = 18 is a tie"
    y[11] = "non-owner"
    agree = [ours == theirs for ours, theirs in zip(script["errors"](X, y), script["SLIDE"], strict=True)]
    assert agree == [k == 13 for k in script["NEIGHBOURS"]]
    script["main"]()
    printed = capsys.readouterr().out
    assert "7 of 8 agree" in printed
    assert "1 of 8 agree" in printed


def test_leave_one_out_is_not_the_training_error() -> None:
    """Mission row F5; trap 4: the row itself among its own neighbours would make it 6/6."""
    script = runpy.run_path(str(EXAMPLES / "leave_one_out.py"))
    X, y = script["X"], script["y"]
    distance = ((X[:, None] - X) ** 2).sum(axis=2)
    np.fill_diagonal(distance, np.inf)
    assert np.sum(y[distance.argmin(axis=1)] == y) == 4


def test_kd_tree_search_is_that_of_the_library() -> None:
    """Mission row B2: the slow tree has the leaves of KDTree, so both of its searches give the same rows."""
    script = runpy.run_path(str(EXAMPLES / "kd_tree_search.py"))
    X, queries = script["data"]()
    tree, library = script["build"](X), KDTree(X, leaf_size=script["LEAF_SIZE"])
    leaves = script["leaves"](tree)
    assert sorted(row for leaf in leaves for row in leaf.rows) == list(range(len(X)))
    # Between the boxes of two leaves "the query's own leaf" is a matter of taste.
    inside = [any(script["gap"](leaf, query) == 0 for leaf in leaves) for query in queries]
    assert 100 < sum(inside) < len(queries)
    for backtrack, judged in ((True, queries), (False, queries[inside])):
        distances, rows = library.query(judged, backtrack=backtrack)
        found = [script["search"](tree, X, query, backtrack=backtrack) for query in judged]
        assert [row for _, row, _ in found] == rows.ravel().tolist()
        np.testing.assert_allclose([distance for distance, _, _ in found], distances.ravel(), rtol=1e-14)
    query = script["telling"](tree, X, queries)
    drawn = {script["search"](tree, X, query, backtrack=backtrack)[1] for backtrack in (True, False)}
    assert len(drawn) == 2, "the picture shows a search that goes wrong without backtracking"


def test_kd_tree_search_is_drawn() -> None:
    pytest.importorskip("matplotlib")
    titles = [ax.get_title() for ax in runpy.run_path(str(EXAMPLES / "kd_tree_search.py"))["figure"]().axes]
    assert [title.split(":")[0] for title in titles] == ["without backtracking", "with backtracking"]


@pytest.mark.parametrize("channels", [1, 3])
def test_image_annotation_is_exact(channels: int) -> None:
    """Mission row A13: the merged lists are those of brute force over all copies, ties and repeated images included."""
    script = runpy.run_path(str(EXAMPLES / "image_annotation.py"))
    rng = np.random.default_rng(channels)
    train, test = (rng.integers(0, 4, (n, 5, 4, channels)).astype(np.uint8) for n in (60, 9))
    train[40:] = train[:20]
    hows = script["copies"](2)
    assert len(set(hows)) == 50
    assert hows[0] == (False, 0, 0)
    every = np.stack([by_hand(test, *how) for how in hows], axis=1).astype(np.int64)
    squares = ((every[:, :, None] - train) ** 2).sum(axis=(3, 4, 5))
    closest = squares.min(axis=1)
    script["nearest"].__globals__["BATCH_BYTES"] = 4 * 50 * train[0].size * 4  # four queries at a time
    for k in (1, 7, 60):
        index = NearestNeighbors().fit(script["flat"](train))
        found = script["nearest"](index, test, k, hows)
        expected = np.argsort(closest, axis=1, kind="stable")[:, :k]
        assert found.rows.tolist() == expected.tolist()
        assert found.distances.tolist() == np.sqrt(np.take_along_axis(closest, expected, axis=1)).tolist()
        first = np.take_along_axis(squares.argmin(axis=1), expected, axis=1)
        assert found.copies.tolist() == first.tolist(), "the least changed of the closest copies"


def test_image_annotation_finds_planted_copies() -> None:
    """Mirrored and shifted copies lie at distance 0, and not where only the pixels as they are get compared."""
    script = runpy.run_path(str(EXAMPLES / "image_annotation.py"))
    images = script["drawn"](train=80, test=20)
    hows = script["copies"](2)
    index = NearestNeighbors().fit(script["flat"](images.train))
    where = np.arange(0, 80, 4)
    for number in (1, 20, len(hows) - 1):
        images.train[where] = by_hand(images.test, *hows[number])
        index.fit(script["flat"](images.train))
        found = script["nearest"](index, images.test, 1, hows)
        assert not found.distances.any()
        assert found.rows.ravel().tolist() == where.tolist()
        assert script["nearest"](index, images.test, 1, hows[:1]).distances.all()


def test_image_annotation_improves_with_images_and_copies() -> None:
    script = runpy.run_path(str(EXAMPLES / "image_annotation.py"))
    images = script["drawn"](train=512, test=100)
    plain, best = (script["curve"](images, 3, script["copies"](shift, mirror=shift > 0))[0] for shift in (0, 2))
    assert [size for size, _ in best] == [16, 32, 64, 128, 256, 512]
    assert best[-1][1] < best[0][1] / 2
    assert best[-1][1] < plain[-1][1] / 1.3


def test_image_annotation_reads_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Image = pytest.importorskip("PIL.Image")
    script = runpy.run_path(str(EXAMPLES / "image_annotation.py"))
    colours = {"red": (200, 0, 0), "blue": (0, 0, 200)}
    for name, colour in colours.items():
        (tmp_path / name / "more").mkdir(parents=True)
        for i in range(10):
            Image.new("RGB", (60 + i, 40), colour).save(tmp_path / name / ("more" if i % 2 else "") / f"{i}.png")
    (tmp_path / "red/broken.jpg").write_bytes(b"no image")
    (tmp_path / "red/notes.txt").write_text("no image", encoding="utf-8")
    images = script["from_files"](tmp_path)
    assert "left out" in capsys.readouterr().out
    assert (images.train.shape, images.test.shape) == ((16, 32, 32, 3), (4, 32, 32, 3))
    for pixels, label in zip(images.train, images.train_labels, strict=True):
        assert (pixels == colours[label]).all()
    with pytest.raises(SystemExit, match="holds 0 images"):
        script["from_files"](tmp_path / "red/more")


def test_image_annotation_is_drawn(tmp_path: Path, monkeypatch: Any) -> None:
    """From files in Fashion-MNIST's format to the saved picture."""
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    for part, n in (("train", 40), ("t10k", 8)):
        pixels, labels = rng.integers(0, 256, (n, 28, 28)), rng.integers(0, 10, n)
        for name, array in (("images-idx3", pixels), ("labels-idx1", labels)):
            head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, dtype=">i4").tobytes()
            with gzip.open(tmp_path / f"{part}-{name}-ubyte.gz", "wb") as file:
                file.write(head + array.astype(np.uint8).tobytes())
    picture = tmp_path / "picture.svg"
    options = ["--fashion-mnist", str(tmp_path), "--shift", "1", "--queries", "5", "--save", str(picture)]
    monkeypatch.setattr(sys, "argv", ["image_annotation", *options])
    runpy.run_path(str(EXAMPLES / "image_annotation.py"), run_name="__main__")
    assert picture.read_text(encoding="utf-8").count("<image") == 5 * 4


def by_hand(images: Any, mirrored: bool, down: int, right: int) -> Any:
    """Pixel by pixel; zeros come in from outside."""
    height, width = images.shape[1:3]
    result = np.zeros_like(images)
    for y in range(height):
        for x in range(width):
            if 0 <= y - down < height and 0 <= x - right < width:
                from_x = width - 1 - (x - right) if mirrored else x - right
                result[:, y, x] = images[:, y - down, from_x]
    return result


def test_tables_are_small_and_described() -> None:
    assert sum(path.stat().st_size for path in TABLES) < 500_000
    assert max(path.stat().st_size for path in TABLES) < 150_000
    described = dict(
        re.findall(
            r"^\| `(\w+\.csv)` \| (\d+) \|", (EXAMPLES / "data/README.md").read_text(encoding="utf-8"), re.MULTILINE
        )
    )
    assert described == {path.name: str(len(read(path)) - 1) for path in TABLES}


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_table_is_plain(path: Path) -> None:
    rows = read(path)
    assert all(re.fullmatch(r"[A-Za-z0-9_]+", name) for name in rows[0])
    assert {len(row) for row in rows} == {len(rows[0])}
    assert not {"?", "NA", "NaN", "null"} & {cell for row in rows for cell in row}, "missing cells are empty"
    assert b"\r" not in path.read_bytes()


def test_readme_counts() -> None:
    """The numbers of classes, missing cells and repeated rows in the data's README."""
    text = (EXAMPLES / "data/README.md").read_text(encoding="utf-8")
    for path in TABLES:
        header, *rows = read(path)
        line = next(line for line in text.splitlines() if line.startswith(f"| `{path.name}`"))
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        target = re.search(r"`(\w+)`", cells[3])
        assert target, path.name
        counts = Counter(row[header.index(target[1])] for row in rows)
        assert sorted(map(int, re.findall(r"\d+", cells[3].split("(")[1]))) == sorted(counts.values())
        empty = sum(cell == "" for row in rows for cell in row)
        assert cells[4] == (f"{empty} cells in {sum('' in row for row in rows)} rows" if empty else "")
        assert sum(map(int, re.findall(r"(\d+) (?:numbers|categories)", cells[2]))) == len(header) - 1
        if repeated := re.search(r"(\d+) repeated rows", cells[5]):
            assert int(repeated[1]) == len(rows) - len(set(map(tuple, rows)))


def read(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))
