"""Imports conversations into the truth and its index, and exports a session as a slice file."""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from slicebase.errors import SlicebaseError, Where
from slicebase.history.account import Account
from slicebase.history.annotate import Annotator
from slicebase.history.imports import ImportProgress, import_inputs
from slicebase.history.inputs import inputs
from slicebase.history.unchanged import SeenInputs
from slicebase.importers.values import Options
from slicebase.index.upkeep import update_turn_index
from slicebase.truth.chains import unlogged
from slicebase.verbs.parts import Parts
from slicebase.workspace.atomic import own_temporary, write_bytes
from slicebase.workspace.boundary import real_path


def import_conversations(
    parts: Parts,
    paths: Iterable[Path],
    *,
    format_name: str | None = None,
    session: str | None = None,
    redact: bool = True,
    dry_run: bool = False,
    progress: ImportProgress = lambda name, count: None,
    stdin: Iterable[bytes] | None = None,
) -> Account:
    """Imports files, folders and zips, and returns an account of every record; `dry_run` stores nothing.

    With `stdin`, the path `-` stands for these bytes.
    """
    found = list(inputs(paths, stdin))
    database, redaction = parts.truth.database, parts.surroundings.redaction
    account, options = Account(), Options(session, redact, redaction.redactor)
    seen = None if dry_run else SeenInputs(parts.workspace.cache, parts.truth, options, format_name)
    try:
        with database.rolled_back() if dry_run else database.bulk():
            import_inputs(
                parts.truth,
                found,
                options,
                format_name=format_name,
                account=account,
                annotate=Annotator(parts.truth),
                progress=progress,
                seen=seen,
            )
    except SlicebaseError as error:
        raise error if dry_run else account.unfinished(error) from None
    if seen is not None:
        with suppress(SlicebaseError):  # what cannot be logged now is logged after the next write
            database.log(unlogged(database.connection))  # also what an import that was killed has left
        seen.save()
    redaction.counts.update(account.report.redacted)
    if redact:
        account.redact(redaction.uncounted, redaction.error)
    if not dry_run:
        index_new_turns(parts)
    return account


def index_new_turns(parts: Parts) -> None:
    """Adds the turns that an import has stored to the index. What keeps it from that is a matter of later questions."""
    with suppress(SlicebaseError):
        index = parts.turn_index
        index.fill(lambda: update_turn_index(index, parts.truth))


def export(parts: Parts, session: str, to: Path) -> Path:
    """Writes a session as a conversation slice file, whose import gives the same ids and branches."""
    from slicebase.files.check.version import read_back  # imported here for a fast start: imports read no slice files
    from slicebase.history.show import export_session

    file = export_session(parts.truth, session, parts.surroundings.new_id())
    return write_export(parts, to, lambda: read_back(file), session)


def write_export(parts: Parts, to: Path, make: Callable[[], bytes], what: str) -> Path:
    """Writes what is exported to a new file, which is remembered for purges; `what` is a session or a reference."""
    from slicebase.library.exported import remember_export

    if os.path.lexists(to):
        raise SlicebaseError("file-exists", f"{to} exists already", hint="choose another name", where=Where(str(to)))
    folder, data = real_path(to.parent), make()
    remember_export(parts.workspace, what, folder / to.name)
    # No lock is held in that folder.
    write_bytes(folder / to.name, [data], within=folder, temporary=own_temporary())
    return to
