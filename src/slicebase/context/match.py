"""How texts match the terms of a query: the expression that asks an index for them, and the comparison with the text.

An index knows stems. So texts that it finds for quoted text, for identifiers and for some beginnings of words are
compared with the query themselves, from the best way to match to the last (ruling 51).
"""

import re
from collections.abc import Collection, Iterable, Iterator
from enum import IntEnum
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from slicebase.context.beginnings import indexed_beginning
from slicebase.context.forms import in_groups, spelled
from slicebase.context.identifiers import as_written, has_humps, in_any_case, is_name, named_in, parts_of_name
from slicebase.context.query import Query, Term
from slicebase.context.words import for_question, is_spaced, plain, runs, simplified, unaccented


class Match(IntEnum):
    """How a text matches a query, the best first."""

    WHOLE = 0  # all words, identifiers and quoted texts as they are written
    INSIDE = 1  # all words, identifiers inside longer ones
    ANY_CASE = 2  # all words, in upper or lower case
    INSIDE_ANY_CASE = 3
    OTHER_FORM = 4  # all words, identifiers in another form: 1,000 for 1000
    PARTS = 5  # all words, identifiers by their parts
    SOME = 6  # some of the words


class Attempt(NamedTuple):
    """What a search takes: texts with some of the words, not all; texts with the parts of identifiers."""

    some: bool = False
    parts: bool = False

    @property
    def match(self) -> Match | None:
        """How a text matches, if there is only one way."""
        return Match.SOME if self.some else Match.PARTS if self.parts else None


ALL_WORDS: Final = Attempt()


def tries(query: Query, *, either: bool = False) -> Iterator[Attempt]:
    """Yields what to search, one after the other, until something is found: all words, parts of names, some words."""
    for some in (True,) if either else (False, True) if len(query.terms) > 1 else (False,):
        yield Attempt(some)
        if query.names:
            yield Attempt(some, parts=True)


def steps(terms: Collection[Term]) -> Iterator[Match]:
    """Yields the ways in which texts can match all of these terms, the best first."""
    names = any(term.whole for term in terms)
    yield Match.WHOLE
    if names:
        yield Match.INSIDE
    if names or any(term.quoted for term in terms):
        yield Match.ANY_CASE
    if names:
        yield Match.INSIDE_ANY_CASE
    if any(term.whole and term.other for term in terms):
        yield Match.OTHER_FORM


# In the index

_MOST_WORDS: Final = 30  # of a phrase: the time that FTS5 takes grows with the square of their number
_WORD: Final = re.compile(r"[^\W_]+")
_LAST_WORD: Final = re.compile(r"[^\W_]+\Z")


def expression(terms: Iterable[Term], *, either: bool = False, inside: bool = False, by_parts: bool = False) -> str:
    """Returns the terms as an FTS5 query for all of them, or for any. Typed text is never an operator in it.

    With `inside`, identifiers are also searched at the beginning of longer ones, with `by_parts` also where a capital
    letter begins them.
    """
    return (" OR " if either else " AND ").join(expressed(term, inside=inside, by_parts=by_parts) for term in terms)


def expressed(term: Term, *, inside: bool = False, by_parts: bool = False) -> str:
    """Returns a term as an FTS5 query. A text that has the term matches it, and others may."""
    if term.quoted:
        pieces = [text for text, _ in runs(simplified(term.text)) if any(map(str.isalnum, text))]
        phrases = [_phrase(text) for text in pieces[:-1]]
        return f"({' AND '.join([*phrases, _either(_phrases(pieces[-1], goes_on=True))])})"
    joined = list(_joined_parts(term.text)) if by_parts and term.whole else []
    goes_on = term.begins or (term.whole and (inside or (by_parts and not joined)))
    forms = dict.fromkeys(phrase for form in (term.text, *term.other) for phrase in _phrases(form, goes_on))
    if goes_on and term.whole:  # of many texts with longer words, those with this one come first
        forms |= dict.fromkeys(_phrases(term.text))
    return _either([*forms, *joined])


def _joined_parts(name: str) -> Iterator[str]:
    """Yields the parts of a name that capital letters join: the index has them of a longer name, such as `getUserMedia`
    for `UserMedia`.
    """
    if has_humps(name):
        *parts, last = dict.fromkeys(parts_of_name(name))
        yield f"({' AND '.join([*map(_phrase, parts), _either(_phrases(last, goes_on=True))])})"


