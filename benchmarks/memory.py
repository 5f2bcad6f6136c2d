"""Peak memory of a search beyond its data: fit and search once, in a process that has done nothing else.

    python -m benchmarks.memory WORKLOAD CONTENDER FOLDER K THREADS

is that process; `measure` writes rows and queries into the folder and starts it. The promise: beyond the caller's own
table no more than codes of at most 1.3 times the float32 data, and 256 MiB.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
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
    workload, name, folder, k, threads = arguments
    rows, queries = (np.load(Path(folder) / f"{part}.npy") for part in ("rows", "queries"))
    side: Any = contests.contender(name, contests.CONTESTS[workload], int(threads))
    with threadpool_limits(limits=int(threads)):
        forget()
        before = peak()
        if hasattr(side, "train"):
            side.train(rows)
        side.fit(rows)
        fitted = peak()
        side.search(queries, int(k))
    print(json.dumps({"fit": fitted - before, "fit_and_search": peak() - before}))
    return 0


def measure(load: Workload, names: Iterable[str], k: int, threads: int) -> dict[str, Any]:
    """Peak memory of contenders on one workload, beside what is promised.

    Parameters
    ----------
    load : Workload
    names : iterable of str
        As in `contests.RIVALS`, or tonari's own.
    k, threads : int

    Returns
    -------
    dict
        ``promised_mib`` beyond the data; ``kept`` whether tonari's peak is within it; by contender the peak in MiB.
    """
    assert load.queries is not None
    promised = CODES * load.rows.size * 4 / MIB + MORE_MIB
    peaks = {}
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "rows.npy", load.rows)
        np.save(Path(folder) / "queries.npy", load.queries)
        for name in names:
            command = [sys.executable, "-m", "benchmarks.memory", load.name, name, folder, str(k), str(threads)]
            done = subprocess.run(command, cwd=record.ROOT, check=True, stdout=subprocess.PIPE, text=True)
            peaks[name] = {part: round(mib, 1) for part, mib in json.loads(done.stdout).items()}
    return {
        "float32_data_mib": round(load.rows.size * 4 / MIB, 1),
        "promised_mib": round(promised, 1),
        "kept": peaks[contests.OURS]["fit_and_search"] <= promised,
        "peak_mib_beyond_the_data": peaks,
    }


if __name__ == "__main__":
    raise SystemExit(alone(sys.argv[1:]))
