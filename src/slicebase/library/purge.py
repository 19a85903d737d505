"""Carries out a purge: in the files of the library, in the truth, in the caches; then looks whether anything is left.

A purge can be repeated after it was interrupted. Files come first: what they hold of the purged texts can only be found
while these are still there.
"""

import os
import re
from collections.abc import Iterable, Iterator, Set
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from slicebase.core.passages import PASSAGE, Stretch
from slicebase.errors import SlicebaseError
from slicebase.files.body.entries import Stamp
from slicebase.files.body.overflow import ordered, whole_of
from slicebase.files.body.write import with_writer
from slicebase.files.create import tombstone
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import set_key
from slicebase.index.disposable import Disposable
from slicebase.index.schema import FILES_LAYOUT
from slicebase.index.turns import TURNS_LAYOUT, TurnIndex
from slicebase.library.folder import SliceFolder
from slicebase.library.payloads import remove_copy
from slicebase.library.texts import note_bytes
from slicebase.truth.acts import PurgeRecord
from slicebase.truth.chains import names_in
from slicebase.truth.erasure import Erased, PassageSearch, Taken, plan_erasure, search_for
from slicebase.truth.truth import Truth
from slicebase.workspace.atomic import read_chunks, remove
from slicebase.workspace.repository import other_worktrees, repository_of
from slicebase.workspace.workspace import LOCAL, Workspace

_SNAPSHOT: Final = "sn_"


class Remnant(NamedTuple):
    """A place in a file of ours that still holds a passage of what was purged."""

    file: str
    offset: int
    length: int


class PurgeReport(NamedTuple):
    """What a purge took, and where something of it is or may be left.

    `texts` counts tombstones, `partly` those of which something is left. `shared` are slice files that hold a passage
    of what was purged: they are texts of their own, and were not changed. `changed` are the owners of texts in
    part. `beyond` says what a purge cannot reach.
    """

    what: str
    texts: int = 0
    partly: int = 0
    turns: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    remnants: tuple[Remnant, ...] = ()
    beyond: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"PurgeReport(what={self.what!r}, texts={self.texts}, files={len(self.files)})"


class Order(NamedTuple):
    """What to purge: its reference, what that takes, and the turns, runs and files that go with it."""

    what: str
    taken: Taken
    turns: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


def order_of_file(truth: Truth, folder: SliceFolder, file: SliceFile) -> Order:
    """Returns the order to purge a slice file and its parts: bodies, and what the ledger and manifests keep of them."""
    files = [file, *_parts_of(folder, file)]
    payload = file.payload.hash if file.payload else None
    corpora = [*(f"file:{each.id}" for each in files), *([f"doc:{payload}"] if payload else [])]
    kept = {(corpus, name) for corpus in corpora for name, _ in truth.texts.of(corpus)}
    for corpus in corpora:
        kept.update(truth.manifests.texts_from(corpus))
    copied = b"".join(data for path in _copies(folder, {file.id or ""}) for data in _bytes_in(path))
    said = [data for each in files if not each.purged for data in (each.body, (each.summary or "").encode())]
    said += [copied[:_LARGEST_TEXT], note_bytes(folder, file)] if not file.purged else []
    strings = tuple(data.decode("utf-8", "replace") for data in said)
    taken = Taken(kept, strings=strings, corpora=frozenset(corpora))
    return Order(f"file:{file.id}", taken, files=tuple(each.id or "" for each in files))


def _parts_of(folder: SliceFolder, file: SliceFile) -> list[SliceFile]:
    """Returns the parts that overflow created for a file, also where an interrupted purge left only its tombstone."""
    parts = [part for part in folder.mentioning(b"part_of") if whole_of(part)]
    return [part for part in ordered(file, parts) if part is not file]


class PurgePlan(NamedTuple):
    """What a purge would do: its report, what it takes, and what it replaces."""

    report: PurgeReport
    taken: Taken
    erased: Erased


