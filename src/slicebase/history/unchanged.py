"""What was imported before and has not changed since costs a look, and is not read again.

The disposable cache keeps, for each file that was imported with nothing left out, what identifies its state (device,
inode, size, both times, digest of the tail) and what an account says about it: counts and ids, never texts. A file is
read again

- if any of this differs. A file that is rewritten with the same size, and given its old time back, has another change
  time. Of a file that changed within the tick of the disk's clock before it was read, all bytes are compared, too: it
  may have changed again within that tick;
- after another version, with other options or other rules of redaction, with another database, or after a purge, a
  restore or an adoption: all these are part of the key;
- if the database is a copy from before the import: its log does not begin with the log that the database had then.

A missing or damaged cache only makes an import slower.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from slicebase import __version__
from slicebase.core.hashing import digest_of, digest_of_pieces, raw_digest
from slicebase.errors import SlicebaseError
from slicebase.history.inputs import Input, file_chunks, is_recent
from slicebase.importers.values import Batch, Options
from slicebase.truth.chains import LOG, Chain, ChainHead, head_of
from slicebase.truth.truth import Truth
from slicebase.workspace.atomic import own_temporary, read_bytes, write_bytes
from slicebase.workspace.boundary import narrow_opened, real_path
from slicebase.workspace.workspace import own_folder

if TYPE_CHECKING:
    from slicebase.history.account import Account

NAME: Final = "imports.state"
TICK: Final = 2  # seconds: a disk's clock can be that coarse
_LAYOUT: Final = "3"
_TAIL: Final = 64 << 10
_MOST: Final = 200_000  # files


class FileStamp(msgspec.Struct, frozen=True):
    """What identifies the state of a file, or of a file in a zip."""

    device: int
    inode: int
    size: int
    modified: int
    changed: int
    tail: bytes
    member: str


class SeenInput(msgspec.Struct):
    """An input as it was imported: its state, and what the account said about it."""

    stamp: FileStamp
    whole: str = ""  # the digest of all bytes, where the times of the file were too new to tell a change
    format: str | None = None  # None for a file that is not a conversation
    records: int = 0
    turns: int = 0
    others: dict[str, int] = {}
    sessions: set[str] = set()  # to which it gave turns
    is_open: bool = False  # something in it is decided only when it does not grow any more


class _Kept(msgspec.Struct):
    key: str
    log: ChainHead  # of the database when the inputs were stored in it
    inputs: dict[str, SeenInput]


class SeenInputs:
    """The inputs that were imported before, with these options, into this database."""

    def __init__(self, cache: Path, truth: Truth, options: Options, format_name: str | None) -> None:
        self._cache = cache
        self._path = cache / NAME
        self._truth = truth
        self._key = _key(truth, options, format_name)
        self._inputs = self._load()
        self._new: dict[str, SeenInput] = {}
        self._wholes: dict[Path, str] = {}  # digests of files, taken before one of them is read

    def unchanged(self, found: Iterable[Input]) -> dict[str, SeenInput]:
        """Returns those of these inputs that have not changed since they were imported, by name."""
        same = {}
        for each in found:
            seen = self._inputs.get(_place(each)) if self._inputs and each.file else None
            if seen is not None and stamp_of(each) == seen.stamp and self._has_same_bytes(each, seen):
                same[each.name] = seen
        return same

    def _has_same_bytes(self, each: Input, seen: SeenInput) -> bool:
        """Returns whether a file whose times cannot tell has its old bytes. From the next tick on, its times can."""
        if not seen.whole:
            return True
        is_settled = not _is_new(seen.stamp)  # before its bytes are read
        if self._whole(each) != seen.whole:
            return False
        if is_settled:
            self._new[_place(each)] = msgspec.structs.replace(seen, whole="")
        return True

    def _whole(self, each: Input) -> str:
        """Returns the digest of all bytes of a file, or of a zip for all files in it; "" if they cannot be read."""
        assert each.file is not None
        if each.file not in self._wholes:
            self._wholes[each.file] = ""
            with suppress(SlicebaseError):
                self._wholes[each.file] = digest_of_pieces(file_chunks(each.file))
        return self._wholes[each.file]

    def begin(self, each: Input) -> SeenInput | None:
        """Returns an entry for an input that is read afterwards; None for one that cannot be seen."""
        stamp = stamp_of(each) if each.file else None
        if stamp is None:
            return None
        if not _is_new(stamp):
            return SeenInput(stamp)
        whole = self._whole(each)
        return SeenInput(stamp, whole) if whole else None

    def keep(self, each: Input, seen: SeenInput) -> None:
        """Keeps an entry, if all of the input is stored, and it did not change while it was read."""
        if not seen.is_open and stamp_of(each) == seen.stamp:
            self._new[_place(each)] = seen

    def save(self) -> None:
        """Writes the entries to the cache. If it cannot be written, everything is read the next time.

        The head of the log stands for all that was stored, if all of it is logged.
        """
        connection = self._truth.database.connection
        if not self._new or self._truth.database.unlogged():
            return
        kept = dict(list({**self._inputs, **self._new}.items())[-_MOST:])
        with suppress(OSError, SlicebaseError):
            own_folder(self._cache)
            data = msgspec.msgpack.encode(_Kept(self._key, head_of(connection, Chain(LOG)), kept))
            write_bytes(self._path, [data], within=self._cache, private=True, temporary=own_temporary())

    def _load(self) -> dict[str, SeenInput]:
        try:
            kept = msgspec.msgpack.decode(read_bytes(self._path), type=_Kept)
            self._narrow()
        except (OSError, SlicebaseError, msgspec.MsgspecError):
            return {}
        log = head_of(self._truth.database.connection, Chain(LOG), kept.log.length)
        return kept.inputs if kept.key == self._key and kept.log == log else {}

    def _narrow(self) -> None:
        """Takes from others what a copy or an older mode may allow them."""
        descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            narrow_opened(descriptor)
        finally:
            os.close(descriptor)


def enter(seen: SeenInput, account: "Account", name: str) -> None:
    """Enters an unchanged input in the account: all its turns are known."""
    if seen.format is None:
        account.unrecognised.append(name)
        return
    account.formats[seen.format] = account.formats.get(seen.format, 0) + 1
    account.complete.append(name)
    account.unchanged += 1
    account.known += seen.turns
    account.report.sessions.update(seen.sessions)
    account.report.records += seen.records
    account.report.turns += seen.turns
    account.report.others.update(seen.others)


def count(seen: SeenInput, batch: Batch) -> None:
    """Adds a batch to the entry of the input that is read."""
    seen.is_open |= batch.is_open
    seen.records += batch.records
    seen.turns += len(batch.turns)
    for kind, number in batch.others.items():
        seen.others[kind] = seen.others.get(kind, 0) + number
    if batch.session is not None and batch.turns:
        seen.sessions.add(batch.session.id)


def stamp_of(each: Input) -> FileStamp | None:
    """Returns the state of an input's file now; None if it cannot be seen."""
    assert each.file is not None
    try:
        descriptor = os.open(each.file, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        start = max(0, status.st_size - _TAIL)
        tail = raw_digest(os.pread(descriptor, status.st_size - start, start))
    except OSError:
        return None
    finally:
        os.close(descriptor)
    times = status.st_mtime_ns, status.st_ctime_ns
    return FileStamp(status.st_dev, status.st_ino, status.st_size, *times, tail, each.member)


def _is_new(stamp: FileStamp) -> bool:
    """Returns whether a file could change now, and its times would not tell."""
    return is_recent(stamp.modified, TICK) or is_recent(stamp.changed, TICK)


def _place(each: Input) -> str:
    place = f"{real_path(each.file or '')}!{each.member}"
    return place.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _key(truth: Truth, options: Options, format_name: str | None) -> str:
    acts = truth.database.connection.execute("SELECT coalesce(max(rowid), 0) FROM acts").get
    rules = options.redactor.rules if options.redactor else ""
    given = [_LAYOUT, __version__, truth.identity.database, acts, options.session, options.redact, rules, format_name]
    return digest_of(given)
