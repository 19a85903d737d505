"""`tt hook`: installs hooks in the settings of a coding agent, and runs them when the agent calls."""

import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from slicebase.agents.clients import CLAUDE_CODE, HookEvent, HookScope, client_named
from slicebase.agents.hook_calls import HookCall, hook_call, hook_output
from slicebase.agents.hook_failures import LONG_TRANSCRIPT, NARRATIVE, WHAT_WAS_LOST, HookFailure, HookFailures
from slicebase.cli.options import named_root, open_base, redacts
from slicebase.cli.output import Group, json_option, note, print_json, print_redacted, print_text, print_text_change
from slicebase.core.parsers import read_all, read_json
from slicebase.errors import Exit, SlicebaseError
from slicebase.workspace.given_paths import given_folder
from slicebase.workspace.workspace import open_workspace

if TYPE_CHECKING:
    from collections.abc import Callable

    from slicebase.agents.hooks import ClientHooks, HookStatus
    from slicebase.base import Slicebase

_client = click.argument("client", metavar="CLIENT")
_dry_run = click.option("--dry-run", is_flag=True, help="Print the new settings, and write nothing.")
_scope = click.option(
    "--scope",
    type=click.Choice([scope.value for scope in HookScope]),
    default=HookScope.PROJECT.value,
    show_default=True,
    help="The settings of this project, or those of the user, which count in every project.",
)
PLUGIN_SCOPE: Final = "plugin"  # of hooks that a plugin for Claude Code has: nothing of ours installs them
_caller = click.option(
    "--scope",
    type=click.Choice([*(scope.value for scope in HookScope), PLUGIN_SCOPE]),
    default=HookScope.PROJECT.value,
    show_default=True,
    help="Who has the hook: this project, the user, or a plugin of the client.",
)


@click.group(cls=Group)
def hook() -> None:
    """Let a coding agent call Slicebase as it works.

    The hooks run when a session starts, at a prompt, before a compaction, and when a session ends. CLIENT is
    claude-code, codex, gemini or opencode.
    """


def _hooks(ctx: click.Context, scope: str, *, create: bool = False) -> "ClientHooks":
    return _hooks_of_user() if scope == HookScope.USER else open_base(ctx, create=create).hooks


def _hooks_of_user() -> "ClientHooks":
    from slicebase.agents.hooks import UserHooks

    return UserHooks(Path.home(), os.environ)


@hook.command()
@_client
@_scope
@click.option("--program", default="tt", show_default=True, metavar="NAME", help="The command that the client calls.")
@_dry_run
@json_option
@click.pass_context
def install(ctx: click.Context, client: str, scope: str, program: str, dry_run: bool, as_json: bool) -> None:
    """Add the hooks to the settings of a client. Other settings stay as they are."""
    about = client_named(client)
    change = _hooks(ctx, scope, create=not dry_run).install(client, program=program, dry_run=dry_run)
    print_text_change(change, dry_run, as_json)
    if about.trust and change.changed and not dry_run:
        note(about.trust)


@hook.command()
@_client
@_scope
@_dry_run
@json_option
@click.pass_context
def uninstall(ctx: click.Context, client: str, scope: str, dry_run: bool, as_json: bool) -> None:
    """Remove the hooks, and the settings file if `tt hook install` created it."""
    print_text_change(_hooks(ctx, scope).uninstall(client, dry_run=dry_run), dry_run, as_json)


@hook.command()
@_client
@_scope
@json_option
@click.pass_context
def status(ctx: click.Context, client: str, scope: str, as_json: bool) -> int:
    """Show which hooks of a client are installed. Exit status 1 if one is missing."""
    found = _hooks(ctx, scope).status(client)
    if as_json:
        print_json(found.as_json())
    else:
        for event in (*found.installed, *found.missing):
            print_text(f"{event:18} {'installed' if event in found.installed else 'missing'}")
    return Exit.FINDINGS if found.missing else Exit.DONE


@hook.command("list")
@json_option
@click.pass_context
def list_(ctx: click.Context, as_json: bool) -> None:
    """Show every client: whether its hooks are installed, partly or missing, in the project and for the user.

    Outside of a workspace, only the settings of the user are shown.
    """
    found: list[HookStatus] = []
    for scope in HookScope:
        try:
            found += _hooks(ctx, scope).statuses()
        except SlicebaseError as error:
            if error.code != "no-workspace":
                raise
    if as_json:
        print_json({"hooks": [each.as_json() for each in found]})
        return
    for each in found:
        lacks = f", without {', '.join(each.missing)}" if each.state == "partly" else ""
        print_text(f"{each.client:12} {each.scope:8} {each.state:10} {each.problem or each.path}{lacks}")


# Calls by the agent


class _HookCommand(click.Command):
    """A command whose wrong use does not stop the client either: for some, exit status 2 refuses the prompt.

    The settings may come from another version, which has other options.
    """

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        event = next((each for each in args if not each.startswith("-")), "")
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            if parent is not None:
                _report(parent, CLAUDE_CODE, event, SlicebaseError("usage", error.format_message()))
            raise click.exceptions.Exit(Exit.DONE) from None


