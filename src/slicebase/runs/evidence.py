"""Evidence: the spans of chunks that claims cite, and whether the text is still there (ruling 36)."""

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from slicebase.core.hashing import digest, digest_of, id_from
from slicebase.core.refs import parse, recorded
from slicebase.errors import SlicebaseError
from slicebase.runs.records import Pointer, Record, Span


class Chunk(NamedTuple):
    """A text that can be cited: a turn, a row, a section or a span of a document."""

    corpus_id: str  # session:<id>, file:<id> or doc:<payload hash>
    chunk_id: str
    text: str


class Evidence(Record, frozen=True):
    """A quote that claims can cite: its id, its place in a text, and its hash. A purged one has no quote any more."""

    evidence_id: str
    corpus_id: str
    chunk_id: str
    span: Span
    quote_hash: str
    quote: str | None

    @property
    def id(self) -> str:
        """The id of the evidence, which claims cite."""
        return self.evidence_id

    @property
    def ref(self) -> str:
        """The reference of the text that the quote is taken from."""
        return self.chunk_id

    def __repr__(self) -> str:
        return f"Evidence(id={self.id!r}, ref={self.ref!r}, quote={self.quote and self.quote[:60]!r})"

    @property
    def pointer(self) -> Pointer:
        """The evidence as a claim stores it: its id, and the text and the span that it names."""
        return Pointer(evidence_id=self.evidence_id, chunk_id=self.chunk_id, span=self.span)

    @property
    def derived_id(self) -> str:
        """The id as it follows from the other fields; `verify` compares it with the stored one."""
        return evidence_id(self.corpus_id, self.chunk_id, self.span, self.quote_hash)


def evidence_id(corpus_id: str, chunk_id: str, span: Span, quote_hash: str) -> str:
    """Returns the id of a quote, which depends on its corpus, chunk, span and content."""
    return id_from("ev_", digest_of([corpus_id, chunk_id, span.start, span.end, quote_hash]))


def is_sound(evidence: Evidence) -> bool:
    """Returns whether the id, hash, span and quote of a record agree with each other."""
    kept = evidence.quote
    if kept is not None and (digest(kept.encode()) != evidence.quote_hash or len(kept) != _length(evidence.span)):
        return False
    return evidence.derived_id == evidence.evidence_id


def cite(chunk: Chunk, quote: str | None = None, span: Span | None = None) -> Evidence:
    """Returns evidence for a quote, for a span, or for a quote that must be at the span."""
    _check_corpus(chunk)
    if span is None:
        span = _only_place(chunk, quote or "")
    _check_span(chunk, span)
    text = chunk.text[span.start : span.end]
    if quote is not None and quote != text:
        raise SlicebaseError(
            "quote-not-found",
            f"{chunk.chunk_id} does not contain the quote at {span.start}–{span.end}",
            hint=f"the text there begins with {text[:60]!r}",
        )
    quote_hash, chunk_id = digest(text.encode()), recorded(chunk.chunk_id)
    return Evidence(
        evidence_id=evidence_id(chunk.corpus_id, chunk_id, span, quote_hash),
        corpus_id=chunk.corpus_id,
        chunk_id=chunk_id,
        span=span,
        quote_hash=quote_hash,
        quote=text,
    )


def places(text: str, quote: str) -> list[Span]:
    """Returns every place of a quote in a text, including overlapping ones."""
    found = []
    at = text.find(quote) if quote else -1
    while at >= 0:
        found.append(Span(start=at, end=at + len(quote)))
        at = text.find(quote, at + 1)
    return found


def _only_place(chunk: Chunk, quote: str) -> Span:
    found = places(chunk.text, quote)
    if not found:
        raise SlicebaseError(
            "quote-not-found",
            f"{chunk.chunk_id} does not contain the quote" if quote else "evidence needs a quote or a span",
            hint="quote the text exactly, with its spaces and line ends",
        )
    if len(found) > 1:
        spans = ", ".join(f"{span.start}–{span.end}" for span in found[:5])
        raise SlicebaseError(
            "quote-ambiguous",
            f"the quote is at {len(found)} places in {chunk.chunk_id}",
            hint=f"quote more text, or give a span: {spans}",
        )
    return found[0]


def _check_span(chunk: Chunk, span: Span) -> None:
    if not 0 <= span.start < span.end <= len(chunk.text):
        raise SlicebaseError(
            "bad-span",
            f"{span.start}–{span.end} is not a span of {chunk.chunk_id}, which has {len(chunk.text)} characters",
            hint="spans are half-open and count Unicode code points from 0",
        )


_CORPORA: Mapping[str, str] = {
    "turn": r"session:(?s:.+)",
    "row": r"file:{owner}",
    "sec": r"file:{owner}",
    "doc": r"doc:sha256:{owner}[0-9a-f]{{48}}",
}


def _check_corpus(chunk: Chunk) -> None:
    ref = parse(chunk.chunk_id)
    if not ref.is_chunk:
        raise SlicebaseError(
            "not-a-chunk",
            f"{chunk.chunk_id} cannot be cited",
            hint="cite a turn, a row, a section or a span of a document",
        )
    if not re.fullmatch(_CORPORA[ref.kind].format(owner=re.escape(ref.owner)), chunk.corpus_id):
        raise SlicebaseError("not-a-chunk", f"{chunk.chunk_id} is not a chunk of {chunk.corpus_id}")


def _length(span: Span) -> int:
    return span.end - span.start


# Resolving evidence against the text as it is now


class Lookup(NamedTuple):
    """What a chunk id leads to now: the same text, another text in its place, nothing, or a tombstone after a purge."""

    state: Literal["same", "other", "gone", "purged"]
    text: str = ""


GONE = Lookup("gone")
PURGED = Lookup("purged")


class Resolution(NamedTuple):
    """Whether cited text is still there.

    `quote` is the cited text, None after a purge. `moved_to` is the only place of the quote in a changed text.
    """

    status: Literal["found", "changed", "gone", "purged"]
    quote: str | None
    moved_to: Span | None = None


def resolve(evidence: Evidence, now: Lookup) -> Resolution:
    """Returns whether the quote is still where it was cited.

    A quote that is still there is found even if the ledger no longer has it.
    """
    there = now.text[evidence.span.start : evidence.span.end] if now.state == "same" else ""
    if there and digest(there.encode()) == evidence.quote_hash:
        return Resolution("found", there)
    if now.state == "purged" or evidence.quote is None:
        return Resolution("purged", None)
    if now.state == "gone":
        return Resolution("gone", evidence.quote)
    found = places(now.text, evidence.quote)
    return Resolution("changed", evidence.quote, found[0] if len(found) == 1 else None)
