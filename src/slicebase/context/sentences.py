"""Sentences of a text with their places, and the words by which one can be found again in other words."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from math import ceil
from typing import Final, NamedTuple

from slicebase.graph.annotate import spaced, words_in

_CODE: Final = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1`*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_BREAK: Final = re.compile(
    r"\n\s*\n"  # a paragraph ends
    r"|\n(?=\s*(?:[-*+•>#|]|\d+[.)])\s)"  # an entry of a list, a heading or a row of a table begins
    r"|\n(?=\s*[^\sa-z])"  # a line that does not go on in the middle of a sentence
    r"|(?<=[.!?])[\"')*]*\s+(?=[^\sa-z])|(?<=[。！？])"
)
_MARKS: Final = re.compile(r"(?:\s|[-*+•>#|](?=\s)|\d+[.)](?=\s)|\[[ xX]\]|\*\*(?=\w))*")
_FIGURE: Final = re.compile(r"\d+(?:[.,:]\d+)*")

# Words that a sentence and any other may share without being about the same thing.
_COMMON: Final = frozenset(
    {
        "a", "about", "after", "again", "agreed", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be",
        "because", "been", "before", "being", "but", "by", "can", "could", "d", "decided", "decision", "decisions",
        "did", "do", "does", "don", "for", "from", "get", "go", "got", "had", "has", "have", "he", "her", "here", "him",
        "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "let", "like", "ll", "m", "make", "me",
        "more", "my", "need", "no", "not", "now", "of", "on", "one", "only", "or", "our", "out", "please", "re", "s",
        "she", "should", "so", "some", "still", "t", "than", "that", "the", "their", "them", "then", "there", "these",
        "they", "this", "those", "to", "too", "up", "us", "use", "ve", "very", "want", "was", "way", "we", "were",
        "what", "when", "where", "which", "while", "who", "why", "will", "with", "would", "yes", "yet", "you", "your",
    }
)  # fmt: skip
_ENDINGS: Final = ("ing", "ed", "es", "s")
_WINDOW: Final = 3  # sentences in a row


class Sentence(NamedTuple):
    text: str
    start: int
    end: int


def sentences(text: str) -> Iterator[Sentence]:
    """Sentences, entries of lists, headings and rows of tables, without fenced code."""
    for start, end in _prose(text):
        place = start
        for match in (*_BREAK.finditer(text, start, end), None):
            stop = match.start() if match else end
            first = min(_MARKS.match(text, place, stop).end(), stop)  # type: ignore[union-attr]  # it matches nothing, too
            said = text[first:stop].rstrip()
            if said:
                yield Sentence(said, first, first + len(said))
            place = match.end() if match else end


def _prose(text: str) -> Iterator[tuple[int, int]]:
    place = 0
    for match in _CODE.finditer(text):
        yield place, match.start()
        place = match.end()
    yield place, len(text)


def says(text: str, phrases: tuple[str, ...]) -> bool:
    """Whether one of the phrases stands in the text, word for word."""
    said = f" {' '.join(words_in(text))} "
    return any(phrase in said for _, phrase in spaced(phrases))


@lru_cache(maxsize=4096)
def telling(text: str) -> frozenset[str]:
    """The stems of the words that say what a text is about."""
    return frozenset(_stem(word) for word in words_in(text) if word not in _COMMON)


def figures(text: str) -> frozenset[str]:
    return frozenset(_FIGURE.findall(text))


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            break
    return word.removesuffix("e") if len(word) > 3 else word


class Passages:
    """A text as sentences are looked for in it: by windows of a few sentences in a row."""

    def __init__(self, text: str) -> None:
        self.text = " ".join(text.split())
        parts = [sentence.text for sentence in sentences(text)]
        self._windows = [_window(parts[at : at + _WINDOW]) for at in range(len(parts))]

    def hold(self, sentence: str, share: float, *, with_figures: bool) -> bool:
        """Whether some window has this share of a sentence's telling words and, where asked, all its figures."""
        sought = telling(sentence)
        least = min(max(ceil(share * len(sought)), 2), len(sought))
        numbers = figures(sentence) if with_figures else frozenset()
        return bool(sought) and any(numbers <= known and len(sought & stems) >= least for stems, known in self._windows)

    def quote(self, literals: Iterable[str]) -> bool:
        """Whether each of these stands there, letter by letter and not inside another name."""
        return all(_quoted(literal).search(self.text) for literal in literals)


def _window(parts: Sequence[str]) -> tuple[frozenset[str], frozenset[str]]:
    return frozenset().union(*map(telling, parts)), frozenset().union(*map(figures, parts))


@lru_cache(maxsize=4096)
def _quoted(literal: str) -> re.Pattern[str]:
    """A single plain word is a quotation only in backticks: prose has it, too."""
    if re.fullmatch(r"[a-z]+", literal):
        return re.compile(f"`{literal}`")
    return re.compile(rf"(?<![\w.-]){re.escape(literal)}(?![\w:/-]|\.\w)")
