"""Takes an export into a workspace: what it has of an owner beyond what is here, and all that is shared.

An owner is taken in one transaction, after everything in it was derived again, or not at all. What both sides have
added to since they were the same is a conflict: both heads are reported, and both sides stay as they are. What cannot
be proved is refused. The other owners are taken all the same.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from slicebase.core.times import from_text
from slicebase.errors import Exit, SlicebaseError, Where
from slicebase.moves.archive import is_archive, unpacked
from slicebase.moves.exchange import MoveConflict, SharedVersions
from slicebase.moves.exported import ExportFolder, OwnedTexts, place_of_rows
from slicebase.moves.manifest import is_export
from slicebase.moves.places import TEXTS
from slicebase.moves.proof import UNREADABLE_ROW, MovedProof, refuse
from slicebase.moves.taken_files import take_files
from slicebase.truth.chains import Chain
from slicebase.truth.intake import Intake
from slicebase.truth.policies import read_policy_name
from slicebase.truth.transfer import (
    OWNED,
    MovedRow,
    MovedText,
    Transfer,
    head_of_texts,
    heads_digest,
    shared_head,
    shared_key,
)
from slicebase.verbs.imports import index_new_turns
from slicebase.verbs.parts import Parts
from slicebase.verbs.verify import Verdict, verify_workspace
from slicebase.workspace.atomic import create_folder
from slicebase.workspace.boundary import real_path
from slicebase.workspace.stage import folder_locked, stage, staging


class TakenReport(NamedTuple):
    """What was taken from an export, what is in conflict and was refused, and the digests of both sides' heads."""

    path: Path
    taken: tuple[str, ...]
    conflicts: tuple[MoveConflict, ...]
    refused: tuple[SlicebaseError, ...]
    kept: int  # texts that were purged there, and that are kept here
    heads: str
    heads_there: str
    verdict: Verdict | None = None  # of a workspace that had no memory before

    @property
    def exit(self) -> Exit:
        """The exit status of `tt import`."""
        if self.refused:
            return Exit.REFUSED
        return Exit.CONFLICT if self.conflicts else self.verdict.exit if self.verdict else Exit.DONE


def is_workspace_export(path: Path) -> bool:
    """Returns whether a path is an export of a workspace: a folder with its manifest, or an archive."""
    return is_archive(path) or is_export(path)


def import_workspace(parts: Parts, path: Path, progress: Callable[[str], None]) -> TakenReport:
    """Takes an export into a workspace. One without memory before is verified afterwards."""
    if not path.exists():
        hint = "`tt export --workspace FOLDER` writes one"
        raise SlicebaseError("no-input", "there is no such export", hint=hint, where=Where(str(path)))
    real = real_path(path)
    if not is_archive(path):
        with folder_locked(real):  # nobody exports into it meanwhile
            taken = _Import(parts, ExportFolder(real), SharedVersions(parts.workspace, real))
            return taken.run(progress)._replace(path=path)
    with staging(parts.workspace.root) as staged:
        folder = staged / real.name.partition(".")[0]
        create_folder(folder, within=staged)
        for member in unpacked(real):
            stage(folder, member.name, member.chunks)
        return (
            _Import(parts, ExportFolder(folder), SharedVersions(parts.workspace, real))
            .run(progress)
            ._replace(path=path)
        )


