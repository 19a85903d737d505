"""Follows a transcript by reading all of it again, where its format needs what was said before to read what follows.

What is stored already is skipped, and a file that has not changed since is not read. Of the messages of Gemini CLI and
opencode, ids and digests are kept: one that has not changed is neither decoded nor stored again. What later lines can
still change waits: an importer that is told that its source grows leaves it out. So the result is that of one import.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from slicebase import __version__
from slicebase.errors import SlicebaseError, Where
from slicebase.graph.session import shown_last
from slicebase.history.account import Account, store_batches
from slicebase.history.agents import link_agents
from slicebase.history.annotate import Annotator
from slicebase.history.kept_messages import MESSAGES, KnownMessages, load_messages, save_messages
from slicebase.history.live_files import CompleteLines, chunks_up_to, is_complete, open_regular
from slicebase.history.notes import write_state
from slicebase.history.opencode_store import stored_sessions
from slicebase.importers import gemini, gemini_messages, opencode
from slicebase.importers.formats import Import
from slicebase.importers.seen import PlacingFields, SeenMessages
from slicebase.importers.values import Format, ImportSource, Options
from slicebase.truth.truth import Truth
from slicebase.workspace.atomic import read_bytes
from slicebase.workspace.boundary import real_path
from slicebase.workspace.doors import Redaction

if TYPE_CHECKING:
    from slicebase.graph.turn import Edge

GROWING_LINES: Final = ".jsonl"  # the ending of transcripts that grow by lines


class SeenFile(msgspec.Struct, frozen=True):
    """A file as it was read: what identifies its state, and the last turns of its sessions."""

    version: str
    name: str
    status: tuple[int, ...]
    is_growing: bool
    lasts: frozenset[str] = frozenset()


def reread(
    truth: Truth,
    store: Path,
    path: Path,
    redaction: Redaction,
    known: Format,
    *,
    is_growing: bool,
    kept: KnownMessages | None = None,
) -> tuple[Account, int]:
    """Imports a file that changed since the last time, redacted. Returns the account, and the size that was read.

    `kept` is what is known of its messages, if the caller has looked.
    """
    name, cache = str(real_path(path)), store.parent
    account = Account()
    with open(open_regular(name, path), "rb") as stream:
        status = os.fstat(stream.fileno())
        now = SeenFile(__version__, name, _state(status), is_growing)
        if _is_same(truth, store, now):
            return account, 0

        def source(seen: SeenMessages | None) -> ImportSource:
            stream.seek(0)
            chunks = chunks_up_to(stream, status.st_size)
            lines = _complete(chunks) if path.suffix == GROWING_LINES else chunks
            return ImportSource(name, lines, is_growing, seen=seen)

        fields = gemini_messages.fields_of if known.name == gemini.NAME else None
        _store(truth, account, _Source(name, known, source, store.with_suffix(MESSAGES), fields), redaction, kept)
    if path.suffix != GROWING_LINES:  # a client may write a document for each call, and delete it
        return account, status.st_size
    lasts = (shown_last(truth.turns.session(session)) for session in account.sessions)
    now = msgspec.structs.replace(now, lasts=frozenset(filter(None, lasts)))
    write_state(cache, store, msgspec.msgpack.encode(now))
    return account, status.st_size


def size_seen(store: Path, status: os.stat_result) -> int | None:
    """Returns the size that a file had when it was read; None if it is another file now, or was written again."""
    seen = _seen(store)
    if seen is None or len(seen.status) != len(_state(status)):
        return None
    (device, inode, size), now = seen.status[:3], _state(status)
    is_same = seen.status == now or ((device, inode) == now[:2] and size < status.st_size)
    return size if is_same else None


def _state(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _seen(store: Path) -> SeenFile | None:
    try:
        return msgspec.msgpack.decode(read_bytes(store), type=SeenFile)
    except (OSError, SlicebaseError, msgspec.MsgspecError):
        return None


def reread_session(truth: Truth, store: Path, path: Path, redaction: Redaction, known: Format, session: str) -> Account:
    """Imports one session of a store with many, such as a database; what is not finished in it waits."""
    account = Account()
    found = next((each for each in stored_sessions(path) if ImportSource(each.name, ()).stem == session), None)
    if found is None:
        raise SlicebaseError("no-input", f"there is no session {session} in it", where=Where(str(path)))

    def source(seen: SeenMessages | None) -> ImportSource:
        return ImportSource(found.name, found.chunks(seen), seen=seen)

    kept = store.with_suffix(MESSAGES)
    _store(truth, account, _Source(found.name, known, source, kept, opencode.fields_of), redaction)
    return account


class _Source(NamedTuple):
    """What is read: its name, its format, how to open it, and where it is kept what was seen of it.

    `fields` says what else is kept of a message; None if messages are not known by digests. Those of opencode are only
    if they come from its store: in a file, anybody can write which ones they are.
    """

    name: str
    format: Format
    open: Callable[[SeenMessages | None], ImportSource]
    store: Path
    fields: PlacingFields | None


def _store(
    truth: Truth, account: Account, source: _Source, redaction: Redaction, kept: KnownMessages | None = None
) -> None:
    """Stores what a source says. Of messages that were seen before, only their places are read, as far as they fit."""
    account.formats[source.format.name] = 1
    run, seen = Import(Options(redactor=redaction.redactor)), None
    fields = source.fields
    if fields is not None:
        kept = load_messages(truth, source.store, source.name) if kept is None else kept
        seen = SeenMessages(fields, kept.messages)
    batches = run.read(source.open(seen), source.format)
    if fields is not None and kept is not None and kept.messages:
        batches = iter(list(batches))  # nothing is stored before it is known that all of it fits
        if seen is not None and not seen.fits:
            run, seen, kept = Import(Options(redactor=redaction.redactor)), SeenMessages(fields), KnownMessages()
            batches = run.read(source.open(seen), source.format)
    waiting: list[Edge] = []
    with truth.database.bulk():
        store_batches(truth, account, batches, waiting, name=source.name, annotate=Annotator(truth))
        link_agents(truth, account, run.agents.known)
    account.waiting += len(waiting)
    redaction.counts.update(account.report.redacted)
    if seen is not None and kept is not None:
        save_messages(truth, source.store, source.name, source.format.name, seen, kept, redaction.redactor)


def _complete(chunks: Iterator[bytes]) -> Iterator[bytes]:
    lines = CompleteLines(chunks)
    yield from lines
    if is_complete(lines.rest):
        yield lines.rest


def _is_same(truth: Truth, store: Path, now: SeenFile) -> bool:
    """Returns whether a file is as it was when it was read, and the truth contains what was read."""
    seen = _seen(store)
    if seen is None:
        return False
    same = msgspec.structs.replace(seen, lasts=frozenset()) == now
    return same and bool(seen.lasts) and truth.turns.find(set(seen.lasts)).keys() == set(seen.lasts)
