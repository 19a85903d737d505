"""Finds turns in the index, and reads what is shown of them from the database."""

from typing import Final

from slicebase.context.match import ALL_WORDS, Attempt, Match
from slicebase.context.query import Query, Term
from slicebase.context.snippets import Marker, Snippet, TermMark, snippet
from slicebase.context.stretches import TextStretch, head_of, stretches
from slicebase.core.times import known_time
from slicebase.graph.contents import searched_text
from slicebase.graph.record import TurnRecord, read_parts
from slicebase.graph.turn import Part, turn_text
from slicebase.index.narrow import TurnFilters
from slicebase.index.schema import Tokenizer
from slicebase.index.turn_search import Bounds, FoundHits, TurnHit
from slicebase.index.upkeep import ask_turns
from slicebase.truth.truth import Truth
from slicebase.verbs.found import TurnView
from slicebase.verbs.parts import Parts

_STRETCH: Final = 2_000  # characters of a text in which the words are looked for at once


class TurnReader:
    """Reads turns that were found, each once."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self._tokenizer = Tokenizer.apart()
        self._read: dict[str, tuple[TurnRecord, tuple[Part, ...] | None]] = {}
        self._texts: dict[str, str | None] = {}
        self._markers: dict[tuple[Match, tuple[Term, ...]], tuple[Marker, list[str]]] = {}

    def text(self, turn: str) -> str | None:
        """Returns the text of a turn as it is searched; None if it was purged."""
        if turn not in self._texts:
            _, parts = self._get(turn)
            self._texts[turn] = None if parts is None else searched_text(parts)
        return self._texts[turn]

    def view(self, hit: TurnHit) -> TurnView:
        """Returns a turn with the part of its text that has the words."""
        record, parts = self._get(hit.turn)
        shown = self._snippet(self.text(hit.turn) or "", hit.terms, hit.match)
        text = None if parts is None else turn_text(parts)
        return TurnView(record.id, record.session, record.role, known_time(record.time), text, hit.match, shown)

    def _snippet(self, text: str, terms: tuple[Term, ...], match: Match) -> Snippet:
        """Returns the part of a text to show: of a long text, of the first stretch that has the most terms.

        Reading words takes long. So stretches are read in the order of how many terms they can have by their letters;
        if nothing is found by these, all are: an accent may be in the way.
        """
        if (match, terms) not in self._markers:
            heads = [head_of(term, self._tokenizer.stems(term.text)) for term in terms]
            self._markers[match, terms] = Marker(terms, match, self._tokenizer.stems), heads
        marker, heads = self._markers[match, terms]
        for letters in (heads, [""] * len(heads)):
            best, marks_of_best, most = TextStretch(text[:_STRETCH], 0, frozenset()), list[TermMark](), 0
            for stretch in stretches(text, _STRETCH, letters):
                if len(stretch.possible) <= most:
                    break
                marks = marker.marks(stretch.text, self._tokenizer.tokens(stretch.text))
                found = len({mark.term for mark in marks})
                if found > most:
                    best, marks_of_best, most = stretch, marks, found
            if most:
                break
        shown = snippet(best.text, marks_of_best)
        return shown._replace(place=best.start + shown.place)

    def _get(self, turn: str) -> tuple[TurnRecord, tuple[Part, ...] | None]:
        if turn not in self._read:
            with self._truth.database.errors():  # they are not errors of the index that is being asked
                record = self._truth.turns.get(turn).record
                stored = self._truth.texts.get(f"session:{record.session}", record.content_hash)
            parts = read_parts(stored.data) if stored and stored.data is not None else None
            self._read[turn] = record, parts
        return self._read[turn]


def turn_hits(
    parts: Parts,
    query: Query,
    wanted: TurnFilters,
    reader: TurnReader,
    bounds: Bounds,
    attempt: Attempt = ALL_WORDS,
) -> FoundHits:
    """Returns the best turns for a query, after an update of the index."""
    index = parts.turn_index

    def found() -> FoundHits:
        return index.search(query, wanted, reader.text, bounds, attempt)

    return ask_turns(index, parts.truth, found)
