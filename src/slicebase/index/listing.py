"""What the library's folder looks like: the look before every question, and the same look taken ahead.

To load a program and to ask a disk about ten thousand files take about as long, and neither needs the other. So a
command that is about to ask lets a copy of its process look while it is still loading. What the copy saw is used only
to find that nothing has changed; it imports nothing that is not loaded anyway, hence the plain paths.
"""

import os
from collections.abc import Sequence
from stat import S_ISREG

_SUFFIX = ".slice"
_MARKERS = (".slices", ".slicebase", "slicebase.toml")
_ahead: "dict[str, tuple[int, int]]" = {}  # by the folder: the copy that looks at it, and the pipe from there


def listing(folder: "str | os.PathLike[str]") -> list[str]:
    """The folder's slice files, each as its name, a zero and its stamp: size, times and inode.

    Symbolic links are not followed: they may lead anywhere. A name that is no UTF-8 is no id.
    """
    found = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                name = entry.name
                if name.endswith(_SUFFIX) and name[0] != "." and (name.isascii() or name.isprintable()):
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue  # it went away just now
                    if S_ISREG(status.st_mode):
                        found.append(
                            f"{name}\0{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"
                        )
    except FileNotFoundError:
        return []
    return found


def joined(lines: Sequence[str]) -> str:
    return "\0".join(lines)


def look_ahead(start: str) -> None:
    """Begins to look at the library of the nearest workspace from here upwards. Only for a process with one thread."""
    library = _library_above(os.path.realpath(start))
    if library is None or library in _ahead:
        return
    reading, writing = os.pipe()
    copy = os.fork()
    if copy:
        os.close(writing)
        _ahead[library] = (copy, reading)
        return
    try:
        with open(writing, "wb") as pipe:
            pipe.write(joined(listing(library)).encode())
    finally:
        os._exit(0)  # without the clean-up of a process that it is only a copy of


def seen_ahead(folder: "str | os.PathLike[str]") -> str | None:
    """What was seen ahead in this folder, once; None where nobody looked."""
    copy, reading = _ahead.pop(os.fspath(folder), (0, 0))
    if not copy:
        return None
    with open(reading, "rb") as pipe:
        seen = pipe.read()
    os.waitpid(copy, 0)
    return seen.decode()


def _library_above(folder: str) -> str | None:
    """The same folder that `store.workspace.find_root` comes to."""
    while True:
        if any(os.path.exists(os.path.join(folder, marker)) for marker in _MARKERS):
            return os.path.join(folder, _MARKERS[0])
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
