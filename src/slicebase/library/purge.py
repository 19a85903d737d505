"""Carries out a purge: in the files of the library, in the truth, in the caches; then looks whether anything is left.

There is one purge at a time. It is planned without a lock, and carried out under the library's lock and in one
transaction, if nothing was written since: what is erased is what was planned. A purge can be repeated after it was
interrupted, and in other worktrees, whose files it does not reach. Files come first: what they hold of the purged texts
can only be found while these are still there.
"""

import os
from collections.abc import Callable, Iterator, Set
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from slicebase.core.hashing import digest
from slicebase.errors import SlicebaseError
from slicebase.files.body.entries import Stamp
from slicebase.files.body.overflow import whole_of
from slicebase.files.body.part_order import ordered
from slicebase.files.body.write import with_writer
from slicebase.files.create import tombstone
from slicebase.files.slice_file import SliceFile
from slicebase.files.yaml.edit import set_key
from slicebase.graph.session import COPY_FACT, fact
from slicebase.graph.turn import TREE_EDGES
from slicebase.index.disposable import Disposable
from slicebase.index.schema import FILES_LAYOUT
from slicebase.index.turn_schema import CHUNKS_LAYOUT, TURNS_LAYOUT
from slicebase.index.turns import TurnIndex
from slicebase.index.upkeep import purged_turns
from slicebase.library.exported import EVERYTHING_EXPORTED, exported_files
from slicebase.library.folder import FolderWriter, SliceFolder
from slicebase.library.narratives import is_narrative, made_from_stored, source_of, stale_narratives
from slicebase.library.payloads import remove_copy
from slicebase.library.remnants import Remnant, chunks_of, is_name, remnants_in
from slicebase.library.texts import note_bytes
from slicebase.truth.acts import PurgedText, PurgeRecord
from slicebase.truth.chains import names_in
from slicebase.truth.erasure import (
    LARGEST_SEARCH,
    Changes,
    PassageSearch,
    Taken,
    TextKey,
    all_strings,
    change_contexts,
    changed_snapshots,
    is_derived,
    plan_changes,
    search_for,
)
from slicebase.truth.truth import Truth
from slicebase.workspace.atomic import left_behind, locked, remove
from slicebase.workspace.repository import other_worktrees, repository_of
from slicebase.workspace.stage import remove_left_staging
from slicebase.workspace.workspace import EXCHANGED, LOCAL, Workspace, own_folder

_TRIES: Final = 3  # the last one plans while nobody else can write
_PATIENCE: Final = 120.0  # seconds that a purge waits for another one


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
    """What to purge: its reference, what that takes, and the turns, runs and files that go with it.

    A slice file with the conversation of the `session` is a copy of it. It goes if the whole session does.
    """

    what: str
    taken: Taken
    turns: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    session: str | None = None


def order_of_file(truth: Truth, folder: SliceFolder, file: SliceFile) -> Order:
    """Returns the order to purge a slice file and its parts: bodies and metadata, and what the ledger keeps of them.

    Its title stays (ruling 31), and so does its id.
    """
    files = [file, *_parts_of(folder, file)]
    payload = file.payload.hash if file.payload else None
    corpora = [*(f"file:{each.id}" for each in files), *([f"doc:{payload}"] if payload else [])]
    kept = {(corpus, name) for corpus in corpora for name, _ in truth.texts.of(corpus)}
    for corpus in corpora:
        kept.update(truth.manifests.texts_from(corpus))
    left = [each for each in files if not each.purged]
    copied = b"".join(_beginning(path) for path in _copies(folder, {file.id or ""}))
    said = [*(each.body for each in left), *((copied, note_bytes(folder, file)) if not file.purged else ())]
    header = (text for each in left for text in all_strings(each.frontmatter) if text not in (each.title, each.id))
    named = (text for text in header if not is_name(text.encode()))
    strings = (*(data.decode("utf-8", "replace") for data in said), *named)
    taken = Taken(kept, strings=strings, corpora=frozenset(corpora))
    return Order(f"file:{file.id}", taken, files=tuple(each.id or "" for each in files))


