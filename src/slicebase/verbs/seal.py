"""Seals: the heads of all runs and sessions, and the versions of the library's files, in one slice file for git.

A hash chain shows that the stored records are consistent. A seal outside the database also shows that nothing was cut
off or rewritten. Each line is a JSON array: `["run", id, events, hash]`, `["session", id, counts, hash]` with the hash
of the hashes of its records, or `["file", id, version]`.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from slicebase.core.hashing import digest
from slicebase.errors import SlicebaseError
from slicebase.files.create import new_file
from slicebase.files.links import file_name
from slicebase.files.model import Contract
from slicebase.files.slice_file import SliceFile
from slicebase.library.folder import SliceFolder
from slicebase.truth.truth import Truth
from slicebase.verbs.verify_runs import VerifyFinding
from slicebase.workspace.workspace import LIBRARY

_KIND = "seal"  # the file's `meta.slicebase`
_RECORDS = ("sessions", "turns", "links", "annotations")


class Seal(NamedTuple):
    """A seal that was written, and the numbers of what it seals."""

    file: SliceFile
    runs: int
    sessions: int
    files: int

    @property
    def id(self) -> str:
        """The id of the seal's slice file, for `verify`."""
        return self.file.id or ""

    def __repr__(self) -> str:
        return f"Seal(id={self.id!r}, runs={self.runs}, sessions={self.sessions}, files={self.files})"


def seal(truth: Truth, folder: SliceFolder, file_id: str, time: str) -> Seal:
    """Writes a new seal; earlier seals stay, and no seal contains another."""
    runs, sessions, files = list(_runs(truth)), list(_sessions(truth)), list(_files(folder))
    body = b"".join(msgspec.json.encode(line) + b"\n" for line in (*runs, *sessions, *files))
    file = new_file(
        id=file_id,
        title=f"Seal of {time}",
        summary=f"Heads of {len(runs)} runs and {len(sessions)} sessions, versions of {len(files)} files.",
        body_type="text",
        body=body,
        contract=Contract(purpose="What was stored when it was sealed. `tt verify --seal` compares.", write="error"),
        meta={"slicebase": _KIND},
        updated_at=time,
        name=f"{LIBRARY}/{file_name(file_id)}",
    )
    with folder.writing() as writer:
        writer.add(file)
    return Seal(file, len(runs), len(sessions), len(files))


def find_seal(folder: SliceFolder, name: str) -> SliceFile:
    """Returns the seal with this id; `latest` is the last one that was written."""
    if name != "latest":
        return folder.find(name)
    seals = [file for file in folder.mentioning(b"slicebase") if _is_seal(file)]
    if not seals:
        raise SlicebaseError("no-file", "there is no seal", hint="`tt seal` creates one")
    return max(seals, key=lambda file: (file.updated_at or "", file.id or ""))


def broken_seals(truth: Truth, folder: SliceFolder, file: SliceFile) -> Iterator[VerifyFinding]:
    """Yields the differences between a seal and what is stored: logs that were cut or rewritten, files that changed."""
    for number, line in enumerate(file.body.splitlines(), 1):
        place = f"{file.name}:{file.body_line + number - 1}"
        try:
            kind, *values = msgspec.json.decode(line, type=list[Any])
            problems = list(_CHECKS[kind](truth, folder, values))
        except (msgspec.MsgspecError, LookupError, TypeError, ValueError):
            problems = [
                VerifyFinding("UNVERIFIABLE", "seal-line", place, "a line of a seal", line.decode(errors="replace"))
            ]
        yield from problems


def _run_holds(truth: Truth, folder: SliceFolder, values: list[Any]) -> Iterator[VerifyFinding]:
    run_id, seq, sealed = values
    found = truth.runs.log.head_at(run_id, seq).hash
    if found != sealed:
        yield VerifyFinding("BROKEN", "seal", f"run:{run_id} event {seq}", sealed, found or "no such event")


def _session_holds(truth: Truth, folder: SliceFolder, values: list[Any]) -> Iterator[VerifyFinding]:
    session, counts, sealed = values
    found = _session_hash(truth, session, counts)
    if found != sealed:
        yield VerifyFinding("BROKEN", "seal", f"session:{session}", sealed, found)


def _file_holds(truth: Truth, folder: SliceFolder, values: list[Any]) -> Iterator[VerifyFinding]:
    file_id, version = values
    file = folder.get(file_id)
    if file is None or file.version != version:
        yield VerifyFinding("DRIFTED", "seal", f"file:{file_id}", version, file.version if file else "no such file")


_CHECKS = {"run": _run_holds, "session": _session_holds, "file": _file_holds}


def _runs(truth: Truth) -> Iterator[list[Any]]:
    for tally in sorted(truth.runs.log.tallies()):
        yield ["run", tally.run_id, tally.seq, tally.hash]


def _sessions(truth: Truth) -> Iterator[list[Any]]:
    for session, _ in truth.turns.sessions():
        counts = [_count(truth, table, session.id) for table in _RECORDS]
        yield ["session", session.id, counts, _session_hash(truth, session.id, counts)]


def _count(truth: Truth, table: str, session: str) -> int:
    query = f"SELECT coalesce(max(seq), 0) FROM {table} WHERE session = ?"
    return int(next(truth.database.connection.execute(query, (session,)))[0])


def _session_hash(truth: Truth, session: str, counts: list[int]) -> str:
    """Returns the hash of the hashes of a session's first records of each kind; later records do not change it."""
    hashes = bytearray()
    for table, count in zip(_RECORDS, counts, strict=True):
        query = f"SELECT hash FROM {table} WHERE session = ? AND seq <= ? ORDER BY seq"
        for (record_hash,) in truth.database.connection.execute(query, (session, count)):
            hashes += record_hash
    return digest(bytes(hashes))


def _files(folder: SliceFolder) -> Iterator[list[Any]]:
    for file in folder.all():
        if isinstance(file, SliceFile) and file.id and not _is_seal(file):
            yield ["file", file.id, file.version]


def _is_seal(file: SliceFile) -> bool:
    return file.meta.get("slicebase") == _KIND
