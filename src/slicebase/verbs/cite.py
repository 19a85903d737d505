"""Citing: puts pieces of text into the evidence ledger, and reads what a claim cites."""

from collections.abc import Iterable

from slicebase.context.assemble import Piece
from slicebase.errors import SlicebaseError
from slicebase.runs.evidence import Evidence, cite
from slicebase.runs.records import Span
from slicebase.verbs.evidence import ChunkTexts
from slicebase.verbs.names import EVERYTHING, existing
from slicebase.verbs.parts import Parts
from slicebase.verbs.shown import ShownTurns, Within, boundary


def cite_chunk(
    parts: Parts,
    reference: str,
    *,
    quote: str | None = None,
    span: tuple[int, int] | None = None,
    within: Within = None,
) -> Evidence:
    """Adds a quote or a span of the text that a reference names to the evidence ledger.

    A quote that is not there as it is given is searched as it would be stored: without its secrets. A quote whose text
    has a secret, as a file can have that somebody edited, is refused: it cannot be changed. `within` is what was shown,
    or the bytes of a bundle or a SliceExport: text that is not in it is refused.
    """
    chunks, redaction, shown = ChunkTexts(parts), parts.surroundings.redaction, boundary(within)
    reference = existing(parts, str(parts.names.ref(reference, EVERYTHING, otherwise="file")))
    with parts.truth.database.writing():  # so that no purge comes between what is read and what is kept
        if quote:
            chunk, quote = chunks.holding_either(reference, quote, redaction.uncounted(quote))
        else:
            chunk = chunks.chunk(reference)
        if shown is not None:
            shown.refuse_outside(chunk.chunk_id)
        evidence = cite(chunk, quote, Span(start=span[0], end=span[1]) if span else None)
        redaction.refuse("the quote", evidence.quote)
        parts.truth.ledger.keep(evidence)
    return evidence


# What a claim cites

# The id of evidence, evidence, a reference with a quote from its text, or a piece of a context.
Cite = str | Evidence | tuple[str, str] | Piece
Cites = Cite | Iterable[Cite]


def cited(parts: Parts, cites: Cites, within: Within = None) -> list[Evidence]:
    """Returns the evidence of what is cited, after adding quotes and pieces to the ledger.

    With `within`, what was not shown is refused.
    """
    shown = boundary(within)
    return [_evidence(parts, each, shown) for each in _several(cites)]


def _evidence(parts: Parts, cite: Cite, within: ShownTurns | None) -> Evidence:
    if isinstance(cite, Piece):
        return cite_chunk(parts, cite.ref, span=(cite.span.start, cite.span.end), within=within)
    if isinstance(cite, tuple):
        return cite_chunk(parts, cite[0], quote=cite[1], within=within)
    if not isinstance(cite, str | Evidence):
        raise _cannot_be_cited(cite)
    name = parts.stored_names.id("ev", cite) if isinstance(cite, str) else cite.evidence_id
    record = parts.truth.ledger.get(name)
    if record is None:
        hint = "cite a reference with a quote: (ref, quote), or the id that `tt cite` prints"
        raise SlicebaseError("no-evidence", f"the ledger has no {name}", hint=hint)
    if within is not None:
        within.refuse_outside(record.chunk_id)
    return record


def _cannot_be_cited(given: object) -> SlicebaseError:
    hint = "give (reference, quote), evidence, its id, or several of these"
    return SlicebaseError("bad-arguments", f"a {type(given).__name__} cannot be cited", hint=hint)


def _several(cites: Cites) -> list[Cite]:
    """Returns what is cited as a list. A pair of texts is a reference with its quote, not two ids."""
    if isinstance(cites, str | Evidence | Piece):
        return [cites]
    if not isinstance(cites, Iterable):
        raise _cannot_be_cited(cites)
    pair = _pair(cites) if isinstance(cites, tuple) else None
    return [pair] if pair else [_pair(each) or each for each in cites]


def _pair(given: object) -> tuple[str, str] | None:
    """Returns a reference with its quote, also if the pair was read from JSON; None for anything else."""
    match given:
        case [str() as reference, str() as quote] if not reference.startswith("ev_"):
            return reference, quote
    return None
