"""What a verb that writes returns: the file as it is now, and what is new in it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from slicebase.files.slice_file import SliceFile

if TYPE_CHECKING:
    from slicebase.library.purge import PurgeReport


class Change(NamedTuple):
    """What a write did: the file as it is now, its version, whether it changed, and the references of what is new.

    The version is that of the file with all its parts, whichever of them was written to.
    """

    file: SliceFile
    version: str
    changed: bool = True
    refs: tuple[str, ...] = ()
    overflow: str | None = None
    redacted: Mapping[str, int] = {}  # secrets that were replaced, by rule
    purge: "PurgeReport | None" = None
    warnings: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The id of the file."""
        return self.file.id or ""

    @property
    def ref(self) -> str:
        """The reference of what was written: the first new row, else the file."""
        return self.refs[0] if self.refs else f"file:{self.id}"

    def __repr__(self) -> str:
        return f"Change(ref={self.ref!r}, title={self.file.title!r}, changed={self.changed})"

    def as_json(self) -> dict[str, Any]:
        """Returns the change as the commands print it with `--json`."""
        return {
            "id": self.id,
            "file": self.file.name,
            "version": self.version,
            "changed": self.changed,
            "refs": list(self.refs or (f"file:{self.id}",)),
            "overflow": self.overflow,
            "redacted": dict(sorted(self.redacted.items())),
            "warnings": list(self.warnings),
        }