class Purging:
    """Carries out purges in one workspace."""

    def __init__(
        self, workspace: Workspace, folder: SliceFolder, truth: Truth, stamp: Stamp, reason: str | None
    ) -> None:
        self._stamp = stamp
        self._reason = reason
        self._workspace = workspace
        self._folder = folder
        self._truth = truth

    def plan(self, order: Order) -> "PurgePlan":
        """Returns what a purge takes, without taking it."""
        files = [file for file in self._folder.all() if isinstance(file, SliceFile) and not file.purged]
        narratives = [file for file in files if _source(file).startswith(_SNAPSHOT)]
        passed_over = {file.id for file in narratives}.union(order.files)
        others = [file for file in files if file.id not in passed_over]
        copies = _copies(self._folder, {file.id or "" for file in others})
        payloads = (data for path in copies for _, data in _chunks(path))
        search = search_for(self._truth, order.taken, chain(map(_bytes_of, others), payloads))
        touched = {text.owner for text in plan_erasure(self._truth, order.taken, search).texts}
        gone = [file.id or "" for file in narratives if self._is_taken(file, order, search, touched)]
        taken = self._with_narratives(order.taken, gone)
        erased = plan_erasure(self._truth, taken, search)
        report = PurgeReport(
            order.what,
            len(erased.texts),
            sum(text.left is not None for text in erased.texts),
            order.turns,
            order.runs,
            tuple(sorted({*order.files, *gone})),
            tuple(f"file:{file.id}" for file in others if search.shares(_bytes_of(file))),
            tuple(sorted({text.owner for text in erased.texts if text.left is not None})),
        )
        return PurgePlan(report, taken, erased)

    def _with_narratives(self, taken: Taken, narratives: list[str]) -> Taken:
        """Adds what contexts keep of narratives that go."""
        corpora = {f"file:{name}" for name in narratives}
        kept = {key for corpus in corpora for key in self._truth.manifests.texts_from(corpus)}
        return taken._replace(gone={*taken.gone, *kept}, corpora={*taken.corpora, *corpora})

    def _is_taken(self, narrative: SliceFile, order: Order, search: PassageSearch, touched: set[str]) -> bool:
        """Returns whether a narrative goes with its run, or holds what was purged."""
        place = self._truth.runs.snapshots.place_of(_source(narrative))
        run = place[0] if place else ""
        data = _bytes_of(narrative)
        if place and run in order.runs:
            return True
        return search.is_held(data) if f"run:{run}" in touched else bool(search.passages_in(data))

    def carry_out(self, order: Order) -> PurgeReport:
        """Purges. Returns what was taken, and what is still found in the files of the workspace."""
        report, taken, planned = self.plan(order)
        self._purge_files(report.files, order, planned.search)
        try:
            with self._truth.database.erasing():
                self._purge_texts(order, taken, planned.search)
        finally:
            self._truth.runs.remember(None)
            self._purge_caches(order.turns)
        found = tuple(self._remnants(planned.search, report.files))
        return report._replace(remnants=found, beyond=tuple(self._beyond(report)))

    def _purge_texts(self, order: Order, taken: Taken, search: PassageSearch) -> None:
        """Replaces the texts in one transaction, in which others cannot write what would have to be replaced, too."""
        with self._truth.database.writing():
            erased = plan_erasure(self._truth, taken, search)
            if erased.texts:
                record = PurgeRecord(self._reason or "", erased.texts, self._stamp.time, order.what)
                self._truth.texts.purge(record, erased.left)

    def _purge_files(self, files: tuple[str, ...], order: Order, search: PassageSearch) -> None:
        """Replaces slice files by tombstones (ruling 31), and deletes the payloads that the library copied for them."""
        for name in files:
            with self._folder.writing() as writer:
                old = writer.find(name)
                if not old.purged:
                    writer.replace(old, self.tombstone(old, search, keeps_title=name in order.files))
                remove_copy(self._folder, old.payload.uri if old.payload else None)

    def tombstone(self, file: SliceFile, search: PassageSearch, *, keeps_title: bool = True) -> SliceFile:
        """Returns what replaces a slice file. The title of a file that is purged itself may stay (ruling 31)."""
        gone = tombstone(file, self._stamp.time, self._reason)
        if not keeps_title or search.is_in(file.title or ""):
            gone = set_key(gone, "slice.title", "Purged")
        return with_writer(gone, self._stamp)

    def _purge_caches(self, turns: tuple[str, ...]) -> None:
        """Removes the words from what is derived from them, also those that an interrupted purge left.

        The index of files is built again when it is next asked.
        """
        files = tuple(file.id or "" for file in self._folder.mentioning(b"purged") if file.purged)
        states = self._workspace.transcripts
        for name in sorted(os.listdir(states)) if states.is_dir() else ():  # the next import reads everything again
            remove(states / name, within=states)
        try:
            for path, names in ((self._workspace.turns, turns), (self._workspace.chunks, files)):
                if names and Disposable(path, TURNS_LAYOUT).exists():
                    with TurnIndex(path) as index:
                        (index.purge if path == self._workspace.turns else index.purge_sessions)(names)
        finally:
            Disposable(self._workspace.files, FILES_LAYOUT).purge()

    # What is left

    def _remnants(self, search: PassageSearch, files: tuple[str, ...]) -> Iterator[Remnant]:
        """Searches the raw bytes of every file of ours for passages that stand in no surviving text."""
        survivors = (file for file in self._folder.all() if isinstance(file, SliceFile) and file.id not in files)
        texts = (data for _, _, data in self._truth.texts.all())  # what held purged strings has none of them any more
        rows = names_in(self._truth.database.connection)
        for data in chain(texts, rows, map(_bytes_of, survivors)):
            search.forget(data)
        for path in self._files():
            yield from _merged(
                Remnant(os.path.relpath(path, self._workspace.root), at + found.start, found.end - found.start)
                for at, data in _chunks(path)
                for found in search.passages_in(data)
                if not _is_name(data, found)
            )

    def _files(self) -> Iterator[Path]:
        """Yields every file that Slicebase writes in the workspace: the database, the caches and the library."""
        database, root = self._workspace.database, self._workspace.root
        folders = {database.parent, root / LOCAL, self._workspace.library}
        for folder in sorted(folders):
            for path in sorted(folder.rglob("*")):
                if path.is_file() and not path.is_symlink():
                    yield path

    def _beyond(self, report: PurgeReport) -> Iterator[str]:
        for worktree in other_worktrees(self._workspace.root):
            yield f"slice files and indexes of the worktree {worktree}: purge it there, too"
        for session, _ in self._truth.turns.sessions():
            if session.id.startswith(f"{report.what.removeprefix('session:')}#agent-"):
                yield f"session:{session.id}, which a subagent of it had"
        if report.turns or report.runs:
            yield "the files that it was imported from, and what agents keep themselves"
        if report.files and repository_of(self._workspace.root):
            yield "commits in git that have these files"
        yield "backups and other copies of this workspace"


