"""Follows a transcript that grows: of Claude Code's and Codex's the new part is read, of others what has changed.

The importer's state at the end of the last line is kept in the disposable cache, with the file's identity and a digest
of the bytes before that position. If any of it does not match, everything is read: that is slower, and changes nothing.

A call ends, whatever the file is: it reads a regular file only, up to the size that it has when the call begins, and at
most `MOST_AT_ONCE` bytes. The next call continues there.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from slicebase import __version__
from slicebase.core.hashing import raw_digest
from slicebase.errors import SlicebaseError, Where
from slicebase.graph.session import PURGED_FACT
from slicebase.history.account import Account, store_batches
from slicebase.history.agents import link_agents
from slicebase.history.annotate import Annotator
from slicebase.history.kept_messages import MESSAGES, KnownMessages, load_messages
from slicebase.history.live_files import CompleteLines, chunks_up_to, is_complete, open_regular
from slicebase.history.notes import write_state
from slicebase.history.opencode_store import STORE_FOLDERS, is_store
from slicebase.history.reread import GROWING_LINES, reread, reread_session, size_seen
from slicebase.importers import claude_code, codex, gemini, opencode
from slicebase.importers.batches import BuilderState
from slicebase.importers.claude_code import Transcript, TranscriptState
from slicebase.importers.codex import Rollout, RolloutState
from slicebase.importers.elements import HEAD_BYTES
from slicebase.importers.formats import is_still, recognise
from slicebase.importers.json_stream import MAX_RECORD
from slicebase.importers.queued import QueuedMessage, QueueState
from slicebase.importers.redaction import redact
from slicebase.importers.values import Batch, Format, ImportSource, Options
from slicebase.truth.truth import Truth
from slicebase.workspace.atomic import read_bytes, remove
from slicebase.workspace.doors import Redaction
from slicebase.workspace.workspace import TRANSCRIPTS

if TYPE_CHECKING:
    from slicebase.graph.turn import Edge
    from slicebase.secrets.redact import Redactor

MOST_AT_ONCE: Final = MAX_RECORD + (16 << 20)  # more than the longest line, so that each call gets further


class FilePosition(msgspec.Struct, frozen=True):
    """How far a file was read, and what identifies the file."""

    version: str
    name: str
    device: int
    inode: int
    offset: int
    before: bytes  # the digest of the bytes before the offset


class KeptState(msgspec.Struct):
    """What is kept between two calls."""

    place: FilePosition
    state: TranscriptState | RolloutState

    @property
    def start(self) -> int:
        """The offset from which to read."""
        return self.state.start if isinstance(self.state, RolloutState) else self.place.offset


class Followed(NamedTuple):
    """The result of reading the new part of a transcript."""

    account: Account
    start: int  # the byte from which it was read
    end: int  # the end of the last complete line
    left: int = 0  # bytes after that which the next call reads, because there were too many


def follow(
    truth: Truth,
    cache: Path,
    path: Path,
    redaction: Redaction,
    *,
    session: str | None = None,
    is_growing: bool = True,
) -> Followed:
    """Imports what was added to a transcript since the last time, redacted.

    `session` chooses one of a store with several. What is not finished in a transcript that grows waits.
    """
    name = os.path.realpath(path)
    store = _store_of(cache, name)
    try:
        if session is not None and _has_sessions(path):
            own = _store_of(cache, f"{name}!{session}")
            return Followed(reread_session(truth, own, path, redaction, opencode.FORMAT, session), 0, 0)
        kept = load_messages(truth, store.with_suffix(MESSAGES), name) if path.suffix != GROWING_LINES else None
        known = _format_of(name, path, kept)
        if known.name in _STATES and (path.suffix == GROWING_LINES or known.name == claude_code.NAME):
            return _followed(truth, cache, path, redaction, known.name, is_growing=is_growing)
        seen = store.with_suffix(".seen")
        account, size = reread(truth, seen, path, redaction, known, is_growing=is_growing, kept=kept)
        return Followed(account, 0, size)
    except OSError as error:
        raise SlicebaseError("no-input", str(error.strerror), where=Where(str(path))) from None


def unread(cache: Path, path: Path) -> int:
    """Returns how many bytes of a transcript are to be read, as far as can be told without reading it."""
    name = os.path.realpath(path)
    try:
        status = os.stat(name)
    except OSError:
        return 0
    if path.suffix != GROWING_LINES:
        return 0
    store = _store_of(cache, name)
    size = size_seen(store.with_suffix(".seen"), status)
    if size is not None and (size == status.st_size or store.with_suffix(MESSAGES).exists()):
        return max(0, status.st_size - size)
    with suppress(OSError, SlicebaseError, msgspec.MsgspecError):
        place = _decoder.decode(read_bytes(store)).place
        if (place.device, place.inode) == (status.st_dev, status.st_ino):
            return max(0, status.st_size - place.offset)
    return status.st_size


def _store_of(cache: Path, name: str) -> Path:
    return cache / TRANSCRIPTS / f"{raw_digest(name.encode(errors='surrogateescape')).hex()[:32]}.state"


def _has_sessions(path: Path) -> bool:
    """Returns whether opencode keeps its sessions there. Any other folder could have any number of files in it."""
    if path.is_dir():
        return all((path / name).is_dir() for name in STORE_FOLDERS)
    return path.suffix == ".db" and is_store(path)


def _format_of(name: str, path: Path, kept: KnownMessages | None) -> Format:
    """Returns the format of a transcript; Claude Code's for one that nothing recognises yet."""
    with open(open_regular(name, path), "rb") as stream:
        if kept and kept.format == gemini.NAME:
            if is_still(ImportSource(name, chunks_up_to(stream, HEAD_BYTES)), kept.format):
                return gemini.FORMAT
            stream.seek(0)
        head = chunks_up_to(stream, min(os.fstat(stream.fileno()).st_size, MOST_AT_ONCE))
        return recognise(ImportSource(name, head)) or claude_code.FORMAT


