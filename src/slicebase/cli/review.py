"""The findings of `tt validate` in the forms that code review reads: SARIF, and the workflow commands of GitHub."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from slicebase import __version__
from slicebase.errors import SlicebaseError
from slicebase.files.findings import FORMAT_RULES, Finding, Severity
from slicebase.workspace.repository import repository_of


def top_of_checkout(start: Path) -> Path:
    """Returns the top folder of the git worktree around a folder, from which reviewers count paths; else the folder."""
    with suppress(SlicebaseError):
        if repository := repository_of(start):
            return repository.top
    return start


# SARIF 2.1.0 (OASIS Standard, 27 March 2020)

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT: Final = "%SRCROOT%"  # the name that readers of SARIF give to the top of a checkout
_LEVELS: Final[Mapping[Severity, str]] = {"error": "error", "warning": "warning", "hint": "note"}


def sarif(findings: Iterable[Finding], top: Path) -> dict[str, Any]:
    """Returns the findings as a SARIF log. The paths of files below `top` are relative to it."""
    numbers = {name: number for number, name in enumerate(FORMAT_RULES)}
    rules = [
        {
            "id": rule.name,
            "shortDescription": {"text": rule.checks},
            "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        }
        for rule in FORMAT_RULES.values()
    ]
    results = [
        {
            "ruleId": finding.rule,
            "ruleIndex": numbers[finding.rule],
            "level": _LEVELS[FORMAT_RULES[finding.rule].severity],
            "message": {"text": _message(finding)},
            "locations": [{"physicalLocation": _location(finding, top)}],
        }
        for finding in findings
    ]
    driver = {"name": "slicebase", "version": __version__, "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _location(finding: Finding, top: Path) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": _artifact(finding.file, top)}
    if finding.line is not None:
        column = {} if finding.column is None else {"startColumn": finding.column}
        place["region"] = {"startLine": finding.line, **column}
    return place


def _artifact(name: str, top: Path) -> dict[str, str]:
    relative = _relative(name, top)
    if os.path.isabs(relative):
        return {"uri": f"file://{quote(relative)}"}
    return {"uri": quote(relative), "uriBaseId": _ROOT}


def _relative(name: str, top: Path) -> str:
    """Returns the path of a file from `top`, or the absolute path of a file that is not below it."""
    path = os.path.abspath(name)
    return os.path.relpath(path, top) if Path(path).is_relative_to(top) else path


def _message(finding: Finding) -> str:
    return f"{finding.message} ({finding.hint})" if finding.hint else finding.message


# GitHub Actions: workflow commands

_COMMANDS: Final[Mapping[Severity, str]] = {"error": "error", "warning": "warning", "hint": "notice"}
_IN_DATA: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTY: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def github(findings: Iterable[Finding], top: Path) -> Iterator[str]:
    """Yields each finding as a line that GitHub shows beside the changed line of a pull request."""
    for finding in findings:
        properties = {
            "file": _relative(finding.file, top),
            "line": finding.line,
            "col": finding.column,
            "title": f"slicebase {finding.rule}",
        }
        listed = ",".join(
            f"{name}={str(value).translate(_IN_PROPERTY)}" for name, value in properties.items() if value is not None
        )
        command = _COMMANDS[FORMAT_RULES[finding.rule].severity]
        yield f"::{command} {listed}::{_message(finding).translate(_IN_DATA)}"
