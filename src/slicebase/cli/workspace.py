"""`tt init` and the way every command finds its workspace."""

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slicebase.cli.output import counted, json_option, note, print_json

if TYPE_CHECKING:
    from slicebase.base import Slicebase
    from slicebase.verbs.status import Overview

_LARGE = 500  # files that take a while to read


def now() -> int:
    """The clock, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def named_root(ctx: click.Context) -> Path | None:
    """The folder that --root or SLICEBASE_ROOT names."""
    options = ctx.find_root().obj or ctx.find_root().params  # a shell that completes does not call the command itself
    root = options.get("root") or os.environ.get("SLICEBASE_ROOT")
    return Path(root) if root else None


def open_base(ctx: click.Context, *, create: bool = False) -> "Slicebase":
    """The workspace of this call, closed when the command ends. `create` makes one where there is none, and says so."""
    from slicebase.base import Slicebase

    base = Slicebase.open(Path.cwd(), named_root(ctx), create=create)
    base.index_progress = index_progress
    if base.is_new:
        note(f"Made a workspace in {base.workspace.root}.")
    ctx.call_on_close(base.close)
    return base


def index_progress(done: int, total: int) -> None:
    """A line on a terminal while a large library is read; silence in a pipe."""
    if total >= _LARGE and sys.stderr.isatty() and (done % 100 == 0 or done == total):
        click.echo(f"\r\x1b[Kreading {done} of {total} files" if done < total else "\r\x1b[K", err=True, nl=False)


def merge_driver() -> str:
    """The command by which git merges slice files: this very program. -P keeps the repository's own code out."""
    import shlex

    return f"{shlex.quote(sys.executable)} -P -m slicebase merge-driver %O %A %B %P"


@click.command()
@click.argument("folder", required=False)
@json_option
@click.pass_context
def init(ctx: click.Context, folder: str | None, as_json: bool) -> None:
    """Make a folder (this one, unless named) a workspace. A second time changes nothing.

    In a git repository this also sets up a merge driver: a line in .gitattributes, which belongs into git, and a
    command in the repository's own configuration.
    """
    from slicebase.base import Slicebase

    base = Slicebase.init(Path(folder) if folder else named_root(ctx) or Path.cwd(), merge_driver())
    places: dict[str, Any] = {
        "root": str(base.workspace.root),
        "library": str(base.workspace.library),
        "database": str(base.workspace.database),
        "cache": str(base.workspace.cache),
    }
    if as_json:
        print_json(places)
    else:
        click.echo("\n".join(f"{name:9} {place}" for name, place in places.items()))


@click.command()
@click.option("--delete-data", is_flag=True, help="Delete the database, too: turns, runs, manifests.")
@click.option("--dry-run", is_flag=True, help="Say what would go, and take nothing away.")
@json_option
@click.pass_context
def uninit(ctx: click.Context, delete_data: bool, dry_run: bool, as_json: bool) -> None:
    """Take away what init set up: the merge driver and the cache. Slice files and settings stay."""
    gone = open_base(ctx).uninit(delete_data=delete_data, dry_run=dry_run)
    if as_json:
        print_json({"dry_run": dry_run, "removed": gone})
    else:
        for what in gone:
            click.echo(f"{'would remove' if dry_run else 'removed'} {what}")


@click.command()
@json_option
@click.pass_context
def status(ctx: click.Context, as_json: bool) -> None:
    """Say which workspace this is, what is in it, and what is wrong."""
    found = open_base(ctx).status(now())
    if as_json:
        print_json(found.as_json())
        return
    files = ", ".join(f"{count} {name}" for name, count in found.files.items())
    told = {
        "workspace": found.root,
        "git": _git_words(found) if found.repository else "",
        "library": counted(sum(found.files.values()), "file") + (f" ({files})" if files else ""),
        "": f"{counted(found.rows, 'row')}, {counted(found.links, 'link')}, {found.archived} forgotten",
        "history": ""
        if found.turns is None
        else f"{counted(found.turns, 'turn')} in {counted(found.sessions or 0, 'session')}",
        "stale": f"{counted(found.stale, 'file')}: `tt stale` says why" if found.stale else "",
        "broken": f"{counted(len(found.broken), 'file')} cannot be read: `tt doctor` says why" if found.broken else "",
    }
    for name, words in told.items():
        if words:
            click.echo(f"{name:9} {words}")


def _git_words(found: "Overview") -> str:
    driver = "merges slice files by rows and keys" if found.merge_driver else "no merge driver yet: `tt init`"
    return f"{f'branch {found.branch}' if found.branch else 'no branch'}, {driver}"
