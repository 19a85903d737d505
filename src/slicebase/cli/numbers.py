"""Numbers on the command line: whole numbers that JSON and SQLite can store, and decimals that are numbers.

click accepts integers of any size, and NaN in every range. What is accepted here can be stored, counted and printed
(ruling 1), so that no command needs a check of its own.
"""

import math
from typing import Any, Final

import click

from slicebase.core.hashing import LARGEST_INTEGER

_MOST_DIGITS: Final = 40  # with leading zeros; what is longer is not repeated in the message


class _Bounded(click.types.IntParamType):
    """Refuses integers outside ±(2^53−1)."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and len(value) > _MOST_DIGITS:
            self.fail(f"a text of {len(value)} characters is not a number here.", param, ctx)
        number = super().convert(value, param, ctx)
        if not -LARGEST_INTEGER <= number <= LARGEST_INTEGER:
            self.fail(f"{number} is outside ±(2^53−1).", param, ctx)
        return number


class WholeNumber(_Bounded):
    """The type of an option that takes a whole number."""


class CountingNumber(_Bounded, click.IntRange):
    """The type of an option that takes a whole number of a range: `CountingNumber(1)` from 1."""


class Decimal(click.FloatRange):
    """The type of an option that takes a number of a range, which NaN is not in."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail("NaN is not a number.", param, ctx)
        return number
