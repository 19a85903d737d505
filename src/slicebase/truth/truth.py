"""The truth: one append-only database, with an object for each kind of record."""

import os
from collections.abc import Callable, Collection, Mapping, Set
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from slicebase.core.times import from_text, to_text
from slicebase.errors import SlicebaseError, Where
from slicebase.graph.contents import readable_text
from slicebase.graph.record import TurnRecord, read_parts
from slicebase.graph.turn import Parent, Turn, turn_text
from slicebase.truth.acts import Identity, PurgeRecord, identities
from slicebase.truth.database import Database
from slicebase.truth.ownership import Opener, refuse_lost
from slicebase.truth.sqlite import empty_database, open_database
from slicebase.truth.texts import Texts
from slicebase.truth.turns import Turns
from slicebase.workspace.machine import home_digest, id_in_index, keep_id, known_ids
from slicebase.workspace.server import URL_VARIABLE
from slicebase.workspace.surroundings import Surroundings
from slicebase.workspace.workspace import DATABASE_ID, LOCAL, Workspace, own_database, own_folder

if TYPE_CHECKING:  # imported only where needed, for a fast start: most commands need no runs
    from slicebase.truth.ledger import Ledger
    from slicebase.truth.manifests import Manifests
    from slicebase.truth.policies import StoredPolicies
    from slicebase.truth.runs import StoredRuns
    from slicebase.truth.sessions import Sessions
    from slicebase.truth.steps import StoredSteps
    from slicebase.truth.trees import StoredTrees


class Truth:
    """The data that must never be lost. Its parts share one connection, and each write is one transaction."""

    def __init__(
        self,
        path: Path,
        *,
        create: bool = False,
        or_empty: bool = False,
        opener: Opener | None = None,
        url: str = "",
    ) -> None:
        opened = _on_server(url, path, opener or Opener(), create=create) if url else None
        if opened is None and url and not or_empty:
            raise SlicebaseError("no-database", "the database has no memory of this workspace yet")
        self.database: Database = opened or (
            empty_database(path) if url else open_database(path, create=create, or_empty=or_empty, opener=opener)
        )
        self.texts = Texts(self.database)
        self.turns = Turns(self.database, self.texts)

    @property
    def identity(self) -> Identity:
        """Which database it is, and whose."""
        return identities(self.database.connection)[-1]

    @cached_property
    def sessions(self) -> "Sessions":
        from slicebase.truth.sessions import Sessions

        return Sessions(self.database, self.turns)

    @cached_property
    def trees(self) -> "StoredTrees":
        from slicebase.truth.trees import StoredTrees

        return StoredTrees(self.database)

    @cached_property
    def policies(self) -> "StoredPolicies":
        from slicebase.truth.policies import StoredPolicies

        return StoredPolicies(self.database)

    @cached_property
    def manifests(self) -> "Manifests":
        from slicebase.truth.manifests import Manifests

        return Manifests(self.database, self.texts, self.turns)

    @cached_property
    def ledger(self) -> "Ledger":
        from slicebase.truth.ledger import Ledger

        return Ledger(self.database, self.texts)

    @cached_property
    def runs(self) -> "StoredRuns":
        from slicebase.truth.manifests import ManifestEntries
        from slicebase.truth.run_log import RunLog
        from slicebase.truth.runs import StoredRuns
        from slicebase.truth.snapshots import Snapshots

        entries = ManifestEntries(self.database, self.texts)
        return StoredRuns(RunLog(self.database), Snapshots(self.database, self.texts), self.ledger, entries)

    @cached_property
    def steps(self) -> "StoredSteps":
        from slicebase.truth.steps import StoredSteps

        return StoredSteps(self.runs, self.database)

    def purge(self, record: PurgeRecord, left: Mapping[tuple[str, str], bytes]) -> None:
        """Replaces the texts that a purge names by tombstones, and notes the items of runs again: ids may be purged."""
        with self.database.writing():
            self.texts.purge(record, left)
            for run_id in sorted({text.owner[4:] for text in record.texts if text.owner.startswith("run:")}):
                self.runs.log.refill_items(run_id)

    def turn(self, turn_id: str) -> Turn | None:
        """Returns a stored turn with its content, or None. A purged turn has no parts."""
        stored = self.turns.find([turn_id]).get(turn_id)
        return self.with_content(stored.record) if stored else None

    def with_content(self, record: TurnRecord) -> Turn:
        """Returns the turn of a record with its content. A purged turn has no parts."""
        text = self.texts.get(f"session:{record.session}", record.content_hash)
        parts = read_parts(text.data) if text and text.data is not None else ()
        parents = tuple(Parent(*parent) for parent in record.parents)
        return Turn(record.id, record.session, record.role, parts, from_text(record.time), parents, record.source_hash)

    def text_of(self, record: TurnRecord) -> str | None:
        """Returns the text of a turn; None if it was purged."""
        stored = self.texts.get(f"session:{record.session}", record.content_hash)
        return turn_text(read_parts(stored.data)) if stored and stored.data is not None else None

    def readable_text_of(self, record: TurnRecord) -> str | None:
        """Returns the text of a turn for readers, with tool calls as text; None if it was purged."""
        stored = self.texts.get(f"session:{record.session}", record.content_hash)
        return readable_text(read_parts(stored.data)) if stored and stored.data is not None else None

    def shown(self, reference: str, files: Collection[str] = ()) -> str:
        """Returns a reference as a context shows it: of a turn, its short id alone, if no file's id begins so."""
        from slicebase.truth.names import shown_reference

        return shown_reference(self.database.connection, reference, files)

    def close(self) -> None:
        self.database.close()


