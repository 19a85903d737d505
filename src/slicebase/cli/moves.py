"""Commands about a workspace as a whole: backup, restore, and those parts of export and import."""

import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slicebase.cli.file_options import complete_ids
from slicebase.cli.options import (
    created,
    dry_run_option,
    named_root,
    open_base,
    print_change,
    provenance_of,
    provenance_options,
)
from slicebase.cli.output import counted, json_option, note, print_json, print_text
from slicebase.errors import Exit, SlicebaseError, Where

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slicebase.moves.exchange import MoveConflict
    from slicebase.moves.restoration import Restored

_BACKUP = ".tar.zst"  # how the name of a backup ends


@click.command()
@click.argument("path", metavar="FILE")
@json_option
@click.pass_context
def backup(ctx: click.Context, path: str, as_json: bool) -> None:
    """Write one consistent copy of this workspace to FILE, a new .tar.zst, while others go on writing.

    It has the database, the slice files and the settings. `tt restore FILE` puts it back.
    """
    made = open_base(ctx).backup(path)
    if as_json:
        print_json({**made._asdict(), "path": str(made.path)})
        return
    print_text(str(made.path))
    for name in made.left_out:
        _told("left out", f"{name}: it is no regular file with a name that can be moved")
    note(f"{counted(made.files, 'file')} and the database {made.database}, {made.bytes:,} bytes; heads {made.heads}")


@click.command()
@click.argument("file_id", metavar="ID|BACKUP", shell_complete=complete_ids)
@click.argument("folder", required=False)
@dry_run_option
@provenance_options
@json_option
@click.pass_context
def restore(ctx: click.Context, file_id: str, folder: str | None, dry_run: bool, as_json: bool) -> int:
    """Bring an archived file back; or, from a BACKUP (*.tar.zst), a whole workspace.

    The workspace is made in FOLDER (by default this folder), which may have no memory yet. All of it is verified before
    any of it is put in place. Its database gets a new id, and keeps a record of that. Exit status 6 if something could
    not be verified.
    """
    if not file_id.endswith(_BACKUP):
        if folder is not None:
            raise click.UsageError(f"FOLDER is for a backup, whose name ends in {_BACKUP}.")
        change = open_base(ctx).library.restore(file_id, dry_run=dry_run, provenance=provenance_of(ctx))
        print_change(change, as_json, dry_run=dry_run)
        return Exit.DONE
    if dry_run:
        raise click.UsageError("--dry-run is for an archived file.")
    from slicebase.base import Slicebase  # imported here for a fast start of the other commands

    if not os.path.isfile(file_id):  # before a folder is created for it
        hint = "`tt backup FILE` writes one"
        raise SlicebaseError("no-input", "there is no such backup", hint=hint, where=Where(file_id))
    chosen = created(Path(folder) if folder else named_root(ctx) or Path.cwd())
    with Slicebase.open(chosen, chosen) as memory:
        done = memory.restore_backup(file_id)
    if as_json:
        print_json(_as_json(done))
    else:
        print_text(f"{done.verdict.status} {done.root}")
        note(f"{counted(done.files, 'file')} and the database {done.before}, which is now {done.database}")
        note(f"heads {done.heads}")
    return done.verdict.exit


def _as_json(done: "Restored") -> dict[str, Any]:
    verdict = done.verdict
    findings = [finding._asdict() for finding in verdict.findings]
    proof = {"status": verdict.status, "checked": verdict.checked, "findings": findings}
    return {**done._asdict(), "root": str(done.root), "verdict": proof}


# Exports


def export_workspace(ctx: click.Context, path: str, as_json: bool) -> int:
    """Exports the workspace of this call, and prints what was written."""
    done = open_base(ctx).export_workspace(path)
    conflicts = [conflict._asdict() for conflict in done.conflicts]
    if as_json:
        print_json({**done._asdict(), "path": str(done.path), "conflicts": conflicts})
    else:
        print_text(f"{done.path}: {counted(len(done.written), 'file')} written")
        for name in done.ahead:
            _told("ahead", f"{name}: there is more of it there; `tt import` takes it")
        if done.purged:
            note(f"purged    {counted(done.purged, 'text')} taken out of the earlier export")
        for name in done.left_out:
            _told("left out", f"{name}: it is no regular file with a name that can be moved")
        for name in done.broken:
            _told("BROKEN", f"{name}: it contradicts its hash, and was not written; `tt verify` says more")
        _print_conflicts(done.conflicts)
        note(f"heads     {done.heads}")
    return Exit.CONFLICT if conflicts else Exit.FINDINGS if done.broken else Exit.DONE


def is_export_of_workspace(path: str) -> bool:
    """Returns whether a path looks like an export of a workspace, without reading much."""
    if path.endswith(_BACKUP):
        return True
    if not os.path.isfile(os.path.join(path, "manifest.json")):
        return False
    from slicebase.moves.manifest import is_export  # imported here for a fast start of the other commands

    return is_export(Path(path))


def import_workspace(ctx: click.Context, path: str, as_json: bool) -> int:
    """Takes an export into the workspace of this call, which is created if there is none, and prints what was taken."""
    progress = (lambda what: _told("taking", f"{what} …")) if sys.stderr.isatty() else (lambda what: None)
    done = open_base(ctx, create=True).import_workspace(path, progress=progress)
    if as_json:
        verdict = done.verdict
        print_json({
            **done._asdict(),
            "path": str(done.path),
            "conflicts": [conflict._asdict() for conflict in done.conflicts],
            "refused": [error.as_json() for error in done.refused],
            "verdict": verdict and {"status": verdict.status, "checked": verdict.checked},
        })  # fmt: skip
        return done.exit
    print_text(f"taken     {_taken(done.taken)}")
    for error in done.refused:
        _told("refused", f"{error} [{error.code}]")
    if done.kept:
        note(f"kept      {counted(done.kept, 'text')} that were purged there: `tt purge` takes them here, too")
    _print_conflicts(done.conflicts)
    if done.verdict:
        print_text(f"verified  {done.verdict.status}")
    state = "equal to those there" if done.heads == done.heads_there else f"there {done.heads_there}"
    note(f"heads     {done.heads}, {state}")
    return done.exit


def _taken(names: "Sequence[str]") -> str:
    """Returns what was taken, in words."""
    kinds = Counter("file" if name.startswith("slices/") else name.partition(":")[0] for name in names)
    several = [counted(kinds.pop(kind), kind) for kind in ("session", "run", "file") if kind in kinds]
    return ", ".join([*several, *(name.replace("_", " ") for name in sorted(kinds))]) or "nothing that is not here"


def _print_conflicts(conflicts: "Sequence[MoveConflict]") -> None:
    for conflict in conflicts:
        _told("CONFLICT", f"{conflict.what}: both sides have what the other has not, and both stay as they are")
        _told("          here ", f"{conflict.here}")
        _told("          there", f"{conflict.there}")


def _told(kind: str, text: str) -> None:
    """Prints a line with names that others chose: a line end in one begins no line that looks like ours."""
    from slicebase.workspace.writer import one_line  # imported here for a fast start of the other commands

    note(f"{kind:<9} {one_line(text)}")
