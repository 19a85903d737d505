"""The dates that a text names: in digits, with the names of months, and counted from a day; and what lies between two.

Days are in UTC. A month without a year is that month of any year. The names of months are known in English, German,
French, Spanish, Italian, Portuguese, Dutch, Polish, Russian and Turkish; one that may be another word, and every one
that is not English, counts only next to a number, or after a word such as "in".
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import Final

from slicebase.context.date_tokens import DateToken, date_tokens
from slicebase.context.date_words import (
    AFTER_DATES,
    AND,
    BEFORE_CAPITALS,
    BEFORE_DATES,
    BETWEEN,
    FROM,
    LINKS,
    LINKS_TO_A_YEAR,
    MONTHS,
    SINCE,
    TO,
    TO_AFTER_FROM,
    VERBS,
)
from slicebase.context.relative_dates import FoundDate, relative_date
from slicebase.context.when import DAY, Date, DateRange, When
from slicebase.context.words import simplified

_DAY_OF_MONTH: Final = re.compile(r"(0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th|er|º|ª)?")
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_QUARTER: Final = re.compile(r"q[1-4]")


def dates(text: str, now: int | None = None) -> Iterator[Date]:
    """Yields the dates of a text. With `now`, in milliseconds, also those that are counted from that moment."""
    for read in _read(list(date_tokens(simplified(text))), now):
        yield read.date


def only_date(text: str, now: int) -> Date | None:
    """Returns the date that a text is, and nothing else; a month without a year is the last one."""
    given = list(date_tokens(simplified(f"on {text}")))
    found = list(_read(given, now))
    if len(found) != 1 or any(token.text not in AFTER_DATES for token in given[found[0].end :]):
        return None
    if any(token.text not in BEFORE_DATES for token in given[: found[0].start]):
        return None
    return _last(found[0].date, _day(now))


def _day(now: int) -> date:
    return date(1970, 1, 1) + timedelta(now // DAY)


def _read(given: Sequence[DateToken], now: int | None) -> Iterator[FoundDate]:
    """Yields the dates with their places; one that has two readings twice."""
    today = None if now is None else _day(now)
    found: list[FoundDate] = []
    place = 0
    while place < len(given):
        read = _at(given, place, today)
        place = read.end if read else place + 1
        if not read:
            continue
        if found and found[-1].end > read.start:  # the year before a month
            found.pop()
        if found and (joined := _joined(given, found[-1], read) or _in_year(given, found[-1], read)):
            found[-1] = joined
        else:
            found.append(_since(given, read, today))
    for read in found:
        readings = given[read.start].dates if read.end == read.start + 1 else ()
        yield from [read._replace(date=each) for each in readings] if len(readings) > 1 else [read]


def _at(given: Sequence[DateToken], place: int, today: date | None) -> FoundDate | None:
    token = given[place]
    if token.dates:
        return FoundDate(token.dates[0], place, place + 1)
    if today and (found := relative_date(given, place, today)):
        return found
    if token.text in MONTHS:
        return _around_month(given, place, today)
    if _YEAR.fullmatch(token.text):
        return FoundDate(When(int(token.text)), place, place + 1)
    if _QUARTER.fullmatch(token.text) and (year := _year(given, place + 1)):
        first = 3 * int(token.text[1]) - 2
        return FoundDate(DateRange(When(year[0], first), When(year[0], first + 2)), place, year[1])
    return None


def _text(given: Sequence[DateToken], place: int) -> str:
    return given[place].text if 0 <= place < len(given) else ""


def _day_of_month(given: Sequence[DateToken], place: int) -> int | None:
    found = _DAY_OF_MONTH.fullmatch(_text(given, place))
    return int(found[1]) if found else None


def _year(given: Sequence[DateToken], place: int) -> tuple[int, int] | None:
    """Returns the year at a place, or after a linking word there, and the place after it."""
    place += _text(given, place) in LINKS
    return (int(given[place].text), place + 1) if _YEAR.fullmatch(_text(given, place)) else None


def _relative_year(given: Sequence[DateToken], place: int, today: date | None) -> tuple[int, int] | None:
    """Returns the year that words at a place count from today, as in "March of last year", and the place after it."""
    for start in range(place, place + 3):
        found = relative_date(given, start, today) if today and start < len(given) else None
        if found and isinstance(found.date, When) and found.date.year is not None and found.date.month is None:
            return found.date.year, found.end
        if _text(given, start) not in LINKS_TO_A_YEAR:
            return None
    return None


def _in_year(given: Sequence[DateToken], year: FoundDate, read: FoundDate) -> FoundDate | None:
    """Returns a month or a day of the year that is named before it, as in "last year in March"."""
    between = given[year.end : read.start]
    are_one = len(between) <= 2 and all(token.text in LINKS_TO_A_YEAR for token in between)
    if not are_one or not isinstance(year.date, When) or not isinstance(read.date, When):
        return None
    is_counted = year.date.month is None and not _YEAR.fullmatch(given[year.start].text)
    if not is_counted or read.date.month is None or read.date.year is not None:
        return None
    return FoundDate(read.date._replace(year=year.date.year), year.start, read.end)


def _around_month(given: Sequence[DateToken], place: int, today: date | None) -> FoundDate | None:
    """Reads `31 January 2026`, `31st of January`, `3 to 7 May`, `January 3-7, 2026`, `January last year`, `January`."""
    month = MONTHS[given[place].text].number
    start, end = place, place + 1
    back = start - 1 - (_text(given, start - 1) in LINKS)
    first = last = _day_of_month(given, back)
    if last:
        start = back
        earlier = _day_of_month(given, start - 2) if _makes_span(given, start - 1) else None
        if earlier and _text(given, start - 3) not in MONTHS:  # else it is a day of that month
            first, start = earlier, start - 2
    elif not _relative_year(given, end, today) and (first := _day_of_month(given, end)):
        last, end = first, end + 1
        later = _day_of_month(given, end + 1) if _makes_span(given, end) else None
        if later and _text(given, end + 2) not in MONTHS:
            last, end = later, end + 2
    year = None
    if stated := _year(given, end) or _relative_year(given, end, today):
        year, end = stated
    elif start == place and (_YEAR.fullmatch(_text(given, start - 1))):
        year, start = int(given[start - 1].text), start - 1
    if not _is_month(given, place, start, has_day=bool(first), is_before_year=bool(stated)):
        return None
    days = When(year, month, first), When(year, month, last)
    return FoundDate(days[0] if first == last else DateRange(*days), start, end)


def _is_month(given: Sequence[DateToken], place: int, start: int, *, has_day: bool, is_before_year: bool) -> bool:
    """Returns whether the name of a month is meant as one."""
    name, needed = given[place], MONTHS[given[place].text].after
    before, is_after_number = _text(given, start - 1), start < place
    if is_before_year or not needed or not needed.isdisjoint((before, _text(given, place - 1))):
        return True
    if name.text in VERBS and not name.is_capital:  # "5th may", but not "version 3 may fail"
        return is_after_number and (not before or not given[start].text.isdecimal())
    return is_after_number or has_day or (name.is_capital and before in BEFORE_CAPITALS)


# Spans between two dates


def _makes_span(given: Sequence[DateToken], place: int) -> bool:
    """Returns whether the word at a place joins what is before it and after it: "3 to 7", "between 3 and 7"."""
    return _joins(_text(given, place), _text(given, place - 2))


def _joined(given: Sequence[DateToken], one: FoundDate, other: FoundDate) -> FoundDate | None:
    """Returns what lies between two dates, if the word between them says so: "between March and May 2024"."""
    is_span = other.start == one.end + 1 and _joins(_text(given, one.end), _text(given, one.start - 1))
    if not is_span or not isinstance(one.date, When) or not isinstance(other.date, When):
        return None
    first, last = one.date, other.date
    if first.year is None and last.year is not None:
        first = first._replace(year=last.year - ((first.month or 0) > (last.month or 12)))
    elif last.year is None and first.year is not None:
        last = last._replace(year=first.year + ((first.month or 0) > (last.month or 12)))
    ordered = first, last
    if first.year and last.year:
        ordered = min(ordered, key=_order), max(ordered, key=_order)
    return FoundDate(DateRange(*ordered), one.start, other.end)


def _joins(word: str, before: str) -> bool:
    return word in TO or (word in AND and before in BETWEEN) or (word in TO_AFTER_FROM and before in FROM)


def _order(when: When) -> tuple[int, int, int]:
    return when.year or 0, when.month or 0, when.day or 0


def _since(given: Sequence[DateToken], read: FoundDate, today: date | None) -> FoundDate:
    """Returns a date after a word such as "since" as what lies between it and today."""
    words = (_text(given, read.start - 1), _text(given, read.start))  # "since Friday" is read with its first word
    if today is None or not SINCE.intersection(words):
        return read
    date_ = _last(read.date, today)
    first = date_.first if isinstance(date_, DateRange) else date_
    return read._replace(date=DateRange(first, When.of(today)))


_YEARS_TO_A_LEAP_DAY: Final = 8  # at most


def _last(found: Date, today: date) -> Date:
    """Returns the last of a date without a year that is not after today."""
    if isinstance(found, When):
        return _last_when(found, today)
    if found.last.year is not None:
        return found
    first = _last_when(found.first, today)
    is_next_year = (found.last.month or 0) < (first.month or 0)
    return DateRange(first, found.last._replace(year=(first.year or 0) + is_next_year))


def _last_when(found: When, today: date) -> When:
    if found.year is not None:
        return found
    years = [found._replace(year=today.year - back) for back in range(_YEARS_TO_A_LEAP_DAY + 1)]
    past = (each for each in years if _order(each) <= _order(When.of(today)) and any(each.spans(0, 0)))
    return next(past, years[0])  # there is no 30 February
