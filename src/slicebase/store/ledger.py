"""The evidence ledger: what was cited, by the id that its record gives (ruling 36)."""

from collections.abc import Iterator, Mapping

import msgspec

from slicebase.core.canonical import canonical
from slicebase.core.digests import digest, id_from
from slicebase.runs.evidence import Evidence
from slicebase.runs.records import Span
from slicebase.store.database import Database
from slicebase.store.texts import Texts, hash_bytes, keep_texts

_RECORD = msgspec.json.Decoder(tuple[str, str, int, int, str])


class Ledger(Mapping[str, Evidence]):
    """Evidence by its id, read when it is asked for."""

    def __init__(self, database: Database, texts: Texts) -> None:
        self._database = database
        self._texts = texts

    def keep(self, evidence: Evidence) -> None:
        """The same evidence twice is kept once. Its quote belongs to the corpus that it was cut from (ruling 19)."""
        with self._database.writing() as connection:
            if evidence.evidence_id not in self:
                row = (evidence.evidence_id, evidence.chunk_id, record_bytes(evidence))
                connection.execute("INSERT INTO evidence VALUES (?, ?, ?)", row)
            if evidence.quote is not None:
                quote = {hash_bytes(evidence.quote_hash): evidence.quote.encode()}
                keep_texts(connection, evidence.corpus_id, quote)

    def __getitem__(self, evidence_id: str) -> Evidence:
        query = "SELECT record FROM evidence WHERE evidence = ?"
        row = self._database.connection.execute(query, (evidence_id,)).fetchone()
        if row is None:
            raise KeyError(evidence_id)
        return self._read(evidence_id, row[0])

    def __contains__(self, evidence_id: object) -> bool:
        query = "SELECT 1 FROM evidence WHERE evidence = ?"
        return self._database.connection.execute(query, (evidence_id,)).fetchone() is not None

    def __iter__(self) -> Iterator[str]:
        rows = self._database.connection.execute("SELECT evidence FROM evidence ORDER BY evidence")
        yield from (name for (name,) in rows)

    def __len__(self) -> int:
        return int(next(self._database.connection.execute("SELECT count(*) FROM evidence"))[0])

    def of_chunk(self, chunk_id: str) -> list[Evidence]:
        query = "SELECT evidence, record FROM evidence WHERE chunk = ? ORDER BY evidence"
        rows = self._database.connection.execute(query, (chunk_id,))
        return [self._read(str(name), record) for name, record in list(rows)]

    def _read(self, evidence_id: str, record: bytes) -> Evidence:
        corpus_id, chunk_id, start, end, quote_hash = _RECORD.decode(record)
        stored = self._texts.get(corpus_id, quote_hash)
        quote = stored.data.decode() if stored and stored.data is not None else None
        return Evidence(
            evidence_id=evidence_id,
            corpus_id=corpus_id,
            chunk_id=chunk_id,
            span=Span(start=start, end=end),
            quote_hash=quote_hash,
            quote=quote,
        )


def record_bytes(evidence: Evidence) -> bytes:
    span = evidence.span
    return canonical([evidence.corpus_id, evidence.chunk_id, span.start, span.end, evidence.quote_hash])


def record_id(record: bytes) -> str:
    return id_from("ev_", digest(record))
