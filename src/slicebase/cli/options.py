"""What commands share: the workspace, options of provenance, and how a change is shown."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from slicebase.cli.numbers import Decimal
from slicebase.cli.output import (
    OPENED,
    REDACTED,
    note,
    print_json,
    print_progress,
    print_redacted,
    print_text,
    printable,
)
from slicebase.errors import SlicebaseError, Where

if TYPE_CHECKING:
    from slicebase.base import Slicebase
    from slicebase.files.body.rows import Provenance
    from slicebase.library.change import Change

_LARGE = 500  # files in a library that takes a while to read


# The workspace


def named_root(ctx: click.Context) -> Path | None:
    """Returns the folder that --root, SLICEBASE_ROOT or TT_DIR names, in this order.

    TT_DIR, which other tools for slice files read, may also name the folder of slice files in a workspace.
    """
    options = ctx.find_root().obj or ctx.find_root().params  # shell completion does not call the command itself
    root = options.get("root") or os.environ.get("SLICEBASE_ROOT")
    if root:
        return Path(root)
    folder = os.environ.get("TT_DIR")
    return _without_library(Path(folder)) if folder else None


def _without_library(folder: Path) -> Path:
    """Returns the workspace of a folder of slice files; any other folder is one itself."""
    from slicebase.workspace.workspace import LIBRARY

    return folder.absolute().parent if folder.name == LIBRARY else folder


def created(folder: Path) -> Path:
    """Creates a folder with the folders above it, unless it exists."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"{error.strerror}: {error.filename}"
        raise SlicebaseError("cannot-write", message, where=Where(str(folder))) from None
    return folder


def open_base(ctx: click.Context, *, create: bool = False) -> "Slicebase":
    """Opens the workspace of this call, which is closed when the command ends.

    With `create`, a missing workspace is created and reported.
    """
    from slicebase.base import Slicebase

    root = named_root(ctx)
    base = Slicebase.open(Path.cwd(), created(root) if root and create else root, create=create, redact=redacts(ctx))
    base.index_progress = index_progress
    ctx.find_root().obj[OPENED] = base.surroundings.redaction
    if base.is_new:
        note(f"Created a workspace in {base.workspace.root}.")
    ctx.call_on_close(base.close)
    report_redacted(ctx, base)
    return base


# Redaction

_NO_REDACT = "slicebase.no_redact"


def _note_redaction(ctx: click.Context, option: click.Parameter, value: bool) -> None:
    ctx.meta[_NO_REDACT] = value


redact_option = click.option(
    "--no-redact",
    is_flag=True,
    expose_value=False,
    callback=_note_redaction,
    help="Keep secrets as they are (or SLICEBASE_REDACT=off). What is private is never kept.",
)


def redacts(ctx: click.Context) -> bool:
    """Returns whether secrets are replaced: neither the option nor the user's environment turns that off."""
    from slicebase.workspace.doors import is_on

    return not ctx.meta.get(_NO_REDACT) and is_on(os.environ)


def report_redacted(ctx: click.Context, base: "Slicebase") -> None:
    """Lets a command that text enters through, one with `--no-redact`, say what it has replaced when it ends."""
    if _NO_REDACT in ctx.meta:
        ctx.meta[REDACTED] = lambda: base.redacted
        if not ctx.params.get("as_json"):
            ctx.call_on_close(lambda: print_redacted(base.redacted))


def index_progress(done: int, total: int) -> None:
    """Shows progress in one line on a terminal while a large library is read; prints nothing in a pipe."""
    if total >= _LARGE and sys.stderr.isatty() and (done % 100 == 0 or done == total):
        print_progress(f"reading {done} of {total} files" if done < total else "")


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
        ("confidence", Decimal(0, 1), "0..1", "How reliable it is."),
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


def provenance_of(ctx: click.Context) -> "Provenance | None":
    """Returns the provenance of a write, if an option or the environment gives any of it.

    Of the library's commands, only this function reads SLICEBASE_AGENT and SLICEBASE_SESSION.
    """
    from slicebase.files.body.rows import Provenance
    from slicebase.workspace.writer import one_line

    flags = ctx.meta[_META]
    named = {name: os.environ.get(f"SLICEBASE_{name.upper()}", "") for name in ("agent", "session")}
    environment = {name: one_line(value) or None for name, value in named.items()}
    fields: dict[str, Any] = {name: environment.get(name) if value is None else value for name, value in flags.items()}
    return Provenance(**fields) if any(value is not None for value in fields.values()) else None


dry_run_option = click.option("--dry-run", is_flag=True, help="Show what would happen, and write nothing.")
reason_option = click.option("--reason", metavar="TEXT", help="The reason, which is stored with the mark.")

_CONTRACT = {
    "purpose": ("TEXT", "What belongs in the file."),
    "exclude": ("TOPIC", "What does not belong in it; may be given several times."),
    "format": ("TEXT", "How its content is written."),
    "cleanup": ("TEXT", "How it is maintained."),
    "write": ("MODE", "How it is written: append, replace, supersede or error."),
    "overflow": ("MODE", "What happens when it is large: split, summarize, archive or error."),
}


def contract_options(command: _Command) -> _Command:
    """Adds an option for each rule of a contract."""
    for name, (metavar, text) in reversed(_CONTRACT.items()):
        command = click.option(f"--{name}", multiple=name == "exclude", metavar=metavar, help=text)(command)
    return command


def contract_assignments(contract: Mapping[str, str | tuple[str, ...] | None]) -> Iterator[str]:
    """Yields the options of the contract as assignments. Topics are quoted, so that each stays a text."""
    for name, value in contract.items():
        if isinstance(value, str):
            yield f"contract.{name}={value}"
        elif value:
            import json  # imported here to keep start-up fast

            yield f"contract.{name}={json.dumps(value if any(value) else '', ensure_ascii=False)}"


def given_text(text: str) -> str:
    """Returns a text from the command line; `-` reads it from stdin."""
    from slicebase.core.parsers import decode, read_all

    return decode(read_all(sys.stdin.buffer, "-"), name="-") if text == "-" else text


def print_change(change: "Change", as_json: bool, *, dry_run: bool = False, refs: bool = False) -> None:
    """Prints what a write did, on stderr; with `refs`, references to what it wrote are printed on stdout."""
    if as_json:
        print_json({"dry_run": dry_run, **change.as_json()})
        return
    note_warnings(change)
    if refs:
        print_text("\n".join(change.refs or (f"file:{change.id}",)))
    done = "would change" if dry_run else "changed"
    note(f"{change.id} {done if change.changed else 'is unchanged'}" + _OVERFLOW.get(change.overflow or "", ""))


def note_warnings(change: "Change") -> None:
    """Prints what may be wrong with a write that was made."""
    for warning in change.warnings:
        note(f"warning: {printable(warning)}")


_OVERFLOW = {
    "split": ": the file continues in a new part",
    "archive": ": the oldest content moved to an archive",
    "summarize": ": the file is large and should be summarized",
}
