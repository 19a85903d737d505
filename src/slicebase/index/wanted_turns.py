"""Reads from the truth the turns that the index lacks, each with its text."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from slicebase.context.words import states_rule
from slicebase.core.times import from_text
from slicebase.errors import SlicebaseError
from slicebase.graph.contents import answered_in, calls_in, kind_bits, kinds_of, searched_text, spoken_text
from slicebase.graph.record import LinkRecord, TurnRecord, read_link, read_parts, read_turn
from slicebase.index.turn_schema import IndexedTurn, UnreadableRow

if TYPE_CHECKING:  # keeps start-up fast
    from slicebase.truth.truth import Truth

_PAGE: Final = 1_000  # turns that are asked for at once: a server sends all of them
# Each record with its text. A record begins with the digest of its text, as it is written here.
_DIGEST: Final = slice(len('{"content_hash":"'), len('{"content_hash":"sha256:') + 64)
_WITH_TEXTS: Final = f"""
SELECT turns.rowid, session, seq, record, bytes FROM turns LEFT JOIN texts ON texts.owner = 'session:' || turns.session
  AND texts.hash = unhex(substr(turns.record, {_DIGEST.stop - 64 + 1}, 64))
WHERE turns.rowid > ? AND turns.rowid <= ? ORDER BY turns.rowid LIMIT {_PAGE}
"""

NoteRow = Callable[[UnreadableRow], object]


class WantedTurns(NamedTuple):
    """What the index lacks: the turns after one row up to another, and others that have new parents."""

    after: int
    last: int
    again: tuple[str, ...] = ()


def wanted_turns(truth: "Truth", wanted: WantedTurns, note: NoteRow, beyond: int = 0) -> Iterator[IndexedTurn]:
    """Yields the turns to add; with `beyond`, only those after this row.

    Notes those that cannot be read, and goes on: one of them must not hide all others.
    """
    linked: dict[str, list[str]] = {}  # by child: parents that its own record does not name
    with truth.database.errors():
        for link in _links(truth, note) if wanted.again or wanted.after == 0 else ():
            linked.setdefault(link.child, []).append(link.parent)
        for row, session, seq, stored, joined in _rows(truth, max(wanted.after, beyond), wanted.last):
            try:
                record = read_turn(stored)
                is_its_own = joined is not None and stored[_DIGEST] == record.content_hash.encode()
                text = joined if is_its_own else text_of(truth, record)
                turn = None if text is None else _indexed(record, seq, text, linked)
            except SlicebaseError as error:
                if error.code != "broken-record":
                    raise
                note(UnreadableRow(session, "turns", row))
            else:
                if turn is not None:
                    yield turn
        for each in truth.turns.find(wanted.again).values():
            if (text := text_of(truth, each.record)) is not None:
                yield _indexed(each.record, each.seq, text, linked)


def _rows(truth: "Truth", after: int, last: int) -> Iterator[Any]:
    """Yields the rows of turns after one up to another, page by page."""
    before = -1
    while after > before:  # until a page is empty
        before = after
        for row in truth.database.connection.execute(_WITH_TEXTS, (before, last)):
            after = row[0]
            yield row


def _links(truth: "Truth", note: NoteRow) -> Iterator[LinkRecord]:
    for row, session, stored in truth.database.connection.execute("SELECT rowid, session, record FROM links"):
        try:
            yield read_link(stored)
        except SlicebaseError:
            note(UnreadableRow(session, "links", row))


def text_of(truth: "Truth", record: TurnRecord) -> bytes | None:
    """Returns the stored text of a record, or None if it was purged."""
    stored = truth.texts.get(f"session:{record.session}", record.content_hash)
    return stored.data if stored else None


def _indexed(record: TurnRecord, place: int, text: bytes, linked: Mapping[str, list[str]]) -> IndexedTurn:
    """Returns the turn of a record with its text."""
    parts = read_parts(text)
    parents = tuple([parent for parent, _ in record.parents])
    if len(parents) > 1 or record.id in linked:
        parents = tuple(sorted({*parents, *linked.get(record.id, ())}))
    kinds = kind_bits(kinds_of(record.role, parts))
    rules = record.role == "user" and states_rule(spoken_text(parts))
    says_only = len(parts) == 1 and parts[0].type == "text"  # as most turns
    called = ((), ()) if says_only else (calls_in(parts), answered_in(parts))
    what = (record.role, kinds, *called, rules, place)
    return IndexedTurn(record.id, record.session, from_text(record.time), parents, searched_text(parts), *what)
