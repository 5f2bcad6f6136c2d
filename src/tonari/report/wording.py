"""Numbers and names as the report writes them."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence

# Narrow enough not to be broken from its number at the end of a line.
_SPACE = "\N{NO-BREAK SPACE}"
_MINUS = "\N{MINUS SIGN}"
_UNKNOWN = "\N{EN DASH}"
# Marks that turn the direction of the text after them, which could make a label read as another.
_TURNING = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})


def count(n: int) -> str:
    """Write a whole number with separators of thousands.

    >>> count(12345)
    '12,345'
    """
    return f"{n:,}".replace("-", _MINUS)


def score(value: float | None) -> str:
    """Write a score with three decimals, or with up to six where three would claim an exact 0 or 1.

    >>> score(0.96), score(0.99987), score(1.0), score(-1e-9), score(None)
    ('0.960', '0.9999', '1.000', '0.000', '–')
    """
    if value is None or not math.isfinite(value):
        return _UNKNOWN
    digits = 3
    while digits < 6 and round(value, digits) in (0, 1) and abs(value - round(value)) > 5e-7:
        digits += 1
    sign = _MINUS if round(value, digits) < 0 else ""
    return f"{sign}{abs(value):,.{digits}f}"


def percent(share: float | None) -> str:
    r"""Write a share of rows in percent.

    >>> percent(1 / 3), percent(1.0), percent(0.00001), percent(0.99999)
    ('33.3\xa0%', '100\xa0%', '<0.1\xa0%', '>99.9\xa0%')
    """
    if share is None or not math.isfinite(share):
        return _UNKNOWN
    if share in (0, 1):
        return f"{100 * share:.0f}{_SPACE}%"
    if share < 0.0005:
        return f"<0.1{_SPACE}%"
    if share > 0.9995:
        return f">99.9{_SPACE}%"
    return f"{100 * share:.1f}{_SPACE}%"


def clean(text: object) -> str:
    r"""Make a name or label safe to look at: what is invisible or turns the direction of reading is spelt out.

    >>> clean("a\u202eb"), clean("two\nlines"), clean(" ")
    ('a⟨U+202E⟩b', 'two⟨U+000A⟩lines', '(blank)')
    """
    text = str(text)
    if not text.strip():
        return "(blank)" if text else "(empty)"
    if text.isascii() and text.isprintable():
        return text
    return "".join(f"⟨U+{ord(sign):04X}⟩" if _hidden(sign) else sign for sign in text)


def isolated(text: object) -> str:
    r"""Keep a name of another direction of writing from turning the sentence around it.

    >>> isolated("k-NN"), isolated("שכן")
    ('k-NN', '\u2068שכן\u2069')
    """
    name = clean(text)
    return name if name.isascii() else f"\N{FIRST STRONG ISOLATE}{name}\N{POP DIRECTIONAL ISOLATE}"


def short(text: object, length: int) -> str:
    """Cut a long name in its middle, where names of columns differ least.

    >>> short("petal_length", 20), short("abcdefghij", 5)
    ('petal_length', 'ab…ij')
    """
    name = clean(text)
    if len(name) <= length:
        return name
    tail = (length - 1) // 2
    return f"{name[: length - 1 - tail]}…{name[len(name) - tail :]}"


def listed(items: Sequence[str]) -> str:
    """Join phrases as a sentence does.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def counted(n: int, noun: str, plural: str = "") -> str:
    """Write a number with its noun.

    >>> counted(1, "row"), counted(1200, "row"), counted(2, "class", "classes")
    ('1 row', '1,200 rows', '2 classes')
    """
    return f"{count(n)} {noun if n == 1 else plural or noun + 's'}"


def capital(text: str) -> str:
    """Begin with a capital, and leave the rest as it is.

    >>> capital("area under the ROC curve")
    'Area under the ROC curve'
    """
    return text[:1].upper() + text[1:]


def _hidden(sign: str) -> bool:
    return unicodedata.category(sign) in ("Cc", "Cs") or unicodedata.bidirectional(sign) in _TURNING
