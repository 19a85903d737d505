"""What the commands of the library share: stamps with provenance, texts from stdin, and what they print of a change."""

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from slicebase.cli.output import note, print_json
from slicebase.cli.workspace import now
from slicebase.core.ids import ULID_RANDOM_BYTES

if TYPE_CHECKING:
    from slicebase.base import Slicebase
    from slicebase.files.body.entries import Stamp
    from slicebase.library.library import Change

_Command = TypeVar("_Command", bound=Callable[..., Any])

_META = "slicebase.provenance"


def _note_field(ctx: click.Context, option: click.Parameter, value: Any) -> None:
    ctx.meta.setdefault(_META, {})[option.name] = value


_OPTIONS = [
    click.option(f"--{name}", type=kind, metavar=metavar, expose_value=False, callback=_note_field, help=words)
    for name, kind, metavar, words in (
        ("agent", str, "NAME", "Who writes (or SLICEBASE_AGENT)."),
        ("session", str, "ID", "The session it is written in (or SLICEBASE_SESSION)."),
        ("source", str, "HOW", "How it is known: user-statement, inference, observation."),
        ("confidence", click.FloatRange(0, 1), "0..1", "How reliable it is."),
        ("context", str, "TEXT", "What it was said or seen in."),
    )
]


def provenance_options(command: _Command) -> _Command:
    """The five fields of a write's provenance (§ Provenance); any of them, or a setting, turns its capture on."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def stamp_for(ctx: click.Context, base: "Slicebase") -> "Stamp":
    """When, with which randomness, and by whom. The only place that reads SLICEBASE_AGENT and SLICEBASE_SESSION."""
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
    """A text from the command line; `-` is stdin."""
    from slicebase.files.yaml.load import decode

    return decode(sys.stdin.buffer.read(), name="-") if text == "-" else text


def print_change(change: "Change", as_json: bool, *, dry_run: bool = False, refs: bool = False) -> None:
    """What a write did. `refs` prints what it made on stdout; a word about the rest goes to stderr."""
    if as_json:
        print_json({"dry_run": dry_run, **change.as_json()})
        return
    if refs:
        click.echo("\n".join(change.refs or (f"file:{change.id}",)))
    done = "would change" if dry_run else "changed"
    note(f"{change.id} {done if change.changed else 'is that already'}" + _OVERFLOW.get(change.overflow or "", ""))


_OVERFLOW = {
    "split": ": the file goes on in a new part",
    "archive": ": the oldest content moved to an archive",
    "summarize": ": it has grown large and is due to be summarized",
}
