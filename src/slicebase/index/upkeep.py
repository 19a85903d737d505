"""Keeps the index of turns up to date with the truth: adds what is new there, and removes what was purged.

The mark of an index says how much of which database is in it. Turns and links are never removed from the truth, so
their row numbers are enough.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from slicebase.core.ids import uuid_of
from slicebase.errors import SlicebaseError
from slicebase.graph.record import read_link, read_parts, read_turn
from slicebase.index.disposable import Disposable
from slicebase.index.turn_schema import TURNS_LAYOUT, ReadyTurn, UnreadableRow
from slicebase.index.turns import TurnIndex

if TYPE_CHECKING:  # keeps start-up fast
    from slicebase.truth.truth import Truth

_EMPTY = "0 0 0"  # the numbers of a mark
_LITTLE = 2_000  # turns that are added to a copy of the index while another process holds the file
_LONG = 10_000  # turns that take some seconds to add
_WORTH_A_PROCESS = 10_000  # turns: for fewer, starting a process takes longer than it saves
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
    new = _stored_between(truth, turns, read_mark(now).turns)
    if new > _LONG:
        index.before_long_update(new)
    if purges != read_mark(now).purges:
        index.erase(purged_turns(truth))
    elif index.mark and new <= _LITTLE:
        index.file.hurry()
    relinked = _children_of_links_after(truth, links)
    if relinked:
        index.remove(relinked)
    with closing(_batches(index, truth, (turns, read_mark(now).turns, tuple(relinked)))) as batches:
        index.add_batches(_counted(batches, new, index.progress), mark=now)


def _stored_between(truth: "Truth", after: int, last: int) -> int:
    """Returns how many turns were stored after a row up to another. A server also numbers those of other memories."""
    query = "SELECT count(*) FROM turns WHERE rowid > ? AND rowid <= ?"
    with truth.database.errors():
        return int(truth.database.connection.execute(query, (after, last)).get)


def _batches(
    index: TurnIndex, truth: "Truth", lacking: tuple[int, int, tuple[str, ...]]
) -> "Generator[list[ReadyTurn], None, None]":
    """Returns the turns that the index lacks: after a row up to another one, and these others."""
    # Imported here for a fast start: most questions add nothing.
    from slicebase.index.turn_rows import batches_of
    from slicebase.index.wanted_turns import WantedTurns, wanted_turns

    wanted = WantedTurns(*lacking)
    if wanted.last - wanted.after > _WORTH_A_PROCESS and not wanted.again and index.vectors() is None:
        from slicebase.index.turns_ahead import batches_ahead

        return batches_ahead(truth, wanted, index.note_unreadable)
    return batches_of(wanted_turns(truth, wanted, index.note_unreadable))


def _counted(
    batches: Iterator[list[ReadyTurn]], total: int, progress: Callable[[int, int], None]
) -> Iterator[list[ReadyTurn]]:
    done = 0
    progress(done, total)
    for batch in batches:
        yield batch
        done += len(batch)
        progress(done, total)


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


def _is_readable(truth: "Truth", row: UnreadableRow) -> bool:
    """Returns whether a row that could not be read can be read again: somebody has put back what was stored."""
    from slicebase.index.wanted_turns import text_of

    query = f"SELECT record FROM {'links' if row.source == 'links' else 'turns'} WHERE rowid = ?"
    with truth.database.errors():
        stored: Any = truth.database.connection.execute(query, (row.row,)).fetchone()
    try:
        if row.source == "links":
            read_link(stored[0])
        elif (text := text_of(truth, read_turn(stored[0]))) is not None:
            read_parts(text)
    except (SlicebaseError, TypeError):  # TypeError: the row is gone
        return False
    return True
