"""Libraries for tests: a workspace in a folder, with a clock and random bytes that repeat."""

from itertools import count
from pathlib import Path

from slicebase.core.hashing import raw_digest
from slicebase.files.body.entries import Stamp
from slicebase.files.body.rows import Provenance, Row, read_rows
from slicebase.files.slice_file import SliceFile
from slicebase.library.library import Library
from slicebase.truth.truth import Truth
from slicebase.workspace.settings import Settings
from slicebase.workspace.surroundings import Surroundings
from slicebase.workspace.workspace import Workspace, create_workspace

NOON = 1_767_268_800_000  # 2026-01-01T12:00:00Z


class Repeated(Surroundings):
    """A clock that moves on by a second, random bytes that repeat, and settings that a test chooses."""

    def __init__(self, workspace: Workspace, settings: Settings | None = None) -> None:
        seconds, numbers = count(NOON // 1000), count()
        super().__init__(workspace, lambda: next(seconds), lambda size: raw_digest(b"%d" % next(numbers))[:size])
        self._chosen = settings

    @property
    def settings(self) -> Settings:
        return self._chosen or super().settings


class ScratchLibrary(Library):
    """A library whose writes repeat, and methods that read what is on the disk."""

    def __init__(self, root: Path, settings: Settings | None = None) -> None:
        workspace = create_workspace(root)
        super().__init__(workspace, lambda: Truth(workspace.database, create=True), Repeated(workspace, settings))

    def stamp(self, provenance: Provenance | None = None) -> Stamp:
        """Returns the stamp of a write, and remembers it."""
        self.last = super().stamp(provenance)
        return self.last

    def new(
        self, body_type: str = "markdown", body: str = "", *contract: str, links: tuple[tuple[str, str], ...] = ()
    ) -> str:
        change = self.create("Title", "Summary.", body=body, type=body_type, contract=contract, links=links)
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
