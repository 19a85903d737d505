"""A small workspace for the tests of the rules: clean files, and the findings after an edit."""

from pathlib import Path
from typing import NamedTuple

from slicebase.files.findings import Finding
from slicebase.library.check import validate

ID = "01J0000000000000000000000A"
OTHER = "01J0000000000000000000000B"
THIRD = "01J0000000000000000000000C"
EMPTY_DIGEST = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
DIGEST = "sha256:" + "0" * 64


def text(body_type: str = "markdown", body: str = "", more: str = "", file_id: str = ID, kind: str = "context") -> str:
    """Returns a clean file. `more` adds lines under `slice` from line 10 on; without it the body starts at 11."""
    return (
        f'---\nslice:\n  v: "1"\n  kind: {kind}\n  id: {file_id}\n  title: Tides\n  summary: When the water comes.\n'
        f"  body:\n    type: {body_type}\n{more}---\n{body}"
    )


def pointer(more: str = "", body: str = "") -> str:
    return text("none", body, more, kind="pointer")


class Place(NamedTuple):
    """A finding without its wording, which tests do not check."""

    rule: str
    file: str
    line: int | None
    column: int | None


Files = dict[str, str | bytes]


def write(root: Path, files: Files) -> None:
    (root / ".slices").mkdir(exist_ok=True)
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def findings(root: Path, files: Files, *checked: str) -> list[Finding]:
    """Writes the files and checks the named ones, else the library."""
    write(root, files)
    report = validate([root / name for name in checked or [".slices"]])
    return [finding._replace(file=str(Path(finding.file).relative_to(root))) for finding in report.findings]


def places(root: Path, files: Files, *checked: str) -> list[Place]:
    return [Place(f.rule, f.file, f.line, f.column) for f in findings(root, files, *checked)]
