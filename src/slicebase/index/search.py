"""Search in slice files: which files match, in which order, and which passages are shown.

Quoted text and identifiers are compared with the text itself: files that have an identifier whole come first. If no
file has it, its parts are searched. When a search finds nothing, it returns hints.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, overload

import apsw

from slicebase.context.identifiers import as_written, in_any_case, named_in
from slicebase.context.query import Term, expressed, expression, pattern
from slicebase.context.snippets import Marker, Snippet, TermMark, snippet
from slicebase.context.words import Word, simplified
from slicebase.core.refs import Ref
from slicebase.errors import SlicebaseError, refuse_out_of_range
from slicebase.index.asked import Search
from slicebase.index.entries import COLUMNS, EVERY_FILE, FileEntry, conditions, list_files
from slicebase.index.nearby import exchanged
from slicebase.index.schema import PASSAGE_BREAK, Tokenizer


class FoundPassage(NamedTuple):
    """A passage or the summary of a file that contains terms of the search."""

    ref: str
    line: int | None
    snippet: Snippet


class Hit(NamedTuple):
    """A file that matches, with the passages that are shown."""

    entry: FileEntry
    score: float  # relative to the best hit, whose score is 1
    title: Snippet
    found: tuple[FoundPassage, ...]
    more: int  # passages that match as well and are not shown

    @property
    def ref(self) -> str:
        """The reference of the file."""
        return self.entry.ref

    @property
    def text(self) -> str:
        """The first passage that matches; the summary of the file if only its title does."""
        return self.found[0].snippet.text if self.found else self.entry.summary

    def __repr__(self) -> str:
        return f"Hit(ref={self.ref!r}, title={self.title.text[:60]!r}, score={self.score:.2f})"


class Results:
    """The hits of a search, best first, and the number of all files that match. Iterating it yields the hits."""

    def __init__(self, hits: tuple[Hit, ...], total: int, hints: tuple[str, ...]) -> None:
        self.hits = hits
        self.total = total
        self.hints = hints  # what to try when nothing was found, and how identifiers were searched

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, place: int) -> Hit: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, place: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Results) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Results(hits={len(self.hits)}, total={self.total})"


MOST_TYPED: Final = 10_000  # characters


def search(connection: apsw.Connection, wanted: Search) -> Results:
    """Returns the best files for a search, or hints where nothing matches."""
    refuse_out_of_range("limit", wanted.limit, 1)
    if len(wanted.query.typed) > MOST_TYPED:  # a phrase of n words takes a time that grows with its square
        raise SlicebaseError(
            "too-large", f"the query has more than {MOST_TYPED} characters", hint="search for a part of it"
        )
    reader = Tokenizer(connection)
    terms = [known_term(connection, reader, term) for term in wanted.query.terms if reader.stems(term.text)]
    if not terms:
        return _newest(connection, reader, wanted)
    ranked, total = _ranked(connection, terms, wanted)
    if not ranked and any(term.whole for term in terms) and not wanted.either:
        terms = parts_of(reader, terms)
        ranked, total = _ranked(connection, terms, wanted)
    if not ranked:
        from slicebase.index.hints import hints  # imported here for a fast start

        return Results((), 0, tuple(hints(connection, reader, terms, wanted, count)))
    marker = Marker(terms, [reader.stems(term.text) for term in terms])
    shown = _HitBuilder(connection, reader, marker, wanted.former)
    return Results(tuple(shown.hit(*each) for each in ranked), total, ())


def _newest(connection: apsw.Connection, reader: Tokenizer, wanted: Search) -> Results:
    """Returns the files that pass the filters, the last changed first, for a query that has only filters."""
    if not wanted.query.filters:
        raise SlicebaseError("no-words", f"there is no word to search for in {wanted.query.typed!r}")
    found = list_files(connection, wanted.filters)
    shown = _HitBuilder(connection, reader, Marker((), ()), wanted.former)
    return Results(tuple(shown.hit(entry.number, 1.0) for entry in found[: wanted.limit]), len(found), ())


def known_term(connection: apsw.Connection, reader: Tokenizer, term: Term) -> Term:
    """Returns a term; if the index does not have its word, with the word in which two letters are exchanged."""
    stems = [] if term.quoted or term.whole or term.begins or term.unspaced else reader.stems(term.text)
    if len(stems) != 1 or connection.execute("SELECT EXISTS (SELECT 1 FROM vocabulary WHERE term = ?)", stems).get:
        return term
    near = exchanged(connection, Word(term.text.lower(), stems[0]))
    return term._replace(other=(*term.other, near.term)) if near else term


def parts_of(reader: Tokenizer, terms: Sequence[Term]) -> list[Term]:
    """Returns the terms with the parts of identifiers in their place."""
    parts: dict[Term, None] = {}
    for term in terms:
        words = [term.text[start:end] for start, end, _ in reader.tokens(term.text)] if term.whole else []
        parts.update(dict.fromkeys([Term(word, other=term.other) for word in words] or [term]))
    return list(parts)


def count(connection: apsw.Connection, terms: Sequence[Term], wanted: Search) -> int:
    """Returns how many files match a search."""
    if _is_exact(terms, wanted):
        return _ranked(connection, terms, wanted)[1]
    matching, values = _matching(terms, wanted)
    return int(connection.execute(f"SELECT count(*) {matching}", values).get)


# The files, and their order


class _Ranked(NamedTuple):
    number: int
    score: float


_WEIGHTS: Final = "10.0, 4.0, 1.0, 1.0"  # of title, summary, passages, former rows
_TIES: Final = 100  # scores that are read beyond the limit, to find ties with the last one


def _ranked(connection: apsw.Connection, terms: Sequence[Term], wanted: Search) -> tuple[list[_Ranked], int]:
    """Returns the best files, and the number of all files that match.

    The BM25 of FTS5 gives almost no weight to a word that most files have, so that in a small library all scores would
    be rounded to the same number. So scores are divided by the best score, then rounded to millionths, and files with
    equal scores are in the order of their ids (ruling 43).
    """
    matching, values = _matching(terms, wanted)
    ranked = f"SELECT rowid, bm25(words, {_WEIGHTS}) AS score {matching} ORDER BY score LIMIT ?"
    if _is_exact(terms, wanted):
        return _exact(connection, terms, wanted, connection.execute(ranked, (*values, -1)).fetchall())
    found: Any = connection.execute(ranked, (*values, wanted.limit + _TIES)).fetchall()
    if not found:
        return [], 0
    best, last = found[0][1], found[: wanted.limit][-1][1]
    edge = last - best * 1e-6  # scores are negative; no score beyond this one is rounded to the last that is shown
    if len(found) == wanted.limit + _TIES and found[-1][1] < edge:
        found = connection.execute(ranked, (*values, -1)).fetchall()
    shares: dict[int, float] = {number: round(score / best, 6) for number, score in found if score < edge}
    total = int(connection.execute(f"SELECT count(*) {matching}", values).get)
    return _in_order(connection, shares, {}, wanted.limit), total


def _in_order(connection: apsw.Connection, shares: dict[int, float], ways: dict[int, int], limit: int) -> list[_Ranked]:
    query = f"SELECT number, id, name FROM files WHERE number IN ({', '.join(map(str, shares))})"
    names: dict[Any, Any] = {number: name for number, *name in connection.execute(query)}
    ordered = sorted(shares, key=lambda number: (ways.get(number, 0), -shares[number], names[number]))
    return [_Ranked(number, shares[number]) for number in ordered[:limit]]


def _is_exact(terms: Sequence[Term], wanted: Search) -> bool:
    """Returns whether texts have to be compared with the query themselves."""
    return any(term.quoted or term.whole for term in (*terms, *wanted.query.excluded))


def _exact(connection: apsw.Connection, terms: Sequence[Term], wanted: Search, found: Any) -> tuple[list[_Ranked], int]:
    """Returns the best of these files that have the quoted texts and the identifiers, and how many there are."""
    ways: dict[int, int] = {}
    for number, _ in found:
        text = _text(connection, number, wanted.former)
        way = _way(text, terms, either=wanted.either)
        if way is not None and all(_way(text, [term]) is None for term in wanted.query.excluded if term.quoted):
            ways[number] = way
    best = found[0][1] if found else 0.0
    shares = {number: round(score / best, 6) for number, score in found if number in ways}
    return _in_order(connection, shares, ways, wanted.limit), len(ways)


_TEXTS: Final = """
SELECT title, summary, passages, former FROM files JOIN bodies ON bodies.file = files.number WHERE files.number = ?
"""


def _text(connection: apsw.Connection, number: int, former: bool) -> str:
    texts: Any = connection.execute(_TEXTS, (number,)).fetchone()
    return simplified("\n".join(texts if former else texts[:3]).replace(PASSAGE_BREAK, "\n"))


def _way(text: str, terms: Sequence[Term], *, either: bool = False) -> int | None:
    """Returns how a text has quoted texts and identifiers: 0 whole, 1 inside longer ones, 2 and 3 in any case, or None.

    With `either`, one term is enough; the index has compared the other words.
    """
    exact = [term for term in terms if term.quoted or term.whole]
    names = named_in(text).whole if any(term.whole for term in exact) else set()
    ways = [_way_of(text, term, names) for term in exact]
    known = [way for way in ways if way is not None]
    if either:
        return min(known) if known else None if len(exact) == len(terms) else 3
    return max(known, default=0) if len(known) == len(ways) else None


def _way_of(text: str, term: Term, names: set[str]) -> int | None:
    if not term.whole:
        return 0 if pattern(term).search(text) else None
    if as_written(term.text) in names:
        return 0
    if pattern(term, exact=True).search(text):
        return 1
    if not names.isdisjoint(in_any_case(term.text)):
        return 2
    return 3 if pattern(term).search(text) else None


def _matching(terms: Sequence[Term], wanted: Search) -> tuple[str, list[Any]]:
    """Returns the part of a query that selects the files, and its values."""
    columns = "title summary passages former" if wanted.former else "title summary passages"
    sought = f"({expression(terms, either=wanted.either)})"
    for term in wanted.query.excluded:
        sought = sought if term.quoted else f"({sought} NOT {expressed(term)})"
    match = f"{{{columns}}} : {sought}"
    where, values = conditions(wanted.filters)
    # The query excludes files: most searches have no filters, and then few files are excluded.
    left_out = "archived" if wanted.filters == EVERY_FILE else f"NOT ({where})"
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


class _HitBuilder:
    """Builds the hits that are shown, with marks on the terms."""

    def __init__(self, connection: apsw.Connection, reader: Tokenizer, marker: Marker, former: bool) -> None:
        self._connection = connection
        self._reader = reader
        self._marker = marker
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
        return self._marker.marks(text, self._reader.tokens(text))

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
