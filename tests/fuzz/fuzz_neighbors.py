"""Search random problems for a given time and hold every answer against the oracle: fuzz_neighbors.py --seconds 60

The problems of `tests/contract/` are the first few thousand of an endless list; these are others, drawn anew each time.
A failing problem is named by its number: `python tests/fuzz/fuzz_neighbors.py --number 123456` runs that one alone.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.reference.neighbor_cases import draw_case
from tests.reference.neighbors import assert_same_neighbours, distance_matrix
from tonari.neighbors import NearestNeighbors

FIRST = 10_000  # below: the problems that every run of the tests solves


def judge(number: int) -> str:
    """Solve one problem; return its metric, or raise AssertionError."""
    case = draw_case(number)
    model = NearestNeighbors(n_neighbors=case.k, metric=case.metric, p=case.p, n_jobs=case.n_jobs).fit(case.rows)
    queries = case.rows if case.queries is None else case.queries
    truth = distance_matrix(queries, case.rows, case.metric, case.p)
    try:
        assert_same_neighbours(
            model.kneighbors(case.queries), truth, case.k, case.metric, case.p, own_row=case.queries is None,
            exact=case.exact,
        )  # fmt: skip
    except AssertionError as error:
        raise AssertionError(f"--number {number}: {case}\n{error}") from error
    return case.metric


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long (default: %(default)s)")
    parser.add_argument("--number", type=int, default=None, help="one problem only")
    options = parser.parse_args()
    draw = random.SystemRandom()
    end = time.monotonic() + options.seconds
    tally: Counter[str] = Counter()
    print(f"neighbours: {options.seconds:g} s", file=sys.stderr)
    while True:
        number = draw.randrange(FIRST, 2**31) if options.number is None else options.number
        try:
            tally[judge(number)] += 1
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
