"""Local text documents as citable chunks: a pointer file, and where the chunks begin and end."""

from pathlib import Path
from typing import NamedTuple

from slicebase.core.hashing import digest
from slicebase.errors import SlicebaseError, Where
from slicebase.files.body.entries import Stamp
from slicebase.files.slice_file import SliceFile
from slicebase.runs.chunks import DocumentChunk, chunks
from slicebase.store.atomic import read_chunks
from slicebase.store.library import Library


class AddedDocument(NamedTuple):
    """The pointer of a document and its chunks; `is_new` where there was no pointer to these bytes yet."""

    file: SliceFile
    chunks: list[DocumentChunk]
    is_new: bool


def add_document(
    library: Library, path: Path, stamp: Stamp, *, title: str | None = None, copy: bool = False
) -> AddedDocument:
    data = b"".join(read_chunks(path.resolve())) if path.is_file() else None
    if data is None:
        raise SlicebaseError("no-input", f"{path} is no file", where=Where(str(path)))
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise SlicebaseError(
            "not-text",
            f"{path} is no UTF-8 text: byte {error.start} begins no character",
            hint=f"`tt create --from {path}` makes a pointer to a file of any kind",
            where=Where(str(path)),
        ) from None
    payload_hash = digest(data)
    found = chunks(text, payload_hash)
    for file in library.shelf.mentioning(payload_hash.encode()):
        if file.payload and file.payload.hash == payload_hash and not file.purged:
            return AddedDocument(file, found, False)
    summary = f"A text of {len(text)} characters in {len(found)} chunks that can be cited."
    change = library.create(title or path.name, summary, stamp, from_file=path, copy=copy)
    return AddedDocument(change.file, found, True)
