"""Search in slice files: which files match, in which order, and which passages are shown.

When a search finds nothing, it returns hints: another search that would match, or a similar word that is in the index.
"""

import json
from collections.abc import Iterator, Sequence
from string import ascii_lowercase, digits
from typing import Any, Final, NamedTuple, overload

import apsw

from slicebase.context.snippets import Marker, Snippet, Term, TermMark, expression, read_query, snippet
from slicebase.core.refs import Ref
from slicebase.errors import SlicebaseError, refuse_out_of_range
from slicebase.index.entries import COLUMNS, EVERY_FILE, FileEntry, Filters, conditions
from slicebase.index.schema import PASSAGE_BREAK, Tokenizer


class Search(NamedTuple):
    """A search: the words and the filters."""

    typed: str
    filters: Filters = EVERY_FILE
    former: bool = False  # also search in rows that are not active
    either: bool = False  # match any of the terms, not all
    limit: int = 10


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
        self.hints = hints  # what to try when nothing was found

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
    if len(wanted.typed) > MOST_TYPED:  # a phrase of n words takes a time that grows with its square
        raise SlicebaseError(
            "too-large", f"the query has more than {MOST_TYPED} characters", hint="search for a part of it"
        )
    reader = Tokenizer(connection)
    stems = {term: reader.stems(term.text) for term in read_query(wanted.typed)}
    terms = [term for term, words in stems.items() if words]
    if not terms:
        raise SlicebaseError("no-words", f"there is no word to search for in {wanted.typed!r}")
    ranked = _ranked(connection, terms, wanted)
    if not ranked:
        return Results((), 0, tuple(hints(connection, reader, terms, wanted)))
    marker = Marker(terms, [stems[term] for term in terms])
    shown = _HitBuilder(connection, reader, marker, wanted.former)
    return Results(tuple(shown.hit(*each) for each in ranked), count(connection, terms, wanted), ())


def count(connection: apsw.Connection, terms: Sequence[Term], wanted: Search) -> int:
    """Returns how many files match a search."""
    matching, values = _matching(terms, wanted)
    return int(connection.execute(f"SELECT count(*) {matching}", values).get)


# The files, and their order


class _Ranked(NamedTuple):
    number: int
    score: float


_WEIGHTS: Final = "10.0, 4.0, 1.0, 1.0"  # of title, summary, passages, former rows
_TIES: Final = 100  # scores that are read beyond the limit, to find ties with the last one


def _ranked(connection: apsw.Connection, terms: Sequence[Term], wanted: Search) -> list[_Ranked]:
    """Returns the best files.

    The BM25 of FTS5 gives almost no weight to a word that most files have, so that in a small library all scores would
    be rounded to the same number. So scores are divided by the best score, then rounded to millionths, and files with
    equal scores are in the order of their ids (ruling 43).
    """
    matching, values = _matching(terms, wanted)
    ranked = f"SELECT rowid, bm25(words, {_WEIGHTS}) AS score {matching} ORDER BY score LIMIT ?"
    found: Any = connection.execute(ranked, (*values, wanted.limit + _TIES)).fetchall()
    if not found:
        return []
    best, last = found[0][1], found[: wanted.limit][-1][1]
    edge = last - best * 1e-6  # scores are negative; no score beyond this one is rounded to the last that is shown
    if len(found) == wanted.limit + _TIES and found[-1][1] < edge:
        found = connection.execute(ranked, (*values, -1)).fetchall()
    shares: dict[int, float] = {number: round(score / best, 6) for number, score in found if score < edge}
    query = f"SELECT number, id, name FROM files WHERE number IN ({', '.join(map(str, shares))})"
    names: dict[Any, Any] = {number: name for number, *name in connection.execute(query)}
    ordered = sorted(shares, key=lambda number: (-shares[number], names[number]))
    return [_Ranked(number, shares[number]) for number in ordered[: wanted.limit]]


def _matching(terms: Sequence[Term], wanted: Search) -> tuple[str, list[Any]]:
    """Returns the part of a query that selects the files, and its values."""
    columns = "title summary passages former" if wanted.former else "title summary passages"
    match = f"{{{columns}}} : ({expression(terms, either=wanted.either)})"
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


# Hints when nothing is found

_MOST_WORDS: Final = 3
_LONGEST_MISTYPED: Final = 64  # characters: the number of typing errors grows with the square of the length
_LETTERS: Final = ascii_lowercase + digits

_ONE_OF: Final = "SELECT term, doc FROM json_each(?) CROSS JOIN vocabulary ON term = value"
_BEGINNING: Final = "SELECT term, doc FROM vocabulary WHERE term >= ? AND term < ? LIMIT 100"
_TEXTS_WITH: Final = """
SELECT title, summary, passages, former FROM files JOIN bodies ON bodies.file = files.number WHERE files.number = (
  SELECT number FROM occurrence JOIN files ON files.number = occurrence.doc WHERE term = ? ORDER BY id, name LIMIT 1
)
"""


def hints(connection: apsw.Connection, reader: Tokenizer, terms: Sequence[Term], wanted: Search) -> list[str]:
    """Returns what to try after a search that found nothing."""
    found = [*_other_words(connection, reader, terms), *_other_searches(connection, terms, wanted)]
    return found or ["there is no similar word here: `tt list` shows the files"]


def _other_words(connection: apsw.Connection, reader: Tokenizer, terms: Sequence[Term]) -> Iterator[str]:
    for term in terms:
        similar = [] if term.begins or term.unspaced else _similar(connection, reader, term)
        if similar:
            yield f"for {term.text} there is {' or '.join(similar)}"


def _other_searches(connection: apsw.Connection, terms: Sequence[Term], wanted: Search) -> Iterator[str]:
    for other, words in _wider_searches(wanted, len(terms)):
        found = count(connection, terms, other)
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
    if terms > 1 and not wanted.either:
        yield wanted._replace(either=True), "would match some of the words: --any"


def _similar(connection: apsw.Connection, reader: Tokenizer, term: Term) -> list[str]:
    """Returns words of the index for a term that is not in it: one typing error away, or longer words that begin so."""
    stems = reader.stems(term.text)
    known = "SELECT EXISTS (SELECT 1 FROM vocabulary WHERE term = ?)"
    if len(stems) != 1 or len(stems[0]) > _LONGEST_MISTYPED or connection.execute(known, stems).get:
        return []
    found = dict(connection.execute(_ONE_OF, (json.dumps(_typing_errors(stems[0])),)))
    found |= dict(connection.execute(_BEGINNING, (stems[0], stems[0] + "\U0010ffff")))
    best = sorted(found, key=lambda stem: (-found[stem], stem))[:_MOST_WORDS]
    return list(dict.fromkeys(_word(connection, reader, stem) for stem in best))


def _typing_errors(word: str) -> list[str]:
    """Returns every word that is one typing error away: a letter too many, too few, wrong, or two exchanged."""
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    fewer = (before + after[1:] for before, after in cuts)
    exchanged = (before + after[1] + after[0] + after[2:] for before, after in cuts if len(after) > 1)
    wrong = (before + letter + after[1:] for before, after in cuts if after for letter in _LETTERS)
    more = (before + letter + after for before, after in cuts for letter in _LETTERS)
    return sorted({*fewer, *exchanged, *wrong, *more} - {word, ""})


def _word(connection: apsw.Connection, reader: Tokenizer, stem: str) -> str:
    """Returns a word with this stem as a file writes it."""
    for texts in connection.execute(_TEXTS_WITH, (stem,)):
        for text in texts:
            for start, end, found in reader.tokens(text):
                if found == stem:
                    return str(text[start:end]).lower()
    return stem
