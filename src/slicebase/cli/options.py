"""What commands share: the clock, the workspace, provenance and filter options, and how changes and files are shown."""

import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from slicebase.cli.output import note, print_json, printable
from slicebase.core.ids import ULID_RANDOM_BYTES
from slicebase.core.times import EARLIEST, LATEST, to_text
from slicebase.errors import SlicebaseError
from slicebase.files.freshness import Label, annotation, label, oldest, staleness
from slicebase.index.entries import FileEntry, Filters
from slicebase.workspace.workspace import LIBRARY

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from slicebase.base import Slicebase
    from slicebase.files.body.entries import Stamp
    from slicebase.library.library import Change

_LARGE = 500  # files in a library that takes a while to read


# The clock and the workspace


def now() -> int:
    """Returns the current time, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def named_root(ctx: click.Context) -> Path | None:
    """Returns the folder that --root or SLICEBASE_ROOT names."""
    options = ctx.find_root().obj or ctx.find_root().params  # shell completion does not call the command itself
    root = options.get("root") or os.environ.get("SLICEBASE_ROOT")
    return Path(root) if root else None


def open_base(ctx: click.Context, *, create: bool = False) -> "Slicebase":
    """Opens the workspace of this call, which is closed when the command ends.

    With `create`, a missing workspace is created and reported.
    """
    from slicebase.base import Slicebase

    base = Slicebase.open(Path.cwd(), named_root(ctx), create=create)
    base.index_progress = index_progress
    if base.is_new:
        note(f"Made a workspace in {base.workspace.root}.")
    ctx.call_on_close(base.close)
    return base


def index_progress(done: int, total: int) -> None:
    """Shows progress in one line on a terminal while a large library is read; prints nothing in a pipe."""
    if total >= _LARGE and sys.stderr.isatty() and (done % 100 == 0 or done == total):
        click.echo(f"\r\x1b[Kreading {done} of {total} files" if done < total else "\r\x1b[K", err=True, nl=False)


def merge_command() -> str:
    """Returns the command with which git merges slice files: this program.

    -P keeps Python from importing code of the repository.
    """
    import shlex

    return f"{shlex.quote(sys.executable)} -P -m slicebase merge-driver %O %A %B %P"


# Writes: provenance, texts and changes

_Command = TypeVar("_Command", bound=Callable[..., Any])

_META = "slicebase.provenance"


def _note_field(ctx: click.Context, option: click.Parameter, value: Any) -> None:
    ctx.meta.setdefault(_META, {})[option.name] = value


_OPTIONS = [
    click.option(f"--{name}", type=kind, metavar=metavar, expose_value=False, callback=_note_field, help=text)
    for name, kind, metavar, text in (
        ("agent", str, "NAME", "Who writes (or SLICEBASE_AGENT)."),
        ("session", str, "ID", "The session of the write (or SLICEBASE_SESSION)."),
        ("source", str, "HOW", "How it is known: user-statement, inference or observation."),
        ("confidence", click.FloatRange(0, 1), "0..1", "How reliable it is."),
        ("context", str, "TEXT", "The situation in which it was stated or observed."),
    )
]


def provenance_options(command: _Command) -> _Command:
    """Adds options for the five fields of provenance (§ Provenance).

    Any of them, or a setting, makes the write record its provenance.
    """
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def stamp_for(ctx: click.Context, base: "Slicebase") -> "Stamp":
    """Returns the stamp of a write: the time, random bytes and the provenance.

    Of the library's commands, only this function reads SLICEBASE_AGENT and SLICEBASE_SESSION.
    """
    from slicebase.files.body.entries import Stamp
    from slicebase.files.body.rows import Provenance

    settings, flags = base.library.settings, ctx.meta[_META]
    environment = {name: os.environ.get(f"SLICEBASE_{name.upper()}") for name in ("agent", "session")}
    fields: dict[str, Any] = {name: environment.get(name) if value is None else value for name, value in flags.items()}
    provenance = None
    if settings.provenance_enabled or any(value is not None for value in fields.values()):
        provenance = Provenance(**{**fields, "agent": fields["agent"] or settings.provenance_agent})
    return Stamp(now(), os.urandom(ULID_RANDOM_BYTES), provenance)


def given_text(text: str) -> str:
    """Returns a text from the command line; `-` reads it from stdin."""
    from slicebase.files.yaml.load import decode

    return decode(sys.stdin.buffer.read(), name="-") if text == "-" else text


def print_change(change: "Change", as_json: bool, *, dry_run: bool = False, refs: bool = False) -> None:
    """Prints what a write did, on stderr; with `refs`, references to what it wrote are printed on stdout."""
    if as_json:
        print_json({"dry_run": dry_run, **change.as_json()})
        return
    if refs:
        click.echo("\n".join(change.refs or (f"file:{change.id}",)))
    done = "would change" if dry_run else "changed"
    note(f"{change.id} {done if change.changed else 'is unchanged'}" + _OVERFLOW.get(change.overflow or "", ""))


_OVERFLOW = {
    "split": ": the file continues in a new part",
    "archive": ": the oldest content moved to an archive",
    "summarize": ": the file is large and should be summarized",
}


# Filters and ids

_DAY = 86_400_000
_AGE = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)(h|d|w|mo|y)")
_UNITS = {"h": _DAY / 24, "d": _DAY, "w": 7 * _DAY, "mo": 30 * _DAY, "y": 365 * _DAY}
_MOST_COMPLETED = 50


def complete_ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Returns ids with their titles for shell completion; for `tt restore`, those of archived files."""
    from click.shell_completion import CompletionItem

    try:
        entries = open_base(ctx).finder.list_files(Filters(archived=ctx.command.name == "restore"))
    except SlicebaseError:
        return []
    found = [CompletionItem(entry.id, help=entry.title) for entry in entries if entry.id.startswith(incomplete)]
    return found[:_MOST_COMPLETED]


