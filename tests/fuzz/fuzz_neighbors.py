"""Search random problems for a given time and hold every answer against the oracle: fuzz_neighbors.py --seconds 60

The problems of `tests/contract/` are the first few thousand of an endless list; these are others, drawn anew each time.
A failing problem is named by its number: `python tests/fuzz/fuzz_neighbors.py --number 123456` runs that one alone.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from tests.reference.hostile_rows import MAKERS, draw_hostile
from tests.reference.neighbor_cases import draw_case
from tests.reference.neighbors import assert_same_neighbours, distance_matrix
from tonari.neighbors import NearestNeighbors

FILTERS = ("auto", "flat", "heads")
FIRST = 10_000  # below: the problems that every run of the tests solves


def judge(number: int) -> str:
    """Solve one problem; return its metric, or raise AssertionError."""
    case = draw_case(number)
    model = NearestNeighbors(n_neighbors=case.k, metric=case.metric, p=case.p, n_jobs=case.n_jobs)
    queries = case.rows if case.queries is None else case.queries
    truth = distance_matrix(queries, case.rows, case.metric, case.p)
    for how in FILTERS:
        os.environ["TONARI_FILTER"] = how
        try:
            assert_same_neighbours(
                model.fit(case.rows).kneighbors(case.queries), truth, case.k, case.metric, case.p,
                own_row=case.queries is None, exact=case.exact,
            )  # fmt: skip
        except AssertionError as error:
            raise AssertionError(f"TONARI_FILTER={how} --number {number}: {case}\n{error}") from error
    return case.metric


def judge_hostile(number: int) -> str:
    """Hold every filter against the plain one on a table made to break codes; return its name, or raise."""
    rng = random.Random(number)
    name, dtype = rng.choice(list(MAKERS)), rng.choice([np.float32, np.float64])
    n, dim, k = rng.randrange(60, 6_000), rng.randrange(1, 300), rng.randrange(1, 50)
    rows, queries = (part.astype(dtype) for part in draw_hostile(name, number, n, rng.randrange(1, 90), dim))
    model = NearestNeighbors(n_neighbors=k, n_jobs=rng.choice([1, 2, 3]))
    answers = {}
    for how in ("plain", *FILTERS):
        os.environ["TONARI_FILTER"] = how
        answers[how] = b"".join(part.tobytes() for part in model.fit(rows).kneighbors(queries))
    for how in FILTERS:
        if answers[how] != answers["plain"]:
            raise AssertionError(f"TONARI_FILTER={how} --number {number} --hostile: {name} {rows.shape} {dtype} k={k}")
    return name


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long (default: %(default)s)")
    parser.add_argument("--number", type=int, default=None, help="one problem only")
    parser.add_argument("--hostile", action="store_true", help="with --number: of the tables made to break codes")
    options = parser.parse_args()
    draw = random.SystemRandom()
    end = time.monotonic() + options.seconds
    tally: Counter[str] = Counter()
    print(f"neighbours: {options.seconds:g} s", file=sys.stderr)
    while True:
        number = draw.randrange(FIRST, 2**31) if options.number is None else options.number
        hostile = options.hostile if options.number is not None else number % 4 == 0
        try:
            tally[judge_hostile(number) if hostile else judge(number)] += 1
        except AssertionError as error:
            print(f"FAILED: {error}", file=sys.stderr)
            return 1
        if options.number is not None or time.monotonic() > end:
            break
    for metric, count in sorted(tally.items()):
        print(f"{count:8} {metric}")
    print(f"{tally.total():8} problems, none answered wrongly")
    return 0


if __name__ == "__main__":
    sys.exit(main())
