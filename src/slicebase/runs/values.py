"""Values of any shape, as JSON sees them: whether two are the same, whether a text is empty, what their sum is.

The fold and the checks use the same functions. What the fold takes for a value, the gate must see as that value, too.
"""

import unicodedata
from collections.abc import Mapping
from typing import Any

import msgspec

from slicebase.core.hashing import LARGEST_INTEGER

_ENCODER = msgspec.json.Encoder(order="sorted")


def same(one: Any, other: Any) -> bool:
    """Returns whether two values are the same JSON. To Python, 0 is False and 5 is 5.0."""
    return one is other or (one == other and _ENCODER.encode(one) == _ENCODER.encode(other))


def each_of(value: Any) -> list[Any]:
    """Returns the values of a field that should be a list. A value that is no list counts as a list of one."""
    return value if isinstance(value, list) else [value]


def is_blank(value: Any) -> bool:
    """Returns whether a value is a text in which nothing can be seen: it is empty, or has only spaces and the like."""
    return isinstance(value, str) and all(map(_is_invisible, value))


# Control and format characters, separators, and marks, which are seen on another character only.
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zs", "Zl", "Zp", "Mn"})
_FILLERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # letters and a symbol without ink


def _is_invisible(character: str) -> bool:
    return unicodedata.category(character) in _INVISIBLE or character in _FILLERS


def sum_of(total: Any, more: Any) -> Any:
    """Returns the sum. A value that is not a number replaces it, so that the gate reports it.

    A sum that has no canonical form becomes a double, which the gate reports, too.
    """
    if type(total) is not int or type(more) is not int:
        return more if type(total) is int else total
    return total + more if abs(total + more) <= LARGEST_INTEGER else float(total + more)


def sums(totals: Any, more: Any) -> Any:
    """Returns the sums by name. What is not an object of numbers replaces them, so that the gate reports it."""
    if not isinstance(totals, dict):
        return totals
    if not isinstance(more, dict):
        return more
    return totals | {name: sum_of(totals.get(name, 0), value) for name, value in more.items()}


def field_text(item: Mapping[str, Any], field: str, otherwise: str = "") -> str:
    """Returns a field of an item as text. A stream may have left it out."""
    value = item.get(field)
    return otherwise if value is None else str(value)


def shown_number(number: float) -> str:
    """Returns a number as people write it: six digits, and all those of a larger whole part, but no power of ten."""
    return f"{number:.0f}" if 1e6 <= abs(number) < 1e16 else f"{number:g}"
