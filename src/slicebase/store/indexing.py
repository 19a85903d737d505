"""Keeps the full-text index of turns up to date with the truth. It can be deleted at any time.

Turns and links are never removed from the truth, so that their row numbers say how far the index came.
"""

from collections.abc import Callable, Iterator
from typing import Any

from slicebase.core.ids import uuid_of
from slicebase.core.times import from_text
from slicebase.graph.record import TurnRecord, read_parts, read_turn
from slicebase.graph.turn import turn_text
from slicebase.store.truth import Truth
from slicebase.store.turn_index import IndexedTurn, TurnIndex

_EMPTY = "0 0 0"
Progress = Callable[[int], None]  # how many turns were taken in since the last call


def bring_up_to_date(index: TurnIndex, truth: Truth, progress: Progress = lambda count: None) -> None:
    """Takes in what is new in the truth, and takes out what was purged."""
    now = _mark(truth)
    before = index.mark or _EMPTY
    if now == before:
        return
    turns, links, purges = (int(number) for number in before.split())
    if purges != int(now.split()[2]):
        index.remove(_purged(truth))
    relinked = _children_of_links_after(truth, links)
    index.remove(relinked)
    index.add(_counted(_turns_to_add(truth, turns, relinked), progress), mark=now)


def _mark(truth: Truth) -> str:
    query = """SELECT (SELECT coalesce(max(rowid), 0) FROM turns), (SELECT coalesce(max(rowid), 0) FROM links),
                      (SELECT count(*) FROM texts WHERE purged IS NOT NULL)"""
    return " ".join(map(str, next(truth.database.connection.execute(query))))


def _children_of_links_after(truth: Truth, rowid: int) -> list[str]:
    """Turns whose parents became more since they were taken in."""
    query = "SELECT DISTINCT child FROM links WHERE rowid > ?"
    return [uuid_of(child) for (child,) in truth.database.connection.execute(query, (rowid,))]


def _purged(truth: Truth) -> Iterator[str]:
    query = "SELECT DISTINCT owner FROM texts WHERE purged IS NOT NULL AND owner LIKE 'session:%'"
    owners: list[Any] = truth.database.connection.execute(query).fetchall()
    for (owner,) in owners:
        for stored in truth.turns.of_session(owner.removeprefix("session:")):
            text = truth.texts.get(owner, stored.record.content_hash)
            if text is not None and text.purged:
                yield stored.record.id


def _turns_to_add(truth: Truth, rowid: int, again: list[str]) -> Iterator[IndexedTurn]:
    query = "SELECT record FROM turns WHERE rowid > ? ORDER BY rowid"
    for (record,) in truth.database.connection.execute(query, (rowid,)):
        yield from _indexed(truth, read_turn(record))
    for stored in truth.turns.find(again).values():
        yield from _indexed(truth, stored.record)


def _indexed(truth: Truth, record: TurnRecord) -> Iterator[IndexedTurn]:
    content = truth.texts.get(f"session:{record.session}", record.content_hash)
    if content is not None and content.data is not None:
        parents = tuple(sorted(parent for parent, _ in truth.turns.parents_of(record.id)))
        text = turn_text(read_parts(content.data))
        yield IndexedTurn(record.id, record.session, from_text(record.time), parents, text)


def _counted(turns: Iterator[IndexedTurn], progress: Progress) -> Iterator[IndexedTurn]:
    for turn in turns:
        progress(1)
        yield turn
