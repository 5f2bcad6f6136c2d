"""Run scikit-learn's own tests of its neighbours and discriminants with tonari's classes in the place of theirs.

    python tests/referee/run_scikit_learn_tests.py [arguments of pytest]

The tests are those of the installed scikit-learn. Before they are imported, the names in `SUBSTITUTED` are replaced in
their modules, so that everything imported afterwards (the tests, but also Isomap, DBSCAN's pipeline, the
imputers) meets ours. `deselected.txt` names the tests that do not apply, each with its reason; a line that matches no
test is an error, so that the list can only shrink.
"""

from __future__ import annotations

import fnmatch
import os
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import sklearn
import sklearn.discriminant_analysis
import sklearn.neighbors

import tonari.discriminant_analysis
import tonari.neighbors

HERE = Path(__file__).parent
SUBSTITUTED = {
    "neighbors": (
        "KNeighborsClassifier",
        "KNeighborsRegressor",
        "NearestNeighbors",
        "RadiusNeighborsClassifier",
        "RadiusNeighborsRegressor",
    ),
    "discriminant_analysis": ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
}
INI = str(HERE / "pytest.ini")
OPTIONS = ("-c", INI, "-p", "no:cacheprovider", "-q", "--no-header", "--tb=no", "--disable-warnings")
MODULES = (
    "sklearn.neighbors.tests.test_neighbors",
    "sklearn.neighbors.tests.test_neighbors_pipeline",
    "sklearn.tests.test_discriminant_analysis",
)


def read_deselected(path: Path) -> dict[str, str]:
    """Pattern -> reason, from lines `module.py::test[parameters]  # reason`; patterns are those of fnmatch.

    Parameters
    ----------
    path : Path

    Returns
    -------
    dict of str to str
    """
    reasons = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        pattern, separator, reason = line.partition("  # ")
        if not separator or not reason.strip():
            raise SystemExit(f"{path.name}: no reason given for {line!r}")
        # Brackets hold parameters here, not character classes.
        reasons[pattern.strip().replace("[", "[[]")] = reason.strip()
    return reasons


@dataclass
class Referee:
    """The pytest plugin: leaves out what is deselected, counts the rest."""

    reasons: dict[str, str]
    matched: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[str, str]] = field(default_factory=list)

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        kept, left_out = [], []
        for item in items:
            name = f"{item.path.name}::{item.name}"
            pattern = next((p for p in self.reasons if fnmatch.fnmatchcase(name, p)), None)
            if pattern is None:
                kept.append(item)
            else:
                self.matched[pattern] += 1
                left_out.append(item)
        items[:] = kept
        config.hook.pytest_deselected(items=left_out)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[report.outcome] += 1
        if report.outcome == "failed":
            crash: Any = getattr(report.longrepr, "reprcrash", None)
            message = crash.message.splitlines()[0] if crash else str(report.longrepr).splitlines()[-1]
            self.failures.append((f"{Path(report.location[0]).name}::{report.location[2]}", message))


def main(arguments: list[str]) -> int:
    """Substitute, run, report; the exit code is pytest's, or 1 when the list of deselected tests is out of date."""
    os.environ.setdefault("SKLEARN_RUN_FLOAT32_TESTS", "1")
    for package, names in SUBSTITUTED.items():
        for name in names:
            setattr(getattr(sklearn, package), name, getattr(getattr(tonari, package), name))
    referee = Referee(read_deselected(HERE / "deselected.txt"))
    code = int(pytest.main([*OPTIONS, *arguments, "--pyargs", *MODULES], plugins=[referee]))
    tested = {"neighbors": sys.modules[MODULES[0]].neighbors, "discriminant_analysis": sys.modules[MODULES[2]]}
    for package, names in SUBSTITUTED.items():
        for name in names:
            if getattr(tested[package], name).__module__.partition(".")[0] != "tonari":
                raise SystemExit(f"{name} was not substituted: nothing was tested")
    print(f"\nscikit-learn {sklearn.__version__} on tonari {tonari.__version__}: ", end="")
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(referee.outcomes.items())), end=", ")
    print(f"{sum(referee.matched.values())} deselected")
    for pattern, reason in referee.reasons.items():
        print(f"  left out {referee.matched[pattern]:4d}  {pattern.replace('[[]', '[')}: {reason}")
    for name, message in referee.failures:
        print(f"  FAILED  {name}\n          {message}")
    stale = [] if arguments else [pattern for pattern in referee.reasons if not referee.matched[pattern]]
    for pattern in stale:
        print(f"  deselected.txt names no test: {pattern.replace('[[]', '[')}")
    return code or bool(stale)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
