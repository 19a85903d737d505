"""Libraries for tests: a workspace in a folder, with a clock and random bytes that repeat."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

from slicebase.core.hashing import raw_digest
from slicebase.files.body.entries import Stamp
from slicebase.files.body.rows import Provenance, Row, read_rows
from slicebase.files.slice_file import SliceFile
from slicebase.library.library import Library
from slicebase.truth.truth import Truth
from slicebase.workspace.settings import Settings
from slicebase.workspace.workspace import create_workspace

NOON = 1_767_268_800_000  # 2026-01-01T12:00:00Z


def stamps(provenance: Provenance | None = None) -> Iterator[Stamp]:
    """Yields stamps one second apart."""
    for number in count():
        yield Stamp(NOON + 1000 * number, raw_digest(b"%d" % number)[:10], provenance)


class ScratchLibrary(Library):
    """A library with its own stamps, and methods that read what is on the disk."""

    def __init__(self, root: Path, settings: Settings | None = None) -> None:
        workspace = create_workspace(root)
        super().__init__(workspace, settings or Settings(), lambda: Truth(workspace.database, create=True))
        self._stamps = stamps()

    @property
    def stamp(self) -> Stamp:
        return next(self._stamps)

    def new(
        self, body_type: str = "markdown", body: str = "", *contract: str, links: tuple[tuple[str, str], ...] = ()
    ) -> str:
        change = self.create(
            "Title", "Summary.", self.stamp, body=body, body_type=body_type, contract=contract, links=links
        )
        return change.id

    def path(self, file_id: str) -> Path:
        return self.folder.path / f"{file_id}.slice"

    def file(self, file_id: str) -> SliceFile:
        return SliceFile.parse(self.path(file_id).read_bytes(), file_id)

    def body(self, file_id: str) -> str:
        return self.file(file_id).body.decode()

    def rows(self, file_id: str) -> tuple[Row, ...]:
        rows, findings = read_rows(self.file(file_id).body)
        assert not findings
        return rows
