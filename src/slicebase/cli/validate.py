"""`tt validate`: what breaks the rules of the format, and where."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from slicebase.cli.output import json_option, note, print_json, printable
from slicebase.cli.workspace import named_root
from slicebase.errors import Exit

if TYPE_CHECKING:
    from slicebase.files.check.file import ValidationReport

_COLOURS = {"error": "red", "warning": "yellow", "hint": "cyan"}


@click.command(short_help="Check slice files against the format.")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="Fail on warnings, too.")
@click.option("--rules", "list_rules", is_flag=True, help="List the rules instead of checking anything.")
@json_option
@click.pass_context
def validate(ctx: click.Context, paths: tuple[Path, ...], strict: bool, list_rules: bool, as_json: bool) -> int:
    """Check slice files and folders of them; without PATHS, the workspace's.

    Exit status: 0 nothing is broken, 1 errors were found (with --strict, or warnings), 4 there is no such path.
    """
    if list_rules:
        return _print_rules(as_json)
    from slicebase.library.check import library_of
    from slicebase.library.check import validate as check

    root = named_root(ctx)
    report = check(paths or [library_of(Path.cwd(), root)], root)
    if as_json:
        print_json(report.as_json())
    else:
        _print(report)
    failed = report.counts["error"] or (strict and report.counts["warning"])
    return Exit.FINDINGS if failed else Exit.DONE


def _print(report: "ValidationReport") -> None:
    from slicebase.files.findings import RULES

    for before, finding in zip((None, *report.findings), report.findings, strict=False):
        if before and before.file != finding.file:
            click.echo()
        place = ":".join(str(part) for part in (finding.file, finding.line, finding.column) if part is not None)
        severity = RULES[finding.rule].severity
        styled = click.style(severity, fg=_COLOURS[severity])
        click.echo(f"{printable(place)} {styled} {finding.rule} {printable(finding.message)}")
        if finding.hint:
            click.echo(click.style(f"    {printable(finding.hint)}", dim=True))
    counts = ", ".join(f"{count} {name}{'s' if count != 1 else ''}" for name, count in report.counts.items())
    note(f"{report.files} file{'s' if report.files != 1 else ''}: {counts}")


def _print_rules(as_json: bool) -> int:
    from slicebase.files.findings import RULES

    if as_json:
        rules = [{"rule": rule.name, "severity": rule.severity, "checks": rule.checks} for rule in RULES.values()]
        print_json({"rules": rules})
        return Exit.DONE
    width = max(map(len, RULES))
    for rule in RULES.values():
        severity = click.style(rule.severity.ljust(7), fg=_COLOURS[rule.severity])
        click.echo(f"{rule.name.ljust(width)}  {severity}  {rule.checks}")
    return Exit.DONE
