"""One session for a reader: its figures, its compactions, its subagents, and what it continues."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from msgspec import Struct

from slicebase.context.query import read
from slicebase.core.times import known_time
from slicebase.graph.turn import turn_text
from slicebase.importers.subagents import SUBAGENT, base_of
from slicebase.index.narrow import TurnFilters
from slicebase.index.turn_search import Bounds
from slicebase.truth.truth import Truth
from slicebase.verbs.chat import TurnShown, turn_shown
from slicebase.verbs.parts import Parts
from slicebase.verbs.sessions import SessionRow, session_entry, session_row, titles_of
from slicebase.verbs.tree import with_purged
from slicebase.verbs.turns import TurnReader, turn_hits

_MOST_AGENTS: Final = 500
_MOST_COMPACTIONS: Final = 500
_MOST_ROOTS: Final = 20  # turns that may continue another session
_WHOLE: Final = 10_000_000  # characters of one turn


class TurnPlace(Struct, frozen=True):
    """A turn, its number in its session, and its time."""

    turn: str
    number: int
    time: str | None


class LinkedSession(Struct, frozen=True):
    """Another session, and the turn at which this one is linked with it."""

    session: str
    turn: str  # of a subagent, the one that started it; of a session that is continued, the one after which it goes on
    turns: int
    title: str  # its title, or the beginning of what was asked first; empty where neither is known


class SessionView(Struct, frozen=True):
    """A session, and where to begin to read it."""

    session: str
    figures: SessionRow
    facts: dict[str, Any]
    turns: int
    branches: int
    first: str | None  # the ends of the branch that leads to the newest turn
    last: str | None
    compactions: tuple[TurnPlace, ...]  # by their summaries, in the order of time
    agents: tuple[LinkedSession, ...]  # those that turns of this session started
    continues: tuple[LinkedSession, ...]


class WholeTurn(Struct, frozen=True):
    """A turn with all of its text, as evidence counts it, and its place."""

    session: str
    text: str | None  # None if it was purged
    parents: tuple[str, ...]
    children: tuple[str, ...]
    content_hash: str
    source_hash: str
    shown: TurnShown


def session_view(parts: Parts, session: str) -> SessionView:
    """Returns what is known about a session."""
    truth = parts.truth
    facts = truth.turns.session(session).facts
    stored = truth.trees.of(session)
    entry = session_entry(parts, session)
    ends = stored.tree.path()
    first, last = (node.turn for node in truth.trees.some(session, ends)) if ends else (None, None)
    return SessionView(
        session=session,
        figures=session_row(entry),
        facts=facts,
        turns=len(stored.tree),
        branches=stored.lanes.branches,
        first=first,
        last=last,
        compactions=tuple(_compactions(parts, session)) if entry.compactions else (),
        agents=_linked(parts, list(islice(_agents(truth, session), _MOST_AGENTS))),
        continues=_linked(parts, [(home, turn) for turn, home in _parents_elsewhere(truth, session).items()]),
    )


def _compactions(parts: Parts, session: str) -> Iterator[TurnPlace]:
    """Yields the summaries of a session, oldest first: of those in a row, which are one compaction, the last."""
    query = read("kind:summary")
    wanted = TurnFilters(filters=query.filters, sessions=[session])
    hits = turn_hits(parts, query, wanted, TurnReader(parts.truth), Bounds(_MOST_COMPACTIONS)).hits
    turns = parts.truth.turns
    found = turns.find([hit.turn for hit in hits])
    followed = {parent for turn in found for parent, _ in turns.parents_of(turn)}
    for seq, record in sorted(found.values(), key=lambda stored: stored.seq):
        if record.id not in followed:
            yield TurnPlace(record.id, seq - 1, known_time(record.time))


def _linked(parts: Parts, found: list[tuple[str, str]]) -> tuple[LinkedSession, ...]:
    """Returns sessions with the turns at which they are linked."""
    if not found:
        return ()
    counts, titles = parts.truth.turns.counts(), titles_of(parts, [name for name, _ in found])
    return tuple(LinkedSession(name, turn, counts.get(name, 0), titles[name]) for name, turn in found)


def _agents(truth: Truth, session: str) -> Iterator[tuple[str, str]]:
    """Yields the sessions of subagents that turns of a session started, each with that turn."""
    for name in truth.turns.names(base_of(session) + SUBAGENT):
        parents = _parents_elsewhere(truth, name) if name != session else {}
        if started := next((turn for turn, home in parents.items() if home == session), None):
            yield name, started


def _parents_elsewhere(truth: Truth, session: str) -> dict[str, str]:
    """Returns the turns of other sessions that the first turns of a session follow, each with its session."""
    named = [parent for stored in truth.turns.between(session, 1, _MOST_ROOTS) for parent, _ in stored.record.parents]
    named += [link.parent for link in islice(truth.turns.links_of(session), _MOST_ROOTS)]
    found = truth.turns.find(dict.fromkeys(named))
    homes = {turn: found[turn].record.session for turn in dict.fromkeys(named) if turn in found}
    return {turn: home for turn, home in homes.items() if home != session}


def whole_turn(truth: Truth, turn: str) -> WholeTurn:
    """Returns a turn with all of its text."""
    with truth.database.reading():
        seq, record = truth.turns.get(turn)
        content, purged = with_purged(truth, truth.with_content(record))
        (node,) = truth.trees.some(record.session, [seq - 1])
        tree = truth.trees.of(record.session).tree
        children = truth.trees.some(record.session, list(islice(tree.children(seq - 1), _MOST_ROOTS)))
        return WholeTurn(
            session=record.session,
            text=None if purged else turn_text(content.parts),
            parents=tuple(sorted(parent for parent, _ in truth.turns.parents_of(turn))),
            children=tuple(child.turn for child in children),
            content_hash=record.content_hash,
            source_hash=record.source_hash,
            shown=turn_shown(node, content, purged=purged, longest=_WHOLE),
        )
