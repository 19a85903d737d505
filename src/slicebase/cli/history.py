"""Commands that import and export conversations: import, export."""

import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from slicebase.cli.moves import import_workspace, is_export_of_workspace
from slicebase.cli.options import open_base, redact_option, redacts, report_redacted
from slicebase.cli.output import counted, json_option, note, print_json, print_progress, print_text, printable
from slicebase.errors import Exit, SlicebaseError
from slicebase.importers.values import REASONS

if TYPE_CHECKING:
    from slicebase.base import Slicebase
    from slicebase.history.account import Account, SourceConflict
    from slicebase.history.imports import ImportProgress

_BLOCK: Final = 1 << 20  # bytes of stdin that are read at once


@click.command("import")
@click.argument("paths", nargs=-1, metavar="[PATH]…")
@click.option("--sample", type=click.Choice(["short", "long"]), is_flag=False, flag_value="short",
              help="Import a transcript that ships with Slicebase, to try things on (default: short).")  # fmt: skip
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
    sample: str | None,
    yes: bool,
    format_name: str | None,
    session: str | None,
    lenient: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Import conversations from files, folders and zips; `-` is stdin. Or an export of a workspace.

    Without PATH, import the sessions that Claude Code, Codex, Gemini and opencode keep on this machine; with --format,
    those of one of them. Nothing is imported twice, and a file that has not changed is not read again. A PATH that
    cannot be imported is reported and does not stop the others. So is a file that names no session if another
    conversation is stored under its name. Exit status 1 if message content or a PATH was left out.

    A PATH that `tt export --workspace` wrote is taken with all ids and hashes, as far as it has more than is here. Exit
    status 5 if something has changed on both sides, 3 if something contradicts its hash.
    """
    whole = [path for path in paths if is_export_of_workspace(path)]
    if whole:
        if len(paths) > 1 or sample or dry_run or format_name or session:
            raise click.UsageError(f"{whole[0]} is an export of a workspace: import it alone, without options.")
        return import_workspace(ctx, whole[0], as_json)
    from slicebase.history.inputs import LONG_SAMPLE, SAMPLE  # imported here for a fast start of the other commands

    samples = {"short": SAMPLE, "long": LONG_SAMPLE}
    found: list[str | Path] = [*paths, *([samples[sample]] if sample else ())]
    if not found:
        if session is not None:
            raise click.UsageError("--session is for inputs that you name.")
        found += _discovered(format_name, yes=yes or dry_run)
    base = _open_to_try(ctx) if dry_run else open_base(ctx, create=True)
    with import_progress() as progress:
        account = base.import_(
            found,
            format=format_name,
            session=session,
            dry_run=dry_run,
            progress=progress,
            stdin=iter(lambda: sys.stdin.buffer.read(_BLOCK), b""),
        )
    if as_json:
        print_json({"dry_run": dry_run, **_as_json(account)})
    else:
        _print_account(account, dry_run)
    return Exit.FINDINGS if account.content_left_out and not lenient else Exit.DONE


def _open_to_try(ctx: click.Context) -> "Slicebase":
    """Opens the workspace to compare with, or an empty temporary one if there is none."""
    try:
        return open_base(ctx)
    except SlicebaseError as error:
        if error.code != "no-workspace":
            raise
    return open_temporary(ctx)


def open_temporary(ctx: click.Context) -> "Slicebase":
    """Opens an empty workspace that is deleted when the command ends."""
    from slicebase.base import Slicebase

    folder = Path(ctx.with_resource(TemporaryDirectory(prefix="sample-")))
    base = ctx.with_resource(closing(Slicebase.init(folder, redact=redacts(ctx))))
    report_redacted(ctx, base)
    return base


def _discovered(format_name: str | None, *, yes: bool) -> list[Path]:
    """Returns the folders where agents on this machine keep their sessions, after the user has agreed.

    With a format, those of that agent only.
    """
    from slicebase.history.inputs import discover  # imported here for a fast start of the other commands

    found = [each for each in discover(Path.home(), os.environ) if format_name in (None, each.format)]
    if not found:
        what = "sessions of agents" if format_name is None else f"{format_name} sessions of an agent"
        raise SlicebaseError("nothing-found", f"no {what} were found on this machine", hint="name files or folders")
    for each in found:
        what = f"{counted(each.files, 'file')}, {each.bytes / 1e6:.1f} MB" if each.files else "what cannot be read"
        note(f"found     {what}: {each.folder} ({each.format})")
    if not yes and not sys.stdin.isatty():
        raise click.UsageError("Use --yes to import what was found.")
    if not yes:
        click.confirm("Import them?", abort=True, err=True)
    return [each.folder for each in found]


@click.command()
@click.argument("reference", required=False, metavar="[SESSION|RUN|FILE]")
@click.option("--format", "format_name", type=click.Choice(["slice", "html"]), default="slice", show_default=True,
              help="The format to write.")  # fmt: skip
@click.option("--html", "as_html", is_flag=True, help="The same as --format html.")
@click.option("--to", "path", metavar="PATH", help="The file to write. It must not exist.")
@click.option("--workspace", metavar="DIR|FILE.tar.zst",
              help="Export the complete workspace in open formats, into a folder or an archive.")  # fmt: skip
@json_option
@click.pass_context
def export(
    ctx: click.Context,
    reference: str | None,
    format_name: str,
    as_html: bool,
    path: str | None,
    workspace: str | None,
    as_json: bool,
) -> int:
    """Write a session as a conversation slice file, what `tt serve` shows as one page, or everything.

    Importing the slice file gives the same ids and branches. The page (--html) is that of a session, a run, a slice
    file or a recorded context. It needs no server and loads nothing, so that it can be attached to an issue.

    --workspace writes all that the memory has, with hashes; `tt import` takes it in elsewhere. Run again, it writes
    what is new, and removes nothing but what was purged. Exit status 5 if something there has changed, too,
    1 if something here contradicts its hash.
    """
    if workspace is not None:
        if reference or path or as_html:
            raise click.UsageError("--workspace exports everything: name nothing else.")
        from slicebase.cli.moves import export_workspace  # imported here for a fast start of the other commands

        return export_workspace(ctx, workspace, as_json)
    if reference is None or path is None:
        raise click.UsageError("Name what to export and --to a file; or give --workspace.")
    if path == "-":
        raise click.UsageError("--to - is no file: where an export is written is remembered for purges.")
    if as_html and ctx.get_parameter_source("format_name") is ParameterSource.COMMANDLINE and format_name != "html":
        raise click.UsageError(f"--html and --format {format_name} are two formats; one export has one.")
    base = open_base(ctx)
    if as_html or format_name == "html":
        from slicebase.web.exports import export_html  # imported here for a fast start of the other commands

        format_name, written = "html", export_html(base, reference, path)
    else:
        written = base.export(reference, path)
    if as_json:
        print_json({"format": format_name, "path": str(written)})
    else:
        print_text(str(written))
    return Exit.DONE


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
    for name in account.unrecognised[:_SHOWN_NOTES]:
        note(f"unknown   {name}")
    if len(account.unrecognised) > _SHOWN_NOTES:
        note("…         more are unknown: --json lists them")
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
