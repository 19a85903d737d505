"""IEEE-754 binary32 arithmetic and its decimal text (rulings 4 and 8, and the steps in tests/golden/README.md).

A binary32 number is carried as the Python float of the same value. One operation on two of them, done in
binary64 and then rounded, is the correctly rounded binary32 result: 53 bits are more than twice 24 and two.
"""

from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache
from math import frexp, inf, ldexp
from struct import Struct

_CELL = Struct("<f")
_pack, _unpack = _CELL.pack, _CELL.unpack

# Between these bounds decimals of seven digits lie farther apart than binary32 numbers do, so that at most one of them
# reads as a given number; and no decimal of nine digits comes so near a tie that reading it by way of binary64 errs.
_PLAIN_FROM, _PLAIN_BELOW = 0.001, 2.0**23
_MANTISSA_BITS = 24
_LEAST_EXPONENT = -125  # of the smallest normal number, as frexp counts
# Nine digits tell any two binary32 numbers apart. The nearest decimal below a power of two may be too far from it while
# a farther one above is near enough: hence two ways of rounding.
_ROUNDINGS = [Context(prec=digits, rounding=way) for digits in range(1, 10) for way in (ROUND_HALF_EVEN, ROUND_CEILING)]


def binary32(value: float) -> float:
    """The nearest binary32 number, ties to even; infinite beyond the range. Negative zero becomes zero."""
    try:
        return float(_unpack(_pack(value))[0]) + 0.0
    except OverflowError:
        return inf if value > 0 else -inf


def power(base: float, exponent: int) -> float:
    """By repeated squaring, each product rounded: other orders of multiplication give other bits."""
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
    """The shortest decimal that reads back to a finite binary32 number: no exponent, whole ones with `.0`."""
    if value == 0:
        return "0.0"  # also for negative zero, which the cache cannot tell apart
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
    """Tries every length in exact decimals, so that nothing hangs on how binary64 rounds on the way."""
    exact = Decimal(value)
    low, high, closed = _reads_as(value)
    candidates = (rounding.plus(exact) for rounding in _ROUNDINGS)
    return format(next(c for c in candidates if low < c < high or (closed and c in (low, high))), "f")


def _reads_as(value: float) -> tuple[Decimal, Decimal, bool]:
    """The bounds between which decimals read as this number, and whether the bounds do too (ties go to even)."""
    fraction, exponent = frexp(value)
    half_gap = ldexp(0.5, max(exponent, _LEAST_EXPONENT) - _MANTISSA_BITS)
    below = half_gap / 2 if fraction == 0.5 and exponent > _LEAST_EXPONENT else half_gap
    even = (value / (2 * half_gap)) % 2 == 0
    return Decimal(value - below), Decimal(value + half_gap), even
