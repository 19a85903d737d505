"""Commands that import and export conversations and show what is stored: import, export, turns, show."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from slicebase.cli.numbers import CountingNumber
from slicebase.cli.options import open_base, redact_option, redacts, report_redacted
from slicebase.cli.output import json_option, note, print_json, print_progress, print_text, printable
from slicebase.errors import Exit, SlicebaseError
from slicebase.history.inputs import SAMPLE, discover
from slicebase.importers.values import REASONS
from slicebase.verbs.names import shortened

if TYPE_CHECKING:
    from slicebase.base import Slicebase
    from slicebase.graph.turn import Session
    from slicebase.history.account import Account, SourceConflict
    from slicebase.history.imports import ImportProgress
    from slicebase.verbs.graph import TurnView


@click.command("import")
@click.argument("paths", nargs=-1, metavar="[PATH]…")
@click.option("--sample", is_flag=True, help="Import the transcript that ships with Slicebase, to try things on.")
@click.option("--yes", "-y", is_flag=True, help="Without paths: import what was found without asking.")
@click.option("--format", "format_name", metavar="NAME", help="The format of the inputs (default: detect it).")
@click.option("--session", metavar="ID", help="The session of inputs that name none (default: the file name).")
@redact_option
@click.option("--lenient", is_flag=True, help="Exit with status 0 even if message content was left out.")
@click.option("--dry-run", is_flag=True, help="Show what would happen, and store nothing.")
@json_option
@click.pass_context
def import_(
    ctx: click.Context,
    paths: tuple[str, ...],
    sample: bool,
    yes: bool,
    format_name: str | None,
    session: str | None,
    lenient: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Import conversations from files, folders and zips.

    Without PATH, import the sessions that Claude Code, Codex, Gemini and opencode keep on this machine. Nothing is
    imported twice, and a file that has not changed is not read again. A PATH that cannot be imported is reported and
    does not stop the others. So is a file that names no session if another conversation is stored under its name. Exit
    status 1 if message content or a PATH was left out.
    """
    found: list[str | Path] = [*paths, *([SAMPLE] if sample else ())] or [*_discovered(yes)]
    base = _open_to_try(ctx) if dry_run else open_base(ctx, create=True)
    with import_progress() as progress:
        account = base.import_(
            found,
            format=format_name,
            session=session,
            dry_run=dry_run,
            progress=progress,
        )
    if as_json:
        print_json({"dry_run": dry_run, **_as_json(account)})
    else:
        _print_account(account, dry_run)
    return Exit.FINDINGS if account.content_left_out and not lenient else Exit.DONE


def _open_to_try(ctx: click.Context) -> "Slicebase":
    """Opens the workspace to compare with, or an empty temporary one if there is none."""
    from slicebase.base import Slicebase

    try:
        return open_base(ctx)
    except SlicebaseError as error:
        if error.code != "no-workspace":
            raise
    folder = Path(ctx.with_resource(TemporaryDirectory()))
    base = ctx.with_resource(closing(Slicebase.init(folder, redact=redacts(ctx))))
    report_redacted(ctx, base)
    return base


def _discovered(yes: bool) -> list[Path]:
    """Returns the folders where agents on this machine keep their sessions, after the user has agreed."""
    found = discover(Path.home(), os.environ)
    if not found:
        raise SlicebaseError(
            "nothing-found", "no sessions of agents were found on this machine", hint="name files or folders"
        )
    for each in found:
        note(f"found     {each.files} files, {each.bytes / 1e6:.1f} MB: {each.folder} ({each.format})")
    if not yes and not sys.stdin.isatty():
        raise click.UsageError("Use --yes to import what was found.")
    if not yes:
        click.confirm("Import them?", abort=True, err=True)
    return [each.folder for each in found]


@click.command()
@click.argument("session")
@click.option("--format", "format_name", type=click.Choice(["slice"]), default="slice", show_default=True,
              help="The format to write.")  # fmt: skip
@click.option("--to", "path", required=True, metavar="PATH", help="The file to write. It must not exist.")
@json_option
@click.pass_context
def export(ctx: click.Context, session: str, format_name: str, path: str, as_json: bool) -> None:
    """Write a session as a conversation slice file. Importing that file gives the same ids and branches."""
    written = open_base(ctx).export(session, path)
    if as_json:
        print_json({"format": format_name, "path": str(written)})
    else:
        print_text(str(written))


