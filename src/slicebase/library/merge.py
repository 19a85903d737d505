"""Merges slice files on disk, as git asks for it.

git takes what is in our file as the result, together with an exit status. So whatever happens, our file must not look
like a merged one: it gets conflict markers around both versions. Where even these cannot be written, it is removed if
it is a temporary file of git, which then stops without changing anything. A file that is too large stays as it is: the
command in git's configuration lets git merge its lines.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from slicebase.errors import SlicebaseError, Where
from slicebase.files.merge import merge_bytes
from slicebase.files.merge_lines import unmerged
from slicebase.workspace.atomic import own_temporary, read_bytes, remove, write_bytes
from slicebase.workspace.boundary import real_path

_LARGEST: Final = 64 << 20  # bytes of a version of a slice file
_OF_GIT: Final = ".merge_file_"  # how git names the files that it passes to a merge driver


class MergeReport(NamedTuple):
    """What both sides changed differently, and why the files could not be merged at all, if so."""

    conflicts: tuple[str, ...]
    failure: str | None = None


def merge_files(base: Path, ours: Path, theirs: Path, name: str) -> MergeReport:
    """Writes the merged file over ours. If the merge fails, it has both versions between conflict markers.

    Raises an error if a file cannot be read or written.
    """
    with _never_alone(ours, name):
        before, mine, other = (read_bytes(path, follow=True, most=_LARGEST) for path in (base, ours, theirs))
        try:
            data, conflicts = merge_bytes(before, mine, other, name)
            report = MergeReport(conflicts)
        except Exception as error:  # whatever it is: git would take our side alone
            data = unmerged(mine, other)
            report = MergeReport((), f"{type(error).__name__}: {error}")
        real = real_path(ours)  # git names it, and reads it again
        write_bytes(real, [data], within=real.parent, temporary=own_temporary())
    return report


@contextmanager
def _never_alone(ours: Path, name: str) -> Iterator[None]:
    """Removes our file after an error, if it belongs to git: git must not take it as the result."""
    try:
        yield
    except BaseException as error:
        is_too_large = isinstance(error, SlicebaseError) and error.code == "too-large"
        if ours.name.startswith(_OF_GIT) and not is_too_large:
            with suppress(OSError, SlicebaseError):
                remove(ours, within=ours.parent)
        if isinstance(error, OSError):
            raise SlicebaseError("cannot-read", f"{name}: {error.strerror}", where=Where(error.filename)) from None
        raise
