"""Assembly: candidates, best first, into a context under a budget, with the manifest that pins it."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from slicebase.context.excerpt import excerpt
from slicebase.context.manifest import Budget, LeftOut, Manifest, Piece, PinnedSlice, Span
from slicebase.context.rendering import RENDERER, group_heading, heading, piece_block, render
from slicebase.core.hashing import TOKENIZER, digest, tokens

# A piece takes at most this share of the budget, so that one long tool output does not fill a context alone,
# and is not cut below what is worth reading.
_LARGEST_SHARE = 4
_LEAST_TOKENS = 120


class Candidate(NamedTuple):
    """A text that may enter the context, with what its piece will say of it."""

    ref: str
    corpus: str
    content_hash: str
    text: str
    label: str
    group: str
    order: tuple[int, str]  # its place in its group: time, then id
    score: int
    parts: dict[str, int]
    passage: Span | None = None  # the part of the text that matters, where it is not all of it


class Context(NamedTuple):
    """A rendered context, its manifest, and the text of each piece by its hash."""

    text: str
    manifest: Manifest
    texts: dict[str, str]


def assemble(
    question: str,
    as_of: str,
    budget: Budget,
    candidates: Sequence[Candidate],
    *,
    terms: Collection[str],
    ranker: str,
    filters: dict[str, Any],
    slices: Sequence[PinnedSlice],
) -> Context:
    """Takes candidates in their order while the budget lasts; what does not fit is left out with its reason."""
    taken, left_out, texts = _fill(question, as_of, budget, candidates, terms)
    pieces = tuple(_in_reading_order(taken))
    text = render(question, as_of, pieces, texts)
    manifest = Manifest(
        question=question,
        as_of=as_of,
        budget=budget,
        tokens_used=tokens(text),
        pieces=pieces,
        considered=len(candidates),
        left_out=tuple(left_out),
        filters=filters,
        slices=tuple(slices),
        ranker=ranker,
        tokenizer=TOKENIZER,
        renderer=RENDERER,
        rendered_hash=digest(text.encode()),
    )
    return Context(text, manifest, texts)


def _fill(
    question: str, as_of: str, budget: Budget, candidates: Sequence[Candidate], terms: Collection[str]
) -> tuple[list[tuple[Candidate, Piece]], list[LeftOut], dict[str, str]]:
    room = budget.tokens - tokens(heading(question, as_of))
    longest = max(_LEAST_TOKENS, budget.tokens // _LARGEST_SHARE)
    taken: list[tuple[Candidate, Piece]] = []
    left_out: list[LeftOut] = []
    texts: dict[str, str] = {}
    groups: set[str] = set()
    for candidate in candidates:
        if budget.turns is not None and len(taken) >= budget.turns:
            left_out.append(LeftOut(candidate.ref, "turns", candidate.score))
            continue
        piece, text = _cut(candidate, terms, longest)
        # Each block's tokens are rounded up, and so is the line end between blocks: the sum never falls short.
        cost = piece.tokens + (0 if candidate.group in groups else tokens(group_heading(candidate.group)) + 1)
        if cost > room:
            left_out.append(LeftOut(candidate.ref, "tokens", candidate.score))
            continue
        room -= cost
        groups.add(candidate.group)
        taken.append((candidate, piece))
        texts[piece.text_hash] = text
    return taken, left_out, texts


def _cut(candidate: Candidate, terms: Collection[str], longest: int) -> tuple[Piece, str]:
    first, last = (candidate.passage.start, candidate.passage.end) if candidate.passage else (0, len(candidate.text))
    start, end = (first + place for place in excerpt(candidate.text[first:last], terms, longest))
    text = candidate.text[start:end]
    whole = end - start == len(candidate.text)
    label = candidate.label if whole else f"{candidate.label} · characters {start} to {end} of {len(candidate.text)}"
    piece = Piece(
        ref=candidate.ref,
        corpus=candidate.corpus,
        content_hash=candidate.content_hash,
        span=Span(start, end),
        text_hash=digest(text.encode()),
        label=label,
        tokens=tokens(piece_block(label, candidate.ref, text)) + 1,
        score=candidate.score,
        parts=candidate.parts,
        group=candidate.group,
        whole=whole,
    )
    return piece, text


def _in_reading_order(taken: Sequence[tuple[Candidate, Piece]]) -> list[Piece]:
    """The group with the best piece first; within a group, time order."""
    rank: dict[str, int] = {}
    for place, (candidate, _) in enumerate(taken):
        rank.setdefault(candidate.group, place)
    return [piece for _, piece in sorted(taken, key=lambda each: (rank[each[0].group], each[0].order))]
