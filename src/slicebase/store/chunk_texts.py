"""What stands behind a chunk's reference now: turns from the truth, rows, sections and documents from the library."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from slicebase.core.digests import digest
from slicebase.core.refs import Ref, parse
from slicebase.errors import SlicebaseError
from slicebase.files.rows import read_rows
from slicebase.files.sections import section_ref, sections
from slicebase.files.slice_file import SliceFile
from slicebase.graph.record import read_parts
from slicebase.graph.turn import turn_text
from slicebase.runs.chunks import chunks
from slicebase.runs.evidence import GONE, PURGED, Chunk, Evidence, Lookup, places
from slicebase.store.slice_files import SliceFiles
from slicebase.store.truth import Truth

_TEXTUAL = frozenset({"markdown", "text", "yaml", "code"})


class ChunkTexts:
    def __init__(self, truth: Truth, files: SliceFiles, root: Path) -> None:
        self._truth = truth
        self._files = files
        self._root = root.resolve()
        self._find: Mapping[str, Callable[[Ref], tuple[str, Lookup]]] = {
            "turn": self._turn,
            "row": self._row,
            "sec": self._section,
            "doc": self._document,
        }

    def chunk(self, reference: str) -> Chunk:
        """A chunk that can be cited."""
        ref = _chunk_ref(reference)
        corpus_id, found = self._find[ref.kind](ref)
        if found.state == "purged":
            raise SlicebaseError("purged", f"{ref} was purged")
        if found.state != "same":
            changed = "; what it is part of has changed" if found.state == "other" else ""
            raise SlicebaseError("no-chunk", f"there is no {ref}{changed}", hint="`tt show` prints what is there")
        return Chunk(corpus_id, str(ref), found.text)

    def holding(self, reference: str, quote: str) -> Chunk:
        """The one chunk of a session or file in which a quote stands; a chunk's own reference names itself."""
        ref = parse(reference)
        if ref.is_chunk:
            return self.chunk(reference)
        found = [chunk for chunk in self.of(ref) if places(chunk.text, quote)]
        if len(found) == 1:
            return found[0]
        if not found:
            raise SlicebaseError("quote-not-found", f"no chunk of {ref} holds the quote")
        raise SlicebaseError(
            "quote-ambiguous",
            f"{len(found)} chunks of {ref} hold the quote",
            hint=f"name one: {', '.join(chunk.chunk_id for chunk in found[:3])}",
        )

    def of(self, ref: Ref) -> Iterator[Chunk]:
        """The chunks of a session or a file that can be read."""
        if ref.kind == "session":
            for stored in self._truth.turns.of_session(ref.name):
                yield from self._readable(f"turn:{stored.record.id}")
        elif ref.kind == "file":
            file = self._files.get(ref.name)
            if file is None:
                raise SlicebaseError("no-file", f"there is no file {ref.name}")
            for name in self._references(ref.name, file):
                yield from self._readable(name)
        else:
            raise SlicebaseError("not-a-chunk", f"{ref} has no chunks", hint="a session or a file has")

    def lookup(self, evidence: Evidence) -> Lookup:
        """What stands behind evidence now."""
        ref = _chunk_ref(evidence.chunk_id)
        return self._find[ref.kind](ref)[1]

    def _readable(self, reference: str) -> Iterator[Chunk]:
        ref = parse(reference)
        corpus_id, found = self._find[ref.kind](ref)
        if found.state == "same":
            yield Chunk(corpus_id, reference, found.text)

    def _references(self, file_id: str, file: SliceFile) -> Iterator[str]:
        if file.body_type == "jsonl":
            yield from (f"row:{file_id}/{row.id}" for row in read_rows(file.body).rows)
        elif file.body_type in _TEXTUAL:
            body_hash = digest(file.body)
            yield from (str(section_ref(file_id, body_hash, each)) for each in sections(_text(file.body)))
        elif file.payload and file.payload.hash and (data := self._payload(file)) is not None:
            yield from (chunk.chunk_id for chunk in chunks(_text(data), file.payload.hash))

    # One reference to its corpus and text

    def _turn(self, ref: Ref) -> tuple[str, Lookup]:
        stored = self._truth.turns.find([ref.name]).get(ref.name)
        if stored is None:
            return "session:?", GONE
        corpus = f"session:{stored.record.session}"
        text = self._truth.texts.get(corpus, stored.record.content_hash)
        if text is None:
            return corpus, GONE
        return corpus, PURGED if text.data is None else Lookup("same", turn_text(read_parts(text.data)))

    def _row(self, ref: Ref) -> tuple[str, Lookup]:
        corpus, file = f"file:{ref.owner}", self._files.get(ref.owner)
        if file is None:
            return corpus, GONE
        if file.purged is not None:
            return corpus, PURGED
        rows = (row for row in read_rows(file.body).rows if row.id == ref.local)
        return corpus, next((Lookup("same", row.text) for row in rows), GONE)

    def _section(self, ref: Ref) -> tuple[str, Lookup]:
        corpus, file = f"file:{ref.owner}", self._files.get(ref.owner)
        if file is None:
            return corpus, GONE
        if file.purged is not None:
            return corpus, PURGED
        body, body_hash = _text(file.body), digest(file.body)
        for each in sections(body):
            if section_ref(ref.owner, body_hash, each) == ref:
                return corpus, Lookup("same", body[each.start : each.end])
        return corpus, Lookup("other", body)

    def _document(self, ref: Ref) -> tuple[str, Lookup]:
        start, _, end = ref.local.partition("-")
        for file in self._files:
            payload = file.payload
            if payload is None or not (payload.hash or "").startswith(f"sha256:{ref.owner}"):
                continue
            corpus = f"doc:{payload.hash}"
            if file.purged is not None:
                return corpus, PURGED
            data = self._payload(file)
            if data is None:
                return corpus, GONE
            text = _text(data)
            if digest(data) != payload.hash:
                return corpus, Lookup("other", text)
            return corpus, Lookup("same", text[int(start) : int(end)]) if int(start) < int(end) <= len(text) else GONE
        return f"doc:sha256:{ref.owner}", GONE

    def _payload(self, file: SliceFile) -> bytes | None:
        """The bytes of a payload in the workspace (ruling 29)."""
        uri = file.payload.uri if file.payload else None
        path = (self._files.folder / uri).resolve() if uri and "://" not in uri else None
        if path is None or not path.is_relative_to(self._root):
            return None
        try:
            return path.read_bytes()
        except OSError:
            return None


def _chunk_ref(reference: str) -> Ref:
    ref = parse(reference)
    if not ref.is_chunk:
        raise SlicebaseError(
            "not-a-chunk", f"{reference} cannot be cited", hint="a turn, a row, a section or a span of a document can"
        )
    return ref


def _text(data: bytes) -> str:
    return data.decode(errors="replace")
