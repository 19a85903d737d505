"""Commands that check: validate and verify; and the git merge driver.

git calls the merge driver with three files and reads the merged one from the second.
"""

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slicebase.cli.numbers import CountingNumber
from slicebase.cli.options import named_root, open_base
from slicebase.cli.output import (
    BOLD,
    CYAN,
    DIM,
    GREEN,
    RED,
    YELLOW,
    Styled,
    counted,
    json_option,
    note,
    print_json,
    print_json_text,
    print_text,
    printable,
)
from slicebase.errors import Exit

if TYPE_CHECKING:
    from slicebase.files.check.file import ValidationReport
    from slicebase.verbs.verify import Verdict

_COLOURS = {
    "error": RED, "warning": YELLOW, "hint": CYAN,
    "BROKEN": RED, "UNVERIFIABLE": YELLOW, "VERIFIED": GREEN,
}  # fmt: skip


@click.command(short_help="Check slice files against the format.")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="Fail on warnings too.")
@click.option("--rules", "list_rules", is_flag=True, help="List the rules instead of checking anything.")
@click.option("--format", "form", type=click.Choice(["text", "json", "sarif", "github"]), default="text",
              show_default=True, help="sarif for code review, github for annotations of a pull request.")  # fmt: skip
@json_option
@click.pass_context
def validate(
    ctx: click.Context, paths: tuple[Path, ...], strict: bool, list_rules: bool, form: str, as_json: bool
) -> int:
    """Check slice files, or folders of them, against the format. Without PATHS, check the workspace.

    Exit status: 0 no errors, 1 errors were found (with --strict, errors or warnings), 4 a path does not exist.
    """
    if as_json and form not in ("text", "json"):
        raise click.UsageError("Give one of --json and --format.")
    as_json = as_json or form == "json"
    if list_rules:
        return _print_rules(as_json)
    from slicebase.library.check import library_of
    from slicebase.library.check import validate as check

    root = named_root(ctx)
    report = check(paths or [library_of(Path.cwd(), root)], root)
    if as_json:
        print_json(report.as_json())
    elif form != "text":
        _print_for_review(report, form)
    else:
        _print(report)
    failed = report.counts["error"] or (strict and report.counts["warning"])
    return Exit.FINDINGS if failed else Exit.DONE


def _print(report: "ValidationReport") -> None:
    from slicebase.files.findings import FORMAT_RULES

    for before, finding in zip((None, *report.findings), report.findings, strict=False):
        if before and before.file != finding.file:
            print_text()
        place = ":".join(str(part) for part in (finding.file, finding.line, finding.column) if part is not None)
        severity = FORMAT_RULES[finding.rule].severity
        styled = Styled(severity, _COLOURS[severity])
        print_text(f"{printable(place)} ", styled, f" {finding.rule} {printable(finding.message)}")
        if finding.hint:
            print_text(Styled(f"    {printable(finding.hint)}", DIM))
    _note_counts(report)


def _print_for_review(report: "ValidationReport", form: str) -> None:
    import json

    from slicebase.cli.review import github, sarif, top_of_checkout

    top = top_of_checkout(Path.cwd())
    if form == "sarif":
        print_json_text(json.dumps(sarif(report.findings, top), ensure_ascii=False, indent=2))
    else:
        for line in github(report.findings, top):
            print_text(line)
    _note_counts(report)


def _note_counts(report: "ValidationReport") -> None:
    counts = ", ".join(counted(count, name) for name, count in report.counts.items())
    note(f"{counted(report.files, 'file')}: {counts}")


def _print_rules(as_json: bool) -> int:
    from slicebase.files.findings import FORMAT_RULES

    if as_json:
        rules = [
            {"rule": rule.name, "severity": rule.severity, "checks": rule.checks} for rule in FORMAT_RULES.values()
        ]
        print_json({"rules": rules})
        return Exit.DONE
    width = max(map(len, FORMAT_RULES))
    for rule in FORMAT_RULES.values():
        severity = Styled(rule.severity.ljust(7), _COLOURS[rule.severity])
        print_text(f"{rule.name.ljust(width)}  ", severity, f"  {rule.checks}")
    return Exit.DONE


@click.command("merge-driver", hidden=True)
@click.argument("base", type=click.Path(path_type=Path))
@click.argument("ours", type=click.Path(path_type=Path))
@click.argument("theirs", type=click.Path(path_type=Path))
@click.argument("name")
@click.option("--conflict-status", type=CountingNumber(1, 125), default=int(Exit.FINDINGS), hidden=True)
def merge_driver(base: Path, ours: Path, theirs: Path, name: str, conflict_status: int) -> int:
    """Merge two versions of a slice file over their base, for git. Exit status 1 if a conflict is left."""
    from slicebase.library.merge import merge_files

    report = merge_files(base, ours, theirs, name)
    with suppress(OSError):  # without a reader of stderr, the status says it
        if report.failure:
            note(f"{name}: the merge failed, and both versions are left between markers: {report.failure}")
        for conflict in report.conflicts:
            note(f"CONFLICT (slice file): {name}: both sides changed {conflict}")
    return conflict_status if report.conflicts or report.failure else Exit.DONE


@click.command()
@click.option("--seal", is_flag=False, flag_value="latest", metavar="[ID]",
              help="Also compare with a seal (default: the latest).")  # fmt: skip
@json_option
@click.pass_context
def verify(ctx: click.Context, seal: str | None, as_json: bool) -> int:
    """Derive everything stored again from its bytes, and compare.

    The result is VERIFIED (exit status 0), BROKEN (1) or UNVERIFIABLE (6). Drift and purges are listed; they are not
    damage.
    """
    on_terminal = sys.stderr.isatty()
    progress = (lambda what: note(f"checking {what} …")) if on_terminal else (lambda what: None)
    verdict = open_base(ctx).verify(seal, progress=progress)
    if as_json:
        findings = [finding._asdict() for finding in verdict.findings]
        print_json({"status": verdict.status, "checked": verdict.checked, "findings": findings})
    else:
        _print_verdict(verdict)
    return verdict.exit


_MOST_PURGED = 5  # a purge takes hundreds of texts, and each is a finding


def _print_verdict(verdict: "Verdict") -> None:
    purged = 0
    for finding in verdict.findings:
        purged += finding.status == "PURGED"
        if finding.status == "PURGED" and purged > _MOST_PURGED:
            continue
        # What the place and the values call themselves begins no line.
        print_text(f"{finding.status} {finding.check}: {printable(finding.place)}")
        if finding.expected:
            print_text(f"  expected {printable(finding.expected)}")
        if finding.found:
            print_text(f"  found    {printable(finding.found)}")
    if purged > _MOST_PURGED:
        print_text(f"PURGED {purged - _MOST_PURGED} more; --json lists all of them")
    checked = ", ".join(f"{count} {what}" for what, count in verdict.checked.items())
    print_text(Styled(verdict.status, f"{BOLD};{_COLOURS[verdict.status]}"), f" {checked}")
