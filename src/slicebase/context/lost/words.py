"""Sentences and their content words, by which a summary is searched for what it keeps (docs/lost.md)."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from slicebase.graph.annotate import phrase_patterns, words_in

_CODE: Final = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1`*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_BREAK: Final = re.compile(
    r"\n\s*\n"  # a paragraph ends
    r"|\n(?=\s*(?:[-*+•>#|]|\d+[.)])\s)"  # an entry of a list, a heading or a row of a table begins
    r"|\n(?=\s*[^\sa-z])"  # a line that does not continue a sentence
    r"|(?<=[.!?])[\"')*]*\s+(?=[^\sa-z])|(?<=[。！？])"
    # Who writes without capitals ends a sentence, too; "e.g. this" and "approx. two" do not.
    r"|(?<=[a-z]{2}[a-z\d][.!?])(?<!\betc\.)(?<!\bapprox\.)(?<!\bincl\.)(?<!\bresp\.)(?<!\bmax\.)(?<!\bmin\.)(?<!\bavg\.)\s+(?=[a-z][\w']*[\s,])"
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
_MOST_ALIKE: Final = 100  # statements that have a word
_ENDINGS: Final = ("ing", "ed", "es", "s")
# A window has sixty words: as much as a few entries of a list. It does not matter how they are divided into lines.
_STRETCH: Final = 12  # words
_STRETCHES: Final = 5
_PIECE: Final = re.compile(r"[\u3040-\u9fff]{1,2}|[^\s\u3040-\u9fff]{1,120}")  # two of these characters are a word


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
_IS_JOINED: Final = re.compile(r"[a-z][A-Z]|\w_\w")


def names(text: str) -> frozenset[str]:
    """Returns the names in a text: identifiers, paths, versions, hashes; a path by its last step.

    A name that is joined by dots counts together with those in it that are names by themselves.
    """
    return frozenset().union(*map(_names_in, set(_NAME.findall(text))))


@lru_cache(maxsize=1 << 16)
def _names_in(word: str) -> tuple[str, ...]:
    """Returns the names in a word: none if it is a plain one. Texts repeat their words, so most are known."""
    if not _IS_NAME.search(word):
        return ()
    last = word.rsplit("/", 1)[-1]
    return last.lower(), *(part.lower() for part in last.split(".") if part != last and _IS_JOINED.search(part))


@lru_cache(maxsize=8192)
def content_weights(text: str) -> Mapping[str, int]:
    """Returns the content of a text: the stems of its content words, and its names and figures, which weigh more."""
    bare = _LINE_NUMBERS.sub(" ", text)
    weights = dict.fromkeys(content_stems(bare), 2)
    weights |= dict.fromkeys((each for each in figures(bare) if len(each) > 1), 3)
    return weights | dict.fromkeys(names(bare), 4)


_NUMBER_WORDS: Final = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
_NUMBER_OF: Final = {word: str(number) for number, word in enumerate(_NUMBER_WORDS)}
_AMOUNT: Final = re.compile(rf"\b(\d+(?:[.,]\d+)*|{'|'.join(_NUMBER_OF)})[ -](\w{{3,}})", re.IGNORECASE)
_MEASURE: Final = re.compile(
    r"(?<![\w.,])(\d+(?:[.,]\d+)*)\s?(%|ms|µs|us|ns|s|min|h|[kmgt]i?b|px|x)(?!\w)", re.IGNORECASE
)
_SET: Final = re.compile(r"\b([^\W\d_]{3,}): (\d+(?:[.,]\d+)*)(?![\w%]|[.,]\d)")


@lru_cache(maxsize=1 << 15)
def amounts(text: str) -> Mapping[str, str]:
    """Returns the numbers in a text by the stem of what they count, or their unit, where there is one number of it."""
    return {unit: min(numbers) for unit, numbers in all_amounts(text).items() if len(numbers) == 1}


def all_amounts(text: str) -> dict[str, set[str]]:
    """Returns the numbers in a text by the stem of what they count, or by their unit."""
    found: dict[str, set[str]] = {}
    for match in _AMOUNT.finditer(text):
        for unit in content_stems(match[2]):
            found.setdefault(unit, set()).add(_NUMBER_OF.get(match[1].lower(), match[1]))
    for match in _MEASURE.finditer(text):
        found.setdefault(match[2].lower(), set()).add(match[1])
    for match in _SET.finditer(text):
        for unit in content_stems(match[1]):
            found.setdefault(unit, set()).add(match[2])
    return found


def may_have_amounts(text: str) -> bool:
    """Returns whether there may be an amount in a text."""
    return any(form.search(text) for form in (_AMOUNT, _MEASURE, _SET))


def figures(text: str) -> frozenset[str]:
    """Returns the numbers in a text."""
    return frozenset(_FIGURE.findall(text))


@lru_cache(maxsize=1 << 16)
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
    """A text in which statements are searched, in windows of a few dozen consecutive words."""

    def __init__(self, text: str) -> None:
        self._given = text
        self.text = " ".join(text.split())
        self._known_windows: dict[str, frozenset[int]] = {}

    def coverage(self, text: str) -> float:
        """Returns which share of a text's content, by weight, a window has: names and figures weigh more than words."""
        sought = content_weights(text)
        total = sum(sought.values())
        inside: dict[int, int] = {}
        for word, weight in sought.items():
            for start in self._windows(word):
                inside[start] = inside.get(start, 0) + weight
        return max(inside.values()) / total if inside else 0.0

    def _windows(self, word: str) -> frozenset[int]:
        """Returns the windows that have a word, each by its first stretch."""
        known = self._known_windows.get(word)
        if known is None:
            places = self._places.get(word, ())
            known = frozenset(start for place in places for start in range(place - _STRETCHES + 1, place + 1))
            self._known_windows[word] = known
        return known

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        """The stretches of the text, code included, in which each of its words stands."""
        found: dict[str, list[int]] = {}
        for place, stretch in enumerate(_stretches(self._given)):
            for word in content_weights(stretch):
                found.setdefault(word, []).append(place)
        return found

    def quote(self, literals: Iterable[str]) -> bool:
        """Returns whether the text contains each of these exactly, and not as part of a longer name."""
        return all(_quoted(literal).search(self.text) for literal in literals)


