"""Checks slice files as `tt validate` does, without the disk, and lists the paths that a file names."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from slicebase.errors import SlicebaseError
from slicebase.files.check.between import Checked, FileLocation, WorkspaceView, between_findings, outgoing_links, placed
from slicebase.files.check.body import BodyCheck, check_body
from slicebase.files.check.header import header_problems
from slicebase.files.check.logs import log_findings
from slicebase.files.findings import FORMAT_RULES, SEVERITIES, Finding, HeaderProblem, Severity, refusal
from slicebase.files.links import target_kind
from slicebase.files.slice_file import SliceFile

LARGE: Final = 1024 * 1024
LARGEST_YAML: Final = 4 * LARGE  # the scanner would take too long for a larger body


class ValidationReport(NamedTuple):
    """Findings in the order of files, lines and columns."""

    files: int
    findings: tuple[Finding, ...]

    @property
    def counts(self) -> dict[Severity, int]:
        severities = [FORMAT_RULES[finding.rule].severity for finding in self.findings]
        return {severity: severities.count(severity) for severity in SEVERITIES}

    def as_json(self) -> dict[str, Any]:
        return {
            "findings": [_as_json(finding) for finding in self.findings],
            "counts": {"files": self.files, **{f"{name}s": count for name, count in self.counts.items()}},
        }


def report(files: int, findings: Iterable[Finding]) -> ValidationReport:
    return ValidationReport(files, tuple(sorted(findings, key=_order)))


def check_file(data: bytes, location: FileLocation, size: int | None = None) -> Checked | Finding:
    """Returns the findings of one file by itself and its targets, or a single finding if it cannot be read.

    `size` is given if the data is only the beginning of the file; then the body is not checked.
    """
    try:
        file = SliceFile.parse(data, location.name)
    except SlicebaseError as error:
        return refusal(error, location.name)
    return check_parsed(file, location, size)


def check_parsed(file: SliceFile, location: FileLocation, size: int | None = None) -> Checked:
    """Returns the findings of one file that was read already, as `check_file` does."""
    length = len(file.head) + len(file.body)
    with_body = size is None and not (file.body_type == "yaml" and length > LARGEST_YAML)
    body = check_body(file) if with_body else BodyCheck()
    links = file.links
    problems = (*header_problems(file, links), *_name_problems(file, location))
    findings = (
        *(placed(file, problem) for problem in problems),
        *_size_findings(location, size or length, with_body=with_body),
        *body.findings,
    )
    return Checked(
        location=location,
        file=file.with_body(b""),
        id=file.id,
        source=file.derived_from,
        payload=file.payload,
        findings=findings,
        outgoing=(*outgoing_links(links), *body.outgoing),
        log_findings=body.log_findings,
    )


def check_workspace(files: Sequence[Checked], world: WorkspaceView) -> Iterator[Finding]:
    """Yields the findings of the files of one workspace: of each file by itself, and between the files."""
    for checked in files:
        yield from checked.findings
    yield from between_findings(files, world)
    yield from log_findings(files, world)


def _name_problems(file: SliceFile, location: FileLocation) -> Iterator[HeaderProblem]:
    """Checks § Storage: .slices/ is flat, and its files are named by id. Elsewhere a file may have any name."""
    name = location.name.rpartition("/")[2].removesuffix(".slice")
    if file.id and name != file.id:
        rule = "id-name" if location.in_library else "file-name"
        message = f"the file is named {name}, but its id is {file.id}"
        yield HeaderProblem(rule, ("slice", "id"), message, f"name it {file.id}.slice")
    if location.in_library and location.path.count("/") > 1:
        yield HeaderProblem("nested-folder", (), "the file is in a folder of .slices/", "move it up: .slices/ is flat")


def _size_findings(location: FileLocation, size: int, *, with_body: bool) -> Iterator[Finding]:
    if size > LARGE:
        message = f"the file has {size / LARGE:.0f} MiB" + ("" if with_body else ", and its body was not checked")
        yield Finding("file-size", 1, 1, message, "split it, or keep the content in a pointer's payload", location.name)


def _order(finding: Finding) -> tuple[str, int, int, str, str]:
    return finding.file, finding.line or 0, finding.column or 0, finding.rule, finding.message


def _as_json(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "severity": FORMAT_RULES[finding.rule].severity,
        "file": finding.file,
        "line": finding.line,
        "column": finding.column,
        "message": finding.message,
        "hint": finding.hint,
    }


# The paths that a file names


def named_paths(file: SliceFile) -> set[str]:
    """Returns the paths in links, rows' links, steps and the payload, as they are written.

    What a step runs is a command, not a path.
    """
    outgoing = (*outgoing_links(file.links), *check_body(file).outgoing)
    paths = {out.to for out in outgoing if out.role != "run" and target_kind(out.to) == "path"}
    uri = file.payload.uri if file.payload else None
    return paths | ({uri} if uri and target_kind(uri) in ("path", "id") else set())


def new_paths(old: SliceFile | None, new: SliceFile) -> set[str]:
    """Returns the paths that the new version names and the old one does not.

    If the body grew, only its new part is read.
    """
    if old is None:
        return named_paths(new)
    if new.head == old.head and new.body.startswith(old.body):
        return named_paths(new.with_body(new.body[len(old.body) :])) - named_paths(old.with_body(b""))
    return named_paths(new) - named_paths(old)
