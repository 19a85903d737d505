"""`tt doctor`: what is wrong here, and how to mend it."""

import os
from pathlib import Path

import click

from slicebase.cli.output import counted, json_option, note, print_json, printable
from slicebase.cli.workspace import merge_driver, now, open_base
from slicebase.errors import Exit


@click.command()
@click.option("--fix", is_flag=True, help="Mend what can be mended without a decision of yours.")
@json_option
@click.pass_context
def doctor(ctx: click.Context, fix: bool, as_json: bool) -> int:
    """Say what is wrong in this workspace, and how to mend it. Slice files that cannot be read are never rewritten.

    Exit status: 0 all is well (now), 1 something is wrong.
    """
    from slicebase.history.transcripts import AgentHome

    folder = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    left, mended = open_base(ctx).doctor(merge_driver(), fix=fix, home=AgentHome(folder, now()))
    if as_json:
        print_json({"complaints": [each.as_json() for each in left], "mended": [each.as_json() for each in mended]})
        return Exit.FINDINGS if left else Exit.DONE
    for each in mended:
        click.echo(
            f"{click.style('mended', fg='green')} {each.check} {printable(each.place)}: {printable(each.message)}"
        )
    for each in left:
        click.echo(f"{click.style('wrong', fg='red')} {each.check} {printable(each.place)}: {printable(each.message)}")
        if each.hint:
            click.echo(click.style(f"    {each.hint}", dim=True))
    mendable = sum(each.mend is not None for each in left)
    note(
        "all is well"
        if not left
        else counted(len(left), "complaint") + (f", --fix mends {mendable}" if mendable else "")
    )
    return Exit.FINDINGS if left else Exit.DONE
