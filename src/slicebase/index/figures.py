"""Reads from the turn index the figures that the ranker uses, in a few queries and with bounded work.

The words and dates of the question are looked up from the rarest to the most common, up to a limit. From the turns that
have most of them, the links are followed to the turns within reach. A word that is too common to be looked up is only
looked up among these turns.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterator
from heapq import nlargest
from math import ceil
from typing import Any, NamedTuple

import apsw

from slicebase.context.question import Question
from slicebase.context.ranking import SPREAD_STEPS, Figures, Matches, TurnFigures, rarity
from slicebase.core.times import to_text

_MOST_WORDS = 24
_MOST_LOOKED_UP = 30_000  # turns, for words and dates together
_MOST_FOLLOWED = 500  # turns from which links are followed
_MOST_REACHED = 20_000
_MOST_COMMON = 100_000  # turns: a word that more turns have is ignored
_MOST_YEARS = 50  # in which a date without a year is looked up
# Two words count as one if they share their first letters, and these are most of the longer word.
_SHARED_LETTERS = 4
_SHARED_PART = 0.7
_MOST_SIMILAR = 500

_HAVING_WORD = "SELECT doc FROM occurrence WHERE term = ?"
_IN_SPANS = """
SELECT turn.number FROM json_each(?) AS span CROSS JOIN turn
  ON turn.time >= span.value ->> 0 AND turn.time < span.value ->> 1
