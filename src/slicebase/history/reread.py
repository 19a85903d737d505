"""Follows a transcript by reading all of it again, where its format needs what was said before to read what follows.

What is stored already is skipped, and a file that has not changed since is not read. What later lines can still change
waits: an importer that is told that its source grows leaves it out. So the result is that of one import.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from slicebase import __version__
from slicebase.errors import SlicebaseError, Where
from slicebase.history.account import Account, store_batches
from slicebase.history.agents import link_agents
from slicebase.history.annotate import Annotator
from slicebase.history.inputs import Input, inputs
from slicebase.history.live_files import CompleteLines, chunks_up_to, is_complete, open_regular
from slicebase.history.notes import MOST_NOTES, keep_newest
from slicebase.importers.formats import Import
from slicebase.importers.values import Format, ImportSource, Options
from slicebase.truth.truth import Truth
from slicebase.workspace.atomic import own_temporary, read_bytes, write_bytes
from slicebase.workspace.boundary import real_path
from slicebase.workspace.doors import Redaction
from slicebase.workspace.workspace import own_folder

if TYPE_CHECKING:
    from slicebase.graph.turn import Edge

LINES: Final = ".jsonl"  # the ending of transcripts that grow by lines


class SeenFile(msgspec.Struct, frozen=True):
    """A file as it was read: what identifies its state, and the last turns of its sessions."""

    version: str
    name: str
    status: tuple[int, ...]
    is_growing: bool
    lasts: frozenset[str] = frozenset()


def reread(
    truth: Truth, store: Path, path: Path, redaction: Redaction, known: Format, *, is_growing: bool
) -> tuple[Account, int]:
    """Imports a file that changed since the last time, redacted. Returns the account, and the size that was read."""
    name, cache = str(real_path(path)), store.parent
    account = Account()
    with open(open_regular(name, path), "rb") as stream:
        status = os.fstat(stream.fileno())
        now = SeenFile(__version__, name, _state(status), is_growing)
        if _is_same(truth, store, now):
            return account, 0
        chunks = chunks_up_to(stream, status.st_size)
        source = ImportSource(name, _complete(chunks) if path.suffix == LINES else chunks, is_growing)
        _store(truth, account, source, known, redaction)
    if path.suffix != LINES:  # a client may write a document for each call, and delete it
        return account, status.st_size
    lasts = (truth.turns.session(session).facts.get("shown_last") for session in account.sessions)
    with suppress(OSError, SlicebaseError):
        own_folder(cache)
        data = msgspec.msgpack.encode(msgspec.structs.replace(now, lasts=frozenset(filter(None, lasts))))
        is_new = not store.exists()
        write_bytes(store, [data], within=cache, private=True, temporary=own_temporary())
        if is_new:
            keep_newest(cache, MOST_NOTES, within=cache)
    return account, status.st_size


def is_seen(store: Path, status: os.stat_result) -> bool:
    """Returns whether a file was read in the state that it has now."""
    seen = _seen(store)
    return seen is not None and seen.status == _state(status)


def _state(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _seen(store: Path) -> SeenFile | None:
    try:
        return msgspec.msgpack.decode(read_bytes(store), type=SeenFile)
    except (OSError, SlicebaseError, msgspec.MsgspecError):
        return None


def reread_session(truth: Truth, path: Path, redaction: Redaction, known: Format, session: str) -> Account:
    """Imports one session of a store with many, such as a database; what is not finished in it waits."""
    account = Account()
    found = next((each for each in inputs([path]) if _is_of(each, session)), None)
    if found is None:
        raise SlicebaseError("no-input", f"there is no session {session} in it", where=Where(str(path)))
    _store(truth, account, ImportSource(found.name, found.chunks()), known, redaction)
    return account


def _is_of(each: Input, session: str) -> bool:
    return ImportSource(each.name, ()).stem == session


def _store(truth: Truth, account: Account, source: ImportSource, known: Format, redaction: Redaction) -> None:
    account.formats[known.name] = 1
    run = Import(Options(redactor=redaction.redactor))
    waiting: list[Edge] = []
    with truth.database.bulk():
        batches = run.read(source, known)
        store_batches(truth, account, batches, waiting, name=source.name, annotate=Annotator(truth))
        link_agents(truth, account, run.agents.known)
    account.waiting += len(waiting)
    redaction.counts.update(account.report.redacted)


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
