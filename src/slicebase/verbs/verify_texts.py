"""Checks for verify that a record names every text: a turn, an event, a snapshot, a manifest, evidence (ruling 45).

A text is stored in the transaction of the record that names it. So one that nothing names is not what a killed process
or another writer left: somebody put it there.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby

from slicebase.errors import SlicebaseError
from slicebase.truth.truth import Truth
from slicebase.verbs.verify_chains import VerifyFinding


def unnamed_texts(truth: Truth) -> Iterator[VerifyFinding]:
    """Yields the texts that no record names. Those that were purged are named by the purge."""
    quotes: dict[str, set[str]] = {}
    for evidence in truth.ledger.records.values():
        quotes.setdefault(evidence.corpus_id, set()).add(evidence.quote_hash)
    query = "SELECT owner, hash FROM texts WHERE purged IS NULL ORDER BY owner, hash"
    rows = truth.database.connection.execute(query)
    for owner, texts in groupby(rows, key=lambda row: str(row[0])):
        kind, _, name = owner.partition(":")
        try:
            named = quotes.get(owner, set()).union(_NAMES[kind](truth, name) if kind in _NAMES else ())
        except SlicebaseError:  # what could say which texts it has was purged
            continue
        for _, text_hash in texts:
            if (digest := f"sha256:{text_hash.hex()}") not in named:
                yield VerifyFinding(
                    "BROKEN", "text-unnamed", f"{owner} text {digest}", "a record that names it", "none"
                )


def _of_session(truth: Truth, session: str) -> Iterator[str]:
    yield from (record.content_hash for record in truth.turns.records_of(session))
    yield from (stored.record.content_hash for stored in truth.turns.of_session(session))


def _of_run(truth: Truth, run: str) -> Iterator[str]:
    for query in ("SELECT payload FROM events WHERE run = ?", "SELECT text FROM blobs WHERE run = ?"):
        for (text_hash,) in truth.database.connection.execute(query, (run,)):
            yield f"sha256:{text_hash.hex()}"
    yield from (record.body for record in truth.runs.snapshots.records(run))


def _of_manifest(truth: Truth, manifest: str) -> Iterator[str]:
    """Yields the texts of a manifest. Raises `purged` where nothing is left that says which they are."""
    if truth.manifests.knows(manifest):
        yield truth.manifests.text_of(manifest)
        yield from (piece.text_hash for piece in truth.manifests.get(manifest).manifest.pieces)


# Of the texts of a file or a document, all are quotes.
_NAMES: Mapping[str, Callable[[Truth, str], Iterator[str]]] = {
    "session": _of_session,
    "run": _of_run,
    "manifest": _of_manifest,
}
