"""What every test shares: quiet plots, hypothesis profiles, and a place of its own for every documented example."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent

os.environ.setdefault("MPLBACKEND", "Agg")

# "house": the same cases every time, and no limit on time, which a busy machine would break. "fuzz": make fuzz.
_slow_is_fine = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("house", derandomize=True, deadline=None, database=None, suppress_health_check=_slow_is_fine)
settings.register_profile(
    "fuzz", max_examples=5_000, deadline=None, print_blob=True, suppress_health_check=_slow_is_fine
)
settings.load_profile("house")


@pytest.fixture(autouse=True)
def _examples_run_elsewhere(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run documented examples in an empty folder that shows `examples/`, so that what they write is thrown away."""
    if isinstance(request.node, pytest.DoctestItem):
        folder = tmp_path_factory.mktemp("example")
        (folder / "examples").symlink_to(ROOT / "examples", target_is_directory=True)
        monkeypatch.chdir(folder)
