"""Commands that take slice files out of sight, bring them back, or take their content away for good."""

import click

from slicebase.cli.output import json_option, note
from slicebase.cli.stamping import print_change, provenance_options, stamp_for
from slicebase.cli.workspace import open_base

_reason = click.option("--reason", metavar="TEXT", help="Why; it is kept with the mark.")
_dry_run = click.option("--dry-run", is_flag=True, help="Say what would happen, and write nothing.")


@click.command()
@click.argument("file_id", metavar="ID")
@_reason
@_dry_run
@provenance_options
@json_option
@click.pass_context
def forget(ctx: click.Context, file_id: str, reason: str | None, dry_run: bool, as_json: bool) -> None:
    """Archive a file: it leaves search and listings, and `tt restore` brings it back."""
    base = open_base(ctx)
    change = base.library.forget(file_id, stamp_for(ctx, base), reason=reason, dry_run=dry_run)
    print_change(change, as_json, dry_run=dry_run)


@click.command()
@click.argument("file_id", metavar="ID")
@_dry_run
@provenance_options
@json_option
@click.pass_context
def restore(ctx: click.Context, file_id: str, dry_run: bool, as_json: bool) -> None:
    """Bring back a file that was forgotten."""
    base = open_base(ctx)
    print_change(base.library.restore(file_id, stamp_for(ctx, base), dry_run=dry_run), as_json, dry_run=dry_run)


@click.command()
@click.argument("file_id", metavar="ID")
@_reason
@_dry_run
@provenance_options
@json_option
@click.pass_context
def purge(ctx: click.Context, file_id: str, reason: str | None, dry_run: bool, as_json: bool) -> None:
    """Take a file's content away for good. A tombstone keeps its title, hash and size.

    Copies of it in manifests and in the library's payloads go too; what git has committed is git's to forget.
    """
    base = open_base(ctx)
    change = base.library.purge(file_id, stamp_for(ctx, base), reason=reason, dry_run=dry_run)
    print_change(change, as_json, dry_run=dry_run)
    if change.changed and not dry_run and not as_json:
        note("Older versions may still stand in git's history.")
