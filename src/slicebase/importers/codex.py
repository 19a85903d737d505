"""Codex CLI's rollouts: JSON Lines, in all the forms that Codex has used.

- Current form: `{timestamp, type, payload}`. A `response_item` is a turn. An `event_msg` shows on the screen what a
  response item says to the model; it is a turn only if no item says it. `compacted` is a turn of the system: the
  summary, and what the history that replaces the compacted turns says for the first time.
- Older forms: a first line about the session, then bare response items without times; or one JSON object with `session`
  and `items`.
- Irregular records: bare records with `role` and `message`, function calls and results.

Instructions in records about the session, a turn's context or the world are a turn of the system, each text once. A
turn follows the one before it; the result of a call names its call. The session of a subagent continues the turn whose
call started it.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import Struct

from slicebase.graph.turn import Part
from slicebase.importers.batches import BatchBuilder, BuilderState
from slicebase.importers.blocks import (
    Flag,
    as_name,
    as_objects,
    marked,
    no_flag,
    summary_parts,
    text_parts,
)
from slicebase.importers.codex_events import ToldState, ToldTexts, agents_in, event_content, event_kind, is_silent
from slicebase.importers.codex_records import (
    FACTS,
    NO_TURNS,
    as_turn,
    call_of,
    essence,
    instructions,
    is_loose,
    is_old_head,
    is_record,
    loose_content,
    started_by,
    time_of,
    unfolded,
)
from slicebase.importers.elements import json_records
from slicebase.importers.json_stream import LinePlace, RecordLine, json_lines
from slicebase.importers.parents import LinksState, ParentLinks
from slicebase.importers.responses import item_content
from slicebase.importers.silence import holds_text, without_turn
from slicebase.importers.subagents import session_keys
from slicebase.importers.thread import Fault, NonTurn, SourceRecord, Thread, ThreadState, TurnDraft, read_records
from slicebase.importers.times import SourceClock, start_of
from slicebase.importers.values import Batch, Format, Head, ImportSource, KnownAgents, Options, Read, StarterKey

NAME: Final = "codex"


def sniff(head: Head) -> bool:
    is_rollout = ImportSource(head.name, ()).stem.startswith("rollout-")
    return any(map(is_record, head.records)) or (is_rollout and any(map(is_loose, head.records)))


def start(options: Options) -> Read:
    def read(source: ImportSource) -> Iterator[Batch]:
        rollout = Rollout(source.name, options, is_growing=source.is_growing)
        yield from rollout.read(source.chunks)
        yield from rollout.finish()

    return read


FORMAT: Final = Format(NAME, sniff, start)


class RolloutState(Struct, tag=NAME):
    """The state of a rollout's reader after a line, without the batches it has yielded: ids and digests, no content."""

    session: str
    is_named: bool
    thread: ThreadState
    now: int
    links: LinksState
    ids: dict[str, str]
    open_calls: dict[str, str]
    builder: BuilderState
    knows_session: bool
    parent: str | None
    told: ToldState
    first: str | None
    calls: dict[str, str]
    starters: list[tuple[StarterKey, str]]

    @property
    def start(self) -> int:
        """The offset from which to read: the texts of some lines before the next one are needed to read it."""
        return self.told.place.offset

    @property
    def lasts(self) -> dict[str, str | None]:
        """The session with its last turn."""
        return {self.session: self.thread.last}


