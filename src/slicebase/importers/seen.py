"""Messages of a source that was read before: what is known of them is enough to read the messages after them.

Of each message, ids and digests are kept, never what it says. A message whose bytes are the same as before is not
decoded into a turn again: it takes its place among the others, and only new messages become turns. If the place is
another one than before, as where a message before it was removed, `fits` is false, and the source has to be read again
without this.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from slicebase.core.hashing import raw_digest


class SeenTurn(Struct, frozen=True, array_like=True):
    """The turn that a message became: its ids, and those of its calls, results and parents."""

    turn: str
    session: str
    source_hash: str
    source_id: str | int | None
    time: int
    calls: tuple[str, ...]
    results: tuple[str, ...]
    parents: tuple[str, ...]


class SeenMessage(Struct, frozen=True, array_like=True):
    """A message: the fields by which a reader places it, and its turn; None if another message counted instead."""

    fields: dict[str, Any]
    turn: SeenTurn | None = None


PlacingFields = Callable[[Mapping[str, Any]], dict[str, Any]]


class KeyedMessage(dict[str, Any]):
    """A message with the digest of its bytes. One that was seen before has only the fields that place it."""

    __slots__ = ("key", "memory", "seen")

    def __init__(self, fields: Mapping[str, Any], key: bytes, memory: "SeenMessages", seen: SeenMessage | None) -> None:
        super().__init__(fields)
        self.key = key
        self.memory = memory
        self.seen = seen


class SeenMessages:
    """The messages of a source: those of the last time (`known`), and those of this time, by digest (`kept`)."""

    def __init__(self, fields: PlacingFields, known: Mapping[bytes, SeenMessage] | None = None) -> None:
        self._fields = fields
        self.known = known or {}
        self.kept: dict[bytes, SeenMessage] = {}
        self.fits = True  # what was seen has the same place as before
        self.is_sound = True  # nothing was repaired that has to be reported each time

    def find(self, key: bytes) -> KeyedMessage | None:
        """Returns a message that was seen before, by the digest of its bytes."""
        seen = self.known.get(key)
        return None if seen is None else KeyedMessage(seen.fields, key, self, seen)

    def new(self, value: Mapping[str, Any], key: bytes) -> KeyedMessage:
        """Returns a message that was not seen before."""
        return KeyedMessage(value, key, self, None)

    def keep_turn(self, message: KeyedMessage, turn: SeenTurn | None) -> None:
        """Keeps a message that became a turn. Where not enough is known of the turn, the message is read each time."""
        if turn is not None and (self.is_sound or message.seen):
            self.kept[message.key] = SeenMessage(self._fields_of(message), turn)

    def keep_other(self, message: KeyedMessage) -> None:
        """Keeps a message instead of which another state or copy of it counted."""
        if message.key not in self.kept and (self.is_sound or message.seen):
            self.kept[message.key] = SeenMessage(self._fields_of(message))

    def _fields_of(self, message: KeyedMessage) -> dict[str, Any]:
        return message.seen.fields if message.seen else self._fields(message)


def key_of(data: bytes) -> bytes:
    """Returns the digest by which the bytes of a message are known."""
    return raw_digest(data)[:20]
