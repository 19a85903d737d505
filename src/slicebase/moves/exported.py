"""An export that is there: its files are read strictly, and every hash in them is derived again."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec.structs import astuple

from slicebase.core.hashing import digest_of_pieces, raw_digest
from slicebase.errors import Where
from slicebase.moves.lines import (
    PURGE_LINE,
    ROW_LINE,
    TEXT_LINE,
    FileHead,
    PurgeLine,
    TextLine,
    bad_line,
    moved_row,
    moved_text,
    read_lines,
)
from slicebase.moves.manifest import ExportManifest, ListedFile, read_listing
from slicebase.moves.places import TEXTS, name_of_owner
from slicebase.truth.chains import linked
from slicebase.truth.transfer import OWNED, MovedPurge, MovedRow, MovedText
from slicebase.workspace.atomic import read_chunks

PURGES: Final = "purges.jsonl"
_FOLDERS: Final = {"session": "sessions", "run": "runs"}

OwnerRows = dict[str, list[MovedRow]]  # by table


class OwnedTexts(NamedTuple):
    """The texts of an owner by their digests, and what the head of their file says of a run."""

    head: FileHead
    texts: dict[bytes, MovedText]


def place_of_rows(kind: str, owner: str) -> str:
    """Returns the path of the file with the chains of a session or a run."""
    return f"{_FOLDERS[kind]}/{name_of_owner(owner)}.jsonl"


def place_of_shared(table: str) -> str:
    """Returns the path of the file with what is shared."""
    return f"{table}.jsonl"


def place_of_texts(owner: str) -> str:
    """Returns the path of the file with the texts of an owner, whose name begins with its kind."""
    kind, _, name = owner.partition(":")
    return f"{TEXTS}/{kind if name else 'other'}/{name_of_owner(name or owner)}.jsonl"


class ExportFolder:
    """An export in a folder, as its manifest lists it."""

    def __init__(self, folder: Path, manifest: ExportManifest | None = None) -> None:
        self.folder = folder
        self.manifest = manifest or read_listing(folder, folder.name)
        self.listed = self.manifest.by_path()

    def shown(self, path: str) -> str:
        """Returns a path as errors name it."""
        return f"{self.folder.name}/{path}"

    def file(self, path: str) -> Path:
        """Returns where a listed file is. Raises `bad-move` where it is not the one that the manifest lists."""
        for _ in self._chunks(path):
            pass
        return self.folder / path

    def data(self, path: str) -> bytes:
        """Returns the bytes of a listed file: those that were compared, also if the file changes meanwhile."""
        return b"".join(self._chunks(path))

    def _chunks(self, path: str) -> Iterator[bytes]:
        place, listed = self.folder / path, self.listed[path]
        for part in (place, *place.parents):
            if part == self.folder:
                break
            if part.is_symlink():
                raise bad_line("it is a symbolic link, or below one", Where(self.shown(path)))
        hasher = sha256()
        try:
            for chunk in read_chunks(place):
                hasher.update(chunk)
                yield chunk
        except FileNotFoundError:
            raise bad_line("the manifest lists it, and it is not there", Where(self.shown(path))) from None
        if (found := hasher.hexdigest()) != listed.sha256:
            raise bad_line(f"the manifest says {listed.sha256}, and there is {found}", Where(self.shown(path)))

    def rows(self, path: str, owner: str) -> OwnerRows:
        """Returns the rows in a file, by table; none from a file that is not there."""
        return read_rows(self.file(path), self.shown(path), owner) if path in self.listed else {}

    def shared(self, table: str) -> list[MovedRow]:
        """Returns the rows of a shared table."""
        return self.rows(place_of_shared(table), table).get(table, [])

    def texts(self, owner: str) -> OwnedTexts:
        """Returns the texts of an owner."""
        path = place_of_texts(owner)
        if path not in self.listed:
            return OwnedTexts(FileHead("texts", owner), {})
        return read_texts(self.file(path), self.shown(path), owner)

    def purges(self) -> list[MovedPurge]:
        """Returns the purges of texts."""
        if PURGES not in self.listed:
            return []
        lines = read_lines(self.file(PURGES), self.shown(PURGES), PURGE_LINE)
        return [MovedPurge(*astuple(line)) for line in lines if isinstance(line, PurgeLine)]

    def owners(self, kind: str) -> list[str]:
        """Returns the sessions or runs that the heads name, in order."""
        names = (name.partition("/") for name in self.manifest.heads)
        return sorted({owner for table, slash, owner in names if slash and table in OWNED[kind]})


def read_rows(path: Path, shown: str, owner: str | None = None) -> OwnerRows:
    """Returns the rows of a file by table. Raises `bad-move` for one that does not follow from the row before it."""
    found: OwnerRows = {}
    for number, line in enumerate(read_lines(path, shown, ROW_LINE), 1):
        where = Where(shown, number)
        if isinstance(line, FileHead):
            _check_head(line, "rows", owner, where)
            continue
        table, row = moved_row(line)
        rows = found.setdefault(table, [])
        if row.seq != len(rows) + 1:
            raise bad_line(f"row {len(rows) + 1} of {table} is expected, and row {row.seq} is there", where)
        derived = row_hash(table, rows[-1].hash if rows else b"", row.values)
        if derived != row.hash:
            message = f"row {row.seq} of {table}: the hash {row.hash.hex()} is stated, and {derived.hex()} derived"
            raise bad_line(message, where)
        rows.append(row)
    return found


def row_hash(table: str, before: bytes, values: tuple[Any, ...]) -> bytes:
    """Returns the hash of a row. An event's own record has the hash before it (ruling 33)."""
    return raw_digest(values[-1]) if table == "events" else linked(before, *values)


def read_texts(path: Path, shown: str, owner: str | None = None) -> OwnedTexts:
    """Returns the texts of a file. Raises `bad-move` for a text that is not the one that its digest names."""
    head, found = FileHead("texts"), dict[bytes, MovedText]()
    for number, line in enumerate(read_lines(path, shown, TEXT_LINE), 1):
        where = Where(shown, number)
        if isinstance(line, FileHead):
            _check_head(line, "texts", owner, where)
            head = line
        elif isinstance(line, TextLine):
            text = _text(line, where)
            if text.hash in found:
                raise bad_line(f"the text {text.hash.hex()} is there twice", where)
            found[text.hash] = text
    return OwnedTexts(head, found)


def _text(line: TextLine, where: Where) -> MovedText:
    try:
        text = moved_text(line)
    except ValueError as error:
        raise bad_line(str(error), where) from None
    data, purged = text.stored
    if purged is None and (derived := raw_digest(data or b"")) != text.hash:
        raise bad_line(f"the text {text.hash.hex()} has the digest {derived.hex()}", where)
    return text


def _check_head(head: FileHead, lines: str, owner: str | None, where: Where) -> None:
    if head.lines != lines or (owner is not None and head.owner != owner):
        expected = f"{lines} of {owner}" if owner is not None else lines
        raise bad_line(f"it has {head.lines} of {head.owner!r}, not {expected}", where)


def listed_file(folder: Path, path: str) -> ListedFile:
    """Returns a file of an export as a manifest lists it."""
    place = folder / path
    return ListedFile(path, digest_of_pieces(read_chunks(place))[7:], place.stat().st_size)
