"""The conversation graph: its turns, and context slices around them."""

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from slicebase.context.query import Query, read
from slicebase.context.question import analyse
from slicebase.context.ranking import Ranked, rank
from slicebase.errors import SlicebaseError, refuse_out_of_range
from slicebase.graph.export import ContextSlice, Difference, compare, read_export
from slicebase.graph.policy import DEFAULT, PRESETS, SlicePolicyV1, policy_with
from slicebase.graph.record import TurnRecord
from slicebase.graph.select import Explanation, explain
from slicebase.index.entries import EVERY_FILE
from slicebase.index.narrow import EVERY_TURN, TurnFilters
from slicebase.index.turn_search import TurnHit
from slicebase.index.turns import TurnIndex
from slicebase.index.upkeep import ask_turns
from slicebase.truth.truth import Truth
from slicebase.verbs.names import completes
from slicebase.verbs.narrow import narrowed
from slicebase.verbs.parts import Parts
from slicebase.verbs.sessions import SessionEntry, list_sessions
from slicebase.verbs.turns import TurnReader, turn_hits
from slicebase.workspace.surroundings import one_thread_at_a_time
from slicebase.workspace.workspace import StrPath


class TurnView(NamedTuple):
    """A stored turn with its text."""

    record: TurnRecord
    text: str | None  # None if it was purged

    @property
    def id(self) -> str:
        """The id of the turn."""
        return self.record.id

    @property
    def ref(self) -> str:
        """The reference of the turn."""
        return f"turn:{self.record.id}"

    @property
    def role(self) -> str:
        """Who speaks: user, assistant, system or tool."""
        return self.record.role

    @property
    def time(self) -> str:
        """When the turn was written, in RFC 3339 form."""
        return self.record.time

    def __repr__(self) -> str:
        return f"TurnView(ref={self.ref!r}, role={self.role!r}, time={self.time!r})"


def ranked_turns(
    truth: Truth, index: TurnIndex, question: str, limit: int, wanted: TurnFilters = EVERY_TURN
) -> list[Ranked]:
    """Returns the best turns for a question that pass the filters, after an update of the index."""

    def ranked() -> list[Ranked]:
        asked = analyse(question, index.words(question))
        return rank(asked, index.figures(asked, wanted), limit)

    return ask_turns(index, truth, ranked)


@one_thread_at_a_time
@completes({"session": "session", "turn": "turn"})
class Graph:
    """The conversation graph of a workspace: its sessions and turns, and context slices around turns."""

    def __init__(self, parts: Parts) -> None:
        self.surroundings = parts.surroundings
        self._parts = parts

    def __repr__(self) -> str:
        return f"Graph({str(self._parts.root)!r})"

    @property
    def _truth(self) -> Truth:
        return self._parts.truth

    def sessions(self, query: str = "", limit: int | None = None) -> list[SessionEntry]:
        """Returns the sessions that have a turn that a query finds, the newest first; without a query, all."""
        if limit is not None:
            refuse_out_of_range("limit", limit, 1)
        return list_sessions(self._parts, query, limit)

    def turns(self, session: str, query: str = "") -> list[TurnView]:
        """Returns the turns of a session, in their order; with a query, those that it finds."""
        self._truth.turns.session(session)  # an unknown session is an error, not an empty one
        records = [stored.record for stored in self._truth.turns.of_session(session)]
        if query.strip():
            found = {hit.turn for hit in self._hits(read(f'{query} session:"{session}"'), limit=len(records))}
            records = [record for record in records if record.id in found]
        return [self._view(record) for record in records]

    def turn(self, turn: str) -> TurnView:
        """Returns one turn."""
        return self._view(self._truth.turns.get(turn).record)

    def search(self, words: str, limit: int = 10) -> list[TurnView]:
        """Returns the turns that contain the words, best first; if none contains all, those that contain some.

        The words may be a query with filters, as `base.search` takes it.
        """
        query = read(words)
        if not query.terms and not query.filters:
            raise SlicebaseError("no-words", "there is no word to search for")
        refuse_out_of_range("limit", limit, 1)
        found = self._hits(query, limit)
        if not found and len(query.terms) > 1:
            found = self._hits(query, limit, either=True)
        return [self.turn(each.turn) for each in found]

    def _hits(self, query: Query, limit: int, *, either: bool = False) -> list[TurnHit]:
        wanted = narrowed(self._parts, query, EVERY_FILE, self.surroundings.now()).turns
        if wanted is None:
            return []
        return turn_hits(self._parts, query, wanted, TurnReader(self._truth), most=limit, either=either)

    def _view(self, record: TurnRecord) -> TurnView:
        return TurnView(record, self._truth.text_of(record))

    def policy(self, name: StrPath | None = None, assignments: Iterable[str] = ()) -> SlicePolicyV1:
        """Returns a policy by its name, its hash or its file, changed by assignments such as max_nodes=64."""
        return policy_with(DEFAULT if name is None else self._truth.policies.named(os.fspath(name)), assignments)

    def requested_policy(self, value: Any) -> SlicePolicyV1:
        """Returns the policy of a request: a name, a hash, an object (complete or partial over the default) or None."""
        return self._truth.policies.find(value) if isinstance(value, str) else PRESETS.resolve(value)

    def select(self, turn: str, policy: SlicePolicyV1 | StrPath | None = None) -> ContextSlice:
        """Returns the context slice around a turn. The same graph and policy give the same bytes.

        `policy` is a policy, its name, its hash or its file; without one, the default.
        """
        chosen = policy if isinstance(policy, SlicePolicyV1) else self.policy(policy)
        self._truth.policies.keep(chosen)
        return self._truth.sessions.slice_around(turn, chosen)

    def explain(self, turn: str, policy: SlicePolicyV1 | StrPath | None = None) -> Explanation:
        """Returns why each turn of a slice was selected, and why the best of the others were not."""
        chosen = policy if isinstance(policy, SlicePolicyV1) else self.policy(policy)
        return explain(self._truth.sessions.around(turn, chosen.max_radius + 1), turn, chosen)

    def check(self, export: bytes) -> tuple[Difference, ...]:
        """Derives a stored SliceExport again and returns the differences; none if it is identical."""
        stored = read_export(export)
        policy = self._truth.policies.find(stored.policy_params_hash)
        return compare(stored, self._truth.sessions.slice_around(stored.anchor_turn_id, policy).contents)
