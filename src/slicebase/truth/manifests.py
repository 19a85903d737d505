"""Manifests in the truth, and the texts that they pin."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from slicebase.context.manifest import Manifest, PinnedPiece, ReplayProblem, manifest_bytes, manifest_id, read_manifest
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
    """A manifest, and the time at which it was recorded."""

    manifest: Manifest
    time: str


class Manifests:
    """The manifests of a database."""

    def __init__(self, database: Database, texts: Texts) -> None:
        self._database = database
        self._texts = texts

    def record(self, manifest: Manifest, time: str, texts: Mapping[bytes, bytes]) -> str:
        """Stores a manifest with the texts that would otherwise be lost, and returns its id.

        The same manifest is stored once.
        """
        record = manifest_bytes(manifest)
        name = manifest_id(record)
        with self._database.writing() as connection:
            row = (name, time, record, recording_hash(name, time))
            connection.execute("INSERT INTO manifests VALUES (?, ?, ?, ?)", row)
            keep_texts(connection, f"manifest:{name}", texts)
        return name

    def keep(self, built: "Context", now: int) -> None:
        """Records the manifest of a context, with the texts of the pieces that are not turns.

        Raises `no-turn` if a turn of the context is not stored here.
        """
        for piece in built.manifest.pieces:
            if piece.corpus.startswith("session:") and self._texts.get(piece.corpus, piece.content_hash) is None:
                hint = "record a context in the workspace that it was built in"
                raise SlicebaseError("no-turn", f"the text of {piece.ref} is not stored here", hint=hint)
        self.record(built.manifest, to_text(now), texts_to_keep(built))

    def get(self, name: str) -> StoredManifest:
        """Returns the manifest with this id."""
        query = "SELECT record, recorded FROM manifests WHERE manifest = ?"
        row = self._database.connection.execute(query, (name,)).fetchone()
        if row is None:
            raise SlicebaseError("no-manifest", f"there is no manifest {name}", hint="`tt context` records one")
        return StoredManifest(read_manifest(row[0]), row[1])

    def newest(self) -> str:
        """Returns the id of the manifest that was recorded last."""
        query = "SELECT manifest FROM manifests ORDER BY recorded DESC, rowid DESC LIMIT 1"
        row = self._database.connection.execute(query).fetchone()
        if row is None:
            raise SlicebaseError("no-manifest", "no context has been recorded yet", hint="`tt context` records one")
        return str(row[0])

    def all(self) -> Iterator[tuple[str, str, bytes, bytes]]:
        """Yields the id, the time of recording, the record and the hash of every manifest.

        The casts return bytes even if another program stored another type there.
        """
        columns = "manifest, recorded, CAST(record AS BLOB), CAST(hash AS BLOB)"
        query = f"SELECT {columns} FROM manifests ORDER BY manifest"
        yield from self._database.connection.execute(query)

    def purge_texts(self, corpus: str, now: str) -> int:
        """Replaces the texts that manifests keep of a corpus by tombstones. Returns how many texts it purged."""
        count = 0
        for name, _, record, _ in list(self.all()):
            hashes = {piece.text_hash for piece in read_manifest(record).pieces if piece.corpus == corpus}
            count += self._texts.purge(f"manifest:{name}", hashes, now) if hashes else 0
        return count

    def texts_of(self, name: str, manifest: Manifest) -> tuple[dict[str, str], list[ReplayProblem]]:
        """Returns the texts of the pieces by their hashes, cut from the stored texts, and the problems with them."""
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


def recording_hash(name: str, time: str) -> bytes:
    """Returns the hash that covers the id of a manifest and the time of recording."""
    return raw_digest(canonical([name, time]))


def texts_to_keep(built: "Context") -> dict[bytes, bytes]:
    """Returns the texts of the pieces that are not turns, by their hashes: the manifest stores them (ruling 42)."""
    kept = [built.texts[piece.text_hash] for piece in built.manifest.pieces if not piece.corpus.startswith("session:")]
    return {raw_digest(text.encode()): text.encode() for text in kept}


def _source(name: str, piece: PinnedPiece) -> tuple[str, str]:
    """Returns the owner and the hash of the text that a piece is cut from.

    Turns never change, and their texts belong to the session. Files can change, so their texts belong to the manifest.
    """
    if piece.corpus.startswith("session:"):
        return piece.corpus, piece.content_hash
    return f"manifest:{name}", piece.text_hash


def _cut(piece: PinnedPiece, data: bytes) -> str | None:
    """Returns the text of a piece, cut from stored bytes, or None where they cannot be read."""
    try:
        if not piece.corpus.startswith("session:"):
            return data.decode()
        return turn_text(read_parts(data))[piece.span.start : piece.span.end]
    except (UnicodeDecodeError, SlicebaseError):
        return None
