"""What an installed wheel must be able to do, with nothing but itself: run by `make wheel` and by cibuildwheel.

It must not see the source tree, so it is run from another folder: python path/to/tests/smoke.py
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path


def main() -> None:
    """Fit and predict; compare and write the three files; ask the command for help, and for predictions."""
    import numpy as np

    import tonari
    from tonari.neighbors import KNeighborsClassifier

    source = Path(__file__).resolve().parents[1] / "src"
    assert not Path(tonari.__file__).is_relative_to(source), f"{tonari.__file__} is the source tree, not the wheel"

    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (200, 5)), rng.normal(6, 1, (200, 5))])
    y = np.repeat(["left", "right"], 200)
    model = KNeighborsClassifier(n_neighbors=5).fit(X[::2], y[::2])
    assert (model.predict(X[1::2]) == y[1::2]).all()
    assert model.predict_proba(X[1:2]).sum() == 1

    command = Path(sysconfig.get_path("scripts")) / ("tonari.exe" if sys.platform == "win32" else "tonari")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = tonari.compare((X, y), output=folder / "out", folds=3, quiet=True)
        assert found.result["test"]["score"] == 1
        assert sorted(path.name for path in found.paths.values()) == ["model.tonari", "report.html", "result.json"]
        (folder / "new.csv").write_text(",".join(f"x{i}" for i in range(5)) + "\n6,6,6,6,6\n", encoding="utf-8")
        said = ask(command, "predict", str(folder / "out" / "model.tonari"), str(folder / "new.csv"))
        assert said.splitlines()[1].startswith("right,"), said
    assert "compare" in ask(command, "--help")
    print(f"tonari {tonari.__version__} from a wheel: fit, predict, compare and the command work")


def ask(command: Path, *arguments: str) -> str:
    """Run the command; return what it prints."""
    return subprocess.run([str(command), *arguments], check=True, capture_output=True, text=True, timeout=120).stdout


if __name__ == "__main__":
    main()
