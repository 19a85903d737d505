"""The conversation graph: its turns, and context slices around them."""

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from slicebase.context.match import ALL_WORDS, Attempt, Match, tries
from slicebase.context.query import Query, read
from slicebase.context.question import analyse
from slicebase.context.ranking import Ranked, rank
from slicebase.core.times import known_time
from slicebase.errors import SlicebaseError, refuse_out_of_range
from slicebase.graph.export import ContextSlice
from slicebase.graph.policy import DEFAULT, PRESETS, SlicePolicyV1, policy_with
from slicebase.graph.record import TurnRecord
from slicebase.graph.select import Explanation, explain
from slicebase.graph.turn import Role
from slicebase.index.asked import refuse_unsearchable
from slicebase.index.entries import EVERY_FILE
from slicebase.index.narrow import EVERY_TURN, TurnFilters
from slicebase.index.turn_search import Bounds, TurnHit
from slicebase.index.turns import TurnIndex
from slicebase.index.upkeep import ask_turns
from slicebase.truth.truth import Truth
from slicebase.verbs.found import TurnView
from slicebase.verbs.names import completes
from slicebase.verbs.narrow import narrowed
from slicebase.verbs.parts import Parts
from slicebase.verbs.turns import TurnReader, turn_hits
from slicebase.workspace.given_paths import given_path
from slicebase.workspace.surroundings import one_thread_at_a_time
from slicebase.workspace.workspace import StrPath

if TYPE_CHECKING:
    from slicebase.graph.bundle import Bundle
    from slicebase.graph.proof import SliceProof
    from slicebase.verbs.atlas import Atlas, AtlasCheck
    from slicebase.verbs.chat import ChatWindow
    from slicebase.verbs.drawn import DrawnSlice
    from slicebase.verbs.session_view import SessionView, WholeTurn
    from slicebase.verbs.sessions import SessionEntry
    from slicebase.verbs.tree import TreeWindow


