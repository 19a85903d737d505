"""Dates that are counted from a day: yesterday, two weeks ago, last March, on Monday, the past ten days, this week.

"Last week" is the week before, from Monday on; "the last week", "the past week" and "the last two weeks" end today. A
day of the week is the last one before today. "Two weeks ago" is a week, and "three months ago" a month.
"""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Final, NamedTuple

from slicebase.context.date_tokens import DateToken
from slicebase.context.date_words import (
    AGO,
    BEFORE_A_WEEKDAY,
    BEFORE_AGO,
    COUNTS,
    DAY,
    DAY_BEFORE,
    DAYS_AGO,
    ENGLISH,
    FEW,
    HOUR,
    LAST_AFTER,
    LAST_WORDS,
    MINUTE,
    MONTH,
    MONTHS,
    NOT_ENGLISH,
    PARTS_OF_A_DAY,
    SINGLE,
    THIS,
    TWO_DAYS_AGO,
    UNITS,
    UNSPACED_LAST,
    VERBS,
    WEEK,
    WEEKDAYS,
    YEAR,
)
from slicebase.context.when import Date, DateRange, When


class FoundDate(NamedTuple):
    """A date, and the tokens that it was read from."""

    date: Date
    start: int
    end: int


_LAST_UNITS: Final = {name.replace(" ", ""): units for name, units in UNSPACED_LAST.items()}
_FIRST: Final = {
    "a", *DAYS_AGO, *_LAST_UNITS, *LAST_WORDS, *THIS, *BEFORE_AGO, *BEFORE_A_WEEKDAY, *WEEKDAYS, *UNITS, *COUNTS, *FEW,
    *(words[0] for words in TWO_DAYS_AGO),
}  # fmt: skip


def relative_date(tokens: Sequence[DateToken], place: int, today: date) -> FoundDate | None:
    """Returns the date that begins at this place and is counted from today, or None."""
    if tokens[place].text not in _FIRST and not tokens[place].text.isdecimal():
        return None
    try:
        return _Reader(tokens, place, today).read()
    except (OverflowError, ValueError):  # before the year 1
        return None


