"""Guesses at what was meant."""

from __future__ import annotations

import pytest

from tonari.tables.names import did_you_mean, listed


@pytest.mark.parametrize(
    ("name", "known", "guess"),
    [
        ("specis", ["petal", "species"], "Did you mean 'species'?"),
        ("SPECIES", ["petal", "species"], "Did you mean 'species'?"),
        ("colr", ["color", "colour"], "Did you mean 'color' or 'colour'?"),
        ("weight", ["petal", "species"], ""),
        ("weight", [], ""),
    ],
)
def test_close_names_are_proposed(name: str, known: list[str], guess: str) -> None:
    assert did_you_mean(name, known) == guess


def test_long_lists_are_cut() -> None:
    assert listed([]) == ""
    assert listed(["a", "b"]) == "'a', 'b'"
    assert listed(map(str, range(1000)), most=2) == "'0', '1' and 998 more"