def _merged(remnants: Iterable[Remnant]) -> list[Remnant]:
    """Returns the places in order; those that overlap are one."""
    merged: list[Remnant] = []
    for each in sorted(remnants):
        last = merged[-1] if merged else None
        if last and last.file == each.file and each.offset <= last.offset + last.length:
            length = max(last.offset + last.length, each.offset + each.length) - last.offset
            merged[-1] = last._replace(length=length)
        else:
            merged.append(each)
    return merged


def _source(file: SliceFile) -> str:
    """Returns what a file was derived from, or an empty text."""
    return (file.derived_from.id if file.derived_from else None) or ""


def _bytes_of(file: SliceFile) -> bytes:
    return file.to_bytes()


_OVERLAP: Final = 4 << 10  # bytes that two chunks share, so that no passage is cut


_LARGEST_TEXT: Final = 64 << 20  # bytes of a payload that are looked for


_ID: Final = re.compile(rb"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-f]{32,64}|[0-9A-HJKMNP-TV-Z]{26}")
_AROUND: Final = 64  # bytes


def _is_name(data: bytes, found: Stretch) -> bool:
    """Returns whether a passage is an id of a record, and the bytes that happen to stand beside it."""
    first = max(0, found.start - _AROUND)
    masked = _ID.sub(lambda each: b"\0" * len(each[0]), data[first : found.end + _AROUND])
    rest = masked[found.start - first : found.end - first]
    return len(rest.replace(b"\0", b"")) < PASSAGE // 2


def _copies(folder: SliceFolder, files: Set[str]) -> list[Path]:
    """Returns the payloads that were copied into the library for these files."""
    found = sorted(folder.payloads.iterdir()) if folder.payloads.is_dir() else []
    return [path for path in found if path.name.partition(".")[0] in files]


def _bytes_in(path: Path) -> Iterator[bytes]:
    with suppress(OSError, SlicebaseError):
        yield from read_chunks(path)


def _chunks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yields the bytes of a file in overlapping chunks, each with its place; nothing if it cannot be read."""
    at, before = 0, b""
    with suppress(OSError, SlicebaseError):  # not a regular file, or one that changes meanwhile
        for data in read_chunks(path):
            yield at - len(before), before + data
            at, before = at + len(data), (before + data)[-_OVERLAP:]
