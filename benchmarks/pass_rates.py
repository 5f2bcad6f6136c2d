"""How many pairs of query and row come to each level of the exact search: counts, the same on every machine of a kind.

python -m benchmarks.pass_rates [--save] [--quick]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import record, workloads
from tonari.neighbors import NearestNeighbors

WORKLOADS = ("fashion_mnist", "decaying_96", "normal_128", "digits")
K = 10


def count(load: workloads.Workload, threads: int) -> dict[str, Any]:
    """Shares of all pairs that were swept, compared by their whole codes, and judged in float64."""
    model = NearestNeighbors(n_neighbors=K, algorithm="brute", n_jobs=threads).fit(load.rows)
    assert load.queries is not None
    model.kneighbors(load.queries)
    work = model._opened_index()._index.work
    pairs = max(1, work["pairs"])
    return {
        "data": load.describe(),
        "swept": "nothing" if not work["width"] else "heads" if work["heads"] else "codes",
        "bytes_swept_per_row": work["width"],
        "share": {level: work[level] / pairs for level in ("swept", "compared", "judged")},
        "per_query": {level: work[level] / len(load.queries) for level in ("compared", "judged")},
    }


def main(arguments: list[str] | None = None) -> int:
    """Count, and write when asked to."""
    chosen = record.checked(record.parser(__doc__), arguments)
    loads = [workloads.SEARCH[name](quick=chosen.quick) for name in WORKLOADS]
    result = {load.name: count(load, chosen.threads) for load in loads if load is not None}
    record.finish("pass_rates", {**record.circumstances(chosen, ("numpy",)), "workloads": result}, chosen)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
