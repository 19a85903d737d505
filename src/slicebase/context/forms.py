"""Other forms of words under which a text is found: they are added at the end of the text that is indexed.

These are the parts of `camelCase`, `mueller` for `müller`, `lodz` for `łódź`, `1000` for `1,000`, and Korean words
without particles.
"""

import re
from collections.abc import Collection, Iterator
from functools import cache, lru_cache
from typing import Final

from slicebase.context.identifiers import humps_at, humps_in
from slicebase.context.words import UNDECOMPOSED, has_foreign_letters, in_characters_and_pairs, plain, simplified


def for_index(text: str, humps: Collection[str] | None = None) -> str:
    """Returns the text as it is indexed: scripts without spaces as single characters and as pairs, then other forms.

    `humps` are the parts of names in it, if they are known.
    """
    parts = humps_in(text) if humps is None else humps
    if not parts and text.isascii() and not _may_have_groups(text):
        return text  # most short texts
    text = simplified(text)
    other = " ".join(_other_forms(text, parts))
    words = in_characters_and_pairs(text)
    return f"{words}\n{other}" if other else words


def _other_forms(text: str, humps: Collection[str]) -> Iterator[str]:
    yield from sorted(humps)
    yield from sorted(set(in_groups(text)))
    if not text.isascii() and _has_foreign().search(text):
        words = {word for word in text.split() if not word.isascii()}
        yield from sorted({form for word in words for form in _foreign_forms(word)})


@lru_cache(maxsize=20_000)
def _foreign_forms(text: str) -> tuple[str, ...]:
    return tuple(form for _, word in _foreign_words(simplified(text)) for form in other_forms(word, 1))


# Numbers with a mark between groups of three digits. In a query, `1.234` and `1_234` are identifiers.
# The pattern begins with the digit: `re` passes everything up to it at once.
_NUMBER: Final = r"\d(?<![\w.,]\d)\d{{0,2}}(?:([{0}])\d{{3}})(?:\1\d{{3}})*(?!\w)"
_TYPED_MARKS: Final = ",'’\u00a0\u2009\u202f"
_MARKS: Final = f"._ {_TYPED_MARKS}"

# The bytes of a text by what they are in such a number: a digit, a mark, or a letter that can be either. The letters of
# all marks outside of ASCII begin with one of two bytes.
_SHAPES: Final = bytes(
    48 if 48 <= code < 58 else 44 if chr(code) in "._ ,'\xc2\xe2" else 97 if code < 0xC2 else 120 for code in range(256)
)
_CONTINUING: Final = bytes(range(0x80, 0xC0))  # of a letter outside of ASCII, all bytes but the first
_GROUP: Final = b"0,000"
_OTHER: Final = b"x"


@cache
def _number(marks: str) -> re.Pattern[str]:
    """Returns the pattern of numbers with these marks. It is compiled when it is used: most searches need none."""
    return re.compile(_NUMBER.format(marks))


def in_groups(text: str) -> Iterator[str]:
    """Yields the digits of the numbers in a text that are written in groups of three."""
    if not _may_have_groups(text):
        return iter(())  # most texts
    return (joined(match[0]) for match in _number(_MARKS).finditer(text))


def _may_have_groups(text: str) -> bool:
    shapes = text.encode("utf-8", "surrogatepass").translate(_SHAPES, b"" if text.isascii() else _CONTINUING)
    return _GROUP in shapes or _OTHER in shapes


def formed(text: str, heads: Collection[str] = ("",)) -> Iterator[tuple[int, int, str]]:
    """Yields the places in a text for which the index has other forms, with these forms.

    Forms in ASCII that have none of the letters `heads`, in lower case, may be missing.
    """
    yield from humps_at(text, heads)
    yield from respelled(text)


def respelled(text: str) -> Iterator[tuple[int, int, str]]:
    """Yields the places of numbers in groups, and of words that are also spelled otherwise, with their other forms."""
    for match in _number(_MARKS).finditer(text):
        yield match.start(), match.end(), joined(match[0])
    for start, word in _foreign_words(text):
        for form in other_forms(word, 1):
            yield start, start + len(word), form


def joined(number: str) -> str:
    """Returns the digits of a number that is written in groups."""
    return "".join(filter(str.isdigit, number))


def ungrouped(text: str) -> str:
    """Returns a query whose numbers in groups of three digits are written without marks: `1,000` as `1000`."""
    return _number(_TYPED_MARKS).sub(lambda match: joined(match[0]), text)


def _foreign_words(text: str) -> Iterator[tuple[int, str]]:
    """Yields the words with letters that are also written as two, and Korean words, each with its place.

    Words are looked at one by one: a pattern of such a word would begin again at every letter of a long one.
    """
    if not has_foreign_letters(text) or not _has_foreign().search(text):
        return
    for run in re.finditer(r"\w+", text):
        if run[0].isascii() or not (found := _has_foreign().search(run[0])):
            continue
        if _has_digraph().search(run[0], found.start()):
            yield run.start(), run[0]
        else:
            yield from ((run.start() + each.start(), each[0]) for each in re.finditer(_KOREAN, run[0]))


_KOREAN: Final = r"[\uac00-\ud7a3]{2,}"
_IN_BOTH_CASES: Final = f"äöüåÄÖÜÅ\u212b{UNDECOMPOSED}"


@cache
def _has_foreign() -> re.Pattern[str]:
    """Returns the pattern of one of the letters that such words have, in both cases: a search for it is fast."""
    return re.compile(rf"[{_IN_BOTH_CASES}\uac00-\ud7a3]")


@cache
def _has_digraph() -> re.Pattern[str]:
    return re.compile(f"[{_IN_BOTH_CASES}]")


_DIGRAPHS: Final = {"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"}
_TWO_LETTERS: Final = str.maketrans(_DIGRAPHS | {one.upper(): two.title() for one, two in _DIGRAPHS.items()})
# Particles of Korean nouns; of two in a row (에서 + 는), both are cut off, one after the other.
_PARTICLES: Final = tuple(
    """
    으로부터 에게서 한테서 이라고 이라는 이라도 에서 에게 한테 께서 으로 까지 부터 처럼 보다 라고 라는 라도 하고
    이나 이란 이며 마다 조차 마저 밖에 만큼 대로 은 는 이 가 을 를 의 에 로 와 과 도 만 나 란 며
    """.split()  # noqa: SIM905 - as a list it would take fifty lines
)


@lru_cache(maxsize=20_000)
def other_forms(word: str, shortest: int = 2) -> tuple[str, ...]:
    """Returns other forms under which a word is found: `mueller` for `Müller`, `aeroe` and `aero` for `Ærø`, Korean
    words without particles.

    At least `shortest` syllables of a Korean word stay.
    """
    if word.isascii():
        return ()
    if is_korean(word):
        return tuple(_without_particles(word, shortest))
    low = word.lower()
    return tuple(form for form in dict.fromkeys((spelled(low), plain(low))) if form != low)


def is_korean(word: str) -> bool:
    """Returns whether a word begins with a Korean syllable."""
    return "\uac00" <= word[:1] <= "\ud7a3"


def spelled(text: str) -> str:
    """Returns a text with two letters for those that are also written as two: `Mueller` for `Müller`."""
    return plain(text.translate(_TWO_LETTERS))


def _without_particles(word: str, shortest: int) -> Iterator[str]:
    for _ in range(2):
        fits = (each for each in _PARTICLES if word.endswith(each) and len(word) - len(each) >= shortest)
        if (particle := next(fits, None)) is None:
            return
        word = word[: -len(particle)]
        yield word
