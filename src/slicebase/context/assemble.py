"""Assembly: the best candidates for a question become a context within a budget, with the manifest that pins it.

Long texts are cut to the excerpt with the most words of the question.
"""

import re
from collections.abc import Collection, Sequence
from math import inf
from typing import Any, NamedTuple

from slicebase.context.manifest import (
    RENDERER,
    Budget,
    LeftOut,
    Manifest,
    PinnedPiece,
    PinnedSlice,
    group_heading,
    heading,
    piece_block,
    render,
)
from slicebase.core.hashing import TOKENIZER, digest, tokens
from slicebase.graph.policy import SlicePolicyV1
from slicebase.runs.records import Span

# Excerpts of long texts

_WORD = re.compile(r"\w+")
_BREAKS = ("\n\n", "\n", " ")


def excerpt(text: str, terms: Collection[str], limit: int) -> tuple[int, int]:
    """Returns a span of at most `limit` tokens.

    It is the complete text if that fits, else the window with the most distinct terms, the earliest of equal ones.
    """
    if tokens(text) <= limit:
        return 0, len(text)
    width = max(1, limit * 3 * len(text) // len(text.encode("utf-8", "surrogatepass")))
    start = _densest_start(text, frozenset(terms), width)
    end = min(len(text), start + width)
    while tokens(text[start:end]) > limit:
        end -= 1 + (tokens(text[start:end]) - limit) // 2
    return _tidy(text, start, end)


def _densest_start(text: str, terms: frozenset[str], width: int) -> int:
    hits = [(match.start(), word) for match in _WORD.finditer(text) if (word := match[0].casefold()) in terms]
    best, best_start, first = 0, 0, 0
    inside: dict[str, int] = {}
    for position, word in hits:
        inside[word] = inside.get(word, 0) + 1
        while hits[first][0] < position - width // 2:
            old = hits[first][1]
            inside[old] -= 1
            if not inside[old]:
                del inside[old]
            first += 1
        if len(inside) > best:
            best, best_start = len(inside), hits[first][0]
    return max(0, min(best_start - width // 4, len(text) - width))


def _tidy(text: str, start: int, end: int) -> tuple[int, int]:
    """Moves both ends inwards to a break, if one is near."""
    near = (end - start) // 8
    if start > 0:
        start = next((at + len(mark) for mark in _BREAKS if (at := text.find(mark, start, start + near)) >= 0), start)
    if end < len(text):
        end = next((at for mark in _BREAKS if (at := text.rfind(mark, end - near, end)) > start), end)
    return start, end


# Assembly

# A piece uses at most a quarter of the budget, so that one long tool output does not fill a context alone. But it may
# always have this many tokens, since a shorter piece is not worth reading.
_LARGEST_SHARE = 4
_LEAST_TOKENS = 120


class Candidate(NamedTuple):
    """A text that may become a piece of the context, with the data for its piece."""

    ref: str
    corpus: str
    content_hash: str
    text: str
    label: str
    group: str
    order: tuple[int, str]  # the sort key in its group: time, then id
    score: int
    parts: dict[str, int]
    passage: Span | None = None  # the part of the text that matters, if not all of it does
    is_whole: bool = False  # whether it is never cut


class Piece(NamedTuple):
    """A piece of a context: its reference, its text, and its label, which names the source and the date."""

    ref: str
    text: str
    label: str
    span: Span  # of the text that the reference names, in characters
    whole: bool  # whether that is the complete text
    tokens: int
    score: int  # in millionths

    def __repr__(self) -> str:
        return f"Piece(ref={self.ref!r}, label={self.label[:60]!r}, tokens={self.tokens})"


class Context(NamedTuple):
    """A rendered context, with the manifest that pins it."""

    text: str
    manifest: Manifest
    texts: dict[str, str]  # of the pieces, by their hashes
    policy: SlicePolicyV1 | None = None  # of its context slices
    recorded: bool = False  # whether the manifest is stored, so that the context can be replayed
    acts: int = 0  # how many acts the database had when it was built: a later purge may have taken something of it

    @property
    def id(self) -> str:
        """The id of the manifest, for `replay`."""
        return self.manifest.manifest_id

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces, in the order of the text."""
        return tuple(
            Piece(each.ref, self.texts[each.text_hash], each.label, each.span, each.whole, each.tokens, each.score)
            for each in self.manifest.pieces
        )

    @property
    def tokens(self) -> int:
        """How many tokens the text has."""
        return self.manifest.tokens_used

    @property
    def narrowed_by(self) -> tuple[str, ...]:
        """What the question was read to leave out: its filters and excluded words."""
        return tuple(self.manifest.filters.get("query", ()))

    @property
    def undated(self) -> int:
        """How many turns were left out because they have no date; only a context as of a given time does so."""
        return int(self.manifest.filters.get("undated", 0))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        used = f"pieces={len(self.manifest.pieces)}, tokens={self.tokens}"
        return f"Context(id={self.id!r}, {used}, recorded={self.recorded})"


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
    groups: Sequence[str] = (),
    least: float = -inf,  # of what a compaction lost, a score may be negative
) -> Context:
    """Returns a context of the first candidates that fit into the budget; of turns, those with at least this score.

    The given groups come first, in their order. The manifest lists the candidates that are left out, with the reason.
    """
    chosen, left_out, texts = _fill(question, as_of, budget, candidates, terms, least)
    pieces = tuple(_in_reading_order(chosen, groups))
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
    question: str, as_of: str, budget: Budget, candidates: Sequence[Candidate], terms: Collection[str], least: float
) -> tuple[list[tuple[Candidate, PinnedPiece]], list[LeftOut], dict[str, str]]:
    room = budget.tokens - tokens(heading(question, as_of))
    longest = max(_LEAST_TOKENS, budget.tokens // _LARGEST_SHARE)
    chosen: list[tuple[Candidate, PinnedPiece]] = []
    left_out: list[LeftOut] = []
    texts: dict[str, str] = {}
    groups: set[str] = set()
    for candidate in candidates:
        if budget.turns is not None and len(chosen) >= budget.turns:
            left_out.append(LeftOut(candidate.ref, "turns", candidate.score))
            continue
        if candidate.score < least and candidate.ref.startswith("turn:"):
            left_out.append(LeftOut(candidate.ref, "score", candidate.score))
            continue
        piece, text = _cut(candidate, terms, budget.tokens if candidate.is_whole else longest)
        # The tokens of each block and of the line end after it are rounded up, so the sum is never too small.
        cost = piece.tokens + (0 if candidate.group in groups else tokens(group_heading(candidate.group)) + 1)
        if cost > room:
            left_out.append(LeftOut(candidate.ref, "tokens", candidate.score))
            continue
        room -= cost
        groups.add(candidate.group)
        chosen.append((candidate, piece))
        texts[piece.text_hash] = text
    return chosen, left_out, texts


def _cut(candidate: Candidate, terms: Collection[str], longest: int) -> tuple[PinnedPiece, str]:
    first, last = (candidate.passage.start, candidate.passage.end) if candidate.passage else (0, len(candidate.text))
    start, end = (first + place for place in excerpt(candidate.text[first:last], terms, longest))
    text = candidate.text[start:end]
    whole = end - start == len(candidate.text)
    label = candidate.label if whole else f"{candidate.label} · characters {start} to {end} of {len(candidate.text)}"
    piece = PinnedPiece(
        ref=candidate.ref,
        corpus=candidate.corpus,
        content_hash=candidate.content_hash,
        span=Span(start=start, end=end),
        text_hash=digest(text.encode()),
        label=label,
        tokens=tokens(piece_block(label, candidate.ref, text)) + 1,
        score=candidate.score,
        parts=candidate.parts,
        group=candidate.group,
        whole=whole,
    )
    return piece, text


def _in_reading_order(chosen: Sequence[tuple[Candidate, PinnedPiece]], groups: Sequence[str] = ()) -> list[PinnedPiece]:
    """Returns the pieces by group, the group with the best piece first; within a group in order of time."""
    rank = {group: place - len(groups) for place, group in enumerate(groups)}
    for place, (candidate, _) in enumerate(chosen):
        rank.setdefault(candidate.group, place)
    return [piece for _, piece in sorted(chosen, key=lambda each: (rank[each[0].group], each[0].order))]
