"""Purging: turns, sessions and runs, and what else holds a purged file's content (rulings 19 and 31)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import apsw

from slicebase.context.manifest import read_manifest
from slicebase.core.refs import Ref
from slicebase.errors import SlicebaseError, Where
from slicebase.files.slice_file import SliceFile
from slicebase.store.database import translated
from slicebase.store.disposable import Disposable
from slicebase.store.pointers import remove_copy
from slicebase.store.shelf import Shelf
from slicebase.store.truth import Truth
from slicebase.store.turn_index import TurnIndex
from slicebase.store.workspace import Workspace


def purge_payload(shelf: Shelf, file: SliceFile) -> bool:
    return remove_copy(shelf, file.payload.uri if file.payload else None)


def purge_kept_texts(truth: Truth, file: SliceFile, now: str) -> int:
    """Replaces what manifests and the ledger kept of the file by tombstones; answers how many texts that were."""
    file_id, payload = file.id or "", file.payload
    quoted = [f"file:{file_id}", *([f"doc:{payload.hash}"] if payload and payload.hash else [])]
    with _for_good(truth):
        return _purge_pieces(truth, f"file:{file_id}", now) + sum(
            truth.texts.purge_all(corpus, now) for corpus in quoted
        )


def _purge_pieces(truth: Truth, corpus: str, now: str) -> int:
    """The same for what manifests kept of a corpus."""
    count = 0
    for name, _, record, _ in list(truth.manifests.all()):
        hashes = {piece.text_hash for piece in read_manifest(record).pieces if piece.corpus == corpus}
        count += truth.texts.purge(f"manifest:{name}", hashes, now) if hashes else 0
    return count


def purge_run(truth: Truth, run_id: str, mark: str, *, dry_run: bool = False) -> int:
    """Replaces all payloads, blobs and snapshots of a run by tombstones; answers how many. Its chain stays provable."""
    truth.runs.log.tally(run_id)
    if dry_run:
        return truth.texts.count(f"run:{run_id}")
    truth.runs.remember(None)
    with _for_good(truth):
        return truth.texts.purge_all(f"run:{run_id}", mark) + _purge_pieces(truth, f"run:{run_id}", mark)


def purge_caches(workspace: Workspace, index: Disposable, file_id: str) -> None:
    """Takes the file's words out of what is derived from it: the index is made anew when it is next asked."""
    if workspace.chunks.exists():
        with TurnIndex(workspace.chunks) as chunks:
            chunks.remove_sessions([file_id])
    if not index.discard():
        raise SlicebaseError(
            "locked",
            "the index is in use and still holds what was purged",
            hint="purge it again when the other process is done",
            where=Where(str(index.path)),
        )


class PurgedTurns(NamedTuple):
    """What a purge took away: the texts, and the turns that had them (equal texts of a session are one text)."""

    texts: int
    turns: tuple[str, ...]


def purge_turns(truth: Truth, index: TurnIndex, ref: Ref, mark: str, *, dry_run: bool = False) -> PurgedTurns:
    """Replaces the text of a turn, or of all turns of a session, by a tombstone, in the truth and in the index."""
    session = ref.name if ref.kind == "session" else truth.turns.get(ref.name).record.session
    truth.turns.session(session)
    records = [stored.record for stored in truth.turns.of_session(session)]
    gone = {record.content_hash for record in records if ref.kind == "session" or record.id == ref.name}
    turns = tuple(record.id for record in records if record.content_hash in gone)
    if dry_run:
        return PurgedTurns(len(gone), turns)
    quotes = {quote for turn in turns for quote in truth.ledger.quotes_of(f"turn:{turn}")}
    with _for_good(truth):
        count = truth.texts.purge(f"session:{session}", gone, mark)
        truth.texts.purge(f"session:{session}", quotes, mark)
        index.remove(turns)
    return PurgedTurns(count, turns)


@contextmanager
def _for_good(truth: Truth) -> Iterator[None]:
    """Neither the free pages of the file nor the log keep what is taken away inside."""
    connection = truth.database.connection
    connection.execute("PRAGMA secure_delete = ON")
    yield
    with translated(truth.database.path):
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        connection.execute("VACUUM")
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
