"""The evidence ledger: everything that was cited, by the id that is derived from its record (ruling 36)."""

from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from slicebase.core.hashing import canonical, digest, id_from
from slicebase.errors import SlicebaseError
from slicebase.runs.evidence import Evidence
from slicebase.runs.records import Span
from slicebase.truth.chains import Chain, read_stored
from slicebase.truth.database import Database
from slicebase.truth.texts import Texts, hash_bytes, keep_texts


class Ledger(Mapping[str, Evidence]):
    """Evidence by its id, read from the database on access."""

    def __init__(self, database: Database, texts: Texts) -> None:
        self._database = database
        self.texts = texts
        self.records = Records(database)
        self.readable = ReadableRecords(self.records)

    def keep(self, evidence: Evidence) -> None:
        """Stores evidence once, also if it comes twice. Its quote belongs to the corpus that it cites (ruling 19)."""
        with self._database.writing() as connection:
            if evidence.evidence_id not in self.records:
                row = (evidence.evidence_id, evidence.chunk_id, record_bytes(evidence))
                self._database.append(Chain("evidence"), [row])
            if evidence.quote is not None:
                quote = {hash_bytes(evidence.quote_hash): evidence.quote.encode()}
                keep_texts(connection, evidence.corpus_id, quote)

    def __getitem__(self, evidence_id: str) -> Evidence:
        record = self.records[evidence_id]
        stored = self.texts.get(record.corpus_id, record.quote_hash)
        return replace(record, quote=stored.data.decode()) if stored and stored.data is not None else record

    def __contains__(self, evidence_id: object) -> bool:
        return evidence_id in self.records

    def __iter__(self) -> Iterator[str]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    def quotes_of(self, chunk_id: str) -> set[str]:
        """Returns the hashes of all quotes from a chunk."""
        return {record.quote_hash for record in self.of_chunk(chunk_id)}

    def of_chunk(self, chunk_id: str) -> list[Evidence]:
        """Returns all evidence that cites a chunk."""
        query = "SELECT evidence FROM evidence WHERE chunk = ? ORDER BY evidence"
        rows = self._database.connection.execute(query, (chunk_id,)).fetchall()
        return [self[str(name)] for (name,) in rows]


_MOST_CACHED = 100_000  # records


class Records(Mapping[str, Evidence]):
    """Evidence without its quotes. Records never change, so they are cached: the gate reads them again and again."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, Evidence] = {}

    def __getitem__(self, evidence_id: str) -> Evidence:
        known = self._known.get(evidence_id)
        if known is None:
            query = "SELECT record FROM evidence WHERE evidence = ?"
            row = self._database.connection.execute(query, (evidence_id,)).fetchone()
            if row is None:
                raise KeyError(evidence_id)
            known = read_record(evidence_id, row[0])
            if len(self._known) >= _MOST_CACHED:
                self._known.clear()
            self._known[evidence_id] = known
        return known

    def __iter__(self) -> Iterator[str]:
        rows = self._database.connection.execute("SELECT evidence FROM evidence ORDER BY evidence")
        yield from (str(name) for (name,) in rows)

    def __len__(self) -> int:
        return int(next(self._database.connection.execute("SELECT count(*) FROM evidence"))[0])


class ReadableRecords(Mapping[str, Evidence]):
    """Evidence without its quotes, for the gate: no claim can rest on a record that cannot be read.

    It is as if it was missing. An error instead would keep a run from its snapshot, and so from its end.
    """

    def __init__(self, records: Records) -> None:
        self._records = records

    def __getitem__(self, evidence_id: str) -> Evidence:
        try:
            return self._records[evidence_id]
        except SlicebaseError:
            raise KeyError(evidence_id) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)


_RECORD = msgspec.json.Decoder(tuple[str, str, int, int, str])


def read_record(evidence_id: str, record: bytes) -> Evidence:
    """Returns the evidence of a stored record, without its quote."""
    corpus_id, chunk_id, start, end, quote_hash = read_stored(_RECORD, record)
    return Evidence(
        evidence_id=evidence_id,
        corpus_id=corpus_id,
        chunk_id=chunk_id,
        span=Span(start=start, end=end),
        quote_hash=quote_hash,
        quote=None,
    )


def record_bytes(evidence: Evidence) -> bytes:
    """Returns the bytes of the record, from which the id is derived."""
    span = evidence.span
    return canonical([evidence.corpus_id, evidence.chunk_id, span.start, span.end, evidence.quote_hash])


def record_id(record: bytes) -> str:
    return id_from("ev_", digest(record))