def open_truth(
    workspace: Workspace,
    surroundings: Surroundings | None = None,
    *,
    create: bool = False,
    or_empty: bool = False,
    adopt: bool = False,
) -> Truth:
    """Opens the truth of a workspace, if it is its own: the workspace knows the id of its database (ruling 45).

    Where it has none yet, `create` creates one, and `or_empty` returns one in memory that is empty.
    """
    if workspace.url:
        return _open_shared(workspace, surroundings or Surroundings(workspace), create, or_empty, adopt)
    opener = Opener(home_digest(), _known_ids(workspace), adopt, *_made_by(surroundings or Surroundings(workspace)))
    refuse_lost(workspace.database, opener)
    if create:
        own_database(workspace.database)
    truth = Truth(workspace.database, create=create, or_empty=or_empty, opener=opener)
    if not truth.database.read_only:
        keep_id(workspace.id_files, truth.identity.database)
    return truth


def open_copy(path: Path, around: Surroundings) -> Truth:
    """Opens a copy of a database that is put back, whoever made it: a record in it says so, and gives it a new id."""
    new_id, time = _made_by(around)
    opener = Opener(home_digest(), restore=True, new_id=new_id, time=time)
    return Truth(path, opener=opener)


def _open_shared(workspace: Workspace, around: Surroundings, create: bool, or_empty: bool, adopt: bool) -> Truth:
    """Opens the memory of a workspace on a server, which has those of many users and machines.

    The id chooses among them, so a repository may not name it: it counts where this user on this machine wrote it.
    """
    home = home_digest()
    ours = known_ids(workspace.id_files, home)
    known = ours or _known_ids(workspace)
    if create and not known:
        return _create_shared(workspace, around, home)
    opener = Opener("", known, adopt, *_made_by(around))
    truth = Truth(workspace.database, create=create, or_empty=or_empty, opener=opener, url=workspace.url)
    if known and not ours and not adopt:
        truth.close()
        raise SlicebaseError(
            "database-not-ours",
            f"this folder names the memory {min(known)}, but it was written there by another user or machine",
            hint="if it is yours, `tt init --join` with this id makes it the memory of this workspace",
            where=Where(str(workspace.root)),
        )
    if not truth.database.read_only:
        _keep_shared(workspace, truth.identity.database, home)
    return truth


def _create_shared(workspace: Workspace, around: Surroundings, home: str) -> Truth:
    """Creates the memory of a workspace on a server. Of several processes that do so at once, the first one does.

    A memory whose id no file keeps would be lost: where the files cannot be written, none is created.
    """
    from slicebase.workspace.atomic import file_errors, locked  # imported here: a workspace does this once

    with file_errors(workspace.database.parent):
        own_folder(workspace.database.parent)
    with locked(workspace.purge_lock):  # which nobody holds for long who has no memory yet
        known = known_ids(workspace.id_files, home)
        opener = Opener("", known, False, *_made_by(around))
        truth = Truth(workspace.database, create=True, opener=opener, url=workspace.url)
        _keep_shared(workspace, truth.identity.database, home)
    return truth


def _known_ids(workspace: Workspace) -> Set[str]:
    """Returns the ids of the database that the folder knows: of its files, else of its index."""
    known = known_ids(workspace.id_files)
    if not known and not _has_content(workspace.database) and os.path.isfile(workspace.turns):
        known = id_in_index(workspace.turns)
    return known


def _made_by(around: Surroundings) -> tuple[Callable[[], str], Callable[[], str]]:
    return around.new_id, lambda: to_text(around.now())


def _keep_shared(workspace: Workspace, database: str, home: str) -> None:
    """Writes down which memory the workspace has, also where all worktrees look for it."""
    with suppress(OSError):
        own_folder(workspace.database.parent)
    keep_id(workspace.id_files, database, home)


def join_memory(workspace: Workspace, database: str) -> None:
    """Makes a memory on the user's server that of a workspace, by its id."""
    if not workspace.url:
        hint = f"name it with {URL_VARIABLE}" if not workspace.has_memory else "the workspace has a memory of its own"
        raise SlicebaseError("bad-arguments", "no server has the memory of this workspace", hint=hint)
    known = known_ids(workspace.id_files)
    if known - {database}:
        message = f"this workspace has the memory {min(known - {database})} already"
        hint = f"join with a new folder or clone; if the folder came with that id, delete {LOCAL}/{DATABASE_ID} first"
        raise SlicebaseError("database-not-ours", message, hint=hint)
    Truth(workspace.database, opener=Opener(known=frozenset({database})), url=workspace.url).close()
    _keep_shared(workspace, database, home_digest())


def _on_server(url: str, path: Path, opener: Opener, *, create: bool) -> Database | None:
    """Opens the memory of a workspace on a server of PostgreSQL, or returns None where it has none."""
    try:
        from slicebase.truth.postgres.database import open_postgres  # imported here: it takes long
    except ImportError:
        hint = "install slicebase[postgres]"
        raise SlicebaseError("no-extra", "the package psycopg is not installed", hint=hint) from None
    return open_postgres(url, path, opener, create=create)


def _has_content(path: Path) -> bool:
    try:
        return os.stat(path).st_size > 0
    except FileNotFoundError:
        return False
