"""Messages that were typed, or came from a background task, while the agent worked: Claude Code queues them.

A queued message is `enqueue`d. It leaves the queue in one of three ways:

- `dequeue`: the next record of the user contains it.
- `remove`: the client gave it to the model between two calls. Newer clients also write an `attachment` with it, before
  or after. Older ones write nothing else, so the text is in no other record.
- `popAll`: the client put it back before the user.

Only newer clients say which message left, and a queue has priorities. So it is open what left until a record with the
text of a queued message arrives. What is still open when the model answers was a prompt if there is one, else a notice,
else a command, the oldest first. Commands come last: newer clients run them themselves, older ones gave them to the
model.

A message without a record of its own becomes a turn. It came after the results of tools that are written around its
`remove`, so it stands before the next answer of the model, whose blocks are several records, or before the next prompt.
"""

import re
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable
from typing import Any, Final, NamedTuple, TypeVar

from msgspec import Struct

from slicebase.core.hashing import digest
from slicebase.graph.turn import Part, Role
from slicebase.importers.blocks import parts_of
from slicebase.importers.claude_records import BOUNDARY, answer_of, call_ids, content_of, is_prompt, result_ids
from slicebase.importers.json_stream import fingerprint, repaired
from slicebase.importers.thread import SourceRecord

_KINDS: Final = ("prompt", "notice", "command")  # in the order in which a client takes them out
_NOTICES: Final = ("<agent-notification>", "<task-notification>", "<system-reminder>")
_Item = TypeVar("_Item")
_COMMAND: Final = re.compile(r"/[A-Za-z][\w:.-]*(?:\s|$)|<command-")  # and no path, which has a second slash


class QueuedMessage(Struct):
    """A message in the queue: what was typed, the digest of its text, and the hash of its source."""

    content: Any
    key: str
    hash: str
    kind: str

    @property
    def parts(self) -> tuple[Part, ...]:
        return _parts(self.content)

    @property
    def role(self) -> Role:
        return "system" if self.kind == "notice" else "user"


class Departure(Struct):
    """A record that says that a message left the queue, and the message, if it is known which."""

    operation: str
    time: Any
    number: int = 0  # in the order in which messages left
    message: QueuedMessage | None = None
    copy: int = 1  # of several with the same words that left at the same time

    @property
    def source_id(self) -> str:
        """The id of the turn that the message becomes."""
        own = f"queued {self.time} {self.message.hash if self.message else ''}"
        return own if self.copy == 1 else f"{own} {self.copy}"


class Reading(NamedTuple):
    """What a record of the conversation says about the queue."""

    found: Departure | None = None  # of the message that the record contains
    is_next: bool = False  # the model had got what left the queue when the record was written
    is_copy: bool = False  # the record contains a message that has become a turn


class QueueState(Struct):
    """The state of a session's queue, from which another queue can continue."""

    waiting: list[QueuedMessage] = []
    departed: list[Departure] = []  # neither turns yet, nor found in records of their own
    arrived: dict[str, int] = {}  # by key: messages that were found in records before they left
    taken: dict[str, int] = {}  # by key: messages that became turns
    answer: str | None = None  # the last answer of the model
    calls: set[str] = set()  # those of this answer that have no result yet