id_argument = click.argument("file_id", metavar="ID", shell_complete=complete_ids)


def filter_options(command: _Command) -> _Command:
    """Adds the options that filter files; `chosen` turns their values into filters."""
    for option in reversed(_FILTERS):
        command = option(command)
    return command


_FILTERS = (
    click.option("--kind", type=click.Choice(["context", "pointer"]), help="Only files of this kind."),
    click.option("--type", "body_type", metavar="TYPE", help="Only files with this body type: markdown, jsonl, …"),
    click.option("--rel", metavar="REL", help="Only files with a link of this relationship."),
    click.option(
        "--meta", multiple=True, metavar="KEY=VALUE", help="Only files with this value in meta (dotted keys)."
    ),
    click.option(
        "--fresher-than",
        metavar="AGE",
        help="Only files changed within this age (12h, 30d, 8w, 3mo, 1y) or label (AGING, STALE, DECAYED).",
    ),
    click.option("--archived", is_flag=True, help="Include archived files."),
)


def chosen(
    base: "Slicebase",
    now: int,
    *,
    kind: str | None,
    body_type: str | None,
    rel: str | None,
    meta: tuple[str, ...],
    fresher_than: str | None,
    archived: bool,
) -> Filters:
    """Returns the filters that the options of `filter_options` describe."""
    half_life = base.settings.freshness_half_life_days
    since = None if fresher_than is None else now - _milliseconds(fresher_than, half_life)
    return Filters(kind, body_type, rel, tuple(_pair(text) for text in meta), since, archived)


def _milliseconds(age: str, half_life: float) -> int:
    if age.upper() in (Label.AGING, Label.STALE, Label.DECAYED):
        return round(oldest(Label(age.upper()), half_life) * _DAY)
    match = _AGE.fullmatch(age.lower())
    if not match:
        raise click.UsageError(f"{age!r} is not an age. Write 12h, 30d, 8w, 3mo, 1y, or a label.")
    return round(float(match[1]) * _UNITS[match[2]])


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise click.UsageError(f"{text!r} is not KEY=VALUE.")
    return key, value


# Files in text and JSON


def freshness(entry: FileEntry, now: int, half_life: float) -> str:
    """Returns the label as the specification prints it (§ Time-Based Staleness); a changed source overrides the age."""
    if entry.derivation == "stale":
        return "[STALE - source changed] ⚠️"
    return annotation(now, entry.changed, half_life)


def headline(entry: FileEntry, now: int, half_life: float, title: str | None = None) -> str:
    """Returns the line that lists a file: its id, title, freshness and marks."""
    marks = [word for word, there in (("forgotten", entry.archived), ("purged", entry.purged)) if there]
    name = f"{printable(entry.id)} ({printable(entry.title) if title is None else title})"
    return "  ".join([name, freshness(entry, now, half_life), *marks])


def file_json(entry: FileEntry, now: int, half_life: float) -> dict[str, Any]:
    """Returns what `--json` shows of a file."""
    stale = staleness((now - entry.changed) / _DAY, half_life)
    return {
        "id": entry.id,
        "title": entry.title,
        "summary": entry.summary,
        "kind": entry.kind,
        "type": entry.body_type,
        "file": f"{LIBRARY}/{entry.name}",
        "bytes": entry.size,
        "rows": entry.rows,
        "hash": entry.hash,
        "changed": to_text(min(max(entry.changed, EARLIEST), LATEST)),
        "freshness": {"label": str(label(stale)), "staleness": round(stale, 6), "derivation": entry.derivation},
        "archived": bool(entry.archived),
        "purged": bool(entry.purged),
    }
