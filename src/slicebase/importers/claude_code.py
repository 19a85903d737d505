"""Claude Code's transcripts: JSON Lines of records with `uuid` and `parentUuid`.

- `user`, `assistant` and most `system` records are turns, and so is what the client gave to the model in an
  `attachment` or from its queue. Other records are not turns; their children become children of their parent.
- A user's record with only tool results is a turn of the tools. It refers to the turn of its call if that is not its
  parent.
- After a compaction the boundary is a child of its logical parent (ruling 18), and the summary is a turn of the system.
  A record that then goes on from the end of the compacted turns goes on from the summary.
- A summary line is not a message: it is the title of the session that its leaf belongs to.
- A sidechain or subagent is a separate session (ruling 13), linked to the turn that started it by its agent's id, its
  workflow's run, or its prompt. Its turns are in a file of its own, in records of its `progress`, or in both.
- A file may hold several sessions, copied or continued; each record names its session.
"""

from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator
from typing import Any, Final

from msgspec import Struct

from slicebase.graph.turn import Edge, Part
from slicebase.importers.batches import BatchBuilder, BuilderState
from slicebase.importers.blocks import Flag, as_name
from slicebase.importers.boundaries import Boundaries, BoundaryState
from slicebase.importers.claude_records import (
    BOUNDARY,
    NO_TURNS,
    SILENT,
    add_facts,
    agent_of,
    content_of,
    essence,
    is_aside,
    is_record,
    model_of,
    other_kind,
    record_inside,
)
from slicebase.importers.elements import json_records
from slicebase.importers.json_stream import RecordLine, json_lines
from slicebase.importers.parents import LinksState, ParentLinks
from slicebase.importers.queued import Departure, MessageQueue, QueueState
from slicebase.importers.silence import holds_text, settle, without_turn
from slicebase.importers.subagents import SUBAGENT, AgentCalls, Agents, agent_key, base_of
from slicebase.importers.thread import (
    LAST,
    Admitted,
    Fault,
    NonTurn,
    SourceRecord,
    Thread,
    ThreadState,
    TurnDraft,
    read_records,
)
from slicebase.importers.times import SourceClock, start_of
from slicebase.importers.titles import Titles, TitleState
from slicebase.importers.values import Batch, Format, Head, ImportSource, KnownAgents, Options, Read, StarterKey

NAME: Final = "claude-code"


def sniff(head: Head) -> bool:
    return any(map(is_record, head.records))


def start(options: Options) -> Read:
    def read(source: ImportSource) -> Iterator[Batch]:
        transcript = Transcript(source.name, options, folder=source.folder)
        yield from transcript.read(source.chunks)
        yield from transcript.settle(is_growing=source.is_growing)
        yield from transcript.finish()

    return read


FORMAT: Final = Format(NAME, sniff, start)


# One file


class TranscriptState(Struct, tag=NAME):
    """The state of a transcript's reader after a line, without the batches it has yielded: ids, never content."""

    lines: int
    now: int
    links: LinksState
    ids: dict[str, str]
    threads: dict[str, ThreadState]
    chains: dict[str, str]
    calls: dict[str, str]
    builder: BuilderState
    titles: TitleState
    boundaries: BoundaryState
    agents: KnownAgents
    prompts: dict[str, tuple[StarterKey, str]]
    queues: dict[str, QueueState]
    starters: dict[str, str] = {}

    @property
    def lasts(self) -> dict[str, str | None]:
        """The sessions with their last turns."""
        return {session: thread.last for session, thread in self.threads.items()}