class _Import:
    def __init__(self, parts: Parts, export: ExportFolder, exchange: SharedVersions) -> None:
        self._parts = parts
        self._export = export
        self._exchange = exchange
        self._transfer = Transfer(parts.truth.database)
        self._proof = MovedProof(parts)
        self._intake = Intake(parts.truth, export.purges())
        self._texts = lru_cache(maxsize=2)(self._read_texts)
        self._taken: list[str] = []
        self._conflicts: list[MoveConflict] = []
        self._refused: list[SlicebaseError] = []
        self._gathered: dict[str, dict[bytes, MovedText]] = {}  # texts that the shared rows of a table name, by owner

    def run(self, progress: Callable[[str], None]) -> TakenReport:
        there, before = self._export.manifest.heads, self._transfer.heads()
        for table in ("policies", "policy_names"):
            if there.get(table) != before.get(table):
                progress(table)
                self._shared(table)
        for session in self._export.owners("session"):
            progress(f"session:{session}")
            self._owner("session", session)
        for table in ("evidence", "blobs", "manifests"):
            if there.get(table) != before.get(table):
                progress(table)
                self._shared(table)
        self._runs(progress)
        take_files(self._parts, self._export, self._exchange, self._taken, self._conflicts, self._refused)
        self._exchange.save()
        if self._taken:
            with suppress(SlicebaseError):  # what cannot be logged now is logged after the next write
                self._parts.truth.database.log()
            index_new_turns(self._parts)
        after = self._transfer.heads()
        verdict = verify_workspace(self._parts, progress) if not before and self._taken else None
        return TakenReport(
            self._export.folder, tuple(self._taken), tuple(self._conflicts), tuple(self._refused),
            self._purged_there(), heads_digest(after), self._export.manifest.digest, verdict,
        )  # fmt: skip

    @contextmanager
    def _one(self, what: str) -> Iterator[None]:
        """Takes one owner in a transaction; an error is reported, and leaves nothing of it."""
        try:
            with self._intake.writing():
                yield
        except SlicebaseError as error:
            if error.code == "conflict":
                self._conflicts.append(MoveConflict(what, error.message, error.hint))
            elif error.code in _FATAL:
                raise
            else:
                self._refused.append(error.at(Where(what)))
        except UNREADABLE_ROW as error:
            message = f"{what} cannot be read: {type(error).__name__}: {error}"
            self._refused.append(SlicebaseError("bad-move", message, where=Where(what)))

    # Owners

    def _runs(self, progress: Callable[[str], None]) -> None:
        """Takes the runs. A fork is proved with the run that it continues, so those that fail are tried once more."""
        waiting = self._export.owners("run")
        while waiting:
            refused = len(self._refused)
            left = []
            for run in waiting:
                progress(f"run:{run}")
                count = len(self._refused)
                self._owner("run", run)
                left += [run] if len(self._refused) > count else []
            if len(left) == len(waiting):
                return
            if left:
                del self._refused[refused:]
            waiting = left

    def _owner(self, kind: str, owner: str) -> None:
        chains = {table: Chain(table, owner) for table in OWNED[kind]}
        there = self._export.manifest.heads
        heads = {table: self._transfer.head(chain) for table, chain in chains.items()}
        if all(
            there.get(str(chain), (0, "")) == (heads[table][0], heads[table][1].hex())
            for table, chain in chains.items()
        ):
            return
        name = f"{kind}:{owner}"
        with self._one(name):
            rows = self._export.rows(place_of_rows(kind, owner), name)
            for table, chain in chains.items():
                last = (rows[table][-1].seq, rows[table][-1].hash.hex()) if table in rows else None
                refuse(f"the head of {chain}", there.get(str(chain)), last)
            new = self._new(name, chains, rows)
            if new is None or not any(new.values()):
                return
            texts = self._texts(name)
            for table, chain in chains.items():
                self._intake.append(chain, new.get(table, []))
            if kind == "session":
                self._take_session(owner, new, texts)
            else:
                self._take_run(owner, new, texts)
            self._taken.append(name)

    def _new(
        self, name: str, chains: dict[str, Chain], rows: dict[str, list[MovedRow]]
    ) -> dict[str, list[MovedRow]] | None:
        """Returns the rows that are beyond ours; None if a chain diverged, or ours is longer while another is not."""
        new = {}
        is_ahead = False
        for table, chain in chains.items():
            length, last = self._transfer.head(chain)
            there = rows.get(table, [])
            common = min(length, len(there))
            if common and self._transfer.head(chain, common)[1] != there[common - 1].hash:
                self._conflict(chain, length, last, there)
                return None
            new[table] = there[length:]
            is_ahead = is_ahead or length > len(there)
        if is_ahead and any(new.values()):
            table = next(table for table, some in new.items() if some)
            self._conflict(chains[table], *self._transfer.head(chains[table]), rows[table])
            return None
        return new

    def _conflict(self, chain: Chain, length: int, last: bytes, there: list[MovedRow]) -> None:
        here = f"{length} rows, {last.hex()}"
        self._conflicts.append(MoveConflict(str(chain), here, f"{len(there)} rows, {there[-1].hash.hex()}"))

    def _take_session(self, session: str, new: dict[str, list[MovedRow]], texts: OwnedTexts) -> None:
        from slicebase.graph.record import read_session_record, read_turn

        named = [read_session_record(row.values[0]).content_hash for row in new["sessions"]]
        named += [read_turn(row.values[1]).content_hash for row in new["turns"]]
        self._intake.keep(f"session:{session}", (bytes.fromhex(each[7:]) for each in named), texts.texts)
        self._proof.session(session, new)
        self._intake.settle_session(session, new["turns"], new["links"])

    def _take_run(self, run: str, new: dict[str, list[MovedRow]], texts: OwnedTexts) -> None:
        from slicebase.truth.snapshots import read_snapshot_record

        named = [row.values[0] for row in new["events"]]
        named += [bytes.fromhex(read_snapshot_record(row.values[1]).body[7:]) for row in new["snapshots"]]
        self._intake.keep(f"run:{run}", named, texts.texts)
        self._proof.run(run, (texts.head.cost, texts.head.stopped))

    # What is shared

    def _shared(self, table: str) -> None:
        with self._one(table):
            known = {shared_key(table, row.values) for row in self._transfer.rows(Chain(table))}
            rows = self._export.shared(table)
            keys = [shared_key(table, row.values) for row in rows]
            refuse(f"the head of {table}", self._export.manifest.heads.get(table), shared_head(keys) if keys else None)
            new = {key: row for key, row in zip(keys, rows, strict=True) if key not in known}
            self._gather(table, new.values())
            count = sum([self._take_shared(table, row) for row in new.values()])
            if count:
                self._taken.append(table)

    def _gather(self, table: str, rows: Iterable[MovedRow]) -> None:
        """Reads the texts that shared rows name, each file once, however the rows of owners are mixed."""
        named: dict[str, list[bytes]] = {}
        for row in rows:
            if table in ("evidence", "blobs"):
                owner, text = self._named(table, row)
                named.setdefault(owner, []).append(text)
        self._gathered = {}
        for owner, texts in named.items():
            given = self._texts(owner).texts
            self._gathered[owner] = {each: given[each] for each in texts if each in given}

    def _named(self, table: str, row: MovedRow) -> tuple[str, bytes]:
        """Returns the owner and the hash of the text that evidence or a blob names."""
        return self._proof.evidence(row) if table == "evidence" else (f"run:{row.values[0]}", row.values[1])

    def _read_texts(self, owner: str) -> OwnedTexts:
        """Returns the texts of an owner, which are those that the manifest has a head of."""
        found = self._export.texts(owner)
        ordered = [found.texts[name] for name in sorted(found.texts)]
        if f"{TEXTS}/{owner}" in self._export.manifest.heads or ordered:
            refuse(
                f"the head of the texts of {owner}",
                self._export.manifest.heads.get(f"{TEXTS}/{owner}"),
                head_of_texts(ordered),
            )
        return found

    def _take_shared(self, table: str, row: MovedRow) -> bool:
        """Takes a shared row; returns false for one that is in conflict."""
        if table == "policies":
            self._proof.policy(row)
        elif table == "policy_names":
            return self._take_name(row)
        elif table in ("evidence", "blobs"):
            owner, text = self._named(table, row)
            self._intake.keep(owner, [text], self._gathered[owner])
        else:
            return self._take_manifest(row)
        self._intake.append_shared(table, row.values)
        if table == "evidence":
            self._proof.quote(row.values[0])
        return True

    def _take_name(self, row: MovedRow) -> bool:
        policies, given = self._parts.truth.policies, read_policy_name(row.values[1])
        try:
            policies.save(policies.find(given.policy), given)
        except SlicebaseError as error:
            if error.code != "policy-name":
                raise
            here = policies.find(given.name).params_hash
            self._conflicts.append(MoveConflict(f"policy {given.name}", here, given.policy))
            return False
        return True

    def _take_manifest(self, row: MovedRow) -> bool:
        """Takes a manifest if the turns that it shows are here: they may be those of a session in conflict."""
        name, recorded, text = row.values
        from_text(recorded)
        owner = f"manifest:{name}"
        texts = self._texts(owner).texts
        given = texts.get(text)
        data = given.stored.data if given else None
        is_whole = given is not None and given.stored.purged is None
        named = self._proof.manifest(name, data, is_whole=is_whole)
        try:
            with self._intake.writing():
                self._intake.keep(owner, [text, *(each for each in named if each in texts)], texts)
                self._intake.append_shared("manifests", row.values)
                self._proof.rendering(name)
        except SlicebaseError as error:
            if error.code != "bad-move":
                raise
            self._conflicts.append(MoveConflict(name, "its texts are not those that it names", error.message))
            return False
        return True

    # Tombstones

    def _purged_there(self) -> int:
        """Returns how many texts were purged there that are here: an import never deletes anything."""
        kept = 0
        for name, head in self._export.manifest.heads.items():
            owner = name.removeprefix(f"{TEXTS}/")
            if owner == name or head == self._transfer.text_head(owner):
                continue
            with suppress(SlicebaseError):
                gone = [text.hash for text in self._texts(owner).texts.values() if text.stored.purged is not None]
                stored = [self._parts.truth.texts.get(owner, f"sha256:{each.hex()}") for each in gone]
                kept += sum(each is not None and each.purged is None for each in stored)
        return kept


# Errors that have nothing to do with the owner that is being taken.
_FATAL = frozenset({"locked", "disk-full", "no-memory", "cannot-write", "database-damaged", "not-flushed"})
