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

from collections.abc import Generator, Iterable, Iterator
from typing import Any, Final

from msgspec import Struct

from slicebase.graph.turn import Part
from slicebase.importers.batches import BatchBuilder, BuilderState
from slicebase.importers.blocks import Flag, as_name
from slicebase.importers.boundaries import Boundaries, BoundaryState
from slicebase.importers.claude_records import (
    BOUNDARY,
    NO_TURNS,
    SILENT,
    agent_of,
    content_of,
    essence,
    is_aside,
    is_record,
    other_kind,
    record_inside,
)
from slicebase.importers.elements import json_records
from slicebase.importers.json_stream import RecordLine, json_lines
from slicebase.importers.parents import LinksState, ParentLinks
from slicebase.importers.queued import MessageQueue, QueueState
from slicebase.importers.silence import holds_text, settle, without_turn
from slicebase.importers.subagents import SUBAGENT, Agents, prompt_key
from slicebase.importers.thread import LAST, Fault, NonTurn, SourceRecord, Thread, ThreadState, TurnDraft, read_records
from slicebase.importers.times import SourceClock, start_of
from slicebase.importers.values import Batch, Format, Head, ImportSource, KnownAgents, Options, Read, StarterKey

NAME: Final = "claude-code"

# The fields with titles, by record type; the first types have precedence.
TITLES: Final = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
AGENT_TOOLS: Final = frozenset({"Agent", "Task"})
FACTS: Final = {"cwd": "cwd", "gitBranch": "git_branch", "version": "version", "agentId": "agent"}


def sniff(head: Head) -> bool:
    return any(map(is_record, head.records))


def start(options: Options) -> Read:
    def read(source: ImportSource) -> Iterator[Batch]:
        transcript = Transcript(source.name, options)
        yield from transcript.read(source.chunks)
        yield from transcript.finish()

    return read


FORMAT: Final = Format(NAME, sniff, start)


# One file


class TranscriptState(Struct):
    """The state of a transcript's reader after a line, without the batches it has yielded: ids, never content."""

    lines: int
    now: int
    links: LinksState
    ids: dict[str, str]
    threads: dict[str, ThreadState]
    chains: dict[str, str]
    calls: dict[str, str]
    summaries: dict[str, str]
    weights: dict[str, int]
    builder: BuilderState
    agents: KnownAgents
    boundaries: BoundaryState
    prompts: dict[str, tuple[StarterKey, str]]
    queues: dict[str, QueueState]


