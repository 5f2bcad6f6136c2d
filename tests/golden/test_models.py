"""Models of every kind that an earlier version wrote open for ever and answer as they did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tonari.store import open_model, read_model

HERE = Path(__file__).parent
QUERIES = np.array([[0.0, 0.0], [1.0, -1.0], [3.0, 0.5]])
# File (its name tells the kind) -> labels and decision values of the three queries.
ANSWERS: dict[str, tuple[list[str], Any]] = {
    "GaussianClassifier": (
        ["one", "two", "two"],
        [
            [-0.8910873935153784, -16.328722539372666, -13.46920969470721],
            [-6.795865994684134, -33.70315412106966, -5.021475404394922],
            [-4.63455640663826, -36.40699064944445, -0.680858277789026],
        ],
    ),
    "LinearDiscriminantAnalysis": (
        ["one", "two", "two"],
        [
            [0.09335773383672286, -14.896833231150737, -6.889772084105676],
            [0.8605909010630608, -25.481963941537362, 2.9281254590546126],
            [-1.7824508845705604, -24.529256388843983, 4.6184596919948575],
        ],
    ),
    "LogisticRegression": (
        ["one", "one", "two"],
        [
            [2.2006447174367003, -1.2972361460299218, -0.903408571406778],
            [2.103723133587734, -3.5929533416378687, 1.4892302080501345],
            [0.3843156074735984, -3.0634888427972733, 2.6791732353236757],
        ],
    ),
    "PerceptronClassifier": (
        ["one", "one", "two"],
        [
            [0.0, -3.0, -2.0],
            [0.9600000000000002, -4.7700000000000005, 0.12],
            [-6.079999999999998, -2.29, 1.5250000000000001],
        ],
    ),
    "QuadraticDiscriminantAnalysis": (
        ["one", "two", "two"],
        [
            [-0.8474063176807429, -17.801011481022623, -15.427865660249648],
            [-10.529923967441773, -37.32409921905696, -5.431838022371234],
            [-5.425379732989265, -40.820471364687286, -0.6274678748104443],
        ],
    ),
}


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_an_old_model_answers_as_it_did(name: str) -> None:
    path = HERE / f"{name}.tonari"
    assert read_model(path).kind.rsplit(".", 1)[1] == name
    model = open_model(path)
    labels, values = ANSWERS[name]
    assert model.predict(QUERIES).tolist() == labels
    np.testing.assert_allclose(model.decision_function(QUERIES), values, rtol=1e-12)
