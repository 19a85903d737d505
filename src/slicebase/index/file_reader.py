"""Updates the index of slice files: adds the files that are new or changed, and removes those that are gone."""

import errno
import json
import os
import stat
from collections.abc import Iterable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

import apsw
from msgspec.structs import replace

from slicebase.context.forms import for_index
from slicebase.core.hashing import raw_digest
from slicebase.core.refs import parse
from slicebase.errors import SlicebaseError, Where
from slicebase.files.facts import BodyPassage, Facts, StatedLink, read_facts
from slicebase.files.links import SUFFIX, resolve, target_kind
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.load import MAX_HEADER
from slicebase.index.logs import LogUpdate
from slicebase.index.notes import AtHand, Cleaning, IndexedNote, NotesAtHand, index_note
from slicebase.index.schema import PASSAGE_BREAK, ReadProgress
from slicebase.workspace.note_files import is_certain, stamps
from slicebase.workspace.workspace import LIBRARY


class _KnownFile(NamedTuple):
    """What the index has of a file: its number, its stamp, and the digest of its bytes."""

    number: int
    stamp: str
    version: bytes


class Update:
    """One update of the index from the folder, in one transaction."""

    def __init__(
        self,
        connection: apsw.Connection,
        library: Path,
        cleaning: Cleaning,
        progress: ReadProgress,
        at_hand: AtHand | None = None,
    ) -> None:
        self._connection = connection
        self._library = library
        self._root = library.parent
        self._cleaning = cleaning
        self._progress = progress
        self._at_hand = at_hand or AtHand({}, NotesAtHand())
        self._tick = 0
        self._notes_read: set[int] = set()  # in this update

    def run(self, listing: Sequence[str], tick: int) -> None:
        """Updates the index to a listing of the folder that was started at this tick."""
        self._tick = tick
        stamps: dict[str, str] = dict(line.split("\0") for line in listing)
        query = "SELECT name, number, stamp, version FROM files"
        known = {name: _KnownFile(*rest) for name, *rest in self._connection.execute(query)}
        for name in known.keys() - stamps.keys():
            self._delete(known[name].number)
        due = [name for name, stamp in stamps.items() if name not in known or known[name].stamp != stamp]
        for done, name in enumerate(due):
            self._progress(done, len(due))
            self._read_file(name, stamps[name] if _is_certain(stamps[name], tick) else "", known.get(name))
        self._progress(len(due), len(due))
        LogUpdate(self._connection, self._read_part, self._store_again).run()
        certain = all(_is_certain(stamp, tick) for stamp in stamps.values())
        self._connection.execute("UPDATE state SET listing = ?", ("\0".join(listing) if certain else "",))

    def run_notes(self) -> None:
        """Reads the notes that have changed since the last update; all, if secrets are now replaced differently."""
        known: list[Any] = self._connection.execute("SELECT file, path, stamp FROM notes ORDER BY file").fetchall()
        if not known:
            self._connection.execute("UPDATE state SET notes = '', cleaned = ''")
            return
        cleaned = self._cleaning.state()
        again = self._connection.execute("SELECT cleaned FROM state").get not in ("", cleaned)
        found = stamps(self._root, [path for _, path, _ in known])
        due = [
            (number, path)
            for (number, path, stamp), now in zip(known, found, strict=True)
            if (stamp != now or again) and number not in self._notes_read
        ]
        for done, (number, path) in enumerate(due):
            self._progress(done, len(due))
            self._read_note(number, path, again=again)
        self._progress(len(due), len(due))
        if not all(is_certain(stamp, self._tick) for stamp in found):
            self._connection.execute("UPDATE state SET listing = ''")
        listed = "\0".join(text for (_, path, _), stamp in zip(known, found, strict=True) for text in (path, stamp))
        self._connection.execute("UPDATE state SET notes = ?, cleaned = ?", (listed, cleaned))

    # One file

    def _read_file(self, name: str, stamp: str, known: _KnownFile | None) -> None:
        """Reads a file and stores its facts. If its bytes are the same as before, stores only its stamp."""
        version, size, time, facts, problem, note = b"", 0, None, _NO_FACTS, None, None
        try:
            data, status = _read(self._library / name)
            version, size, time = raw_digest(data), status.st_size, status.st_mtime_ns // 1_000_000
            if known and known.version == version:
                query = "UPDATE files SET stamp = ?, disk_time = ?, size = ? WHERE number = ?"
                self._connection.execute(query, (stamp, time, size, known.number))
                return
            facts = _facts(data, name, size, self._at_hand.files.get(name))
            note = self._indexed(facts.note.path) if facts.note else None
        except SlicebaseError as error:
            problem = json.dumps(error.as_json())
        if known:
            self._delete(known.number)
        stored = (known and known.number, name, stamp, version, None, problem, time, size)
        # Without an id, the name of the file is used.
        self._connection.execute(_INSERT, (*stored, facts.id or name.removesuffix(SUFFIX), *_fields(facts)))
        if facts is not _NO_FACTS:
            number = self._connection.last_insert_rowid()
            self._store_contents(number, _with_note(facts, note))
            if note:
                self._connection.execute(_INSERT_NOTE, (number, *facts.note, *note[:-1]))
                self._notes_read.add(number)

    def _indexed(self, path: str) -> IndexedNote:
        note = index_note(self._root, path, self._cleaning, self._at_hand.notes)
        return note if is_certain(note.stamp, self._tick) else note._replace(stamp="")

    def _read_note(self, number: int, path: str, *, again: bool) -> None:
        """Reads a note again. If its bytes are the same as before, stores only its stamp, unless it is read `again`."""
        note = self._indexed(path)
        same = "SELECT digest IS ? AND problem IS ? FROM notes WHERE file = ?"
        if again or not self._connection.execute(same, (note.digest, note.problem, number)).get:
            name = self._connection.execute("SELECT name FROM files WHERE number = ?", (number,)).get
            try:
                facts = _facts(*_read_whole(self._library / name))
            except SlicebaseError:
                return  # the pointer changed just now; the next update reads it
            self._store_again(number, _with_note(facts, note))
        fields = "stamp = ?, digest = ?, problem = ?, said = ?"
        self._connection.execute(f"UPDATE notes SET {fields} WHERE file = ?", (*note[:-1], number))

    def _read_part(self, name: str) -> tuple[SliceFile, bool]:
        data, status = _read(self._library / name)
        return _parsed(data, name, status.st_size), len(data) == status.st_size

    def _store_again(self, number: int, facts: Facts) -> None:
        self._delete_contents(number)
        self._store_contents(number, facts)

    def _delete(self, number: int) -> None:
        self._delete_contents(number)
        self._connection.execute("DELETE FROM notes WHERE file = ?", (number,))
        self._connection.execute("DELETE FROM files WHERE number = ?", (number,))

    def _delete_contents(self, number: int) -> None:
        self._connection.execute("DELETE FROM words WHERE rowid = ?", (number,))
        for table in ("bodies", "links", "meta", "elsewhere"):
            self._connection.execute(f"DELETE FROM {table} WHERE file = ?", (number,))

    def _store_contents(self, number: int, facts: Facts) -> None:
        execute, many = self._connection.execute, self._connection.executemany
        passages, former = _joined(facts.passages), _joined(facts.former)
        execute(
            "INSERT INTO bodies VALUES (?, ?, ?, ?, ?)",
            (number, passages, _places(facts.passages), former, _places(facts.former)),
        )
        execute(
            "INSERT INTO words (rowid, title, summary, passages, former) VALUES (?, ?, ?, ?, ?)",
            (number, *map(for_index, (facts.title, facts.summary, passages, former))),
        )
        links = [(number, position, *_link_fields(stated)) for position, stated in enumerate(facts.links)]
        many("INSERT INTO links VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", links)
        many("INSERT INTO meta VALUES (?, ?, ?)", [(number, key, value) for key, value in facts.meta])
        many("INSERT INTO elsewhere VALUES (?, ?)", [(number, row) for row in facts.supersedes_elsewhere])


