"""What to try when a search found nothing: a similar word, or another search in slice files that would match."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from string import ascii_lowercase, digits
from typing import Final

import apsw

from slicebase.context.match import Attempt
from slicebase.context.query import Term
from slicebase.index.asked import Search
from slicebase.index.entries import Filters
from slicebase.index.nearby import LONGEST_MISTYPED, has_words, known_words, swaps
from slicebase.index.schema import Tokenizer

_MOST_WORDS: Final = 3
_LETTERS: Final = ascii_lowercase + digits
_BEGINNING: Final = "SELECT term, doc FROM vocabulary WHERE term >= ? AND term < ? LIMIT 100"

_MOST_TERMS: Final = 20  # of a query: nobody reads more hints, and a pasted page has a thousand words

# Returns texts that have a word with this stem.
TextsWith = Callable[[str], Iterable[str]]


def similar_words(
    connection: apsw.Connection, reader: Tokenizer, terms: Sequence[Term], texts_with: TextsWith
) -> Iterator[str]:
    """Yields a hint for each of the first terms that the index does not have, if it has similar words."""
    for term in terms[:_MOST_TERMS]:
        is_word = has_words(reader, term) and not term.begins and not term.unspaced
        stems = _similar(connection, reader, term) if is_word else []
        words = dict.fromkeys(_word(reader, stem, texts_with(stem)) for stem in stems)
        if words:
            yield f"for {term.text} there is {' or '.join(words)}"


def other_searches(wanted: Search, terms: int, count: Callable[[Search], int]) -> Iterator[str]:
    """Yields a hint for each wider search in slice files that would find something."""
    for other, words in _wider_searches(wanted, terms):
        found = count(other)
        if found:
            yield f"{found} file{'s' if found > 1 else ''} {words}"


def _wider_searches(wanted: Search, terms: int) -> Iterator[tuple[Search, str]]:
    """Yields searches that could match more, each with the text of its hint."""
    filters = wanted.filters
    if filters._replace(archived=False) != Filters():
        yield wanted._replace(filters=Filters(archived=filters.archived)), "would match without the filters"
    if not wanted.former:
        yield wanted._replace(former=True), "would match in rows that are not active: --rows all"
    if not filters.archived:
        yield wanted._replace(filters=filters._replace(archived=True)), "would match that were forgotten: --archived"
    if terms > 1 and not wanted.attempt.some:
        yield wanted._replace(attempt=Attempt(some=True)), "would match some of the words: --any"


def _similar(connection: apsw.Connection, reader: Tokenizer, term: Term) -> list[str]:
    """Returns stems of the index for a term that is not in it: one typing error away, or longer ones that begin so."""
    stems = reader.stems(term.text)
    if len(stems) != 1 or len(stems[0]) > LONGEST_MISTYPED or known_words(connection, stems):
        return []
    found = known_words(connection, _typing_errors(stems[0]))
    found |= dict(connection.execute(_BEGINNING, (stems[0], stems[0] + "\U0010ffff")))
    return sorted(found, key=lambda stem: (-found[stem], stem))[:_MOST_WORDS]


def _typing_errors(word: str) -> set[str]:
    """Returns every word that is one typing error away: a letter too many, too few, wrong, or two exchanged."""
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    fewer = (before + after[1:] for before, after in cuts)
    wrong = (before + letter + after[1:] for before, after in cuts if after for letter in _LETTERS)
    more = (before + letter + after for before, after in cuts for letter in _LETTERS)
    return {*fewer, *swaps(word), *wrong, *more} - {word, ""}


def _word(reader: Tokenizer, stem: str, texts: Iterable[str]) -> str:
    """Returns a word with this stem as a text writes it."""
    for text in texts:
        for start, end, found in reader.tokens(text):
            if found == stem:
                return str(text[start:end]).lower()
    return stem
