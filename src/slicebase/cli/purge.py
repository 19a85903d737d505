"""The command purge: deletes content permanently, and says what it took and what it cannot reach."""

import sys
from typing import TYPE_CHECKING, Any

import click

from slicebase.cli.file_options import complete_ids
from slicebase.cli.options import (
    dry_run_option,
    open_base,
    provenance_of,
    provenance_options,
    reason_option,
    redact_option,
)
from slicebase.cli.output import json_option, note, print_json, print_text
from slicebase.errors import Exit

if TYPE_CHECKING:
    from slicebase.base import Slicebase
    from slicebase.library.purge import PurgeReport

_STORED = ("turn", "session", "run")


@click.command()
@click.argument("reference", metavar="ID|turn:…|session:…|run:…", shell_complete=complete_ids)
@reason_option
@click.option("--yes", is_flag=True, help="Do not ask first.")
@dry_run_option
@provenance_options
@redact_option
@json_option
@click.pass_context
def purge(ctx: click.Context, reference: str, reason: str | None, yes: bool, dry_run: bool, as_json: bool) -> None:
    """Delete the content of a slice file, a turn, a session or a run permanently.

    What was made from it goes with it: the run that a session was projected to, narratives, quotes, titles, indexes,
    and in other runs and contexts every string with a passage of it. A tombstone keeps the hashes, and verify and
    replay report PURGED. At the end, all files of the workspace are searched for what is left; if anything is, exits 1.
    """
    purge_asking(ctx, reference, reason, yes=yes, dry_run=dry_run, as_json=as_json)


def purge_asking(
    ctx: click.Context, reference: str, reason: str | None, *, yes: bool, dry_run: bool, as_json: bool
) -> None:
    """Purges what a reference names. On a terminal, shows first what would go, and asks, unless `yes` says not to."""
    base = open_base(ctx)
    if not yes and not dry_run and sys.stdin.isatty():
        planned = _purge(base, ctx, reference, reason, dry_run=True)
        _print_taken(planned, "would purge", err=as_json)
        _print_left(planned)
        click.confirm("Purge this permanently?", abort=True, err=True)
    report = _purge(base, ctx, reference, reason, dry_run=dry_run)
    if as_json:
        print_json({"dry_run": dry_run, **_as_json(report)})
    else:
        _print_taken(report, "would purge" if dry_run else "purged")
        _print_left(report)
    ctx.exit(Exit.FINDINGS if report.remnants else Exit.DONE)


def _purge(
    base: "Slicebase", ctx: click.Context, reference: str, reason: str | None, *, dry_run: bool
) -> "PurgeReport":
    ref = base.names.ref(reference, ("file", *_STORED), otherwise="file")
    if ref.kind in _STORED:
        return base.purge(str(ref), reason=reason or "", dry_run=dry_run)
    change = base.library.purge(reference, reason=reason, dry_run=dry_run, provenance=provenance_of(ctx))
    assert change.purge is not None
    return change.purge


def _as_json(report: "PurgeReport") -> dict[str, Any]:
    return {
        **report._asdict(),
        "turns": [f"turn:{turn}" for turn in report.turns],
        "runs": [f"run:{run}" for run in report.runs],
        "files": [f"file:{file}" for file in report.files],
        "remnants": [remnant._asdict() for remnant in report.remnants],
    }


def _print_taken(report: "PurgeReport", done: str, *, err: bool = False) -> None:
    in_part = f", {report.partly} in part" if report.partly else ""
    lines = [f"{done} {report.what}: {report.texts} texts{in_part}"]
    lines += [f"  {len(report.turns)} turns"] if report.turns else []
    lines += [f"  run:{run}" for run in report.runs]
    lines += [f"  file:{file}" for file in report.files]
    lines += [f"  in part {owner}" for owner in report.changed]
    for line in lines:
        print_text(line, err=err)


def _print_left(report: "PurgeReport") -> None:
    for file in report.shared:
        note(f"{file} shares a passage with it, and is not changed.")
    for remnant in report.remnants:
        note(f"{remnant.file} still holds {remnant.length} bytes of it at byte {remnant.offset}.")
    for place in report.beyond:
        note(f"Not reached: {place}.")
