"""The query language of search, context and turns: words, identifiers, "quoted text", beginnings and filters.

`-word` excludes, and `session:`, `role:`, `tool:`, `file:`, `project:`, `before:`, `after:` and `kind:` narrow what is
searched. Any text is a query. A filter's name without a value, and everything in quotation marks, is text.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from slicebase.context.forms import joined, other_forms
from slicebase.context.identifiers import is_identifier, trimmed
from slicebase.context.words import runs, simplified

_LONGEST: Final = 20_000  # characters; the rest of a pasted page is not searched
FILTERS: Final = ("session", "role", "tool", "file", "project", "before", "after", "kind")


class Term(NamedTuple):
    """Consecutive words that a text must have."""

    text: str
    begins: bool = False  # only the beginning of the last word is given
    unspaced: bool = False  # in a script without spaces between words
    quoted: bool = False  # the text must contain exactly this
    whole: bool = False  # an identifier: texts that contain it whole come first
    other: tuple[str, ...] = ()  # forms that are as good; of an identifier, those that come after it


class Filter(NamedTuple):
    """A condition on the texts that are searched, such as `role:user`."""

    name: str
    value: str
    excludes: bool = False

    def __str__(self) -> str:
        value = f'"{self.value}"' if any(map(str.isspace, self.value)) else self.value
        return f"{'-' if self.excludes else ''}{self.name}:{value}"


class Query(NamedTuple):
    """A query as it was typed, and what it asks for."""

    typed: str
    words: str  # without filters and excluded words
    terms: tuple[Term, ...]
    excluded: tuple[Term, ...]
    filters: tuple[Filter, ...]

    @property
    def narrows(self) -> bool:
        """Whether the query leaves something out that has its words."""
        return bool(self.filters or self.excluded)

    @property
    def names(self) -> bool:
        """Whether the query has an identifier, which may have to be searched by its parts."""
        return any(term.whole for term in self.terms)

    def values(self, name: str, *, excluded: bool = False) -> list[str]:
        """Returns the values of the filters with this name."""
        return [each.value for each in self.filters if (each.name, each.excludes) == (name, excluded)]


# What `-` excludes: two letters, quoted text, or an identifier such as `.env`, `#12`, `v2.1` or `1.2.3`. `-v`, `-O2`,
# `-5`, `--force` and `->` are words.
_EXCLUDABLE: Final = r"""
    [^\W\d_]{2} | " | [._@~/]+[^\W\d_] | [#]\w | [^\W\d_][^\W_]*[._-]\w | \d+(?:\.\d+){2}
"""
_TYPED: Final = re.compile(
    rf"""
    (?P<minus>-(?={_EXCLUDABLE}))?
    (?:
      (?P<name>{"|".join(FILTERS)}):(?!//)(?:"(?P<spaced>[^"]*)"|(?P<value>[^\s"]+))
      | "(?P<quoted>[^"]*)(?P<closed>"?)(?P<star>\*?)
      | (?P<word>[^\s"]+)
    )
    """,
    re.VERBOSE,
)


def read(typed: str) -> Query:
    """Reads a query."""
    text = typed[:_LONGEST].replace("\0", " ")  # a NUL would end an FTS5 query
    if not text.isascii():  # half of a surrogate pair is read as it is imported
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    wanted: dict[Term, None] = {}
    excluded: dict[Term, None] = {}
    filters: dict[Filter, None] = {}
    rest = []
    for match in _TYPED.finditer(text):
        value = match["spaced"] if match["value"] is None else match["value"]
        if match["name"] and value:
            filters[Filter(match["name"], value, bool(match["minus"]))] = None
            continue
        if not match["minus"]:
            rest.append(match[0])
        (excluded if match["minus"] else wanted).update(dict.fromkeys(_terms(match)))
    return Query(typed, " ".join(rest), tuple(_with_numbers(list(wanted))), tuple(excluded), tuple(filters))


def _terms(match: re.Match[str]) -> Iterator[Term]:
    quoted, word = match["quoted"], match["word"]
    if quoted is None:
        yield from _word(word if word is not None else match[0].removeprefix("-"))
    elif not match["closed"]:  # a quotation mark without its partner is ignored
        yield from (term for each in quoted.split() for term in _word(each))
    elif simplified(quoted).strip():  # points and vowels alone are left out of every text
        yield Term(" ".join(quoted.split()), bool(match["star"]), quoted=True)


def _word(word: str) -> Iterator[Term]:
    begins = word.endswith("*")
    pieces = [piece for piece in runs(simplified(word)) if any(map(str.isalnum, piece[0]))]
    for at, (text, unspaced) in enumerate(pieces, 1):
        inside = _trimmed(text)
        whole = not unspaced and is_identifier(inside)
        last = begins and not unspaced and at == len(pieces)
        shown = _EDGE.sub("", text).rstrip("*") if last else inside if whole else text.strip()
        yield Term(shown, last, unspaced, whole=whole and not last, other=() if unspaced else _other_forms(inside))


def _other_forms(word: str) -> tuple[str, ...]:
    """Returns other forms of a word: of a number its digits, of a version the one with or without `v`."""
    if not any(map(str.isdigit, word)):
        return other_forms(word)
    if re.fullmatch(_NUMBER, word):
        return (joined(word),)
    if match := re.fullmatch(_VERSION, word):
        return (match[1],) if word[0] in "vV" else (f"v{word}",)
    return other_forms(word)


# Compiled on first use for a fast start: most queries have no numbers.
_NUMBER: Final = r"\d{4,}|\d{1,3}(?:([,.'’_])\d{3})(?:\1\d{3})*"
_VERSION: Final = r"[vV]?(\d+(?:\.\d+)+(?:[-+.]\w+)*)"
_EDGE: Final = re.compile(r"^[^\w\-./:@#+~]+|[^\w\-./:@#+~]+$")


def _trimmed(word: str) -> str:
    """Returns a word without the brackets and the punctuation around it."""
    while (inside := trimmed(_EDGE.sub("", word))) != word and inside:
        word = inside
    return word


def _with_numbers(terms: list[Term]) -> Iterator[Term]:
    """Yields the terms; numbers that could be one number in groups of three digits are found as that, too."""
    for at, term in enumerate(terms):
        following = terms[at + 1] if at + 1 < len(terms) else None
        before = terms[at - 1] if at else None
        if following and _are_groups(term, following):
            yield term._replace(other=(*term.other, term.text + following.text))
        elif before and _are_groups(before, term):
            yield term._replace(other=(*term.other, before.text + term.text))
        else:
            yield term


def _are_groups(one: Term, other: Term) -> bool:
    digits = one.text.isdigit() and other.text.isdigit()
    return digits and len(one.text) <= 3 and len(other.text) == 3 and not one.quoted and not other.quoted
