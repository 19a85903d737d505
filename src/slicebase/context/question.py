"""The analysis of a question: its words without those that only ask, and the dates that it names."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise

from msgspec import Struct

from slicebase.context.dates import dates
from slicebase.context.identifiers import joined_names
from slicebase.context.when import Date, DateRange
from slicebase.context.words import ASKING, Word, unaccented

# A pasted page is not a question: only its first characters and words are searched.
MOST_CHARACTERS = 20_000
_MOST_WORDS = 64
_MOST_DATES = 8
_MOST_NAMES = 16


class Question(Struct, frozen=True):
    """The words and dates of a question, and its identifiers of several words, in lower case."""

    words: tuple[Word, ...]
    dates: tuple[Date, ...]
    names: tuple[str, ...] = ()
    people: tuple[Word, ...] = ()  # those of the words that are written like names
    of_author: bool = False  # it asks about its author ("my plan"), and not about the other one ("did you say")
    text: str = ""
    wants_help: bool = False  # it asks what to do, or to do something, so what the user wants always counts


# Of the words that only ask, those that are also names of people.
_ALSO_NAMES = frozenset({"An", "Do", "May", "My", "So", "Will"})
_MAY = 5
_MARKS = "\"'’“”(),;:.!?"
# In English. Elsewhere the roles of turns make no difference.
_FIRST_PERSON = frozenset({"i", "me", "mine", "my", "myself"})
_SECOND_PERSON = frozenset({"your", "yours"})
_BEFORE_YOU = frozenset({"did", "had", "have"})
_ASKS_FOR_HELP = frozenset(
    {("help", "me")}
    | {(verb, "you") for verb in ("can", "could", "will", "would")}
    | {(verb, who) for verb in ("can", "could", "do", "should", "would") for who in ("i", "we", "you")}
)
# About what was, or about the conversation itself.
_LOOKS_BACK = frozenset(
    """
    conversation conversations did discuss discussed discussion discussions had has have mentioned summarise summarize
    summary was were
    """.split()  # noqa: SIM905 - as a list it would take twenty lines
)


def analyse(text: str, words: Sequence[Word], now: int | None = None) -> Question:
    """Returns the words, identifiers and dates of a question, given its text and its words as the index reads them.

    Relative dates ("yesterday") are counted from `now`, in milliseconds; without it, they are only words.
    """
    asked = text[:MOST_CHARACTERS]
    named = tuple(islice(dict.fromkeys(dates(asked, now)), _MOST_DATES))
    persons = _persons(asked, named)
    by_stem: dict[str, Word] = {}
    for word in words:
        if word.text in persons or (word.text not in ASKING and word.stem not in ASKING):
            by_stem.setdefault(word.stem, word)
        if len(by_stem) == _MOST_WORDS:
            break
    people = tuple(_like_names(asked, by_stem.values()))
    names = tuple(islice(dict.fromkeys(joined_names(asked)), _MOST_NAMES))
    texts = [word.text for word in words]
    found = tuple(by_stem.values())
    return Question(found, named, names, people, _is_of_author(texts), asked, _wants_help(texts))


def _persons(text: str, named: Iterable[Date]) -> set[str]:
    """Returns the words that only ask, but are names of people here.

    "What did Will say?", but neither "Will it work?" nor "What Will Happen" nor "in May".
    """
    found = set()
    words = ["", *re.split(r"\s+|(?=['’]s\b)", text), ""]
    for at, (before, word, after) in enumerate(zip(words, words[1:], words[2:], strict=False)):
        name = word.strip(_MARKS)
        is_inside = before[:1].islower() or (at == 1 and after[:1].islower())
        if name in _ALSO_NAMES and ((is_inside and before[-1] not in ".!?") or after[:2] in ("'s", "’s")):
            found.add(name.lower())
    is_month = any(when.month == _MAY for date in named for when in (date if isinstance(date, DateRange) else (date,)))
    return found - {"may"} if is_month else found


def _like_names(text: str, words: Iterable[Word]) -> Iterator[Word]:
    """Yields the words with a capital letter at the beginning only."""
    capitals = {unaccented(each).lower() for each in re.findall(r"[^\W\d_]{2,}", text) if each.istitle()}
    yield from (word for word in words if word.text in capitals)


def _is_of_author(words: Sequence[str]) -> bool:
    if _FIRST_PERSON.isdisjoint(words) or not _SECOND_PERSON.isdisjoint(words):
        return False
    return not any(before in _BEFORE_YOU and word == "you" for before, word in pairwise(words))


def _wants_help(words: Sequence[str]) -> bool:
    return _LOOKS_BACK.isdisjoint(words) and not _ASKS_FOR_HELP.isdisjoint(pairwise(words))
