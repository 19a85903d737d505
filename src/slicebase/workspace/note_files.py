"""Notes on the disk: their bytes, read without following a link, and the stamps that show whether they have changed.

A note may be on a disk whose clock is coarse. So a stamp shows a later change only if the note was changed two seconds
before the look, or earlier.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from slicebase.errors import SlicebaseError, Where
from slicebase.workspace.boundary import opened_below

MISSING: Final = "missing"  # the problem of a note that is not there
ABSENT: Final = "-"  # in place of a stamp
_GRANULE: Final = 2_000_000_000  # nanoseconds: a disk's clock can be that coarse


class NoteBytes(NamedTuple):
    """The bytes of a note and their digest, and its size, times and inode."""

    data: bytes
    digest: str
    stamp: str
    modified: int  # milliseconds since 1970


def read_note_bytes(root: Path, path: str) -> NoteBytes:
    """Returns the bytes of a regular file below `root`. No symbolic link is followed on the way.

    Raises `no-input` for a file that is not there, and other errors for what is not a note.
    """
    from slicebase.files.note import LARGEST_NOTE  # start-up counts: a search that finds no change reads no note

    folder, _, name = path.rpartition("/")
    try:
        with opened_below(root, filter(None, folder.split("/"))) as above:
            # Without O_NONBLOCK, opening a pipe would wait forever.
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=above)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise SlicebaseError("not-a-file", "it is not a regular file", where=Where(path))
            data = b"".join(_chunks(descriptor, LARGEST_NOTE + 1))
        finally:
            os.close(descriptor)
    except OSError as error:
        raise _refusal(error, path) from None
    if len(data) > LARGEST_NOTE:
        raise SlicebaseError("too-large", f"it has more than {LARGEST_NOTE >> 20} MiB", where=Where(path))
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    return NoteBytes(data, digest, stamp_of(status), status.st_mtime_ns // 1_000_000)


def _chunks(descriptor: int, most: int) -> Iterator[bytes]:
    """Yields the bytes of a file, but not more than this number of them."""
    while most and (chunk := os.read(descriptor, most)):
        yield chunk
        most -= len(chunk)


def _refusal(error: OSError, path: str) -> SlicebaseError:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return SlicebaseError("no-input", MISSING, where=Where(path))
    if error.errno == errno.ELOOP:
        return SlicebaseError("not-a-file", "it is a symbolic link", where=Where(path))
    return SlicebaseError("cannot-read", error.strerror or "it cannot be read", where=Where(path))


def stamp_of(status: os.stat_result) -> str:
    """Returns the size, the times and the inode of a file."""
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


def stamps(root: Path, paths: Iterable[str]) -> list[str]:
    """Returns the stamp of each note; none for one behind a symbolic link, which cannot be read either."""
    found, linked = [], {"": False}
    try:
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return [ABSENT for _ in paths]
    try:
        for path in paths:
            try:
                if _is_behind_link(descriptor, path.rpartition("/")[0], linked):
                    found.append(ABSENT)
                else:
                    found.append(stamp_of(os.stat(path, dir_fd=descriptor, follow_symlinks=False)))
            except (OSError, ValueError):
                found.append(ABSENT)
    finally:
        os.close(descriptor)
    return found


def _is_behind_link(root: int, folder: str, known: dict[str, bool]) -> bool:
    """Returns whether a folder below an open one is a symbolic link, or one on the way is; `known` has those seen."""
    if folder not in known:
        status = os.stat(folder, dir_fd=root, follow_symlinks=False)
        known[folder] = stat.S_ISLNK(status.st_mode) or _is_behind_link(root, folder.rpartition("/")[0], known)
    return known[folder]


def is_certain(stamp: str, tick: int) -> bool:
    """Returns whether the stamp of a note would show a later change."""
    if stamp in ("", ABSENT):
        return bool(stamp)
    _, modified, changed, _ = stamp.split(" ")
    return max(int(modified), int(changed)) < tick - _GRANULE
