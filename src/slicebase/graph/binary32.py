"""IEEE-754 binary32 arithmetic and its decimal text (rulings 4 and 8, and the steps in tests/golden/README.md).

A binary32 number is represented by the Python float of the same value. One operation on two of them, done in binary64
and then rounded, gives the correctly rounded binary32 result, because 53 bits are at least twice 24 bits plus two.
"""

from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache
from math import frexp, inf, isfinite, ldexp
from struct import Struct

_CELL = Struct("<f")
_pack, _unpack = _CELL.pack, _CELL.unpack

# Between these bounds decimals of seven digits are farther apart than binary32 numbers, so at most one of them reads as
# a given number. No decimal of nine digits is so near a tie that reading it through binary64 gives a wrong result.
_PLAIN_FROM, _PLAIN_BELOW = 0.001, 2.0**23
_MANTISSA_BITS = 24
_LEAST_EXPONENT = -125  # of the smallest normal number, as frexp counts
# Nine digits distinguish any two binary32 numbers. The nearest decimal below a power of two may be too far from it when
# a farther one above it is near enough: therefore there are two modes of rounding.
_MODES = (ROUND_HALF_EVEN, ROUND_CEILING)
_ROUNDINGS = [Context(prec=digits, rounding=mode) for digits in range(1, 10) for mode in _MODES]


def binary32(value: float) -> float:
    """Returns the nearest binary32 number, ties to even; infinity beyond the range. Negative zero becomes zero."""
    try:
        return float(_unpack(_pack(value))[0]) + 0.0
    except OverflowError:
        return inf if value > 0 else -inf


def power(base: float, exponent: int) -> float:
    """Returns base^exponent in binary32.

    It squares repeatedly and rounds each product: other orders of multiplication give other bits.
    """
    result = 1.0
    while True:
        if exponent & 1:
            result = binary32(result * base)
        exponent >>= 1
        if exponent == 0:
            return result
        base = binary32(base * base)


@lru_cache(maxsize=4096)
def shortest(value: float) -> str:
    """Returns the shortest decimal that reads back as a finite binary32 number: no exponent, integers with `.0`.

    Raises a ValueError for any other number.
    """
    if value == 0:
        return "0.0"  # also for negative zero, which is the same key in the cache
    if value < 0:
        return "-" + shortest(-value)
    text = _plain(value) if _PLAIN_FROM <= value < _PLAIN_BELOW else _searched(value)
    return text if "." in text else text + ".0"


def _plain(value: float) -> str:
    for form in (".7g", ".8g"):
        text = format(value, form)
        if binary32(float(text)) == value:
            return text
    return format(value, ".9g")


def _searched(value: float) -> str:
    """Tries every length in exact decimals, so that nothing depends on how binary64 rounds."""
    if not isfinite(value):
        raise ValueError(f"{value} has no decimal")
    exact = Decimal(value)
    low, high, closed = _reads_as(value)
    candidates = (rounding.plus(exact) for rounding in _ROUNDINGS)
    return format(next(c for c in candidates if low < c < high or (closed and c in (low, high))), "f")


def _reads_as(value: float) -> tuple[Decimal, Decimal, bool]:
    """Returns the bounds between which decimals read as this number, and whether the bounds do (ties go to even)."""
    fraction, exponent = frexp(value)
    half_gap = ldexp(0.5, max(exponent, _LEAST_EXPONENT) - _MANTISSA_BITS)
    below = half_gap / 2 if fraction == 0.5 and exponent > _LEAST_EXPONENT else half_gap
    even = (value / (2 * half_gap)) % 2 == 0
    return Decimal(value - below), Decimal(value + half_gap), even