_STATES: Final = {claude_code.NAME: TranscriptState, codex.NAME: RolloutState}  # of formats that are read from one


def _reader(format_name: str, name: str, kept: KeptState | None, *, is_growing: bool) -> Transcript | Rollout:
    state = kept.state if kept else None
    if format_name == codex.NAME:
        return Rollout(name, Options(), state if isinstance(state, RolloutState) else None, is_growing=is_growing)
    return Transcript(name, Options(), state if isinstance(state, TranscriptState) else None)


def _followed(
    truth: Truth, cache: Path, path: Path, redaction: Redaction, format_name: str, *, is_growing: bool
) -> Followed:
    name, redactor = os.path.realpath(path), redaction.redactor
    store = _store_of(cache, name)
    with open(open_regular(name, path), "rb") as stream:
        kept = _load(truth, store, name, stream.fileno(), format_name)
        start = kept.start if kept else 0
        stream.seek(start)
        size = os.fstat(stream.fileno()).st_size
        most = (kept.place.offset if kept else 0) + MOST_AT_ONCE
        reader = _reader(format_name, name, kept, is_growing=is_growing or size > most)
        agents = reader.known_agents
        lines = CompleteLines(chunks_up_to(stream, min(size, most) - start))
        account = Account()
        account.formats[format_name] = 1
        annotate = Annotator(truth)
        waiting: list[Edge] = []
        with truth.database.bulk():
            lines_read = _redacted(chain(reader.read(lines), reader.flush()), redactor)
            store_batches(truth, account, lines_read, waiting, name=name, annotate=annotate)
            end = start + lines.size
            state = _encoded(reader.state, redactor, name, stream.fileno(), end) if lines.size else None
            # A last line without a line end counts if it is complete; it is read again when the file has grown.
            rest = _redacted(_last(reader, lines.rest), redactor)
            store_batches(truth, account, rest, waiting, name=name, annotate=annotate)
            if kept is None or reader.known_agents != agents:
                link_agents(truth, account, reader.known_agents)
        account.waiting += len(waiting)
    if _has_purged(truth, {*account.sessions, *(kept.state.lasts if kept else ())}):
        with suppress(OSError, SlicebaseError):
            remove(store, within=cache)
    elif state is not None:
        write_state(cache, store, state)
    redaction.counts.update(account.report.redacted)
    return Followed(account, start, end, left=max(0, size - most))


