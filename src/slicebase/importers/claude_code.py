"""Claude Code's transcripts: JSON Lines of records with `uuid` and `parentUuid`.

- `user`, `assistant` and most `system` records are turns, and so is a prompt that was typed while the agent worked (an
  `attachment` of type `queued_command`). The rest is known to be no turn; what hangs on it hangs on its parent.
- A user's record of tool results only is the tools' turn; it refers to its call's turn where that is not its parent.
- After a compaction the boundary hangs on its logical parent (ruling 18), and the summary is the system's turn.
- A summary line is no message: it is the title of the session that its leaf belongs to.
- A sidechain or subagent is a session of its own (ruling 13), linked to the turn that started it: by its agent's id, by
  its workflow's run, or by its prompt.
- A file may hold several sessions, copied or continued; a record says which one it is of.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from slicebase.core.digests import digest
from slicebase.core.ids import is_uuid, turn_id
from slicebase.errors import SlicebaseError
from slicebase.graph.turn import Edge, Part, Role, Turn
from slicebase.importers.blocks import Flag, as_name, as_text, only_results, parts_of
from slicebase.importers.collecting import Desk
from slicebase.importers.jsonlines import Line, json_lines
from slicebase.importers.jsonvalues import fingerprint
from slicebase.importers.links import Links
from slicebase.importers.moments import Clock, start_of
from slicebase.importers.values import Batch, Format, Options, Read, Source

NAME: Final = "claude-code"

# What differs between a record and its copy in a resumed or forked session (ruling 15).
LEFT_OUT: Final = frozenset(
    {"sessionId", "cwd", "version", "gitBranch", "slug", "forkedFrom", "entrypoint", "userType"}
)

NO_TURNS: Final = frozenset(
    {
        "agent-name", "agent-setting", "ai-title", "attribution-snapshot", "bridge-session", "content-replacement",
        "custom-title", "file-history-delta", "file-history-snapshot", "last-prompt", "mode", "permission-mode",
        "pr-link", "progress", "queue-operation", "result", "saved_hook_context", "started", "summary", "tag",
        "task-summary", "worktree-state",
    }
)  # fmt: skip
SILENT_SYSTEM: Final = frozenset({"api_error", "api_metrics", "bridge_status", "stop_hook_summary", "turn_duration"})
# Where titles stand, the weightiest first.
TITLES: Final = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
AGENT_TOOLS: Final = frozenset({"Agent", "Task"})
FACTS: Final = {"cwd": "cwd", "gitBranch": "git_branch", "version": "version", "agentId": "agent"}

Record = dict[str, Any]
Key = tuple[str, ...]


class Draft(NamedTuple):
    """What a record says, before it has an id and a place."""

    role: Role
    parts: tuple[Part, ...]


def sniff(head: bytes, name: str) -> bool:
    """The first lines that are objects look like a transcript's."""
    lines = json_lines(Source(name, [head]), _is_record)
    values = [line.piece.value for _, line in zip(range(20), lines, strict=False) if isinstance(line.piece.value, dict)]
    return any(_is_record(value) for value in values)


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
    return lambda source: _File(source, options, agents).read()


FORMAT: Final = Format(NAME, sniff, start)


# --- what a record says


def _draft(record: Record, flag: Flag) -> Draft | str | None:
    """The turn in a record; the kind of a record that is known to be none; None where it should hold a turn."""
    kind = record.get("type")
    if kind in ("user", "assistant"):
        return _message(record, kind, flag)
    if kind == "system":
        return _system(record)
    if kind == "attachment":
        return _attachment(record, flag)
    return kind if kind in NO_TURNS else None


def _message(record: Record, kind: str, flag: Flag) -> Draft | None:
    message = record.get("message")
    if not isinstance(message, dict) or "content" not in message:
        return None
    parts = tuple(parts_of(message["content"], flag))
    if kind == "assistant":
        return Draft("assistant", _marked(parts, error=record.get("isApiErrorMessage") is True))
    parts = _marked(parts, hidden=record.get("isMeta") is True)
    if record.get("isCompactSummary") is True:
        return Draft("system", parts)
    return Draft("tool" if only_results(parts) else "user", parts)


def _marked(parts: tuple[Part, ...], **marks: bool) -> tuple[Part, ...]:
    return tuple(replace(part, **marks) for part in parts) if any(marks.values()) else parts


def _system(record: Record) -> Draft | str:
    subtype = as_name(record.get("subtype")) or "-"
    content = record.get("content")
    if subtype in SILENT_SYSTEM or not isinstance(content, str) or not content:
        return f"system/{subtype}"
    return Draft("system", _marked((Part("text", text=content),), hidden=record.get("isMeta") is True))


def _attachment(record: Record, flag: Flag) -> Draft | str:
    attachment = record.get("attachment")
    if not isinstance(attachment, dict):
        return "attachment/-"
    if attachment.get("type") != "queued_command" or not attachment.get("prompt"):
        return f"attachment/{as_name(attachment.get('type')) or '-'}"
    typed = attachment.get("commandMode", "prompt") == "prompt" and attachment.get("isMeta") is not True
    return Draft("user" if typed else "system", tuple(parts_of(attachment["prompt"], flag)))


