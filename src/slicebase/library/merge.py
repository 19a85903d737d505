"""Merges slice files on disk, as git asks for it."""

from pathlib import Path
from typing import Final

from slicebase.errors import SlicebaseError, Where
from slicebase.files.merge import merge_bytes
from slicebase.workspace.atomic import own_temporary, read_bytes, write_bytes

_LARGEST: Final = 64 << 20  # bytes of a version of a slice file


def merge_files(base: Path, ours: Path, theirs: Path, name: str) -> tuple[str, ...]:
    """Writes the merged file over ours. Returns the conflicts: what both sides changed differently."""
    try:
        before, mine, other = (read_bytes(path, follow=True, most=_LARGEST) for path in (base, ours, theirs))
        merged = merge_bytes(before, mine, other, name)
        real = ours.resolve()  # git names it, and reads it again
        write_bytes(real, [merged.data], within=real.parent, temporary=own_temporary())
    except OSError as error:
        raise SlicebaseError("cannot-read", f"{name}: {error.strerror}", where=Where(error.filename)) from None
    return merged.conflicts