def _either(phrases: Iterable[str]) -> str:
    listed = list(phrases)
    return listed[0] if len(listed) == 1 else f"({' OR '.join(listed)})"


def _phrases(words: str, goes_on: bool = False) -> Iterator[str]:
    """Yields consecutive words as FTS5 queries; if the last word may go on, with its beginning."""
    found = list(_WORD.finditer(words))
    if len(found) > _MOST_WORDS:
        words, goes_on = words[: found[_MOST_WORDS - 1].end()], False
    last = _LAST_WORD.search(words) if goes_on else None
    yield f"{_phrase(words[: last.start()] + indexed_beginning(last[0]))} *" if last else _phrase(words)


def _phrase(words: str) -> str:
    return '"' + for_question(words).replace('"', '""') + '"'


# In the text itself


def is_compared(term: Term) -> bool:
    """Returns whether a text that the index finds for a term may not have it."""
    if term.begins and not term.quoted:
        return not term.text.isalnum() or indexed_beginning(term.text) != unaccented(term.text.lower())
    return term.quoted or term.whole


def without(query: Query) -> tuple[Term, ...]:
    """Returns the words that a query excludes and that an index knows by themselves."""
    return tuple(term for term in query.excluded if not is_compared(term))


def unwanted(query: Query) -> list["TermPattern"]:
    """Returns what else a query excludes, to compare it with texts."""
    return [TermPattern(term, Match.INSIDE_ANY_CASE) for term in query.excluded if is_compared(term)]


_REST: Final = re.compile(r"\w*")  # of a word


def _begins_word(text: str, start: int) -> bool:
    return not start or not is_spaced(text[start - 1])


def _begins_part(text: str, start: int) -> bool:
    """Returns whether a part of a name begins here: `Args` in `parseArgs`."""
    return start > 0 and "A" <= text[start] <= "Z" and text[start - 1].isalpha() and not "A" <= text[start - 1] <= "Z"


_CASELESS: Final = "ſıİ\u212a"  # what `re` takes for a letter of ASCII in another case