def purged_states(truth: Truth, cache: Path) -> Iterator[Path]:
    """Yields the files with what was read of transcripts of which something was purged since."""
    for path in sorted((cache / TRANSCRIPTS).glob("*.state")):
        with suppress(OSError, SlicebaseError, msgspec.MsgspecError):
            if _has_purged(truth, _decoder.decode(read_bytes(path)).state.lasts):
                yield path


def _has_purged(truth: Truth, sessions: Iterable[str]) -> bool:
    """Returns whether something of a session was purged: its title must not come back in what is kept between calls."""
    stored = (truth.turns.session(session) for session in sessions if truth.turns.newest_record(session))
    return any(session.facts.get(PURGED_FACT) for session in stored)


def _last(reader: Transcript | Rollout, rest: bytes) -> Iterator[Batch]:
    if is_complete(rest):
        yield from reader.read([rest])
    yield from reader.finish()


def _redacted(batches: Iterable[Batch], redactor: "Redactor") -> Iterator[Batch]:
    return (redact(batch, redactor) for batch in batches)


# What is kept between two calls

_VERSION: Final = f"3 {__version__}"
_decoder = msgspec.msgpack.Decoder(KeptState)


def _load(truth: Truth, store: Path, name: str, descriptor: int, format_name: str) -> KeptState | None:
    """Returns what was kept for a file, if the file still begins with what was read and the truth contains that."""
    try:
        kept = _decoder.decode(read_bytes(store))
    except (OSError, SlicebaseError, msgspec.MsgspecError):
        return None
    position, status = kept.place, os.fstat(descriptor)
    known = (_VERSION, name, status.st_dev, status.st_ino)
    if (position.version, position.name, position.device, position.inode) != known or status.st_size < position.offset:
        return None
    if _digest_before(descriptor, position.offset) != position.before:
        return None
    if not isinstance(kept.state, _STATES[format_name]) or kept.start > position.offset:
        return None
    lasts = {last for last in kept.state.lasts.values() if last}
    return kept if truth.turns.find(lasts).keys() == lasts else None


def _encoded(
    state: TranscriptState | RolloutState | None, redactor: "Redactor", name: str, descriptor: int, offset: int
) -> bytes | None:
    """Returns the state of a transcript as bytes, without secrets in titles, facts and queued messages."""
    if state is None:
        return None
    status = os.fstat(descriptor)
    before = _digest_before(descriptor, offset)
    position = FilePosition(_VERSION, name, status.st_dev, status.st_ino, offset, before)
    counts = Counter[str]()
    builder = redactor.value(msgspec.to_builtins(state.builder), counts)
    state = replace(state, builder=msgspec.convert(builder, BuilderState))
    if isinstance(state, TranscriptState):
        titles = replace(state.titles, summaries=redactor.value(state.titles.summaries, counts))
        queues = {session: _without_secrets(queue, redactor) for session, queue in state.queues.items()}
        state = replace(state, titles=titles, queues=queues)
    return msgspec.msgpack.encode(KeptState(position, state))


def _without_secrets(queue: QueueState, redactor: "Redactor") -> QueueState:
    def redacted(message: QueuedMessage) -> QueuedMessage:
        return replace(message, content=redactor.value(message.content, Counter()))

    departed = [replace(each, message=redacted(each.message)) if each.message else each for each in queue.departed]
    return replace(queue, waiting=list(map(redacted, queue.waiting)), departed=departed)


_COMPARED: Final = 64 << 10  # bytes before the position, which must not have changed


def _digest_before(descriptor: int, offset: int) -> bytes:
    start = max(0, offset - _COMPARED)
    return raw_digest(os.pread(descriptor, offset - start, start))
