"""Reads from the turn index the figures that the ranker uses, in a few queries and with bounded work.

The words and dates of the question are looked up from the rarest to the most common, up to a limit. From the turns that
have most of them, the links are followed to the turns within reach. A word that is too common to be looked up is only
looked up among these turns.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import apsw

from slicebase.context.identifiers import has_humps, in_any_case, parts_of_name
from slicebase.context.question import Question
from slicebase.context.ranking import SPREAD_STEPS, SUMMARY, UNSPOKEN, Figures, Matches, TurnFigures, rarity
from slicebase.context.words import ASKING
from slicebase.core.times import LAST_UNDATED, to_text
from slicebase.graph.contents import kind_bits
from slicebase.index.likeness import most_alike, read_meant
from slicebase.index.narrow import EVERY_TURN, TurnFilters, conditions, up_to
from slicebase.index.nearby import nearest, turns_with
from slicebase.index.people import also_named
from slicebase.index.schema import Tokenizer

if TYPE_CHECKING:
    from slicebase.index.word_vectors import WordVectors

_MOST_WORDS = 24
_MOST_LOOKED_UP = 10_000  # turns, for words and dates together
_MOST_FOLLOWED = 500  # turns from which links are followed
_MOST_REACHED = 20_000
_MOST_COMMON = 100_000  # turns: a word that more turns have is ignored
_SPOKEN, _SUMMED = kind_bits(("prompt", "answer")), kind_bits(("summary",))
_MOST_YEARS = 50  # in which a date without a year is looked up

_HAVING_WORD = "SELECT doc FROM occurrence WHERE term = ?"
_HAVING_NAME = "SELECT doc FROM naming WHERE term = ?"
_IN_SPANS = f"""
SELECT turn.number FROM json_each(?) AS span CROSS JOIN turn
  ON turn.time >= span.value ->> 0 AND turn.time < span.value ->> 1 AND turn.time NOT BETWEEN 0 AND {LAST_UNDATED}
