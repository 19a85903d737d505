"""Searches the index of turns: which turns have the words of a query, in which order, and how many.

An identifier is searched as it is written, whole, then inside longer ones, then both in any case, and then in other
forms. Quoted text and identifiers inside longer ones are compared with the text itself.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Final, NamedTuple

import apsw

from slicebase.context.identifiers import has_humps
from slicebase.context.match import (
    Attempt,
    Match,
    NamePattern,
    TermPattern,
    expression,
    is_compared,
    named_forms,
    steps,
    unwanted,
)
from slicebase.context.query import Query, Term
from slicebase.context.words import ASKING
from slicebase.core.hashing import canonical
from slicebase.index.narrow import TurnFilters, conditions
from slicebase.index.nearby import has_words, known_terms
from slicebase.index.schema import Tokenizer


class TurnHit(NamedTuple):
    """A turn that matches."""

    number: int  # in this index
    turn: str
    session: str
    match: Match
    terms: tuple[Term, ...]  # that were searched


class FoundHits(NamedTuple):
    """The best turns for a query, how many there are, and how many in each session, at least of these turns."""

    hits: list[TurnHit]
    total: int
    by_session: dict[str, int]
    is_exact: bool = True  # else there may be more: not all texts were searched, or compared with the query


class Bounds(NamedTuple):
    """How many turns, and turns of how many sessions, are enough."""

    turns: int
    sessions: int = 0


TextOf = Callable[[str], str | None]  # the text of a turn; None if it was purged

_MOST_READ: Final = 2_000  # texts that are compared although enough was found, or for what is inside longer names
_MOST_WITH_PARTS: Final = 500  # of these, for names in which a capital letter begins another one
_MOST_NAMES: Final = 100  # of a query that are looked up; SQLite refuses a thousand conditions, and few texts are left
_FIRST: Final = 512  # turns that are read at first; if they are not enough, all
_LAST: Final = "\U0010ffff"  # comes after every text that begins alike


class _Condition(NamedTuple):
    """An FTS5 query, a further condition on the turns that it finds, and the values of that."""

    match: str
    sql: str = ""
    values: tuple[str, ...] = ()


class TurnSearch:
    """One search in the index of turns."""

    def __init__(
        self, connection: apsw.Connection, query: Query, wanted: TurnFilters, text_of: TextOf, attempt: Attempt
    ) -> None:
        self._connection = connection
        self._attempt = attempt
        reader = Tokenizer(connection)
        self._terms = known_terms(connection, reader, query.terms, parts=attempt.parts)
        self._wordless = [term for term in query.terms if term.quoted and not has_words(reader, term)]
        self._unwanted = unwanted(query)
        self._suspects: set[int] | None = None  # turns that may have something unwanted
        self._text_of = text_of
        self._where, self._values = conditions(wanted)
        self._known: dict[tuple[str, tuple[Any, ...]], list[tuple[int, float]]] = {}
        self._seen: set[int] = set()
        self._first: _Condition | None = None  # what was searched, if it is all that was searched, and not compared
        self._counted: Counter[str] | None = None  # the turns of sessions that `_first` finds
        self._listed: Counter[str] | None = None  # the turns of sessions, if nothing was searched or compared
        self._left_unread = False  # texts that might match, because many were compared

    def found(self, bounds: Bounds) -> FoundHits:
        """Returns the turns that match, best first, as many as are enough.

        Turns that match less well are not searched then. Without words, these are all turns that pass the filters, the
        newest first.
        """
        hits: list[TurnHit] = []
        sessions: Counter[str] = Counter()
        most = None
        for hit in self._hits(lambda: len(hits) >= bounds.turns and len(sessions) >= bounds.sessions):
            hits.append(hit)
            sessions[hit.session] += 1
            if len(hits) >= bounds.turns:
                most = bounds.sessions if len(sessions) >= bounds.sessions else most or self._most_sessions()
                if len(sessions) >= most or (not self._first_is_all and len(hits) >= _MOST_READ):
                    break
        else:
            return FoundHits(hits, len(hits), sessions, is_exact=not self._left_unread)
        if self._listed is not None:
            return FoundHits(hits, self._listed.total(), self._listed)
        if self._first is not None:
            counted = self._numbers(self._first)
            return FoundHits(hits, counted.total(), counted, self._first_is_all)
        return FoundHits(hits, len(hits), sessions, is_exact=False)

    @property
    def _first_is_all(self) -> bool:
        """Whether nothing matches less well than what was searched first, and was not compared."""
        return self._first is not None and (self._attempt.some or not any(term.whole for term in self._terms))

    def _hits(self, enough: Callable[[], bool]) -> Iterator[TurnHit]:
        if not self._terms:
            yield from self._newest()
        elif self._attempt.some:
            yield from self._some()
        else:
            for match in steps(self._terms):
                if enough():
                    return
                inside = match in (Match.INSIDE, Match.INSIDE_ANY_CASE)
                if inside:  # longer names are known without a look at texts
                    yield from self._all_of(match, begins=True)
                yield from self._all_of(match)
                if inside and any(term.whole and has_humps(term.text) for term in self._terms):
                    yield from self._all_of(match, by_parts=True)

    # Ways to match

    def _all_of(self, match: Match, *, begins: bool = False, by_parts: bool = False) -> Iterator[TurnHit]:
        """Yields the turns that have all terms in this way and were not found before.

        With `begins`, these are turns with identifiers that begin with those of the query, with `by_parts` those in
        which a capital letter begins these.
        """
        compared: list[TermPattern | NamePattern] = [TermPattern(term, match) for term in self._wordless]
        whole = match if not begins else Match.WHOLE if match == Match.INSIDE else Match.ANY_CASE
        known = {term: forms for term in self._terms if (forms := named_forms(term, whole))}
        looked_up = dict(islice(known.items(), _MOST_NAMES))
        names = list(looked_up.values())
        if len(known) > len(looked_up) and not begins:
            compared.append(NamePattern([forms for term, forms in known.items() if term not in looked_up]))
            looked_up = known
        compared += [TermPattern(term, match) for term in self._terms if is_compared(term) and term not in looked_up]
        longer = begins and len(names) == 1  # those that are equal are known
        one = "term = ?" if not begins else "term > ? AND term < ?" if longer else "term >= ? AND term < ?"
        named = [f"SELECT doc FROM naming WHERE {' OR '.join([one] * len(forms))}" for forms in names]
        bounds = [[each for form in forms for each in ((form, form + _LAST) if begins else (form,))] for forms in names]
        if begins and not (named and all(map(self._has_any, named, bounds))):
            return
        # `+`: the words are searched once, not for each of the names
        sql = "".join(f" AND +words.rowid IN ({select})" for select in named)
        values = chain.from_iterable(bounds)
        inside = match not in (Match.WHOLE, Match.ANY_CASE)
        condition = _Condition(
            expression(self._terms, inside=inside and not by_parts, by_parts=by_parts), sql, tuple(values)
        )
        self._first = condition if not self._seen and not compared and not self._unwanted else None
        quoted = any(term.quoted for term in self._terms)
        for read, (number, turn, session) in enumerate(self._ranked(condition)):
            if inside and compared and not quoted and read >= (_MOST_WITH_PARTS if by_parts else _MOST_READ):
                self._left_unread = True
                return
            if number not in self._seen and self._holds(number, turn, compared):
                self._seen.add(number)
                yield TurnHit(number, turn, session, self._attempt.match or match, tuple(self._terms))

    def _has_any(self, select: str, values: Sequence[str]) -> bool:
        return bool(self._connection.execute(f"SELECT EXISTS ({select})", values).get)

    def _some(self) -> Iterator[TurnHit]:
        """Yields the turns that have at least one term. Words that only ask count where there are no others.

        An identifier does not count by its parts.
        """
        terms = [term for term in self._terms if term.text.lower().rstrip("?!.,") not in ASKING] or self._terms
        compared = [TermPattern(term, Match.INSIDE_ANY_CASE) for term in terms if is_compared(term)]
        plain = [term for term in terms if not is_compared(term)]
        sure = self._turns_with(plain) if compared and plain else set()
        condition = _Condition(expression(terms, either=True, inside=True))
        self._first = condition if not compared and not self._unwanted else None
        read = 0
        for number, turn, session in self._ranked(condition):
            if compared and number not in sure:
                read += 1
                self._left_unread |= read > _MOST_READ
                if read > _MOST_READ or not any(self._holds(number, turn, [each]) for each in compared):
                    continue
            if self._holds(number, turn):
                yield TurnHit(number, turn, session, Match.SOME, tuple(terms))

    def _newest(self) -> Iterator[TurnHit]:
        """Yields the turns that pass the filters, the newest first. Quoted text without words is compared with all."""
        sql = f"""
            SELECT turn.number, turn.id, session.id FROM turn JOIN session ON session.number = turn.session
            WHERE turn.number IN (SELECT number FROM turn WHERE {self._where})
            ORDER BY turn.time DESC, turn.place DESC, turn.id
        """
        rows: Any = self._connection.execute(sql, self._values).fetchall()
        compared = [TermPattern(term, Match.ANY_CASE) for term in self._wordless]
        self._listed = Counter(session for _, _, session in rows) if not compared and not self._unwanted else None
        for number, turn, session in rows:
            if self._holds(number, turn, compared):
                yield TurnHit(number, turn, session, Match.WHOLE, tuple(self._wordless))

    # Order

    def _ranked(self, condition: _Condition) -> Iterator[tuple[int, str, str]]:
        """Yields turns by BM25, those with equal scores the newest first, then by id."""
        selected, values = self._selected(condition)
        sql = f"SELECT rowid, bm25(words) AS score {selected} ORDER BY score LIMIT ?"
        done = 0
        for most in (_FIRST, -1):
            scored = self._scored(sql, (*values, most))
            best = scored[0][1] if scored else 0.0
            end = len(scored)
            if end == most:  # turns with equal scores are put in order together: the last ones may go on
                last = _share(scored[-1][1], best)
                end = next(at for at, each in enumerate(scored) if _share(each[1], best) == last)
            yield from self._in_order(scored[done:end], best)
            done = end
            if len(scored) != most:
                return

    def _selected(self, condition: _Condition, joined: str = "") -> tuple[str, tuple[Any, ...]]:
        """Returns the part of a query that selects the turns, and its values; `joined` is a table of turns.

        The filters look at the turns that have the words: a list of all that pass would take longer to make.
        """
        passing = f"AND EXISTS (SELECT 1 FROM turn WHERE number = words.rowid AND {self._where})"
        all_pass = self._where == "1"
        values = (condition.match, *condition.values, *self._values)
        return f"FROM words {joined} WHERE words MATCH ? {condition.sql} {'' if all_pass else passing}", values

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
            (canonical(list(shares)).decode(),),
        ).fetchall()
        for number, turn, session, _ in sorted(rows, key=lambda row: (-shares[row[0]], -row[3], row[1])):
            yield number, turn, session

    # Numbers

    def _numbers(self, condition: _Condition) -> Counter[str]:
        """Returns how many turns match in each session."""
        if self._counted is None:
            selected, values = self._selected(condition, "CROSS JOIN turn AS counted ON counted.number = words.rowid")
            rows: Any = self._connection.execute(
                "SELECT id, found FROM session JOIN ("
                f"SELECT counted.session AS number, count(*) AS found {selected} GROUP BY counted.session"
                ") USING (number)",
                values,
            )
            self._counted = Counter(dict(rows))
        return self._counted

    def _most_sessions(self) -> int:
        """Returns how many sessions have turns that match, at most."""
        if self._first is not None and self._first_is_all:
            return len(self._numbers(self._first))
        return len(self._listed or ()) or int(self._connection.execute("SELECT count(*) FROM session").get)

    # Comparison

    def _holds(self, number: int, turn: str, compared: Sequence[TermPattern | NamePattern] = ()) -> bool:
        """Returns whether the text of a turn has all of these, and nothing that is unwanted."""
        unwanted = self._unwanted if self._unwanted and self._is_suspect(number) else ()
        if not compared and not unwanted:
            return True
        text = self._text_of(turn)
        return (
            text is not None
            and all(each.may_be_in(text) for each in compared)  # of a page of names, a text often lacks one only
            and all(each.is_in(text) for each in compared)
            and not any(each.is_in(text) for each in unwanted)
        )

    def _is_suspect(self, number: int) -> bool:
        terms = [each.term for each in self._unwanted]
        if not all(any(map(str.isalnum, term.text)) for term in terms):
            return True  # the index knows words only
        if self._suspects is None:
            self._suspects = self._turns_with(terms, inside=True)
        return number in self._suspects

    def _turns_with(self, terms: Sequence[Term], *, inside: bool = False) -> set[int]:
        """Returns the turns that may have at least one of these terms."""
        sql = "SELECT rowid FROM words WHERE words MATCH ?"
        match = expression(terms, either=True, inside=inside, by_parts=inside)
        return {number for (number,) in self._connection.execute(sql, (match,))}


def _share(score: float, best: float) -> float:
    """Returns a score relative to the best, rounded to millionths (ruling 43)."""
    return round(score / best, 6) if best else 0.0
