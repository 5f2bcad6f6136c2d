"""Model files of every released format are read for ever, and today's writer still writes the newest to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tonari.store import read_model, write_model

HERE = Path(__file__).parent
KIND = "neighbors.KNeighborsClassifier"
HEADER: dict[str, Any] = {
    "columns": ["petal length", "Größe"],
    "nothing": None,
    "params": {"n_neighbors": 5, "p": 1.5, "weights": "distance"},
    "range": [-(2**63), 2**64 - 1, 1e-300, True, ""],
}
SHA256 = "5287cb04bfa4a398046b90480fe2dd34f486e0995293e6294f325708931f01a5"


def arrays() -> dict[str, Any]:
    """Every element type, an empty array, a single value, every string array."""
    numbers = np.array([[0, 1, 2], [3, 100, 127]])
    stored: dict[str, Any] = {
        code: numbers.astype(code) for code in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
    }
    stored["f8/special"] = np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324, 1.7976931348623157e308])
    stored["bool"] = np.array([True, False, True])
    stored["empty"] = np.empty((0, 7))
    stored["single"] = np.array(-1, dtype=np.int64)
    stored["classes"] = np.array(["non-owner", "owner", "人"])
    stored["levels"] = np.array(["", "a\0", "dreißig"], dtype=object)
    return stored


@pytest.mark.parametrize("copy", [True, False])
def test_format_1(copy: bool) -> None:
    file = read_model(HERE / "format_1.tonari", copy=copy)
    assert (file.kind, file.header, file.sha256) == (KIND, HEADER, SHA256)
    assert list(file.arrays) == sorted(arrays())
    for name, array in arrays().items():
        np.testing.assert_array_equal(file.arrays[name], array)
        assert (file.arrays[name].dtype, file.arrays[name].shape) == (array.dtype, array.shape)
    assert file.arrays["f8/special"].tobytes() == arrays()["f8/special"].tobytes()


def test_what_is_written_today_is_format_1(tmp_path: Path) -> None:
    assert write_model(tmp_path / "today", KIND, HEADER, arrays()) == SHA256
    assert (tmp_path / "today").read_bytes() == (HERE / "format_1.tonari").read_bytes()
