"""Follows a transcript that grows: of Claude Code's only the new part is read, others are read again if they changed.

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
from slicebase.history.account import Account, store_batches
from slicebase.history.agents import link_agents
from slicebase.history.annotate import Annotator
from slicebase.history.live_files import CompleteLines, chunks_up_to, is_complete, open_regular
from slicebase.history.notes import MOST_NOTES, keep_newest
from slicebase.history.opencode_store import STORE_FOLDERS, is_store
from slicebase.history.reread import LINES, is_seen, reread, reread_session
from slicebase.importers import opencode
from slicebase.importers.claude_code import NAME, Transcript, TranscriptState
from slicebase.importers.formats import recognise
from slicebase.importers.json_stream import MAX_RECORD
from slicebase.importers.queued import QueuedMessage, QueueState
from slicebase.importers.redaction import redact
from slicebase.importers.values import Batch, Format, ImportSource, Options
from slicebase.truth.facts import PURGED_FACT
from slicebase.truth.truth import Truth
from slicebase.workspace.atomic import own_temporary, read_bytes, remove, write_bytes
from slicebase.workspace.doors import Redaction
from slicebase.workspace.workspace import TRANSCRIPTS, own_folder

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
    state: TranscriptState


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
            return Followed(reread_session(truth, path, redaction, opencode.FORMAT, session), 0, 0)
        known = _other_format(name, path)
        if known is not None:
            account, size = reread(truth, store.with_suffix(".seen"), path, redaction, known, is_growing=is_growing)
            return Followed(account, 0, size)
        return _followed(truth, cache, store, path, redaction)
    except OSError as error:
        raise SlicebaseError("no-input", str(error.strerror), where=Where(str(path))) from None


def unread(cache: Path, path: Path) -> int:
    """Returns how many bytes of a transcript are to be read, as far as can be told without reading it."""
    name = os.path.realpath(path)
    try:
        status = os.stat(name)
    except OSError:
        return 0
    if path.suffix != LINES or is_seen(_store_of(cache, name).with_suffix(".seen"), status):
        return 0
    with suppress(OSError, SlicebaseError, msgspec.MsgspecError):
        place = _decoder.decode(read_bytes(_store_of(cache, name))).place
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


def _other_format(name: str, path: Path) -> Format | None:
    """Returns the format of a transcript that is not Claude Code's; None for one that nothing recognises yet."""
    with open(open_regular(name, path), "rb") as stream:
        head = chunks_up_to(stream, min(os.fstat(stream.fileno()).st_size, MOST_AT_ONCE))
        known = recognise(ImportSource(name, head))
    return None if known is None or known.name == NAME else known


def _followed(truth: Truth, cache: Path, store: Path, path: Path, redaction: Redaction) -> Followed:
    name, redactor = os.path.realpath(path), redaction.redactor
    with open(open_regular(name, path), "rb") as stream:
        kept = _load(truth, store, name, stream.fileno())
        start = kept.place.offset if kept else 0
        transcript = Transcript(name, Options(), state=kept.state if kept else None)
        stream.seek(start)
        size = os.fstat(stream.fileno()).st_size
        lines = CompleteLines(chunks_up_to(stream, min(size - start, MOST_AT_ONCE)))
        account = Account()
        account.formats[NAME] = 1
        annotate = Annotator(truth)
        waiting: list[Edge] = []
        with truth.database.bulk():
            lines_read = _redacted(chain(transcript.read(lines), transcript.flush()), redactor)
            store_batches(truth, account, lines_read, waiting, name=name, annotate=annotate)
            end = start + lines.size
            state = _encoded(transcript, redactor, name, stream.fileno(), end) if lines.size else None
            # A last line without a line end counts if it is complete; it is read again when the file has grown.
            rest = _redacted(_last(transcript, lines.rest), redactor)
            store_batches(truth, account, rest, waiting, name=name, annotate=annotate)
            if kept is None or transcript.agents.agents.known != kept.state.agents:
                link_agents(truth, account, transcript.agents.agents.known)
        account.waiting += len(waiting)
    if _has_purged(truth, transcript.state):
        with suppress(OSError, SlicebaseError):
            remove(store, within=cache)
    elif state is not None:
        _write(cache, store, state)
    redaction.counts.update(account.report.redacted)
    return Followed(account, start, end, left=max(0, size - start - MOST_AT_ONCE))


def purged_states(truth: Truth, cache: Path) -> Iterator[Path]:
    """Yields the files with what was read of transcripts of which something was purged since."""
    for path in sorted((cache / TRANSCRIPTS).glob("*.state")):
        with suppress(OSError, SlicebaseError, msgspec.MsgspecError):
            if _has_purged(truth, _decoder.decode(read_bytes(path)).state):
                yield path


def _has_purged(truth: Truth, state: TranscriptState) -> bool:
    """Returns whether something of a session was purged: its title must not come back in what is kept between calls."""
    stored = (truth.turns.session(session) for session in state.threads if truth.turns.newest_record(session))
    return any(session.facts.get(PURGED_FACT) for session in stored)


def _last(transcript: Transcript, rest: bytes) -> Iterator[Batch]:
    if is_complete(rest):
        yield from transcript.read([rest])
    yield from transcript.finish()


def _redacted(batches: Iterable[Batch], redactor: "Redactor") -> Iterator[Batch]:
    return (redact(batch, redactor) for batch in batches)


# What is kept between two calls

_VERSION: Final = f"2 {__version__}"
_decoder = msgspec.msgpack.Decoder(KeptState)


def _load(truth: Truth, store: Path, name: str, descriptor: int) -> KeptState | None:
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
    lasts = {thread.last for thread in kept.state.threads.values() if thread.last}
    return kept if truth.turns.find(lasts).keys() == lasts else None


def _encoded(transcript: Transcript, redactor: "Redactor", name: str, descriptor: int, offset: int) -> bytes:
    """Returns the state of a transcript as bytes, without secrets in titles, facts and queued messages."""
    status = os.fstat(descriptor)
    before = _digest_before(descriptor, offset)
    position = FilePosition(_VERSION, name, status.st_dev, status.st_ino, offset, before)
    state, counts = transcript.state, Counter[str]()
    names, facts = (redactor.value(each, counts) for each in (state.builder.titles, state.builder.facts))
    builder = replace(state.builder, titles=names, facts=facts)
    titles = replace(state.titles, summaries=redactor.value(state.titles.summaries, counts))
    queues = {session: _without_secrets(queue, redactor) for session, queue in state.queues.items()}
    state = replace(state, builder=builder, titles=titles, queues=queues)
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


def _write(cache: Path, store: Path, data: bytes) -> None:
    """Writes the state to the cache. If the cache cannot be written, everything is read the next time."""
    with suppress(OSError, SlicebaseError):
        own_folder(store.parent)
        is_new = not store.exists()
        write_bytes(store, [data], within=cache, private=True, temporary=own_temporary())
        if is_new:
            keep_newest(store.parent, MOST_NOTES, within=cache)
