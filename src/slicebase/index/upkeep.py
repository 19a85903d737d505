"""Keeps the index of turns up to date with the truth: adds what is new there, and removes what was purged.

The mark of an index says how much of which database is in it. Turns and links are never removed from the truth, so
their row numbers are enough.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from slicebase.context.words import states_rule
from slicebase.core.ids import uuid_of
from slicebase.core.times import from_text
from slicebase.errors import SlicebaseError
from slicebase.graph.contents import answered_in, calls_in, kind_bits, kinds_of, searched_text, spoken_text
from slicebase.graph.record import LinkRecord, TurnRecord, read_link, read_parts, read_turn
from slicebase.index.disposable import Disposable
from slicebase.index.turn_schema import TURNS_LAYOUT, IndexedTurn, UnreadableRow
from slicebase.index.turns import TurnIndex

if TYPE_CHECKING:  # keeps start-up fast
    from slicebase.truth.truth import Truth

_EMPTY = "0 0 0"  # the numbers of a mark
_LITTLE = 2_000  # turns that are added to a copy of the index while another process holds the file
_LONG = 10_000  # turns that take some seconds to add
_BETWEEN_SIGNS = 500  # turns between two signs of progress
_Answer = TypeVar("_Answer")


def ask_turns(
    index: TurnIndex, truth: "Truth", question: Callable[[], _Answer], *, is_partial: bool = False
) -> _Answer:
    """Brings the index up to date, and returns the result of a function that reads it.

    Raises `broken-record` if the index lacks what cannot be read, unless a partial answer is wanted: what is found must
    not silently lack a session.
    """

    def with_current_turns() -> _Answer:
        update_turn_index(index, truth)
        if not is_partial and (lacking := sorted({each.session for each in index.unreadable})):
            more = f" and {len(lacking) - 3} other sessions" if len(lacking) > 3 else ""
            message = f"a record of {', '.join(f'session:{name}' for name in lacking[:3])}{more} cannot be read"
            raise SlicebaseError("broken-record", message, hint="`tt verify` says more; `tt turns` lists the others")
        return question()

    return index.ask(with_current_turns)


def update_turn_index(index: TurnIndex, truth: "Truth") -> None:
    """Adds the turns that are new in the truth, and removes those that were purged. Call it in `ask` or `fill`."""
    now = index_mark(truth)
    if any(_is_readable(truth, each) for each in index.unreadable):
        index.restart()
    if now == index.mark:
        return
    database, turns, links, purges = read_mark(index.mark)
    if index.mark and database != read_mark(now).database:
        index.restart()
    new = read_mark(now).turns - turns
    if new > _LONG:
        index.before_long_update(new)
    if purges != read_mark(now).purges:
        index.erase(purged_turns(truth))
    elif index.mark and new <= _LITTLE:
        index.file.hurry()
    relinked = _children_of_links_after(truth, links)
    if relinked:
        index.remove(relinked)
    added = _turns_to_add(truth, turns, relinked, index.note_unreadable)
    index.add(_counted(added, new, index.progress), mark=now)


def _counted(turns: Iterator[IndexedTurn], total: int, progress: Callable[[int, int], None]) -> Iterator[IndexedTurn]:
    for done, turn in enumerate(turns):
        if done % _BETWEEN_SIGNS == 0:
            progress(done, total)
        yield turn


def holds_purged(path: Path, truth: "Truth") -> bool:
    """Returns whether an index still has turns that were purged: another worktree does not reach it."""
    if not Disposable(path, TURNS_LAYOUT).exists():
        return False
    with TurnIndex(path) as index:
        return index.ask(lambda: index.has_any(purged_turns(truth)))


class IndexMark(NamedTuple):
    """How much of which database is in an index: its last turn, its last link, and its last act."""

    database: str
    turns: int
    links: int
    purges: int


def index_mark(truth: "Truth") -> str:
    """Returns the mark of an index that is up to date."""
    last = "SELECT coalesce(max(rowid), 0) FROM"
    query = f"SELECT ({last} turns), ({last} links), ({last} acts)"
    with truth.database.errors():
        return " ".join(map(str, (truth.identity.database, *next(truth.database.connection.execute(query)))))


def read_mark(mark: str) -> IndexMark:
    """Reads the mark of an index."""
    database, *numbers = (mark or f"- {_EMPTY}").split()
    return IndexMark(database, *map(int, numbers))


def _children_of_links_after(truth: "Truth", rowid: int) -> list[str]:
    """Returns the turns that have new parents since they were added."""
    query = "SELECT DISTINCT child FROM links WHERE rowid > ?"
    with truth.database.errors():
        return [uuid_of(child) for (child,) in truth.database.connection.execute(query, (rowid,))]


def purged_turns(truth: "Truth") -> Iterator[str]:
    """Yields the ids of the turns whose text was purged."""
    query = "SELECT DISTINCT owner FROM texts WHERE purged IS NOT NULL AND owner LIKE 'session:%'"
    with truth.database.errors():
        owners: list[Any] = truth.database.connection.execute(query).fetchall()
        for (owner,) in owners:
            for stored in truth.turns.of_session(owner.removeprefix("session:")):
                text = truth.texts.get(owner, stored.record.content_hash)
                if text is not None and text.data is None:
                    yield stored.record.id


# Each record with its text. A record begins with the digest of its text, as it is written here.
_DIGEST: Final = slice(len('{"content_hash":"'), len('{"content_hash":"sha256:') + 64)
_WITH_TEXTS: Final = f"""
SELECT turns.rowid, session, seq, record, bytes FROM turns LEFT JOIN texts ON texts.owner = 'session:' || turns.session
  AND texts.hash = unhex(substr(turns.record, {_DIGEST.stop - 64 + 1}, 64))
