"""Reads the rules of a contract's `cleanup`: what becomes due by an age, a period, a count or a size (§ Cleanup).

The text is for people and models. Only its conditions are read, one sentence at a time, in any case:

    age     older than | after | over | more than | beyond | past | for    N unit;    N unit old
    period  daily | weekly | fortnightly | biweekly | monthly | quarterly | yearly | annually;
            every | each    [N] unit;    once    a | per | each | every    unit
    count   over | above | more than | exceeds | beyond | past | reaches | after | at most | no more than | up to
            | keep [only] [the] [last | latest | newest | most recent]    N [word] thing
    size    over | above | more than | larger than | bigger than | exceeds | beyond | past    N KB | KiB | MB | MiB

N is digits, a, an, or one to twelve. A unit is a day, a week, a month of 30 days, a quarter of 91 or a year of 365. A
thing is an entry, row, item, record, line, note, fact, decision, message, step, section or paragraph. A sentence that
says superseded, replaced, archived, inactive or retracted is about rows that no longer hold. A sentence without one of
these conditions gives no rule.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple

_DAY: Final = 86_400_000
_UNITS: Final[Mapping[str, int]] = {
    "day": _DAY, "week": 7 * _DAY, "month": 30 * _DAY, "quarter": 91 * _DAY, "year": 365 * _DAY,
}  # fmt: skip
_PERIODS: Final[Mapping[str, int]] = {
    "daily": _DAY, "weekly": 7 * _DAY, "fortnightly": 14 * _DAY, "biweekly": 14 * _DAY, "monthly": 30 * _DAY,
    "quarterly": 91 * _DAY, "yearly": 365 * _DAY, "annually": 365 * _DAY,
}  # fmt: skip
_SIZES: Final[Mapping[str, int]] = {
    "kb": 1000, "kib": 1024, "kilobytes": 1000, "mb": 1_000_000, "mib": 1 << 20, "megabytes": 1_000_000,
}  # fmt: skip
_WORDS: Final = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBERS: Final[Mapping[str, int]] = {"a": 1, "an": 1} | {word: at for at, word in enumerate(_WORDS, 1)}

_NUMBER: Final = rf"(\d{{1,3}}(?:,\d{{3}})+|\d{{1,9}}|{'|'.join(_NUMBERS)})"
_UNIT: Final = rf"({'|'.join(_UNITS)})s?"
_THING: Final = (
    r"(?:entry|entries|rows?|items?|records?|lines?|notes?|facts?|decisions?|messages?|steps?|sections?|paragraphs?)"
)
_MORE: Final = r"(?:over|above|more than|exceeds?|exceeding|beyond|past)"

CleanupKind = Literal["age", "period", "count", "size"]


class CleanupRule(NamedTuple):
    """One condition of a cleanup text."""

    kind: CleanupKind
    amount: int  # milliseconds, entries or bytes
    about_former: bool  # whether it is about entries that no longer hold
    sentence: str


def _number(text: str) -> int:
    return _NUMBERS.get(text) or int(text.replace(",", ""))


def _span(match: re.Match[str]) -> int:
    """Returns a number of units in milliseconds; without a number, one unit."""
    return _number(match[1] or "one") * _UNITS[match[2]]


class _Pattern(NamedTuple):
    kind: CleanupKind
    form: re.Pattern[str]
    amount: Callable[[re.Match[str]], int]


def _pattern(kind: CleanupKind, form: str, amount: Callable[[re.Match[str]], int]) -> _Pattern:
    return _Pattern(kind, re.compile(rf"\b(?:{form})\b"), amount)


_PATTERNS: Final = (
    _pattern("age", rf"(?:older than|after|over|more than|beyond|past|for) {_NUMBER} {_UNIT}", _span),
    _pattern("age", rf"{_NUMBER} {_UNIT} old", _span),
    _pattern("period", rf"(?:every|each) (?:{_NUMBER} )?{_UNIT}", _span),
    _pattern("period", rf"once (?:a|per|each|every) {_UNIT}", lambda match: _UNITS[match[1]]),
    _pattern("period", rf"({'|'.join(_PERIODS)})", lambda match: _PERIODS[match[1]]),
    _pattern(
        "count",
        rf"(?:(?:{_MORE}|reach(?:es)?|after|at most|no more than|up to) "
        rf"|keep (?:only )?(?:the )?(?:(?:last|latest|newest|most recent) )?){_NUMBER} (?:\w+ )?{_THING}",
        lambda match: _number(match[1]),
    ),
    _pattern(
        "size",
        rf"(?:{_MORE}|larger than|bigger than) (\d{{1,9}}) ?({'|'.join(_SIZES)})",
        lambda match: int(match[1]) * _SIZES[match[2]],
    ),
)
_SENTENCE_END: Final = re.compile(r"[.;!?](?=\s|$)|\n")
_FORMER: Final = re.compile(r"\b(?:superseded|replaced|archived|inactive|retracted)\b")


def cleanup_rules(text: str) -> tuple[CleanupRule, ...]:
    """Returns the conditions of a cleanup text, in the order of its sentences; none if none is understood."""
    found = []
    for sentence in _SENTENCE_END.split(text):
        words = " ".join(sentence.split())
        plain = words.lower()
        about_former = _FORMER.search(plain) is not None
        amounts = {(each.kind, each.amount(match)): None for each in _PATTERNS for match in each.form.finditer(plain)}
        found += [CleanupRule(kind, amount, about_former, words) for kind, amount in amounts if amount]
    return tuple(found)
