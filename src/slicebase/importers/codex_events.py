"""Events of Codex's rollouts: what they show on the screen, which an item of the rollout usually says to the model.

An event whose text no item near it has is a turn of its own: in rollouts that have only events, and where nothing else
holds what the model saw, as the results of a search on the server. Which event has an item is decided for each text.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from msgspec import Struct

from slicebase.core.hashing import canonical, raw_digest
from slicebase.graph.turn import Part, Role
from slicebase.importers.blocks import Content, as_name, as_objects, as_text, marked, text_parts
from slicebase.importers.json_stream import LinePlace, RecordLine, repaired
from slicebase.importers.silence import is_text

CodexEvent = dict[str, Any]

# Events without text for a model: the client's own, and those whose text is in a call or in the result of one.
SILENT_EVENTS: Final = frozenset(
    f"event_msg/{kind}"
    for kind in (
        "account/rateLimits/updated", "background_event", "collab_agent_interaction_begin",
        "collab_agent_interaction_end", "collab_agent_spawn_begin", "collab_agent_spawn_end", "collab_close_begin",
        "collab_close_end", "collab_resume_begin", "collab_resume_end", "collab_waiting_begin", "collab_waiting_end",
        "context_compacted", "deprecation_notice", "dynamic_tool_call_request", "dynamic_tool_call_response", "error",
        "exec_command_begin", "exec_command_end", "guardian_assessment", "image_generation_end", "mcp_tool_call_begin",
        "mcp_tool_call_end", "patch_apply_begin", "patch_apply_end", "plan_update", "stream_error",
        "sub_agent_activity", "task_complete", "task_started", "thread_name_updated", "thread_rolled_back",
        "thread_settings_applied", "token_count", "turn.completed", "turn_aborted", "turn_complete", "turn_diff",
        "turn_started", "undo_completed", "view_image_tool_call", "warning",
    )
)  # fmt: skip
# The same for the items of `item_completed`.
_SILENT_ITEMS: Final = frozenset(
    {
        "CollabAgentToolCall", "CommandExecution", "ContextCompaction", "DynamicToolCall", "FileChange",
        "ImageGeneration", "ImageView", "McpToolCall", "Sleep", "SubAgentActivity",
    }
)  # fmt: skip


def event_kind(event: CodexEvent) -> str:
    """Returns the name of an event, as accounts show it."""
    return f"event_msg/{as_text(event.get('type'))}"


def is_silent(event: CodexEvent) -> bool:
    """Returns whether an event is known to have no text for a model, or to have been read."""
    kind = as_name(event.get("type"))
    if kind == "item_completed":
        item = event.get("item")
        inner = as_name(item.get("type")) if isinstance(item, dict) else None
        return inner in _SILENT_ITEMS or inner in _ITEMS
    return event_kind(event) in SILENT_EVENTS or kind in _EVENTS


def event_content(event: CodexEvent) -> Content | None:
    """Returns role and parts of what an event shows, if a model saw it."""
    read = _EVENTS.get(str(event.get("type")))
    role, parts = read(event) if read else ("system", [])
    return (role, tuple(parts)) if parts else None


def agents_in(event: CodexEvent) -> Iterator[str]:
    """Yields the threads of the agents that an event says were started."""
    item = event.get("item")
    source = item if isinstance(item, dict) else event
    threads = source.get("receiver_thread_ids")
    for thread in (
        source.get("new_thread_id"),
        source.get("agent_thread_id"),
        *(threads if isinstance(threads, list) else ()),
    ):
        if as_name(thread):
            yield str(thread)


# Contents by type

_Shown = tuple[Role, Iterable[Part]]


def _field(role: Role, field: str, kind: str = "text") -> Callable[[CodexEvent], _Shown]:
    return lambda event: (role, text_parts(event.get(field), kind))


def _search(event: CodexEvent) -> _Shown:
    text = "\n\n".join(filter(None, map(_result, as_objects(event.get("results")))))
    call = as_name(event.get("call_id")) or as_name(event.get("id"))
    return "tool", [Part("tool_result", text=text, name="web_search", call_id=call)] if text else []


def _result(result: CodexEvent) -> str:
    named = [as_text(result.get(key)) for key in _RESULT]
    others = [value for key, value in result.items() if key not in _RESULT and isinstance(value, str)]
    return "\n".join(filter(None, (*named, *filter(is_text, others))))


_RESULT: Final = ("title", "url", "snippet")


def _review(event: CodexEvent) -> _Shown:
    target = event.get("target")
    asked = event.get("prompt") or (target.get("instructions") if isinstance(target, dict) else None)
    return "user", text_parts(asked)


def _reviewed(event: CodexEvent) -> _Shown:
    output = event.get("review_output")
    if not isinstance(output, dict):
        return "assistant", text_parts(output)
    texts = [finding.get(key) for finding in as_objects(output.get("findings")) for key in ("title", "body")]
    said = (part for text in (*texts, output.get("overall_explanation")) for part in text_parts(text))
    return "assistant", [*said]


def _goal(event: CodexEvent) -> _Shown:
    goal = event.get("goal")
    objective = goal.get("objective") if isinstance(goal, dict) else goal
    return "system", marked(tuple(text_parts(objective)), hidden=True)


def _item(event: CodexEvent) -> _Shown:
    item = event.get("item")
    if not isinstance(item, dict):
        return "system", []
    read = _ITEMS.get(str(item.get("type")))
    return read(item) if read else ("system", [])


def _texts(role: Role, *fields: str, kind: str = "text") -> Callable[[CodexEvent], _Shown]:
    """Returns a reader of lists of texts, or of objects with a text."""

    def read(item: CodexEvent) -> _Shown:
        lists = (item.get(field) for field in fields)
        pieces = [piece for each in lists for piece in (each if isinstance(each, list) else [each])]
        texts = (piece.get("text") if isinstance(piece, dict) else piece for piece in pieces)
        return role, [part for text in texts for part in text_parts(text, kind)]

    return read


_ITEMS: Final[dict[str, Callable[[CodexEvent], _Shown]]] = {
    "AgentMessage": _texts("assistant", "content"),
    "Extension": _search,
    "HookPrompt": _texts("system", "fragments"),
    "Plan": _field("assistant", "text"),
    "Reasoning": _texts("assistant", "summary_text", "raw_content", kind="thinking"),
    "UserMessage": _texts("user", "content"),
    "WebSearch": _search,
}
_EVENTS: Final[dict[str, Callable[[CodexEvent], _Shown]]] = {
    "agent_message": _field("assistant", "message"),
    "agent_reasoning": _field("assistant", "text", "thinking"),
    "agent_reasoning_raw_content": _field("assistant", "text", "thinking"),
    "entered_review_mode": _review,
    "exited_review_mode": _reviewed,
    "item_completed": _item,
    "thread_goal_updated": _goal,
    "user_message": _field("user", "message"),
    "web_search_end": _search,
}
# Of these, the same text may be said again later.
_REPEATED: Final = frozenset({"agent_message", "agent_reasoning", "user_message", "item_completed"})


# Texts that were told


class ToldState(Struct):
    """The state of the texts of a rollout after a line: digests, and the place from which to read again."""

    shown: list[tuple[str, frozenset[bytes]]] = []
    told: set[bytes] = set()
    place: LinePlace = LinePlace(0, 0)  # of the first line whose text is near the next one
    passed: int = 0  # records from there that were decided


class ToldTexts:
    """The texts of a rollout: those of the items near the present line, and digests of all that were told before it."""

    def __init__(self, state: ToldState | None = None) -> None:
        state = state or ToldState()
        self._near: deque[str] = deque(maxlen=2 * _REACH + 1)
        # The kinds of events that became turns, and the digests of their lines.
        self._shown = deque(state.shown, maxlen=_REACH)
        self._told = state.told
        self._to_pass = state.passed
        self._ahead: deque[RecordLine] = deque()
        self._behind: deque[tuple[LinePlace | None, int]] = deque(maxlen=_REACH)  # with the number in their line

    @property
    def state(self) -> ToldState:
        """The state after the line that was yielded last."""
        place, number = self._behind[0] if self._behind else (None, 0)
        return ToldState(list(self._shown), self._told, place or LinePlace(0, 0), number + len(self._behind))

    def following(self, lines: Iterable[RecordLine]) -> Iterator[RecordLine]:
        """Yields the lines, each when the texts of the lines after it are known; `rest` yields the last ones.

        With a state, those that were yielded before it are only looked at.
        """
        for line in lines:
            self._near.append(_text_of_item(line.piece.value))
            if self._to_pass:
                self._to_pass -= 1
                self._pass(line)
                continue
            self._ahead.append(line)
            if len(self._ahead) > _REACH:
                yield self._pass(self._ahead.popleft())

    def rest(self, *, is_growing: bool) -> Iterator[RecordLine]:
        """Yields the last lines.

        In a source that grows, an event whose item may follow is not decided: it waits, and the lines after it, too.
        """
        while self._ahead:
            self._near.append("")
            if is_growing and self._may_be_said(self._ahead[0].piece.value):
                return
            yield self._pass(self._ahead.popleft())

    @property
    def undecided(self) -> tuple[RecordLine, ...]:
        """The last lines of a source that grows, which wait."""
        return tuple(self._ahead)

    def _pass(self, line: RecordLine) -> RecordLine:
        before, number = self._behind[-1] if self._behind else (None, 0)
        self._behind.append((line.place, number + 1 if before == line.place else 0))
        return line

    def _may_be_said(self, record: Any) -> bool:
        """Returns whether an item that says what an event shows may still come."""
        if not isinstance(record, dict) or record.get("type") != "event_msg":
            return False
        event = repaired(record.get("payload"))[0]
        content = event_content(event) if isinstance(event, dict) else None
        return content is not None and bool(self._unsaid(event, content[1]))

    def add(self, parts: Iterable[Part]) -> None:
        """Adds what a turn says."""
        self._told.update(map(_key, parts))

    def new(self, parts: Iterable[Part]) -> tuple[Part, ...]:
        """Returns the parts that say something which was not told before, each once."""
        found = {_key(part): part for part in parts if part.text or part.arguments is not None}
        return tuple(part for key, part in found.items() if key not in self._told)

    def new_in_event(self, event: CodexEvent, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        """Returns the parts of an event that no item near it says, and adds them."""
        found = self._unsaid(event, parts)
        self._shown.extend((str(event.get("type")), _line_digests(_lines_of(part.text or ""))) for part in found)
        return found

    def _unsaid(self, event: CodexEvent, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        kind = as_name(event.get("type"))
        fresh = parts if kind in _REPEATED else self.new(parts)
        return tuple(part for part in fresh if not self._is_near(part.text or "", kind))

    def _is_near(self, text: str, kind: Any) -> bool:
        """Returns whether an item near the present line, or an event of another kind, has all lines of a text."""
        lines = _lines_of(text)
        close = (other for other in self._near if lines and lines[0] in other)
        if any(set(lines) <= set(_lines_of(other)) for other in close):
            return True
        shown = [known for other, known in self._shown if other != kind]
        return bool(lines and shown) and any(map(_line_digests(lines).issubset, shown))


_REACH: Final = 50  # lines before and after an event in which its item is


def _text_of_item(value: Any) -> str:
    """Returns all strings of an item, one below the other; nothing for any other record."""
    if not isinstance(value, dict) or value.get("type") != "response_item":
        return ""
    found: list[str] = []
    ahead: list[Any] = [value.get("payload")]
    while ahead:
        inner = ahead.pop()
        if isinstance(inner, str):
            found.append(inner)
        elif isinstance(inner, dict | list):
            ahead += reversed(list(inner.values() if isinstance(inner, dict) else inner))
    return "\n".join(found)


def _lines_of(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _line_digests(lines: list[str]) -> frozenset[bytes]:
    return frozenset(raw_digest(line.encode()) for line in lines)


def _key(part: Part) -> bytes:
    said = part.text.encode() if part.text is not None else canonical([part.name, part.arguments, part.uri])
    return raw_digest(said)
