"""Merges slice files on disk, as git asks for it."""

from pathlib import Path

from slicebase.errors import SlicebaseError, Where
from slicebase.files.merge import merge_bytes
from slicebase.workspace.atomic import own_temporary, write_bytes


def merge_files(base: Path, ours: Path, theirs: Path, name: str) -> tuple[str, ...]:
    """Writes the merged file over ours. Returns the conflicts: what both sides changed differently."""
    try:
        merged = merge_bytes(base.read_bytes(), ours.read_bytes(), theirs.read_bytes(), name)
        real = ours.resolve()  # git names it, and reads it again
        write_bytes(real, [merged.data], within=real.parent, temporary=own_temporary())
    except OSError as error:
        raise SlicebaseError("cannot-read", f"{name}: {error.strerror}", where=Where(error.filename)) from None
    return merged.conflicts
