"""What an installed wheel must be able to do, with nothing but itself: run by `make wheel` and by cibuildwheel.

It must not see the source tree, so it is run from another folder: python path/to/tests/smoke.py
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path


def main() -> None:
    """Fit, predict, save nothing, and ask the command for help."""
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
    done = subprocess.run([str(command), "--help"], check=True, capture_output=True, text=True, timeout=120)
    assert "compare" in done.stdout, done.stdout
    print(f"tonari {tonari.__version__} from a wheel: fit, predict and the command work")


if __name__ == "__main__":
    main()
