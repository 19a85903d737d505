"""The slice files as one look at them shows them: the folder is listed once, and each file is read once.

What reads many pieces, as a context and a verification do, would otherwise list 10,000 files, and read a large log, for
each of them.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from slicebase.errors import SlicebaseError
from slicebase.files.slice_file import SliceFile
from slicebase.library.folder import SliceFolder

_Value = TypeVar("_Value")

_MOST: Final = 1_000  # files and values that are kept at a time
_LARGEST: Final = 256 * 1024 * 1024  # bytes of their bodies


class FolderView(SliceFolder):
    """The slice files of a folder as they were when this view first read them. It is for one verb."""

    def __init__(self, folder: SliceFolder) -> None:
        vars(self).update(vars(folder))  # what it knows of files with other names is of use to both
        self._listed: list[str] | None = None
        self._kept: dict[tuple[str, str], Any] = {}
        self._size = 0

    def names(self) -> list[str]:
        if self._listed is None:
            self._listed = super().names()
        return self._listed

    def find(self, given: str) -> SliceFile:
        key = "find", given
        if key not in self._kept:
            try:
                file = super().find(given)
                self._keep(key, file, len(file.body))
            except SlicebaseError as error:
                self._keep(key, error, 0)
        found = self._kept[key]
        if isinstance(found, SlicebaseError):
            raise found.with_traceback(None)
        return found  # type: ignore[no-any-return]  # what was kept for this key

    def once(self, what: str, file: SliceFile | None, read: Callable[[], _Value]) -> _Value:
        key = what, file.name if file else ""
        if key not in self._kept:
            self._keep(key, read(), len(file.body) if file else 0)
        return self._kept[key]  # type: ignore[no-any-return]  # what was kept for this key

    def _keep(self, key: tuple[str, str], value: object, size: int) -> None:
        if len(self._kept) >= _MOST or self._size + size > _LARGEST:
            self._kept.clear()
            self._size = 0
        self._kept[key] = value
        self._size += size
