"""What tonari costs before it does anything: seconds of `import tonari`, and megabytes of the base install.

    python benchmarks/import_time.py [--save] [--quick]

Seconds are those that a fresh interpreter spends beyond `import sklearn`; megabytes are those of the packages that a
base install brings beyond numpy, scipy and scikit-learn and what these need.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from packaging.requirements import Requirement

from benchmarks import record

FIRST = {"tonari": "import tonari", "tonari_neighbors": "import tonari.neighbors"}
BEFORE = {"sklearn": "import sklearn", "sklearn_neighbors": "import sklearn.neighbors"}
ALREADY = ("numpy", "scipy", "scikit-learn")
MEASURE = """
import json, sys, threading, time
{before}
known, start = set(sys.modules), time.perf_counter()
{first}
seconds = time.perf_counter() - start
brought = sorted({{name.partition(".")[0] for name in set(sys.modules) - known}})
print(json.dumps([seconds, brought, threading.active_count()]))
"""


def import_once(before: str, first: str) -> tuple[float, list[str], int]:
    """Seconds, top-level modules and threads that `first` adds after `before`, in an interpreter of its own."""
    code = MEASURE.format(before=before, first=first)
    done = subprocess.run([sys.executable, "-c", code], cwd=record.ROOT, capture_output=True, text=True, check=True)
    seconds, modules, threads = json.loads(done.stdout)
    return seconds, modules, threads


def imports(repeats: int) -> dict[str, Any]:
    """Every import after every other, in turn."""
    pairs = [(first, before) for first in FIRST for before in BEFORE]
    seen: dict[tuple[str, str], list[tuple[float, list[str], int]]] = {pair: [] for pair in pairs}
    for number in range(repeats + 1):
        for first, before in pairs:
            one = import_once(BEFORE[before], FIRST[first])
            if number:
                seen[first, before].append(one)
    return {
        f"{first}_after_{before}": {
            "seconds": record.spread([seconds for seconds, _, _ in runs]),
            "brings": [name for name in runs[0][1] if name not in sys.stdlib_module_names],
            "threads": runs[0][2],
        }
        for (first, before), runs in seen.items()
    }


def normal(name: str) -> str:
    """A package's name as PEP 503 writes it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def closure(requirements: Iterable[str]) -> set[str]:
    """Installed packages that these requirements bring, directly and through others, extras left out."""
    found: set[str] = set()
    waiting = list(requirements)
    while waiting:
        requirement = Requirement(waiting.pop())
        name = normal(requirement.name)
        if name in found or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        try:
            needs = distribution(name).requires or []
        except PackageNotFoundError:
            continue
        found.add(name)
        waiting += needs
    return found


def megabytes(package: str) -> float:
    """Size of a package's installed files, its byte code left out."""
    files = distribution(package).files or []
    paths = (Path(str(file.locate())) for file in files if file.suffix != ".pyc")
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


def installed_size() -> dict[str, Any]:
    """What the base install adds, package by package; tonari itself as its source folder with the compiled module."""
    project = tomllib.loads((record.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    added = sorted(closure(project["dependencies"]) - closure(ALREADY))
    sizes = {name: round(megabytes(name), 2) for name in added}
    package = record.ROOT / "src" / "tonari"
    own = [path for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    sizes["tonari"] = round(sum(path.stat().st_size for path in own) / 1e6, 2)
    return {"megabytes": round(sum(sizes.values()), 2), "beyond": list(ALREADY), "packages": sizes}


def main(arguments: list[str] | None = None) -> int:
    """Measure imports and sizes."""
    options = record.parser(__doc__)
    options.set_defaults(repeats=11)
    chosen: argparse.Namespace = record.checked(options, arguments)
    repeats = 1 if chosen.quick else chosen.repeats
    result = {
        **record.circumstances(chosen, ("numpy", "scipy", "scikit-learn")),
        "imports": imports(repeats),
        "base_install": installed_size(),
    }
    record.finish("import_time", result, chosen)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