def _stretches(text: str) -> Iterator[str]:
    """Yields a text in stretches of a few words."""
    pieces = _PIECE.findall(text)
    for at in range(0, len(pieces), _STRETCH):
        yield " ".join(pieces[at : at + _STRETCH])


@lru_cache(maxsize=4096)
def _quoted(literal: str) -> re.Pattern[str]:
    """Returns the pattern of a quotation. A plain word counts only in backticks, since prose has such words too."""
    if re.fullmatch(r"[a-z]+", literal):
        return re.compile(f"`{literal}`")
    return re.compile(rf"(?<![\w.-]){re.escape(literal)}(?![\w:/-]|\.\w)")


def _shares(content: Mapping[str, int], other: Mapping[str, int], least: float) -> bool:
    """Returns whether so much of a content, by weight, is in another one."""
    for word, weight in content.items():
        if word in other:
            least -= weight
            if least <= 0:
                return True
    return least <= 0


class StatementIndex:
    """Statements by their words, to find those that say the same as another one without a look at all of them."""

    def __init__(self, statements: Iterable[Mapping[str, int]] = ()) -> None:
        self._having: dict[str, list[int]] = {}
        self._statements: list[Mapping[str, int]] = []
        for each in statements:
            self.add(each)

    def add(self, content: Mapping[str, int]) -> None:
        """Adds a statement, which gets the next number, from 0."""
        for word in content:
            self._having.setdefault(word, []).append(len(self._statements))
        self._statements.append(content)

    def like(self, content: Mapping[str, int], share: float, first: int = 0) -> Iterator[int]:
        """Returns the statements from a number on that have this share of a content by weight, in their order.

        One that has it must have one of the rarest words that together weigh more than the rest. If these are so
        common that there are too many statements, only the next ones are looked at.
        """
        total = sum(content.values())
        rest, near = (1 - share) * total, set[int]()
        for word in sorted(content, key=lambda each: (len(self._having.get(each, ())), each)):
            if rest < 0:
                break
            rest -= content[word]
            having = self._having.get(word, ())
            near.update(having[(start := bisect_left(having, first)) : start + _MOST_ALIKE])
        return (number for number in sorted(near) if _shares(content, self._statements[number], share * total))

    def has_most_in(self, content: Mapping[str, int], most: float, share: float) -> bool:
        """Returns whether a statement has most of a content, or a share of it and little else."""
        for number in self.like(content, share):
            own = self._statements[number]
            if _shares(content, own, most * sum(content.values())) or _shares(own, content, most * sum(own.values())):
                return True
        return False
