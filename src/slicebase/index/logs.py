"""Updates what the index knows about files that belong together: logs of several files, and files with parts.

Which rows are active may depend on rows in other files, and the hash of a file on its parts (rulings 24 and 32). The
index keeps a fingerprint of all files that belong together. Only where it changes, these files are read again.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

import apsw
from msgspec.structs import replace

from slicebase.core.hashing import raw_digest
from slicebase.errors import SlicebaseError
from slicebase.files.body.repeated import in_place, in_precedence, repeated_rows, without_repeated
from slicebase.files.body.rows import Row
from slicebase.files.body.whole import in_reading_order, whole_hash
from slicebase.files.facts import Facts, own_rows, read_facts
from slicebase.files.links import reach
from slicebase.files.slice_file import SliceFile
from slicebase.index.links import overflow_links, part_links

ReadPart = Callable[[str], tuple[SliceFile, bool]]  # returns the file with a name, and whether its body is complete
StoreFacts = Callable[[int, Facts], None]  # stores the facts of the file with this number


class _Member(NamedTuple):
    """One of the files that belong together."""

    name: str
    number: int
    version: bytes


class LogUpdate:
    """The part of an update that depends on several files at once."""

    def __init__(self, connection: apsw.Connection, read: ReadPart, store: StoreFacts) -> None:
        self._connection = connection
        self._read = read
        self._store = store

    def run(self) -> None:
        """Updates the hashes of files with parts, then the rows of logs."""
        self._update_wholes()
        self._update_logs()

    # Files with parts

    def _update_wholes(self) -> None:
        stored = dict(self._connection.execute("SELECT number, parts FROM files WHERE parts IS NOT NULL"))
        for members in self._together(overflow_links(self._connection), _NAMED):
            fingerprint = _fingerprint(members)
            before = {stored.pop(member.number, None) for member in members}
            if before != {fingerprint}:
                self._store_wholes(members, fingerprint)
        for number in stored:
            self._show(number)
            query = "UPDATE files SET whole = NULL, parts = NULL, repeated = 0 WHERE number = ?"
            self._connection.execute(query, (number,))

    def _store_wholes(self, members: Sequence[_Member], fingerprint: bytes) -> None:
        """Stores the hash of each file with its parts; an empty one if a file is too large to be read."""
        files: dict[int, SliceFile] = {}
        is_complete = True
        for member in members:
            try:
                files[member.number], has_body = self._read(member.name)
                is_complete &= has_body
            except SlicebaseError:
                is_complete = False  # the file changed just now; the next update reads it
        by_id = {file.id: file for file in files.values()}
        repeats = bool(repeated_rows(file for file in files.values() if file.body_type == "jsonl"))
        others = in_reading_order(file for file in files.values() if file.body_type != "jsonl")
        shorter = {old.name: in_place(old, new) for old, new in without_repeated(others)}
        for member in members:
            file = files.get(member.number)
            found = whole_hash(file, by_id.get) if file and is_complete else ""
            self._show(member.number)
            if file and file.name in shorter:
                self._store(member.number, read_facts(shorter[file.name]))
            repeated = file is not None and (file.name in shorter or (repeats and file.body_type == "jsonl"))
            query = "UPDATE files SET whole = ?, parts = ?, repeated = ? WHERE number = ?"
            self._connection.execute(query, (found, fingerprint, repeated, member.number))

    def _show(self, number: int) -> None:
        """Stores the content of an archive again that was left out because another one has it."""
        query = "SELECT name FROM files WHERE number = ? AND repeated AND type <> 'jsonl'"
        for row in self._connection.execute(query, (number,)).fetchall():
            with suppress(SlicebaseError):  # the file changed just now; the next update reads it
                self._store(number, read_facts(self._read(str(row[0]))[0]))

    # Logs of several files

    def _update_logs(self) -> None:
        """Stores those files again in which rows become active or inactive because of rows in other files.

        So it does with files of which one repeats rows of another: they are found only where they are first.
        """
        stored = dict(self._connection.execute("SELECT number, log FROM files WHERE log IS NOT NULL"))
        for log in self._logs():
            fingerprint = _fingerprint(log)
            before = {stored.pop(member.number, None) for member in log}
            if before != {fingerprint}:
                self._store_log(log, fingerprint)
        for number in stored:
            query = "SELECT name, number, version FROM files WHERE number = ?"
            self._store_log([_Member(*self._connection.execute(query, (number,)).get)], None)

    def _logs(self) -> Iterator[list[_Member]]:
        starts = {name for (name,) in self._connection.execute(_DEPENDENT)}
        return self._together(part_links(self._connection), _ROWS, starts) if starts else iter(())

    def _together(
        self, pairs: Iterable[tuple[str, str]], query: str, starts: Iterable[str] | None = None
    ) -> Iterator[list[_Member]]:
        """Yields the files that pairs of ids join; only those that belong to one of `starts`, if these are given."""
        joined: dict[str, list[str]] = {}
        for one, other in pairs:
            joined.setdefault(one, []).append(other)
            joined.setdefault(other, []).append(one)
        done: set[str] = set()
        for start in sorted(joined if starts is None else joined.keys() & set(starts)):
            if start not in done:
                ids = reach(joined, [start])
                done |= ids
                yield [_Member(*member) for member in self._connection.execute(query, (json.dumps(sorted(ids)),))]

    def _store_log(self, log: Sequence[_Member], fingerprint: bytes | None) -> None:
        """Stores the contents of the files of a log, each with the rows of the others taken into account."""
        files = {}
        for member in log:
            try:
                files[self._read(member.name)[0]] = member.number
            except SlicebaseError:
                continue  # the file changed just now; the next update reads it
        rows = {file: own_rows(file) for file in files}
        seen: set[bytes] = set()
        for file in in_precedence(in_reading_order(files)):
            own = {row.line.raw for row in rows[file]}
            others = [row for other, found in rows.items() if other is not file for row in found]
            facts = read_facts(file, [row for row in others if row.line.raw not in own])
            facts = _without(facts, [row for row in rows[file] if row.line.raw in seen])  # they count once
            self._store(files[file], facts)
            query = "UPDATE files SET log = ?, rows = ? WHERE number = ?"
            self._connection.execute(query, (fingerprint, facts.rows, files[file]))
            seen |= own


def _without(facts: Facts, rows: Sequence[Row]) -> Facts:
    """Returns the facts of a log without some of its rows. Another row with one of their ids stays."""
    lines = {row.line.number for row in rows}
    passages, former = (
        tuple(passage for passage in found if passage.line not in lines) for found in (facts.passages, facts.former)
    )
    gone = {row.id for row in rows} - {passage.row for passage in (*passages, *former)}
    links = tuple(link for link in facts.links if link.row not in gone)
    return replace(facts, rows=facts.rows - len(lines), passages=passages, former=former, links=links)


def _fingerprint(members: Iterable[_Member]) -> bytes:
    return raw_digest(b"".join(member.name.encode() + b"\0" + member.version for member in members))


_NAMED: Final = """
SELECT name, number, version FROM files WHERE problem IS NULL AND id IN (SELECT value FROM json_each(?))
ORDER BY name = id || '.slice', name
"""
_DEPENDENT: Final = """
SELECT files.id FROM elsewhere JOIN files ON files.number = elsewhere.file WHERE id IS NOT NULL
UNION SELECT id FROM files WHERE repeated AND type = 'jsonl'
"""
_ROWS: Final = """
SELECT name, number, version FROM files
WHERE type = 'jsonl' AND id IN (SELECT value FROM json_each(?)) ORDER BY name
"""
