"""Search over slice files: which ones, in which order, and what of them is worth showing."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import apsw

from slicebase.context.marking import Mark, Marker, Snippet, snippet
from slicebase.context.query import Term, expression, read_query
from slicebase.core.refs import Ref
from slicebase.errors import SlicebaseError
from slicebase.store.file_entries import COLUMNS, FileEntry, Filters, conditions
from slicebase.store.file_index import PASSAGE_BREAK
from slicebase.store.words import Reader

_WEIGHTS: Final = "10.0, 4.0, 1.0, 1.0"  # of title, summary, passages, former rows
_MOST_PASSAGES: Final = 3


class Search(NamedTuple):
    """What is looked for, and where."""

    typed: str
    filters: Filters = Filters()
    former: bool = False  # in rows that no longer hold, too
    either: bool = False  # any of the terms, not all
    limit: int = 10


class Found(NamedTuple):
    """A passage of a file, or its summary, in which terms stand."""

    ref: str
    line: int | None
    snippet: Snippet


class Hit(NamedTuple):
    entry: FileEntry
    score: float  # that of the best is 1
    title: Snippet
    found: tuple[Found, ...]
    more: int  # passages that are as good, and not shown


class Results(NamedTuple):
    hits: tuple[Hit, ...]
    total: int
    hints: tuple[str, ...]  # what to try where nothing was found


def search(connection: apsw.Connection, wanted: Search) -> Results:
    reader = Reader(connection)
    stems = {term: reader.stems(term.text) for term in read_query(wanted.typed)}
    terms = [term for term, words in stems.items() if words]
    if not terms:
        raise SlicebaseError("no-words", f"there is no word to look for in {wanted.typed!r}")
    ranked = _ranked(connection, terms, wanted)
    if not ranked:
        from slicebase.store.file_hints import hints

        return Results((), 0, tuple(hints(connection, reader, terms, wanted)))
    marker = Marker(terms, [stems[term] for term in terms])
    shown = _Shown(connection, reader, marker, wanted.former)
    return Results(tuple(shown.hit(number, score) for number, score, _ in ranked), ranked[0].total, ())


def count(connection: apsw.Connection, terms: Sequence[Term], wanted: Search) -> int:
    """How many files a search would find."""
    found = _ranked(connection, terms, wanted._replace(limit=1))
    return found[0].total if found else 0


# ---- which, and in which order


class _Ranked(NamedTuple):
    number: int
    score: float
    total: int


# FTS5's BM25 gives a word that most files have next to no weight, so that in a small library all scores would round to
# the same. They are taken relative to the best, then rounded to millionths, and equal ones go by id (ruling 43).
_RANK: Final = f"""
WITH matching AS MATERIALIZED (
  SELECT files.number, files.id, files.name, bm25(words, {_WEIGHTS}) AS score
  FROM words JOIN files ON files.number = words.rowid WHERE words MATCH ? AND {{where}}
)
SELECT number, round(score / min(score) OVER (), 6) AS share, count(*) OVER ()
FROM matching ORDER BY share DESC, id, name LIMIT ?
"""


def _ranked(connection: apsw.Connection, terms: Sequence[Term], wanted: Search) -> list[_Ranked]:
    where, values = conditions(wanted.filters)
    columns = "title summary passages former" if wanted.former else "title summary passages"
    match = f"{{{columns}}} : ({expression(terms, either=wanted.either)})"
    rows = connection.execute(_RANK.format(where=where), (match, *values, wanted.limit))
    return [_Ranked(*row) for row in rows]


# ---- what of them


class _Passage(NamedTuple):
    line: int
    row: str
    text: str
    marks: list[Mark]

    @property
    def different(self) -> int:
        return len({mark.term for mark in self.marks})


class _Shown:
    """Hits as they are shown: with marks on what was asked for."""

    def __init__(self, connection: apsw.Connection, reader: Reader, marker: Marker, former: bool) -> None:
        self._connection = connection
        self._reader = reader
        self._marker = marker
        self._former = former

    def hit(self, number: int, score: float) -> Hit:
        query = f"SELECT {COLUMNS} FROM files WHERE number = ?"
        entry = FileEntry(*self._connection.execute(query, (number,)).get)
        passages = [passage for passage in self._passages(number) if passage.marks]
        most = max((passage.different for passage in passages), default=0)
        # The later rows of a log are the newer ones.
        best = [passage for passage in reversed(passages) if passage.different == most]
        found = tuple(_found(entry, passage) for passage in best[:_MOST_PASSAGES])
        if not found:
            found = (Found(f"file:{entry.id}", None, self._snippet(entry.summary)),)
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

    def _marks(self, text: str) -> list[Mark]:
        return self._marker.marks(text, self._reader.tokens(text))

    def _snippet(self, text: str) -> Snippet:
        return snippet(text, self._marks(text))


def _found(entry: FileEntry, passage: _Passage) -> Found:
    shown = snippet(passage.text, passage.marks)
    if passage.row:
        return Found(str(Ref("row", f"{entry.id}/{passage.row}")), passage.line, shown)
    line = passage.line + (passage.text.count("\n", 0, shown.place) if entry.body_type not in _LINES else 0)
    return Found(_place_in(entry, passage.text, shown.place), line, shown)


_LINES: Final = frozenset({"jsonl", "conversation", "routine"})  # one passage is one line of the file


def _place_in(entry: FileEntry, text: str, place: int) -> str:
    """The reference of the section in which something stands, where the body has sections."""
    if entry.body_type != "markdown" or entry.hash is None:
        return f"file:{entry.id}"
    from slicebase.files.sections import section_ref, sections

    return str(section_ref(entry.id, entry.hash, next(each for each in sections(text) if place < each.end)))
