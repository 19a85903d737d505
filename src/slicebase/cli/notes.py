"""How commands take a folder of notes, and print what was done with it: add, create --from and refresh --all."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from slicebase.cli.output import counted, note, print_json, print_text, printable
from slicebase.errors import Exit

if TYPE_CHECKING:
    from slicebase.library.notes import NotesReport

_MOST_SKIPPED = 20  # files that are named

glob_option = click.option(
    "--glob", "globs", multiple=True, metavar="PATTERN",
    help="With a folder: the names to take (default: *.md, *.markdown, *.txt).",
)  # fmt: skip


def is_folder(path: Path | None) -> bool:
    """Returns whether a command is given a folder."""
    try:
        return path is not None and path.is_dir()
    except (OSError, ValueError):
        return False


def refuse_together(**given: object) -> None:
    """Refuses options that have no meaning for a folder, which is given."""
    for name, value in given.items():
        if value:
            raise click.UsageError(f"--{name.replace('_', '-')} does not go with a folder.")


_COUNTS = ("added", "changed", "moved", "gone", "back", "unchanged", "forgotten")


def print_report(report: "NotesReport", as_json: bool, *, dry_run: bool = False) -> int:
    """Prints what was done, in numbers; what was passed over goes to stderr. Returns 1 if there was no note at all."""
    total = sum(getattr(report, name) for name in _COUNTS)
    if as_json:
        print_json({"dry_run": dry_run, **report.as_json()})
        return Exit.DONE if total else Exit.FINDINGS
    counts = [f"{getattr(report, name)} {name}" for name in _COUNTS if getattr(report, name)]
    print_text(("would be: " if dry_run else "") + (", ".join(counts) or "no notes"))
    if report.links or report.unresolved:
        print_text(
            f"{counted(report.links, 'link')} between them"
            + (f", {report.unresolved} to no note" if report.unresolved else "")
            + (f", {report.crowded} left out: a pointer has room for some hundreds" if report.crowded else "")
        )
    for each in report.skipped[:_MOST_SKIPPED]:
        note(f"skipped {printable(each.path)}: {printable(each.reason)}")
    if len(report.skipped) > _MOST_SKIPPED:
        note(f"and {len(report.skipped) - _MOST_SKIPPED} more: --json names them all")
    return Exit.DONE if total else Exit.FINDINGS
