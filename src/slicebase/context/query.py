"""The query language of search, context and turns: words, identifiers, "quoted text", beginnings and filters.

`-word` excludes, and `session:`, `role:`, `tool:`, `file:`, `project:`, `before:`, `after:` and `kind:` narrow what is
searched. Any text is a query. A filter's name without a value, and everything in quotation marks, is text.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from slicebase.context.forms import joined, other_forms, ungrouped
from slicebase.context.identifiers import is_identifier, trimmed
from slicebase.context.words import for_question, runs, simplified

_LONGEST: Final = 20_000  # characters; the rest of a pasted page is not searched
FILTERS: Final = ("session", "role", "tool", "file", "project", "before", "after", "kind")


class Term(NamedTuple):
    """Consecutive words that a text must have."""

    text: str
    begins: bool = False  # only the beginning of the last word is given
    unspaced: bool = False  # in a script without spaces between words
    quoted: bool = False  # the text must contain exactly this
    whole: bool = False  # an identifier: texts that contain it whole come first
    other: tuple[str, ...] = ()  # forms that are as good


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

    def values(self, name: str, *, excluded: bool = False) -> list[str]:
        """Returns the values of the filters with this name."""
        return [each.value for each in self.filters if (each.name, each.excludes) == (name, excluded)]


_TYPED: Final = re.compile(
    rf"""
    (?P<minus>-(?=[^\W\d_]{{2}}|"))?
    (?:
      (?P<name>{"|".join(FILTERS)}):(?:"(?P<spaced>[^"]*)"|(?P<value>[^\s"]+))
      | "(?P<quoted>[^"]*)(?P<closed>"?)(?P<star>\*?)
      | (?P<word>[^\s"]+)
    )
    """,
    re.VERBOSE,
)


def read(typed: str) -> Query:
    """Reads a query."""
    text = typed[:_LONGEST].replace("\0", " ")  # a NUL would end an FTS5 query
    wanted: dict[Term, None] = {}
    excluded: dict[Term, None] = {}
    filters: dict[Filter, None] = {}
    rest = []
    for match in _TYPED.finditer(ungrouped(text)):
        value = match["spaced"] if match["value"] is None else match["value"]
        if match["name"] and value:
            filters[Filter(match["name"], value, bool(match["minus"]))] = None
            continue
        if not match["minus"]:
            rest.append(match[0])
        (excluded if match["minus"] else wanted).update(dict.fromkeys(_terms(match)))
    return Query(typed, " ".join(rest), tuple(_with_numbers(list(wanted))), tuple(excluded), tuple(filters))


def read_query(typed: str) -> list[Term]:
    """Returns the terms of a query, each once, in order. Any text is a query, but it may have no terms."""
    return list(read(typed).terms)


def _terms(match: re.Match[str]) -> Iterator[Term]:
    quoted, word = match["quoted"], match["word"]
    if quoted is None:
        yield from _word(word if word is not None else match[0].removeprefix("-"))
    elif not match["closed"]:  # a quotation mark without its partner is ignored
        yield from (term for each in quoted.split() for term in _word(each))
    elif any(map(str.isalnum, quoted)):
        yield Term(" ".join(quoted.split()), bool(match["star"]), quoted=True)


def _word(word: str) -> Iterator[Term]:
    begins = word.endswith("*")
    pieces = [piece for piece in runs(simplified(word)) if any(map(str.isalnum, piece[0]))]
    for at, (text, unspaced) in enumerate(pieces, 1):
        inside = _trimmed(text)
        whole = not unspaced and is_identifier(inside)
        last = begins and not unspaced and at == len(pieces)
        other = () if unspaced else (joined(inside),) if _NUMBER.fullmatch(inside) else other_forms(inside)
        yield Term(inside if whole else text.strip(), last, unspaced, whole=whole and not last, other=other)


_NUMBER: Final = re.compile(r"\d{1,3}(?:[._]\d{3})+")
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


# For the index


def expression(terms: Iterable[Term], *, either: bool = False) -> str:
    """Returns the terms as an FTS5 query for all of them, or for any. Typed text is never an operator in it."""
    return (" OR " if either else " AND ").join(map(expressed, terms))


def expressed(term: Term) -> str:
    """Returns a term as an FTS5 query. A text that contains quoted text matches it; so may others."""
    if term.quoted:
        return _quoted(term)
    forms = [_phrase(term.text, term.begins), *(_phrase(form) for form in term.other)]
    return forms[0] if len(forms) == 1 else f"({' OR '.join(forms)})"


def _quoted(term: Term) -> str:
    """Returns the words of quoted text in a row; the last one may go on. Scripts without spaces are indexed apart."""
    pieces = [text for text, _ in runs(simplified(term.text)) if any(map(str.isalnum, text))]
    return f"({' AND '.join(_phrase(text, begins=True) for text in pieces)})"


def _phrase(words: str, begins: bool = False) -> str:
    text = for_question(words).replace('"', '""')
    return f'"{text}"{" *" if begins else ""}'


# For the text itself


def pattern(term: Term, *, exact: bool = False) -> re.Pattern[str]:
    """Returns the pattern of a quoted text or an identifier in a text.

    Any white space is as good as any other. Quoted text with a capital letter matches exactly, as everything does with
    `exact`; other text in any case.
    """
    words = r"\s+".join(map(re.escape, simplified(term.text).split()))
    return re.compile(words, 0 if exact or (term.quoted and term.text != term.text.lower()) else re.IGNORECASE)
