"""What the commands that find files share: filters, ids that complete, and how a file is shown."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from slicebase.cli.options import open_base
from slicebase.cli.output import Shown, printable
from slicebase.core.refs import as_words
from slicebase.core.times import EARLIEST
from slicebase.errors import SlicebaseError
from slicebase.index.entries import FileEntry, Filters

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from slicebase.base import Slicebase

_Command = TypeVar("_Command", bound=Callable[..., Any])
_MOST_COMPLETED = 50


def complete_ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Returns ids with their titles for shell completion; for `tt restore`, those of archived files."""
    from click.shell_completion import CompletionItem

    try:
        entries = open_base(ctx).finder.list_files(Filters(archived=ctx.command.name == "restore"))
    except SlicebaseError:
        return []
    found = [
        CompletionItem(printable(entry.id), help=printable(entry.title))
        for entry in entries
        if entry.id.startswith(incomplete)
    ]
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
    since = None
    if fresher_than is not None:
        age = _milliseconds(fresher_than, base.settings.freshness_half_life_days)
        since = max(EARLIEST, now - age) / 1000
    return Filters(kind, body_type, rel, tuple(_pair(text) for text in meta), since, archived)


def _milliseconds(age: str, half_life: float) -> int:
    from slicebase.files.freshness import age_in_milliseconds  # imported here for a fast start, as below

    found = age_in_milliseconds(age, half_life)
    if found is None:
        raise click.UsageError(f"{age!r} is not an age. Write 12h, 30d, 8w, 3mo, 1y, or a label.")
    return found


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise click.UsageError(f"{text!r} is not KEY=VALUE.")
    return key, value


def freshness(entry: FileEntry, now: int, half_life: float) -> str:
    """Returns the label as the specification prints it (§ Time-Based Staleness); a changed source overrides the age."""
    from slicebase.files.freshness import annotation

    if entry.derivation == "stale":
        return "[STALE - source changed] ⚠️"
    if entry.note_state in ("changed", "missing"):
        return f"[STALE - note {entry.note_state}] ⚠️"
    if entry.payload_state in ("changed", "missing"):
        return f"[STALE - payload {entry.payload_state}] ⚠️"
    return annotation(now, entry.changed, half_life)


def headline(
    entry: FileEntry, short: Mapping[str, str], now: int, half_life: float, title: Iterable[Shown] | None = None
) -> list[Shown]:
    """Returns the line that lists a file: its short id, its title, freshness and marks."""
    marks = [word for word, there in (("forgotten", entry.archived), ("purged", entry.purged)) if there]
    named = [printable(as_words(entry.title))] if title is None else title
    state = "  ".join([freshness(entry, now, half_life), *marks])
    return [f"{printable(short.get(entry.id, entry.id))} (", *named, ")  ", state]