def ranked_turns(
    truth: Truth, index: TurnIndex, question: str, limit: int, now: int, wanted: TurnFilters = EVERY_TURN
) -> list[Ranked]:
    """Returns the best turns for a question, asked at a time, that pass the filters, after an update of the index."""

    def ranked() -> list[Ranked]:
        asked = analyse(question, index.words(question), now)
        return rank(asked, index.figures(asked, wanted, by_meaning=True), limit)

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

    def sessions(self, query: str = "", limit: int | None = None, *, after: str | None = None) -> "list[SessionEntry]":
        """Returns the sessions that have a turn that a query finds, the newest first; without a query, all.

        `after` is the id of the session before the first one that is wanted.
        """
        if limit is not None:
            refuse_out_of_range("limit", limit, 1)
        from slicebase.verbs.sessions import list_sessions  # imported here for a fast start: a context lists none

        return list_sessions(self._parts, query, limit, after)

    def turns(self, session: str, query: str = "") -> list[TurnView]:
        """Returns the turns of a session, in their order; with a query, those that it finds."""
        self._truth.turns.session(session)  # an unknown session is an error, not an empty one
        records = [stored.record for stored in self._truth.turns.of_session(session)]
        if not query.strip():
            return [self._view(record) for record in records]
        found = {hit.turn: hit.match for hit in self._hits(read(f'{query} session:"{session}"'), limit=len(records))}
        return [self._view(record, found[record.id]) for record in records if record.id in found]

    def turn(self, turn: str) -> TurnView:
        """Returns one turn."""
        return self._view(self._truth.turns.get(turn).record)

    def session(self, session: str) -> "SessionView":
        """Returns one session for a reader: its figures, its compactions, its subagents, and what it continues."""
        from slicebase.verbs.session_view import session_view  # imported here for a fast start

        return session_view(self._parts, session)

    def tree(self, session: str, first: int = 0, limit: int = 200, *, turn: str | None = None) -> "TreeWindow":
        """Returns rows of a session's tree, from a number on or around a turn, with the lanes of its branches."""
        from slicebase.verbs.tree import tree_window  # imported here for a fast start

        return tree_window(self._truth, session, first, limit, turn)

    def reading(self, turn: str, before: int = 20, after: int = 20, *, alone: bool = True) -> "ChatWindow":
        """Returns the turns of a branch around a turn, as a chat. Without `alone`, the turn itself is left out."""
        from slicebase.verbs.chat import reading  # imported here for a fast start

        return reading(self._truth, turn, before, after, alone=alone)

    def whole(self, turn: str) -> "WholeTurn":
        """Returns a turn with all of its text and its parts."""
        from slicebase.verbs.session_view import whole_turn  # imported here for a fast start

        return whole_turn(self._truth, turn)

    def draw(
        self,
        turn: str,
        policy: SlicePolicyV1 | StrPath | None = None,
        assignments: Iterable[str] = (),
        *,
        name: str | None = None,
        first: int = 0,
        limit: int = 0,
    ) -> "DrawnSlice":
        """Returns the context slice around a turn as it is drawn on the tree, with the reasons of some of its rows.

        The policy is changed by assignments such as max_nodes=64. `name` is what the command that selects the same
        calls it.
        """
        from slicebase.verbs.drawn import command_of, drawn  # imported here for a fast start

        base, given = self._chosen(policy), tuple(assignments)
        called = name or (base.params_hash if policy is not None else "default")
        return drawn(self._truth, turn, policy_with(base, given), first, limit, command_of(turn, called, given))

    def search(self, words: str, limit: int = 10) -> list[TurnView]:
        """Returns the turns that contain the words, best first; if none contains all, those that contain some.

        `match` says so, and whether a turn has only the parts of an identifier. The words may be a query with filters,
        as `base.search` takes it.
        """
        query = read(words)
        refuse_unsearchable(query)
        refuse_out_of_range("limit", limit, 1)
        for attempt in tries(query):
            if found := self._hits(query, limit, attempt):
                return [self._view(self._truth.turns.get(each.turn).record, each.match) for each in found]
        return []

    def _hits(self, query: Query, limit: int, attempt: Attempt = ALL_WORDS) -> list[TurnHit]:
        wanted = narrowed(self._parts, query, EVERY_FILE, self.surroundings.now()).turns
        if wanted is None:
            return []
        found = turn_hits(self._parts, query, wanted, TurnReader(self._truth), Bounds(limit), attempt)
        return found.hits[:limit]

    def _view(self, record: TurnRecord, match: Match | None = None) -> TurnView:
        time, text = known_time(record.time), self._truth.text_of(record)
        return TurnView(record.id, record.session, record.role, time, text, match)

    def policy(self, name: StrPath | None = None, assignments: Iterable[str] = ()) -> SlicePolicyV1:
        """Returns a policy by its name, its hash or its file, changed by assignments such as max_nodes=64."""
        return policy_with(DEFAULT if name is None else self._truth.policies.named(os.fspath(name)), assignments)

    def requested_policy(self, value: Any) -> SlicePolicyV1:
        """Returns the policy of a request: a name, a hash, an object (complete or partial over the default) or None."""
        return self._truth.policies.find(value) if isinstance(value, str) else PRESETS.resolve(value)

    def select(self, turn: str, policy: SlicePolicyV1 | StrPath | None = None) -> ContextSlice:
        """Returns the context slice around a turn. The same graph and policy give the same bytes.

        `policy` is a policy, its name, its hash or its file; without one, the default. Nothing is written.
        """
        return self._truth.sessions.slice_around(turn, self._chosen(policy))

    def select_many(self, requests: Sequence[tuple[str, SlicePolicyV1 | None]]) -> "list[bytes | SlicebaseError]":
        """Returns the SliceExport of each request, a turn and its policy, or the error in its place.

        None is the default policy. They are selected on all cores where the kernel is compiled.
        """
        from slicebase.verbs.slices import slices_of  # imported here for a fast start

        return slices_of(self._parts, [(turn, DEFAULT if policy is None else policy) for turn, policy in requests])

    def explain(self, turn: str, policy: SlicePolicyV1 | StrPath | None = None) -> Explanation:
        """Returns why each turn of a slice was selected, and why the best of the others were not."""
        chosen = self._chosen(policy)
        with self._truth.sessions.around(turn) as graph:
            return explain(graph, turn, chosen)

    def bundle(
        self,
        turn: str,
        policy: SlicePolicyV1 | StrPath | None = None,
        *,
        key: bytes | None = None,
        to: StrPath | None = None,
    ) -> "Bundle":
        """Returns the context slice around a turn as a bundle, which can be checked without this workspace.

        `key`, of at least 16 bytes, signs it; `to` is a new file that it is written to. The same graph, policy and key
        give the same bytes.
        """
        from slicebase.verbs.bundle import bundle_of, write_bundle  # imported here for a fast start

        found = bundle_of(self._truth, turn, self._chosen(policy), key)
        if to is not None:
            write_bundle(found, given_path(to, "cannot-write"))
        return found

    def verify(
        self, stored: bytes, policy: SlicePolicyV1 | StrPath | None = None, *, key: bytes | None = None
    ) -> "SliceProof":
        """Checks the bytes of a bundle or of a SliceExport, by themselves and against the turns that are stored here.

        `key` checks the signature of a bundle. A SliceExport names its policy by a hash: `policy` is needed where that
        is neither a preset nor stored.
        """
        from slicebase.verbs.slice_proof import prove  # imported here for a fast start

        return prove(self._truth, stored, key=key, policy=None if policy is None else self._chosen(policy))

    def allowed(self, bundle: bytes, refs: Iterable[str], *, key: bytes | None = None) -> "dict[str, bool]":
        """Returns for each reference whether it is in what a bundle or a SliceExport shows.

        These are its turns, and evidence that quotes them. Raises `broken-bundle` for one that contradicts itself.
        """
        from slicebase.verbs.shown import ShownTurns  # imported here for a fast start

        shown = ShownTurns.in_bundle(bundle, key)
        return {ref: shown.has(ref, self._parts) for ref in ([refs] if isinstance(refs, str) else refs)}

    def atlas(
        self,
        session: str | None = None,
        policy: SlicePolicyV1 | StrPath | None = None,
        *,
        every: bool = False,
        roles: Sequence[Role] = (),
        sample: int | None = None,
    ) -> "Atlas":
        """Returns which turns matter, by the context slices around many of them.

        Without a session, it is that of the newest; with `every`, of all. `roles` are those of the turns around which
        slices are selected, and `sample` is how many of them; without these, it is all turns. Nothing is written.
        """
        from slicebase.verbs.atlas import atlas, choice_of, sessions_of  # imported here for a fast start

        choice = choice_of(roles, sample)
        return atlas(self._truth, sessions_of(self._parts, session, every=every), self._chosen(policy), choice)

    def check_atlas(self, printed: bytes) -> "list[AtlasCheck]":
        """Makes an atlas again from its manifest (JSON, as `tt atlas --json` prints it), session by session.

        Figures that stand beside the manifest are compared, too.
        """
        from slicebase.verbs.atlas import read_atlas, replay  # imported here for a fast start

        return list(replay(self._truth, read_atlas(printed)))

    def _chosen(self, policy: SlicePolicyV1 | StrPath | None) -> SlicePolicyV1:
        return policy if isinstance(policy, SlicePolicyV1) else self.policy(policy)
