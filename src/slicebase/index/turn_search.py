"""Searches the index of turns: which turns have the words of a query, and in which order.

An identifier is searched as it is written, whole, then inside longer ones, and then both in any case. Where no turn has
it, its parts are searched. Quoted text and identifiers inside longer ones are compared with the text itself.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from typing import Any, Final, NamedTuple

import apsw

from slicebase.context.identifiers import as_written, in_any_case
from slicebase.context.query import Query, Term, expression, pattern
from slicebase.context.words import ASKING, simplified
from slicebase.index.narrow import TurnFilters, conditions
from slicebase.index.schema import Tokenizer
from slicebase.index.search import known_term, parts_of


class Match(IntEnum):
    """How a turn matches a query, the best first."""

    WHOLE = 0  # all words, identifiers as they are written
    INSIDE = 1  # all words, identifiers inside longer ones
    ANY_CASE = 2  # all words, identifiers in upper or lower case
    INSIDE_ANY_CASE = 3
    PARTS = 4  # all words, identifiers by their parts
    SOME = 5  # some of the words


class TurnHit(NamedTuple):
    """A turn that matches."""

    number: int  # in this index
    turn: str
    session: str
    match: Match
    terms: tuple[Term, ...]  # that were searched


TextOf = Callable[[str], str | None]  # the text of a turn; None if it was purged

Enough = Callable[[], bool]

_MOST_READ: Final = 2_000  # texts in which identifiers inside longer ones are looked for
_FIRST: Final = 512  # turns that are read at first; if they are not enough, all


def search_turns(
    connection: apsw.Connection,
    query: Query,
    wanted: TurnFilters,
    text_of: TextOf,
    *,
    either: bool = False,
    enough: Enough = lambda: False,
) -> Iterator[TurnHit]:
    """Yields the turns that match, best first. With `either`, one of the words is enough.

    Where `enough` is true, turns that match less well are not searched any more. Without words, these are all turns
    that pass the filters, the newest first.
    """
    found = _TurnSearch(connection, query, wanted, text_of)
    if not found.terms:
        yield from found.newest()
    elif either:
        yield from found.some()
    else:
        seen: set[int] = set()
        numbers = all(term.text.isdigit() for term in found.terms if term.whole)  # `1000` is also found as 1,000
        for match, terms in found.ways():
            if (match == Match.PARTS and seen and not numbers) or enough():
                return
            for hit in found.all_of(match, terms, seen):
                seen.add(hit.number)
                yield hit


class _TurnSearch:
    def __init__(self, connection: apsw.Connection, query: Query, wanted: TurnFilters, text_of: TextOf) -> None:
        self._connection = connection
        self._reader = Tokenizer(connection)
        terms = [term for term in query.terms if self._reader.stems(term.text)]
        self.terms = [known_term(connection, self._reader, term) for term in terms]
        self._excluded = [pattern(term) for term in query.excluded if term.quoted]
        self._text_of = text_of
        self._where, self._values = conditions(wanted)
        self._known: dict[tuple[str, tuple[Any, ...]], list[tuple[int, float]]] = {}

    def ways(self) -> Iterator[tuple[Match, list[Term]]]:
        """Yields the ways in which turns can match all words, each with the terms to search."""
        names = [term for term in self.terms if term.whole]
        yield Match.WHOLE, self.terms
        if names:
            yield Match.INSIDE, self.terms
        if names or any(term.quoted for term in self.terms):
            yield Match.ANY_CASE, self.terms
        if names:
            yield Match.INSIDE_ANY_CASE, self.terms
            yield Match.PARTS, parts_of(self._reader, self.terms)

    def all_of(self, match: Match, terms: Sequence[Term], seen: set[int]) -> Iterator[TurnHit]:
        """Yields the turns that have all terms in this way and were not found before."""
        sql = ""
        names: list[str] = []  # `+`: the words are searched once, not for each of the names
        for term in terms:
            if term.whole and match in (Match.WHOLE, Match.ANY_CASE):
                forms = (as_written(term.text),) if match == Match.WHOLE else in_any_case(term.text)
                sql += f" AND +rowid IN (SELECT doc FROM naming WHERE term IN ({', '.join('?' * len(forms))}))"
                names += forms
        inside = match in (Match.INSIDE, Match.INSIDE_ANY_CASE)
        exact = match in (Match.WHOLE, Match.INSIDE)
        compared = [pattern(term, exact=exact) for term in terms if term.quoted or (term.whole and inside)]
        bound = _MOST_READ if inside and not any(term.quoted for term in terms) else None
        read = 0
        sought = [term._replace(begins=True) if inside and term.whole else term for term in terms]
        for number, turn, session in self._ranked(expression(sought), sql, names):
            if number in seen:
                continue
            read += 1
            if bound is not None and read > bound:
                return
            if self._holds(turn, compared):
                yield TurnHit(number, turn, session, match, tuple(terms))

    def some(self) -> Iterator[TurnHit]:
        """Yields the turns that have at least one term. Words that only ask count where there are no others."""
        terms = [term for term in self.terms if term.text.lower().rstrip("?!.,") not in ASKING] or self.terms
        compared = [pattern(term) for term in terms if term.quoted]
        for number, turn, session in self._ranked(expression(terms, either=True)):
            if len(compared) < len(terms) or any(self._holds(turn, [each]) for each in compared):
                yield TurnHit(number, turn, session, Match.SOME, tuple(terms))

    def newest(self) -> Iterator[TurnHit]:
        """Yields the turns that pass the filters, the newest first."""
        sql = f"""
            SELECT turn.number, turn.id, session.id FROM turn JOIN session ON session.number = turn.session
            WHERE turn.number IN (SELECT number FROM turn WHERE {self._where})
            ORDER BY turn.time DESC, turn.id
        """
        rows: Any = self._connection.execute(sql, self._values).fetchall()
        for number, turn, session in rows:
            if self._holds(turn, ()):
                yield TurnHit(number, turn, session, Match.WHOLE, ())

    def _ranked(self, match: str, named: str = "", names: Sequence[str] = ()) -> Iterator[tuple[int, str, str]]:
        """Yields turns by BM25, those with equal scores the newest first, then by id.

        `named` is a further condition, and `names` are its values.
        """
        inside = f"AND +rowid IN (SELECT number FROM turn WHERE {self._where})" if self._where != "1" else ""
        sql = (
            f"SELECT rowid, bm25(words) AS score FROM words WHERE words MATCH ? {named} {inside} ORDER BY score LIMIT ?"
        )
        done = 0
        for most in (_FIRST, -1):
            scored = self._scored(sql, (match, *names, *self._values, most))
            best = scored[0][1] if scored else 0.0
            end = len(scored)
            if end == most:  # turns with equal scores are put in order together: the last ones may go on
                last = _share(scored[-1][1], best)
                end = next(at for at, each in enumerate(scored) if _share(each[1], best) == last)
            yield from self._in_order(scored[done:end], best)
            done = end
            if len(scored) != most:
                return

    def _scored(self, sql: str, values: tuple[Any, ...]) -> list[tuple[int, float]]:
        """Returns turns with their scores. A query is asked once, also if its turns are looked at in two ways."""
        if (sql, values) not in self._known:
            rows: Any = self._connection.execute(sql, values).fetchall()
            self._known[sql, values] = rows
        return self._known[sql, values]

    def _in_order(self, scored: Sequence[tuple[int, float]], best: float) -> Iterator[tuple[int, str, str]]:
        shares = {number: _share(score, best) for number, score in scored}
        rows: Any = self._connection.execute(
            "SELECT turn.number, turn.id, session.id, turn.time FROM turn"
            " JOIN session ON session.number = turn.session"
            " WHERE turn.number IN (SELECT value FROM json_each(?))",
            (json.dumps(list(shares)),),
        ).fetchall()
        for number, turn, session, _ in sorted(rows, key=lambda row: (-shares[row[0]], -row[3], row[1])):
            yield number, turn, session

    def _holds(self, turn: str, compared: Sequence[re.Pattern[str]]) -> bool:
        """Returns whether the text of a turn has all of these, and no quoted text that is excluded."""
        if not compared and not self._excluded:
            return True
        text = self._text_of(turn)
        if text is None:
            return False
        usual = simplified(text)
        found = all(wanted.search(usual) for wanted in compared)
        return found and not any(unwanted.search(usual) for unwanted in self._excluded)


def _share(score: float, best: float) -> float:
    """Returns a score relative to the best, rounded to millionths (ruling 43)."""
    return round(score / best, 6) if best else 0.0
