"""Cited text in its place: what a piece of evidence quotes, the text around it, and whether it is still there."""

from typing import Final, NamedTuple

from slicebase.core.refs import Ref, parse
from slicebase.core.times import known_time
from slicebase.errors import SlicebaseError
from slicebase.runs.evidence import Evidence, Resolution, is_sound, resolve
from slicebase.runs.records import Span
from slicebase.verbs.evidence import ChunkTexts
from slicebase.verbs.parts import Parts

AROUND: Final = 400  # characters before and after a quote


class QuotePlace(NamedTuple):
    """A quote with the text around it, as it is now."""

    evidence: Evidence
    found: Resolution
    is_sound: bool  # its id, hash, span and quote agree
    span: Span | None  # where the quote is now in its chunk; None if it is not there
    before: str
    after: str
    length: int  # of the chunk now
    file: str | None  # the slice file that the chunk belongs to
    role: str | None  # of a turn
    time: str | None


def cited_place(parts: Parts, evidence_id: str, around: int = AROUND) -> QuotePlace:
    """Returns a quote in its place. Raises `no-evidence` if the ledger has none of this id."""
    record = parts.truth.ledger.get(evidence_id)
    if record is None:
        raise SlicebaseError("no-evidence", f"the ledger has no {evidence_id}", hint="`tt cite` adds evidence to it")
    now = ChunkTexts(parts).look_up(record)
    found = resolve(record, now)
    span = record.span if found.status == "found" else found.moved_to
    ref = parse(record.chunk_id)
    stored = parts.truth.turns.find([ref.name]).get(ref.name) if ref.kind == "turn" else None
    before, _, after = _around(parts, ref, now.text, span) if span else ("", "", "")
    return QuotePlace(
        evidence=record,
        found=found,
        is_sound=is_sound(record),
        span=span,
        before=before[max(0, len(before) - around) :],
        after=after[:around],
        length=len(now.text),
        file=file_of(parts, ref),
        role=stored.record.role if stored else None,
        time=known_time(stored.record.time) if stored else None,
    )


def cited_chunk(parts: Parts, reference: str, span: Span) -> tuple[str, str, str]:
    """Returns the text of a chunk: what is before a span of it, the span, and what is after it."""
    found = ChunkTexts(parts).chunk(reference)
    return _around(parts, parse(found.chunk_id), found.text, span)


def _around(parts: Parts, ref: Ref, text: str, span: Span) -> tuple[str, str, str]:
    """Returns a text in three pieces. Secrets in a document are replaced; one that the span cuts leaves one piece.

    The texts of all other chunks went through a door when they were stored, or when they were read.
    """
    pieces = (text[: span.start], text[span.start : span.end], text[span.end :])
    if ref.kind != "doc":
        return pieces
    clean = parts.surroundings.redaction.uncounted
    before, cited, after = map(clean, pieces)
    whole = clean(text)
    return (before, cited, after) if before + cited + after == whole else (whole, "", "")


def file_of(parts: Parts, ref: Ref) -> str | None:
    """Returns the id of the slice file that holds a chunk, or that points to its document."""
    if ref.kind in ("row", "sec"):
        return ref.owner
    if ref.kind != "doc":
        return None
    digest = f"sha256:{ref.owner}"
    pointers = parts.folder.mentioning(digest.encode())
    return next((each.id for each in pointers if each.payload and (each.payload.hash or "").startswith(digest)), None)