class _Reader(NamedTuple):
    """Reads the words from a place on."""

    tokens: Sequence[DateToken]
    place: int
    today: date

    def word(self, offset: int = 0) -> str:
        at = self.place + offset
        return self.tokens[at].text if 0 <= at < len(self.tokens) else ""

    def read(self) -> FoundDate | None:
        word = self.word()
        if word in DAYS_AGO:
            return self._named_day()
        for words in TWO_DAYS_AGO:
            if tuple(self.word(at) for at in range(len(words))) == words:
                return self._found(self._day(2), len(words))
        if word in _LAST_UNITS:
            unit, back = _LAST_UNITS[word]
            return self._found(_calendar(unit, self.today, back), 1)
        if word in LAST_WORDS or word in THIS:
            is_mixed = word in ENGLISH and self.word(1) in NOT_ENGLISH
            return None if is_mixed else self._last() if word in LAST_WORDS else self._this()
        if word in BEFORE_AGO or (self.word(-1), word) == ("y", "a"):
            return self._ago(1, needs_word=False)
        if word in BEFORE_A_WEEKDAY and self.word(1) in WEEKDAYS:
            return self._weekday(1)
        if word in UNITS and self.word(1) in LAST_AFTER:
            return self._found(_calendar(UNITS[word], self.today, 1), 2)
        if word in WEEKDAYS and self.word(1) in LAST_AFTER:
            return self._weekday(0)
        return self._ago(0, needs_word=True)

    def _found(self, found: Date | None, length: int) -> FoundDate | None:
        return None if found is None else FoundDate(found, self.place, self.place + length)

    def _day(self, days: int) -> When:
        return When.of(self.today - timedelta(days))

    def _days(self, oldest: int, newest: int) -> DateRange:
        return DateRange(self._day(oldest), self._day(newest))

    def _named_day(self) -> FoundDate | None:
        if (self.word(-2), self.word(-1), self.word()) in DAY_BEFORE:
            return FoundDate(self._day(2), self.place - 2, self.place + 1)
        return self._found(self._day(DAYS_AGO[self.word()]), 1 + (self.word(1) == "hui"))

    def _last(self) -> FoundDate | None:
        following = self.word(1)
        if (count := self._count(1)) and self.word(1 + count.words) in UNITS:
            unit = UNITS[self.word(1 + count.words)]
            return self._found(self._days(_whole_days(count.most, unit), 0), 2 + count.words)
        if following in UNITS:
            if self.word() == "past" or self.word(-1) == "the":
                return self._found(self._days(_whole_days(1, UNITS[following]), 0), 2)
            return self._found(_calendar(UNITS[following], self.today, 1), 2)
        if following in MONTHS and self.word() != "past":
            return self._found(_last_month(MONTHS[following].number, self.today), 2)
        if following in WEEKDAYS:
            return self._weekday(1)
        if following == "night":
            return self._found(self._days(1, 0), 2)
        if following == "weekend":
            sunday = self.today.isoweekday() % 7 or 7
            return self._found(self._days(sunday + 1, sunday), 2)
        return None

    def _this(self) -> FoundDate | None:
        following = self.word(1)
        if following in PARTS_OF_A_DAY:
            return self._found(self._day(0), 2)
        if following in UNITS:
            return self._found(_calendar(UNITS[following], self.today, 0), 2)
        if following in MONTHS and (following not in VERBS or self.tokens[self.place + 1].is_capital):
            return self._found(When(self.today.year, MONTHS[following].number), 2)
        if following in WEEKDAYS:
            return self._found(self._day((self.today.isoweekday() - WEEKDAYS[following]) % 7), 2)
        return None

    def _weekday(self, offset: int) -> FoundDate | None:
        if _is_number(self.word(offset + 1)) or self.word(offset + 1) in MONTHS:
            return None  # "on Tuesday, 5 March": the date says which
        days = (self.today.isoweekday() - WEEKDAYS[self.word(offset)]) % 7 or 7
        return self._found(self._day(days), offset + 1 + (self.word(offset + 1) in LAST_AFTER))

    def _ago(self, offset: int, *, needs_word: bool) -> FoundDate | None:
        is_single = needs_word and self.word(offset) in SINGLE and not _is_number(self.word(offset - 1))
        count = self._count(offset) or (_Count(0, 1, 1) if is_single else None)
        if count is None:
            return None
        end = offset + count.words
        unit = UNITS.get(self.word(end))
        if unit is None or (needs_word and self.word(end + 1) not in AGO):
            return None
        return self._found(self._so_long_ago(count, unit), end + 1 + needs_word)

    def _so_long_ago(self, count: "_Count", unit: str) -> Date:
        if count.least != count.most or unit in (MINUTE, HOUR):
            return self._days(_whole_days(count.most, unit), count.least * _MINUTES[unit] // _MINUTES[DAY])
        if unit == DAY:
            return self._day(count.most)
        if unit == WEEK:
            return self._days(count.most * 7 + 3, count.most * 7 - 3)
        return _calendar(unit, self.today, count.most)

    def _count(self, offset: int) -> "_Count | None":
        """Reads a number, "a couple of" or "a few"."""
        word = self.word(offset)
        if word.isdecimal() and len(word) <= 4:
            return _Count(1, int(word), int(word))
        article = int(word == "a")
        if few := FEW.get(self.word(offset + article)):
            return _Count(1 + article + (self.word(offset + article + 1) == "of"), *few)
        return _Count(1, COUNTS[word], COUNTS[word]) if word in COUNTS else None


class _Count(NamedTuple):
    words: int  # of the text
    least: int
    most: int


_MINUTES: Final = {MINUTE: 1, HOUR: 60, DAY: 1440, WEEK: 7 * 1440, MONTH: 30 * 1440, YEAR: 365 * 1440}


def _whole_days(count: int, unit: str) -> int:
    """Returns how many days so many units take, rounded up."""
    return -(-count * _MINUTES[unit] // _MINUTES[DAY])


def _is_number(word: str) -> bool:
    return word[:1].isdecimal()


def _calendar(unit: str, today: date, back: int) -> Date:
    """Returns the day, the week, the month or the year so many units before that of today."""
    if unit in (MINUTE, HOUR, DAY):
        return When.of(today - timedelta(back * (unit == DAY)))
    if unit == WEEK:
        monday = today - timedelta(today.weekday() + 7 * back)
        return DateRange(When.of(monday), When.of(monday + timedelta(6)))
    if unit == MONTH:
        year, month = divmod(today.year * 12 + today.month - 1 - back, 12)
        return _possible(When(year, month + 1))
    return _possible(When(today.year - back))


def _possible(when: When) -> When:
    if (when.year or 0) < 1:
        raise ValueError(when)
    return when


def _last_month(number: int, today: date) -> When:
    """Returns the last month with this number before the month of today."""
    return _possible(When(today.year - (number >= today.month), number))
