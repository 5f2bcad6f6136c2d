"""The data that is measured. A name stands for the same numbers for ever: a change of data is a new name."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

# Debian's package dataset-fashion-mnist; elsewhere, put the four files of the original into benchmarks/data.
FASHION_MNIST = (Path("/usr/share/datasets/fashion-mnist"), Path(__file__).parent / "data" / "fashion-mnist")


@dataclass(frozen=True)
class Workload:
    """Rows to search in, queries, and labels where the work needs them."""

    name: str
    what: str
    rows: np.ndarray
    queries: np.ndarray | None = None
    labels: np.ndarray | None = None

    @property
    def sha256(self) -> str:
        """Hash of all numbers, their types and shapes."""
        digest = hashlib.sha256()
        for array in (self.rows, self.queries, self.labels):
            if array is not None:
                digest.update(f"{array.dtype.str}{array.shape}".encode())
                digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def describe(self) -> dict[str, Any]:
        """What a result file says about the data."""
        queries = 0 if self.queries is None else len(self.queries)
        return {
            "what": self.what,
            "sha256": self.sha256,
            "rows": self.rows.shape[0],
            "columns": self.rows.shape[1],
            "queries": queries,
            "dtype": self.rows.dtype.name,
        }


def fashion_mnist(*, quick: bool = False) -> Workload | None:
    """Images of clothes, 60,000 x 784 pixels as float32, 10,000 queries; None where they are not installed."""
    for folder in FASHION_MNIST:
        if folder.is_dir():
            rows = _images(folder / "train-images-idx3-ubyte.gz")[: 3_000 if quick else None]
            queries = _images(folder / "t10k-images-idx3-ubyte.gz")[: 300 if quick else None]
            return Workload("fashion_mnist", "Fashion-MNIST, pixels 0..255 as float32", rows, queries)
    return None


def _images(path: Path) -> np.ndarray:
    with gzip.open(path) as file:
        data = file.read()
    count, height, width = (int.from_bytes(data[i : i + 4], "big") for i in (4, 8, 12))
    pixels = np.frombuffer(data, dtype=np.uint8, offset=16)
    return pixels.reshape(count, height * width).astype(np.float32)


def normal_128(*, quick: bool = False) -> Workload:
    """No structure at all: the hardest case for every bound."""
    n, n_queries = (4_000, 1_200) if quick else (100_000, 10_000)
    rng = np.random.default_rng(128)
    rows, queries = (rng.standard_normal((size, 128), dtype=np.float32) for size in (n, n_queries))
    return Workload("normal_128", "standard normal, float32", rows, queries)


def shifted_128(*, quick: bool = False) -> Workload:
    """The same numbers 10,000 away from the origin, where float32 norms leave three digits for distances."""
    plain = normal_128(quick=quick)
    assert plain.queries is not None
    rows, queries = (plain.rows + np.float32(10_000), plain.queries[:2_000] + np.float32(10_000))
    return Workload("shifted_128", "normal_128 plus 10,000 in every column, float32", rows, queries)


def decaying_96(*, quick: bool = False) -> Workload:
    """What learned vectors look like: deviation j ** -0.75 along the j-th of 96 directions that no column follows.

    A standard normal table times j ** -0.75, then rotated: neither a column nor a few of them carry the spectrum.
    """
    n, n_queries = (4_000, 300) if quick else (1_000_000, 10_000)
    rng = np.random.default_rng(96)
    # Roots and quotients only: `**` and BLAS round differently from machine to machine, and the hash would too.
    j = np.arange(1, 97, dtype=np.float64)
    deviations = (1 / np.sqrt(j * np.sqrt(j))).astype(np.float32)
    planes = _planes(96, rng)
    rows, queries = (rng.standard_normal((size, 96), dtype=np.float32) for size in (n, n_queries))
    for table in (rows, queries):
        table *= deviations
        _rotate(table, planes)
    return Workload("decaying_96", "normal, deviations j ** -0.75 (j = 1..96), rotated, float32", rows, queries)


def _planes(columns: int, rng: np.random.Generator) -> list[tuple[np.ndarray, ...]]:
    """Twelve layers of random pairs of columns with the cosine and sine each pair is turned by."""
    layers = []
    for _ in range(12):
        order = rng.permutation(columns)
        x, y = rng.standard_normal((2, columns // 2, 1))
        length = np.sqrt(x * x + y * y)
        turn = ((x / length).astype(np.float32), (y / length).astype(np.float32))
        layers.append((order[: columns // 2], order[columns // 2 :], *turn))
    return layers


def _rotate(table: np.ndarray, planes: list[tuple[np.ndarray, ...]]) -> None:
    """Turn the rows in place, element by element: the same bits everywhere."""
    for start in range(0, len(table), 2048):
        block = table[start : start + 2048].T.copy()
        for first, second, cosine, sine in planes:
            x, y = block[first], block[second]
            block[first], block[second] = cosine * x - sine * y, sine * x + cosine * y
        table[start : start + 2048] = block.T


def digits(*, quick: bool = False) -> Workload:
    """The small table that everybody tries first, against itself: there a library's overheads show."""
    rows = load_digits().data.astype(np.float32)[: 400 if quick else None]
    return Workload("digits", "scikit-learn's digits against themselves, float32", rows, rows.copy())


