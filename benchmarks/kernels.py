"""Speed of the kernels themselves, one thread, for every instruction set that this processor runs.

Builds `benchmarks/kernels.cpp` with the engine's own flags in build/bench and runs it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benchmarks import record

BUILD = record.ROOT / "build" / "bench"


def measured() -> dict[str, dict[str, dict[str, float]]]:
    """Table -> kernel -> dim -> Gflop/s."""
    tools = Path(sys.executable).parent
    cmake = str(tools / "cmake") if (tools / "cmake").exists() else "cmake"
    for step in (
        [cmake, "-S", str(record.ROOT), "-B", str(BUILD), "-DCMAKE_BUILD_TYPE=Release", "-DTONARI_PYTHON=OFF",
         "-DTONARI_BENCH=ON"],
        [cmake, "--build", str(BUILD), "--target", "tonari_bench_kernels", "--config", "Release", "--parallel", "2"],
    ):  # fmt: skip
        subprocess.run(step, check=True, stdout=subprocess.DEVNULL)
    found = subprocess.run([BUILD / "tonari_bench_kernels"], check=True, capture_output=True, text=True)
    speeds: dict[str, dict[str, dict[str, float]]] = json.loads(found.stdout)
    return speeds


def main(arguments: list[str] | None = None) -> int:
    """Measure every table; `--quick` is as quick as the whole and is not saved."""
    chosen = record.checked(record.parser(__doc__), arguments)
    result = {**record.circumstances(chosen, ()), "threads": 1, "unit": "Gflop/s", "kernels": measured()}
    record.finish("kernels", result, chosen)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