# --- which turn started which agent


class Agents:
    """Joins the roots of agents' sessions with the turns that started them, whichever is read first."""

    def __init__(self) -> None:
        self._starters: dict[Key, str] = {}
        self._waiting: dict[Key, list[str]] = {}

    def started(self, key: Key, turn: str) -> Iterator[Edge]:
        """A turn that started the agent, the run or the agent with a prompt that the key names."""
        self._starters[key] = turn
        roots = self._waiting.pop(key, [])
        for root in roots:
            yield Edge(turn, root, "reference")
        for waiting in self._waiting.values():
            waiting[:] = [root for root in waiting if root not in roots]

    def root(self, keys: list[Key], root: str) -> Iterator[Edge]:
        """The first turn of an agent's session, and the keys by which its starter may be known, surest first."""
        for key in keys:
            if key in self._starters:
                yield Edge(self._starters[key], root, "reference")
                return
        for key in keys:
            self._waiting.setdefault(key, []).append(root)


def _prompt_key(session: str, prompt: Any) -> Key:
    return ("prompt", session, digest(as_text(prompt).strip().encode()))


# --- one file


class _File:
    def __init__(self, source: Source, options: Options, agents: Agents) -> None:
        self.source = source
        self.agents = agents
        self.session = options.session or source.stem  # of records that name none
        self.desk = Desk(NAME)
        self.links = Links()
        self.clock = Clock()
        self.ids: dict[str, str] = {}  # turn ids of source ids that are no UUIDs
        self.chains: dict[str, str] = {}  # of sidechain records without an agent's id: the chain's first record
        self.calls: dict[str, str] = {}  # of each tool call without a result yet: its turn
        self.last: dict[str, str] = {}  # of each session: its last turn
        self.positions: Counter[str] = Counter()
        self.summaries: dict[str, str] = {}  # by the leaf that they are about
        self.weights: dict[str, int] = {}  # of each session's title

    def read(self) -> Iterator[Batch]:
        self.clock.now, lines = start_of(json_lines(self.source, _is_record), _time_of)
        for line in lines:
            self.desk.record(line.size)
            value = line.piece.value
            if line.kind is not None:
                self.desk.other(line.kind)
            elif line.piece.problem is not None:
                self.desk.skip(line.piece.problem, line.where, line.piece.detail)
            elif not isinstance(value, dict):
                self.desk.skip("not-object", line.where)
            else:
                yield from self._record(value, line)
            yield from self.desk.relieve()
        yield from self._close()

    def _record(self, record: Record, line: Line) -> Iterator[Batch]:
        try:
            record, source_hash, repairs = fingerprint(record, LEFT_OUT)
        except SlicebaseError as error:
            self._bridge(record)
            self.desk.skip("no-canonical-form", line.where, error.message)
            return
        for reason in (*line.piece.repairs, *repairs):
            self.desk.note("repaired", reason, line.where)
        draft = _draft(record, lambda reason, detail: self.desk.note("flattened", reason, line.where, detail))
        if isinstance(draft, Draft):
            yield from self.desk.turn(self._turn(record, draft, source_hash, line.where))
            return
        self._bridge(record)
        if draft is None:
            self._skip(record, line.where)
        else:
            self.desk.other(draft)
            self._learn(record)

    def _skip(self, record: Record, where: str) -> None:
        kind = record.get("type")
        if kind in ("user", "assistant"):
            self.desk.skip("no-message", where)
        else:
            lost = "message" in record or "content" in record
            self.desk.skip("unknown-record", where, str(kind)[:100], lost=lost)

    # --- turns

    def _turn(self, record: Record, draft: Draft, source_hash: str, where: str) -> Turn:
        session = self._session_of(record, where)
        turn = self._own_id(record, session, where)
        time, guessed = self.clock.read(record.get("timestamp"))
        if guessed:
            self.desk.note("repaired", "no-time", where)
        parent = self._parent_id(record, session, where)
        parents, dropped = self.links.join(turn, parent, self._references(record, draft, session))
        for known in dropped:
            self.desk.note("repaired", "cycle", where, known)
        if session not in self.last and not parents and record.get("isSidechain") is True:
            self._root(record, draft, turn)
        self._remember(record, draft, session, turn)
        return Turn(turn, session, draft.role, draft.parts, time, parents, source_hash)

    def _session_of(self, record: Record, where: str) -> str:
        session = as_name(record.get("sessionId"))
        if session is None:
            self.desk.note("repaired", "no-session", where)
            session = self.session
        if record.get("isSidechain") is not True:
            return session
        agent = as_name(record.get("agentId")) or self._chain(record)
        suffix = f"#agent-{agent}"
        return session if session.endswith(suffix) else session + suffix

    def _chain(self, record: Record) -> str:
        """Older sidechains stand in the main file and carry no agent's id: the chain's first record names them."""
        own, parent = as_name(record.get("uuid")), as_name(record.get("parentUuid"))
        chain = self.chains.get(parent or "") or own or "-"
        if own is not None:
            self.chains[own] = chain
        return chain

    def _own_id(self, record: Record, session: str, where: str) -> str:
        position = self.positions[session]
        self.positions[session] += 1
        own = as_name(record.get("uuid"))
        if own is None:
            self.desk.note("repaired", "no-id", where)
            return turn_id(NAME, session, position)
        if is_uuid(own):
            return own.lower()
        return self.ids.setdefault(own, turn_id(NAME, session, own))

    def _id(self, source_id: Any, session: str) -> str | None:
        known = as_name(source_id)
        if known is None:
            return None
        return known.lower() if is_uuid(known) else self.ids.get(known) or turn_id(NAME, session, known)

    def _parent_id(self, record: Record, session: str, where: str) -> str | None:
        parent = self._id(record.get("parentUuid"), session)
        logical = self._id(record.get("logicalParentUuid"), session)
        if parent is not None or logical is None:
            return parent
        if self.links.resolve(logical) in self.links:
            return logical
        self.desk.note("repaired", "logical-parent", where, logical)
        return self.last.get(session)

    def _references(self, record: Record, draft: Draft, session: str) -> list[str]:
        """The turns of the calls whose results these are."""
        named = self._id(record.get("sourceToolAssistantUUID"), session)
        results = [part.call_id for part in draft.parts if part.type == "tool_result" and part.call_id]
        called = [turn for call in results if (turn := self.calls.pop(call, None)) is not None]
        turns = called or ([named] if named else [])
        self._started_by_result(record, turns)
        return turns

    def _remember(self, record: Record, draft: Draft, session: str, turn: str) -> None:
        facts = self.desk.facts(session)
        for field, fact in FACTS.items():
            if fact not in facts and as_name(record.get(field)):
                facts[fact] = record[field]
        self.last[session] = turn
        for part in draft.parts:
            if part.type == "tool_call" and part.call_id:
                self.calls[part.call_id] = turn
                if part.name in AGENT_TOOLS and isinstance(part.arguments, dict):
                    self._started(_prompt_key(self._base(record), part.arguments.get("prompt")), turn)

    # --- agents

    def _base(self, record: Record) -> str:
        return (as_name(record.get("sessionId")) or self.session).partition("#agent-")[0]

    def _root(self, record: Record, draft: Draft, turn: str) -> None:
        base = self._base(record)
        agent = as_name(record.get("agentId"))
        keys: list[Key] = [("agent", base, agent)] if agent else []
        keys += [("run", base, folder) for folder in self.source.name.split("/")[:-1] if folder.startswith("wf_")]
        keys += [_prompt_key(base, part.text) for part in draft.parts[:1] if part.text]
        for edge in self.agents.root(keys, turn):
            self.desk.link(edge)

    def _started(self, key: Key, turn: str) -> None:
        for edge in self.agents.started(key, turn):
            self.desk.link(edge)

    def _started_by_result(self, record: Record, turns: list[str]) -> None:
        result = record.get("toolUseResult")
        if not isinstance(result, dict) or not turns:
            return
        for field, kind in (("agentId", "agent"), ("runId", "run")):
            name = as_name(result.get(field))
            if name is not None:
                self._started((kind, self._base(record), name), turns[0])

    # --- records that are no turns

    def _bridge(self, record: Record) -> None:
        own = as_name(record.get("uuid"))
        if own is None:
            return
        if record.get("isSidechain") is True and not record.get("agentId"):
            self._chain(record)
        session = self._base(record)
        for edge in self.links.bridge(self._id(own, session) or own, self._id(record.get("parentUuid"), session)):
            self.desk.link(edge)

    def _learn(self, record: Record) -> None:
        """What a record that is no turn says about its session."""
        kind = record["type"]
        session = as_name(record.get("sessionId")) or self.session
        title = as_name(record.get(TITLES.get(kind, "")))
        if kind == "summary" and title:
            self.summaries[str(record.get("leafUuid")).lower()] = title
        elif title:
            self._title(session, kind, title)
        elif kind == "progress" and isinstance(data := record.get("data"), dict):
            agent, call = as_name(data.get("agentId")), as_name(record.get("parentToolUseID"))
            if agent and call in self.calls:
                self._started(("agent", self._base(record), agent), self.calls[call])

    def _title(self, session: str, kind: str, title: str) -> None:
        weight = list(TITLES).index(kind)
        if weight <= self.weights.get(session, weight):
            self.weights[session] = weight
            self.desk.title(session, title)

    def _close(self) -> Iterator[Batch]:
        for session, turn in self.last.items():
            self.desk.facts(session)["shown_last"] = turn
            if turn in self.summaries:
                self._title(session, "summary", self.summaries.pop(turn))
        if self.summaries and self.last:
            first = next(iter(self.last))
            self.desk.facts(first)["summaries"] = self.summaries  # of leaves that are not this file's last turns
        yield from self.desk.close()


def _time_of(line: Line) -> Any:
    value = line.piece.value
    return value.get("timestamp") if isinstance(value, dict) else None
