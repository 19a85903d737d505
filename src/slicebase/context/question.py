"""The analysis of a question: its words without those that only ask, and the dates that it names."""

import re
from calendar import isleap, monthrange
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import islice
from typing import NamedTuple

from msgspec import Struct

from slicebase.context.identifiers import joined_names
from slicebase.context.words import ASKING, Word

# A pasted page is not a question: only its first characters and words are searched.
MOST_CHARACTERS = 20_000
_MOST_WORDS = 64
_MOST_DATES = 8
_MOST_NAMES = 16

_UNIX_EPOCH = date(1970, 1, 1)
_DAY = 86_400_000  # milliseconds


class When(NamedTuple):
    """A year, a month of one year or of any year, or a day of such a month, in UTC."""

    year: int | None = None
    month: int | None = None
    day: int | None = None

    @property
    def precision(self) -> str:
        return "day" if self.day else "month" if self.month else "year"

    def spans(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yields the half-open spans in milliseconds of this date; without a year, for each of `first` to `last`."""
        for year in range(first, last + 1) if self.year is None else (self.year,):
            try:
                start = date(year, self.month or 1, self.day or 1)
            except ValueError:  # no such day in this year
                continue
            since = (start - _UNIX_EPOCH).days * _DAY
            yield since, since + self._days(start.year) * _DAY

    def _days(self, year: int) -> int:
        if self.day:
            return 1
        return monthrange(year, self.month)[1] if self.month else 365 + isleap(year)


class Question(Struct, frozen=True):
    """The words and dates of a question, and its identifiers of several words, in lower case."""

    words: tuple[Word, ...]
    dates: tuple[When, ...]
    names: tuple[str, ...] = ()
    text: str = ""


def analyse(text: str, words: Sequence[Word]) -> Question:
    """Returns the words, identifiers and dates of a question, given its text and its words as the index reads them."""
    by_stem: dict[str, Word] = {}
    for word in words:
        if word.text not in ASKING and word.stem not in ASKING:
            by_stem.setdefault(word.stem, word)
        if len(by_stem) == _MOST_WORDS:
            break
    asked = text[:MOST_CHARACTERS]
    named = tuple(islice(dict.fromkeys(dates(asked)), _MOST_DATES))
    return Question(
        tuple(by_stem.values()), named, tuple(islice(dict.fromkeys(joined_names(asked)), _MOST_NAMES)), asked
    )


_MONTH_NAMES = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_SHORT_NAMES = {name[:3]: number for number, name in enumerate(_MONTH_NAMES, 1)} | {"sept": 9}
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)} | _SHORT_NAMES
_WORDS_TOO = frozenset({"march", *_SHORT_NAMES})  # months only next to a number or after a preposition
_BEFORE_A_MONTH = frozenset({"by", "during", "in", "of", "on", "since", "until"})
# A number is read from its first digit, and never twice: the time is linear.
_DATE_TOKEN = re.compile(r"\d{4}-\d\d(?:-\d\d)?(?!\d)|(?<!\d)\d++(?:st|nd|rd|th)?+(?![^\W_])|[a-z]+", re.IGNORECASE)
_ISO = re.compile(r"(\d{4})-(\d\d)(?:-(\d\d))?")
_DAY_OF_MONTH = re.compile(r"(0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?", re.IGNORECASE)
_YEAR = re.compile(r"(?:19|20)\d\d")


def dates(text: str) -> Iterator[When]:
    """Yields dates in digits (2026-01-31, 2026-01), with English months (31 January 2026, Jan 31st), and years."""
    tokens = [match[0].lower() for match in _DATE_TOKEN.finditer(text)]
    place = 0
    while place < len(tokens):
        when, place = _date_at(tokens, place)
        if when:
            yield when


def _date_at(tokens: list[str], place: int) -> tuple[When | None, int]:
    """Returns the date whose month, year or ISO form is at this place, and the next place to read."""
    token = tokens[place]
    if iso := _ISO.fullmatch(token):
        year, month, day = (int(part) if part else None for part in iso.groups())
        return When(year, month, day), place + 1
    if month := _MONTHS.get(token):
        when, end = _around_month(tokens, place, month)
        sure = token not in _WORDS_TOO or when.day or when.year or (place and tokens[place - 1] in _BEFORE_A_MONTH)
        return (when, end) if sure else (None, place + 1)
    if _YEAR.fullmatch(token):
        return When(int(token)), place + 1
    return None, place + 1


def _around_month(tokens: list[str], place: int, month: int) -> tuple[When, int]:
    """Reads `31 January 2026`, `31st of January`, `January 31, 2026`, `January 2026` or `January`."""
    before = tokens[max(0, place - 2) : place]
    if before[-1:] == ["of"]:
        before.pop()
    day = _DAY_OF_MONTH.fullmatch(before[-1]) if before else None
    place += 1
    if not day and place < len(tokens) and (day := _DAY_OF_MONTH.fullmatch(tokens[place])):
        place += 1
    year = None
    if place < len(tokens) and _YEAR.fullmatch(tokens[place]):
        year = int(tokens[place])
        place += 1
    return When(year, month, int(day[1]) if day else None), place
