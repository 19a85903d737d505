"""Reads inputs in their order: here, or, where there is much to read, ahead in other processes.

A process reads whole files, and sends their redacted batches. Batches of a file depend on that file alone, so the
result is the same, in the same order. What a process does not finish, whatever the reason, is read here from the batch
at which it stopped: an error that a file causes is raised here.
"""

import pickle
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import IO, TYPE_CHECKING, Final, NamedTuple

import msgspec

from slicebase.history.inputs import Input, file_chunks, is_recent
from slicebase.importers.formats import FORMATS, read_source
from slicebase.importers.values import Batch, Format, ImportSource, Options
from slicebase.workspace.boundary import real_path
from slicebase.workspace.processes import end, processors, serving

if TYPE_CHECKING:
    from subprocess import Popen

FileProgress = Callable[[str, int], None]  # an input's name, and how many of its bytes were read since the last call

LEAST_BYTES: Final = 64 << 20  # for less, starting a process takes longer than it saves
_MOST_PROCESSES: Final = 4
_AHEAD: Final = 8  # batches that are read ahead of a process
_GROWS: Final = 60  # seconds after the last change of a file in which more may follow
_FRAME: Final = struct.Struct("<qqq")  # the file's number, the size of a batch, the bytes that were read for it
_END: Final = -1  # instead of a size: the file is complete
_batch = msgspec.msgpack.Decoder(Batch)


class Recognised(NamedTuple):
    """An input and its format."""

    input: Input
    format: Format


BatchesOf = Callable[[Recognised], Iterator[Batch]]


@contextmanager
def reading(inputs: Sequence[Recognised], options: Options, progress: FileProgress) -> Iterator[BatchesOf]:
    """Yields a function that returns the batches of an input. It is called for the inputs in their order."""
    large = [each for each in inputs if _can_be_sent(each.input)]
    processes = min(processors() - 1, _MOST_PROCESSES, len(large))
    if processes < 1 or len(large) < 2 or sum(each.input.size for each in large) < LEAST_BYTES:
        yield lambda each: _read_here(each, options, progress)
        return
    started = [_Process(large[number::processes], options) for number in range(processes)]
    ahead = {each.input.name: (started[number % processes], number // processes) for number, each in enumerate(large)}
    try:
        yield lambda each: _read_ahead(each, ahead.get(each.input.name), options, progress)
    finally:
        for process in started:
            process.end()


def _can_be_sent(each: Input) -> bool:
    return each.file is not None and not each.member and each.name.isprintable()


def _read_here(each: Recognised, options: Options, progress: FileProgress) -> Iterator[Batch]:
    name = each.input.name

    def chunks() -> Iterator[bytes]:
        for chunk in each.input.chunks():
            progress(name, len(chunk))
            yield chunk

    file = each.input.file if not each.input.member else None
    return read_source(_source(name, chunks(), file), each.format, options)


def _source(name: str, chunks: Iterator[bytes], file: Path | None) -> ImportSource:
    if file is None:
        return ImportSource(name, chunks)
    return ImportSource(name, chunks, _is_growing(file), str(real_path(file).parent))


def _is_growing(path: Path) -> bool:
    try:
        return is_recent(path.stat().st_mtime_ns, _GROWS)
    except OSError:  # the error is raised where the file is read
        return False


def _read_ahead(
    each: Recognised, place: "tuple[_Process, int] | None", options: Options, progress: FileProgress
) -> Iterator[Batch]:
    count = 0
    if place is not None:
        process, number = place
        for frame in process.frames(number):
            if frame.data is None:
                return
            progress(each.input.name, frame.read)
            count += 1
            yield _batch.decode(frame.data)
    yield from islice(_read_here(each, options, progress), count, None)


class Frame(NamedTuple):
    """What a process sends: a batch of a file, or, without data, the end of the file."""

    file: int
    read: int  # bytes of the file since the last frame
    data: bytes | None


class _Process:
    """A process that reads files ahead, one after the other, and the thread that receives what it sends."""

    def __init__(self, inputs: Sequence[Recognised], options: Options) -> None:
        self._received: Queue[Frame | None] = Queue(_AHEAD)
        self._process: Popen[bytes] | None = None
        self._thread: Thread | None = None
        self._is_broken = True
        with suppress(OSError):
            self._process = serving(__name__)
            assert self._process.stdin is not None
            names = [(each.input.name, str(each.input.file), each.format.name) for each in inputs]
            self._process.stdin.write(pickle.dumps((options, names)))
            self._process.stdin.close()
            self._is_broken = False
            self._thread = Thread(target=self._receive, daemon=True)
            self._thread.start()

    def frames(self, number: int) -> Iterator[Frame]:
        """Yields the batches of a file, and its end. Ends early if the process failed. Skips files before it."""
        while not self._is_broken:
            frame = self._received.get()
            if frame is None:
                self._is_broken = True
            elif frame.file == number:
                yield frame

    def _receive(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        try:
            # Something else may write there, as a module that the site loads: then sizes are no sizes.
            with suppress(ValueError, OverflowError, MemoryError), self._process.stdout as stream:
                for frame in _frames_of(stream):
                    self._received.put(frame)
        finally:
            self._received.put(None)

    def end(self) -> None:
        """Ends the process, whatever it does, and then the thread."""
        if self._process is None:
            return
        if self._thread is None:  # the process could not be told what to read
            end(self._process)
            return
        self._process.kill()
        while not self._is_broken:
            self._is_broken = self._received.get() is None
        self._thread.join()
        self._process.wait()


def _frames_of(stream: IO[bytes]) -> Iterator[Frame]:
    while len(head := stream.read(_FRAME.size)) == _FRAME.size:
        file, size, read = _FRAME.unpack(head)
        data = None if size == _END else stream.read(size)
        if data is not None and len(data) < size:
            return
        yield Frame(file, read, data)


# The other process


def serve() -> None:
    """Reads the files that the standard input names, and writes their batches to the standard output."""
    options, inputs = pickle.load(sys.stdin.buffer)
    formats = {each.name: each for each in FORMATS}
    # Whatever goes wrong here goes wrong again in the process that waits for the file, and is reported there.
    with suppress(Exception, KeyboardInterrupt):
        for number, (name, path, format_name) in enumerate(inputs):
            for size, data in _frames(name, Path(path), formats[format_name], options):
                sys.stdout.buffer.write(_FRAME.pack(number, _END if data is None else len(data), size))
                sys.stdout.buffer.write(data or b"")
            sys.stdout.buffer.flush()


def _frames(name: str, path: Path, known: Format, options: Options) -> Iterator[tuple[int, bytes | None]]:
    read = 0

    def chunks() -> Iterator[bytes]:
        nonlocal read
        for chunk in file_chunks(path):
            read += len(chunk)
            yield chunk

    for batch in read_source(_source(name, chunks(), path), known, options):
        yield read, msgspec.msgpack.encode(batch)
        read = 0
    yield read, None
