"""`tt init` and the way every command finds its workspace."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slicebase.cli.output import json_option, note, print_json

if TYPE_CHECKING:
    from slicebase.base import Slicebase


def now() -> int:
    """The clock, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def named_root(ctx: click.Context) -> Path | None:
    """The folder that --root or SLICEBASE_ROOT names."""
    root = ctx.find_root().obj["root"] or os.environ.get("SLICEBASE_ROOT")
    return Path(root) if root else None


def open_base(ctx: click.Context, *, create: bool = False) -> "Slicebase":
    """The workspace of this call, closed when the command ends. `create` makes one where there is none, and says so."""
    from slicebase.base import Slicebase

    base = Slicebase.open(Path.cwd(), named_root(ctx), create=create)
    if base.is_new:
        note(f"Made a workspace in {base.workspace.root}.")
    ctx.call_on_close(base.close)
    return base


@click.command()
@click.argument("folder", required=False)
@json_option
@click.pass_context
def init(ctx: click.Context, folder: str | None, as_json: bool) -> None:
    """Make a folder (this one, unless named) a workspace. A second time changes nothing."""
    from slicebase.base import Slicebase

    base = Slicebase.init(Path(folder) if folder else named_root(ctx) or Path.cwd())
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