"""


class _KnownTerm(NamedTuple):
    """A word or an identifier of the question as it is in the index. Rarer ones sort first."""

    turns: int
    term: str
    stem: str
    having: str = _HAVING_WORD
    is_form: bool = True  # of a word, of which all forms count as one


class _Source(NamedTuple):
    """A query for the numbers of turns, and how many turns it returns. Smaller sources sort first."""

    turns: int
    query: str
    value: str


def read_figures(
    connection: apsw.Connection,
    question: Question,
    wanted: TurnFilters = EVERY_TURN,
    vectors: "WordVectors | None" = None,
) -> Figures:
    """Returns the figures of the index for a question. Only turns that pass the filters are ranked."""
    absent = _absent(connection, wanted.as_of)
    turns, size = connection.execute("SELECT turns, size FROM state").get
    indexed, size = turns - len(absent), size - sum(absent.values())
    if not indexed:
        return Figures(indexed=0, mean_size=1, years=(1970, 1970), matches=(), turns={}, links=())
    years = _years(connection, wanted.as_of)
    words = sorted(_known_words(connection, question, absent))[:_MOST_WORDS]
    sources = [_Source(word.turns, word.having, word.term) for word in words]
    if spans := [span for when in question.dates for span in when.spans(*years)]:
        sources.append(_dated(connection, json.dumps(spans), wanted.as_of))
    scope = None if wanted.scope == wanted.existing else _passing(connection, wanted.scope)
    allowed = scope if wanted == wanted.scope else _passing(connection, wanted)
    found = _within(_look_up(connection, sources), scope, absent)
    if sources and not found:  # even the rarest word is too common
        starts = _newest(connection, *min(sources)[1:], _MOST_FOLLOWED, wanted.as_of, allowed)
    else:
        starts = _starts(connection, found, indexed)
        if wanted.filters:  # the best turns may all be left out by the filters
            starts |= _starts(connection, _within(found, allowed, absent), indexed)
    meant = read_meant(connection, question.text, vectors, absent) if vectors else {}
    starts |= most_alike({number: worth for number, worth in meant.items() if scope is None or number in scope})
    reached, links = _reach(connection, starts, absent)
    turns = _turns(connection, reached, links, absent)
    labels = {turn.label for turn in turns.values()} - {""}
    return Figures(
        indexed=indexed,
        mean_size=max(1, size) / indexed,
        years=years,
        matches=tuple(_as_words(_matches(connection, words, found, reached), indexed)),
        turns=turns,
        links=links,
        allowed=allowed,
        people=also_named(connection, question, labels, absent),
        meant={number: worth for number, worth in meant.items() if number in reached},
    )


def _absent(connection: apsw.Connection, as_of: int | None) -> dict[int, int]:
    """Returns the turns that do not exist as of a time, and their sizes. Mostly they are fewer than the others."""
    if as_of is None:
        return {}
    undated = f"BETWEEN 0 AND {LAST_UNDATED}"
    later = f"SELECT number, size FROM turn WHERE time > {as_of:d} AND time NOT {undated}"
    return dict(connection.execute(f"{later} UNION ALL SELECT number, size FROM turn WHERE time {undated}"))


def _passing(connection: apsw.Connection, wanted: TurnFilters) -> frozenset[int] | None:
    """Returns the turns that pass the filters; None if there are no filters."""
    if not wanted:
        return None
    where, values = conditions(wanted)
    return frozenset(number for (number,) in connection.execute(f"SELECT number FROM turn WHERE {where}", values))


def _within(found: "_Found", scope: frozenset[int] | None, absent: Mapping[int, int]) -> "_Found":
    if scope is None and not absent:
        return found
    return {key: Counter(_kept(each, scope, absent)) for key, each in found.items()}


def _kept(counts: Counter[int], scope: frozenset[int] | None, absent: Mapping[int, int]) -> dict[int, int]:
    if scope is None:
        return {turn: count for turn, count in counts.items() if turn not in absent}
    return {turn: count for turn, count in counts.items() if turn in scope}


def _years(connection: apsw.Connection, as_of: int | None) -> tuple[int, int]:
    """Returns the first and the last year of the turns that have a date, at most `_MOST_YEARS` years."""
    dated = f"FROM turn WHERE time NOT BETWEEN 0 AND {LAST_UNDATED} AND {up_to(as_of)}"
    first, last = connection.execute(f"SELECT (SELECT min(time) {dated}), (SELECT max(time) {dated})").get
    if first is None:
        return 1970, 1970
    first_year, last_year = int(to_text(first)[:4]), int(to_text(last)[:4])
    return max(first_year, last_year - _MOST_YEARS + 1), last_year


def _known_words(connection: apsw.Connection, question: Question, absent: Mapping[int, int]) -> Iterator[_KnownTerm]:
    """Yields each word and identifier of the question as the index knows it, without those that it does not know."""
    seen, reader = set[str](), Tokenizer(connection)
    parts = {run.lower(): parts_of_name(run) for run in re.findall(r"[^\W_]+", question.text) if has_humps(run)}
    for word in question.words:
        turns = turns_with(connection, word.stem, absent)
        if turns:
            yield from _once(seen, _KnownTerm(turns, word.stem, word.stem))
        elif near := nearest(connection, reader, word, absent):
            yield from _once(seen, _KnownTerm(near.turns, near.term, word.stem))
        else:  # of a name that is written otherwise everywhere, its parts are words: snakeCase, snake_case
            for part in _known_parts(connection, reader.stems(" ".join(parts.get(word.text, ()))), absent):
                yield from _once(seen, part)
        for form in (*word.also, *word.inflected):
            if turns := turns_with(connection, form, absent):
                yield from _once(seen, _KnownTerm(turns, form, word.stem, is_form=form not in word.also))
    for name in (form for each in question.names for form in in_any_case(each)):
        if turns := turns_with(connection, name, absent, names=True):
            yield _KnownTerm(turns, name, name, _HAVING_NAME, is_form=False)


def _known_parts(connection: apsw.Connection, stems: list[str], absent: Mapping[int, int]) -> Iterator[_KnownTerm]:
    """Yields the parts of a name that the index knows, but for words that only ask."""
    for part in stems:
        if part not in ASKING and (turns := turns_with(connection, part, absent)):
            yield _KnownTerm(turns, part, part)


def _once(seen: set[str], known: _KnownTerm) -> Iterator[_KnownTerm]:
    if known.term not in seen:
        seen.add(known.term)
        yield known


def _dated(connection: apsw.Connection, spans: str, as_of: int | None) -> _Source:
    sql = f"SELECT count(*) FROM turn WHERE number IN ({_IN_SPANS}) AND {up_to(as_of)}"
    count = connection.execute(sql, (spans,)).get
    return _Source(count, _IN_SPANS, spans)


_Found = dict[tuple[str, str], Counter[int]]  # by the query and its value


def _look_up(connection: apsw.Connection, sources: list[_Source]) -> _Found:
    """Returns for each source how often each turn is in it, from the rarest source up to the limit of turns."""
    found: _Found = {}
    left = _MOST_LOOKED_UP
    for source in sorted(sources):
        left -= source.turns
        if left < 0:
            break
        found[source.query, source.value] = _counted_numbers(connection.execute(source.query, (source.value,)))
    return found


def _counted_numbers(rows: Iterable[Any]) -> Counter[int]:
    return Counter(chain.from_iterable(rows))  # a loop over so many rows would take twice as long


def _starts(connection: apsw.Connection, found: _Found, indexed: int) -> set[int]:
    """Returns the turns that have most of the words and dates, weighted by rarity; among equals, the newest."""
    worth: dict[int, int] = {}
    for counts in found.values():
        rare = rarity(len(counts), indexed)
        for number in counts:
            worth[number] = worth.get(number, 0) + rare
    if len(worth) <= _MOST_FOLLOWED:
        return set(worth)
    least = sorted(worth.values())[-_MOST_FOLLOWED]
    starts = {number for number, value in worth.items() if value > least}
    equals = json.dumps([number for number, value in worth.items() if value == least])
    return starts | _newest(connection, "SELECT value FROM json_each(?)", equals, _MOST_FOLLOWED - len(starts))


def _newest(
    connection: apsw.Connection,
    query: str,
    value: str,
    most: int,
    as_of: int | None = None,
    allowed: frozenset[int] | None = None,
) -> set[int]:
    chosen = "" if allowed is None else "AND number IN (SELECT value FROM json_each(?))"
    values = [value] if allowed is None else [value, json.dumps(list(allowed))]
    where = f"number IN ({query}) {chosen} AND {up_to(as_of)}"
    sql = f"SELECT number FROM turn WHERE {where} ORDER BY time DESC, place DESC, id LIMIT {most}"
    return {number for (number,) in connection.execute(sql, values)}


def _reach(
    connection: apsw.Connection, starts: set[int], absent: Mapping[int, int]
) -> tuple[set[int], set[tuple[int, int]]]:
    """Returns the turns within reach of these, up and down the replies, and the links between them.

    It stops before a layer with which there would be too many.
    """
    reached = set(starts)
    links: set[tuple[int, int]] = set()
    for here, there in (("child", 0), ("parent", 1)):
        layer, seen = starts, set(starts)
        for _ in range(SPREAD_STEPS):
            # CROSS JOIN: to look up each number is faster than to make a table of them
            rows: Any = connection.execute(
                f"SELECT link.parent, link.child FROM json_each(?) CROSS JOIN link ON link.{here} = value",
                (json.dumps(list(layer)),),
            )
            if absent:
                rows = (link for link in rows if link[0] not in absent and link[1] not in absent)
            found = list(islice(rows, _MOST_REACHED + 1))
            layer = {link[there] for link in found} - seen
            if len(found) > _MOST_REACHED or len(reached | layer) > _MOST_REACHED:
                break
            seen |= layer
            reached |= layer
            links.update(found)
    return reached, links


def _matches(
    connection: apsw.Connection, words: list[_KnownTerm], found: _Found, reached: set[int]
) -> Iterator[tuple[_KnownTerm, Mapping[int, int]]]:
    """Yields each term with how often turns within reach have it."""
    among = json.dumps(list(reached))
    for word in words:
        turns, term, _, having, _ = word
        if (having, term) in found:
            known = found[having, term]
            counts = {number: known[number] for number in known.keys() & reached}
        elif turns <= _MOST_COMMON:
            inside = f"{having} AND doc IN (SELECT value FROM json_each(?))"
            counts = _counted_numbers(connection.execute(inside, (term, among)))
        else:
            continue
        yield word, counts


def _as_words(found: Iterable[tuple[_KnownTerm, Mapping[int, int]]], indexed: int) -> Iterator[Matches]:
    """Yields the matches of each word together with those of its forms."""
    words: dict[object, list[tuple[_KnownTerm, Mapping[int, int]]]] = {}
    for known, counts in found:
        words.setdefault(known.stem if known.is_form else known, []).append((known, counts))
    for forms in words.values():
        first, counts = forms[0]
        if len(forms) > 1:
            counts = sum((Counter(each) for _, each in forms), Counter[int]())
        turns = min(indexed, sum(known.turns for known, _ in forms))
        yield Matches(first.stem, tuple(known.term for known, _ in forms), turns, counts)


def _turns(
    connection: apsw.Connection, reached: set[int], links: Iterable[tuple[int, int]], absent: Mapping[int, int]
) -> dict[int, TurnFigures]:
    opening = reached.difference(child for _, child in links)
    above: Any = connection.execute(
        "SELECT link.child, link.parent FROM json_each(?) CROSS JOIN link ON link.child = value",
        (json.dumps(list(opening)),),
    )
    opening.difference_update([child for child, parent in above if parent not in absent])
    rows: Any = connection.execute(_TURNS, (json.dumps(sorted(reached)),)).fetchall()
    turns = dict(zip(map(itemgetter(0), rows), map(_as_figures, rows), strict=True))
    for number in opening:  # a turn whose parents do not exist opens its conversation
        turns[number] = turns[number]._replace(opens=1)
    return turns


_as_figures: Callable[[Any], TurnFigures] = partial(tuple.__new__, TurnFigures)  # for thousands of rows, without checks
_TURNS = f"""
SELECT number, turn.id, session, time, size, label, 0, rules,
CASE WHEN kinds & {_SUMMED} THEN '{SUMMARY}' WHEN role = '' OR kinds & {_SPOKEN} THEN role ELSE '{UNSPOKEN}' END, asks
FROM json_each(?) CROSS JOIN turn ON number = value
"""
