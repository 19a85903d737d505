"""The bytes of a file that somebody still writes: up to the size that it has now, and by complete lines.

A call ends, whatever the file is: it reads a regular file only, and nothing that is added while it reads.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO, Final

from slicebase.core.parsers import read_json
from slicebase.errors import SlicebaseError, Where
from slicebase.importers.json_stream import MAX_RECORD

_CHUNK: Final = 1 << 20


def open_regular(name: str, path: Path) -> int:
    """Opens a regular file. Opening a pipe would wait forever, and a device has no end."""
    descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SlicebaseError("no-input", "this is not a regular file", where=Where(str(path)))
    return descriptor


def chunks_up_to(stream: IO[bytes], most: int) -> Iterator[bytes]:
    """Yields the bytes of a stream from where it stands, at most so many."""
    while most > 0 and (chunk := stream.read(min(_CHUNK, most))):
        most -= len(chunk)
        yield chunk


class CompleteLines:
    """The complete lines of a stream; `rest` is what follows the last line end.

    A line that is too long for a record is passed on as it comes, and its end is not waited for.
    """

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = chunks
        self.size = 0
        self.rest = b""

    def __iter__(self) -> Iterator[bytes]:
        held: list[bytes] = []
        for chunk in self._chunks:
            ended, newline, rest = chunk.rpartition(b"\n")
            if newline:
                yield self._passed(*held, ended, newline)
                held = []
            held.append(rest)
            if sum(map(len, held)) > MAX_RECORD:
                yield self._passed(*held)
                held = []
        self.rest = b"".join(held)

    def _passed(self, *pieces: bytes) -> bytes:
        data = b"".join(pieces)
        self.size += len(data)
        return data


def has_marks(path: Path, since: tuple[int, int], marks: Iterable[bytes]) -> tuple[bool, tuple[int, int]]:
    """Returns whether a line of a file has all marks, and the place from which to look the next time.

    A place is the number of the file and the end of a line in it. Another file is looked at from its beginning.
    """
    with open(open_regular(str(path), path), "rb") as stream:
        status = os.fstat(stream.fileno())
        start = since[1] if since[0] == status.st_ino and since[1] <= status.st_size else 0
        stream.seek(start)
        lines = CompleteLines(chunks_up_to(stream, status.st_size - start))
        blocks = [block for block in chain(lines, _rest(lines)) if all(mark in block for mark in marks)]
    found = any(all(mark in line for mark in marks) for block in blocks for line in block.split(b"\n"))
    return found, (status.st_ino, start + lines.size)


def _rest(lines: CompleteLines) -> Iterator[bytes]:
    yield lines.rest


def is_complete(rest: bytes) -> bool:
    """Returns whether a last line without a line end is a complete record."""
    try:
        return isinstance(read_json(rest), dict)
    except SlicebaseError:
        return False