@hook.command("run", cls=_HookCommand)
@click.argument("event")
@click.option("--client", default=CLAUDE_CODE, show_default=True, metavar="CLIENT", help="The client that calls.")
@_caller
@click.option("--wait", is_flag=True, help="Do all work now instead of in the background.")
@json_option
@click.pass_context
def run_(ctx: click.Context, event: str, client: str, scope: str, wait: bool, as_json: bool) -> int:
    """Handle an EVENT of the client: read its JSON on stdin, print JSON for it.

    A hook of the user or of a plugin does nothing outside of a workspace, and where the project has the same hook; one
    of a plugin also where the user has it. Errors are printed on stderr and never stop the client: the exit status is
    always 0.
    """
    begun = time.monotonic()
    try:
        text = _response(ctx, event, client, scope, wait, begun)
        if text:
            print_text(json.dumps(hook_output(event, text, client)))
    except Exception as error:
        _report(ctx, client, event, error)
    return Exit.DONE


def _report(ctx: click.Context, client: str, event: str, error: Exception) -> None:
    """Prints an error for the client, and keeps it for `tt doctor`. Nothing here stops the client."""
    from slicebase.cli.failures import as_our_error, without_secrets

    with suppress(Exception):
        ours = error if isinstance(error, SlicebaseError) else as_our_error(error)
        shown = without_secrets(ours or SlicebaseError("bad-request", f"{type(error).__name__}: {error}"), {})
        note(f"slicebase: {shown}" + (f" [{shown.code}]" if ours else ""))
        folder = given_folder(ctx.meta.get(_FOLDER) or os.getcwd())
        code = shown.code if ours else "bug"
        failure = HookFailure(int(time.time() * 1000), client, event, code, shown.message)
        HookFailures(open_workspace(folder, named_root(ctx))).add(failure)


@hook.command("narrate", hidden=True)
@click.argument("session")
@click.option("--client", default=CLAUDE_CODE, hidden=True)
@click.option("--transcript", hidden=True)
@json_option
@click.pass_context
def narrate(ctx: click.Context, session: str, client: str, transcript: str | None, as_json: bool) -> None:
    """Project a session as a run, compact it, write its narrative, and find what the compaction lost."""
    from slicebase.verbs.hook_events import narrate_compacted

    unread = _call_of_worker(client, HookEvent.BEFORE_COMPACTION, session, transcript) if transcript else None
    _work(ctx, client, NARRATIVE, lambda base: narrate_compacted(base, session, unread))


@hook.command("find", hidden=True)
@click.argument("session")
@click.option("--client", default=CLAUDE_CODE, hidden=True)
@json_option
@click.pass_context
def find(ctx: click.Context, session: str, client: str, as_json: bool) -> None:
    """Find what a compaction lost, for the next prompt."""
    from slicebase.verbs.hook_losses import find_losses

    _work(ctx, client, WHAT_WAS_LOST, lambda base: find_losses(base, session))


@hook.command("read", hidden=True)
@click.argument("session")
@click.argument("transcript")
@click.option("--client", default=CLAUDE_CODE, hidden=True)
@click.option("--event", default="SessionEnd", hidden=True)
@json_option
@click.pass_context
def read_(ctx: click.Context, session: str, transcript: str, client: str, event: str, as_json: bool) -> None:
    """Import a transcript that is too long for the time of a hook."""
    from slicebase.verbs.hook_imports import read_transcript

    call = _call_of_worker(client, client_named(client).events[event], session, transcript)
    _work(ctx, client, LONG_TRANSCRIPT, lambda base: read_transcript(base, call))


def _call_of_worker(client: str, event: HookEvent, session: str, transcript: str) -> HookCall:
    return HookCall(client, event, event, session, Path(transcript))


def _work(ctx: click.Context, client: str, event: str, do: "Callable[[Slicebase], None]") -> None:
    """Does the work of a hook in a process of its own, and keeps its failure for `tt doctor`."""
    base = open_base(ctx)
    try:
        do(base)
    except Exception as error:
        ctx.meta[_FOLDER] = str(base.root)
        _report(ctx, client, event, error)
        raise
    HookFailures(base.workspace).succeeded(client, event, base.surroundings.now())


_FOLDER: Final = "slicebase.hook_folder"
_MOST_GIVEN: Final = 16 << 20  # bytes on stdin; a prompt may be long


def _response(ctx: click.Context, event: str, client: str, scope: str, wait: bool, begun: float) -> str | None:
    given = read_json(read_all(sys.stdin.buffer, "-", _MOST_GIVEN) or b"{}", "bad-request", "stdin")
    call = hook_call(event, given, client)
    variable = client_named(client).project_variable
    folder = (variable and os.environ.get(variable)) or given.get("cwd") or os.getcwd()
    ctx.meta[_FOLDER] = str(folder)
    from slicebase.base import Slicebase
    from slicebase.verbs.hook_events import respond

    try:
        base = Slicebase.open(str(folder), named_root(ctx), create=False, redact=redacts(ctx))
    except SlicebaseError as error:
        if scope != HookScope.PROJECT and error.code == "no-workspace":
            return None
        raise
    with base:
        if scope != HookScope.PROJECT and _called_besides(base, client, event, scope):
            return None
        try:
            text = respond(base, call, wait=wait, say=lambda text: note(f"slicebase: {text}"), begun=begun)
            HookFailures(base.workspace).succeeded(client, event, base.surroundings.now())
            return text
        finally:
            print_redacted(base.redacted)


def _called_besides(base: "Slicebase", client: str, event: str, scope: str) -> bool:
    """Returns whether the client calls a hook of the project too, or for a plugin one of the user."""
    project, user = base.hooks, _hooks_of_user()
    if scope == PLUGIN_SCOPE and user.has(client, event):
        return True
    # They are one file if the home is the project.
    return project.has(client, event) and project.settings(client) != user.settings(client)
