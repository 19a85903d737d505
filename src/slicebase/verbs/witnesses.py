"""Witnesses of the database, which verify consults by itself: seals, the index of turns, and narratives (ruling 45).

Only witnesses of this database count. A seal of another one, such as a colleague's, or of this one before it was
adopted or restored from a copy, is listed.

Witnesses are heard before the database is read: what they know then is in it, however much others write meanwhile.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from slicebase.errors import SlicebaseError
from slicebase.files.links import file_name
from slicebase.files.slice_file import SliceFile
from slicebase.index.turns import TurnIndex
from slicebase.index.upkeep import IndexMark, index_mark, read_mark
from slicebase.truth.acts import Identity, identities, sealed_files
from slicebase.truth.truth import Truth
from slicebase.verbs.parts import Parts
from slicebase.verbs.seal import FoundSeals, SealedLog, broken_seals, find_seal, is_seal, read_seals, sealed_log
from slicebase.verbs.verify_chains import VerifyFinding
from slicebase.workspace.workspace import LIBRARY


class Witnesses(NamedTuple):
    """What the witnesses say: the seals; the seal that was named; how far the index has read."""

    found: FoundSeals
    named: SliceFile | None
    read: IndexMark | None


def heard(parts: Parts, named: str | None = None) -> Witnesses:
    """Returns what the witnesses say now. A seal that is named is compared in full, too."""
    seal = find_seal(parts.folder, named) if named is not None else None
    return Witnesses(read_seals(parts.folder), seal, _mark_of_index(parts))


def _mark_of_index(parts: Parts) -> IndexMark | None:
    try:
        if not parts.workspace.turns.exists():
            return None
        with TurnIndex(parts.workspace.turns) as index:
            return index.ask(lambda: read_mark(index.mark))
    except (SlicebaseError, OSError, ValueError, TypeError):
        return None  # an index that cannot be read is built again, and says nothing


def consulted(parts: Parts, witnesses: Witnesses) -> Iterator[VerifyFinding]:
    """Yields what the witnesses know better than the database."""
    yield from _sealed(parts, witnesses)
    yield from _indexed(parts, witnesses.read)
    yield from _narrated(parts)


def _sealed(parts: Parts, witnesses: Witnesses) -> Iterator[VerifyFinding]:
    """Compares the newest seal of this database, and of the others the log: a log never loses what it had."""
    known, named = identities(parts.truth.database.connection), witnesses.named
    seals = [file for file in witnesses.found.seals if named is None or file.id != named.id]
    ours = [file for file in seals if is_ours(sealed_log(file), known)]
    newest = ours[-1:] if named is None else [named]
    for file in newest:
        yield from _one_seal(parts, file, known)
    for file in seals:
        if file in ours and file not in newest:
            first = file.body.split(b"\n", 1)[0] + b"\n"
            yield from broken_seals(parts.truth, parts.folder, file.with_body(first))
        elif file not in ours:
            yield _foreign(file)
    yield from _damaged(parts, witnesses.found.damaged)


def _damaged(parts: Parts, found: dict[str, SlicebaseError]) -> Iterator[VerifyFinding]:
    """Yields the seals that are there and cannot be read: those that this database made, and others by their mark.

    A seal without a file is no damage: an older commit that is checked out does not have it.
    """
    damaged = {name: f"{error} [{error.code}]" for name, error in found.items()}
    for file_id in sealed_files(parts.truth.database.connection):
        name = file_name(file_id)
        with suppress(FileNotFoundError):
            problem = _problem_of_seal(parts, name)
            if problem:
                damaged[name] = problem
    for name, problem in damaged.items():
        yield VerifyFinding("UNVERIFIABLE", "seal", f"{LIBRARY}/{name}", "a seal that can be read", problem)


def _problem_of_seal(parts: Parts, name: str) -> str:
    try:
        file = parts.folder.read(name)
    except SlicebaseError as error:
        return f"{error} [{error.code}]"
    return "" if is_seal(file) or file.purged else "a file that is not a seal"


def _one_seal(parts: Parts, file: SliceFile, known: list[Identity]) -> Iterator[VerifyFinding]:
    log = sealed_log(file)
    if log is None or is_ours(log, known):
        yield from broken_seals(parts.truth, parts.folder, file)
    else:
        yield _foreign(file)


def is_ours(log: SealedLog | None, known: list[Identity]) -> bool:
    """Returns whether a seal is of this database: of its id, or of an earlier id and from before that was given up."""
    if log is None or not known:
        return False
    given_up = {identity.before: identity.log for identity in known if identity.before is not None}
    if log.database == known[-1].database:
        return True
    return log.database in {identity.database for identity in known} and log.entries <= given_up.get(log.database, 0)


def _foreign(file: SliceFile) -> VerifyFinding:
    log = sealed_log(file)
    if log is None:
        return VerifyFinding("UNVERIFIABLE", "seal-line", file.name, "a line of a seal about the log", "other bytes")
    return VerifyFinding("FOREIGN", "seal", file.name, "a seal of this database", log.database)


def _indexed(parts: Parts, read: IndexMark | None) -> Iterator[VerifyFinding]:
    """Compares how far the index of turns has read with how much there is."""
    if read is None:
        return
    try:
        there = read_mark(index_mark(parts.truth))
    except (SlicebaseError, OSError, ValueError, TypeError):
        return  # a database that cannot even say this is reported already
    for what in ("turns", "links", "purges"):
        if read.database == there.database and getattr(read, what) > getattr(there, what):
            found = f"{getattr(there, what)} in the database"
            yield VerifyFinding("BROKEN", "index", what, f"{getattr(read, what)} that the index has read", found)


def _narrated(parts: Parts) -> Iterator[VerifyFinding]:
    """Compares narratives with the snapshots that they name."""
    for file in parts.folder.mentioning(b"sn_"):
        source = file.derived_from
        if source is None or not (source.id or "").startswith("sn_"):
            continue
        stored = _digest_of(parts.truth, source.id or "")
        if stored is None:
            yield VerifyFinding("FOREIGN", "narrative", file.name, source.id or "", "no such snapshot here")
        elif source.hash != stored:
            yield VerifyFinding("DRIFTED", "narrative", file.name, stored, source.hash or "no hash")


def _digest_of(truth: Truth, snapshot_id: str) -> str | None:
    place = truth.runs.snapshots.place_of(snapshot_id)
    records = truth.runs.snapshots.records(place[0]) if place else ()
    return next((record.digest for record in records if place and record.sequence == place[1]), None)