@contextmanager
def import_progress() -> Iterator["ImportProgress"]:
    """Yields a callback that shows progress in one line on a terminal, and does nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda name, count: None
        return
    read = 0

    def show(name: str, count: int) -> None:
        nonlocal read
        read += count
        print_progress(f"{read / 1e6:.1f} MB  {printable(name[-60:])}")

    yield show
    print_progress("")


def _as_json(account: "Account") -> dict[str, Any]:
    report = account.report
    return {
        "formats": account.formats,
        "unrecognised": account.unrecognised,
        "unreadable": [str(error) for error in account.unreadable],
        "errors": [error.as_json() for error in account.unreadable],
        "records": report.records,
        "sessions": len(report.sessions),
        "unchanged": account.unchanged,
        "turns": {
            "new": account.added,
            "known": account.known,
            "conflicts": [_conflict_json(each) for each in account.conflicts],
        },
        "edges": account.edges,
        "branches": account.branches,
        "continues": account.continues,
        "waiting": account.waiting,
        "joined": account.joined,
        "no_turns": dict(sorted(report.others.items())),
        "counts": {f"{action}/{reason}": number for (action, reason), number in sorted(report.reasons.items())},
        "notes": [{"action": n.action, "reason": n.reason, "where": n.where, "detail": n.detail} for n in report.notes],
        "content_left_out": account.content_left_out,
    }


def _conflict_json(conflict: "SourceConflict") -> dict[str, str]:
    return {"ref": f"turn:{conflict.turn}", "where": conflict.where}


def _print_account(account: "Account", dry_run: bool) -> None:
    report = account.report
    rows = {
        "read": f"{report.records} records ({_listed(account.formats)})",
        "would add" if dry_run else "added": f"{account.added} turns in {len(report.sessions)} sessions; "
        f"{account.edges} edges ({account.branches} branches), {account.continues} continuations",
        "known": f"{account.known} turns were there before" if account.known else "",
        "unchanged": f"{account.unchanged} files were not read again" if account.unchanged else "",
        "waiting": f"{account.waiting} edges wait for a parent that is not stored" if account.waiting else "",
        "joined": f"{account.joined} turns got the parent they waited for" if account.joined else "",
        "no turns": _listed(report.others),
        "unknown": f"{len(account.unrecognised)} files are not conversations" if account.unrecognised else "",
    }
    for name, text in rows.items():
        if text:
            print_text(f"{name:9} {text}")
    _print_notes(account)


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))


_SHOWN_NOTES = 20


def _print_notes(account: "Account") -> None:
    """Prints each reason once, with its count and first place, and what was left out."""
    report = account.report
    first = {(each.action, each.reason): each for each in reversed(report.notes)}
    for (action, reason), count in sorted(report.reasons.items()):
        if action != "skipped":
            note(f"{action:9} {count} × {reason}: {REASONS[reason].meaning} (first: {first[action, reason].where})")
    print_left_out(account)


def print_left_out(account: "Account") -> None:
    """Prints the place of every record, turn and input that was left out."""
    skipped = [each for each in account.report.notes if each.action == "skipped"]
    for each in skipped[:_SHOWN_NOTES]:
        detail = f" ({each.detail})" if each.detail else ""
        note(f"skipped   {each.where}: {REASONS[each.reason].meaning}{detail}")
    for conflict in account.conflicts[:_SHOWN_NOTES]:
        note(f"left out  {conflict.where}: turn:{conflict.turn} is stored from another record, which stays")
    for error in account.unreadable:
        note(f"left out  {error}" + (f" ({error.hint})" if error.code == "session-differs" else ""))
    if max(len(skipped), len(account.conflicts)) > _SHOWN_NOTES:
        note("…         more were left out: --json lists them")


@click.command()
@click.argument("session", required=False)
@click.option("--search", "-s", "words", metavar="WORDS", help="List turns that contain the words, best first.")
@click.option(
    "--limit", type=CountingNumber(1), default=50, show_default=True, metavar="N", help="The maximum number of turns."
)
@json_option
@click.pass_context
def turns(ctx: click.Context, session: str | None, words: str | None, limit: int, as_json: bool) -> int:
    """List the stored sessions, the turns of SESSION, or the turns that contain some words.

    Exit status 1 if there are none.
    """
    if session is not None and words is not None:
        raise click.UsageError("Give a session or --search, not both.")
    base = open_base(ctx)
    graph = base.graph
    if session is None and words is None:
        rows = [_session_row(each, count) for each, count in graph.sessions()]
    else:
        found = graph.search(words, limit) if words is not None else graph.turns(str(session))[:limit]
        rows = [_turn_row(view) for view in found]
    if as_json:
        print_json({"rows": rows})
    else:
        short = shortened(base, [_ref_of(row) for row in rows])
        for row in rows:
            name, *details, words = row.values()
            shown = short[_ref_of(row)].removeprefix("session:") if "session" in row else short[name]
            print_text("  ".join([*(printable(str(each)) for each in (shown, *details)), one_line(words)]))
    return Exit.DONE if rows else Exit.FINDINGS


def _ref_of(row: dict[str, Any]) -> str:
    return row["ref"] if "ref" in row else f"session:{row['session']}"


def _session_row(session: "Session", count: int) -> dict[str, Any]:
    return {"session": session.id, "turns": count, "format": session.format, "title": session.title or ""}


def _turn_row(view: "TurnView") -> dict[str, Any]:
    return {"ref": f"turn:{view.record.id}", "time": view.record.time, "role": view.record.role, "text": view.text}


def one_line(text: str | None, width: int = 60) -> str:
    """Returns the beginning of a text on one line; a text that is None was purged."""
    words = "(purged)" if text is None else " ".join(text[: 4 * width].split())
    return printable(words if len(words) <= width else words[: width - 1] + "…")


@click.command()
@click.argument("reference")
@json_option
@click.pass_context
def show(ctx: click.Context, reference: str, as_json: bool) -> int:
    """Show what a reference names: a turn, a session, a manifest, a run, a claim, a snapshot or evidence."""
    shown = open_base(ctx).show(reference)
    if as_json:
        print_json(shown)
        return Exit.DONE
    text = shown.pop("text", None)
    for name, value in shown.items():
        print_text(f"{name:13} {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")
    if text is not None:
        print_text(f"\n{text}")
    return Exit.DONE