"""


class _KnownTerm(NamedTuple):
    """A word of the question as it is in the index. Rarer words sort first."""

    turns: int
    term: str
    stem: str


class _Source(NamedTuple):
    """A query for the numbers of turns, and how many turns it returns. Smaller sources sort first."""

    turns: int
    query: str
    value: str


def read_figures(connection: apsw.Connection, question: Question) -> Figures:
    """Returns the figures of the index for a question."""
    indexed, size = connection.execute("SELECT turns, size FROM state").get
    if not indexed:
        return Figures(indexed=0, mean_size=1, years=(1970, 1970), matches=(), turns={}, links=())
    years = _years(connection)
    words = sorted(_known_words(connection, question))[:_MOST_WORDS]
    sources = [_Source(word.turns, _HAVING_WORD, word.term) for word in words]
    if spans := [span for when in question.dates for span in when.spans(*years)]:
        sources.append(_dated(connection, json.dumps(spans)))
    found = _look_up(connection, sources)
    if sources and not found:  # even the rarest word is too common
        starts = _newest(connection, *min(sources)[1:], _MOST_FOLLOWED)
    else:
        starts = _starts(connection, found, indexed)
    reached, links = _reach(connection, starts)
    return Figures(
        indexed=indexed,
        mean_size=max(1, size) / indexed,
        years=years,
        matches=tuple(_matches(connection, words, found, reached)),
        turns=_turns(connection, reached),
        links=links,
    )


def _years(connection: apsw.Connection) -> tuple[int, int]:
    """Returns the first and the last year of the turns, at most `_MOST_YEARS` years."""
    first, last = connection.execute("SELECT (SELECT min(time) FROM turn), (SELECT max(time) FROM turn)").get
    first_year, last_year = int(to_text(first)[:4]), int(to_text(last)[:4])
    return max(first_year, last_year - _MOST_YEARS + 1), last_year


def _known_words(connection: apsw.Connection, question: Question) -> Iterator[_KnownTerm]:
    """Yields each word of the question as the index knows it. Words that the index does not know are left out."""
    seen = set[str]()
    for word in question.words:
        turns = connection.execute("SELECT doc FROM vocabulary WHERE term = ?", (word.stem,)).get
        known = _KnownTerm(turns, word.stem, word.stem) if turns else _nearest(connection, word.stem)
        if known and known.term not in seen:
            seen.add(known.term)
            yield known


def _nearest(connection: apsw.Connection, stem: str) -> _KnownTerm | None:
    """Returns the most similar word of the index, with another ending or a typing error, or None."""
    prefix = stem[: max(_SHARED_LETTERS, ceil(_SHARED_PART * len(stem)))]
    if len(prefix) < _SHARED_LETTERS:
        return None
    similar = connection.execute(
        "SELECT term, doc FROM vocabulary WHERE term >= ? AND term < ? LIMIT ?",
        (prefix, prefix + "\U0010ffff", _MOST_SIMILAR),
    )
    near = [
        (-part, -turns, term)
        for term, turns in similar
        if (part := _shared(stem, term) / max(len(stem), len(term))) >= _SHARED_PART
    ]
    if not near:
        return None
    _, turns, term = min(near)
    return _KnownTerm(-turns, term, stem)


def _shared(one: str, other: str) -> int:
    return next(
        (at for at, (mine, theirs) in enumerate(zip(one, other, strict=False)) if mine != theirs),
        min(len(one), len(other)),
    )


def _dated(connection: apsw.Connection, spans: str) -> _Source:
    count = connection.execute(f"SELECT count(*) FROM turn WHERE number IN ({_IN_SPANS})", (spans,)).get
    return _Source(count, _IN_SPANS, spans)


def _look_up(connection: apsw.Connection, sources: list[_Source]) -> dict[str, Counter[int]]:
    """Returns for each source how often each turn is in it, from the rarest source up to the limit of turns."""
    found: dict[str, Counter[int]] = {}
    left = _MOST_LOOKED_UP
    for source in sorted(sources):
        left -= source.turns
        if left < 0:
            break
        found[source.value] = Counter(number for (number,) in connection.execute(source.query, (source.value,)))
    return found


def _starts(connection: apsw.Connection, found: dict[str, Counter[int]], indexed: int) -> set[int]:
    """Returns the turns that have most of the words and dates, weighted by rarity; among equals, the newest."""
    worth: Counter[int] = Counter()
    for counts in found.values():
        rare = rarity(len(counts), indexed)
        for number in counts:
            worth[number] += rare
    if len(worth) <= _MOST_FOLLOWED:
        return set(worth)
    least = nlargest(_MOST_FOLLOWED, worth.values())[-1]
    starts = {number for number, value in worth.items() if value > least}
    equals = json.dumps([number for number, value in worth.items() if value == least])
    return starts | _newest(connection, "SELECT value FROM json_each(?)", equals, _MOST_FOLLOWED - len(starts))


def _newest(connection: apsw.Connection, query: str, value: str, most: int) -> set[int]:
    sql = f"SELECT number FROM turn WHERE number IN ({query}) ORDER BY time DESC, id LIMIT {most}"
    return {number for (number,) in connection.execute(sql, (value,))}


def _reach(connection: apsw.Connection, starts: set[int]) -> tuple[set[int], set[tuple[int, int]]]:
    """Returns the turns within reach of these, up and down the replies, and the links between them.

    It stops before a layer with which there would be too many.
    """
    reached = set(starts)
    links: set[tuple[int, int]] = set()
    for here, there in (("child", 0), ("parent", 1)):
        layer, seen = starts, set(starts)
        for _ in range(SPREAD_STEPS):
            found: Any = connection.execute(
                f"SELECT parent, child FROM link WHERE {here} IN (SELECT value FROM json_each(?)) LIMIT ?",
                (json.dumps(list(layer)), _MOST_REACHED + 1),
            ).fetchall()
            layer = {link[there] for link in found} - seen
            if len(found) > _MOST_REACHED or len(reached | layer) > _MOST_REACHED:
                break
            seen |= layer
            reached |= layer
            links.update(found)
    return reached, links


def _matches(
    connection: apsw.Connection, words: list[_KnownTerm], found: dict[str, Counter[int]], reached: set[int]
) -> Iterator[Matches]:
    among = json.dumps(list(reached))
    for turns, term, stem in words:
        if term in found:
            counts = {number: count for number, count in found[term].items() if number in reached}
        elif turns <= _MOST_COMMON:
            inside = f"{_HAVING_WORD} AND doc IN (SELECT value FROM json_each(?))"
            counts = Counter(number for (number,) in connection.execute(inside, (term, among)))
        else:
            continue
        yield Matches(stem, term, turns, counts)


def _turns(connection: apsw.Connection, reached: Collection[int]) -> dict[int, TurnFigures]:
    rows: Any = connection.execute(
        "SELECT number, id, session, time, size, label, NOT EXISTS (SELECT 1 FROM link WHERE child = number)"
        " FROM turn WHERE number IN (SELECT value FROM json_each(?))",
        (json.dumps(list(reached)),),
    )
    return {row[0]: TurnFigures._make(row) for row in rows}
