"""Dates as spans of time: a day, a month or a year, of any year if none is named, and what lies between two of them."""

from calendar import isleap, monthrange
from collections.abc import Iterator
from datetime import date
from typing import Final, Literal, NamedTuple

_UNIX_EPOCH: Final = date(1970, 1, 1)
DAY: Final = 86_400_000  # milliseconds
_A_FORTNIGHT, _A_QUARTER = 15 * DAY, 92 * DAY

Precision = Literal["day", "week", "month", "year"]


class When(NamedTuple):
    """A year, a month of one year or of any year, or a day of such a month, in UTC."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    doubtful: bool = False  # one of two readings, as of 03/05/2024

    @classmethod
    def of(cls, day: date) -> "When":
        """Returns a day as what it is here."""
        return cls(day.year, day.month, day.day)

    @property
    def precision(self) -> Precision:
        """How precise the date is; a day of which there are two readings counts like a month."""
        return "day" if self.day and not self.doubtful else "month" if self.month else "year"

    def spans(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yields the half-open spans in milliseconds of this date; without a year, for each of `first` to `last`."""
        for year in range(first, last + 1) if self.year is None else (self.year,):
            try:
                start = date(year, self.month or 1, self.day or 1)
            except ValueError:  # no such day in this year
                continue
            since = (start - _UNIX_EPOCH).days * DAY
            yield since, since + self._days(start.year) * DAY

    def _days(self, year: int) -> int:
        if self.day:
            return 1
        return monthrange(year, self.month)[1] if self.month else 365 + isleap(year)


class DateRange(NamedTuple):
    """What lies between two dates, with both of them."""

    first: When
    last: When

    @property
    def precision(self) -> Precision:
        """How precise the range is, by its length."""
        longest = max((end - start for start, end in self.spans(2024, 2024)), default=0)
        if longest <= DAY:
            return "day"
        return "week" if longest <= _A_FORTNIGHT else "month" if longest <= _A_QUARTER else "year"

    def spans(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yields the half-open spans in milliseconds; without a year, for each of `first` to `last`."""
        for start, end in self.first.spans(first, last):
            after = [until for _, until in self.last.spans(first, last + 1) if until >= end]
            if after:
                yield start, min(after)


Date = When | DateRange
