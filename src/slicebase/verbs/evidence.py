"""Chunks that can be cited: finds the text of a reference now, adds documents, and adds evidence to the ledger.

Turns come from the truth; rows, sections and documents come from the library.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from slicebase.core.hashing import digest
from slicebase.core.refs import Ref, parse, recorded
from slicebase.errors import SlicebaseError, Where
from slicebase.files.body.overflow import parts_of
from slicebase.files.body.repeated import in_precedence, without_repeated
from slicebase.files.body.rows import Row, read_rows
from slicebase.files.body.sections import section_ref, sections
from slicebase.files.links import resolve
from slicebase.files.note import note_sections
from slicebase.files.slice_file import SliceFile
from slicebase.graph.record import read_parts
from slicebase.graph.turn import turn_text
from slicebase.library.logs import Logs
from slicebase.library.texts import FoundNote, note_of
from slicebase.runs.chunks import DocumentChunk, chunks
from slicebase.runs.evidence import GONE, PURGED, Chunk, Evidence, Lookup, places
from slicebase.truth.truth import Truth
from slicebase.verbs.parts import Parts
from slicebase.workspace.atomic import read_bytes, read_chunks
from slicebase.workspace.boundary import real_path
from slicebase.workspace.surroundings import one_thread_at_a_time
from slicebase.workspace.workspace import LIBRARY

if TYPE_CHECKING:  # start-up counts: only `add_document` needs the library
    from slicebase.files.body.rows import Provenance
    from slicebase.library.folder import SliceFolder
    from slicebase.library.library import Library


# The text of a reference


class Placed(NamedTuple):
    """The corpus that a chunk belongs to, and its text now."""

    corpus_id: str
    lookup: Lookup


@one_thread_at_a_time
class ChunkTexts:
    """Finds the texts of chunks in the truth and in the library."""

    def __init__(self, parts: Parts) -> None:
        self.surroundings = parts.surroundings
        self._parts = parts
        self._find: Mapping[str, Callable[[Ref], Placed]] = {
            "turn": self._turn,
            "row": self._row,
            "sec": self._section,
            "doc": self._document,
        }

    @property
    def _truth(self) -> Truth:
        return self._parts.truth

    @property
    def _folder(self) -> "SliceFolder":
        return self._parts.folder

    def chunk(self, reference: str) -> Chunk:
        """Returns a chunk by its reference; raises if it is purged, has changed or is gone."""
        ref = self._complete(chunk_ref(reference))
        corpus_id, found = self._find[ref.kind](ref)
        if found.state == "purged":
            raise SlicebaseError("purged", f"{ref} was purged")
        if found.state != "same":
            changed = ": the text that it is part of has changed" if found.state == "other" else ""
            raise SlicebaseError("no-chunk", f"there is no {ref}{changed}")
        return Chunk(corpus_id, str(ref), found.text)

    def _complete(self, ref: Ref) -> Ref:
        """Returns the complete reference of a row that is named by the beginning of its id (ruling 53)."""
        file = self._folder.readable(ref.owner) if ref.kind == "row" else None
        if file is None or file.purged:
            return ref
        try:
            return Ref("row", f"{file.id}/{self._log(file).row(file, ref.local)[1].id}")
        except SlicebaseError as error:
            if error.code != "no-row":
                raise
            return ref

    def _log(self, file: SliceFile) -> Logs:
        """Returns what finds the parts of a file. A file that names none is a log by itself: no other file is read."""
        return Logs(self._folder, None if parts_of(file) else lambda: ())

    def holding(self, reference: str, quote: str) -> Chunk:
        """Returns the only chunk of a session or file that contains a quote; for a chunk's reference, that chunk."""
        ref = parse(reference)
        if ref.is_chunk:
            return self.chunk(reference)
        found = [chunk for chunk, own in self._of(ref) if any(span.end > own for span in places(chunk.text, quote))]
        if len(found) == 1:
            return found[0]
        if not found:
            raise SlicebaseError("quote-not-found", f"no chunk of {ref} contains the quote")
        named = ", ".join(chunk.chunk_id for chunk in found[:3])
        raise SlicebaseError(
            "quote-ambiguous", f"{len(found)} chunks of {ref} contain the quote", hint=f"name one of them: {named}"
        )

    def holding_either(self, reference: str, quote: str, other: str) -> tuple[Chunk, str]:
        """Returns the only chunk that contains a quote, or else another form of it, and the form that it contains."""
        try:
            found = self.holding(reference, quote)
        except SlicebaseError as error:
            if error.code != "quote-not-found" or other == quote:
                raise
            return self.holding(reference, other), other
        return found, quote if places(found.text, quote) else other

    def _of(self, ref: Ref) -> Iterator[tuple[Chunk, int]]:
        """Yields the chunks of a session or a file, each with the character after what another part has, too."""
        if ref.kind == "file":
            file = self._folder.find(ref.name)
            names = self._counted(self._log(file).whole(file))
        elif ref.kind == "session":
            names = ((f"turn:{stored.record.id}", 0) for stored in self._truth.turns.of_session(ref.name))
        else:
            raise SlicebaseError("not-a-chunk", f"{ref} has no chunks", hint="name a session or a file")
        for name, own in names:
            placed = self.placed(name)
            if placed.lookup.state == "same":
                yield Chunk(placed.corpus_id, name, placed.lookup.text), own

    def look_up(self, evidence: Evidence) -> Lookup:
        """Returns the text now of the chunk that evidence cites."""
        return self.placed(evidence.chunk_id).lookup

    def placed(self, reference: str) -> Placed:
        """Returns the corpus and the text of a chunk."""
        ref = chunk_ref(reference)
        return self._find[ref.kind](ref)

    def _counted(self, files: Sequence[SliceFile]) -> Iterator[tuple[str, int]]:
        """Yields the chunks of a file with its parts. What two parts have, as after a merge, counts once."""
        shorter = dict(without_repeated(files))
        for file in files:
            left, is_log = shorter.get(file, file), file.body_type == "jsonl"
            own = 0 if is_log else len(_text(file.body)) - len(_text(left.body))
            yield from ((name, own - start) for name, start in self._references(left if is_log else file))

    def _references(self, file: SliceFile) -> Iterator[tuple[str, int]]:
        """Yields the chunks of a file, each with the character at which a section begins."""
        note = self._note(file)
        if file.body_type == "jsonl":
            yield from ((f"row:{file.id}/{row.id}", 0) for row in read_rows(file.body).rows)
        elif file.kind == "pointer" and not note:
            data, payload = self._payload(file), file.payload
            if data is not None and payload and payload.hash == digest(data):
                yield from ((chunk.chunk_id, 0) for chunk in chunks(_text(data), payload.hash))
        elif not note or not note.problem:
            version = note.digest or "" if note else digest(file.body)
            for each in note_sections(note.text) if note else sections(_text(file.body)):
                yield str(section_ref(file.id or "", version, each)), each.start

    def _note(self, file: SliceFile) -> FoundNote | None:
        return note_of(self._folder, file, self.surroundings.redaction.uncounted)

    # One method for each kind of reference

    def _turn(self, ref: Ref) -> Placed:
        stored = self._truth.turns.find([ref.name]).get(ref.name)
        if stored is None:
            return Placed("session:?", GONE)
        corpus = f"session:{stored.record.session}"
        text = self._truth.texts.get(corpus, stored.record.content_hash)
        if text is None:
            return Placed(corpus, GONE)
        return Placed(corpus, PURGED if text.data is None else Lookup("same", turn_text(read_parts(text.data))))

    def _row(self, ref: Ref) -> Placed:
        def row_of(file: SliceFile) -> Lookup:
            def is_named(row: Row) -> bool:
                return row.id == ref.local or recorded(f"row:{ref.owner}/{row.id}") == str(ref)

            files = (file, *in_precedence(self._log(file).whole(file)))  # overflow may have moved it to a part
            rows = (row for part in files for row in read_rows(part.body).rows if is_named(row))
            return next((Lookup("same", row.text) for row in rows), GONE)

        return self._in_file(ref.owner, row_of)

    def _section(self, ref: Ref) -> Placed:
        def section_of(file: SliceFile) -> Lookup:
            note = self._note(file)
            if note and note.problem:
                return GONE
            body = note.text if note else _text(file.body)
            body_hash = (note.digest or "") if note else digest(file.body)
            for each in note_sections(body) if note else sections(body):
                if recorded(str(section_ref(ref.owner, body_hash, each))) == recorded(str(ref)):
                    return Lookup("same", body[each.start : each.end])
            return Lookup("other", body)

        return self._in_file(ref.owner, section_of)

    def _in_file(self, file_id: str, find: Callable[[SliceFile], Lookup]) -> Placed:
        file = self._folder.get(file_id)
        if file is None or file.id != file_id:
            return Placed(f"file:{file_id}", GONE)
        return Placed(f"file:{file_id}", PURGED if file.purged else find(file))

    def _document(self, ref: Ref) -> Placed:
        """Finds a document by its pointers, and uses the pointer whose payload is in the best state."""
        found = [
            Placed(f"doc:{file.payload.hash}", self._span(file, ref.local))
            for file in self._folder.mentioning(f"sha256:{ref.owner}".encode())
            if file.payload and (file.payload.hash or "").startswith(f"sha256:{ref.owner}")
        ]
        order = ["same", "purged", "other", "gone"]
        gone = Placed(f"doc:sha256:{ref.owner}", GONE)
        return min(found, key=lambda placed: order.index(placed.lookup.state), default=gone)

    def _span(self, file: SliceFile, local: str) -> Lookup:
        if file.purged:
            return PURGED
        data = self._payload(file)
        if data is None:
            return GONE
        text = _text(data)
        if file.payload is None or digest(data) != file.payload.hash:
            return Lookup("other", text)
        start, end = map(int, local.split("-"))
        return Lookup("same", text[start:end]) if start < end <= len(text) else GONE

    def _payload(self, file: SliceFile) -> bytes | None:
        """Returns the bytes of a payload that is inside the workspace (ruling 29), else None."""
        uri = file.payload.uri if file.payload else None
        inside = resolve(LIBRARY, uri) if uri and "://" not in uri else None
        if inside is None:
            return None
        try:
            path = real_path(self._folder.root / inside)
            return read_bytes(path) if path.is_relative_to(real_path(self._folder.root)) else None
        except (OSError, SlicebaseError):
            return None


