"""Atomic writes: a file is written completely or not at all, by one process at a time.

A write creates a temporary file in the same folder, flushes it, renames it over the old file, and flushes the folder.
Readers take no lock. They see the old file or the new one, also after a crash. Writers hold one lock for the folder, an
`flock` that the kernel releases when its holder dies. So all writes of a folder can use the same temporary name: a
killed process leaves at most this one file, the next write replaces it, and `clean` removes it. Where no lock is held,
the name says which process and thread writes, and `clean` removes it when that process is gone.
"""

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import get_native_id
from typing import Final

from slicebase.core.parsers import too_large
from slicebase.errors import SlicebaseError, Where
from slicebase.workspace.boundary import PRIVATE_MODE, inside, narrow_opened, not_a_file, opened_folder
from slicebase.workspace.disk import disk_full, is_full

TEMPORARY: Final = ".slicebase-writing"
_LONGEST_WAIT: Final = 10.0  # seconds that a writer waits for the lock
_LONGEST_PAUSE: Final = 0.005
_CHUNK: Final = 1 << 20
_FLUSHERS: Final = 16  # files that are flushed at the same time
TEXT_FILE: Final = 1 << 20  # bytes of a small file of the project that is read whole: settings, attributes, rules


def own_temporary() -> str:
    """Returns a temporary name that no other process and no other thread uses, for a write without a lock."""
    return f"{TEMPORARY}-{os.getpid()}-{get_native_id()}"


@contextmanager
def locked(path: Path, patience: float = _LONGEST_WAIT) -> Iterator[None]:
    """Holds the lock file at `path`. Other processes and threads wait for it, at most `patience` seconds."""
    with file_errors(path):
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, PRIVATE_MODE)
    try:
        narrow_opened(lock)
        take_lock(lock, path, patience)
        yield
    finally:
        os.close(lock)


def take_lock(lock: int, path: Path, patience: float = _LONGEST_WAIT) -> None:
    """Takes the lock. Raises `locked` when another process still holds it after `patience` seconds."""
    pause, waited = 0.0005, 0.0
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if waited >= patience:
                raise SlicebaseError(
                    "locked", "another process is writing", hint="try again when it is done", where=Where(str(path))
                ) from None
        time.sleep(pause)
        waited += pause
        pause = min(pause * 2, _LONGEST_PAUSE)


def read_bytes(path: Path, *, follow: bool = False, most: int | None = None) -> bytes:
    """Returns the bytes of a regular file. Raises `too-large` for more than `most` of them.

    Refuses symbolic links, unless `follow` is true: they can point anywhere.
    """
    found = []
    for chunk in read_chunks(path, follow=follow):
        found.append(chunk)
        if most is not None and sum(map(len, found)) > most:
            raise too_large(str(path), most)
    return b"".join(found)


def read_chunks(path: Path, *, follow: bool = False) -> Iterator[bytes]:
    """Yields the bytes of a regular file in chunks. Raises a conflict when the file changes meanwhile."""
    with file_errors(path, "cannot-read"):
        # Without O_NONBLOCK, opening a pipe would wait forever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW))
        try:
            before = os.fstat(descriptor)
            if not stat.S_ISREG(before.st_mode):
                raise not_a_file(path)
            while chunk := os.read(descriptor, _CHUNK):
                yield chunk
            after = os.fstat(descriptor)
        finally:
            os.close(descriptor)
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise SlicebaseError("conflict", "the file changed while it was read", where=Where(str(path)))