class Transcript:
    """The reader of one file. With a state, it continues after the line at which the state was saved."""

    def __init__(self, name: str, options: Options, state: TranscriptState | None = None, folder: str = "") -> None:
        self.name = name
        self.folders = {*folder.split("/"), *name.split("/")[:-1]}
        self.session = options.session or ImportSource(name, ()).stem  # for records that name none
        self.clock = SourceClock()
        self.builder = BatchBuilder(NAME)
        self.threads: dict[str, Thread] = {}
        self.lines = state.lines if state else 0
        self.links = ParentLinks(state.links if state else None)
        self.ids = state.ids if state else {}
        self.chains = state.chains if state else {}  # sidechain records without an agent's id: the first of their chain
        self.calls = state.calls if state else {}  # tool calls without a result yet, with their turns
        self.titles = Titles(self.builder, state.titles if state else None)
        self.boundaries = Boundaries(self.links, state.boundaries if state else None)
        self.agents = AgentCalls(*((Agents(state.agents), state.prompts, state.starters) if state else (Agents(),)))
        self.queues: defaultdict[str, MessageQueue] = defaultdict(MessageQueue)
        if state is not None:
            self.clock.now = state.now
            self.builder.restore(state.builder)
            self.queues.update({session: MessageQueue(queue) for session, queue in state.queues.items()})
            for session, known in state.threads.items():
                self._thread(session).restore(known)

    @property
    def state(self) -> TranscriptState:
        """The state from which another reader can continue. Call `flush` first."""
        return TranscriptState(
            lines=self.lines,
            now=self.clock.now,
            links=self.links.state,
            ids=self.ids,
            threads={session: thread.state for session, thread in self.threads.items()},
            chains=self.chains,
            calls=self.calls,
            builder=self.builder.state,
            titles=self.titles.state,
            boundaries=self.boundaries.state,
            agents=self.agents.agents.known,
            prompts=self.agents.prompts,
            queues={session: queue.state for session, queue in self.queues.items()},
            starters=self.agents.turns,
        )

    def read(self, chunks: Iterable[bytes]) -> Iterator[Batch]:
        """Yields the batches of complete lines."""
        source = ImportSource(self.name, self._counted(chunks))
        if self.lines:
            lines = json_lines(source, is_record, self.lines)
        else:
            self.clock.now, lines = start_of(json_records(source, is_record), _time_of)
        yield from read_records(self.builder, lines, self._record)

    def flush(self) -> Iterator[Batch]:
        """Yields what was read and is not in a batch yet. After it, the state can be saved."""
        for session, last in self._lasts().items():
            self.builder.facts(session)["shown_last"] = last
        yield from self.builder.flush()

    def settle(self, *, is_growing: bool) -> Iterator[Batch]:
        """Decides, at the end of the file, what later lines could have decided.

        A message that left the queue is a turn now if the model had nothing else to wait for, and a call that has no
        result is known by its prompt. In a file that grows, a record that decides it may be the next.
        """
        is_open = bool(self.agents.prompts)
        for session, queue in self.queues.items():
            departed = queue.take()
            if is_growing or queue.has_open_calls:
                self._count(departed)
                is_open = is_open or bool(departed)
            else:
                yield from self._deliver(self._thread(session), departed, LAST, self.name)
        if not is_growing:
            self._link(self.agents.end())
        elif is_open:
            yield Batch(None, is_open=True)

    def finish(self) -> Iterator[Batch]:
        """Yields the last batches, with the facts that are known only at the end of the file."""
        lasts = self._lasts()
        for session, last in lasts.items():
            self.builder.facts(session)["shown_last"] = last
        self.titles.end(lasts)
        yield from self.builder.close()
        if any(known := self.known_agents):
            yield Batch(None, agents=known)

    @property
    def known_agents(self) -> KnownAgents:
        """What is known about agents of this file and of others."""
        return self.agents.agents.known

    def _lasts(self) -> dict[str, str]:
        """Returns the last turn of each session that has one."""
        return {session: thread.last for session, thread in self.threads.items() if thread.last is not None}

    def _counted(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self.lines += chunk.count(b"\n")
            yield chunk

    def _record(self, record: SourceRecord, line: RecordLine) -> Iterator[Batch]:
        kind = as_name(record.get("type"))
        if kind not in NO_TURNS:
            yield from self._admit(record, line.where)
        elif kind == "queue-operation":
            self._queue_operation(record)
        else:
            yield from self._read_other(record, line.where)

    def _read_other(self, record: SourceRecord, where: str) -> Iterator[Batch]:
        """Reads a record that is not a turn itself; the progress of a subagent contains one."""
        self.titles.read(record, as_name(record.get("sessionId")) or self.session)
        self._read_progress(record)
        thread = self._thread(self._session_of(record))
        own, parent = record.get("uuid"), record.get("parentUuid")
        inner = record_inside(record)
        if inner is None:
            settle(thread, without_turn(other_kind(record), record, SILENT, source_id=own, parent=parent), where)
            return
        if inner.get("uuid") != own:
            thread.bridge(NonTurn(other_kind(record), own, parent))
        yield from self._admit(inner, where)

    def _admit(self, record: SourceRecord, where: str) -> Iterator[Batch]:
        thread = self._thread(self._session_of(record))
        if record.get("isSidechain") is not True and thread.id_of(record.get("uuid")) not in self.links:
            read = self.queues[thread.session].read(record)
            self._count([read.found] if read.found else [])
            if read.is_copy:
                thread.add_non_turn(NonTurn("attachment/queued_command", record.get("uuid"), record.get("parentUuid")))
                return
            if read.is_next:
                record = yield from self._after_queue(thread, record, where)
        before = thread.last
        admitted = yield from thread.admit(
            record, where, essence, lambda repaired, flag: self._drafted(thread, repaired, flag, where)
        )
        if admitted is not None and admitted.is_new:
            self._remember(thread, admitted, before)
        if is_aside(record):
            thread.last = before

    def _drafted(self, thread: Thread, record: SourceRecord, flag: Flag, where: str) -> TurnDraft | NonTurn | Fault:
        content = content_of(record, flag)
        own, parent = record.get("uuid"), record.get("parentUuid")
        if isinstance(content, str):
            return NonTurn(content, own, parent)
        if content is None:
            kind = record.get("type")
            if kind in ("user", "assistant"):
                return Fault("no-message", source_id=own, parent=parent)
            return Fault("unknown-record", str(kind), own, parent, lost=holds_text(record))
        if not as_name(record.get("sessionId")):
            self.builder.note("no-session", where)
            if thread.last is None:
                self.builder.unnamed.add(thread.session)
        role, parts = content
        is_assumed = "parentUuid" not in record and record.get("isSidechain") is True and not is_aside(record)
        above: Any = LAST if is_assumed else self._above(thread, record, where)
        named = thread.last if is_aside(record) else as_name(record.get("sourceToolAssistantUUID"))
        references = (named,) if named and not self._called_in(parts) else ()
        return TurnDraft(role, parts, own, above, references, record.get("timestamp"), is_assumed=is_assumed)

    def _above(self, thread: Thread, record: SourceRecord, where: str) -> str | None:
        """Returns the parent of a record; for one that goes on from the end of compacted turns, the summary."""
        stated = record.get("parentUuid") or self._logical_parent(thread, record, where)
        parent = self.links.resolve(thread.id_of(stated))
        followed = self.boundaries.follow(parent)
        is_summary = record.get("isCompactSummary") is True  # which itself is a child of a boundary
        if followed == parent or is_summary or thread.id_of(record.get("uuid")) in self.links:
            return stated
        self.builder.note("compacted-parent", where, str(stated))
        return followed

    def _logical_parent(self, thread: Thread, record: SourceRecord, where: str) -> str | None:
        """Returns the parent of a record that names none; for a part of a compaction, the last turn (ruling 18)."""
        logical = thread.id_of(record.get("logicalParentUuid"))
        is_compaction = record.get("subtype") == BOUNDARY or record.get("isCompactSummary") is True
        is_known = self.links.resolve(logical) in self.links if logical else not is_compaction
        if is_known or (logical is None and thread.last is None):
            return logical
        self.builder.note("logical-parent", where, logical or "")
        return thread.last

    def _called_in(self, parts: tuple[Part, ...]) -> dict[str, str]:
        """Returns the calls whose results are in these parts, with their turns."""
        ids = (part.call_id for part in parts if part.type == "tool_result")
        return {call: self.calls[call] for call in ids if call in self.calls}

    def _remember(self, thread: Thread, admitted: Admitted, before: str | None) -> None:
        turn, record, draft, answered, _ = admitted
        add_facts(self.builder.facts(thread.session), record)
        self.builder.answered_by(thread.session, model_of(record))
        logical = self.links.resolve(thread.id_of(record.get("logicalParentUuid")))
        self.boundaries.add(record, turn, before, logical)
        if before is None and not draft.parent and record.get("isSidechain") is True:
            self._link(self.agents.agents.root(self._keys(record, draft), turn))
        self.agents.called(draft.parts, self._base(record), turn)
        named = thread.id_of(record.get("sourceToolAssistantUUID"))
        turns = list(answered.values()) or ([named] if named else [])
        self._link(self.agents.returned(record.get("toolUseResult"), answered, turns, self._base(record)))

    # Sessions

    def _thread(self, session: str) -> Thread:
        if session not in self.threads:
            self.threads[session] = Thread(
                self.builder, session, clock=self.clock, links=self.links, ids=self.ids, calls=self.calls
            )
        return self.threads[session]

    def _session_of(self, record: SourceRecord) -> str:
        session = as_name(record.get("sessionId")) or self.session
        if record.get("isSidechain") is not True:
            return session
        suffix = f"{SUBAGENT}{as_name(record.get('agentId')) or self._chain(record)}"
        return session if session.endswith(suffix) else session + suffix

    def _chain(self, record: SourceRecord) -> str:
        """Returns the name of an older sidechain: the first record of its chain.

        Older sidechains are in the main file and have no agent's id.
        """
        own, parent = as_name(record.get("uuid")), as_name(record.get("parentUuid"))
        chain = self.chains.get(parent or "") or own or "-"
        if own is not None:
            self.chains[own] = chain
        return chain

    # Agents

    def _base(self, record: SourceRecord) -> str:
        return base_of(as_name(record.get("sessionId")) or self.session)

    def _keys(self, record: SourceRecord, draft: TurnDraft) -> list[StarterKey]:
        """Returns the keys under which the turn that started an agent may be known, most reliable first."""
        base, agent = self._base(record), as_name(record.get("agentId"))
        keys = [agent_key("agent", base, agent)] if agent else []
        keys += [agent_key("run", base, folder) for folder in sorted(self.folders) if folder.startswith("wf_")]
        return keys + [agent_key("prompt", base, part.text) for part in draft.parts[:1] if part.text]

    def _read_progress(self, record: SourceRecord) -> None:
        agent, call = agent_of(record), as_name(record.get("parentToolUseID"))
        turn = self.calls.get(call or "") or self.agents.turns.get(call or "")
        if agent and call and turn:
            self._link(self.agents.progressed(agent, call, turn, self._base(record)))

    def _link(self, edges: Iterable[Edge]) -> None:
        for edge in edges:
            self.builder.link(edge)

    # The queue

    def _queue_operation(self, record: SourceRecord) -> None:
        session = self._session_of(record)
        operation = as_name(record.get("operation"))
        if self.queues[session].operate(operation, record.get("content"), record.get("timestamp")):
            self.builder.postpone()
        else:
            self._thread(session).add_non_turn(NonTurn(other_kind(record)))

    def _after_queue(self, thread: Thread, record: SourceRecord, where: str) -> Generator[Batch, None, SourceRecord]:
        """Adds the messages that the model got from the queue before this record, between it and its parent."""
        departed = self.queues[thread.session].take()
        if not any(each.message for each in departed):
            self._count(departed)
            return record
        yield from self._deliver(thread, departed, self._above(thread, record, where), where)
        return {**record, "parentUuid": thread.last}

    def _deliver(self, thread: Thread, departed: list[Departure], parent: Any, where: str) -> Iterator[Batch]:
        """Makes turns of messages that left the queue and are in no record."""
        for each in departed:
            if each.message is None:  # queued in another file
                self._count([each])
                continue
            message = each.message
            draft = TurnDraft(message.role, message.parts, each.source_id, parent, time=each.time)
            yield from thread.add_turn(draft, message.hash, where)
            parent = LAST

    def _count(self, departed: list[Departure]) -> None:
        """Counts records that say that a message left the queue, which has a record of its own, or did not arrive."""
        for each in departed:
            self.builder.late_other(f"queue-operation/{each.operation}")


def _time_of(line: RecordLine) -> Any:
    value = line.piece.value
    return value.get("timestamp") if isinstance(value, dict) else None
