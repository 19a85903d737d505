"""Identifiers in texts: names of code, paths, flags, versions, ids, URLs and error codes (ruling 51).

A word with a digit, a capital letter inside, or one of `_ - . / : @ # + ~` at its beginning or inside is an identifier.
It is indexed whole, and the names between `/ : @ #` in it as well. A query compares identifiers as they are written
first, then without case.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple, TypeAlias

from slicebase.context.words import simplified, without_unspaced

# Runs of the characters that identifiers have.
_RUN: Final = re.compile(r"[\w\-./:@#+~]+")
_SEPARATED: Final = bytes(code if code >= 128 or _RUN.match(chr(code)) else 32 for code in range(256))
_ARROW: Final = "→".encode()
_ENDING: Final = ".-/:@~"  # of a sentence or a list; `c++` and `c#` keep theirs
_AROUND: Final = _ENDING + "+#"
_MARK: Final = re.compile(r"[\d_\-./:@#+~]")
_INSIDE: Final = re.compile(r"[^\W_][_\-./:@#+~]+[^\W_]")
_WITH_CAPITAL: Final = re.compile(r"(?<![^\W_])[^\W_]+[A-Z][^\W_]*")  # words that may have humps
_JOINT: Final = re.compile(r"[/:@#]+")
_CAPITAL_INSIDE: Final = re.compile(r"[A-Z](?<=[^\W_].)")
# A plural stays whole: `AgentIDs` are `Agent` and `IDs`.
_HUMP: Final = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s(?![^\W\d_A-Z]))[^\W\d_A-Z])")
_LONGEST: Final = 512  # characters; a longer one is data
_CAPITAL: Final = "\ue000"  # stands before a letter that is a capital: the index reads everything in lower case
_LOWERED: Final = "\ue001"  # stands before an identifier that has capitals in the text
_MARKED: Final = {ord(letter): _CAPITAL + letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


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
    names, humps = names_for_index(text)
    return Named(set(names.split()), humps)


def names_for_index(text: str) -> tuple[str, set[str]]:
    """Returns what `named_in` does, with the whole identifiers as a text, in which one may be more than once."""
    found = _pieces(text)
    if _plain.issuperset(found):
        return "", set()  # most short texts
    pieces = set(found) - _plain
    new = pieces.difference(_known)
    kept = [_known[piece] for piece in (pieces - new if new else pieces)]
    kept += filter(None, map(_remembered, new))
    return " ".join([whole for whole, _ in kept]), set(chain.from_iterable([humps for _, humps in kept if humps]))


def humps_in(text: str) -> set[str]:
    """Returns the parts of the names in a text that are joined by capital letters, as `named_in` does."""
    lines = filter(_CAPITAL_INSIDE.search, _readable(text).split("\n"))  # others have none
    words = {word for line in lines for word in line.split() if not word[1:].islower()}
    return {part for word in words for part in (_humps(word) if len(word) <= _LONGEST else _humps_anew(word))}


_Kept: TypeAlias = tuple[str, tuple[str, ...]] | None  # whole names, a space between them, and humps

# What is kept of pieces of texts, which repeat them. Both are emptied before they become large, and have no long piece.
_known: Final[dict[str, tuple[str, tuple[str, ...]]]] = {}
_plain: Final[set[str]] = set()  # of which nothing is kept: most words
_MOST_KNOWN: Final = 100_000


def _remembered(piece: str) -> _Kept:
    """Returns what is kept of a piece that is new."""
    if piece.isascii():
        kept = _kept(piece)
    else:
        runs = [each for each in map(_kept, _runs_in(piece)) if each]
        humps = tuple(chain.from_iterable([humps for _, humps in runs]))
        kept = (" ".join([whole for whole, _ in runs]), humps) if runs else None
    if len(piece) <= _LONGEST:
        if len(_known) + len(_plain) >= _MOST_KNOWN:
            _known.clear()
            _plain.clear()
        if kept:
            _known[piece] = kept
        else:
            _plain.add(piece)
    return kept


def runs_of(text: str) -> set[str]:
    """Returns the different runs of a text in which identifiers are."""
    pieces = set(_pieces(text))
    return pieces if text.isascii() else {run for piece in pieces for run in _runs_in(piece)}


def _readable(text: str) -> str:
    return text if text.isascii() else without_unspaced(simplified(text))


def _pieces(text: str) -> list[str]:
    """Returns the pieces of a text between characters of ASCII that no identifier has, and arrows.

    Agents read files with an arrow after the number of each line: with it, no piece would be like another.
    """
    data = text.encode("utf-8", "surrogatepass").translate(_SEPARATED)
    if not text.isascii():
        data = data.replace(_ARROW, b" ")
    return data.decode("utf-8", "surrogatepass").split()


def _runs_in(piece: str) -> list[str]:
    return [piece] if piece.isascii() else _RUN.findall(_readable(piece))


def _kept(run: str) -> _Kept:
    """Returns what is kept of a run: it, without marks around it, and the names between its joints; and its humps."""
    if run.isalpha() and run[1:].islower():
        return None  # most words
    name = trimmed(run)
    bare = name.strip(_AROUND)
    names: Iterable[str] = (name,) if bare == name else (name, bare)
    if _JOINT.search(name):
        names = {*names, *map(trimmed, _JOINT.split(name)), *name.split(":")}
    forms: list[str] = []
    for each in names:
        if len(each) <= _LONGEST and is_identifier(each):
            written = as_written(each)
            forms += (written,) if written == each else (written, _LOWERED + each.lower())
    return (" ".join(forms), _humps_anew(run)) if forms else None


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
        return name if name == name.lower() else name.translate(_MARKED)
    return "".join([_CAPITAL + letter.lower() if letter.isupper() else letter for letter in name])


def has_humps(name: str) -> bool:
    """Returns whether words of a name are joined by capital letters."""
    return _HUMP.search(name) is not None


def parts_of_name(name: str) -> list[str]:
    """Returns the words of an identifier, also those that are joined by capital letters."""
    return [part for word in re.split(r"[\W_]+", name) for part in _HUMP.split(word) if part]


def humps_at(text: str, heads: Iterable[str] = ("",)) -> Iterator[tuple[int, int, str]]:
    """Yields the parts of the names in a text that are joined by capital letters, each with its place.

    A name in ASCII is left out if it has none of the letters `heads`, in lower case.
    """
    for word in _WITH_CAPITAL.finditer(text):
        name, first = word[0], word.start()  # read once: each reading copies it, and it may be long
        low = name.lower()
        if not any(map(low.__contains__, heads)) and low.isascii():
            continue
        ends = [match.start() for match in _HUMP.finditer(name)]
        for start, end in zip([0, *ends], [*ends, len(name)], strict=True) if ends else ():
            yield first + start, first + end, name[start:end]


def _humps_anew(run: str) -> tuple[str, ...]:
    if run == run.lower() or not _HUMP.search(run):
        return ()
    names = [_HUMP.split(word) for word in re.split(r"[\W_]+", run)]
    return tuple(part for parts in names if len(parts) > 1 for part in parts)


_humps = lru_cache(maxsize=20_000)(_humps_anew)
