"""Ids that two conversations of one export share: both records are kept.

An export of ChatGPT can have a message's id in two conversations, with different messages. The first that is stored has
the id. The other gets the id that it would have if its own were not a UUID (ruling 16), which depends on its
conversation alone: so the order of imports does not matter, and nothing is stored twice.
"""

from typing import Final

from msgspec.structs import replace

from slicebase.core.ids import turn_id
from slicebase.graph.session import SHOWN_FACT, shown_last
from slicebase.graph.turn import Parent, Session, Turn
from slicebase.importers import chatgpt
from slicebase.importers.values import Batch
from slicebase.truth.truth import Truth

_FORMATS: Final = frozenset({chatgpt.NAME})  # in which an id names a message of one conversation


def with_own_ids(truth: Truth, batch: Batch) -> Batch:
    """Returns a batch whose turns have other ids where another conversation has a different message with theirs."""
    session = batch.session
    if session is None or session.format not in _FORMATS or not batch.turns:
        return batch
    own = {turn.id: turn for turn in batch.turns}
    shown = shown_last(session)
    named = {parent.id for turn in batch.turns for parent in turn.parents} | ({shown} if shown else set())
    elsewhere = {
        stored.record.id: stored.record
        for stored in truth.turns.find(own.keys() | named).values()
        if stored.record.session != session.id
    }
    taken = {name for name in own.keys() & elsewhere.keys() if own[name].source_hash != elsewhere[name].source_hash}
    derived = {name: turn_id(session.format, session.id, name) for name in elsewhere}
    earlier = truth.turns.find(derived[name] for name in elsewhere.keys() - own.keys())
    names = {name: other for name, other in derived.items() if name in taken or other in earlier}
    if not names:
        return batch
    facts = {**session.facts, SHOWN_FACT: names.get(shown, shown)} if shown else session.facts
    renamed = tuple(_renamed(turn, names) for turn in batch.turns)
    return replace(batch, session=Session(session.id, session.format, session.title, facts), turns=renamed)


def _renamed(turn: Turn, names: dict[str, str]) -> Turn:
    parents = tuple(Parent(names.get(parent.id, parent.id), parent.type) for parent in turn.parents)
    return replace(turn, id=names.get(turn.id, turn.id), parents=parents)
