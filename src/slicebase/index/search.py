"""Search in slice files: which files match, in which order, and which passages are shown.

Quoted text and identifiers are compared with the text itself: files that have an identifier whole come first.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final, NamedTuple

import apsw

from slicebase.context.identifiers import named_in
from slicebase.context.match import Match, TermPattern, expressed, expression, is_compared, match_of, unwanted
from slicebase.context.query import Term
from slicebase.context.snippets import Marker, Snippet, TermMark, snippet
from slicebase.context.stretches import first_marks, head_of
from slicebase.context.words import simplified
from slicebase.core.refs import Ref
from slicebase.errors import refuse_out_of_range
from slicebase.index.asked import Search
from slicebase.index.entries import COLUMNS, EVERY_FILE, FileEntry, conditions, list_files
from slicebase.index.nearby import has_words, known_terms
from slicebase.index.results import FoundPassage, Hit, Results
from slicebase.index.schema import PASSAGE_BREAK, Tokenizer


def search(connection: apsw.Connection, wanted: Search) -> Results:
    """Returns the best files for a search. Without words, these are those that pass the filters, the newest first."""
    refuse_out_of_range("limit", wanted.limit, 1)
    return _FileSearch(connection, wanted).results()


def ranked_ids(connection: apsw.Connection, wanted: Search) -> list[str]:
    """Returns the ids of the best files for a search with words, without what is found in them."""
    return _FileSearch(connection, wanted).ids()


def hints(connection: apsw.Connection, wanted: Search) -> list[str]:
    """Returns what to try after a search that found nothing."""
    from slicebase.index.hints import other_searches, similar_words  # imported here for a fast start

    def texts_with(stem: str) -> Iterator[str]:
        for texts in connection.execute(_TEXTS_WITH, (stem,)):
            yield from texts

    reader = Tokenizer(connection)
    terms = known_terms(connection, reader, wanted.query.terms)
    wider = other_searches(wanted, len(terms), lambda other: _FileSearch(connection, other).count())
    return [*similar_words(connection, reader, terms, texts_with), *wider]


class _Ranked(NamedTuple):
    number: int
    score: float
    match: Match = Match.WHOLE


_WEIGHTS: Final = "10.0, 4.0, 1.0, 1.0"  # of title, summary, passages, former rows
_TIES: Final = 100  # scores that are read beyond the limit, to find ties with the last one
_TEXTS: Final = """
SELECT title, summary, passages, former FROM files JOIN bodies ON bodies.file = files.number WHERE files.number =
"""
_TEXTS_WITH: Final = f"""{_TEXTS} (
  SELECT number FROM occurrence JOIN files ON files.number = occurrence.doc WHERE term = ? ORDER BY id, name LIMIT 1
)"""


class _FileSearch:
    """One search: which files match, and in which order."""

    def __init__(self, connection: apsw.Connection, wanted: Search) -> None:
        self._connection = connection
        self._wanted = wanted
        self._reader = Tokenizer(connection)
        self._terms = known_terms(connection, self._reader, wanted.query.terms, parts=wanted.attempt.parts)
        wordless = [term for term in wanted.query.terms if term.quoted and not has_words(self._reader, term)]
        self._compared = [term for term in (*self._terms, *wordless) if is_compared(term)]
        self._unwanted = unwanted(wanted.query)

    def results(self) -> Results:
        ranked, total = self._ranked() if self._terms else self._newest()
        terms = self._terms or self._compared
        heads = [head_of(term, self._reader.stems(term.text)) for term in terms]
        markers: dict[Match, Marker] = {}
        hits = []
        for number, score, match in ranked:
            marker = markers.setdefault(match, Marker(terms, self._wanted.attempt.match or match, self._reader.stems))
            builder = _HitBuilder(self._connection, self._reader, marker, heads, self._wanted.former)
            hits.append(builder.hit(number, score))
        return Results(tuple(hits), total, ())

    def ids(self) -> list[str]:
        names: dict[Any, Any] = dict(self._connection.execute("SELECT number, id FROM files"))
        return [names[each.number] for each in (self._ranked()[0] if self._terms else ())]

    def count(self) -> int:
        """Returns how many files match."""
        if not self._terms or self._compared or self._unwanted:
            return (self._ranked() if self._terms else self._newest())[1]
        matching, values = self._matching(self._terms)
        return int(self._connection.execute(f"SELECT count(*) {matching}", values).get)

    def _newest(self) -> tuple[list[_Ranked], int]:
        """Returns the files that pass the filters, the last changed first. Quoted text without words is compared."""
        found = [_Ranked(entry.number, 1.0) for entry in list_files(self._connection, self._wanted.filters)]
        if self._compared or self._unwanted:
            found = [each for each in found if self._match(each.number) is not None]
        return found[: self._wanted.limit], len(found)

    def _ranked(self) -> tuple[list[_Ranked], int]:
        """Returns the best files, and the number of all files that match.

        The BM25 of FTS5 gives almost no weight to a word that most files have, so that in a small library all scores
        would be rounded to the same number. So scores are divided by the best score, then rounded to millionths, and
        files with equal scores are in the order of their ids (ruling 43).
        """
        matching, values = self._matching(self._terms)
        ranked = f"SELECT rowid, bm25(words, {_WEIGHTS}) AS score {matching} ORDER BY score LIMIT ?"
        limit = self._wanted.limit
        if self._compared or self._unwanted:
            return self._exact(self._connection.execute(ranked, (*values, -1)).fetchall())
        found: Any = self._connection.execute(ranked, (*values, limit + _TIES)).fetchall()
        if not found:
            return [], 0
        best, last = found[0][1], found[:limit][-1][1]
        edge = last - best * 1e-6  # scores are negative; no score beyond this one is rounded to the last that is shown
        if len(found) == limit + _TIES and found[-1][1] < edge:
            found = self._connection.execute(ranked, (*values, -1)).fetchall()
        shares: dict[int, float] = {number: round(score / best, 6) for number, score in found if score < edge}
        total = int(self._connection.execute(f"SELECT count(*) {matching}", values).get)
        return self._in_order(shares, {}), total

    def _in_order(self, shares: dict[int, float], ways: dict[int, Match]) -> list[_Ranked]:
        query = f"SELECT number, id, name FROM files WHERE number IN ({', '.join(map(str, shares))})"
        names: dict[Any, Any] = {number: name for number, *name in self._connection.execute(query)}
        ordered = sorted(shares, key=lambda number: (ways.get(number, Match.WHOLE), -shares[number], names[number]))
        best = ordered[: self._wanted.limit]
        return [_Ranked(number, shares[number], ways.get(number, Match.WHOLE)) for number in best]

    def _exact(self, found: Any) -> tuple[list[_Ranked], int]:
        """Returns the best of these files that have what is compared with their texts, and how many there are."""
        plain = [term for term in self._terms if term not in self._compared]
        sure: Collection[int] = ()  # files that have one of the other words, if that is enough
        if self._wanted.attempt.some and plain:
            matching, values = self._matching(plain)
            sure = {number for (number,) in self._connection.execute(f"SELECT rowid {matching}", values)}
        ways = {number: self._match(number, is_sure=number in sure) for number, _ in found}
        held = {number: match for number, match in ways.items() if match is not None}
        best = found[0][1] if found else 0.0
        shares = {number: round(score / best, 6) for number, score in found if number in held}
        return self._in_order(shares, held), len(held)

    def _match(self, number: int, *, is_sure: bool = False) -> Match | None:
        """Returns how a file has quoted texts and identifiers; None if it has not, or if it has something unwanted.

        If some of the terms are enough, one is. `is_sure` says that the file has another one.
        """
        texts: Any = self._connection.execute(f"{_TEXTS} ?", (number,)).fetchone()
        text = simplified("\n".join(texts if self._wanted.former else texts[:3]).replace(PASSAGE_BREAK, "\n"))
        if any(each.is_in(text) for each in self._unwanted):
            return None
        if self._wanted.attempt.some:
            patterns = (TermPattern(term, Match.INSIDE_ANY_CASE) for term in self._compared)
            return Match.SOME if is_sure or not self._compared or any(each.is_in(text) for each in patterns) else None
        names = named_in(text).whole if any(term.whole for term in self._compared) else ()
        return match_of(text, self._compared, names)

    def _matching(self, terms: Sequence[Term]) -> tuple[str, list[Any]]:
        """Returns the part of a query that selects the files with these terms, and its values."""
        columns = "title summary passages former" if self._wanted.former else "title summary passages"
        some = self._wanted.attempt.some
        sought = f"({expression(terms, either=some, inside=True, by_parts=not some)})"
        for term in self._wanted.query.excluded:
            sought = sought if is_compared(term) else f"({sought} NOT {expressed(term)})"
        match = f"{{{columns}}} : {sought}"
        where, values = conditions(self._wanted.filters)
        # The query excludes files: most searches have no filters, and then few files are excluded.
        left_out = "archived" if self._wanted.filters == EVERY_FILE else f"NOT ({where})"
        sql = f"FROM words WHERE words MATCH ? AND rowid NOT IN (SELECT number FROM files WHERE {left_out})"
        return sql, [match, *values]


# The passages that are shown


class _Passage(NamedTuple):
    line: int
    row: str
    text: str
    marks: list[TermMark]

    @property
    def different(self) -> int:
        """How many different terms the passage has."""
        return len({mark.term for mark in self.marks})


_MOST_PASSAGES: Final = 3
_STRETCH: Final = 20_000  # characters of a passage in which the terms are looked for at once


class _HitBuilder:
    """Builds the hits that are shown, with marks on the terms."""

    def __init__(
        self, connection: apsw.Connection, reader: Tokenizer, marker: Marker, heads: Sequence[str], former: bool
    ) -> None:
        self._connection = connection
        self._reader = reader
        self._marker = marker
        self._heads = heads
        self._former = former

    def hit(self, number: int, score: float) -> Hit:
        query = f"SELECT {COLUMNS} FROM files WHERE number = ?"
        entry = FileEntry(*self._connection.execute(query, (number,)).get)
        passages = [passage for passage in self._passages(number) if passage.marks]
        most = max((passage.different for passage in passages), default=0)
        # In a log, later rows are newer.
        best = [passage for passage in reversed(passages) if passage.different == most]
        found = tuple(_found(entry, passage) for passage in best[:_MOST_PASSAGES])
        if not found:
            found = (FoundPassage(f"file:{entry.id}", None, self._snippet(entry.summary)),)
        return Hit(entry, score, self._snippet(entry.title), found, len(best[_MOST_PASSAGES:]))

    def _passages(self, number: int) -> Iterator[_Passage]:
        query = "SELECT passages, places, former, former_places FROM bodies WHERE file = ?"
        for texts, places, former, former_places in self._connection.execute(query, (number,)):
            yield from self._marked(texts, places)
            if self._former:
                yield from self._marked(former, former_places)

    def _marked(self, texts: str, places: str) -> Iterator[_Passage]:
        for text, place in zip(texts.split(PASSAGE_BREAK), places.split(PASSAGE_BREAK), strict=True):
            line, _, row = place.partition(" ")
            if line:
                yield _Passage(int(line), row, text, self._marks(text))

    def _marks(self, text: str) -> list[TermMark]:
        return first_marks(text, _STRETCH, self._heads, self._marker, self._reader.tokens)

    def _snippet(self, text: str) -> Snippet:
        return snippet(text, self._marks(text))


_LINES: Final = frozenset({"jsonl", "conversation", "routine"})  # one passage is one line of the file


def _found(entry: FileEntry, passage: _Passage) -> FoundPassage:
    shown = snippet(passage.text, passage.marks)
    if passage.row:
        return FoundPassage(str(Ref("row", f"{entry.id}/{passage.row}")), passage.line, shown)
    line = passage.line + (passage.text.count("\n", 0, shown.place) if entry.body_type not in _LINES else 0)
    return FoundPassage(_place_in(entry, passage.text, shown.place), line, shown)


def _place_in(entry: FileEntry, text: str, place: int) -> str:
    """Returns the reference of the section that contains a position, or of the file if it has no sections."""
    version = entry.note or (entry.body_hash if entry.body_type == "markdown" else None)
    if version is None:
        return f"file:{entry.id}"
    from slicebase.files.body.sections import section_ref, sections

    whole = text
    if entry.note:
        from slicebase.files.note import without_frontmatter

        whole = without_frontmatter(text)
    end = text.find("\n\n", place)  # the text after a paragraph does not change its section
    before = sections(whole if end < 0 else whole[:end])
    return str(section_ref(entry.id, version, next(each for each in before if place < each.end)))