def chunk_ref(reference: str) -> Ref:
    """Parses the reference of a chunk; raises `not-a-chunk` for any other."""
    ref = parse(reference)
    if not ref.is_chunk:
        raise SlicebaseError(
            "not-a-chunk", f"{reference} cannot be cited", hint="cite a turn, a row, a section or a span of a document"
        )
    return ref


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


# Documents and evidence


class AddedDocument(NamedTuple):
    """The pointer of a document and its chunks; `is_new` if there was no pointer to these bytes before."""

    file: SliceFile
    chunks: list[DocumentChunk]
    is_new: bool
    redacted: Mapping[str, int] = {}  # secrets that were replaced in the copy and in the title, by rule

    @property
    def id(self) -> str:
        """The id of the pointer's slice file."""
        return self.file.id or ""

    @property
    def ref(self) -> str:
        """The reference of the pointer, whose chunks can be cited by a quote."""
        return f"file:{self.file.id}"

    def __repr__(self) -> str:
        return f"AddedDocument(id={self.file.id!r}, chunks={len(self.chunks)}, is_new={self.is_new})"


def previews(found: Iterable[DocumentChunk], redact: Callable[[str], str]) -> list[str]:
    """Returns the text of each chunk to be shown. If a secret is in two chunks at once, there is no text to show."""
    texts = [chunk.text for chunk in found]
    clean = [redact(text) for text in texts]
    return clean if "".join(clean) == redact("".join(texts)) else ["" for _ in texts]


