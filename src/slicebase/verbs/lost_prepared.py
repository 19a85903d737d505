"""What the compactions of a session lost, found before somebody asks for it: it takes about a second a megabyte.

A prompt then only ranks and renders. What was found is kept in the disposable cache of a workspace. It has words of the
session, so a purge removes it, and one that is older than a purge does not count.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from slicebase import __version__
from slicebase.context.lost.judged import LOST_RULES, CompactedTurns, DescribedItem, describe
from slicebase.context.lost.prompt import LostPassage
from slicebase.context.rediscovery import naming, things
from slicebase.core.hashing import digest_of
from slicebase.errors import SlicebaseError
from slicebase.graph.contents import readable_text
from slicebase.history.compactions import compactions
from slicebase.history.notes import SessionNotes
from slicebase.index.upkeep import ask_turns
from slicebase.truth.truth import Truth
from slicebase.verbs.parts import Parts
from slicebase.workspace.atomic import read_bytes
from slicebase.workspace.workspace import LOSSES

_RULES: Final = f"{LOST_RULES} {__version__}"
_LAST: Final = 1  # places that were looked at


class PreparedLosses(msgspec.Struct, frozen=True):
    """What the compactions of a session lost, as it was when it was looked for."""

    rules: str
    acts: int  # of the database: a purge is one
    turns: str  # the digest of the ids of all turns that were removed, and of the summaries
    summary: str  # the newest summary
    items: list[DescribedItem]
    looked_at: list[LostPassage]

    def is_of(self, removed: Sequence[CompactedTurns], acts: int) -> bool:
        """Returns whether these are the losses of some compactions, by the rules of today, and of their turns only."""
        known = {turn.id for each in removed for turn in each.before}
        named = {each.item.turn for each in self.items} | {each.turn for each in self.looked_at}
        return (self.rules, self.acts, self.turns) == (_RULES, acts, _digest(removed)) and named <= known


class PreparedNotes(SessionNotes[PreparedLosses]):
    """What was prepared, in a cache."""

    def __init__(self, cache: Path) -> None:
        super().__init__(cache, LOSSES, PreparedLosses)


def prepare_losses(parts: Parts, session: str) -> None:
    """Finds what the compactions of a session lost, and keeps it; brings the index of turns up to date."""
    truth, notes = parts.truth, PreparedNotes(parts.workspace.cache)
    acts = truth.runs.log.acts()
    removed, since = compactions(truth, session)
    if not removed:
        return
    found = PreparedLosses(
        _RULES,
        acts,
        _digest(removed),
        removed[-1].summary[-1].id,
        describe(removed, since),
        last_looked_at(removed[-1]),
    )
    ask_turns(parts.turn_index, truth, lambda: None)
    notes.put(session, found)
    if truth.runs.log.acts() != acts:  # a purge came in between
        notes.drop(session)


def is_prepared(parts: Parts, session: str, summary: str) -> bool:
    """Returns whether the losses of a session's compactions are prepared, up to the one with this summary."""
    known = PreparedNotes(parts.workspace.cache).get(session)
    now = (_RULES, parts.truth.runs.log.acts(), summary)
    return known is not None and (known.rules, known.acts, known.summary) == now


def outdated_losses(truth: Truth, cache: Path) -> list[Path]:
    """Returns the files with losses that were prepared before something was purged."""
    found: list[Path] = []
    for path in sorted((cache / LOSSES).glob("*")):
        with suppress(OSError, SlicebaseError, msgspec.MsgspecError):
            acts = msgspec.json.decode(read_bytes(path), type=PreparedLosses).acts
            if truth.runs.log.purged_since(acts):
                found.append(path)
    return found


def last_looked_at(removed: CompactedTurns) -> list[LostPassage]:
    """Returns the last files and searches that the summary does not name: where the agent was."""
    known = things(removed.before)
    said = naming(removed.said, known.values())
    texts = {turn.id: readable_text(turn.parts) for turn in removed.before}
    found: list[LostPassage] = []
    for thing in [thing for thing in known.values() if thing.kind in ("file", "search") and not said(thing)][::-1]:
        start = texts[thing.turn].find(thing.what)
        if start >= 0 and len(found) < _LAST:
            found.append(LostPassage(thing.turn, start, start + len(thing.what), thing.what, 0, None))
    return found


def _digest(removed: Sequence[CompactedTurns]) -> str:
    return digest_of([[turn.id for turn in (*each.before, *each.summary)] for each in removed])
