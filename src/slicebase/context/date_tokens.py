"""The words and numbers of a text that may be dates. Dates in digits are read here.

2024-03-05, 2024/03/05 and 5.3.2024 (the day first) have one reading. 03/05/2024 and 03-05-2024 have one if a number is
greater than 12, else two. 2024年3月5日, 3월 5일 and 5/Mar/2024 (as in logs of servers) are dates. Versions, times,
addresses, fractions, amounts and parts of paths are not.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final, NamedTuple
from unicodedata import normalize

from slicebase.context.date_words import (
    DAY,
    DAYS_AGO,
    HAN_COUNT,
    HAN_DAY,
    HAN_MONTH,
    KOREAN_COUNT,
    MONTHS,
    UNSPACED_DAYS,
    UNSPACED_LAST,
    UNSPACED_UNITS,
    unspaced_count,
)
from slicebase.context.when import When


class DateToken(NamedTuple):
    """A word in lower case, a number, or a date in digits with its readings."""

    text: str
    dates: tuple[When, ...] = ()
    is_capital: bool = False


_END: Final = r"(?![\w/\\-]|[.:]\d)"
# A number is read from its first digit, and never twice: the time is linear.
_COMMON: Final = rf"""
    (?P<iso>(?<!\d)\d{{4}}-(?:\d\d?-\d\d?|\d\d)(?!\d))
    | (?<![\w/\\.:-])(?:
        (?P<year_first>\d{{4}}/\d\d?/\d\d?)
        | (?P<either>\d\d?(?P<mark>[/-])\d\d?(?P=mark)\d{{4}})
        | (?P<day_first>\d\d?\.[ ]?\d\d?\.[ ]?\d{{4}})
      ){_END}
    | (?<![\w/\\.:-])(?P<in_log>\d\d?/[a-z]{{3}}/\d{{4}})(?![\w/\\-]|\.\d)
    | (?P<other>(?<!\d)(?:\d++(?:[.:/]\d++)+|\d{{1,3}}(?:[,'’]\d{{3}})+(?!\d)))
    | (?P<number>(?<![A-Za-z\d_/\\.:#$€£@='’])\d++(?:st|nd|rd|th|er|º|ª)?+(?![^\W_]|[/\\]\w|[.:]\d|[ ]?%))
    | (?P<dash>(?<=\w)[ ]?[-–—][ ]?(?=\w))
"""
_DROPPED: Final = r"(?P<dropped>\d++)"  # a number that is part of something else
_HAN_AND_KANA: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
# Not in words such as "frontend" and "first half", and in Korean not before another word, as in "the last order".
_AGO: Final = r"[ ]?(?:前(?![端期半后後面进進台往提景])|전(?![체부])(?!문))"
_KOREAN_ENDS: Final = "(?![가-힣])|(?=에|의|부터|까지|말|은|는|도|엔|보다)"
_UNSPACED: Final = rf"""
    (?:(?<!\d)(?P<y>\d{{4}})[ ]?[年년][ ]?)?(?P<m>(?<!\d)\d\d?|{HAN_MONTH})[ ]?[月월]
        (?:[ ]?(?P<d>\d\d?|{HAN_DAY})[ ]?[日号號일])?
    | (?P<only_y>(?<!\d)\d{{4}})[ ]?[年년](?![前전])
    | (?P<count>(?<!\d)\d{{1,3}}|{HAN_COUNT}|(?<![十百千万第])[几幾数數몇]|{KOREAN_COUNT})[ ]?(?P<unit>UNITS){_AGO}
    | (?P<days>(?<![^\W_])(?:SO_MANY_DAYS)){_AGO}
    | (?P<day_name>DAYS)
    | (?P<last_unit>LAST)
"""


@cache
def _ascii() -> re.Pattern[str]:
    return re.compile(rf"{_COMMON} | (?P<word>q[1-4](?!\w)|[a-z]+) | {_DROPPED}", re.VERBOSE | re.IGNORECASE)


@cache
def _any() -> re.Pattern[str]:
    """Returns the pattern for texts that are not ASCII: the names of days in scripts without spaces are inside runs."""
    unspaced = _UNSPACED
    for name, words in (("UNITS", UNSPACED_UNITS), ("SO_MANY_DAYS", UNSPACED_DAYS), ("DAYS", DAYS_AGO)):
        unspaced = unspaced.replace(name, _any_of(word for word in words if word[0] > "\u1100"))
    han, korean = ([name for name in UNSPACED_LAST if (name[0] > "\uac00") is is_korean] for is_korean in (False, True))
    last = f"{_any_of(han)}|(?:{_any_of(korean)})(?:{_KOREAN_ENDS})"
    return re.compile(
        f"{unspaced.replace('LAST', last)} | {_COMMON}"
        f" | (?P<word>q[1-4](?!\\w)|[^\\W\\d_{_HAN_AND_KANA}]+) | {_DROPPED}",
        re.VERBOSE | re.IGNORECASE,
    )


def _any_of(words: Iterable[str]) -> str:
    """Returns a pattern for the longest of these words, in which there may be spaces."""
    return "|".join(sorted(words, key=len, reverse=True)).replace(" ", "[ ]?")


def date_tokens(text: str) -> Iterator[DateToken]:
    """Yields the words, numbers and dates in digits of a text, and an empty token for each number that is no date."""
    is_ascii = text.isascii()
    for match in (_ascii() if is_ascii else _any()).finditer(text if is_ascii else normalize("NFC", text)):
        kind = match.lastgroup or ""
        if kind in ("word", "number", "iso"):
            found = _iso(match[0]) if kind == "iso" else ()
            yield DateToken(match[0].lower(), found, match[0][0].isupper())
        elif kind == "dash":
            yield DateToken("-")
        elif kind in ("day_name", "last_unit"):
            yield DateToken(match[0].replace(" ", ""))
        elif kind in ("unit", "days"):
            days = match.groupdict().get("days")
            count = str(UNSPACED_DAYS[days]) if days else unspaced_count(match["count"])
            yield from (DateToken(count), DateToken(DAY if days else UNSPACED_UNITS[match["unit"]]), DateToken("ago"))
        elif kind in ("m", "d", "only_y"):
            year, month, day = (int(unspaced_count(each)) if each else None for each in match.group("y", "m", "d"))
            only = match["only_y"]
            yield DateToken(match[0], _possible(When(int(only)) if only else When(year, month, day)))
        elif kind in ("other", "dropped"):
            yield DateToken("")
        else:
            yield DateToken(match[0], _readings(match, kind))


def _iso(text: str) -> tuple[When, ...]:
    year, month, day = map(int, f"{text}-0".split("-")[:3])
    return (When(year, month, day or None),)


def _readings(match: re.Match[str], kind: str) -> tuple[When, ...]:
    """Returns the readings of a date with marks; none if there is no such day."""
    if kind == "in_log":
        day, name, stated = match[0].lower().split("/")
        return _possible(When(int(stated), MONTHS[name].number, int(day))) if name in MONTHS else ()
    numbers = [int(number) for number in re.findall(r"\d+", match[0])]
    if kind == "year_first":
        return _possible(When(numbers[0], numbers[1], numbers[2]))
    if kind == "day_first":
        return _possible(When(numbers[2], numbers[1], numbers[0]))
    one, other, year = numbers
    found = {*_possible(When(year, other, one)), *_possible(When(year, one, other))}
    return tuple(when._replace(doubtful=len(found) > 1) for when in sorted(found))


def _possible(when: When) -> tuple[When, ...]:
    plausible = when.year is None or 1900 <= when.year < 2100
    return (when,) if plausible and any(when.spans(2024, 2024)) else ()
