"""`tt agents-md`: what agents are told about the memory of a project."""

import click

from slicebase.cli.output import json_option, print_text_change
from slicebase.cli.workspace import open_base


@click.command("agents-md")
@click.option("--remove", "take_away", is_flag=True, help="Take the block away again.")
@click.option("--dry-run", is_flag=True, help="Print what the file would be, and write nothing.")
@json_option
@click.pass_context
def agents_md(ctx: click.Context, take_away: bool, dry_run: bool, as_json: bool) -> None:
    """Keep a marked block in AGENTS.md that tells agents how to use the memory here.

    What stands outside the marks is not touched; a second time changes nothing.
    """
    change = open_base(ctx).agents_md(take_away=take_away, dry_run=dry_run)
    print_text_change(change, dry_run, as_json)
