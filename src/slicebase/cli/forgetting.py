"""Commands that take slice files out of sight, bring them back, or take their content away for good."""

from typing import TYPE_CHECKING

import click

from slicebase.cli.file_options import complete_ids, id_argument
from slicebase.cli.output import json_option, note, print_json
from slicebase.cli.stamping import print_change, provenance_options, stamp_for
from slicebase.cli.workspace import now, open_base

if TYPE_CHECKING:
    from slicebase.verbs.purge import PurgedTurns

_reason = click.option("--reason", metavar="TEXT", help="Why; it is kept with the mark.")
_dry_run = click.option("--dry-run", is_flag=True, help="Say what would happen, and write nothing.")


@click.command()
@id_argument
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
@id_argument
@_dry_run
@provenance_options
@json_option
@click.pass_context
def restore(ctx: click.Context, file_id: str, dry_run: bool, as_json: bool) -> None:
    """Bring back a file that was forgotten."""
    base = open_base(ctx)
    print_change(base.library.restore(file_id, stamp_for(ctx, base), dry_run=dry_run), as_json, dry_run=dry_run)


@click.command()
@click.argument("reference", metavar="ID|turn:…|session:…|run:…", shell_complete=complete_ids)
@_reason
@_dry_run
@provenance_options
@json_option
@click.pass_context
def purge(ctx: click.Context, reference: str, reason: str | None, dry_run: bool, as_json: bool) -> None:
    """Take the content of a slice file, a turn, a session or a run away for good.

    A tombstone keeps hashes and sizes: verify and replay say PURGED. Copies in manifests, in the index and in the
    library's payloads go too; what git has committed is git's to forget.
    """
    base = open_base(ctx)
    if reference.startswith(("turn:", "session:", "run:")):
        gone = base.purge(reference, now=now(), reason=reason or "", dry_run=dry_run)
        _print_purged_turns(gone, as_json, dry_run)
        return
    change = base.library.purge(reference, stamp_for(ctx, base), reason=reason, dry_run=dry_run)
    print_change(change, as_json, dry_run=dry_run)
    if change.changed and not dry_run and not as_json:
        note("Older versions may still stand in git's history.")


def _print_purged_turns(gone: "PurgedTurns", as_json: bool, dry_run: bool) -> None:
    if as_json:
        print_json({"dry_run": dry_run, "texts": gone.texts, "turns": [f"turn:{turn}" for turn in gone.turns]})
    else:
        done = "would purge" if dry_run else "purged"
        click.echo(f"{done} {gone.texts} texts" + (f" of {len(gone.turns)} turns" if gone.turns else ""))
