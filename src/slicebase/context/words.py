"""What search sees of a text: its words, and the label with which it opens."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import NamedTuple

# Scripts that set no space between words: Thai, Lao, Burmese, Khmer, kana, Han.
_UNSPACED = (
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]+"
)


_LABEL_WORD = r"[^\W_][\w.'’-]{0,30}"


_LABEL = rf"[\s*_#>\[(<]*((?!\d){_LABEL_WORD}(?: {_LABEL_WORD}){{0,2}})[*_\])>]*(?::(?=[\s*_]|\Z)|：)"


class Word(NamedTuple):
    """A word as the index reads it: in lower case without accents, and the stem under which it is found."""

    text: str
    stem: str


@cache
def _unspaced() -> re.Pattern[str]:
    """Compiled when it is needed: for a short command with ASCII words that takes longer than all else here."""
    return re.compile(_UNSPACED)


def for_index(text: str) -> str:
    """The text as it is indexed: unspaced scripts as their single characters and their pairs."""
    return text if text.isascii() else _unspaced().sub(_characters_and_pairs, text)


def for_question(text: str) -> str:
    """The text as it is looked up: pairs alone, as they say more; a character where it stands by itself."""
    return text if text.isascii() else _unspaced().sub(_pairs, text)


def _characters_and_pairs(match: re.Match[str]) -> str:
    run = match[0]
    return f" {' '.join(run)} {' '.join(map(''.join, pairwise(run)))} "


def _pairs(match: re.Match[str]) -> str:
    run = match[0]
    return f" {' '.join(map(''.join, pairwise(run))) or run} "


def label(text: str) -> str:
    """One to three words and a colon at the beginning of a text: who speaks, or what follows ("Decision: …")."""
    match = re.match(_LABEL, text)
    return match[1] if match else ""


def runs(text: str) -> Iterator[tuple[str, bool]]:
    """The text in pieces, each with whether it is of a script that sets no spaces."""
    place = 0
    for match in () if text.isascii() else _unspaced().finditer(text):
        yield text[place : match.start()], False
        yield match[0], True
        place = match.end()
    yield text[place:], False