class Rollout:
    """The reader of one rollout. With a state, it continues after the line at which the state was saved."""

    def __init__(
        self, name: str, options: Options, state: RolloutState | None = None, *, is_growing: bool = False
    ) -> None:
        self.name = name
        self.is_growing = is_growing
        self.builder = BatchBuilder(NAME)
        self.told = ToldTexts(state.told if state else None)
        self.place = state.told.place if state else LinePlace(0, 0)  # up to which it was read
        self.is_lines = state is not None
        self.knows_session = state is not None and state.knows_session
        self.parent = state.parent if state else None  # the session that started this one
        self.first = state.first if state else None
        self.calls = state.calls if state else {}  # the turns of calls
        self.starters = dict(state.starters) if state else {}
        if state is None:
            self.thread = Thread(self.builder, None, options.session or ImportSource(name, ()).stem)
        else:
            self.builder.restore(state.builder)
            self.thread = Thread(
                self.builder,
                state.session if state.is_named else None,
                state.session,
                clock=SourceClock(state.now),
                links=ParentLinks(state.links),
                ids=state.ids,
                calls=state.open_calls,
            )
            self.thread.restore(state.thread)

    @property
    def state(self) -> RolloutState | None:
        """The state from which another reader can continue; None if the lines may prove to be a document.

        Call `flush` first.
        """
        if not self.is_lines:
            return None
        return RolloutState(
            session=self.thread.session,
            is_named=self.thread.is_named,
            thread=self.thread.state,
            now=self.thread.clock.now,
            links=self.thread.links.state,
            ids=self.thread.ids,
            open_calls=self.thread.calls,
            builder=self.builder.state,
            knows_session=self.knows_session,
            parent=self.parent,
            told=self.told.state,
            first=self.first,
            calls=self.calls,
            starters=list(self.starters.items()),
        )

    @property
    def known_agents(self) -> KnownAgents:
        """What is known about agents of other files."""
        waits: list[tuple[StarterKey, list[str]]] = []
        if self.parent and self.first:
            waits = [(key, [self.first]) for key in session_keys(self.parent, self.thread.session)]
        return KnownAgents(list(self.starters.items()), waits)

    def read(self, chunks: Iterable[bytes]) -> Iterator[Batch]:
        """Yields the batches of complete lines, as far as the lines after them are known."""
        source = ImportSource(self.name, self._counted(chunks))
        lines: Iterator[RecordLine]
        if self.is_lines or self.place.offset:
            lines = unfolded(json_lines(source, is_record, *self.place))
        else:
            self.thread.clock.now, lines = start_of(unfolded(self._records(source)), time_of)
        yield from read_records(self.builder, self.told.following(lines), self._record)

    def _records(self, source: ImportSource) -> Iterator[RecordLine]:
        lines = json_records(source, is_record)
        for line in lines:
            # Whatever follows, a source whose first line is an object consists of lines.
            self.is_lines = line.place is not None and isinstance(line.piece.value, dict) and not line.piece.repairs
            yield line
            break
        yield from lines

    def _counted(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            lines, offset = self.place
            self.place = LinePlace(lines + chunk.count(b"\n"), offset + len(chunk))
            yield chunk

    def flush(self) -> Iterator[Batch]:
        """Yields what was read and is not in a batch yet. After it, the state can be saved."""
        yield from self.builder.flush()

    def finish(self) -> Iterator[Batch]:
        """Yields the last batches: the last lines, if nothing that may follow decides them, and the facts."""
        yield from read_records(self.builder, self.told.rest(is_growing=self.is_growing), self._record)
        for line in self.told.undecided:
            self.builder.record(line.size)
            self.builder.skip("unfinished", line.where, lost=False)
        if self.thread.last is not None:
            self.builder.facts(self.thread.session)["shown_last"] = self.thread.last
        yield from self.builder.close()
        if any(known := self.known_agents):
            yield Batch(None, agents=known)

    def _record(self, record: SourceRecord, line: RecordLine) -> Iterator[Batch]:
        self._read_session(record)
        if record.get("type") == "turn_context" and isinstance(context := record.get("payload"), dict):
            self.builder.answered_by(self.thread.session, context.get("model"))
        yield from self.thread.admit(record, line.where, essence, self._build)
        self.first = self.first or self.thread.last
        call = call_of(record.get("payload"))
        if call and self.thread.last:
            self.calls.setdefault(call, self.thread.last)

    def _read_session(self, record: SourceRecord) -> None:
        """Reads the session's name and facts from the first record about a session.

        In a fork, the records of the sessions that it came from follow; they are ignored.
        """
        if self.knows_session or not (record.get("type") == "session_meta" or is_old_head(record)):
            return
        self.knows_session = True
        payload = record.get("payload")
        meta = payload if isinstance(payload, dict) else record
        session = as_name(meta.get("id"))
        if session is not None and self.thread.last is None:
            self.thread = Thread(self.builder, session, clock=self.thread.clock)
        facts = self.builder.facts(self.thread.session)
        facts |= {fact: meta[field] for field, fact in FACTS.items() if as_name(meta.get(field))}
        if isinstance(git := meta.get("git"), dict) and as_name(git.get("branch")):
            facts["git_branch"] = git["branch"]
        parent = started_by(meta.get("source"))
        if parent:
            facts.setdefault("parent_session", parent)
        self.parent = facts.get("parent_session")

    def _build(self, record: SourceRecord, flag: Flag) -> TurnDraft | NonTurn | Fault:
        drafted = self._drafted(record, flag)
        if isinstance(drafted, TurnDraft):
            self.told.add(drafted.parts)
        return drafted

    def _drafted(self, record: SourceRecord, flag: Flag) -> TurnDraft | NonTurn | Fault:
        kind = as_name(record.get("type")) or as_name(record.get("record_type"))
        payload = record.get("payload")
        time = record.get("timestamp") or record.get("created_at")
        if kind in NO_TURNS or is_old_head(record):
            return self._told(kind or "session_meta", payload if isinstance(payload, dict) else record, time)
        if kind == "event_msg" and isinstance(payload, dict):
            return self._event(payload, time)
        if kind == "compacted" and isinstance(payload, dict):
            return as_turn(("system", summary_parts(self._compacted(payload, flag))), record, time)
        item = payload if kind == "response_item" and isinstance(payload, dict) else record
        item_kind = as_name(item.get("type"))
        if item_kind in NO_TURNS:
            return NonTurn(item_kind)
        content = item_content(item, flag) or loose_content(item, flag)
        if content is None:
            return Fault("unknown-record", str(item.get("type")), lost=holds_text(item))
        return as_turn(content, item, time)

    def _told(self, kind: str, payload: SourceRecord, time: Any) -> TurnDraft | NonTurn:
        """Returns the instructions in a record that were not given before as a turn."""
        parts = self.told.new(part for text in instructions(payload) for part in text_parts(text))
        return TurnDraft("system", marked(parts, hidden=True), time=time) if parts else NonTurn(kind)

    def _event(self, event: SourceRecord, time: Any) -> TurnDraft | NonTurn | Fault:
        if event.get("type") == "thread_name_updated" and as_name(event.get("thread_name")):
            self.builder.title(self.thread.session, event["thread_name"])
        for agent in agents_in(event):
            starter = self.calls.get(call_of(event) or "", self.thread.last)
            if starter is None:
                continue
            for key in session_keys(self.thread.session, agent):
                self.starters.setdefault(key, starter)
        role, parts = event_content(event) or ("system", ())
        parts = self.told.new_in_event(event, parts)
        if parts:
            return TurnDraft(role, parts, time=time)
        kind = event_kind(event)
        return NonTurn(kind) if is_silent(event) else without_turn(kind, event)

    def _compacted(self, payload: SourceRecord, flag: Flag) -> tuple[Part, ...]:
        """Returns the summary, and what the history that replaces the compacted turns says for the first time.

        Where the summary is empty, that history is the summary, whether it was told before or not.
        """
        summary = tuple(text_parts(payload.get("message")))
        given = as_objects(payload.get("replacement_history"))
        items = (item_content(item, no_flag if summary else flag) for item in given)
        history = tuple(part for content in items if content is not None for part in content[1])
        if not summary:
            return history
        new = self.told.new(history)
        is_repeated = any(str(summary[0].text) in (part.text or "") for part in new)
        return new if is_repeated else (*summary, *new)
