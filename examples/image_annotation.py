"""Image annotation: tiny images take the label of their nearest neighbours, mirrored and shifted to fit best.

The distance from a query to an image is the least Euclidean distance over all mirrored and shifted copies of the query;
what a shift moves in from outside is black (zeros). It is exact, and costs one search for all copies: an image that is
among the k nearest is so in the list of the copy that comes closest to it. The error falls as the training set grows.

By default the images are drawn here: six small signs in random colours, at random places, either way round. Real ones:

    python examples/image_annotation.py --fashion-mnist FOLDER     the four .gz files of Fashion-MNIST, or MNIST
    python examples/image_annotation.py --images FOLDER            PNG and JPEG files; a sub-folder is a class

and `--save FILE` draws the curve, and queries with their neighbours. --images and --save need tonari[plot].
"""

from __future__ import annotations

import argparse
import gzip
from collections import Counter
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tonari.metrics.intervals import wilson
from tonari.neighbors import NearestNeighbors

SIDE = 32  # of images made from files
BATCH_BYTES = 2**27  # copies of queries searched at a time
SIGNS = {
    "fish": "........ ...##..# .######. #.###### ######## .######. ...##..# ........",
    "boat": "...#.... ...##... ...###.. ...####. ...#.... ######## .######. ..####..",
    "house": ".....##. ...#.##. ..###### .####### #######. .##..##. .##..##. .#####..",
    "key": "........ .##..... #..#.... #..##### #..#.#.# .##..#.. ........ ........",
    "cup": "........ ######.. ######## ######.# ######.# ######## .####... ........",
    "flag": "#....... ###..... #####... #######. #####... ###..... #....... #.......",
}


class Copy(NamedTuple):
    """How a query is changed before it is compared: mirrored or not, then moved by pixels down and to the right."""

    mirrored: bool
    down: int
    right: int


class Found(NamedTuple):
    """The k nearest images of every query, by (distance, row), and which copy of the query came closest to each."""

    distances: Any
    rows: Any
    copies: Any


@dataclass
class Images:
    """Images to learn from and images to label, as uint8 of shape (n, height, width, channels)."""

    train: Any
    train_labels: Any
    test: Any
    test_labels: Any


def copies(shift: int, *, mirror: bool = True) -> list[Copy]:
    """All copies of a query, the least changed first."""
    steps = range(-shift, shift + 1)
    every = [Copy(*how) for how in product((False, True) if mirror else (False,), steps, steps)]
    return sorted(every, key=lambda how: (how.mirrored, abs(how.down) + abs(how.right), how.down, how.right))


def changed(images: Any, how: Copy) -> Any:
    """The images mirrored and shifted; pixels from outside are 0."""
    source = images[:, :, ::-1] if how.mirrored else images
    height, width = images.shape[1:3]
    result = np.zeros_like(images)
    to = overlap(how.down, height), overlap(how.right, width)
    result[:, *to] = source[:, overlap(-how.down, height), overlap(-how.right, width)]
    return result


def overlap(step: int, size: int) -> slice:
    """Where pixels stand that have moved by `step`."""
    return slice(max(0, step), max(0, size + min(0, step)))


def flat(images: Any) -> Any:
    """One row of float32 per image."""
    return images.reshape(len(images), -1).astype(np.float32)