class TermPattern:
    """The pattern of a term in texts, for one way to match. Any white space is as good as any other.

    It is compiled for the first text that may have it: a pasted page of names has a thousand. It has the letters alone,
    for which `re` searches fast; whether they begin and end with words is looked at where they are.
    """

    def __init__(self, term: Term, match: Match) -> None:
        self.term = term
        self.match = match
        exact = match in (Match.WHOLE, Match.INSIDE) or (term.quoted and term.text != term.text.lower())
        self._is_exact = exact and not term.begins
        self._is_whole = term.whole and match in (Match.WHOLE, Match.ANY_CASE)
        letters = max(simplified(term.text).split(), key=len, default="")
        self._letters = letters if self._is_exact else letters.lower()

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The regular expression of the term's letters."""
        return re.compile(_spelled_out(self.term.text), 0 if self._is_exact else re.IGNORECASE)

    @cached_property
    def _others(self) -> list[re.Pattern[str]]:
        return [re.compile(_spelled_out(form), re.IGNORECASE) for form in self.term.other]

    def may_match(self, text: str) -> bool:
        """Returns whether the pattern can match in a text: whether that has the letters of the longest word."""
        if self._is_exact:
            return self._letters in text
        if not self._letters.isascii() or self._letters in text.lower():
            return True
        return not text.isascii() and any(letter in text for letter in _CASELESS)

    @property
    def _forms(self) -> bool:
        return self.match == Match.OTHER_FORM and self.term.whole

    def _found(self, pattern: re.Pattern[str], text: str, *, whole: bool = False) -> Iterator[tuple[int, int]]:
        """Yields the spans of a pattern in a text, with `whole` to the ends of the words that it begins.

        Words are read to their ends only where the span fits: else a long one would be read again from each letter.
        """
        searched, at = text, 0
        if pattern.flags & re.IGNORECASE and text.isascii():
            searched, pattern = text.lower(), _in_small_letters(pattern.pattern)
        while at <= len(text) and (found := pattern.search(searched, at)):
            start, end = found.span()
            at = start + 1
            if self._fits(text, start, end):
                if whole and (rest := _REST.match(text, end)):
                    end = rest.end()
                at = max(at, end)
                yield start, end

    def _fits(self, text: str, start: int, end: int) -> bool:
        """Returns whether a span begins as a word does, or a part of a name, and ends as a word if it has to."""
        if not is_spaced(text[start : start + 1]) or _begins_word(text, start):
            begins = True
        else:
            begins = not self._is_whole and _begins_part(text, start)
        goes_on = is_spaced(text[end - 1 : end]) and is_spaced(text[end : end + 1])
        return begins and not (self._is_whole and goes_on)

    def places(self, text: str) -> Iterator[tuple[int, int]]:
        """Yields the spans of the term in a text; of a beginning, those of whole words."""
        if self.may_match(text):
            yield from self._found(self.pattern, text, whole=self.term.begins and not self.term.quoted)

    def in_forms(self, forms: Iterable[tuple[int, int, str]]) -> Iterator[tuple[int, int]]:
        """Yields the spans of words whose other forms begin with the term: `muell*` for `Müller`."""
        if self.term.begins and not self.term.quoted:
            yield from ((start, end) for start, end, form in forms if self.pattern.match(unaccented(form)))

    def is_in(self, text: str) -> bool:
        """Returns whether a text has the term."""
        usual = simplified(text)
        if self.may_match(usual) and self._has(self.pattern, usual):
            return True
        if not self._may_differ(usual):
            return False
        if self._forms:
            grouped = set(in_groups(usual))
            return any(form in grouped for form in self.term.other) or any(
                self._has(each, usual) for each in self._others
            )
        return any(
            self._has(self.pattern, form) for form in (unaccented(usual), spelled(usual), unaccented(plain(usual)))
        )

    def _has(self, pattern: re.Pattern[str], text: str) -> bool:
        return any(True for _ in self._found(pattern, text))

    def may_be_in(self, text: str) -> bool:
        """Returns whether a text can have the term, by its letters: this takes no regular expression."""
        usual = simplified(text)
        return self.may_match(usual) or self._may_differ(usual)

    def _may_differ(self, usual: str) -> bool:
        """Returns whether a text can have the term with other letters: in another form, or with accents."""
        return self._forms or (self.term.begins and not self.term.quoted and not usual.isascii())


@lru_cache(maxsize=256)
def _in_small_letters(pattern: str) -> re.Pattern[str]:
    """Returns a pattern for text in small letters, in which `re` finds it much faster than in any case."""
    return re.compile(pattern.lower())


def _spelled_out(text: str) -> str:
    return r"\s+".join(map(re.escape, simplified(text).split()))


def named_forms(term: Term, match: Match) -> tuple[str, ...]:
    """Returns the forms of which the identifiers of a text have one, if the text has a term whole in this way.

    For other terms, and other ways to match, there are none: the text is compared.
    """
    if not term.whole or match not in (Match.WHOLE, Match.ANY_CASE) or not is_name(term.text):
        return ()
    return (as_written(term.text),) if match == Match.WHOLE else in_any_case(term.text)


class NamePattern:
    """Identifiers that texts have whole, each in one of its forms: they are compared with those of a text at once."""

    def __init__(self, forms: Collection[tuple[str, ...]]) -> None:
        self._forms = forms

    def may_be_in(self, text: str) -> bool:
        """Returns true: to know, the names of the text are read, once."""
        return True

    def is_in(self, text: str) -> bool:
        """Returns whether a text has all of them."""
        names = named_in(text).whole
        return all(any(form in names for form in forms) for forms in self._forms)


def match_of(text: str, terms: Collection[Term], names: Collection[str]) -> Match | None:
    """Returns the best way in which a text has all terms that have to be compared; None if it does not.

    `names` are the identifiers of the text, as the index keeps them.
    """
    compared = [term for term in terms if is_compared(term)]
    ways = (match for match in steps(compared) if all(_has(text, term, match, names) for term in compared))
    return next(ways, None)


def _has(text: str, term: Term, match: Match, names: Collection[str]) -> bool:
    forms = named_forms(term, match)
    return any(form in names for form in forms) if forms else TermPattern(term, match).is_in(text)
