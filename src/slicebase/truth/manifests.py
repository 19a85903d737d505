"""Manifests in the truth, and the texts that they pin."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from slicebase.context.manifest import Manifest, Piece, ReplayProblem, manifest_bytes, manifest_id, read_manifest
from slicebase.core.hashing import canonical, digest, raw_digest
from slicebase.core.times import to_text
from slicebase.errors import SlicebaseError
from slicebase.graph.record import read_parts
from slicebase.graph.turn import turn_text
from slicebase.truth.database import Database
from slicebase.truth.texts import Texts, keep_texts

if TYPE_CHECKING:
    from slicebase.context.assemble import Context


class StoredManifest(NamedTuple):
    manifest: Manifest
    time: str


class Manifests:
    def __init__(self, database: Database, texts: Texts) -> None:
        self._database = database
        self._texts = texts

    def record(self, manifest: Manifest, time: str, texts: Mapping[bytes, bytes]) -> str:
        """Keeps a manifest, with the texts that would otherwise be lost; the same one twice is kept once."""
        record = manifest_bytes(manifest)
        name = manifest_id(record)
        with self._database.writing() as connection:
            row = (name, time, record, recording_hash(name, time))
            connection.execute("INSERT INTO manifests VALUES (?, ?, ?, ?)", row)
            keep_texts(connection, f"manifest:{name}", texts)
        return name

    def keep(self, built: "Context", now: int) -> None:
        """Records the manifest of a context, with the texts of pieces that are no turns."""
        self.record(built.manifest, to_text(now), texts_to_keep(built))

    def get(self, name: str) -> StoredManifest:
        query = "SELECT record, recorded FROM manifests WHERE manifest = ?"
        row = self._database.connection.execute(query, (name,)).fetchone()
        if row is None:
            raise SlicebaseError("no-manifest", f"there is no manifest {name}", hint="`tt context` records one")
        return StoredManifest(read_manifest(row[0]), row[1])

    def newest(self) -> str:
        """The manifest that was recorded last."""
        query = "SELECT manifest FROM manifests ORDER BY recorded DESC, rowid DESC LIMIT 1"
        row = self._database.connection.execute(query).fetchone()
        if row is None:
            raise SlicebaseError("no-manifest", "no context was recorded yet", hint="`tt context` records one")
        return str(row[0])

    def all(self) -> Iterator[tuple[str, str, bytes, bytes]]:
        """Id, time of recording, record and hash of every manifest; bytes are bytes, whatever was put there."""
        columns = "manifest, recorded, CAST(record AS BLOB), CAST(hash AS BLOB)"
        query = f"SELECT {columns} FROM manifests ORDER BY manifest"
        yield from self._database.connection.execute(query)

    def purge_texts(self, corpus: str, now: str) -> int:
        """Replaces what manifests kept of a corpus by tombstones; returns how many texts there were."""
        count = 0
        for name, _, record, _ in list(self.all()):
            hashes = {piece.text_hash for piece in read_manifest(record).pieces if piece.corpus == corpus}
            count += self._texts.purge(f"manifest:{name}", hashes, now) if hashes else 0
        return count

    def texts_of(self, name: str, manifest: Manifest) -> tuple[dict[str, str], list[ReplayProblem]]:
        """The pieces' texts by their hashes, cut from what is stored, and what is wrong with any."""
        texts: dict[str, str] = {}
        problems = []
        for piece in manifest.pieces:
            source = _source(name, piece)
            stored = self._texts.get(*source)
            text = _cut(piece, stored.data) if stored and stored.data is not None else None
            if text is not None and digest(text.encode()) == piece.text_hash:
                texts[piece.text_hash] = text
            elif stored and stored.purged:
                problems.append(ReplayProblem("PURGED", piece.ref, source, piece.text_hash, f"purged {stored.purged}"))
            else:
                found = "no text" if text is None else digest(text.encode())
                problems.append(ReplayProblem("BROKEN", piece.ref, source, piece.text_hash, found))
        return texts, problems


def _source(name: str, piece: Piece) -> tuple[str, str]:
    """Turns never change and are kept with their session; text of mutable files is kept with the manifest."""
    if piece.corpus.startswith("session:"):
        return piece.corpus, piece.content_hash
    return f"manifest:{name}", piece.text_hash


def _cut(piece: Piece, data: bytes) -> str | None:
    try:
        if not piece.corpus.startswith("session:"):
            return data.decode()
        return turn_text(read_parts(data))[piece.span.start : piece.span.end]
    except (UnicodeDecodeError, SlicebaseError):
        return None


def recording_hash(name: str, time: str) -> bytes:
    return raw_digest(canonical([name, time]))


def texts_to_keep(built: "Context") -> dict[bytes, bytes]:
    """The pieces that are no turns, which a manifest keeps by their hashes (ruling 42)."""
    kept = [built.texts[piece.text_hash] for piece in built.manifest.pieces if not piece.corpus.startswith("session:")]
    return {raw_digest(text.encode()): text.encode() for text in kept}
