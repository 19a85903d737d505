"""Manifests in the truth, and the texts that they pin."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from slicebase.context.manifest import (
    Manifest,
    PinnedPiece,
    ReplayProblem,
    manifest_bytes,
    manifest_id,
    named,
    pinned_hash,
    read_manifest,
)
from slicebase.core.hashing import LARGEST_INTEGER, raw_digest
from slicebase.core.ids import is_uuid
from slicebase.core.refs import parse
from slicebase.core.times import to_text
from slicebase.errors import SlicebaseError
from slicebase.graph.contents import readable_text
from slicebase.graph.record import read_parts
from slicebase.graph.turn import turn_text
from slicebase.runs.records import ManifestLogged
from slicebase.truth.chains import Chain
from slicebase.truth.database import Database
from slicebase.truth.texts import StoredText, Texts, keep_texts
from slicebase.truth.turns import Turns

if TYPE_CHECKING:
    from slicebase.context.assemble import Context


_KNOWN = "SELECT recorded, text FROM manifests WHERE manifest = ?"


class StoredManifest(NamedTuple):
    """A manifest, and the time at which it was recorded."""

    manifest: Manifest
    time: str


class Manifests:
    """The manifests of a database."""

    def __init__(self, database: Database, texts: Texts, turns: Turns) -> None:
        self._database = database
        self._texts = texts
        self._turns = turns

    def record(self, manifest: Manifest, time: str, texts: Mapping[bytes, bytes]) -> str:
        """Stores a manifest with the texts that would otherwise be lost, and returns its id.

        The same manifest is stored once.
        """
        record = manifest_bytes(manifest)
        name = manifest_id(record)
        with self._database.writing() as connection:
            if connection.execute(_KNOWN, (name,)).fetchone() is None:
                self._database.append(Chain("manifests"), [(name, time, raw_digest(record))])
            keep_texts(connection, owner(name), {raw_digest(record): record, **texts})
        return name

    def keep(self, built: "Context", now: int) -> None:
        """Records the manifest of a context, with the texts of the pieces that are not turns.

        Raises `no-turn` if a turn of the context is not stored here.
        """
        name = built.id  # made from all pieces
        for piece in built.manifest.pieces:
            if piece.corpus.startswith("session:") and self._stored(name, piece) is None:
                hint = "record a context in the workspace that it was built in"
                raise SlicebaseError("no-turn", f"the text of {piece.ref} is not stored here", hint=hint)
        self.record(built.manifest, to_text(now), texts_to_keep(built))

    def get(self, name: str) -> StoredManifest:
        """Returns the manifest with this id. Raises `broken-record` if it is not the one that was recorded.

        One in which a purge has replaced words is read as it is: `tt verify` knows the purges.
        """
        data, time, is_purged = self._data(name)
        if not is_purged and manifest_id(data) != name:
            raise SlicebaseError("broken-record", f"{name} is not as it was recorded", hint="`tt verify` says more")
        return StoredManifest(named(read_manifest(data), name), time)

    def _data(self, name: str) -> tuple[bytes, str, bool]:
        """Returns what is stored of a manifest, when it was recorded, and whether words of it were purged."""
        row = self._database.connection.execute(_KNOWN, (name,)).fetchone()
        if row is None:
            raise SlicebaseError("no-manifest", f"there is no manifest {name}", hint="`tt context` records one")
        stored = self._texts.get(owner(name), f"sha256:{row[1].hex()}")
        if stored is None:
            raise SlicebaseError("broken-record", f"{name} has lost its text", hint="`tt verify` says more")
        if stored.data is None:
            raise SlicebaseError("purged", f"{name} was purged {stored.purged}")
        return stored.data, row[0], stored.purged is not None

    def knows(self, name: str) -> bool:
        """Returns whether there is a manifest with this id."""
        return self._database.connection.execute(_KNOWN, (name,)).fetchone() is not None

    def size(self) -> tuple[int, int]:
        """Returns how many manifests there are, and how many bytes they and the texts that they keep have."""
        query = """SELECT (SELECT count(*) FROM manifests), (SELECT coalesce(sum(length(bytes)), 0) FROM texts
            WHERE owner >= 'manifest:' AND owner < 'manifest;')"""
        count, size = next(self._database.connection.execute(query))
        return int(count), int(size)

    def newest(self) -> str:
        """Returns the id of the manifest that was recorded last."""
        query = "SELECT manifest FROM manifests ORDER BY recorded DESC, seq DESC LIMIT 1"
        row = self._database.connection.execute(query).fetchone()
        if row is None:
            raise SlicebaseError("no-manifest", "no context has been recorded yet", hint="`tt context` records one")
        return str(row[0])

    def newest_first(self, limit: int, before: int | None = None) -> list[tuple[int, str, str]]:
        """Returns the last manifests, or those before one of this number: number, id, and time of recording."""
        query = "SELECT seq, manifest, recorded FROM manifests WHERE seq < ? ORDER BY seq DESC LIMIT ?"
        last = LARGEST_INTEGER if before is None else before
        rows: list[Any] = self._database.connection.execute(query, (last, limit)).fetchall()
        return [(int(seq), str(name), str(time)) for seq, name, time in rows]

    def names(self) -> list[str]:
        """Returns the ids of all manifests, in the order in which they were recorded."""
        rows: list[Any] = self._database.connection.execute("SELECT manifest FROM manifests ORDER BY seq").fetchall()
        return [str(name) for (name,) in rows]

    def readable(self) -> Iterator[tuple[str, StoredManifest]]:
        """Yields the manifests that can be read, each with its id: not those that were purged.

        One that is not as it was recorded is among them: a purge looks for the texts that it keeps.
        """
        for name in self.names():
            with suppress(SlicebaseError):
                data, time, _ = self._data(name)
                yield name, StoredManifest(read_manifest(data), time)

    def text_of(self, name: str) -> str:
        """Returns the digest of the text of a manifest."""
        return f"sha256:{next(self._database.connection.execute(_KNOWN, (name,)))[1].hex()}"

    def texts_from(self, corpus: str) -> Iterator[tuple[str, str]]:
        """Yields the texts that manifests keep of a corpus: owner and digest."""
        for name, stored in self.readable():
            yield from ((owner(name), each.text_hash) for each in stored.manifest.pieces if each.corpus == corpus)

    def texts_of(self, name: str, manifest: Manifest) -> tuple[dict[str, str], list[ReplayProblem]]:
        """Returns the texts of the pieces by their hashes, cut from the stored texts, and the problems with them."""
        texts: dict[str, str] = {}
        problems = []
        for piece in manifest.pieces:
            source = self._source(name, piece)
            stored = self._texts.get(*source)
            text = _cut(piece, stored.data) if stored and stored.data is not None else None
            if text is not None and piece.is_of(text):
                texts[piece.text_hash] = text
            elif stored and stored.purged:
                problems.append(ReplayProblem("PURGED", piece.ref, source, piece.text_hash, f"purged {stored.purged}"))
            else:
                found = "no text" if text is None else pinned_hash(piece.corpus, text)
                problems.append(ReplayProblem("BROKEN", piece.ref, source, piece.text_hash, found))
        return texts, problems

    def _source(self, name: str, piece: PinnedPiece) -> tuple[str, str]:
        """Returns the owner and the hash of the text that a piece is cut from.

        Turns never change, and their texts belong to the session: the record of the turn has the hash. Files can
        change, so their texts belong to the manifest.
        """
        if not piece.corpus.startswith("session:"):
            return owner(name), piece.text_hash
        turn = piece.ref.removeprefix("turn:")  # in a record that somebody has changed, anything
        content_hash = ""
        with suppress(SlicebaseError):  # the record of the turn cannot be read
            stored = self._turns.find([turn]) if is_uuid(turn) else {}
            content_hash = next((each.record.content_hash for each in stored.values()), "")
        return piece.corpus, content_hash

    def _stored(self, name: str, piece: PinnedPiece) -> StoredText | None:
        return self._texts.get(*self._source(name, piece))


class ManifestEntries(Mapping[str, ManifestLogged | None]):
    """What the log of a run says about each stored manifest, read on access; None for a manifest that was purged.

    A manifest that is missing, or that is not the one that its id names, has no entry: no run can rest on it.
    """

    def __init__(self, database: Database, texts: Texts) -> None:
        self._database = database
        self._texts = texts

    def __getitem__(self, name: str) -> ManifestLogged | None:
        row = self._database.connection.execute(_KNOWN, (name,)).fetchone()
        stored = self._texts.get(owner(name), f"sha256:{row[1].hex()}") if row else None
        if stored is None:
            raise KeyError(name)
        if stored.purged or stored.data is None:
            return None
        if manifest_id(stored.data) != name:
            raise KeyError(name)
        try:
            return manifest_entry(named(read_manifest(stored.data), name))
        except SlicebaseError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        rows = self._database.connection.execute("SELECT manifest FROM manifests ORDER BY seq")
        yield from (str(name) for (name,) in rows)

    def __len__(self) -> int:
        return int(next(self._database.connection.execute("SELECT count(*) FROM manifests"))[0])


def manifest_entry(manifest: Manifest) -> ManifestLogged:
    """Returns what the log of a run records of a manifest (ruling 38)."""
    chunks = [piece.ref for piece in manifest.pieces if parse(piece.ref).is_chunk]
    return ManifestLogged(
        manifest_id=manifest.manifest_id,
        policy_params_hash=manifest.policy_params_hash,
        candidates=manifest.considered,
        selected=len(manifest.pieces),
        excluded_by_reason={reason: scores.count for reason, scores in manifest.left_out.reasons.items()},
        filters=tuple(f"{name}={json.dumps(value)}" for name, value in sorted(manifest.filters.items())),
        source_ids=tuple(dict.fromkeys(piece.corpus for piece in manifest.pieces)),
        chunk_ids=tuple(dict.fromkeys(chunks)),
    )


def owner(name: str) -> str:
    """Returns the owner under which the texts of a manifest are stored."""
    return f"manifest:{name}"


def texts_to_keep(built: "Context") -> dict[bytes, bytes]:
    """Returns the texts of the pieces that are not turns, by their hashes: the manifest stores them (ruling 42)."""
    kept = [built.texts[piece.text_hash] for piece in built.manifest.pieces if not piece.corpus.startswith("session:")]
    return {raw_digest(text.encode()): text.encode() for text in kept}


def _cut(piece: PinnedPiece, data: bytes) -> str | None:
    """Returns the text of a piece, cut from stored bytes, or None where they cannot be read.

    A piece of a turn is cut from its readable text, or from the text that evidence is cut from: the hash says which.
    """
    try:
        if not piece.corpus.startswith("session:"):
            return data.decode()
        parts = read_parts(data)
    except (UnicodeDecodeError, SlicebaseError):
        return None
    cut = [text(parts)[piece.span.start : piece.span.end] for text in (readable_text, turn_text)]
    return next((text for text in cut if piece.is_of(text)), cut[0])