def add_document(
    library: "Library",
    path: Path,
    *,
    title: str | None = None,
    copy: bool = False,
    provenance: "Provenance | None" = None,
) -> AddedDocument:
    """Creates a pointer to a local text document, unless there is one, and returns it with the document's chunks."""
    data = b"".join(read_chunks(real_path(path))) if path.is_file() else None
    if data is None:
        raise SlicebaseError("no-input", "this is not a file", where=Where(str(path)))
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise SlicebaseError(
            "not-utf8",
            f"{path} is not UTF-8 text: byte {error.start} does not begin a character",
            hint=f"`tt create --from {path}` creates a pointer to a file of any kind",
            where=Where(str(path)),
        ) from None
    if copy:  # the copy is what the chunks are cut from
        text = library.surroundings.redaction.uncounted(text)
    payload_hash = digest(text.encode())
    found = chunks(text, payload_hash)
    for file in library.folder.mentioning(payload_hash.encode()):
        if file.payload and file.payload.hash == payload_hash and not file.purged:
            return AddedDocument(file, found, False)
    summary = f"A text of {len(text)} characters in {len(found)} chunks that can be cited."
    change = library.create(title or path.name, summary, from_file=path, copy=copy, provenance=provenance)
    return AddedDocument(change.file, found, True, change.redacted)