def _parts_of(folder: SliceFolder, file: SliceFile) -> list[SliceFile]:
    """Returns the parts that overflow created for a file, also where an interrupted purge left only its tombstone."""
    parts = [part for part in folder.mentioning(b"part_of") if whole_of(part)]
    return [part for part in ordered(file, parts) if part is not file]


class PurgePlan(NamedTuple):
    """What a purge would do: its report, what it changes in the database, what it looks for, and the state before."""

    report: PurgeReport
    changes: Changes
    search: PassageSearch
    state: tuple[object, ...]


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

    # Planning

    def plan(self, make: Callable[[], Order]) -> PurgePlan:
        """Returns what a purge takes, without taking it. `make` returns the order as the database is now."""
        with self._truth.database.reading():
            state, order = self._state(), make()
            files = [file for file in self._folder.all() if isinstance(file, SliceFile) and not file.purged]
            narratives = [file for file in files if is_narrative(file)]
            copies = {
                file.id or "" for file in files if order.session and file.conversation.session_id == order.session
            }
            passed_over = {file.id for file in narratives}.union(order.files, copies)
            others = [file for file in files if file.id not in passed_over]
            payloads = (
                data
                for path in _copies(self._folder, {file.id or "" for file in others})
                for _, data in chunks_of(path)
            )
            search = search_for(self._truth, order.taken, chain((file.to_bytes() for file in others), payloads))
            if search.repeats(self._reason or ""):
                hint = "the reason is kept: give one in other words"
                raise SlicebaseError("usage", f"the reason repeats what {order.what} says", hint=hint)
            changes = plan_changes(self._truth, order.taken, search)
            snapshots = changed_snapshots(self._truth, changes.keys())
            gone = set(self._gone(narratives, snapshots, search))
            taken = {*order.files, *gone, *(copies if order.turns and order.what.startswith("session:") else ())}
            for name in taken:  # quotes from what goes by provenance, however short
                changes.update(
                    dict.fromkeys(((f"file:{name}", each) for each, _ in self._truth.texts.of(f"file:{name}")))
                )
            titled = {owner for owner, name in changes if (owner, name) in order.taken.facts}
            corpora = {*order.taken.corpora, *titled, *(f"file:{name}" for name in taken)}
            change_contexts(self._truth, changes, corpora, snapshots)
            in_part = [owner for (owner, _), left in changes.items() if left is not None]
            report = PurgeReport(
                order.what,
                len(changes),
                len(in_part),
                order.turns,
                order.runs,
                tuple(sorted(taken)),
                tuple(f"file:{file.id}" for file in others if search.shares(file.to_bytes())),
                tuple(sorted(set(in_part))),
            )
            report = report._replace(
                beyond=tuple(self._beyond(report, order.session, order.taken.whole & changes.keys(), search))
            )
            return PurgePlan(report, changes, search, state)

    def _gone(self, narratives: list[SliceFile], snapshots: Set[str], search: PassageSearch) -> Iterator[str]:
        """Yields the narratives that go: with their snapshots, or because they are not ours and hold what is purged."""
        yield from (file.id or "" for file in stale_narratives(self._truth, narratives, snapshots))
        for file in narratives:
            is_ours = self._truth.runs.snapshots.place_of(source_of(file)) is not None
            if not is_ours and search.passages_in(file.to_bytes()):
                yield file.id or ""

    def _state(self) -> tuple[object, ...]:
        """Returns what differs when anything was written to the database or the library."""
        found = [*self._workspace.library.glob("*"), *self._folder.payloads.glob("*")]
        return self._truth.database.state, *sorted(map(_status_of, found))

    # Carrying out

    def carry_out(self, make: Callable[[], Order]) -> PurgeReport:
        """Purges. Returns what was taken, and what is still found in the files of the workspace."""
        own_folder(self._workspace.purge_lock.parent)
        with locked(self._workspace.purge_lock, _PATIENCE):
            plan: PurgePlan | None = None
            try:
                with self._truth.database.erasing():
                    plan = self._take(make)
            finally:
                if plan is not None:
                    self._purge_caches(plan.report.turns)
            late = self.take_narratives()
            report = plan.report._replace(files=tuple(sorted({*plan.report.files, *late})))
            return report._replace(remnants=tuple(self._remnants(plan.search)))

    def _take(self, make: Callable[[], Order]) -> PurgePlan:
        """Replaces files and texts in one transaction, with a plan of exactly the state that it finds."""
        for attempt in range(_TRIES):
            plan = self.plan(make) if attempt < _TRIES - 1 else None
            with self._folder.writing() as writer, self._truth.database.writing():
                if plan is None or plan.state == self._state():
                    plan = plan or self.plan(make)
                    self._remove_temporary_files()
                    texts = [
                        PurgedText(*key, digest(left) if left is not None else None)
                        for key, left in sorted(plan.changes.items())
                    ]
                    if texts:
                        record = PurgeRecord(self._reason or "", tuple(texts), self._stamp.time, plan.report.what)
                        self._truth.purge(record, {key: left for key, left in plan.changes.items() if left is not None})
                    self._purge_files(writer, plan)  # last: what the database refuses leaves the files as they were
                    return plan
        raise AssertionError("the last try has a plan")

    def _remove_temporary_files(self) -> None:
        """Removes what killed writers left: whole files, also in a form in which no search finds their words."""
        root = self._workspace.root
        for path in chain(*map(left_behind, (self._workspace.library, root / LOCAL))):
            remove(path, within=root)
        remove_left_staging(root)

    def _purge_files(self, writer: FolderWriter, plan: PurgePlan) -> None:
        """Replaces slice files by tombstones (ruling 31), and deletes the payloads that the library copied for them."""
        for name in plan.report.files:
            old = writer.find(name)
            if not old.purged:
                writer.replace(old, self.tombstone(old, plan))
            remove_copy(self._folder, old.payload.uri if old.payload else None)

    def tombstone(self, file: SliceFile, plan: PurgePlan | None = None) -> SliceFile:
        """Returns what replaces a slice file. The title of a file that is purged itself may stay (ruling 31)."""
        gone = tombstone(file, self._stamp.time, self._reason)
        if plan is None or plan.report.what != f"file:{file.id}" or plan.search.is_in(file.title or ""):
            gone = set_key(gone, "slice.title", "Purged")
        return with_writer(gone, self._stamp)

    def take_narratives(self) -> list[str]:
        """Replaces narratives of snapshots that were purged, here or in another worktree. Returns their ids."""
        with self._folder.writing() as writer:
            files = stale_narratives(self._truth, self._folder.mentioning(b"sn_"))
            for file in files:
                writer.replace(file, self.tombstone(file))
        return [file.id or "" for file in files]

    def finish(self) -> None:
        """Takes what purges in other worktrees could not reach in this one: narratives, and words in caches."""
        self.take_narratives()
        self._purge_caches(tuple(purged_turns(self._truth)))

    def _purge_caches(self, turns: tuple[str, ...]) -> None:
        """Removes the words from what is derived from them, also those that an interrupted purge left.

        The index of files is built again when it is next asked.
        """
        files = tuple(file.id or "" for file in self._folder.mentioning(b"purged") if file.purged)
        for states in (self._workspace.transcripts, self._workspace.losses):  # what is needed is made again
            for name in sorted(os.listdir(states)) if states.is_dir() else ():
                remove(states / name, within=states)
        exchanged = self._workspace.local("cache", EXCHANGED)  # the versions to merge with; their digests stay
        for path in sorted(exchanged.iterdir()) if exchanged.is_dir() else ():
            if not path.suffix:
                remove(path, within=exchanged)
        try:
            if turns and Disposable(self._workspace.turns, TURNS_LAYOUT).exists():
                with TurnIndex(self._workspace.turns) as index:
                    index.purge(turns)
            if files and Disposable(self._workspace.chunks, CHUNKS_LAYOUT).exists():
                with TurnIndex(self._workspace.chunks, CHUNKS_LAYOUT) as index:
                    index.purge_sessions(files)
        finally:
            Disposable(self._workspace.files, FILES_LAYOUT).purge()

    # What is left

    def _remnants(self, search: PassageSearch) -> Iterator[Remnant]:
        """Searches the raw bytes of every file of ours for passages that stand in no surviving text.

        What the plan forgot survives. So do texts of runs and contexts of which no string holds anything that was
        purged, and narratives that say what a stored snapshot gives. Nothing else is excused.
        """
        texts = self._truth.texts
        clean = {
            (owner, name) for owner, name, data in texts.all() if is_derived(owner) and search.left_of(data) == data
        }
        rows = names_in(self._truth.database.connection)
        narratives = [file for file in self._folder.mentioning(b"sn_") if made_from_stored(self._truth, file)]
        said = (data for owner, name, data in texts.all() if (owner, name) in clean)
        for data in chain(said, rows, (file.to_bytes() for file in narratives)):
            search.forget(data)
        indexes = {
            os.path.relpath(path, self._workspace.root): Disposable(path, layout)
            for path, layout in ((self._workspace.turns, TURNS_LAYOUT), (self._workspace.chunks, CHUNKS_LAYOUT))
        }
        for found in remnants_in(self._workspace, search):
            try:
                indexes[found.file].purge()  # it is built again when it is next asked
            except (KeyError, SlicebaseError):  # no index, or one that another process uses
                yield found

    def _exports(self, report: PurgeReport, session: str | None) -> Iterator[str]:
        """Yields the files that what goes was exported to. Those in the library are slice files like others."""
        refs = [*(f"run:{run}" for run in report.runs), *(f"file:{file}" for file in report.files)]
        named = {EVERYTHING_EXPORTED: "everything", **{ref: ref for ref in refs}}
        named |= {session: f"session:{session}"} if session else {}
        for each in exported_files(self._workspace):
            if each.what in named and not Path(each.path).is_relative_to(self._workspace.library):
                state = "" if each.is_there else ", which is no longer there: it may have been moved"
                yield f"{each.path}, to which {named[each.what]} was exported{state}"

    def _shown_turns(self, session: str) -> Iterator[str]:
        """Yields the other sessions whose turns a session shows: it is a copy of one, or goes on from one."""
        original = fact(self._truth.turns.session(session), COPY_FACT)
        if original:
            yield f"session:{original}, which has the turns of this copy"
        records = [stored.record for stored in self._truth.turns.of_session(session)]
        named = {parent for each in records for parent, kind in each.parents if kind in TREE_EDGES}
        homes = {stored.record.session for stored in self._truth.turns.find(named).values()}
        yield from (f"session:{home}, from which it goes on" for home in sorted(homes - {session}))

    def _beyond(
        self, report: PurgeReport, session: str | None, texts: Set[TextKey], search: PassageSearch
    ) -> Iterator[str]:
        if not search.is_complete:
            yield f"copies of what follows the first {LARGEST_SEARCH >> 20} MiB of it"
        if not texts and (report.turns or report.runs):
            yield "copies in slice files of a text that was purged before: it can no longer be searched for"
        yield from self._exports(report, session)
        for worktree in other_worktrees(self._workspace.root):
            yield f"slice files and indexes of the worktree {worktree}: `tt doctor --fix` takes them there"
        for other, _ in self._truth.turns.sessions():
            if other.id.startswith(f"{report.what.removeprefix('session:')}#agent-"):
                yield f"session:{other.id}, which a subagent of it had"
        if session and report.what == f"session:{session}":
            yield from self._shown_turns(session)
        if report.turns or report.runs:
            yield "the files that it was imported from, and what agents keep themselves"
        if report.files and repository_of(self._workspace.root):
            yield "commits in git that have these files"
        yield "backups and other copies of this workspace"


def _copies(folder: SliceFolder, files: Set[str]) -> list[Path]:
    """Returns the payloads that were copied into the library for these files."""
    found = sorted(folder.payloads.iterdir()) if folder.payloads.is_dir() else []
    return [path for path in found if path.name.partition(".")[0] in files]


def _beginning(path: Path) -> bytes:
    """Returns as much of a file as is looked for."""
    found = b""
    for _, data in chunks_of(path, overlap=0):
        found += data
        if len(found) > LARGEST_SEARCH:
            break
    return found


def _status_of(path: Path) -> tuple[object, ...]:
    try:
        status = path.lstat()
    except OSError:
        return (str(path),)
    return str(path), status.st_ino, status.st_size, status.st_mtime_ns
