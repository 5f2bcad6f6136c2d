"""How work is timed and what is written down about it."""

from __future__ import annotations

import argparse
import json
import math
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

import tonari

ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path(__file__).parent / "results"
# Spinning worker threads of the last contender must have gone to sleep before the next one is timed.
PAUSE = 0.3
Answer = TypeVar("Answer")


def timed(work: Callable[[], Answer]) -> tuple[float, Answer]:
    """Seconds and result of one call."""
    start = time.perf_counter()
    answer = work()
    return time.perf_counter() - start, answer


def alternate(
    contenders: Mapping[str, Callable[[], Mapping[str, float]]], repeats: int, patience: float = math.inf
) -> dict[str, dict[str, dict[str, Any]]]:
    """Run the contenders in turn, several times; a slow minute of the machine then hurts all alike.

    Parameters
    ----------
    contenders : dict of str to callable
        Each does its work once and returns the seconds of its parts by name.
    repeats : int
        Rounds that count; one round before them does not.
    patience : float
        A contender whose first round takes more seconds than this is not run again: that round is its result.

    Returns
    -------
    dict
        Contender -> part -> median, least, most and all seconds.
    """
    rounds: dict[str, list[Mapping[str, float]]] = {name: [] for name in contenders}
    once = set()
    for number in range(repeats + 1):
        for name, work in contenders.items():
            if name in once:
                continue
            time.sleep(PAUSE)
            seconds, parts = timed(work)
            if number == 0 and seconds > patience:
                once.add(name)
                print(f"{name} took {seconds:.0f} s and is run once", file=sys.stderr)
            if number or name in once:
                rounds[name].append(parts)
    return {
        name: {part: spread([parts[part] for parts in timings]) for part in timings[0]}
        for name, timings in rounds.items()
    }


def spread(seconds: list[float]) -> dict[str, Any]:
    """Median, least, most and all of some seconds."""
    digits = [round(second, 6) for second in seconds]
    return {"median": statistics.median(digits), "least": min(digits), "most": max(digits), "all": digits}


def ratios(timings: Mapping[str, Mapping[str, Mapping[str, Any]]], part: str) -> dict[str, float]:
    """How many times faster tonari's median is than each rival's."""
    ours = timings["tonari"][part]["median"]
    return {name: round(parts[part]["median"] / ours, 3) for name, parts in timings.items() if name != "tonari"}


def rounded(seconds: Mapping[str, float]) -> dict[str, float]:
    """To the microsecond."""
    return {name: round(second, 6) for name, second in seconds.items()}


def parser(description: str | None) -> argparse.ArgumentParser:
    """The options that all benchmarks share."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--save", action="store_true", help="write benchmarks/results/<name>.json")
    options.add_argument("--quick", action="store_true", help="tiny data, to try the benchmark itself; never saved")
    options.add_argument("--repeats", type=int, default=3, help="rounds that count (default: %(default)s)")
    options.add_argument("--threads", type=int, default=2, help="on every side (default: %(default)s)")
    return options


def checked(options: argparse.ArgumentParser, arguments: list[str] | None) -> argparse.Namespace:
    """The parsed options; refuses what would save a number that means nothing."""
    chosen = options.parse_args(arguments)
    if chosen.save and chosen.quick:
        options.error("--quick measures toys: it is not saved")
    if chosen.repeats < 1 or (chosen.save and chosen.repeats < 3):
        options.error("a saved result needs at least 3 repeats, any result at least 1")
    return chosen


def circumstances(chosen: argparse.Namespace, packages: tuple[str, ...]) -> dict[str, Any]:
    """Commit, processor, instruction set, threads and versions."""
    config = tonari.show_config()
    return {
        "commit": _git("rev-parse", "HEAD"),
        "changed_since_commit": bool(_git("status", "--porcelain", "--", "src", "cpp", "cmake", "CMakeLists.txt")),
        "cpu": config["cpu"],
        "isa": config["isa"],
        "compiler": config["compiler"],
        "threads": chosen.threads,
        "repeats": chosen.repeats,
        "system": f"{platform.system()} {platform.machine()}",
        "versions": {"python": platform.python_version(), "tonari": tonari.__version__, **_versions(packages)},
    }


def saved(folder: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """Every result of a folder by its name."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}


def _versions(packages: tuple[str, ...]) -> dict[str, str]:
    return {name: found for name in packages if (found := installed(name))}


def installed(package: str) -> str | None:
    """Version of an installed package, or None."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _git(*arguments: str) -> str | None:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def finish(name: str, result: dict[str, Any], chosen: argparse.Namespace) -> None:
    """Print the result, and write it when asked to."""
    text = json.dumps({"schema": 1, "name": name, **result}, indent=2, ensure_ascii=False) + "\n"
    if chosen.save:
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"{name}.json"
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
    else:
        print(text, end="")
