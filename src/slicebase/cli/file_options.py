"""What the commands that find files share: filters, ids that complete themselves, and how files are told."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from slicebase.cli.output import printable
from slicebase.core.times import EARLIEST, LATEST, to_text
from slicebase.errors import SlicebaseError
from slicebase.files.freshness import Label, annotation, label, oldest, staleness
from slicebase.index.entries import FileEntry, Filters
from slicebase.workspace.workspace import LIBRARY

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from slicebase.base import Slicebase

_Command = TypeVar("_Command", bound=Callable[..., Any])

_DAY = 86_400_000
_AGE = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)(h|d|w|mo|y)")
_UNITS = {"h": _DAY / 24, "d": _DAY, "w": 7 * _DAY, "mo": 30 * _DAY, "y": 365 * _DAY}
_MOST_COMPLETED = 50


def complete_ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Ids for a shell to complete, with their titles; forgotten ones where they are to be restored."""
    from click.shell_completion import CompletionItem

    from slicebase.cli.workspace import open_base

    try:
        entries = open_base(ctx).finder.list_files(Filters(archived=ctx.command.name == "restore"))
    except SlicebaseError:
        return []
    found = [CompletionItem(entry.id, help=entry.title) for entry in entries if entry.id.startswith(incomplete)]
    return found[:_MOST_COMPLETED]


id_argument = click.argument("file_id", metavar="ID", shell_complete=complete_ids)


def filter_options(command: _Command) -> _Command:
    """Options that choose among files; `chosen` makes the filters of what they give."""
    for option in reversed(_FILTERS):
        command = option(command)
    return command


_FILTERS = (
    click.option("--kind", type=click.Choice(["context", "pointer"]), help="Files of this kind."),
    click.option("--type", "body_type", metavar="TYPE", help="Files whose body is of this type: markdown, jsonl, …"),
    click.option("--rel", metavar="REL", help="Files with a link of this relationship."),
    click.option("--meta", multiple=True, metavar="KEY=VALUE", help="Files whose meta block says so, by dotted keys."),
    click.option(
        "--fresher-than", metavar="AGE", help="Changed since: 12h, 30d, 8w, 3mo, 1y, or AGING, STALE, DECAYED."
    ),
    click.option("--archived", is_flag=True, help="Show what was forgotten, too."),
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
    half_life = base.settings.freshness_half_life_days
    since = None if fresher_than is None else now - _milliseconds(fresher_than, half_life)
    return Filters(kind, body_type, rel, tuple(_pair(text) for text in meta), since, archived)


def _milliseconds(age: str, half_life: float) -> int:
    if age.upper() in (Label.AGING, Label.STALE, Label.DECAYED):
        return round(oldest(Label(age.upper()), half_life) * _DAY)
    match = _AGE.fullmatch(age.lower())
    if not match:
        raise click.UsageError(f"{age!r} is no age: write 12h, 30d, 8w, 3mo, 1y, or a label.")
    return round(float(match[1]) * _UNITS[match[2]])


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise click.UsageError(f"{text!r} is no KEY=VALUE.")
    return key, value


# ---- how files are told


def freshness(entry: FileEntry, now: int, half_life: float) -> str:
    """The label as the specification prints it (§ Time-Based Staleness); a changed source counts before age."""
    if entry.derivation == "stale":
        return "[STALE - source changed] ⚠️"
    return annotation(now, entry.changed, half_life)


def headline(entry: FileEntry, now: int, half_life: float, title: str | None = None) -> str:
    marks = [word for word, there in (("forgotten", entry.archived), ("purged", entry.purged)) if there]
    told = f"{printable(entry.id)} ({printable(entry.title) if title is None else title})"
    return "  ".join([told, freshness(entry, now, half_life), *marks])


def file_json(entry: FileEntry, now: int, half_life: float) -> dict[str, Any]:
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
