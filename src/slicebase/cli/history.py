"""Commands that import and export conversations and show what is stored: import, export, turns, show."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec
from click.core import ParameterSource

from slicebase.cli.arguments import as_filters
from slicebase.cli.numbers import CountingNumber
from slicebase.cli.options import open_base, redact_option, redacts, report_redacted
from slicebase.cli.output import counted, json_option, note, print_json, print_progress, print_text, printable
from slicebase.core.refs import as_words
from slicebase.errors import Exit, SlicebaseError
from slicebase.importers.values import REASONS
from slicebase.verbs.names import shortened

if TYPE_CHECKING:
    from slicebase.base import Slicebase
    from slicebase.history.account import Account, SourceConflict
    from slicebase.history.imports import ImportProgress
    from slicebase.verbs.found import TurnView
    from slicebase.verbs.sessions import SessionEntry

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
    """Import conversations from files, folders and zips; `-` is stdin.

    Without PATH, import the sessions that Claude Code, Codex, Gemini and opencode keep on this machine. Nothing is
    imported twice, and a file that has not changed is not read again. A PATH that cannot be imported is reported and
    does not stop the others. So is a file that names no session if another conversation is stored under its name. Exit
    status 1 if message content or a PATH was left out.
    """
    from slicebase.history.inputs import LONG_SAMPLE, SAMPLE  # imported here for a fast start of the other commands

    samples = {"short": SAMPLE, "long": LONG_SAMPLE}
    found: list[str | Path] = [*paths, *([samples[sample]] if sample else ())] or [*_discovered(yes)]
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


def _discovered(yes: bool) -> list[Path]:
    """Returns the folders where agents on this machine keep their sessions, after the user has agreed."""
    from slicebase.history.inputs import discover  # imported here for a fast start of the other commands

    found = discover(Path.home(), os.environ)
    if not found:
        raise SlicebaseError(
            "nothing-found", "no sessions of agents were found on this machine", hint="name files or folders"
        )
    for each in found:
        what = f"{counted(each.files, 'file')}, {each.bytes / 1e6:.1f} MB" if each.files else "what cannot be read"
        note(f"found     {what}: {each.folder} ({each.format})")
    if not yes and not sys.stdin.isatty():
        raise click.UsageError("Use --yes to import what was found.")
    if not yes:
        click.confirm("Import them?", abort=True, err=True)
    return [each.folder for each in found]


@click.command()
@click.argument("reference", metavar="SESSION|RUN|FILE")
@click.option("--format", "format_name", type=click.Choice(["slice", "html"]), default="slice", show_default=True,
              help="The format to write.")  # fmt: skip
@click.option("--html", "as_html", is_flag=True, help="The same as --format html.")
@click.option("--to", "path", required=True, metavar="PATH", help="The file to write. It must not exist.")
@json_option
@click.pass_context
def export(ctx: click.Context, reference: str, format_name: str, as_html: bool, path: str, as_json: bool) -> None:
    """Write a session as a conversation slice file, or what `tt serve` shows as one page.

    Importing the slice file gives the same ids and branches. The page (--html) is that of a session, a run, a slice
    file or a recorded context. It needs no server and loads nothing, so that it can be attached to an issue.
    """
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


@click.command()
@click.argument("query", nargs=-1, metavar="[SESSION] [QUERY]…")
@click.option("--search", "-s", "words", metavar="WORDS", help="List turns that contain the words, best first.")
@click.option(
    "--limit", type=CountingNumber(1), default=50, show_default=True, metavar="N", help="The maximum number of lines."
)
@json_option
@click.pass_context
def turns(ctx: click.Context, query: tuple[str, ...], words: str | None, limit: int, as_json: bool) -> int:
    """List the stored sessions, the newest first, the turns of SESSION, or the turns that contain some words.

    A session is listed with its date, project, first prompt, turns, compactions, model and size. A query narrows: the
    filters of `tt search` (-word, session:, role:, tool:, file:, project:, before:, after:, kind:), quoted text, and,
    after SESSION, words. Exit status 1 if there is nothing, 3 if a session cannot be read: the others are listed.
    """
    session, narrowed = _session_and_query(query)
    base = open_base(ctx)
    if session is None and words is None:
        return _print_sessions(base, base.graph.sessions(narrowed, limit), as_json)
    if words is None:
        found = base.graph.turns(str(session), narrowed)[:limit]
    else:
        where = f'session:"{session}"' if session else ""
        found = base.graph.search(f"{words} {narrowed} {where}", limit)
    rows = [_turn_row(view) for view in found]
    if as_json:
        print_json({"rows": rows})
    else:
        short = shortened(base, [row["ref"] for row in rows])
        for row in rows:
            details = [short[row["ref"]], row["time"] or "undated", row["role"]]
            print_text("  ".join([*map(printable, details), one_line(row["text"])]))
        for match, said in _LESS.items():
            if found and all(view.match is not None and view.match.name == match for view in found):
                note(said)
    return Exit.DONE if rows else Exit.FINDINGS


# What is said of turns that match less well than the query asks.
_LESS = {
    "SOME": "no turn has all words: these have some of them",
    "PARTS": "no turn has the identifier as it is: these have its parts",
}


def _session_and_query(given: tuple[str, ...]) -> tuple[str | None, str]:
    """Returns the session that is named, and the query of its turns. One `session:` names a session, too.

    The first argument with words names the session, unless it is quoted text.
    """
    from slicebase.context.query import read

    terms = [read(as_filters([each])).terms for each in given]
    name = next((place for place, words in enumerate(terms) if words), None)
    if name is not None and not any(word.quoted for word in terms[name]):
        return given[name], as_filters([*given[:name], *given[name + 1 :]])
    narrowed = as_filters(given)
    sessions = read(narrowed).values("session")
    return (sessions[0] if len(sessions) == 1 else None), narrowed


def _print_sessions(base: "Slicebase", found: "list[SessionEntry]", as_json: bool) -> int:
    if as_json:
        from slicebase.verbs.sessions import session_row

        print_json({"rows": [msgspec.to_builtins(session_row(each)) for each in found]})
        return _status_of(found)
    short = shortened(base, [f"session:{name}" for each in found for name in (each.id, each.copy_of) if name])
    for each in found:
        counts = [counted(each.turns, "turn"), counted(each.compactions, "compaction") if each.compactions else ""]
        details = [*counts, f"{_thousands(each.size)} tokens", each.model, each.session.format]
        place = f"{each.project} ({each.branch})" if each.branch else each.project
        name = short[f"session:{each.id}"].removeprefix("session:")
        first = [name, _when(each), ", ".join(filter(None, details)), place]
        print_text("  ".join(printable(as_words(word)) for word in first if word))
        if words := each.title or each.prompt:
            print_text(f"    {one_line(words, 100)}")
        if each.copy_of:
            print_text(f"    a copy of {printable(short[f'session:{each.copy_of}'])}, which has all of its turns")
    return _status_of(found)


def _status_of(found: "list[SessionEntry]") -> int:
    """Names the sessions that cannot be read, and returns the exit status of the list."""
    broken = [each for each in found if each.problem is not None]
    for each in broken:
        note(f"{printable(each.ref)}: {each.problem}; `tt verify` says more")
    return Exit.REFUSED if broken else Exit.DONE if found else Exit.FINDINGS


def _when(each: "SessionEntry") -> str:
    """Returns when the last turn of a session was; of one without a time, why there is none."""
    without = "purged" if each.is_purged else "undated" if each.turns else "copy"
    return each.ended[:16].replace("T", " ") if each.ended else without


def _thousands(number: int) -> str:
    return str(number) if number < 1000 else f"{number / 1000:.1f}k" if number < 10_000 else f"{number // 1000}k"


def _turn_row(view: "TurnView") -> dict[str, Any]:
    return {"ref": view.ref, "time": view.time, "role": view.role, "text": view.text}


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
    base = open_base(ctx)
    shown = base.show(reference)
    if as_json:
        print_json(shown)
        return Exit.DONE
    text, outline = shown.pop("text", None), shown.pop("outline", None)
    for name, value in shown.items():
        print_text(f"{name:13} {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")
    if text is not None:
        print_text(f"\n{text}")
    if outline is not None:
        _print_outline(base, outline)
    return Exit.DONE


_MOST_FILES = 20


def _print_outline(base: "Slicebase", outline: dict[str, Any]) -> None:
    """Prints the prompts, decisions and compactions of a session in their order, and its files."""
    print_text()
    short = shortened(base, [each["ref"] for each in outline["steps"]])
    for each in outline["steps"]:
        time = (each["time"] or "undated")[:16].replace("T", " ")
        print_text(f"{time}  {each['kind']:10}  {one_line(each['text'], 100)}")
        print_text(f"    {short[each['ref']]}")
    files = outline["files"]
    if files:
        print_text("\nfiles")
    for each in files[:_MOST_FILES]:
        print_text(f"    {printable(each['path'])}  ({counted(each['changes'], 'change')}, {each['calls']} calls)")
    if len(files) > _MOST_FILES:
        note(f"{_MOST_FILES} of {len(files)} files; --json lists all")