class MessageQueue:
    """The queue of one session."""

    def __init__(self, state: QueueState | None = None) -> None:
        state = state or QueueState()
        self._waiting: dict[str, OrderedDict[int, QueuedMessage]] = {kind: OrderedDict() for kind in _KINDS}
        self._places: dict[str, deque[tuple[str, int]]] = {}  # by key: where messages wait, the oldest first
        self._open: dict[str, deque[Departure]] = {"dequeue": deque(), "remove": deque()}  # of unknown messages
        self._held: dict[str, deque[Departure]] = {}  # of known messages, by key
        self._number = 0
        for message in state.waiting:
            self._enqueue(message)
        for departure in state.departed:
            self._keep(departure)
        self._arrived, self._taken = Counter(state.arrived), Counter(state.taken)
        self._answer, self._calls = state.answer, state.calls

    @property
    def state(self) -> QueueState:
        """The state from which another queue can continue."""
        waiting = {number: each for lane in self._waiting.values() for number, each in lane.items()}
        messages = [waiting[number] for number in sorted(waiting)]
        counts = dict(self._arrived), dict(self._taken)
        return QueueState(messages, self._departed(), *counts, self._answer, self._calls)

    @property
    def has_open_calls(self) -> bool:
        """Whether the model waits for results. It gets what left the queue after them."""
        return bool(self._calls)

    # Records of the queue

    def operate(self, operation: Any, content: Any, time: Any) -> bool:
        """Follows a record of the queue. Returns whether a message left of which it is open what became of it."""
        message = _message(content) if content else None
        if operation == "enqueue" and message is not None:
            self._enqueue(message)
        elif operation == "popAll":
            self._put_back(message)
        elif operation in self._open:
            return self._depart(Departure(operation, repaired(time)[0]), message)
        return False

    def _enqueue(self, message: QueuedMessage) -> None:
        self._number += 1
        self._waiting[message.kind][self._number] = message
        self._places.setdefault(message.key, deque()).append((message.kind, self._number))

    def _put_back(self, message: QueuedMessage | None) -> None:
        if message is not None:
            self._take(message.key)
            return
        self._guess()  # what left before is not among those that are put back
        while self._next() is not None:
            pass

    def _depart(self, departure: Departure, named: QueuedMessage | None) -> bool:
        if _uncounted(self._arrived, next(iter(self._arrived), "") if named is None else named.key):
            return False
        if named is not None:
            departure.message = self._take(named.key) or named
        elif sum(map(len, self._open.values())) >= sum(map(len, self._waiting.values())):
            return False  # of a message that was queued in another file
        self._keep(departure)
        return True

    def _keep(self, departure: Departure) -> None:
        self._number += 1
        departure.number = self._number
        if departure.message is None:
            self._open[departure.operation].append(departure)
        else:
            self._held.setdefault(departure.message.key, deque()).append(departure)

    # Records of the conversation

    def read(self, record: SourceRecord) -> Reading:
        """Follows a record of the conversation.

        The model has got what left the queue when it begins an answer, when the user writes a prompt that is none of
        these messages, and when the conversation is compacted.
        """
        kind = record.get("type")
        if kind == "assistant":
            return Reading(is_next=self._begins_answer(answer_of(record), call_ids(record)))
        if kind == "user":
            self._calls.difference_update(result_ids(record))
        is_next = is_prompt(record) or record.get("subtype") == BOUNDARY
        if kind not in ("user", "attachment") or not (self._places or self._held or self._taken):
            return Reading(is_next=is_next)
        return self._arrive(_texts_of(record), typed=kind == "user")._replace(is_next=is_next)

    def take(self) -> list[Departure]:
        """Takes what left and was found in no record, in the order in which it left."""
        self._guess()
        departed = self._departed()
        same: Counter[str] = Counter()
        for each in departed:
            same[each.source_id] += 1
            each.copy = same[each.source_id]
            self._taken.update([each.message.key] if each.message else [])
        self._held.clear()
        self._arrived.clear()
        for lane in self._open.values():
            lane.clear()
        return departed

    def _begins_answer(self, answer: str | None, calls: Iterable[str]) -> bool:
        is_first = answer is None or answer != self._answer
        if is_first and answer is not None:
            self._calls.clear()
        self._answer = answer
        self._calls.update(calls)
        return is_first

    def _arrive(self, texts: list[str], *, typed: bool) -> Reading:
        """Takes out the message that a record contains."""
        keys = [*map(_key, ["\n".join(texts), *texts])] if texts else []
        for key in keys:
            if key in self._held:
                return Reading(_popped(self._held, key))
            if self._take(key) is not None:
                lanes = [self._open[name] for name in (("dequeue", "remove") if typed else ("remove", "dequeue"))]
                if lane := next(filter(None, lanes), None):
                    return Reading(lane.popleft())
                self._arrived[key] += 1
                return Reading()
        if typed and texts and self._open["dequeue"]:  # clients write around what was typed
            self._next(_kind(texts[0]))
            return Reading(self._open["dequeue"].popleft())
        return Reading(is_copy=not typed and any(_uncounted(self._taken, key) for key in keys))

    def _departed(self) -> list[Departure]:
        lanes = (*self._open.values(), *self._held.values())
        return sorted((each for lane in lanes for each in lane), key=lambda each: each.number)

    def _guess(self) -> None:
        """Finds a message for each departure that names none."""
        for departure in sorted((each for lane in self._open.values() for each in lane), key=lambda each: each.number):
            departure.message = self._next()
            if departure.message is not None:
                self._open[departure.operation].popleft()
                self._held.setdefault(departure.message.key, deque()).append(departure)

    # Waiting messages

    def _take(self, key: str) -> QueuedMessage | None:
        """Takes out the oldest message with this text."""
        if key not in self._places:
            return None
        kind, number = _popped(self._places, key)
        return self._waiting[kind].pop(number)

    def _next(self, kind: str = _KINDS[0]) -> QueuedMessage | None:
        """Takes out the oldest message of a kind; if there is none, one of another kind."""
        for lane in (self._waiting[each] for each in (kind, *_KINDS)):
            if lane:
                return self._take(next(iter(lane.values())).key)
        return None


def _popped(lanes: dict[str, deque[_Item]], key: str) -> _Item:
    found = lanes[key].popleft()
    if not lanes[key]:
        del lanes[key]
    return found


def _uncounted(counts: Counter[str], key: str) -> bool:
    """Takes one from a count, if there is one."""
    if key not in counts:
        return False
    counts[key] -= 1
    if not counts[key]:
        del counts[key]
    return True


def _message(content: Any) -> QueuedMessage:
    repaired, source, _ = fingerprint({"queued": content}, lambda record: record)
    text = "\n".join(_texts(_parts(repaired["queued"])))
    return QueuedMessage(repaired["queued"], _key(text) if text else source, source, _kind(text))


def _parts(content: Any) -> tuple[Part, ...]:
    return tuple(parts_of(content, lambda _reason, _detail: None))


def _texts_of(record: SourceRecord) -> list[str]:
    content = content_of(repaired(record)[0], lambda _reason, _detail: None)
    return _texts(content[1]) if isinstance(content, tuple) else []


def _texts(parts: Iterable[Part]) -> list[str]:
    return [text for part in parts if part.type == "text" and (text := (part.text or "").strip())]


def _key(text: str) -> str:
    return digest(text.encode("utf-8", "replace"))


def _kind(text: str) -> str:
    if text.startswith(_NOTICES):
        return "notice"
    return "command" if _COMMAND.match(text) else "prompt"
