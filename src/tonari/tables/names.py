"""Guessing which name was meant: files in a folder, columns in a table."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str], *, count: int = 3) -> str:
    """Say which known names are close to one that is not known.

    Parameters
    ----------
    name : str
        The name that was not found.
    known : iterable of str
    count : int, default=3
        The most names to propose.

    Returns
    -------
    str
        A question, or "" when nothing is close.

    Examples
    --------
    >>> did_you_mean("specis", ["petal", "species"])
    "Did you mean 'species'?"
    """
    folded: dict[str, str] = {}
    for candidate in known:
        folded.setdefault(candidate.casefold(), candidate)
    close = difflib.get_close_matches(name.casefold(), folded, n=count, cutoff=0.6)
    if not close:
        return ""
    *others, last = [repr(folded[key]) for key in close]
    return f"Did you mean {', '.join(others)} or {last}?" if others else f"Did you mean {last}?"


def listed(names: Iterable[str], *, most: int = 8) -> str:
    """Quote names in a row, and say how many were left out.

    Parameters
    ----------
    names : iterable of str
    most : int, default=8

    Returns
    -------
    str

    Examples
    --------
    >>> listed(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    quoted = [repr(name) for name in names]
    if len(quoted) <= most:
        return ", ".join(quoted)
    return f"{', '.join(quoted[:most])} and {len(quoted) - most:,} more"
