"""Peak memory of a search beyond its data: fit and search once, in a process that has done nothing else.

    python -m benchmarks.memory WORKLOAD FOLDER K THREADS

is that process; `measure` writes rows and queries into the folder and starts it. The promise: beyond the caller's own
table no more than codes of at most 1.3 times the float32 data, and 256 MiB.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import contests, record
from benchmarks.workloads import Workload

MIB = 2.0**20
CODES, MORE_MIB = 1.3, 256


def peak() -> float:
    """The most memory (MiB) that this process has had resident, since `forget` where the system can forget."""
    status = Path("/proc/self/status")
    if status.exists():
        # Not ru_maxrss: there a child of a large process starts with what its parent had.
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 2**10
    import resource

    # Kilobytes everywhere but on macOS.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def forget() -> None:
    """Let the peak start from what is resident now; where that cannot be, it starts from the peak so far."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def alone(arguments: list[str]) -> int:
    """What the new process does: read the data, take the mark, fit and search, print the difference."""
    workload, folder, k, threads = arguments
    rows, queries = (np.load(Path(folder) / f"{part}.npy") for part in ("rows", "queries"))
    side = contests.contender(contests.OURS, contests.CONTESTS[workload], int(threads))
    with threadpool_limits(limits=int(threads)):
        forget()
        before = peak()
        side.fit(rows)
        fitted = peak()
        side.search(queries, int(k))
    print(json.dumps({"fit": fitted - before, "fit_and_search": peak() - before}))
    return 0


def measure(load: Workload, k: int, threads: int) -> dict[str, Any]:
    """Peak memory of tonari on one workload, beside what is promised.

    Parameters
    ----------
    load : Workload
    k, threads : int

    Returns
    -------
    dict
        All in MiB beyond the caller's own table: ``promised``, the peaks of ``fit`` and ``fit_and_search``; and
        whether the promise is ``kept``.
    """
    assert load.queries is not None
    float32 = load.rows.size * 4 / MIB
    promised = CODES * float32 + MORE_MIB
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "rows.npy", load.rows)
        np.save(Path(folder) / "queries.npy", load.queries)
        command = [sys.executable, "-m", "benchmarks.memory", load.name, folder, str(k), str(threads)]
        done = subprocess.run(command, cwd=record.ROOT, check=True, stdout=subprocess.PIPE, text=True)
    peaks = {part: round(mib, 1) for part, mib in json.loads(done.stdout).items()}
    return {
        "unit": "MiB",
        "float32_data": round(float32, 1),
        "promised": round(promised, 1),
        **peaks,
        "kept": peaks["fit_and_search"] <= promised,
    }


if __name__ == "__main__":
    raise SystemExit(alone(sys.argv[1:]))
