"""Sentences and their content words, by which a summary is searched for what it keeps (docs/lost.md)."""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from slicebase.graph.annotate import phrase_patterns, words_in

_CODE: Final = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1`*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_BREAK: Final = re.compile(
    r"\n\s*\n"  # a paragraph ends
    r"|\n(?=\s*(?:[-*+•>#|]|\d+[.)])\s)"  # an entry of a list, a heading or a row of a table begins
    r"|\n(?=\s*[^\sa-z])"  # a line that does not continue a sentence
    r"|(?<=[.!?])[\"')*]*\s+(?=[^\sa-z])|(?<=[。！？])"
)
_MARKS: Final = re.compile(r"(?:\s|[-*+•>#|](?=\s)|\d+[.)](?=\s)|\[[ xX]\]|\*\*(?=\w))*")
_FIGURE: Final = re.compile(r"\d+(?:[.,:]\d+)*")

# Words that two sentences may share without having the same subject.
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
_LINES: Final = 4  # consecutive lines


class Sentence(NamedTuple):
    """A sentence, and its span in the text."""

    text: str
    start: int
    end: int


def sentences(text: str) -> Iterator[Sentence]:
    """Yields sentences, list entries, headings and table rows, without fenced code."""
    for start, end in _prose(text):
        place = start
        for match in (*_BREAK.finditer(text, start, end), None):
            stop = match.start() if match else end
            first = min(_MARKS.match(text, place, stop).end(), stop)  # type: ignore[union-attr]  # it also matches the empty text
            sentence = text[first:stop].rstrip()
            if sentence:
                yield Sentence(sentence, first, first + len(sentence))
            place = match.end() if match else end


def _prose(text: str) -> Iterator[tuple[int, int]]:
    place = 0
    for match in _CODE.finditer(text):
        yield place, match.start()
        place = match.end()
    yield place, len(text)


def says(text: str, phrases: tuple[str, ...]) -> bool:
    """Returns whether the text contains one of the phrases, word for word."""
    words = f" {' '.join(words_in(text))} "
    return any(phrase in words for _, phrase in phrase_patterns(phrases))


@lru_cache(maxsize=4096)
def content_stems(text: str) -> frozenset[str]:
    """Returns the stems of the content words, which are all words but the common ones."""
    return frozenset(_stem(word) for word in words_in(text) if word not in _COMMON)


# Line numbers change with every edit: they are no part of what a statement says.
_LINE_NUMBERS: Final = re.compile(
    r"(?<=\w):\d+(?:-\d+)?(?::\d+)?\b|\b(?:lines?|L)\s?~?\d+(?:\s?[-,&–]\s?\d+)*", re.IGNORECASE
)
_NAME: Final = re.compile(r"[A-Za-z_]\w*(?:[./-]\w+)*|\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}\b")
_IS_NAME: Final = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]|_|\w[./]\w|\d")


def names(text: str) -> frozenset[str]:
    """Returns the names in a text: identifiers, paths, versions, hashes; a path by its last step."""
    found = (match[0] for match in _NAME.finditer(text))
    return frozenset(each.rsplit("/", 1)[-1].lower() for each in found if _IS_NAME.search(each))


def content_weights(text: str) -> dict[str, int]:
    """Returns the content of a text: the stems of its content words, and its names and figures, which weigh more."""
    bare = _LINE_NUMBERS.sub(" ", text)
    weights = dict.fromkeys(content_stems(bare), 2)
    weights |= dict.fromkeys((each for each in figures(bare) if len(each) > 1), 3)
    return weights | dict.fromkeys(names(bare), 4)


def figures(text: str) -> frozenset[str]:
    """Returns the numbers in a text."""
    return frozenset(_FIGURE.findall(text))


def _stem(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            if len(word) > 3 and word[-1] == word[-2] and word[-1] in "bdgmnprt":
                return word[:-1]  # stopped, stop
            break
    return word.removesuffix("e") if len(word) > 3 else word


class Passages:
    """A text in which statements are searched, in windows of a few consecutive lines."""

    def __init__(self, text: str) -> None:
        self._given = text
        self.text = " ".join(text.split())

    def coverage(self, text: str) -> float:
        """Returns which share of a text's content, by weight, a window has: names and figures weigh more than words."""
        sought = content_weights(text)
        total = sum(sought.values())
        if not total:
            return 0.0
        return max((sum(sought[each] for each in sought.keys() & near) for near in self._near), default=0) / total

    @cached_property
    def _near(self) -> list[frozenset[str]]:
        """The content of each window of the lines of the text, code included."""
        lines = [frozenset(content_weights(line)) for line in self._given.splitlines() if line.strip()]
        return [frozenset().union(*lines[at : at + _LINES]) for at in range(max(1, len(lines) - _LINES + 1))]

    def quote(self, literals: Iterable[str]) -> bool:
        """Returns whether the text contains each of these exactly, and not as part of a longer name."""
        return all(_quoted(literal).search(self.text) for literal in literals)


@lru_cache(maxsize=4096)
def _quoted(literal: str) -> re.Pattern[str]:
    """Returns the pattern of a quotation. A plain word counts only in backticks, since prose has such words too."""
    if re.fullmatch(r"[a-z]+", literal):
        return re.compile(f"`{literal}`")
    return re.compile(rf"(?<![\w.-]){re.escape(literal)}(?![\w:/-]|\.\w)")
