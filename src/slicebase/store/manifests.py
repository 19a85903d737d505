"""Manifests and policies in the truth."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from slicebase.context.manifest import Manifest, manifest_bytes, manifest_id, read_manifest
from slicebase.core.canonical import canonical
from slicebase.core.digests import raw_digest
from slicebase.errors import SlicebaseError
from slicebase.store.database import Database
from slicebase.store.texts import keep_texts


class Recorded(NamedTuple):
    manifest: Manifest
    time: str


class Manifests:
    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, manifest: Manifest, time: str, texts: Mapping[bytes, bytes]) -> str:
        """Keeps a manifest, with the texts that would otherwise be lost; the same one twice is kept once."""
        record = manifest_bytes(manifest)
        name = manifest_id(record)
        with self._database.writing() as connection:
            known = connection.execute("SELECT 1 FROM manifests WHERE manifest = ?", (name,)).fetchone()
            if known is None:
                row = (name, time, record, recording_hash(name, time))
                connection.execute("INSERT INTO manifests VALUES (?, ?, ?, ?)", row)
                keep_texts(connection, f"manifest:{name}", texts)
        return name

    def get(self, name: str) -> Recorded:
        query = "SELECT record, recorded FROM manifests WHERE manifest = ?"
        row = self._database.connection.execute(query, (name,)).fetchone()
        if row is None:
            raise SlicebaseError("no-manifest", f"there is no manifest {name}", hint="`tt context` records one")
        return Recorded(read_manifest(row[0]), row[1])

    def all(self) -> Iterator[tuple[str, str, bytes, bytes]]:
        """Id, time of recording, record and hash of every manifest."""
        query = "SELECT manifest, recorded, record, hash FROM manifests ORDER BY manifest"
        yield from self._database.connection.execute(query)


def recording_hash(name: str, time: str) -> bytes:
    return raw_digest(canonical([name, time]))
