"""A mask of rows that may be neighbours, for every index; and every index under every instruction set (trap 2)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tonari.neighbors import KNeighborsClassifier, NearestNeighbors

ROOT = Path(__file__).resolve().parents[2]


def small(n: int, seed: int) -> np.ndarray:
    """Small numbers with many zeros, ties and rows twice."""
    found = np.random.default_rng(seed).integers(0, 3, (n, 24)) * (
        np.random.default_rng(seed + 1).random((n, 24)) < 0.15
    )
    return found.astype(np.float64)


def square(n: int, seed: int) -> np.ndarray:
    rows, columns = small(n, seed), small(300, 1)
    return np.abs(rows[:, np.newaxis] - columns).sum(axis=2)


# Name -> constructor's arguments, and how a table of numbers becomes one of the metric's.
KINDS: dict[str, tuple[dict[str, Any], Callable[[np.ndarray], Any]]] = {
    "euclidean": ({}, np.asarray),
    "manhattan": ({"metric": "manhattan"}, np.asarray),
    "cubes": ({"p": 3}, np.asarray),
    "far powers": ({"p": 7}, np.asarray),
    "chebyshev": ({"metric": "chebyshev"}, np.float32),
    "cosine": ({"metric": "cosine"}, np.asarray),
    "hamming": ({"metric": "hamming"}, lambda x: x > 0),
    "jaccard": ({"metric": "jaccard"}, lambda x: x > 0),
    "categories": ({"metric": "hamming"}, np.asarray),
    "seuclidean": ({"metric": "seuclidean"}, np.asarray),
    "sparse": ({}, lambda x: sparse.csr_matrix(np.where(np.arange(24) % 6 == 0, x, 0))),
    "sparse cosine": ({"metric": "cosine"}, lambda x: sparse.csr_matrix(np.where(np.arange(24) % 6 == 0, x, 0))),
    "pairs": ({"metric": "canberra"}, np.asarray),
}


def fitted(kind: str, **more: Any) -> tuple[NearestNeighbors, Any]:
    arguments, convert = KINDS[kind]
    return NearestNeighbors(n_neighbors=6, **arguments, **more).fit(convert(small(300, 1))), convert(small(40, 3))


def masks() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    one_side = np.arange(300) >= 250
    return {
        "few": rng.random(300) < 0.05,
        "half": rng.random(300) < 0.5,
        "end": one_side,
        "all": np.ones(300, dtype=bool),
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mask", masks())
def test_the_nearest_of_the_rows_allowed(kind: str, mask: str) -> None:
    model, queries = fitted(kind)
    allowed = masks()[mask]
    every, order = model.kneighbors(queries, 300)
    for form in (allowed, np.flatnonzero(allowed), list(np.flatnonzero(allowed))):
        found, rows = model.kneighbors(queries, allowed=form)
        for i in range(len(rows)):
            keep = np.flatnonzero(allowed[order[i]])[:6]
            np.testing.assert_array_equal(rows[i], order[i][keep])
            np.testing.assert_array_equal(found[i], every[i][keep])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mask", masks())
def test_the_rows_themselves(kind: str, mask: str) -> None:
    """Without queries a row is not its own neighbour, whether it is allowed or not, and also among many equal to it."""
    model, _ = fitted(kind)
    allowed = masks()[mask]
    every, order = model.kneighbors(None, 299)
    found, rows = model.kneighbors(allowed=allowed)
    for i in range(300):
        keep = np.flatnonzero(allowed[order[i]])[:6]
        np.testing.assert_array_equal(rows[i], order[i][keep])
        np.testing.assert_array_equal(found[i], every[i][keep])


@pytest.mark.parametrize("kind", KINDS)
def test_radius(kind: str) -> None:
    model, queries = fitted(kind)
    allowed = masks()["half"]
    for asked in (queries, None):
        radius = float(np.median(model.kneighbors(asked, 20)[0]))
        whole, whole_rows = model.radius_neighbors(asked, radius, sort_results=True)
        found, rows = model.radius_neighbors(asked, radius, sort_results=True, allowed=allowed)
        for i in range(len(rows)):
            keep = allowed[whole_rows[i]]
            np.testing.assert_array_equal(rows[i], whole_rows[i][keep])
            np.testing.assert_array_equal(found[i], whole[i][keep])


@pytest.mark.parametrize("kind", KINDS)
def test_one_radius_per_query(kind: str) -> None:
    model, queries = fitted(kind)
    distances = model.kneighbors(queries, 40)[0]
    radii = distances[np.arange(40), np.arange(40)]
    found, rows = model.radius_neighbors(queries, radii)
    for i in range(40):
        alone, alone_rows = model.radius_neighbors(queries[i : i + 1], float(radii[i]))
        np.testing.assert_array_equal(rows[i], alone_rows[0])
        np.testing.assert_array_equal(found[i], alone[0])


def test_precomputed_distances() -> None:
    model = NearestNeighbors(n_neighbors=6, metric="precomputed").fit(square(300, 1))
    allowed = masks()["few"]
    found = model.kneighbors(square(40, 3), allowed=allowed)
    plain = (
        NearestNeighbors(n_neighbors=6, metric="manhattan").fit(small(300, 1)).kneighbors(small(40, 3), allowed=allowed)
    )
    np.testing.assert_array_equal(found[1], plain[1])


def test_a_classifier_takes_a_mask_too() -> None:
    model = KNeighborsClassifier(3).fit(small(300, 1), np.arange(300) % 2)
    rows = model.kneighbors(small(40, 3), return_distance=False, allowed=np.arange(300) % 2 == 0)
    assert (rows % 2 == 0).all()


@pytest.mark.parametrize(
    ("allowed", "message"),
    [
        (np.ones(299, dtype=bool), "one boolean for each of the 300"),
        (np.ones((300, 1), dtype=bool), "shape"),
        ([0.5, 1.5], "row numbers"),
        ([-1, 3], "outside 0 to 299"),
        ([300], "outside 0 to 299"),
        (np.arange(5), "at most 5"),
        ([], "at most 0"),
    ],
)
def test_masks_are_checked(allowed: Any, message: str) -> None:
    model, queries = fitted("euclidean")
    with pytest.raises(ValueError, match=message):
        model.kneighbors(queries, allowed=allowed)


# --- the same bits --------------------------------------------------------------------------------------------------

PROGRAM = """
import hashlib
from tests.contract.test_neighbors_allowed import KINDS, fitted, masks
digest = hashlib.sha256()
for kind in KINDS:
    for n_jobs in (1, 3):
        model, queries = fitted(kind, n_jobs=n_jobs)
        for asked, allowed in ((queries, None), (None, None), (queries, masks()["half"])):
            for part in model.kneighbors(asked, allowed=allowed):
                digest.update(part.tobytes())
        for part in model.radius_neighbors(queries, 2.0):
            for line in part:
                digest.update(line.tobytes())
print(digest.hexdigest())
"""


def digest_under(isa: str) -> str | None:
    """What PROGRAM prints under an instruction set; None where this processor cannot run it."""
    environment = {**os.environ, "TONARI_ISA": isa}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if "cannot run; choose one of" in done.stderr:
        return None
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_every_instruction_set_gives_the_same_bits() -> None:
    found = {isa: digest_under(isa) for isa in ("generic", "v2", "v3", "v4", "v4_vnni")}
    assert len({digest for digest in found.values() if digest is not None}) == 1, found
