"""Identifiers in texts: names of code, paths, flags, versions, ids, URLs and error codes (ruling 51).

A word with a digit, a capital letter inside, or one of `_ - . / : @ # + ~` at its beginning or inside is an identifier.
It is indexed whole, and the names between `/ : @ #` in it as well. A query compares identifiers as they are written
first, then without case.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from slicebase.context.words import simplified, without_unspaced

# Runs of the characters that identifiers have.
_RUN: Final = re.compile(r"[\w\-./:@#+~]+")
_ENDING: Final = ".-/:@~"  # of a sentence or a list; `c++` and `c#` keep theirs
_AROUND: Final = _ENDING + "+#"
_MARK: Final = re.compile(r"[\d_\-./:@#+~]")
_INSIDE: Final = re.compile(r"[^\W_][_\-./:@#+~]+[^\W_]")
_UPPER: Final = re.compile("[A-Z]")
_WORD: Final = re.compile(r"[^\W_]+")
_JOINT: Final = re.compile(r"[/:@#]+")
_CAPITAL_INSIDE: Final = re.compile(r"[A-Z](?<=[^\W_].)")
_HUMP: Final = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][^\W\d_A-Z])")
_LONGEST: Final = 512  # characters; a longer one is data
_CAPITAL: Final = "\ue000"  # stands before a letter that is a capital: the index reads everything in lower case
_LOWERED: Final = "\ue001"  # stands before an identifier that has capitals in the text


def is_identifier(word: str) -> bool:
    """Returns whether a word is an identifier."""
    if word.isalpha() and (word.islower() or (word.isascii() and word[1:].islower())):
        return False  # most words
    return (_MARK.search(word) is not None or _has_capital_inside(word)) and any(map(str.isalnum, word))


def _has_capital_inside(word: str) -> bool:
    return any(map(str.isupper, word[1:]))


def trimmed(run: str) -> str:
    """Returns a run of characters without the punctuation that ends a sentence."""
    return run.rstrip(_ENDING)


def is_name(text: str) -> bool:
    """Returns whether a text has only characters of identifiers, so that the index may have it whole."""
    return _RUN.fullmatch(text) is not None


class Named(NamedTuple):
    """What the index keeps of the identifiers in a text."""

    whole: set[str]  # each as it is and, if it has capitals, in lower case
    humps: set[str]  # the parts of names that are joined by capital letters: `parse`, `Args` of `parseArgs`


def named_in(text: str) -> Named:
    """Returns what the index keeps of the identifiers in a text.

    Whole ones are marked, because the index itself makes no difference between upper and lower case.
    """
    found = Named(set(), set())
    for run in runs_of(text):
        if run.isalpha() and run[1:].islower():
            continue  # most words
        whole, humps = _named(run) if len(run) <= _LONGEST else _named_anew(run)
        if whole:
            found.whole.update(whole)
            found.humps.update(humps)
    return found


def humps_in(text: str) -> set[str]:
    """Returns the parts of the names in a text that are joined by capital letters, as `named_in` does."""
    lines = filter(_CAPITAL_INSIDE.search, _readable(text).split("\n"))  # others have none
    words = {word for line in lines for word in line.split() if not word[1:].islower()}
    return {part for word in words for part in (_humps(word) if len(word) <= _LONGEST else _humps_anew(word))}


def _named_anew(run: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(dict.fromkeys(form for name in _names(run) for form in _kept(name))), _humps_anew(run)


_named = lru_cache(maxsize=100_000)(_named_anew)  # texts repeat words


def runs_of(text: str) -> set[str]:
    """Returns the different runs of a text in which identifiers are."""
    return set(_RUN.findall(_readable(text)))


def _readable(text: str) -> str:
    return text if text.isascii() else without_unspaced(simplified(text))


def _names(run: str) -> Iterator[str]:
    """Yields the identifiers in a run: it, without marks around it, and the names between its joints."""
    whole = trimmed(run)
    between = {*map(trimmed, _JOINT.split(whole)), *whole.split(":")} if _JOINT.search(whole) else ()
    for name in (whole, whole.strip(_AROUND), *between):
        if 0 < len(name) <= _LONGEST and is_identifier(name):
            yield name


def _kept(name: str) -> tuple[str, ...]:
    written = as_written(name)
    return (written,) if written == name else (written, _LOWERED + name.lower())


def in_any_case(name: str) -> tuple[str, str]:
    """Returns the forms of an identifier, one of which the index keeps for each way to write it with capitals."""
    return name.lower(), _LOWERED + name.lower()


def joined_names(text: str) -> Iterator[str]:
    """Yields the identifiers of a text that consist of several words, in lower case. Others are words of the index."""
    for run in dict.fromkeys(_RUN.findall(_readable(text))):
        name = trimmed(run)
        if _INSIDE.search(name) and len(name) <= _LONGEST:
            yield name.lower()


def as_written(name: str) -> str:
    """Returns an identifier with a mark before each capital letter, as the index keeps it."""
    if name.isascii():
        return _UPPER.sub(_CAPITAL + r"\g<0>", name).lower()
    return "".join([_CAPITAL + letter.lower() if letter.isupper() else letter for letter in name])


def parts_of_name(name: str) -> list[str]:
    """Returns the words of an identifier, also those that are joined by capital letters."""
    return [part for word in re.split(r"[\W_]+", name) for part in _HUMP.split(word) if part]


def humps_at(text: str) -> Iterator[tuple[int, int, str]]:
    """Yields the parts of the names in a text that are joined by capital letters, each with its place."""
    for word in _WORD.finditer(text):
        if not word[0].islower() and not word[0][1:].islower():
            ends = [match.start() for match in _HUMP.finditer(word[0])]
            for start, end in zip([0, *ends], [*ends, len(word[0])], strict=True) if ends else ():
                yield word.start() + start, word.start() + end, word[0][start:end]


def _humps_anew(run: str) -> tuple[str, ...]:
    if run.islower() or not _HUMP.search(run):
        return ()
    names = [_HUMP.split(word) for word in re.split(r"[\W_]+", run)]
    return tuple(part for parts in names if len(parts) > 1 for part in parts)


_humps = lru_cache(maxsize=20_000)(_humps_anew)
