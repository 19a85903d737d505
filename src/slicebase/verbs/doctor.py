"""What is wrong with a workspace, and how to fix it. What only a person can decide is reported and never changed."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

import apsw

from slicebase.agents.clients import CLIENTS
from slicebase.agents.hook_failures import HookFailure, HookFailures
from slicebase.agents.hooks import ClientHooks
from slicebase.core.times import to_text
from slicebase.errors import SlicebaseError
from slicebase.files.body.entries import Stamp
from slicebase.files.body.overflow import whole_of
from slicebase.files.findings import FORMAT_RULES
from slicebase.files.links import SUFFIX, is_safe
from slicebase.files.slice_file import SliceFile
from slicebase.graph.selection import KERNEL
from slicebase.history.follow import purged_states
from slicebase.history.transcripts import AgentHome, expiring_transcripts
from slicebase.index.disposable import Disposable, problems_of
from slicebase.index.entries import Filters
from slicebase.index.turn_schema import CHUNKS_LAYOUT, TURNS_LAYOUT
from slicebase.index.upkeep import holds_purged
from slicebase.index.word_vectors import why_none
from slicebase.library.check import validate
from slicebase.library.finder import Finder
from slicebase.library.folder import PAYLOADS, SliceFolder
from slicebase.library.narratives import stale_narratives
from slicebase.library.payloads import unclaimed_copies
from slicebase.library.purge import Purging
from slicebase.library.repairs import (
    finish_overflows,
    lines_in_two_files,
    remove_repeated,
    repeating_files,
    unfinished_overflows,
)
from slicebase.truth.sqlite import can_only_be_read
from slicebase.truth.truth import Truth, open_truth
from slicebase.verbs.install import install
from slicebase.verbs.kernel import kernel_problems
from slicebase.verbs.lost_prepared import outdated_losses
from slicebase.verbs.parts import Parts
from slicebase.workspace import git
from slicebase.workspace.atomic import clean, left_behind, read_bytes
from slicebase.workspace.holds import is_free, remove_free
from slicebase.workspace.journal import Journal
from slicebase.workspace.settings import load_settings
from slicebase.workspace.surroundings import Surroundings
from slicebase.workspace.workspace import LIBRARY, LOCAL, SETTINGS, Workspace, create_local_folder

_CONFLICT_MARKER: Final = b"\n<<<<<<< "


class Complaint(NamedTuple):
    """A problem: its place, a message, and what helps."""

    check: str
    place: str
    message: str
    hint: str
    fix: Callable[[], object] | None = None  # None if only a person can fix it
    by_itself: bool = False  # whether the doctor fixes it unasked: nothing but time is lost

    def as_json(self) -> dict[str, Any]:
        return {
            "check": self.check,
            "place": self.place,
            "message": self.message,
            "hint": self.hint,
            "fixable": self.fix is not None,
        }


class Examined(NamedTuple):
    """The workspace, the command with which git merges slice files, and where a coding agent keeps its transcripts."""

    workspace: Workspace
    driver: str
    home: AgentHome | None = None


def examine(workspace: Workspace, driver: str, home: AgentHome | None = None) -> list[Complaint]:
    """Returns everything that is wrong, in the order of the checks."""
    examined = Examined(workspace, driver, home)
    return [complaint for check in DOCTOR_CHECKS.values() for complaint in check(examined)]


def doctor(
    parts: Parts, driver: str | None, *, fix: bool, home: Path | None
) -> tuple[list[Complaint], list[Complaint]]:
    """Returns what is wrong, and what was fixed: damaged indexes by itself, everything else with `fix`."""
    agent = AgentHome(home, parts.surroundings.now()) if home is not None else None
    examined = (parts.workspace, driver or git.merge_command(), agent)
    found = examine(*examined)
    fixed = fix_all(found if fix else [complaint for complaint in found if complaint.by_itself])
    clean = parts.surroundings.redaction.finding
    return [*map(clean, examine(*examined) if fixed else found)], [*map(clean, fixed)]


def fix_all(complaints: Sequence[Complaint]) -> list[Complaint]:
    """Fixes what can be fixed, and returns these complaints. A fix that fails returns False."""
    return [complaint for complaint in complaints if complaint.fix and complaint.fix() is not False]


def _settings(examined: Examined) -> Iterator[Complaint]:
    for message, hint in kernel_problems():
        yield Complaint("kernel", KERNEL, message, hint)
    try:
        settings = load_settings(examined.workspace.root)
    except SlicebaseError as error:
        yield Complaint("settings", str(error.where), error.message, error.hint or "`tt config` shows the settings")
        return
    if settings.context_semantic and (reason := why_none()):
        message = f"context.semantic is on, and the word vectors {reason}: contexts are built without them"
        hint = "pip install 'slicebase[semantic]', or `tt config context.semantic false`"
        yield Complaint("settings", SETTINGS, message, hint)


def _temporary_files(examined: Examined) -> Iterator[Complaint]:
    workspace = examined.workspace
    for place, lock in _places(workspace):
        within = workspace.root if place.is_relative_to(workspace.root) else place
        for path in left_behind(place):
            message = "a process that was killed while writing left a temporary file"
            yield Complaint("litter", str(path), message, "remove it", partial(clean, place, lock, within=within))
    for path in sorted(workspace.steps.glob("*")):
        if is_free(path):
            message = "a process that was killed left the file of a step that was open"
            yield Complaint("litter", str(path), message, "remove it", partial(remove_free, path))


def _places(workspace: Workspace) -> Iterator[tuple[Path, Path]]:
    """Yields the folders that Slicebase writes to, each with its lock."""
    root, local = workspace.root, workspace.root / LOCAL
    clients = [(root / client.settings).parent for client in CLIENTS.values()]
    caches = [path for path in sorted(local.rglob("*")) if path.is_dir()]
    folders = (root, *clients, workspace.library, workspace.database.parent, local, *caches)
    yield from ((folder, workspace.lock) for folder in dict.fromkeys(folders))
    yield workspace.library / PAYLOADS, workspace.payloads_lock


def _journal(examined: Examined) -> Iterator[Complaint]:
    """Reports a journal that stays: what it would undo stays half written, and a folder in its place stops writers."""
    path = examined.workspace.journal
    obstacle = Journal(examined.workspace).obstacle()
    if obstacle and path.is_dir():
        message = "a folder has the place of the journal: no slice file can be written"
        yield Complaint("journal", str(path), message, "give the folder another name")
    elif obstacle:
        message = f"a process was killed while it wrote several files, and that cannot be undone: {obstacle.message}"
        hint = "make the folder writable: the next command undoes it"
        yield Complaint("journal", str(path), message, hint)


def _overflow(examined: Examined) -> Iterator[Complaint]:
    folder = SliceFolder(examined.workspace)
    unfinished = unfinished_overflows(folder)
    for file_id in unfinished.files:
        message = "a process was killed while it moved content to another part: the move is unfinished"
        yield Complaint(
            "overflow", f"{LIBRARY}/{file_id}{SUFFIX}", message, "finish it", partial(finish_overflows, folder)
        )
    for part in unfinished.strays:
        whole = whole_of(part)
        message = f"it says that it is a part of {whole}, which does not name it, and may have its content"
        commands = f"`tt forget {part.id}` if that has all of it, else `tt connect {whole} has_part {part.id}`"
        hint = f"compare the two, then {commands}"
        yield Complaint("overflow", part.name, message, hint)
    for file, absent in unfinished.absent:
        yield Complaint("overflow", file.name, f"its part {absent.id} is {absent.how}", absent.hint)


def _repeated(examined: Examined) -> Iterator[Complaint]:
    folder = SliceFolder(examined.workspace)
    for file, _ in repeating_files(folder):
        message = "another part of the same file has some of its content, too: two branches moved it, and were merged"
        yield Complaint("repeated", file.name, message, "remove it here", partial(remove_repeated, folder))
    for file, other, lines in lines_in_two_files(folder):
        message = f"{lines} of its lines with a time or an id are in {other.name}, too: a conflict may have kept them"
        yield Complaint("repeated", file.name, message, "delete them in one of the two")


def _payloads(examined: Examined) -> Iterator[Complaint]:
    """Reports copies that no pointer names. They are never removed: the pointer may be on another branch."""
    for path in unclaimed_copies(SliceFolder(examined.workspace)):
        message = "no file names this copy of a payload"
        yield Complaint(
            "payload", os.path.relpath(path, examined.workspace.root), message, "delete it, or create a pointer to it"
        )


def _format(examined: Examined) -> Iterator[Complaint]:
    """Reports errors and unfinished merges; `tt validate` shows the other warnings.

    An unfinished merge is one complaint.
    """
    root = examined.workspace.root
    serious = [
        finding
        for finding in validate([examined.workspace.library], root).findings
        if FORMAT_RULES[finding.rule].severity == "error" or finding.rule == "merge-marks"
    ]
    for name, findings in groupby(serious, key=attrgetter("file")):
        place = os.path.relpath(name, root)
        if _has_conflict_markers(Path(name)):
            yield Complaint(
                "merge", place, "a merge left conflict markers here", "resolve the conflicts, and remove the markers"
            )
            continue
        for finding in findings:
            line = f":{finding.line}" if finding.line else ""
            yield Complaint("format", place + line, finding.message, finding.hint or "`tt validate` shows more")


def _has_conflict_markers(path: Path) -> bool:
    try:
        return _CONFLICT_MARKER in read_bytes(path)
    except (OSError, SlicebaseError):
        return False


def _names(examined: Examined) -> Iterator[Complaint]:
    """Reports files that are not named by their id (§ Storage)."""
    library = examined.workspace.library
    for entry in Finder(examined.workspace).list_files(Filters(archived=True)):
        target = library / f"{entry.id}{SUFFIX}"
        if entry.name == target.name:
            continue
        free = is_safe(entry.id) and not os.path.lexists(target)
        message = f"the file is named {entry.name}, and its id is {entry.id}"
        hint = f"name it {target.name}" if free else "give one of the two another id"
        fix = partial(os.rename, library / entry.name, target) if free else None
        yield Complaint("name", f"{LIBRARY}/{entry.name}", message, hint, fix)


def _repository(examined: Examined) -> Iterator[Complaint]:
    root = examined.workspace.root
    if not git.is_repository(root):
        return
    if not git.has_attributes(root) or git.driver_of(root) is None:
        message = "git does not merge slice files by their keys, links and rows here"
        yield Complaint("merge-driver", str(root), message, "`tt init` sets it up", partial(install, *examined[:2]))
    if git.is_tracked(root, LOCAL):
        message = "files that belong to this machine only are in git"
        yield Complaint("tracked", LOCAL, message, f"git rm -r --cached {LOCAL}")


def _local(examined: Examined) -> Iterator[Complaint]:
    local = examined.workspace.root / LOCAL
    if not (local / ".gitignore").exists():
        message = f"{LOCAL}/ has no ignore rule"
        yield Complaint(
            "ignore", str(local), message, "create it", partial(create_local_folder, examined.workspace.root)
        )


def _index(examined: Examined) -> Iterator[Complaint]:
    workspace = examined.workspace
    texts = Disposable(workspace.turns, TURNS_LAYOUT), Disposable(workspace.chunks, CHUNKS_LAYOUT)
    for database in (Finder(workspace).index.database, *texts):
        if not database.is_sound():
            message, hint = "the index is damaged", "delete it: it is built again when it is needed"
            yield Complaint("index", str(database.path), message, hint, database.discard, by_itself=True)


def _database(examined: Examined) -> Iterator[Complaint]:
    """Reports a database that cannot be opened, or in which SQLite finds damage. Its own indexes are rebuilt."""
    path = examined.workspace.place
    try:
        truth = open_truth(examined.workspace)
    except SlicebaseError as error:
        if error.code != "no-database":
            yield Complaint("database", path, error.message, error.hint)
            if error.code != "not-a-file":  # SQLite would wait for a pipe in the place of a log
                yield from _damage(examined.workspace.database)
        return
    try:
        problems = truth.database.problems()
        yield from () if problems else _purged(examined.workspace, truth)
    except apsw.Error as error:
        problems = [str(error)]
    finally:
        truth.close()
    if problems and all(" index " in problem for problem in problems):
        rebuild = partial(_rebuild_indexes, examined.workspace)
        message = f"an index in the database is damaged: {problems[0]}"
        yield Complaint("database", path, message, "build it again", rebuild, by_itself=True)
    elif problems:
        hint = "`tt verify` says what is lost; put a copy back, or import the transcripts again"
        yield Complaint("database", path, f"SQLite finds damage: {problems[0]}", hint)


def _purged(workspace: Workspace, truth: Truth) -> Iterator[Complaint]:
    """Reports what a purge in another worktree did not reach here, and was made from what it took."""
    found = {file.name: "this narrative is older than the purge of its snapshot" for file in _stale(workspace, truth)}
    try:
        for path in purged_states(truth, workspace.cache):
            found[str(path)] = "what was read of the transcript of a purged session is still kept"
        for path in outdated_losses(truth, workspace.cache):
            found[str(path)] = "what a compaction lost was found before the last purge"
    except OSError as error:
        message = f"what is kept between commands cannot be read: {error.strerror}"
        yield Complaint("index", str(workspace.cache), message, "make it readable, or delete it: it is built again")
    if holds_purged(workspace.turns, truth):
        found[str(workspace.turns)] = "the index has words of purged turns"
    for place, message in found.items():
        yield Complaint("purged", place, message, "finish the purge here", partial(_finish_purges, workspace))


def _stale(workspace: Workspace, truth: Truth) -> list[SliceFile]:
    return stale_narratives(truth, SliceFolder(workspace).mentioning(b"sn_"))


def _finish_purges(workspace: Workspace) -> None:
    truth = open_truth(workspace)
    try:
        stamp = Stamp(Surroundings(workspace).now(), b"")
        Purging(workspace, SliceFolder(workspace), truth, stamp, "its snapshot was purged").finish()
    finally:
        truth.close()


def _damage(path: Path) -> Iterator[Complaint]:
    """Reports what SQLite finds in a database that we cannot open."""
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        problems = problems_of(connection)
        connection.close()
    except apsw.Error:
        return  # it is no database at all, or gone: that is reported
    for problem in problems:
        yield Complaint("database", str(path), problem, "put a copy of the database back")


def _rebuild_indexes(workspace: Workspace) -> bool:
    """Builds the indexes of the database again from its tables. Returns whether that fixed it."""
    truth = open_truth(workspace)
    try:
        truth.database.connection.execute("REINDEX")  # only SQLite finds problems that this removes
        return not truth.database.problems()
    except apsw.Error:
        return False
    finally:
        truth.close()


def _transcripts(examined: Examined) -> Iterator[Complaint]:
    """Reports transcripts that are not imported and that a coding agent will soon delete because of their age."""
    if examined.home is None:
        return
    for path, days in expiring_transcripts(examined.workspace, examined.home):
        message = f"Claude Code deletes this transcript in {days} days, and it is not imported"
        yield Complaint(
            "transcripts", str(path), message, "`tt import` imports it; `tt hook install` does so from now on"
        )


def _hooks(examined: Examined) -> Iterator[Complaint]:
    """Reports hooks that store nothing, or whose last call failed within a week: the client goes on, nobody sees it."""
    if can_only_be_read(examined.workspace.database):
        for status in ClientHooks(examined.workspace).statuses():
            if status.installed:
                message = "the workspace can only be read: its hooks show files, and store no transcript"
                yield Complaint("hooks", status.client, message, f"allow writing to {LOCAL}")
    failures = HookFailures(examined.workspace)
    found: dict[tuple[str, str], list[HookFailure]] = {}
    for each in failures.recent(Surroundings(examined.workspace).now()):
        found.setdefault((each.client, each.event), []).append(each)
    for (client, event), (*before, last) in found.items():
        times = f", and {len(before)} times before" if before else ""
        message = f"the hook failed at {to_text(last.time)}{times}: {last.message} [{last.code}]"
        hint = f"once it succeeds, this goes; {failures.path.name} has the last failures"
        yield Complaint("hooks", f"{client} {event}", message, hint)


DOCTOR_CHECKS: Final[Mapping[str, Callable[[Examined], Iterator[Complaint]]]] = {
    "local": _local,
    "settings": _settings,
    "litter": _temporary_files,
    "journal": _journal,
    "overflow": _overflow,
    "repeated": _repeated,
    "payloads": _payloads,
    "index": _index,
    "format": _format,
    "names": _names,
    "repository": _repository,
    "database": _database,
    "transcripts": _transcripts,
    "hooks": _hooks,
}
