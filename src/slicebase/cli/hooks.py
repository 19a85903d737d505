"""`tt hook`: hooks in a coding agent's settings, and what they do when the agent calls them."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from slicebase.cli.options import named_root, now, open_base
from slicebase.cli.output import Group, json_option, note, print_json, print_text_change
from slicebase.errors import Exit, SlicebaseError

if TYPE_CHECKING:
    from slicebase.base import Slicebase

_client = click.argument("client", metavar="CLIENT")
_dry_run = click.option("--dry-run", is_flag=True, help="Show what the settings would be, and write nothing.")


@click.group(cls=Group)
def hook() -> None:
    """Let a coding agent call Slicebase when a session starts, before a compaction, after it, and at the end.

    CLIENT is claude-code.
    """


@hook.command()
@_client
@click.option("--program", default="tt", show_default=True, metavar="NAME", help="How the client calls Slicebase.")
@_dry_run
@json_option
@click.pass_context
def install(ctx: click.Context, client: str, program: str, dry_run: bool, as_json: bool) -> None:
    """Put our hooks into the project's settings; whatever else is there stays as it is."""
    print_text_change(
        open_base(ctx, create=not dry_run).hooks.install(client, program=program, dry_run=dry_run), dry_run, as_json
    )


@hook.command()
@_client
@_dry_run
@json_option
@click.pass_context
def uninstall(ctx: click.Context, client: str, dry_run: bool, as_json: bool) -> None:
    """Take our hooks away again, and the file where we made it."""
    print_text_change(open_base(ctx).hooks.uninstall(client, dry_run=dry_run), dry_run, as_json)


@hook.command()
@_client
@json_option
@click.pass_context
def status(ctx: click.Context, client: str, as_json: bool) -> int:
    """Say which hooks are installed. Exit 1 where one is missing."""
    found = open_base(ctx).hooks.status(client)
    if as_json:
        print_json(found.as_json())
    else:
        for event in (*found.installed, *found.missing):
            click.echo(f"{event:18} {'installed' if event in found.installed else 'missing'}")
    return Exit.FINDINGS if found.missing else Exit.DONE


# ---- when the agent calls


class HookCall(NamedTuple):
    """What the client says on stdin, as far as it concerns us."""

    event: str
    session: str
    transcript: Path | None
    source: str


@hook.command("run")
@click.argument("event")
@click.option("--wait", is_flag=True, help="Do at once what otherwise goes on in the background.")
@json_option
@click.pass_context
def run_(ctx: click.Context, event: str, wait: bool, as_json: bool) -> int:
    """Do what an EVENT of the client asks for: reads its JSON on stdin, prints JSON for it.

    Whatever goes wrong is said on stderr and stops nothing: the exit status is always 0.
    """
    try:
        told = _answer(ctx, event, wait)
    except SlicebaseError as error:
        note(f"slicebase: {error} [{error.code}]")
    except Exception as error:
        note(f"slicebase: {type(error).__name__}: {error}")
    else:
        if told:
            click.echo(json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": told}}))
    return Exit.DONE


def _answer(ctx: click.Context, event: str, wait: bool) -> str | None:
    given = json.loads(sys.stdin.buffer.read() or b"{}")
    if event not in _EVENTS or not isinstance(given, dict) or not isinstance(given.get("session_id"), str):
        raise SlicebaseError("bad-request", f"no call of {event} stands on stdin")
    path = given.get("transcript_path")
    call = HookCall(
        event,
        given["session_id"],
        Path(path).expanduser() if isinstance(path, str) and path else None,
        str(given.get("source") or given.get("trigger") or ""),
    )
    folder = os.environ.get("CLAUDE_PROJECT_DIR") or given.get("cwd") or os.getcwd()
    from slicebase.base import Slicebase

    with Slicebase.open(Path(str(folder)), named_root(ctx)) as base:
        return _EVENTS[event](base, call, wait)


def _session_start(base: "Slicebase", call: HookCall, wait: bool) -> str | None:
    if call.source == "compact":
        return _after_compaction(base, call, wait)
    built = base.project_context(tokens=base.settings.hooks_tokens, now=now())
    return built.context.text if built.recorded else None


def _after_compaction(base: "Slicebase", call: HookCall, wait: bool) -> str | None:
    """The narrative, once it is written; the note stays until a prompt has seen what the compaction lost."""
    compacted = base.compacted.get(call.session)
    if compacted is None or compacted.reported or compacted.narrative is None:
        return None
    from slicebase.history.notes import Compacted

    base.compacted.put(call.session, Compacted(compacted.narrative, reported=True))
    return _narrative(base, compacted.narrative)


def _prompt(base: "Slicebase", call: HookCall, wait: bool) -> str | None:
    compacted = base.compacted.get(call.session)
    if compacted is None:
        return None
    told = [] if compacted.reported or compacted.narrative is None else [_narrative(base, compacted.narrative)]
    _import(base, call, wait)
    lost = base.lost_context(call.session, tokens=base.settings.hooks_tokens, now=now())
    told += [lost.context.text] if lost.context.manifest.pieces else []
    base.compacted.drop(call.session)  # last: what fails is told with the next prompt
    return "\n\n".join(told) or None


def _narrative(base: "Slicebase", file_id: str) -> str:
    return base.library.recall([f"file:{file_id}"], now=now(), tokens=base.settings.hooks_tokens).text


def _before_compaction(base: "Slicebase", call: HookCall, wait: bool) -> None:
    from slicebase.history.notes import Compacted

    _import(base, call, wait)
    base.compacted.put(call.session, Compacted())
    if wait:
        _narrate(base, call.session)
    else:
        _in_background(base, call.session)


def _narrate(base: "Slicebase", session: str) -> None:
    from slicebase.history.notes import Compacted

    narrative = base.narrate_session(session, now=now())
    if base.compacted.get(session) is not None:  # the next prompt may have come before
        base.compacted.put(session, Compacted(narrative.file_id))


def _in_background(base: "Slicebase", session: str) -> None:
    """A long session takes seconds to be projected: the agent does not wait for it, and compacts meanwhile."""
    import subprocess

    arguments = ("--root", str(base.workspace.root), "hook", "narrate", session)
    subprocess.Popen(
        [sys.executable, "-P", "-m", "slicebase", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=base.workspace.root,
        start_new_session=True,
    )


@hook.command("narrate", hidden=True)
@click.argument("session")
@json_option
@click.pass_context
def narrate(ctx: click.Context, session: str, as_json: bool) -> None:
    """Project a session as a run, compact and narrate it."""
    _narrate(open_base(ctx), session)


def _import(base: "Slicebase", call: HookCall, wait: bool) -> None:
    if call.transcript is None:
        raise SlicebaseError("no-input", "the client names no transcript")
    base.follow(call.transcript)


_EVENTS: Final[Mapping[str, Callable[["Slicebase", HookCall, bool], str | None]]] = {
    "SessionStart": _session_start,
    "UserPromptSubmit": _prompt,
    "PreCompact": _before_compaction,
    "SessionEnd": _import,
}
