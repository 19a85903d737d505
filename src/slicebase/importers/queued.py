"""Messages that were typed, or came from a background task, while the agent worked: Claude Code queues them.

A queued message is `enqueue`d. Then it is either `dequeue`d, which makes it a record of the user, or it is `remove`d
because the client gave it to the model between two calls. Newer clients also write an `attachment` for the latter.
Older ones write nothing else, so the text is in no other record. It came after the results of tools that are written
around the `remove`, so it is held until the next answer of the model.
"""

from typing import Any, Final

from msgspec import Struct

from slicebase.core.hashing import digest_of
from slicebase.graph.turn import Part, Role
from slicebase.importers.blocks import parts_of

_SYSTEM: Final = ("<agent-notification>", "<task-notification>", "<system-reminder>")


class QueuedMessage(Struct):
    """A message in the queue: what was typed, when it reached the model, and the hash of its source."""

    content: Any
    hash: str
    time: Any = None

    @property
    def parts(self) -> tuple[Part, ...]:
        return tuple(parts_of(self.content, lambda _reason, _detail: None))

    @property
    def role(self) -> Role:
        return "system" if self.text.startswith(_SYSTEM) else "user"

    @property
    def text(self) -> str:
        return text_of(self.parts)

    @property
    def is_command(self) -> bool:
        """Whether the client itself runs the message: what it does is in records of its own."""
        return self.text.startswith("/")


class QueueState(Struct):
    """The state of a session's queue, from which another reader can continue."""

    waiting: list[QueuedMessage] = []
    held: list[QueuedMessage] = []  # given to the model, and not a turn yet


class MessageQueue:
    """The queue of one session."""

    def __init__(self, state: QueueState | None = None) -> None:
        self.state = state or QueueState()

    def operate(self, operation: Any, content: Any, time: Any) -> bool:
        """Follows one record of the queue. Returns whether it gave the model a message, which is held now."""
        waiting = self.state.waiting
        if operation == "enqueue" and content:
            waiting.append(QueuedMessage(content, digest_of({"queued": content})))
        elif operation == "popAll":
            waiting.clear()  # the client put them back before the user
        elif operation in ("dequeue", "remove") and waiting:
            message = waiting.pop(0)
            if operation == "remove" and message.text and not message.is_command:
                message.time = time
                self.state.held.append(message)
                return True
        return False

    def arrived(self, parts: tuple[Part, ...]) -> int:
        """Takes out messages that a record of their own holds. Returns how many of them were held."""
        if not (self.state.waiting or self.state.held):
            return 0
        text = text_of(parts)
        before = len(self.state.held)
        self.state.held = [message for message in self.state.held if message.text != text]
        self.state.waiting = [message for message in self.state.waiting if message.text != text]
        return before - len(self.state.held)

    def take(self) -> list[QueuedMessage]:
        """Returns the messages that are held, which become turns now."""
        held, self.state.held = self.state.held, []
        return held


def text_of(parts: tuple[Part, ...]) -> str:
    """Returns the text of a message, as it is compared with queued ones."""
    return "\n".join(part.text or "" for part in parts).strip()
