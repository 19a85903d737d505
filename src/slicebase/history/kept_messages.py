"""What is kept of the messages of a transcript between two calls: ids and digests, in the disposable cache.

It counts only if the database has the turns and links that it had when this was written: the digest of the file covers
the hashes of their chains. If anything does not match, nothing is known, and everything is read: that is slower, and
gives the same.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from slicebase import __version__
from slicebase.core.hashing import raw_digest
from slicebase.errors import SlicebaseError
from slicebase.history.notes import write_state
from slicebase.importers.seen import SeenMessage, SeenMessages
from slicebase.truth.chains import Chain, head_of
from slicebase.truth.truth import Truth
from slicebase.workspace.atomic import read_bytes

if TYPE_CHECKING:
    from slicebase.secrets.redact import Redactor

MESSAGES: Final = ".messages"  # the ending of these files
_VERSION: Final = f"1 {__version__}"
_LEAST: Final = 50  # messages: fewer are read as fast as what is kept of them


class KeptMessages(msgspec.Struct, frozen=True):
    """The messages of a transcript by digest, and the lengths of the chains in which their turns are."""

    version: str
    name: str
    format: str
    lengths: dict[str, tuple[int, int]]  # by session: of its turns, and of its links
    messages: dict[bytes, SeenMessage]


class _KeptFile(msgspec.Struct, frozen=True, array_like=True):
    digest: bytes  # of what follows, and of the heads of the chains
    data: bytes


class KnownMessages(NamedTuple):
    """What was kept of a transcript; nothing if it is empty."""

    format: str = ""
    sessions: frozenset[str] = frozenset()
    messages: Mapping[bytes, SeenMessage] = MappingProxyType({})


_file = msgspec.msgpack.Decoder(_KeptFile)
_kept = msgspec.msgpack.Decoder(KeptMessages)


def load_messages(truth: Truth, store: Path, name: str) -> KnownMessages:
    """Returns what was kept of a transcript, if the database still has what it had then."""
    try:
        file = _file.decode(read_bytes(store))
        kept = _kept.decode(file.data)
    except (OSError, SlicebaseError, msgspec.MsgspecError, UnicodeDecodeError):
        return KnownMessages()
    if (kept.version, kept.name) != (_VERSION, name) or not kept.lengths:
        return KnownMessages()
    heads = _heads(truth, kept.lengths)
    if heads is None or file.digest != _digest(heads, file.data):
        return KnownMessages()
    return KnownMessages(kept.format, frozenset(kept.lengths), kept.messages)


def save_messages(
    truth: Truth,
    store: Path,
    name: str,
    format_name: str,
    seen: SeenMessages,
    known: KnownMessages,
    redactor: "Redactor",
) -> None:
    """Keeps what was read of a transcript, as far as the database has it, without secrets. A short one is not kept."""
    if len(seen.kept) < _LEAST or seen.kept == known.messages:
        return
    new = {key: message for key, message in seen.kept.items() if key not in known.messages}
    stored = truth.turns.find({message.turn.turn for message in new.values() if message.turn is not None})
    hashes = {turn: each.record.source_hash for turn, each in stored.items()}
    for key, message in new.items():
        if message.turn is not None and hashes.get(message.turn.turn) != message.turn.source_hash:
            del seen.kept[key]  # another message has its id
    for key in _with_secrets(new, redactor):
        seen.kept.pop(key, None)
    sessions = known.sessions | {each.record.session for each in stored.values()}
    lengths = {session: (_length(truth, "turns", session), _length(truth, "links", session)) for session in sessions}
    data = msgspec.msgpack.encode(KeptMessages(_VERSION, name, format_name, lengths, seen.kept))
    heads = _heads(truth, lengths)
    if heads is not None:
        write_state(store.parent, store, msgspec.msgpack.encode(_KeptFile(_digest(heads, data), data)))


def _with_secrets(messages: dict[bytes, SeenMessage], redactor: "Redactor") -> list[bytes]:
    """Returns the messages whose names of anything contain a secret. They are read each time."""

    def names(message: SeenMessage) -> str:
        turn = message.turn
        ids = (turn.source_id, *turn.calls, *turn.results) if turn else ()
        return "\n".join(map(str, (*_texts(message.fields), *ids)))

    found: Counter[str] = Counter()
    redactor.text("\n".join(map(names, messages.values())), found)
    if not found:
        return []
    return [key for key, message in messages.items() if redactor.text(names(message), found) != names(message)]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (text for inner in value.values() for text in _texts(inner))
    elif isinstance(value, list):
        yield from (text for inner in value for text in _texts(inner))
    else:
        yield str(value)


def _length(truth: Truth, table: str, session: str) -> int:
    return head_of(truth.database.connection, Chain(table, session)).length


def _heads(truth: Truth, lengths: dict[str, tuple[int, int]]) -> list[bytes] | None:
    """Returns the hashes that the chains had at these lengths; None if one is shorter, or a session has no turns.

    So only who can read the database can write what counts.
    """
    heads = []
    for session, (turns, links) in lengths.items():
        for table, length in (("turns", turns), ("links", links)):
            head = head_of(truth.database.connection, Chain(table, session), length)
            if head.length != length or (table == "turns" and length == 0):
                return None
            heads.append(head.hash)
    return heads


def _digest(heads: list[bytes], data: bytes) -> bytes:
    return raw_digest(b"".join(map(raw_digest, (*heads, data))))