def write_bytes(
    path: Path, chunks: Iterable[bytes], *, within: Path, private: bool = False, temporary: str = TEMPORARY
) -> None:
    """Creates or replaces a file below the folder `within`, out of which no symbolic link may lead.

    A `private` file can be read by its owner alone. The caller holds the lock of the library, or names a temporary file
    of its own.
    """
    real = inside(within, path)
    with _opened(within, real.parent) as folder:
        try:
            _write_temporary(folder, temporary, chunks, PRIVATE_MODE if private else _mode_of(real.name, folder))
            os.replace(temporary, real.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException as error:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            if isinstance(error, OSError):
                raise _refusal(error, path) from None
            raise
        _flush_folder(folder, path)


def write_all(folder: Path, files: Sequence[tuple[str, bytes]], *, within: Path) -> None:
    """Creates or replaces many files of one folder, each in one step as `write_bytes` does.

    All are written and flushed before the first one gets its name, and the folder is flushed once: a crash may lose
    some of these files, but leaves none half written. The flushes run at the same time, so that the disk can do them
    together. The caller holds the lock of the library; what a killed process left is removed.
    """
    for path in left_behind(folder):
        remove(path, within=within)
    temporary = own_temporary()
    names = [f"{temporary}-{number}" for number in range(len(files))]
    with _opened(within, inside(within, folder)) as descriptor:
        try:
            for own, (name, data) in zip(names, files, strict=True):
                _write_temporary(descriptor, own, [data], _mode_of(name, descriptor), flush=False)
            _flush_named(descriptor, names)
            for own, (name, _) in zip(names, files, strict=True):
                os.replace(own, name, src_dir_fd=descriptor, dst_dir_fd=descriptor)
        except BaseException as error:
            for own in names:
                with suppress(OSError):
                    os.unlink(own, dir_fd=descriptor)
            if isinstance(error, OSError):
                raise _refusal(error, folder) from None
            raise
        _flush_folder(descriptor, folder)


def remove(path: Path, *, within: Path) -> bool:
    """Deletes a file below the folder `within`; of a symbolic link, only the link. Returns whether it existed."""
    parent = inside(within, path.parent)
    if not parent.is_dir():
        return False
    try:
        with _opened(within, parent) as folder:
            os.unlink(path.name, dir_fd=folder)
            _flush_folder(folder, path)
            return True
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _refusal(error, path) from None


def create_folder(path: Path, *, within: Path) -> None:
    """Creates a folder below the folder `within`, if it is missing."""
    real = inside(within, path)
    with file_errors(path):
        real.mkdir(parents=True, exist_ok=True)


def remove_empty_folder(path: Path, *, within: Path) -> None:
    """Deletes a folder below the folder `within`, if it is one and nothing is in it."""
    real = inside(within, path)
    with suppress(OSError):
        real.rmdir()


def clean(folder: Path, lock: Path, *, within: Path) -> list[Path]:
    """Removes the temporary files that killed writers left in the folder. Returns the paths it removed."""
    with locked(lock):
        return [path for path in left_behind(folder) if remove(path, within=within)]


def left_behind(folder: Path) -> list[Path]:
    """Returns the temporary files in a folder, but for those whose name says that their process still runs."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.startswith(TEMPORARY))
    except OSError:
        return []
    return [folder / name for name in names if not names_running_process(name.removeprefix(TEMPORARY))]


def names_running_process(rest: str) -> bool:
    """Returns whether the rest of a temporary name begins with the number of a process that still runs."""
    process = rest.removeprefix("-").partition("-")[0]
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except PermissionError:
        pass  # it runs, for another user
    return True


@contextmanager
def file_errors(path: Path, code: str = "cannot-write") -> Iterator[None]:
    """Turns an OSError into a SlicebaseError with this code. A missing file stays a FileNotFoundError."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _refusal(error, path, code) from None


def _write_temporary(folder: int, name: str, chunks: Iterable[bytes], mode: int | None, *, flush: bool = True) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    permissions = PRIVATE_MODE if mode == PRIVATE_MODE else 0o666
    try:
        descriptor = os.open(name, flags, permissions, dir_fd=folder)
    except FileExistsError:  # a killed process left it
        os.unlink(name, dir_fd=folder)
        descriptor = os.open(name, flags, permissions, dir_fd=folder)
    try:
        for chunk in chunks:
            rest = memoryview(chunk)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        if mode is not None:
            os.fchmod(descriptor, mode)
        if flush:
            _flush(descriptor)
    finally:
        os.close(descriptor)


def _mode_of(name: str, folder: int) -> int | None:
    """Returns the permissions of the file that is replaced, or None for a new file, which gets the default ones."""
    try:
        return stat.S_IMODE(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return None


def _flush(descriptor: int) -> None:
    """Flushes a file to the disk. On macOS, fsync alone stops at the cache of the disk."""
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is None:
        os.fsync(descriptor)
    else:
        fcntl.fcntl(descriptor, full)


def _flush_named(folder: int, names: Sequence[str]) -> None:
    """Flushes files of a folder, many at the same time."""

    def flush(some: Sequence[str]) -> None:
        for name in some:
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            try:
                _flush(descriptor)
            finally:
                os.close(descriptor)

    threads = min(len(names), _FLUSHERS)
    if threads <= 1:
        flush(names)
        return
    from concurrent.futures import ThreadPoolExecutor  # imported here to keep start-up fast

    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(flush, (names[first::threads] for first in range(threads))):
            pass


def _flush_folder(folder: int, path: Path) -> None:
    try:
        os.fsync(folder)
    except OSError as error:
        raise SlicebaseError(
            "not-flushed",
            f"the change is made, but the disk does not confirm it: {error.strerror}",
            hint="check the disk before you write again",
            where=Where(str(path)),
        ) from None


@contextmanager
def _opened(within: Path, folder: Path) -> Iterator[int]:
    with ExitStack() as stack:
        try:
            descriptor = stack.enter_context(opened_folder(inside(within, within), folder))
        except OSError as error:
            raise _refusal(error, folder) from None
        yield descriptor


def _refusal(error: OSError, path: Path, code: str = "cannot-write") -> SlicebaseError:
    if is_full(error):
        return disk_full(Where(str(path)))
    if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EISDIR):
        return not_a_file(path)
    return SlicebaseError(code, f"{path.name}: {error.strerror}", where=Where(str(path)))