WHERE turns.rowid > ? ORDER BY turns.rowid
"""


def _turns_to_add(
    truth: "Truth", rowid: int, again: list[str], note: Callable[[UnreadableRow], object]
) -> Iterator[IndexedTurn]:
    """Yields the turns to add. Notes those that cannot be read, and goes on: one of them must not hide all others."""
    linked: dict[str, list[str]] = {}  # by child: parents that its own record does not name
    with truth.database.errors():
        for link in _links(truth, note) if again or rowid == 0 else ():
            linked.setdefault(link.child, []).append(link.parent)
        for row, session, seq, stored, joined in truth.database.connection.execute(_WITH_TEXTS, (rowid,)):
            try:
                record = read_turn(stored)
                is_its_own = joined is not None and stored[_DIGEST] == record.content_hash.encode()
                text = joined if is_its_own else _text_of(truth, record)
                turn = None if text is None else _indexed(record, seq, text, linked)
            except SlicebaseError as error:
                if error.code != "broken-record":
                    raise
                note(UnreadableRow(session, "turns", row))
            else:
                if turn is not None:
                    yield turn
        for each in truth.turns.find(again).values():
            if (text := _text_of(truth, each.record)) is not None:
                yield _indexed(each.record, each.seq, text, linked)


def _links(truth: "Truth", note: Callable[[UnreadableRow], object]) -> Iterator[LinkRecord]:
    for row, session, stored in truth.database.connection.execute("SELECT rowid, session, record FROM links"):
        try:
            yield read_link(stored)
        except SlicebaseError:
            note(UnreadableRow(session, "links", row))


def _is_readable(truth: "Truth", row: UnreadableRow) -> bool:
    """Returns whether a row that could not be read can be read again: somebody has put back what was stored."""
    query = f"SELECT record FROM {'links' if row.source == 'links' else 'turns'} WHERE rowid = ?"
    with truth.database.errors():
        stored: Any = truth.database.connection.execute(query, (row.row,)).fetchone()
    try:
        if row.source == "links":
            read_link(stored[0])
        elif (text := _text_of(truth, read_turn(stored[0]))) is not None:
            read_parts(text)
    except (SlicebaseError, TypeError):  # TypeError: the row is gone
        return False
    return True


def _text_of(truth: "Truth", record: TurnRecord) -> bytes | None:
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
