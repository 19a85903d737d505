"""Slice files in a folder: found by id, and written so that a crash leaves the old file or the new one."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from slicebase.errors import SlicebaseError, Where
from slicebase.files.slice_file import SliceFile

SUFFIX = ".slice"


class SliceFiles:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, file_id: str) -> SliceFile | None:
        """The file of this id: by its name, else by looking into all (an id does not depend on a name)."""
        named = self.folder / f"{file_id}{SUFFIX}"
        found = _read(named) if named.name == f"{file_id}{SUFFIX}" and named.parent == self.folder else None
        if found is not None and found.id == file_id:
            return found
        return next((file for file in self if file.id == file_id), None)

    def __iter__(self) -> Iterator[SliceFile]:
        """Every file that can be read, by name."""
        names = sorted(self.folder.glob(f"*{SUFFIX}")) if self.folder.is_dir() else []
        yield from (file for name in names if (file := _read(name)) is not None)

    def put(self, file: SliceFile) -> bool:
        """Writes a file under its name; answers whether that changed anything."""
        path = self.folder / file.name
        data = file.to_bytes()
        try:
            if path.is_file() and path.read_bytes() == data:
                return False
            self.folder.mkdir(parents=True, exist_ok=True)
            _replace(path, data)
        except OSError as error:
            raise SlicebaseError("cannot-write", f"{error.strerror}: {path}", where=Where(str(path))) from None
        return True


def _read(path: Path) -> SliceFile | None:
    try:
        return SliceFile.parse(path.read_bytes(), path.name)
    except (OSError, SlicebaseError):
        return None


def _replace(path: Path, data: bytes) -> None:
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
