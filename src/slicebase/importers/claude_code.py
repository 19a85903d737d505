"""Claude Code's transcripts: JSON Lines of records with `uuid` and `parentUuid`.

- `user`, `assistant` and most `system` records are turns, and so is a prompt that was typed while the agent worked (an
  `attachment` of type `queued_command`). Other records are not turns; their children become children of their parent.
- A user's record with only tool results is a turn of the tools. It refers to the turn of its call if that is not its
  parent.
- After a compaction the boundary is a child of its logical parent (ruling 18), and the summary is a turn of the system.
- A summary line is not a message: it is the title of the session that its leaf belongs to.
- A sidechain or subagent is a separate session (ruling 13), linked to the turn that started it by its agent's id, its
  workflow's run, or its prompt.
- A file may hold several sessions, copied or continued; each record names its session.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import Struct

from slicebase.graph.turn import Part
from slicebase.importers.blocks import Content, Flag, as_name, marked, only_results, parts_of
from slicebase.importers.elements import first_values
from slicebase.importers.json_stream import RecordLine, json_lines, without
from slicebase.importers.parents import LinksState, ParentLinks
from slicebase.importers.subagents import SUBAGENT, Agents, StarterKey, prompt_key
from slicebase.importers.thread import (
    BatchBuilder,
    BuilderState,
    Fault,
    NonTurn,
    SourceRecord,
    Thread,
    ThreadState,
    TurnDraft,
    read_records,
)
from slicebase.importers.times import SourceClock, start_of
from slicebase.importers.values import Batch, Format, ImportSource, Options, Read

NAME: Final = "claude-code"

# Fields that differ between a record and its copy in a resumed or forked session (ruling 15).
ESSENCE: Final = without("sessionId", "cwd", "version", "gitBranch", "slug", "forkedFrom", "entrypoint", "userType")

NO_TURNS: Final = frozenset(
    {
        "agent-name", "agent-setting", "ai-title", "attribution-snapshot", "bridge-session", "content-replacement",
        "custom-title", "file-history-delta", "file-history-snapshot", "last-prompt", "mode", "permission-mode",
        "pr-link", "progress", "queue-operation", "result", "saved_hook_context", "started", "summary", "tag",
        "task-summary", "worktree-state",
    }
)  # fmt: skip
SILENT_SYSTEM: Final = frozenset({"api_error", "api_metrics", "bridge_status", "stop_hook_summary", "turn_duration"})
# The fields with titles, by record type; the first types have precedence.
TITLES: Final = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
AGENT_TOOLS: Final = frozenset({"Agent", "Task"})
FACTS: Final = {"cwd": "cwd", "gitBranch": "git_branch", "version": "version", "agentId": "agent"}


def sniff(head: bytes, name: str) -> bool:
    return any(map(_is_record, first_values(head, name, 20)))


def _is_record(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return False
    kind = value["type"]
    if kind in ("user", "assistant", "system", "attachment"):
        return "uuid" in value and ("parentUuid" in value or "sessionId" in value)
    return kind in NO_TURNS and bool(value.keys() & _MARKS)


_MARKS: Final = frozenset({"sessionId", "uuid", "messageId", "leafUuid", "agentId"})


def start(options: Options) -> Read:
    agents = Agents()

    def read(source: ImportSource) -> Iterator[Batch]:
        transcript = Transcript(source.name, options, agents)
        yield from transcript.read(source.chunks)
        yield from transcript.finish()

    return read


FORMAT: Final = Format(NAME, sniff, start)


# The content of a record


def _content(record: SourceRecord, flag: Flag) -> Content | str | None:
    """Returns role and parts of a turn, or the kind of a record that is not a turn.

    Returns None for a record that should hold a turn and does not, and for one of an unknown type.
    """
    kind = record.get("type")
    if kind in ("user", "assistant"):
        return _message(record, kind, flag)
    if kind == "system":
        return _system(record)
    return _attachment(record, flag) if kind == "attachment" else None


def _message(record: SourceRecord, kind: str, flag: Flag) -> Content | None:
    message = record.get("message")
    if not isinstance(message, dict) or "content" not in message:
        return None
    parts = tuple(parts_of(message["content"], flag))
    if kind == "assistant":
        return "assistant", marked(parts, error=record.get("isApiErrorMessage") is True)
    parts = marked(parts, hidden=record.get("isMeta") is True)
    if record.get("isCompactSummary") is True:
        return "system", marked(parts, summary=True)
    return "tool" if only_results(parts) else "user", parts


def _system(record: SourceRecord) -> Content | str:
    subtype = as_name(record.get("subtype")) or "-"
    content = record.get("content")
    if subtype in SILENT_SYSTEM or not isinstance(content, str) or not content:
        return f"system/{subtype}"
    return "system", marked((Part("text", text=content),), hidden=record.get("isMeta") is True)


def _attachment(record: SourceRecord, flag: Flag) -> Content | str:
    attachment = record.get("attachment")
    if not isinstance(attachment, dict):
        return "attachment/-"
    if attachment.get("type") != "queued_command" or not attachment.get("prompt"):
        return f"attachment/{as_name(attachment.get('type')) or '-'}"
    typed = attachment.get("commandMode", "prompt") == "prompt" and attachment.get("isMeta") is not True
    return "user" if typed else "system", tuple(parts_of(attachment["prompt"], flag))


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
    starters: list[tuple[StarterKey, str]]
    waiting: list[tuple[StarterKey, list[str]]]


class Transcript:
    """The reader of one file. With a state, it continues after the line at which the state was saved."""

    def __init__(
        self, name: str, options: Options, agents: Agents | None = None, state: TranscriptState | None = None
    ) -> None:
        self.name = name
        self.session = options.session or ImportSource(name, ()).stem  # for records that name none
        self.clock = SourceClock()
        self.builder = BatchBuilder(NAME)
        if state is None:
            self.agents = agents or Agents()
            self.lines = 0
            self.links = ParentLinks()
            self.ids: dict[str, str] = {}
            self.threads: dict[str, Thread] = {}
            self.chains: dict[str, str] = {}  # sidechain records without an agent's id: the first of their chain
            self.calls: dict[str, str] = {}  # tool calls without a result yet, with their turns
            self.summaries: dict[str, str] = {}  # by leaf
            self.weights: dict[str, int] = {}  # the precedence of each session's title
        else:
            self._restore(state)

    def _restore(self, state: TranscriptState) -> None:
        self.agents = Agents(state.starters, state.waiting)
        self.lines, self.clock.now = state.lines, state.now
        self.links = ParentLinks(state.links)
        self.builder.restore(state.builder)
        self.ids, self.chains, self.calls = state.ids, state.chains, state.calls
        self.summaries, self.weights = state.summaries, state.weights
        self.threads = {}
        for session, known in state.threads.items():
            self._thread(session).restore(known)

    @property
    def state(self) -> TranscriptState:
        """The state from which another reader can continue. Call `flush` first."""
        starters, waiting = self.agents.known
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
            starters=starters,
            waiting=waiting,
        )

    def read(self, chunks: Iterable[bytes]) -> Iterator[Batch]:
        """Yields the batches of complete lines."""
        is_start = not self.lines
        lines: Iterable[RecordLine] = json_lines(ImportSource(self.name, self._counted(chunks)), _is_record, self.lines)
        if is_start:
            self.clock.now, lines = start_of(lines, _time_of)
        yield from read_records(self.builder, lines, self._record)

    def flush(self) -> Iterator[Batch]:
        """Yields what was read and is not in a batch yet. After it, the state can be saved."""
        for thread in self._threads_with_turns():
            self.builder.facts(thread.session)["shown_last"] = thread.last
        yield from self.builder.flush()

    def finish(self) -> Iterator[Batch]:
        """Yields the last batches, with the facts that are known only at the end of the file."""
        threads = self._threads_with_turns()
        for thread in threads:
            self.builder.facts(thread.session)["shown_last"] = thread.last
            if thread.last in self.summaries:
                self._title(thread.session, "summary", self.summaries.pop(thread.last))
        if self.summaries and threads:  # their leaves are not the last turns of this file
            self.builder.facts(threads[0].session)["summaries"] = self.summaries
        yield from self.builder.close()

    def _threads_with_turns(self) -> list[Thread]:
        return [thread for thread in self.threads.values() if thread.last is not None]

    def _counted(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self.lines += chunk.count(b"\n")
            yield chunk

    def _record(self, record: SourceRecord, line: RecordLine) -> Iterator[Batch]:
        thread = self._thread(self._session_of(record))
        kind = as_name(record.get("type"))
        if kind in NO_TURNS:
            thread.add_non_turn(NonTurn(kind, record.get("uuid"), record.get("parentUuid")))
            self._read_metadata(record)
            return
        drafts: list[tuple[SourceRecord, TurnDraft]] = []

        def build(repaired: SourceRecord, flag: Flag) -> TurnDraft | NonTurn | Fault:
            drafted = self._drafted(thread, repaired, flag, line.where)
            if isinstance(drafted, TurnDraft):
                drafts.append((repaired, drafted))
            return drafted

        is_first = thread.last is None
        yield from thread.admit(record, line.where, ESSENCE, build)
        for repaired, draft in drafts:
            self._remember(thread, repaired, draft, is_first=is_first)

    def _drafted(self, thread: Thread, record: SourceRecord, flag: Flag, where: str) -> TurnDraft | NonTurn | Fault:
        content = _content(record, flag)
        own, parent = record.get("uuid"), record.get("parentUuid")
        if isinstance(content, str):
            return NonTurn(content, own, parent)
        if content is None:
            kind = record.get("type")
            if kind in ("user", "assistant"):
                return Fault("no-message", source_id=own, parent=parent)
            lost = "message" in record or "content" in record
            return Fault("unknown-record", str(kind), own, parent, lost=lost)
        if not as_name(record.get("sessionId")):
            self.builder.note("no-session", where)
            if thread.last is None:
                self.builder.unnamed.add(thread.session)
        role, parts = content
        above = parent or self._logical_parent(thread, record, where)
        return TurnDraft(role, parts, own, above, self._references(record, parts), record.get("timestamp"))

    def _logical_parent(self, thread: Thread, record: SourceRecord, where: str) -> str | None:
        logical = thread.id_of(record.get("logicalParentUuid"))
        if logical is None or self.links.resolve(logical) in self.links:
            return logical
        self.builder.note("logical-parent", where, logical)
        return thread.last

    def _references(self, record: SourceRecord, parts: tuple[Part, ...]) -> tuple[str, ...]:
        """Returns the turn of the call, if only the record itself names it."""
        named = as_name(record.get("sourceToolAssistantUUID"))
        calls = [
            self.calls[part.call_id] for part in parts if part.type == "tool_result" and part.call_id in self.calls
        ]
        self._started_by_result(record, calls or ([named] if named else []))
        return (named,) if named and not calls else ()

    def _remember(self, thread: Thread, record: SourceRecord, draft: TurnDraft, *, is_first: bool) -> None:
        turn = thread.last or ""
        facts = self.builder.facts(thread.session)
        for field, fact in FACTS.items():
            if fact not in facts and as_name(record.get(field)):
                facts[fact] = record[field]
        if is_first and not draft.parent and record.get("isSidechain") is True:
            self._root(record, draft, turn)
        for part in draft.parts:
            if part.type == "tool_call" and part.name in AGENT_TOOLS and isinstance(part.arguments, dict):
                self._started(prompt_key(self._base(record), part.arguments.get("prompt")), turn)

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

    def _started_by_result(self, record: SourceRecord, turns: list[str]) -> None:
        result = record.get("toolUseResult")
        if not isinstance(result, dict) or not turns:
            return
        for field, kind in (("agentId", "agent"), ("runId", "run")):
            name = as_name(result.get(field))
            if name is not None:
                self._started((kind, self._base(record), name), turns[0])

    # Records that are not turns

    def _read_metadata(self, record: SourceRecord) -> None:
        kind = record["type"]
        title = as_name(record.get(TITLES[kind])) if kind in TITLES else None
        if kind == "summary" and title:
            self.summaries[str(record.get("leafUuid")).lower()] = title
        elif title:
            self._title(as_name(record.get("sessionId")) or self.session, kind, title)
        elif kind == "progress" and isinstance(data := record.get("data"), dict):
            agent, call = as_name(data.get("agentId")), as_name(record.get("parentToolUseID"))
            if agent and call in self.calls:
                self._started(("agent", self._base(record), agent), self.calls[call])

    def _title(self, session: str, kind: str, title: str) -> None:
        weight = list(TITLES).index(kind)
        if weight <= self.weights.get(session, weight):
            self.weights[session] = weight
            self.builder.title(session, title)


def _time_of(line: RecordLine) -> Any:
    value = line.piece.value
    return value.get("timestamp") if isinstance(value, dict) else None