def uniform(columns: int, *, quick: bool = False) -> Workload:
    """The ground of kd-trees: few columns, many rows."""
    n, n_queries = (5_000, 1_000) if quick else (1_000_000, 100_000)
    rng = np.random.default_rng(columns)
    rows, queries = (rng.random((size, columns)) for size in (n, n_queries))
    return Workload(f"uniform_{columns}", "uniform in the unit cube, float64", rows, queries)


def normal_100(*, quick: bool = False) -> Workload:
    """Against itself, for the metrics that no matrix product serves."""
    rows = np.random.default_rng(100).standard_normal((500 if quick else 20_000, 100), dtype=np.float32)
    return Workload("normal_100", "standard normal against itself, float32", rows, rows.copy())


def bits_256(*, quick: bool = False) -> Workload:
    """Random bits, one per column: no structure, and ties at every distance."""
    n, n_queries = (5_000, 100) if quick else (1_000_000, 1_000)
    rng = np.random.default_rng(256)
    rows, queries = (
        np.unpackbits(rng.integers(0, 256, (size, 32), dtype=np.uint8), axis=1).view(np.bool_)
        for size in (n, n_queries)
    )
    return Workload("bits_256", "independent fair bits, bool", rows, queries)


def blobs_16(*, quick: bool = False) -> Workload:
    """Labelled, ten classes of two overlapping clouds each: what a grid over k is for."""
    n = 2_000 if quick else 20_000
    rng = np.random.default_rng(16)
    centres = rng.standard_normal((20, 16)) * 0.8
    cloud = rng.integers(0, 20, n)
    return Workload(
        "blobs_16", "twenty overlapping normal clouds in ten classes, float64",
        centres[cloud] + rng.standard_normal((n, 16)), labels=cloud % 10,
    )  # fmt: skip


def unequal_9(*, quick: bool = False) -> Workload:
    """The shape of Statlog's shuttle data: seven classes, four rows in five of the first, a thousandth of the last."""
    n = 3_000 if quick else 58_000
    rng = np.random.default_rng(9)
    shares = [0.79, 0.15, 0.05, 0.004, 0.003, 0.002, 0.001]
    labels = np.concatenate([np.repeat(np.arange(7), 10 if quick else 12), rng.choice(7, n, p=shares)])[:n]
    spread, centre = rng.uniform(0.5, 2, size=(7, 9)), 1.5 * rng.standard_normal((7, 9))
    rows = rng.standard_normal((n, 9)) * spread[labels] + centre[labels]
    return Workload("unequal_9", "seven normal classes of very unequal size and spread, float64", rows, labels=labels)


def two_classes_50(*, quick: bool = False) -> Workload:
    """Two classes from a logistic model with fifty columns."""
    n = 1_000 if quick else 20_000
    rng = np.random.default_rng(50)
    rows, weights = rng.standard_normal((n, 50)), 0.5 * rng.standard_normal(50)
    labels = (rows @ weights + rng.logistic(size=n) > 0).astype(np.int64)
    return Workload(
        "two_classes_50", "standard normal, labels drawn from a logistic model, float64", rows, labels=labels
    )


def labelled_digits(*, quick: bool = False) -> Workload:
    """scikit-learn's handwritten digits, 1,797 x 64, as they are: 0..16."""
    rows, labels = load_digits(return_X_y=True)
    step = 5 if quick else 1
    return Workload(
        "labelled_digits",
        "handwritten digits, 8 x 8 pixels 0..16 as float64",
        rows[::step].copy(),
        labels=labels[::step],
    )


SEARCH: dict[str, Callable[..., Workload | None]] = {
    "fashion_mnist": fashion_mnist,
    "normal_128": normal_128,
    "shifted_128": shifted_128,
    "decaying_96": decaying_96,
    "digits": digits,
    "uniform_2": partial(uniform, 2),
    "uniform_3": partial(uniform, 3),
    "uniform_8": partial(uniform, 8),
    "normal_100": normal_100,
    "bits_256": bits_256,
}
