"""`tt hook`: installs hooks in the settings of a coding agent, and runs them when the agent calls."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from slicebase.cli.options import named_root, open_base, redacts
from slicebase.cli.output import Group, json_option, note, print_json, print_redacted, print_text, print_text_change
from slicebase.core.parsers import read_all, read_json
from slicebase.errors import Exit, SlicebaseError

if TYPE_CHECKING:
    from slicebase.base import Slicebase
    from slicebase.context.assemble import Context

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


class HookCall(NamedTuple):
    """The fields that we use of the JSON that the client sends on stdin."""

    event: str
    session: str
    transcript: Path | None
    source: str
    prompt: str | None


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
            print_text(json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}))
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
    _narrate(open_base(ctx), session)


_MOST_GIVEN: Final = 16 << 20  # bytes on stdin; a prompt may be long


def _response(ctx: click.Context, event: str, wait: bool) -> str | None:
    given = read_json(read_all(sys.stdin.buffer, "-", _MOST_GIVEN) or b"{}", "bad-request", "stdin")
    if event not in _EVENTS or not isinstance(given, dict) or not isinstance(given.get("session_id"), str):
        raise SlicebaseError("bad-request", f"stdin does not hold a call of the event {event}")
    path = given.get("transcript_path")
    call = HookCall(
        event,
        given["session_id"],
        Path(path).expanduser() if isinstance(path, str) and path else None,
        str(given.get("source") or given.get("trigger") or ""),
        given["prompt"] if isinstance(given.get("prompt"), str) and given["prompt"].strip() else None,
    )
    folder = os.environ.get("CLAUDE_PROJECT_DIR") or given.get("cwd") or os.getcwd()
    from slicebase.base import Slicebase

    with Slicebase.open(str(folder), named_root(ctx), create=False, redact=redacts(ctx)) as base:
        try:
            return _EVENTS[event](base, call, wait)
        finally:
            print_redacted(base.redacted)


def _session_start(base: "Slicebase", call: HookCall, wait: bool) -> str | None:
    if call.source == "compact":
        return _after_compaction(base, call, wait)
    return _shown(base, base.project_context(base.settings.hooks_tokens, record=False))


def _shown(base: "Slicebase", built: "Context") -> str | None:
    """Returns the text of a context that has pieces, and records it: what an agent sees can be replayed."""
    return base.record(built).text if built.pieces else None


def _after_compaction(base: "Slicebase", call: HookCall, wait: bool) -> str | None:
    """Returns the narrative if it is written. The note stays until a prompt has shown what the compaction lost."""
    compacted = base.compacted_notes.get(call.session)
    if compacted is None or compacted.reported or compacted.narrative is None:
        return None
    from slicebase.history.notes import Compacted

    text = _narrative(base, compacted.narrative)
    with suppress(OSError, SlicebaseError):  # where nothing can be written, it is shown again
        base.compacted_notes.put(call.session, Compacted(compacted.narrative, reported=True))
    return text


def _prompt(base: "Slicebase", call: HookCall, wait: bool) -> str | None:
    compacted = base.compacted_notes.get(call.session)
    if compacted is None:
        return None
    told = None if compacted.reported or compacted.narrative is None else _narrative(base, compacted.narrative)
    _import(base, call, wait)
    lost = _shown(base, base.lost_context(call.session, base.settings.hooks_tokens, prompt=call.prompt, record=False))
    with suppress(OSError, SlicebaseError):
        base.compacted_notes.drop(call.session)  # last: after an error, the next prompt tries again
    return "\n\n".join(filter(None, (told, lost))) or None


_FOOTER: Final = 20  # tokens of a page, for its number


def _narrative(base: "Slicebase", file_id: str) -> str | None:
    """Returns the text of a narrative in the size for a hook; None if its file was removed or purged since."""
    from slicebase.context.recall import pages
    from slicebase.core.hashing import tokens
    from slicebase.library.narratives import shorter_narrative

    most = base.settings.hooks_tokens
    try:
        pieces = base.library.reader().pieces([f"file:{file_id}"])
        frame = tokens(pages([pieces[0]._replace(text="")])[0].text) + _FOOTER
        shorter = shorter_narrative(base.truth, base.library.folder.find(file_id), most - frame)
        return pages([pieces[0]._replace(text=shorter)] if shorter else pieces, most)[0].text
    except SlicebaseError as error:
        if error.code not in ("no-file", "purged"):
            raise
        return None


def _before_compaction(base: "Slicebase", call: HookCall, wait: bool) -> None:
    from slicebase.history.notes import Compacted

    if base.truth.database.read_only:
        return
    _import(base, call, wait)
    base.compacted_notes.put(call.session, Compacted())
    if wait:
        _narrate(base, call.session)
    else:
        _in_background(base, call.session)


def _narrate(base: "Slicebase", session: str) -> None:
    from slicebase.history.notes import Compacted

    narrative = base.narrate_session(session)
    if base.compacted_notes.get(session) is not None:  # the next prompt may have dropped the note already
        base.compacted_notes.put(session, Compacted(narrative.file_id))


def _in_background(base: "Slicebase", session: str) -> None:
    """Starts a process that narrates the session. This takes seconds for a long one, and the agent must not wait."""
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


def _import(base: "Slicebase", call: HookCall, wait: bool) -> None:
    if call.transcript is None:
        raise SlicebaseError("no-input", "the client names no transcript")
    if not base.truth.database.read_only:
        followed = base.follow(call.transcript)
        if followed.left:
            note(f"slicebase: {followed.left} bytes of {call.transcript} are left for the next hook")
        if followed.account.content_left_out:
            note(f"slicebase: {followed.account.content_left_out} records of {call.transcript} cannot be read")


_EVENTS: Final[Mapping[str, Callable[["Slicebase", HookCall, bool], str | None]]] = {
    "SessionStart": _session_start,
    "UserPromptSubmit": _prompt,
    "PreCompact": _before_compaction,
    "SessionEnd": _import,
}
