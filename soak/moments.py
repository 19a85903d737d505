"""Counts the moments at which this process changes a file, and kills it at one of them.

A moment is a write, a flush, a truncation, a renaming or a removal: of SQLite, through a VFS of our own, or of Python.
The process is killed before the change, after it, or when half of the bytes are written.
"""

import os
import signal
from collections.abc import Callable
from typing import Any, Final

import apsw

_CHANGES: Final = ("write", "fsync", "ftruncate", "replace", "rename", "unlink", "mkdir", "rmdir")


class Moments:
    """Counts changes of files from now on. At the change with the number `last`, the process dies."""

    def __init__(self, last: int = 0, passed_over: int = -1) -> None:
        self.count = 0
        self._last = last
        self._passed_over = passed_over  # a descriptor that is not a file of the workspace
        self._vfs = _CountingVFS(self)
        for name in _CHANGES:
            setattr(os, name, self._counted(getattr(os, name)))

    def change(self, do: Callable[[], Any], half: Callable[[], Any] = lambda: None) -> Any:
        """Makes one change, or dies before it, in the middle of it, or after it."""
        self.count += 1
        if self.count != self._last:
            return do()
        (lambda: None, half, do)[self.count % 3]()
        os.kill(os.getpid(), signal.SIGKILL)
        return None

    def _counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*given: Any, **named: Any) -> Any:
            if given[0] == self._passed_over:
                return function(*given, **named)
            is_write = function.__name__ == "write"
            half = (lambda: function(given[0], given[1][: len(given[1]) // 2])) if is_write else lambda: None
            return self.change(lambda: function(*given, **named), half)

        return counted


class _CountingVFS(apsw.VFS):
    def __init__(self, moments: Moments) -> None:
        self._moments = moments
        self._base = apsw.vfs_names()[0]  # the default one; a name, since this one becomes the default
        super().__init__("soak", base=self._base, makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> "_CountingFile":  # noqa: N802 - of apsw
        return _CountingFile(self._moments, self._base, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802 - of apsw
        self._moments.change(lambda: super(_CountingVFS, self).xDelete(filename, syncdir))


class _CountingFile(apsw.VFSFile):
    def __init__(self, moments: Moments, base: str, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._moments = moments
        super().__init__(base, name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - of apsw
        write = super().xWrite
        self._moments.change(lambda: write(data, offset), lambda: write(data[: len(data) // 2], offset))

    def xSync(self, flags: int) -> None:  # noqa: N802 - of apsw
        sync = super().xSync
        self._moments.change(lambda: sync(flags))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 - of apsw
        truncate = super().xTruncate
        self._moments.change(lambda: truncate(newsize))
