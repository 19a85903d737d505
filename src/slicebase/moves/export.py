"""Exports a workspace in open formats, into a folder or an archive that may have an earlier export, also of others.

What grew is written again, what is equal is not touched, and nothing is removed that is not known here. A chain that
grew elsewhere is left as it is there; one that grew on both sides is a conflict. What was purged here is purged there.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from slicebase.core.hashing import digest, raw_digest
from slicebase.errors import SlicebaseError, Where
from slicebase.files.links import SUFFIX
from slicebase.library.exported import EVERYTHING_EXPORTED, remember_export
from slicebase.moves.archive import Member, is_archive, packed, unpacked
from slicebase.moves.exchange import MoveConflict, SharedVersions, digest_in, slice_conflict
from slicebase.moves.exported import (
    PURGES,
    ExportFolder,
    place_of_rows,
    place_of_shared,
    place_of_texts,
    row_hash,
)
from slicebase.moves.lines import FileHead, PurgeLine, encoded, row_line, text_line
from slicebase.moves.manifest import ListedFile, export_manifest_bytes, manifest_of
from slicebase.moves.places import MANIFEST, README_FILE, SCHEMAS, SLICES, TEXTS
from slicebase.moves.schemas import README, export_schemas
from slicebase.moves.slices import library_files, refuse_own
from slicebase.moves.survey import EXPORTING, found_export, surveyed
from slicebase.truth.chains import Chain
from slicebase.truth.transfer import (
    OWNED,
    SHARED,
    Heads,
    MovedRow,
    MovedText,
    Transfer,
    head_of_texts,
    shared_head,
    shared_key,
)
from slicebase.verbs.parts import Parts
from slicebase.workspace.atomic import (
    create_folder,
    file_errors,
    left_behind,
    own_temporary,
    read_bytes,
    read_chunks,
    remove,
    write_bytes,
)
from slicebase.workspace.boundary import not_a_file, real_path
from slicebase.workspace.stage import folder_locked, stage, staging

_ATTRIBUTES: Final = ".gitattributes"
_AS_IT_IS: Final = b"* -text\n"  # git leaves the ends of lines as they are


class ExportReport(NamedTuple):
    """What an export wrote, what it left since it is ahead there, and conflicts; and the digest of all heads there."""

    path: Path
    written: tuple[str, ...]
    ahead: tuple[str, ...]
    conflicts: tuple[MoveConflict, ...]
    purged: int  # texts that were taken out of the earlier export
    left_out: tuple[str, ...]  # files that are none
    broken: tuple[str, ...]  # what contradicts its hash here, and is not written
    heads: str


def export_workspace(parts: Parts, to: Path) -> ExportReport:
    """Exports a workspace into a folder, or into an archive if the path is named as one."""
    if is_archive(to):
        refuse_own(parts.workspace, real_path(to.parent))
        return _to_archive(parts, real_path(to.parent) / to.name)
    folder = real_path(to)
    refuse_own(parts.workspace, folder)
    if folder == parts.workspace.root:
        hint = "name a folder in it, or beside it"
        raise SlicebaseError("file-exists", "it is the workspace itself", hint=hint, where=Where(str(folder)))
    with file_errors(folder):
        try:
            create_folder(folder, within=folder.parent)
        except FileExistsError:
            raise not_a_file(folder) from None
    with folder_locked(folder):
        remember_export(parts.workspace, EVERYTHING_EXPORTED, folder)
        return _exported(parts, folder, folder)


def _to_archive(parts: Parts, path: Path) -> ExportReport:
    """Exports into an archive: what it has is unpacked, exported to, and packed again."""
    with folder_locked(path.parent), staging(parts.workspace.root) as staged:
        folder = staged / "export"
        create_folder(folder, within=staged)
        if os.path.lexists(path):
            for member in unpacked(path):
                stage(folder, member.name, member.chunks)
        remember_export(parts.workspace, EVERYTHING_EXPORTED, path)
        report = _exported(parts, folder, path)
        if report.written or not os.path.lexists(path):
            names = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())
            members = (Member(name, (folder / name).stat().st_size, read_chunks(folder / name)) for name in names)
            write_bytes(path, packed(members), within=path.parent, temporary=own_temporary())
        return report


def _exported(parts: Parts, folder: Path, place: Path) -> ExportReport:
    for inner in {folder, *(path.parent for path in folder.rglob("*") if not path.is_relative_to(folder / ".git"))}:
        for path in left_behind(inner):
            remove(path, within=folder)
    versions = SharedVersions(parts.workspace, place)
    try:
        return _written(parts, _Export(parts, found_export(folder), versions))._replace(path=place)
    except SlicebaseError as error:
        if error.code != "bad-move":
            raise
    # The manifest and the files are of two exports, as after a merge of git: the files say themselves what they have.
    there = ExportFolder(folder, surveyed(folder))
    return _written(parts, _Export(parts, there, versions))._replace(path=place)


def _written(parts: Parts, export: "_Export") -> ExportReport:
    export.files()
    with parts.truth.database.reading():
        return export.run()


class _Export:
    def __init__(self, parts: Parts, before: ExportFolder, exchange: SharedVersions) -> None:
        self._parts = parts
        self._before = before
        self._folder = before.folder
        self._exchange = exchange
        self._transfer = Transfer(parts.truth.database)
        self._files: dict[str, ListedFile] = self._before.manifest.by_path()
        self._heads: Heads = dict(self._before.manifest.heads)
        self._written: list[str] = []
        self._ahead: list[str] = []
        self._conflicts: list[MoveConflict] = []
        self._purged = 0
        self._left_out: list[str] = []
        self._broken: list[str] = []

    def files(self) -> None:
        """Writes the files of the library, before the view of the database begins: what they name is in it then."""
        self._write_mark()
        self._parts.folder.journal.settle_if_free()
        found, self._left_out = library_files(self._parts.workspace)
        for file in found:
            with suppress(FileNotFoundError):  # gone since the folder was listed
                write = self._slice if file.name.endswith(SUFFIX) else self._payload
                write(f"{SLICES}/{file.name}", file.path)
        self._exchange.save()  # one that is killed later has exchanged these

    def run(self) -> ExportReport:
        """Writes what the database has, and the manifest."""
        ours = self._transfer.heads()
        for kind in OWNED:
            for owner in self._transfer.owners(kind):
                self._owner(kind, owner, ours)
        for table in SHARED:
            if table in ours and ours[table] != self._heads.get(table):
                self._shared(table)
        self._purges()
        for owner in self._transfer.text_owners():
            if ours[f"{TEXTS}/{owner}"] != self._heads.get(f"{TEXTS}/{owner}"):
                self._texts(owner)
        if _ATTRIBUTES in self._files or _bytes_of(self._folder / _ATTRIBUTES) in (None, _AS_IT_IS):
            self._plain(_ATTRIBUTES, _AS_IT_IS)  # others may have written their own before
        self._plain(README_FILE, README.encode())
        for name, schema in export_schemas().items():
            self._plain(f"{SCHEMAS}/{name}", schema)
        manifest = manifest_of(self._files, self._heads)
        if (data := export_manifest_bytes(manifest)) != _bytes_of(self._folder / MANIFEST):
            self._put(MANIFEST, [data])
        remove(self._folder / EXPORTING, within=self._folder)
        return ExportReport(
            self._folder, tuple(self._written), tuple(self._ahead), tuple(self._conflicts), self._purged,
            tuple(self._left_out), tuple(self._broken), manifest.digest,
        )  # fmt: skip

    # Chains of an owner

    def _owner(self, kind: str, owner: str, ours: Heads) -> None:
        names = {table: str(Chain(table, owner)) for table in OWNED[kind]}
        if all(ours.get(name) == self._heads.get(name) for name in names.values()):
            return
        path = place_of_rows(kind, owner)
        there = self._before.rows(path, f"{kind}:{owner}")
        states = {table: self._state(Chain(table, owner), there.get(table, [])) for table in names}
        diverged = next((table for table, state in states.items() if state == "diverged"), None)
        if diverged is None and {"ahead", "behind"} <= set(states.values()):
            diverged = next(table for table, state in states.items() if state == "ahead")
        if diverged is not None:
            last = there[diverged][-1]
            here = ours.get(names[diverged], (0, ""))
            self._conflicts.append(
                MoveConflict(names[diverged], f"{here[0]} rows, {here[1]}", f"{last.seq} rows, {last.hash.hex()}")
            )
        elif "ahead" in states.values():
            self._ahead.append(f"{kind}:{owner}")
        else:
            rows = {table: list(self._transfer.rows(Chain(table, owner))) for table in names}
            if not all(follows(table, some) for table, some in rows.items()):
                self._broken.append(f"{kind}:{owner}")
                return
            self._write_rows(path, f"{kind}:{owner}", rows)
            self._heads.update({name: ours[name] for name in names.values() if name in ours})

    def _state(self, chain: Chain, there: list[MovedRow]) -> str:
        length, last = self._transfer.head(chain)
        if len(there) > length:
            return "ahead" if not length or there[length - 1].hash == last else "diverged"
        if there and self._transfer.head(chain, len(there))[1] != there[-1].hash:
            return "diverged"
        return "equal" if len(there) == length else "behind"

    def _write_rows(self, path: str, owner: str, rows: dict[str, list[MovedRow]]) -> None:
        lines = (row_line(table, row) for table, some in rows.items() for row in some)
        self._write(path, (encoded(line) for line in (FileHead("rows", owner), *lines)))

    # What is shared

    def _shared(self, table: str) -> None:
        """Writes the rows that are there and, after them, those that only we have."""
        rows = self._before.shared(table)
        known = {shared_key(table, row.values) for row in rows}
        names = {row.values[0]: shared_key(table, row.values) for row in rows} if table == "policy_names" else {}
        ours = list(self._transfer.rows(Chain(table)))
        if not follows(table, ours):
            self._broken.append(table)
            return
        for row in ours:
            key = shared_key(table, row.values)
            if names.get(row.values[0], key) != key:
                self._conflicts.append(MoveConflict(f"policy {row.values[0]}", key, names[row.values[0]]))
            elif key not in known:
                hashed = row_hash(table, rows[-1].hash if rows else b"", row.values)
                rows.append(MovedRow(len(rows) + 1, row.values, hashed))
                known.add(key)
        if known and self._heads.get(table) != shared_head(known):
            self._write_rows(place_of_shared(table), table, {table: rows})
            self._heads[table] = shared_head(known)

    # Texts and tombstones

    def _purges(self) -> None:
        there = self._before.purges()
        new = set(self._transfer.purges()) - set(there)
        if new:
            ordered = sorted({*there, *new}, key=lambda purge: (*purge[:3], purge.left or "", *purge[4:]))
            lines = [FileHead("purges"), *(PurgeLine(*purge) for purge in ordered)]
            self._write(PURGES, (encoded(line) for line in lines))

    def _texts(self, owner: str) -> None:
        before = self._before.texts(owner)
        texts = dict(before.texts)
        for text in self._transfer.texts(owner):
            there = texts.get(text.hash)
            if text.stored.purged is None and raw_digest(text.stored.data or b"") != text.hash:
                self._broken.append(f"{owner} text sha256:{text.hash.hex()}")
            elif there is None or _remainder(text) < _remainder(there):
                self._purged += there is not None
                texts[text.hash] = text
        if texts == before.texts:
            return
        run = owner.removeprefix("run:")
        told = self._transfer.purged_run(run) if owner != run else None
        head = FileHead("texts", owner, *told) if told else FileHead("texts", owner)
        ordered = [texts[name] for name in sorted(texts)]
        self._write(place_of_texts(owner), (encoded(line) for line in (head, *map(text_line, ordered))))
        self._heads[f"{TEXTS}/{owner}"] = head_of_texts(ordered)

    # Files

    def _payload(self, path: str, source: Path) -> None:
        """Writes a file that is no slice file: it may be large, and nobody merges it."""
        here = digest_in(source)
        old = digest_in(self._folder / path) if path in self._files else None
        if here is None:
            return
        if old not in (None, here) and not self._exchange.was_ours(path, old or ""):
            self._conflicts.append(MoveConflict(path, here, old or ""))
            return
        if old != here:
            self._write(path, read_chunks(source))
        self._exchange.agree_on(path, here)

    def _slice(self, path: str, source: Path) -> None:
        data = b"".join(read_chunks(source))
        there = self._folder / path
        old = _bytes_of(there) if path in self._files else None
        if old == data:
            self._exchange.agree(path, data)
        elif old is None or self._exchange.was_ours(path, digest(old)):
            before = self._exchange.made_from(path, data, self._files.get(path) if old is not None else None)
            self._write(path, [data], before)
            self._exchange.agree(path, data)
        elif self._exchange.is_last(path, data):
            self._ahead.append(path)
        else:
            self._conflicts.append(slice_conflict(path, data, old))

    def _plain(self, path: str, data: bytes) -> None:
        """Writes a file of ours that has the same bytes in every export."""
        if _bytes_of(self._folder / path) != data or path not in self._files:
            self._write(path, [data])

    def _write(self, path: str, chunks: Iterable[bytes], before: tuple[str, ...] = ()) -> None:
        hasher, size = sha256(), 0

        def counted() -> Iterator[bytes]:
            nonlocal size
            for chunk in chunks:
                hasher.update(chunk)
                size += len(chunk)
                yield chunk

        self._put(path, counted())
        self._files[path] = ListedFile(path, hasher.hexdigest(), size, before)
        self._written.append(path)

    def _put(self, path: str, chunks: Iterable[bytes]) -> None:
        place = self._folder / path
        create_folder(place.parent, within=self._folder)
        write_bytes(place, chunks, within=self._folder, temporary=own_temporary())

    def _write_mark(self) -> None:
        write_bytes(self._folder / EXPORTING, [b""], within=self._folder, temporary=own_temporary())


def follows(table: str, rows: Iterable[MovedRow]) -> bool:
    """Returns whether each row of a chain has the hash that follows from it and the row before it."""
    before = b""
    for row in rows:
        if row_hash(table, before, row.values) != row.hash:
            return False
        before = row.hash
    return True


def _remainder(text: MovedText) -> tuple[int, int, str]:
    """Returns how much is left of a text, as an order: of two tombstones, the one with less is that which counts."""
    data, purged = text.stored
    return (1, 0, "") if purged is None else (0, -1 if data is None else len(data), purged)


def _bytes_of(path: Path) -> bytes | None:
    try:
        return read_bytes(path)
    except FileNotFoundError:
        return None