def _is_certain(stamp: str, tick: int) -> bool:
    """Returns whether the stamp would show a later change. It might not show a change in the same tick."""
    _, modified, changed, _ = stamp.split(" ")
    return max(int(modified), int(changed)) < tick


LARGEST: Final = 64 * 1024 * 1024  # bytes; of a larger file, only the head is read
_HEAD: Final = MAX_HEADER + 1024  # bytes, with the markers


def _read(path: Path) -> tuple[bytes, os.stat_result]:
    """Returns the bytes of a regular file, or only the head of a file that is too large."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)  # else opening a pipe would wait
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.EINVAL, "this is not a regular file")
            return file.read(_HEAD if status.st_size > LARGEST else -1), status
    except OSError as error:
        raise SlicebaseError(
            "cannot-read", f"{path.name}: {error.strerror}", where=Where(f"{LIBRARY}/{path.name}")
        ) from None


def _read_whole(path: Path) -> tuple[bytes, str, int]:
    data, status = _read(path)
    return data, path.name, status.st_size


def _with_note(facts: Facts, note: IndexedNote | None) -> Facts:
    """Returns the facts of a pointer with the text of its note as its passage."""
    return replace(facts, passages=note.passages) if note else facts


def _facts(data: bytes, name: str, size: int, at_hand: SliceFile | None = None) -> Facts:
    """Returns the facts of a file. The hash is None where the body was not read. `at_hand` may be the file, or not."""
    facts = read_facts(at_hand if at_hand and at_hand.to_bytes() == data else _parsed(data, name, size))
    return facts if size == len(data) or facts.kind == "pointer" else replace(facts, hash=None)


def _parsed(data: bytes, name: str, size: int) -> SliceFile:
    file = SliceFile.parse(data, f"{LIBRARY}/{name}")
    return file if size == len(data) else file.with_body(b"")


# The values of the tables

_FIELDS: Final = (
    "title", "summary", "kind", "body_type", "hash", "source", "source_hash", "changed", "due",
    "archived", "purged", "rows",
)  # fmt: skip
_INSERT: Final = f"INSERT INTO files VALUES ({', '.join('?' * (9 + len(_FIELDS)))}, NULL, NULL, 0)"
_INSERT_NOTE: Final = "INSERT INTO notes VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_fields = attrgetter(*_FIELDS)
_NO_FACTS: Final = Facts(
    id=None, title="", summary="", kind="", body_type="", hash=None, source=None, source_hash=None, changed=None,
    due=None, archived=False, purged=False, rows=0, meta=(), links=(), passages=(), former=(), supersedes_elsewhere=(),
)  # fmt: skip


def _joined(passages: Iterable[BodyPassage]) -> str:
    return PASSAGE_BREAK.join(passage.text.replace(PASSAGE_BREAK, " ") for passage in passages)


def _places(passages: Iterable[BodyPassage]) -> str:
    return PASSAGE_BREAK.join(f"{passage.line} {passage.row}" for passage in passages)


def _link_fields(stated: StatedLink) -> tuple[Any, ...]:
    link = stated.link
    target = link.to or ""
    return (stated.row, stated.active, link.rel, target, link.label, *_resolved(target))


def _resolved(target: str) -> tuple[str, str | None]:
    """Returns what a link target names: an id, a path from the workspace, a reference or a URI.

    If the target is the path of a slice file, returns the name of that file, too. Its id is looked up by each query
    (ruling 29).
    """
    kind = target_kind(target)
    if kind == "reference":
        ref = parse(target)
        return (ref.name if ref.kind == "file" else target), None
    if kind != "path":
        return target, None
    path = resolve(LIBRARY, target)
    if path is None:
        return target, None
    folder, _, name = path.rpartition("/")
    is_slice_file = folder == LIBRARY and name.endswith(SUFFIX)
    return f"./{path}{'/' if target.endswith('/') else ''}", name if is_slice_file else None