class Transcript:
    """The reader of one file. With a state, it continues after the line at which the state was saved."""

    def __init__(self, name: str, options: Options, state: TranscriptState | None = None) -> None:
        self.name = name
        self.session = options.session or ImportSource(name, ()).stem  # for records that name none
        self.clock = SourceClock()
        self.builder = BatchBuilder(NAME)
        if state is None:
            self.agents = Agents()
            self.lines = 0
            self.links = ParentLinks()
            self.ids: dict[str, str] = {}
            self.threads: dict[str, Thread] = {}
            self.chains: dict[str, str] = {}  # sidechain records without an agent's id: the first of their chain
            self.calls: dict[str, str] = {}  # tool calls without a result yet, with their turns
            self.summaries: dict[str, str] = {}  # by leaf
            self.weights: dict[str, int] = {}  # the precedence of each session's title
            self.boundaries = Boundaries(self.links)
            self.prompts: dict[str, tuple[StarterKey, str]] = {}  # of calls that start an agent whose id is not known
            self.queues: dict[str, MessageQueue] = {}  # by session
        else:
            self._restore(state)

    def _restore(self, state: TranscriptState) -> None:
        self.agents = Agents(state.agents)
        self.lines, self.clock.now = state.lines, state.now
        self.links = ParentLinks(state.links)
        self.builder.restore(state.builder)
        self.ids, self.chains, self.calls = state.ids, state.chains, state.calls
        self.summaries, self.weights = state.summaries, state.weights
        self.boundaries = Boundaries(self.links, state.boundaries)
        self.prompts = state.prompts
        self.queues = {session: MessageQueue(queue) for session, queue in state.queues.items()}
        self.threads = {}
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
            summaries=self.summaries,
            weights=self.weights,
            builder=self.builder.state,
            agents=self.agents.known,
            boundaries=self.boundaries.state,
            prompts=self.prompts,
            queues={session: queue.state for session, queue in self.queues.items()},
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
        for thread in self._threads_with_turns():
            self.builder.facts(thread.session)["shown_last"] = thread.last
        yield from self.builder.flush()

    def finish(self, *, is_growing: bool = False) -> Iterator[Batch]:
        """Yields the last batches, with the facts that are known only at the end of the file."""
        for session in () if is_growing else tuple(self.queues):
            yield from self._deliver(self._thread(session), LAST, self.name)
        for call in () if is_growing else tuple(self.prompts):
            self._started(*self.prompts.pop(call))
        threads = self._threads_with_turns()
        for thread in threads:
            self.builder.facts(thread.session)["shown_last"] = thread.last
            if thread.last in self.summaries:
                self._title(thread.session, "summary", self.summaries.pop(thread.last))
        if self.summaries and threads:  # their leaves are not the last turns of this file
            self.builder.facts(threads[0].session)["summaries"] = self.summaries
        yield from self.builder.close()
        if any(known := self.agents.known):
            yield Batch(None, agents=known)

    def _threads_with_turns(self) -> list[Thread]:
        return [thread for thread in self.threads.values() if thread.last is not None]

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
        self._read_metadata(record)
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
        drafts: list[tuple[SourceRecord, TurnDraft]] = []

        def build(repaired: SourceRecord, flag: Flag) -> TurnDraft | NonTurn | Fault:
            drafted = self._drafted(thread, repaired, flag, where)
            if isinstance(drafted, TurnDraft):
                drafts.append((repaired, drafted))
            return drafted

        if record.get("type") == "assistant" or record.get("subtype") == BOUNDARY:
            record = yield from self._after_queue(thread, record, where)
        before = thread.last
        yield from thread.admit(record, where, essence, build)
        for repaired, draft in drafts:
            self._remember(thread, repaired, draft, before=before)
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
        references = (thread.last,) if is_aside(record) else self._references(record, parts)
        return TurnDraft(role, parts, own, above, references, record.get("timestamp"), is_assumed=is_assumed)

    def _above(self, thread: Thread, record: SourceRecord, where: str) -> str | None:
        """Returns the parent of a record; for one that goes on from the end of compacted turns, the summary."""
        stated = record.get("parentUuid") or self._logical_parent(thread, record, where)
        parent = self.links.resolve(thread.id_of(stated))
        followed = self.boundaries.follow(parent)
        if followed == parent or record.get("subtype") == BOUNDARY:
            return stated
        self.builder.note("compacted-parent", where, str(stated))
        return followed

    def _logical_parent(self, thread: Thread, record: SourceRecord, where: str) -> str | None:
        logical = thread.id_of(record.get("logicalParentUuid"))
        is_known = self.links.resolve(logical) in self.links if logical else record.get("subtype") != BOUNDARY
        if is_known or (logical is None and thread.last is None):
            return logical
        self.builder.note("logical-parent", where, logical or "")
        return thread.last

    def _references(self, record: SourceRecord, parts: tuple[Part, ...]) -> tuple[str, ...]:
        """Returns the turn of the call, if only the record itself names it."""
        named = as_name(record.get("sourceToolAssistantUUID"))
        ids = [part.call_id for part in parts if part.type == "tool_result" and part.call_id in self.calls]
        calls = [self.calls[call] for call in ids]
        self._started_by_result(record, calls or ([named] if named else []), ids)
        return (named,) if named and not calls else ()

    def _remember(self, thread: Thread, record: SourceRecord, draft: TurnDraft, *, before: str | None) -> None:
        turn, is_first = thread.last or "", before is None
        facts = self.builder.facts(thread.session)
        for field, fact in FACTS.items():
            if fact not in facts and as_name(record.get(field)):
                facts[fact] = record[field]
        logical = self.links.resolve(thread.id_of(record.get("logicalParentUuid")))
        self.boundaries.add(record, turn, before, logical)
        if record.get("type") in ("user", "attachment") and thread.session in self.queues:
            for _ in range(self.queues[thread.session].arrived(draft.parts)):
                self.builder.record()
                self.builder.other("queue-operation/remove")
        if is_first and not draft.parent and record.get("isSidechain") is True:
            self._root(record, draft, turn)
        for part in draft.parts:
            if part.type == "tool_call" and part.name in AGENT_TOOLS and isinstance(part.arguments, dict):
                self.prompts[part.call_id or turn] = prompt_key(self._base(record), part.arguments.get("prompt")), turn

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

    def _base(self, record: SourceRecord) -> str:
        return (as_name(record.get("sessionId")) or self.session).partition(SUBAGENT)[0]

    # Agents

    def _root(self, record: SourceRecord, draft: TurnDraft, turn: str) -> None:
        base = self._base(record)
        agent = as_name(record.get("agentId"))
        keys: list[StarterKey] = [("agent", base, agent)] if agent else []
        keys += [("run", base, folder) for folder in self.name.split("/")[:-1] if folder.startswith("wf_")]
        keys += [prompt_key(base, part.text) for part in draft.parts[:1] if part.text]
        for edge in self.agents.root(keys, turn):
            self.builder.link(edge)

    def _started(self, key: StarterKey, turn: str) -> None:
        for edge in self.agents.started(key, turn):
            self.builder.link(edge)

    def _started_by_result(self, record: SourceRecord, turns: list[str], calls: list[str]) -> None:
        """Links an agent to its call by the id in the result; where the result has none, by the prompt."""
        result = record.get("toolUseResult")
        prompts = [self.prompts.pop(call) for call in calls if call in self.prompts]
        for field, kind in (("agentId", "agent"), ("runId", "run")):
            name = as_name(result.get(field)) if isinstance(result, dict) else None
            if name is not None and turns:
                self._started((kind, self._base(record), name), turns[0])
                prompts = []
        for key, turn in prompts:
            self._started(key, turn)

    # The queue

    def _queue_operation(self, record: SourceRecord) -> None:
        session = self._session_of(record)
        queue = self.queues.setdefault(session, MessageQueue())
        if queue.operate(record.get("operation"), record.get("content"), record.get("timestamp")):
            self.builder.postpone()
        else:
            self._thread(session).add_non_turn(NonTurn(other_kind(record)))

    def _after_queue(self, thread: Thread, record: SourceRecord, where: str) -> Generator[Batch, None, SourceRecord]:
        """Adds the messages that the model got from the queue before this record, between it and its parent."""
        if thread.session not in self.queues or not self.queues[thread.session].state.held:
            return record
        yield from self._deliver(thread, self._above(thread, record, where), where)
        return {**record, "parentUuid": thread.last}

    def _deliver(self, thread: Thread, parent: Any, where: str) -> Iterator[Batch]:
        for message in self.queues[thread.session].take():
            source = f"queued {message.time} {message.hash}"
            draft = TurnDraft(message.role, message.parts, source, parent, time=message.time)
            yield from thread.add_turn(draft, message.hash, where)
            parent = LAST

    # Records that are not turns

    def _read_metadata(self, record: SourceRecord) -> None:
        kind = record["type"]
        title = as_name(record.get(TITLES[kind])) if kind in TITLES else None
        if kind == "summary" and title:
            self.summaries[str(record.get("leafUuid")).lower()] = title
        elif title:
            self._title(as_name(record.get("sessionId")) or self.session, kind, title)
        elif agent := agent_of(record):
            call = as_name(record.get("parentToolUseID"))
            if call in self.calls:
                self.prompts.pop(call, None)
                self._started(("agent", self._base(record), agent), self.calls[call])

    def _title(self, session: str, kind: str, title: str) -> None:
        weight = list(TITLES).index(kind)
        if weight <= self.weights.get(session, weight):
            self.weights[session] = weight
            self.builder.title(session, title)


def _time_of(line: RecordLine) -> Any:
    value = line.piece.value
    return value.get("timestamp") if isinstance(value, dict) else None
