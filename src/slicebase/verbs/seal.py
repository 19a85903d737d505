"""Seals: the heads of all chains, and the versions of the library's files, in one slice file for git.

The chains and their log show that the stored records are consistent. A seal outside the database also shows that
nothing was cut off or rewritten since. Each line is a JSON array: `["log", database, entries, hash]` first, then
`["chain", name, rows, hash]` and `["file", id, version]`. The database keeps a record of each seal that it made.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from slicebase.errors import SlicebaseError
from slicebase.files.create import new_file
from slicebase.files.links import file_name
from slicebase.files.model import Contract
from slicebase.files.slice_file import SliceFile
from slicebase.library.folder import SliceFolder
from slicebase.truth.acts import SEAL, SealRecord, act_row
from slicebase.truth.chains import LOG, Chain, all_chains, head_of
from slicebase.truth.truth import Truth
from slicebase.verbs.verify_chains import VerifyFinding
from slicebase.workspace.atomic import read_bytes
from slicebase.workspace.workspace import LIBRARY

KIND = "seal"  # the file's `meta.slicebase`
_FIRST = b'["log",'
_MARK = re.compile(rb"""^[ \t]*+["']?slicebase["']?[ \t]*+:[ \t]*+["']?seal["']?[ \t\r]*+$|^\["log",""", re.MULTILINE)


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


class SealedLog(NamedTuple):
    """What a seal says about the log: of which database, how many entries, and the hash of the last."""

    database: str
    entries: int
    hash: str


def seal(truth: Truth, folder: SliceFolder, file_id: str, time: str) -> Seal:
    """Writes a new seal; earlier seals stay, and no seal contains another. Logs first what is not logged yet."""
    if not truth.database.read_only:
        with truth.database.writing():
            truth.database.append(Chain("acts"), [act_row(SEAL, SealRecord(file_id, time))])
    truth.database.log(all_chains(truth.database.connection))
    with truth.database.reading():
        chains = list(all_chains(truth.database.connection))
        heads = [_head_line(truth, chain) for chain in chains]
        log = head_of(truth.database.connection, Chain(LOG))
        first = ["log", truth.identity.database, log.length, log.hash.hex()]
    files = list(_files(folder))
    runs, sessions = (sum(chain.table == table for chain in chains) for table in ("events", "sessions"))
    body = b"".join(msgspec.json.encode(line) + b"\n" for line in (first, *heads, *files))
    file = new_file(
        id=file_id,
        title=f"Seal of {time}",
        summary=f"Heads of {runs} runs and {sessions} sessions, versions of {len(files)} files.",
        body_type="text",
        body=body,
        contract=Contract(purpose="What was stored when it was sealed. `tt verify` compares.", write="error"),
        meta={"slicebase": KIND},
        updated_at=time,
        name=f"{LIBRARY}/{file_name(file_id)}",
    )
    with folder.writing() as writer:
        writer.add(file)
    return Seal(file, runs, sessions, len(files))


def find_seal(folder: SliceFolder, name: str) -> SliceFile:
    """Returns the seal with this id; `latest` is the last one that was written."""
    if name != "latest":
        return folder.find(name)
    seals = all_seals(folder)
    if not seals:
        raise SlicebaseError("no-file", "there is no seal", hint="`tt seal` creates one")
    return seals[-1]


def all_seals(folder: SliceFolder) -> list[SliceFile]:
    """Returns all seals, the last written one last."""
    return read_seals(folder).seals


class FoundSeals(NamedTuple):
    """The seals of a library, the last written one last, and the errors of files that were seals and cannot be read."""

    seals: list[SliceFile]
    damaged: dict[str, SlicebaseError]  # by the name of the file


def read_seals(folder: SliceFolder) -> FoundSeals:
    """Returns what the library has of seals. A file that cannot be parsed is one if it has the mark of a seal."""
    seals, damaged = [], {}
    for name in folder.names():
        try:
            data = read_bytes(folder.path / name)
        except (SlicebaseError, FileNotFoundError):
            continue
        if KIND.encode() not in data and _FIRST not in data:
            continue
        try:
            file = SliceFile.parse(data, f"{LIBRARY}/{name}")
        except SlicebaseError as error:
            if _MARK.search(data):
                damaged[name] = error
            continue
        seals += [file] if is_seal(file) else []
    return FoundSeals(sorted(seals, key=lambda file: (file.updated_at or "", file.id or "")), damaged)


def sealed_log(file: SliceFile) -> SealedLog | None:
    """Returns what a seal says about the log, or None where it cannot be read."""
    try:
        kind, database, entries, head = msgspec.json.decode(
            file.body.split(b"\n", 1)[0], type=tuple[str, str, int, str]
        )
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return SealedLog(database, entries, head) if kind == "log" else None


def broken_seals(truth: Truth, folder: SliceFolder, file: SliceFile) -> Iterator[VerifyFinding]:
    """Yields how a seal differs from what is stored: chains that were cut or rewritten, files that changed."""
    for number, line in enumerate(file.body.splitlines(), 1):
        place = f"{file.name}:{file.body_line + number - 1}"
        try:
            kind, *values = msgspec.json.decode(line, type=list[Any])
            problems = list(_CHECKS[kind](truth, folder, values))
        except (msgspec.MsgspecError, LookupError, TypeError, ValueError, OverflowError, RecursionError):
            problems = [
                VerifyFinding("UNVERIFIABLE", "seal-line", place, "a line of a seal", line.decode(errors="replace"))
            ]
        yield from problems


def _log_holds(truth: Truth, folder: SliceFolder, values: list[Any]) -> Iterator[VerifyFinding]:
    _, entries, sealed = msgspec.convert(values, tuple[str, int, str])
    yield from _chain_holds(truth, folder, [LOG, entries, sealed])


def _chain_holds(truth: Truth, folder: SliceFolder, values: list[Any]) -> Iterator[VerifyFinding]:
    name, rows, sealed = msgspec.convert(values, tuple[str, int, str])
    connection, chain = truth.database.connection, Chain.named(name)
    found = head_of(connection, chain, rows).hash.hex() if rows else ""
    if found != sealed:
        there = found or f"{head_of(connection, chain).length} rows"
        yield VerifyFinding("BROKEN", "seal", str(chain), f"{rows} rows, {sealed}", there)


def _file_holds(truth: Truth, folder: SliceFolder, values: list[Any]) -> Iterator[VerifyFinding]:
    file_id, version = msgspec.convert(values, tuple[str, str])
    try:
        file = folder.get(file_id)
        found = file.digest if file else "no such file"
    except SlicebaseError as error:
        found = f"a file that cannot be read [{error.code}]"
    if found != version:
        yield VerifyFinding("DRIFTED", "seal", f"file:{file_id}", version, found)


_CHECKS = {"log": _log_holds, "chain": _chain_holds, "file": _file_holds}


def _head_line(truth: Truth, chain: Chain) -> list[Any]:
    head = head_of(truth.database.connection, chain)
    return ["chain", str(chain), head.length, head.hash.hex()]


def _files(folder: SliceFolder) -> Iterator[list[Any]]:
    for file in folder.all():
        if isinstance(file, SliceFile) and file.id and not is_seal(file):
            yield ["file", file.id, file.digest]


def is_seal(file: SliceFile) -> bool:
    """Returns whether a slice file says that it is a seal."""
    return file.meta.get("slicebase") == KIND
