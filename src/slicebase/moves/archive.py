"""Archives: a tar compressed with zstd, whose bytes follow from the names and the contents of its files alone.

An archive that is read comes from anywhere. It has regular files only, with names that stay in a folder, each of them
once. It may not grow without limit when it is unpacked, and nothing in it is believed before it was compared with the
digests that its manifest states.
"""

import io
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from slicebase.errors import SlicebaseError, Where
from slicebase.moves.places import refuse_unsafe
from slicebase.workspace.atomic import read_chunks

ARCHIVE_SUFFIX: Final = ".tar.zst"
MAGIC: Final = b"\x28\xb5\x2f\xfd"  # with which everything that zstd compresses begins
_LEVEL: Final = 9  # always the same one, for the same bytes
_BLOCK: Final = 512  # bytes of which a tar is made
_LARGEST_HEADER: Final = 8192  # bytes of what does not fit into a header: a long name, a size of 8 GiB and more
_LONGEST_SIZE: Final = 19  # digits of a size
_WINDOW: Final = 1 << 27  # bytes that zstd may look back
_READ: Final = 1 << 20
# A text that repeats itself becomes some hundred times smaller. What grows more than that was made to fill a disk.
_MOST_RATIO: Final = 500
_ALWAYS: Final = 1 << 30  # bytes that any archive may have


class Member(NamedTuple):
    """A file of an archive: its name, how many bytes it has, and the bytes."""

    name: str
    size: int
    chunks: Iterable[bytes]


def packed(members: Iterable[Member]) -> Iterator[bytes]:
    """Yields the bytes of an archive of these files. Raises `conflict` for one that has another size meanwhile."""
    from zstandard import ZstdCompressor  # imported here for a fast start: only archives need it

    compressor = ZstdCompressor(level=_LEVEL, write_checksum=True).compressobj()
    for piece in _tar(members):
        if found := compressor.compress(piece):
            yield found
    yield compressor.flush()


def _tar(members: Iterable[Member]) -> Iterator[bytes]:
    for name, size, chunks in members:
        header = tarfile.TarInfo(name)  # time and owner are zero
        header.size, header.mode = size, 0o644
        yield header.tobuf(tarfile.PAX_FORMAT, "utf-8", "strict")
        written = 0
        for chunk in chunks:
            written += len(chunk)
            yield chunk
        if written != size:
            raise SlicebaseError("conflict", "the file changed while it was read", where=Where(name))
        yield bytes(-size % _BLOCK)
    yield bytes(2 * _BLOCK)


def is_archive(path: Path) -> bool:
    """Returns whether a path is named as an archive."""
    return path.name.endswith(ARCHIVE_SUFFIX)


def unpacked(path: Path) -> Iterator[Member]:
    """Yields the files of an archive in its order. The bytes of each must be read before the next one.

    Raises `bad-move` for what is none of ours, and `too-large` for one that grows too much.
    """
    from zstandard import ZstdDecompressor, ZstdError

    size = path.stat().st_size
    compressed = _Stream(read_chunks(path, follow=True))
    try:
        with ZstdDecompressor(max_window_size=_WINDOW).stream_reader(compressed) as stream:  # type: ignore[arg-type]
            yield from _members(stream, path, max(_ALWAYS, size * _MOST_RATIO))
    except ZstdError as error:
        raise bad_archive(path, f"zstd cannot read it: {error}") from None


class _Stream(io.RawIOBase):
    """The chunks of a file, as a stream."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._left = b""

    def readable(self) -> bool:
        """Whether it can be read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Returns the next bytes, at most `size` of them."""
        if not self._left:
            self._left = next(self._chunks, b"")
        given = self._left if size < 0 else self._left[:size]
        self._left = self._left[len(given) :]
        return given


def _members(stream: Any, path: Path, most: int) -> Iterator[Member]:
    read, more, seen = 0, dict[str, str](), set[str]()
    while True:
        block = _exactly(stream, _BLOCK, path)
        if not any(block):
            if any(_exactly(stream, _BLOCK, path)) or stream.read(1):  # zstd compares its checksum at the end
                raise bad_archive(path, "it goes on after its end")
            return
        try:
            header = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
        except (tarfile.TarError, ValueError) as error:
            raise bad_archive(path, f"a header cannot be read: {error}") from None
        is_more = header.type == tarfile.XHDTYPE and not more and header.size <= _LARGEST_HEADER
        size = header.size if is_more else _size(more.pop("size", None), header.size, path)
        read += _BLOCK + size
        if size < 0 or read > most:
            raise SlicebaseError(
                "too-large",
                f"unpacked, it has more than {most:,} bytes",
                hint="an archive of ours is never that much smaller than its content",
                where=Where(str(path)),
            )
        if is_more:
            more = _more(_exactly(stream, size, path), path)
            _exactly(stream, -size % _BLOCK, path)
            continue
        name = more.pop("path", header.name)
        if header.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
            raise bad_archive(path, f"{name!a} is not a regular file")
        refuse_unsafe(name, str(path))
        if name in seen:
            raise bad_archive(path, f"{name!a} is there twice")
        seen.add(name)
        chunks = _content(stream, size, path)
        yield Member(name, size, chunks)
        for _ in chunks:  # what nobody has read
            pass
        _exactly(stream, -size % _BLOCK, path)


def _content(stream: Any, size: int, path: Path) -> Iterator[bytes]:
    while size:
        chunk = _exactly(stream, min(size, _READ), path)
        size -= len(chunk)
        yield chunk


def _exactly(stream: Any, size: int, path: Path) -> bytes:
    """Returns so many bytes of a stream."""
    found = b""
    while len(found) < size:
        piece = stream.read(size - len(found))
        if not piece:
            raise bad_archive(path, "it ends too early")
        found += piece
    return found


def _more(data: bytes, path: Path) -> dict[str, str]:
    """Returns what a header for that says of the file after it: its name, its size, or both, and nothing else."""
    found: dict[str, str] = {}
    while data:
        length = data.partition(b" ")[0]
        end = int(length) if length.isdigit() and len(length) <= len(str(_LARGEST_HEADER)) else 0
        key, is_there, value = data[len(length) + 1 : end].partition(b"=")
        name = key.decode("ascii", "replace")
        if name not in ("path", "size") or name in found or not is_there or value[-1:] != b"\n" or end > len(data):
            raise bad_archive(path, "a header says more than a name and a size")
        try:
            found[name] = value[:-1].decode()
        except UnicodeDecodeError:
            raise bad_archive(path, "a name is not UTF-8") from None
        data = data[end:]
    return found


def _size(stated: str | None, size: int, path: Path) -> int:
    """Returns the size of a file: that of its header, which has none of 8 GiB and more, or the one before it."""
    if stated is None:
        return size
    if not (stated.isascii() and stated.isdigit() and len(stated) <= _LONGEST_SIZE):
        raise bad_archive(path, f"no file has the size {stated[:_LONGEST_SIZE]!a}")
    return int(stated)


def bad_archive(path: Path, message: str) -> SlicebaseError:
    """Returns the error for an archive that cannot be read."""
    hint = "take it from where it was written again; nothing was stored"
    return SlicebaseError("bad-move", message, hint=hint, where=Where(str(path)))
