"""Finds turns in the index, and reads what is shown of them from the database."""

import re
from collections.abc import Sequence
from itertools import islice
from typing import Final

from slicebase.context.query import Query, Term
from slicebase.context.snippets import Marker, Snippet, snippet
from slicebase.graph.contents import plain_text
from slicebase.graph.record import TurnRecord, read_parts
from slicebase.graph.turn import Part
from slicebase.index.narrow import TurnFilters
from slicebase.index.schema import Tokenizer
from slicebase.index.turn_search import TurnHit
from slicebase.index.upkeep import ask_turns
from slicebase.truth.failures import database_errors
from slicebase.truth.truth import Truth
from slicebase.verbs.found import FoundTurn
from slicebase.verbs.parts import Parts

_STRETCH: Final = 2_000  # characters of a text in which the words are looked for at once
_OVERLAP: Final = 200
_LETTERS: Final = re.compile(r"[a-z0-9]{1,3}")  # a stem has at least these of its word


class TurnReader:
    """Reads turns that were found, each once."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self._tokenizer = Tokenizer(truth.database.connection)
        self._read: dict[str, tuple[TurnRecord, tuple[Part, ...] | None]] = {}

    def text(self, turn: str) -> str | None:
        """Returns the text of a turn as it is searched; None if it was purged."""
        _, parts = self._get(turn)
        return None if parts is None else plain_text(parts)

    def found(self, hit: TurnHit) -> FoundTurn:
        """Returns a turn with the part of its text that has the words."""
        record, parts = self._get(hit.turn)
        text = plain_text(parts or ())
        marker = Marker(hit.terms, [self._tokenizer.stems(term.text) for term in hit.terms])
        return FoundTurn(record, parts or (), self._snippet(text, marker, hit.terms), hit.match)

    def _snippet(self, text: str, marker: Marker, terms: Sequence[Term]) -> Snippet:
        """Returns the part of a text to show: of a long text, of the first stretch that has the most terms.

        Reading words takes long, so a stretch without the first letters of the terms is left out, unless nothing is
        found then: an accent may be in the way.
        """
        for heads in ([_head(term) for term in terms], [""] * len(terms)):
            best, most = snippet(text[:_STRETCH], ()), 0
            for start in range(0, len(text), _STRETCH):
                stretch = text[max(0, start - _OVERLAP) : start + _STRETCH]
                low = stretch.lower()
                if sum(head in low for head in heads) > most:
                    marks = marker.marks(stretch, self._tokenizer.tokens(stretch))
                    found = len({mark.term for mark in marks})
                    best, most = (snippet(stretch, marks), found) if found > most else (best, most)
                if most == len(terms):
                    return best
            if most:
                break
        return best

    def _get(self, turn: str) -> tuple[TurnRecord, tuple[Part, ...] | None]:
        if turn not in self._read:
            with database_errors(self._truth.database.path):  # they are not errors of the index that is being asked
                record = self._truth.turns.get(turn).record
                stored = self._truth.texts.get(f"session:{record.session}", record.content_hash)
            parts = read_parts(stored.data) if stored and stored.data is not None else None
            self._read[turn] = record, parts
        return self._read[turn]


def _head(term: Term) -> str:
    """Returns letters that a text of ASCII must contain to have a term; none where other forms of it count."""
    letters = _LETTERS.search(term.text.lower())
    return letters[0] if letters and term.text.isascii() and not term.other else ""


def turn_hits(
    parts: Parts,
    query: Query,
    wanted: TurnFilters,
    reader: TurnReader,
    *,
    most: int,
    either: bool = False,
    sessions: int | None = None,
) -> list[TurnHit]:
    """Returns the best turns for a query, after an update of the index.

    If they are of so many `sessions`, turns that match less well are not searched.
    """
    index = parts.turn_index

    def found() -> list[TurnHit]:
        hits: list[TurnHit] = []

        def enough() -> bool:
            return sessions is not None and len({hit.session for hit in hits}) >= sessions

        hits.extend(islice(index.search(query, wanted, reader.text, either=either, enough=enough), most))
        return hits

    return ask_turns(index, parts.truth, found)