def nearest(index: NearestNeighbors, queries: Any, k: int, hows: list[Copy]) -> Found:
    """The k nearest images under the least distance over all copies of a query; `index` holds flat images."""
    batch = max(1, BATCH_BYTES // (4 * len(hows) * queries[0].size))
    parts = []
    for start in range(0, len(queries), batch):
        some = queries[start : start + batch]
        every = np.stack([flat(changed(some, how)) for how in hows], axis=1)
        distances, rows = index.kneighbors(every.reshape(-1, every.shape[2]), k)
        lists = zip(distances.reshape(len(some), -1), rows.reshape(len(some), -1), strict=True)
        parts += [merged(*each, k) for each in lists]
    return Found(*(np.array(column) for column in zip(*parts, strict=True)))


def merged(distances: Any, rows: Any, k: int) -> tuple[Any, Any, Any]:
    """The lists of all copies of a query as one: the first k by (distance, row), an image once, by its closest copy."""
    order = np.lexsort((rows, distances))  # of equal entries the one of the less changed copy comes first
    best = order[np.sort(np.unique(rows[order], return_index=True)[1])[:k]]
    return distances[best], rows[best], best // k


def annotate(labels: Any, rows: Any) -> Any:
    """The most frequent label among the neighbours of every query; of equal counts the one that is met first."""
    return np.array([Counter(labels[row].tolist()).most_common(1)[0][0] for row in rows])


def curve(images: Images, k: int, hows: list[Copy]) -> tuple[list[tuple[int, int]], Found]:
    """(Training images, wrong answers) from a 32nd of the training set to all of it; the neighbours in all of it."""
    sizes = [n for n in (len(images.train) // 2**i for i in range(5, -1, -1)) if n >= k]
    points = []
    for size in sizes:
        index = NearestNeighbors().fit(flat(images.train[:size]))
        found = nearest(index, images.test, k, hows)
        wrong = annotate(images.train_labels, found.rows) != images.test_labels
        points.append((size, int(wrong.sum())))
    return points, found


def drawn(train: int = 768, test: int = 150, seed: int = 0) -> Images:
    """Colour images of 16 x 16 pixels: signs of 8 x 8 in the middle or up to 3 pixels off it, and noise."""
    rng = np.random.default_rng(seed)
    shapes = np.array([[[cell == "#" for cell in row] for row in sign.split()] for sign in SIGNS.values()])
    n = train + test
    classes = rng.integers(0, len(SIGNS), n)
    inks, papers = rng.integers(100, 236, (n, 3)), rng.integers(20, 100, (n, 3))
    pictures = np.empty((n, 16, 16, 3))
    for picture, shape, ink, paper in zip(pictures, shapes[classes], inks, papers, strict=True):
        picture[:] = paper
        down, right = rng.integers(1, 8, 2)
        sign = shape[:, ::-1] if rng.random() < 0.5 else shape
        picture[down : down + 8, right : right + 8][sign] = ink
    pixels = np.clip(pictures + rng.normal(0, 25, pictures.shape), 0, 255).astype(np.uint8)
    labels = np.array(list(SIGNS))[classes]
    return Images(pixels[:train], labels[:train], pixels[train:], labels[train:])


def fashion_mnist(folder: Path, seed: int = 0) -> Images:
    """Fashion-MNIST (or MNIST) in its own format: grey images of 28 x 28; in a random order."""

    def read(name: str) -> Any:
        with gzip.open(folder / name) as file:
            content = file.read()
        shape = np.frombuffer(content, ">i4", count=content[3], offset=4)
        return np.frombuffer(content, np.uint8, offset=4 + 4 * content[3]).reshape(shape)

    parts = []
    rng = np.random.default_rng(seed)
    for part in ("train", "t10k"):
        pixels, labels = read(f"{part}-images-idx3-ubyte.gz"), read(f"{part}-labels-idx1-ubyte.gz")
        order = rng.permutation(len(labels))
        parts += [pixels[order][..., None], labels[order]]
    return Images(*parts)


def from_files(folder: Path, seed: int = 0) -> Images:
    """The image files in sub-folders, cut to squares and made 32 x 32 in colour; a fifth of them is to be labelled."""
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise SystemExit("Reading image files needs Pillow: pip install 'tonari[plot]'.") from error
    pixels, labels = [], []
    for path in sorted(folder.glob("*/**/*")):
        if path.suffix.lower() not in (".png", ".jpg", ".jpeg"):
            continue
        try:
            with Image.open(path) as image:
                upright = ImageOps.exif_transpose(image).convert("RGB")
            pixels.append(np.asarray(ImageOps.fit(upright, (SIDE, SIDE), Image.Resampling.BOX)))
        except OSError as error:
            print(f"left out {path}: {error}")
            continue
        labels.append(path.relative_to(folder).parts[0])
    if len(labels) < 10:
        raise SystemExit(f"{folder} holds {len(labels)} images: put at least 10 into FOLDER/CLASS/name.png (or .jpg).")
    order = np.random.default_rng(seed).permutation(len(labels))
    images, names, test = np.array(pixels)[order], np.array(labels)[order], len(labels) // 5
    return Images(images[test:], names[test:], images[:test], names[:test])


def figure(images: Images, curves: dict[str, list[tuple[int, int]]], found: Found, hows: list[Copy]) -> Any:
    """Error against the size of the training set with 95 % intervals, and queries beside their neighbours."""
    import matplotlib.pyplot as plt

    shown, k = min(6, len(images.test)), min(6, found.rows.shape[1])
    picture = plt.figure(figsize=(14, 1.25 * shown + 0.6), layout="constrained")
    left, right = picture.subfigures(1, 2, width_ratios=[4, 5])
    ax = left.subplots()
    for (name, points), marker in zip(curves.items(), "os", strict=False):
        sizes = np.array([size for size, _ in points])
        error = 100 * np.array([wrong for _, wrong in points]) / len(images.test)
        ends = 100 * np.array([wilson(wrong, len(images.test)) for _, wrong in points])
        ax.errorbar(sizes, error, np.abs(ends.T - error), marker=marker, capsize=3, label=name)
    ax.set_xscale("log", base=2)
    ax.set_xticks(sizes, [str(size) for size in sizes])
    ax.set(xlabel="training images", ylabel="% wrong", title=f"Error on {len(images.test)} images, 95 % intervals")
    ax.set_ylim(bottom=0)
    ax.legend()

    answers = annotate(images.train_labels, found.rows)
    for line, (axes, answer) in enumerate(zip(right.subplots(shown, k + 1, squeeze=False), answers, strict=False)):
        truth = images.test_labels[line]
        verdict = "right" if answer == truth else f"called {answer}"
        show(axes[0], images.test[line], f"query: {truth}\n{verdict}", "#0072B2" if answer == truth else "#D55E00")
        for ax, row, copy in zip(axes[1:], found.rows[line], found.copies[line], strict=False):
            how = hows[copy]
            moved = f"{how.down:+d} {how.right:+d}" if how.down or how.right else "as it is"
            label = images.train_labels[row]
            text = f"{label}\n{'mirror ' if how.mirrored else ''}{moved}"
            show(ax, images.train[row], text, "black" if label == truth else "#D55E00")
    right.suptitle("Queries and their nearest images; how the query was mirrored and moved (down, right)")
    return picture


def show(ax: Any, image: Any, text: str, colour: str) -> None:
    """One image with a few words beside it."""
    ax.imshow(image.squeeze(), cmap="gray", vmin=0, vmax=255, interpolation="nearest")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.text(1.06, 0.5, text, transform=ax.transAxes, va="center", fontsize=8, color=colour)


def main() -> None:
    """Print the error against the size of the training set, as the pixels are and with mirror images and shifts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--fashion-mnist", type=Path, metavar="FOLDER", help="train-images-idx3-ubyte.gz and so on")
    source.add_argument("--images", type=Path, metavar="FOLDER", help="FOLDER/CLASS/name.png or .jpg")
    parser.add_argument("--neighbours", type=int, default=3, metavar="K", help="default: 3")
    parser.add_argument("--shift", type=int, default=2, metavar="PIXELS", help="at most, either way; default: 2")
    parser.add_argument("--no-mirror", action="store_true", help="leave mirror images out")
    parser.add_argument("--queries", type=int, default=500, metavar="N", help="images to label, at most; default: 500")
    parser.add_argument("--save", type=Path, metavar="FILE", help="save curve and pictures: .png or .svg")
    arguments = parser.parse_args()

    if arguments.fashion_mnist:
        images = fashion_mnist(arguments.fashion_mnist)
    else:
        images = from_files(arguments.images) if arguments.images else drawn()
    images.test, images.test_labels = images.test[: arguments.queries], images.test_labels[: arguments.queries]
    k = arguments.neighbours
    if not 1 <= k <= len(images.train) or arguments.shift < 0 or arguments.queries < 1:
        most = len(images.train)
        parser.error(f"K must lie in 1 to {most}, the training images; PIXELS not be negative, N be at least 1.")
    n, shape = len(images.test), " x ".join(map(str, images.train.shape[1:]))
    print(f"{len(images.train)} training images of {shape}, {n} to label, k = {k}")

    hows = copies(arguments.shift, mirror=not arguments.no_mirror)
    changes = f"shifts up to {arguments.shift}" if arguments.no_mirror else f"mirrored, shifts up to {arguments.shift}"
    curves = {}
    for name, some in (("as they are", [Copy(False, 0, 0)]), (changes, hows)):
        curves[name], found = curve(images, k, some)
        print(f"{name}; copies of a query: {len(some)}")
        for size, wrong in curves[name]:
            low, high = wilson(wrong, n)
            print(f"  {size:6d} images: {wrong / n:6.1%} wrong, 95 % interval {low:.1%} to {high:.1%}")
    if arguments.save:
        figure(images, curves, found, hows).savefig(arguments.save, dpi=120)
        print(f"saved {arguments.save}")


if __name__ == "__main__":
    main()
