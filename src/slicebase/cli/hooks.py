"""`tt hook`: installs hooks in the settings of a coding agent, and runs them when the agent calls."""

import json
import os
import sys
from typing import Final

import click

from slicebase.agents.hook_calls import hook_call, hook_output
from slicebase.cli.options import named_root, open_base, redacts
from slicebase.cli.output import Group, json_option, note, print_json, print_redacted, print_text, print_text_change
from slicebase.core.parsers import read_all, read_json
from slicebase.errors import Exit, SlicebaseError

_client = click.argument("client", metavar="CLIENT")
_dry_run = click.option("--dry-run", is_flag=True, help="Print the new settings, and write nothing.")


@click.group(cls=Group)
def hook() -> None:
    """Let a coding agent call Slicebase as it works.

    The hooks run when a session starts, before and after a compaction, and when a session ends. CLIENT is claude-code.
    """


@hook.command()
@_client
@click.option("--program", default="tt", show_default=True, metavar="NAME", help="The command that the client calls.")
@_dry_run
@json_option
@click.pass_context
def install(ctx: click.Context, client: str, program: str, dry_run: bool, as_json: bool) -> None:
    """Add the hooks to the settings of the project. Other settings stay as they are."""
    print_text_change(
        open_base(ctx, create=not dry_run).hooks.install(client, program=program, dry_run=dry_run), dry_run, as_json
    )


@hook.command()
@_client
@_dry_run
@json_option
@click.pass_context
def uninstall(ctx: click.Context, client: str, dry_run: bool, as_json: bool) -> None:
    """Remove the hooks, and the settings file if `tt hook install` created it."""
    print_text_change(open_base(ctx).hooks.uninstall(client, dry_run=dry_run), dry_run, as_json)


@hook.command()
@_client
@json_option
@click.pass_context
def status(ctx: click.Context, client: str, as_json: bool) -> int:
    """Show which hooks are installed. Exit status 1 if one is missing."""
    found = open_base(ctx).hooks.status(client)
    if as_json:
        print_json(found.as_json())
    else:
        for event in (*found.installed, *found.missing):
            print_text(f"{event:18} {'installed' if event in found.installed else 'missing'}")
    return Exit.FINDINGS if found.missing else Exit.DONE


# Calls by the agent


@hook.command("run")
@click.argument("event")
@click.option("--wait", is_flag=True, help="Do all work now instead of in the background.")
@json_option
@click.pass_context
def run_(ctx: click.Context, event: str, wait: bool, as_json: bool) -> int:
    """Handle an EVENT of the client: read its JSON on stdin, print JSON for it.

    Errors are printed on stderr and never stop the client: the exit status is always 0.
    """
    try:
        text = _response(ctx, event, wait)
    except Exception as error:
        _report(error)
    else:
        if text:
            print_text(json.dumps(hook_output(event, text)))
    return Exit.DONE


def _report(error: Exception) -> None:
    """Prints an error for the client: one of ours where it is bad input or a limit of the machine."""
    from slicebase.cli.failures import as_our_error, without_secrets

    ours = error if isinstance(error, SlicebaseError) else as_our_error(error)
    if ours is None:
        note(f"slicebase: {type(error).__name__}: {error}")
    else:
        note(f"slicebase: {without_secrets(ours, {})} [{ours.code}]")


@hook.command("narrate", hidden=True)
@click.argument("session")
@json_option
@click.pass_context
def narrate(ctx: click.Context, session: str, as_json: bool) -> None:
    """Project a session as a run, compact it, and write its narrative."""
    from slicebase.verbs.hook_events import narrate_compacted

    narrate_compacted(open_base(ctx), session)


_MOST_GIVEN: Final = 16 << 20  # bytes on stdin; a prompt may be long


def _response(ctx: click.Context, event: str, wait: bool) -> str | None:
    given = read_json(read_all(sys.stdin.buffer, "-", _MOST_GIVEN) or b"{}", "bad-request", "stdin")
    call = hook_call(event, given)
    folder = os.environ.get("CLAUDE_PROJECT_DIR") or given.get("cwd") or os.getcwd()
    from slicebase.base import Slicebase
    from slicebase.verbs.hook_events import respond

    with Slicebase.open(str(folder), named_root(ctx), create=False, redact=redacts(ctx)) as base:
        try:
            return respond(base, call, wait=wait, say=lambda text: note(f"slicebase: {text}"))
        finally:
            print_redacted(base.redacted)
