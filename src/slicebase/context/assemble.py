"""Assembly: the best candidates for a question become a context within a budget, with the manifest that pins it.

Long texts are cut to the excerpt with the most words of the question.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import Any, Final, NamedTuple

from slicebase.context.excerpts import excerpt, forms_of
from slicebase.context.manifest import (
    Budget,
    LeftOut,
    Manifest,
    PinnedPiece,
    PinnedSlice,
    left_out,
    pinned_hash,
    usually_shown,
)
from slicebase.context.render import RENDERER, Sheet, heading, mark_length, one_line, render
from slicebase.context.words import Word
from slicebase.core.hashing import BYTES_PER_TOKEN, TOKENIZER, digest, tokens
from slicebase.graph.policy import SlicePolicyV1
from slicebase.runs.records import Span

# A piece has at most this many tokens, or this share of a large budget: many short excerpts answer more questions than
# few long ones. Where everything has room in a context, pieces may be longer, up to a quarter of the budget.
_LEAST_TOKENS: Final = 120
_SHORTEST_EXCERPT: Final = 20
# Of that, the best few have half as much again, since they mostly answer, and the others two thirds. A text that is at
# most half as long again as its piece may be is complete, where it has room: nothing is cut by a few words.
_BEST: Final = 4
_USUAL_SHARE: Final = 32
_LARGEST_SHARE: Final = 4
# Every piece of a group has a mark as long as the longest: a text that needs a longer one than this stands apart, so
# that the others do not become dear.
_LONGEST_MARK: Final = 8
_APART: Final = "apart"
# When so many candidates in a row do not fit, the budget is full: the texts of the others are not read.
_MISSES: Final = 12


class Candidate(NamedTuple):
    """A text that may become a piece of the context, with the data for its piece."""

    ref: str
    corpus: str
    text: str
    label: str
    group: str
    order: tuple[int, str]  # the sort key in its group: time, then id
    score: int
    parts: dict[str, int]
    passage: Span | None = None  # the part of the text that matters, if not all of it does
    is_whole: bool = False  # whether it is never cut
    content: str = ""  # the same for copies of one thing: the best of them is shown


class Unread(NamedTuple):
    """A candidate whose text is read when its turn comes. The rest is read if no copy of it is there."""

    ref: str
    score: int
    content: Callable[[], str | None]  # as in a candidate; None if it is none
    read: Callable[[], Candidate]
    time: Callable[[], int] = lambda: 0  # as in the order of a candidate; asked only of a copy
    known: Callable[[], str] = lambda: ""  # its content, if that is known without its text; asked if it has no room


class Piece(NamedTuple):
    """A piece of a context: its reference, its text, and its label, which names the date and the source."""

    ref: str
    text: str
    label: str
    span: Span  # of the text that the reference names, in characters
    whole: bool  # whether that is the complete text
    tokens: int  # of the text
    score: int  # in millionths
    parts: Mapping[str, int]  # of the score

    def __repr__(self) -> str:
        return f"Piece(ref={self.ref!r}, label={self.label[:60]!r}, tokens={self.tokens})"


class Context(NamedTuple):
    """A rendered context, with the manifest that pins it."""

    text: str
    manifest: Manifest
    texts: dict[str, str]  # of the pieces, by their hashes
    parts: Mapping[tuple[str, int], Mapping[str, int]]  # of the scores, by reference and place, the best first
    left_out: tuple[LeftOut, ...] = ()  # every candidate that is not in it; the manifest keeps the best few
    policy: SlicePolicyV1 | None = None  # of its context slices
    recorded: bool = False  # whether the manifest is stored, so that the context can be replayed
    acts: int = 0  # how many acts the database had when it was built: a later purge may have taken something of it

    @property
    def id(self) -> str:
        """The id of the manifest, for `replay`."""
        return self.manifest.manifest_id

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces, the best first; its manifest has them in the order of the text."""
        rank = {place: number for number, place in enumerate(self.parts)}
        best_first = sorted(self.manifest.pieces, key=lambda piece: rank[piece.ref, piece.span.start])
        return tuple(map(self._piece, best_first))

    def _piece(self, pinned: PinnedPiece) -> Piece:
        text = self.texts[pinned.text_hash]
        parts = self.parts[pinned.ref, pinned.span.start]
        return Piece(pinned.ref, text, pinned.label, pinned.span, pinned.whole, tokens(text), pinned.score, parts)

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
        """How many turns and parts of files were left out without a date; only in a context as of a given time."""
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
    candidates: Sequence[Candidate | Unread],
    *,
    terms: Iterable[Word],
    ranker: str,
    filters: dict[str, Any],
    slices: Callable[[Collection[str]], Iterable[PinnedSlice]] | None = None,
    policy: SlicePolicyV1 | None = None,
    groups: Sequence[str] = (),
    least: float = -inf,  # of what a compaction lost, a score may be negative
    shown: Callable[[str], str] = usually_shown,
) -> Context:
    """Returns a context of the first candidates that fit into the budget; of turns, those with at least this score.

    The given groups come first, in their order. The manifest says what was left out, with the reason. `shown` shortens
    a reference, and `slices` pins the context slices of turns that only a slice brought in.
    """
    filling = _filled(_Filling(heading(question, as_of), budget, forms_of(terms), shown), candidates, least)
    pieces = tuple(_in_reading_order(filling.chosen, groups))
    text = render(question, as_of, pieces, filling.texts)
    manifest = Manifest(
        question=question,
        as_of=as_of,
        budget=budget,
        tokens_used=tokens(text),
        pieces=pieces,
        considered=len(pieces) + len(filling.left_out),
        left_out=left_out(filling.left_out),
        filters=filters,
        policy_params_hash=policy.params_hash if policy else None,
        slices=tuple(slices(filling.from_slices) if slices else ()),
        ranker=ranker,
        tokenizer=TOKENIZER,
        renderer=RENDERER,
        rendered_hash=digest(text.encode()),
    )
    parts = {(piece.ref, piece.span.start): candidate.parts for candidate, piece in filling.chosen}
    return Context(text, manifest, filling.texts, parts, tuple(filling.left_out), policy)


def _time(offered: Candidate | Unread) -> int:
    return offered.time() if isinstance(offered, Unread) else offered.order[0]


def _content(offered: Candidate | Unread) -> str | None:
    return offered.content() if isinstance(offered, Unread) else offered.content


def _filled(filling: "_Filling", candidates: Sequence[Candidate | Unread], least: float) -> "_Filling":
    filling.take(candidates, least)
    if newer := filling.newer:  # the same was said again: it has the time at which it was said last
        older = {name: each for each in candidates if (found := newer.get(each.ref)) and (name := found.ref)}
        filling = filling.again()
        filling.take([newer.get(each.ref) or older.get(each.ref) or each for each in candidates], least)
    while not filling.is_full and (wider := filling.wider()):
        wider.take([candidate for candidate, _ in filling.chosen], -inf)
        if wider.is_full:
            break
        wider.left_out = filling.left_out
        filling = wider
    return filling


class _Filling:
    """A context that is filled with the best candidates, of which each piece has at most so many tokens."""

    def __init__(
        self, first: str, budget: Budget, asked: re.Pattern[str] | None, shown: Callable[[str], str], longest: int = 0
    ) -> None:
        self.chosen: list[tuple[Candidate, PinnedPiece]] = []
        self.left_out: list[LeftOut] = []
        self.newer: dict[str, Candidate | Unread] = {}  # by the reference of what was chosen, its newest copy
        self._contents: dict[str, Candidate] = {}
        self.texts: dict[str, str] = {}
        self._given = first, budget, asked, shown
        self._budget = budget
        self._asked = asked
        self._shown = shown
        self._longest = longest or max(_LEAST_TOKENS, budget.tokens // _USUAL_SHARE)
        self._sheet = Sheet(first)

    def again(self) -> "_Filling":
        """Returns an empty context for pieces of the same size."""
        return _Filling(*self._given, self._longest)

    def wider(self) -> "_Filling | None":
        """Returns an empty context for longer pieces; None if nothing would change, or they would be too long."""
        is_cut = any(not piece.whole for candidate, piece in self.chosen if not candidate.passage)
        longest = _half_more(self._budget.tokens // _LARGEST_SHARE)
        return _Filling(*self._given, min(2 * self._longest, longest)) if is_cut and self._longest < longest else None

    def take(self, candidates: Sequence[Candidate | Unread], least: float) -> None:
        turns, misses = self._budget.turns, 0
        for offered in candidates:
            chosen, reason = None, "tokens"
            if turns is not None and len(self.chosen) >= turns:
                reason = "turns"
            elif offered.score < least and offered.ref.startswith("turn:"):
                reason = "score"
            if reason == "tokens" and misses < _MISSES:
                content = _content(offered)
                if content is None:
                    continue
                chosen = self._contents.get(content)
                if chosen is None:
                    if self._fits(offered.read() if isinstance(offered, Unread) else offered):
                        misses = 0
                        continue
                    misses += 1
            elif reason != "score":
                chosen = self._original(offered)
            if chosen is not None:
                reason = "copy"
                self._note_newer(chosen, offered)
            self.left_out.append(LeftOut(offered.ref, reason, offered.score))

    def _original(self, offered: Candidate | Unread) -> Candidate | None:
        """Returns what was chosen that a candidate is a copy of, which has no room: only the text of a copy is read."""
        known = offered.known() if isinstance(offered, Unread) else offered.content
        chosen = self._contents.get(known)
        return chosen if chosen is not None and _content(offered) == known else None

    def _note_newer(self, chosen: Candidate, copy: Candidate | Unread) -> None:
        if _time(copy) > _time(self.newer.get(chosen.ref, chosen)):
            self.newer[chosen.ref] = copy

    @property
    def is_full(self) -> bool:
        return any(each.reason == "tokens" for each in self.left_out)

    @property
    def from_slices(self) -> set[str]:
        return {each.ref.removeprefix("turn:") for each, _ in self.chosen if "slice" in each.parts}

    def _fits(self, candidate: Candidate) -> bool:
        return any(self._offered(candidate, longest) for longest in self._lengths(candidate))

    def _lengths(self, candidate: Candidate) -> Iterator[int]:
        """Yields how many tokens the piece of a candidate may have at most, and less if that has no room."""
        if candidate.is_whole:
            yield self._budget.tokens
            return
        longest = largest = max(_LEAST_TOKENS, self._budget.tokens // _LARGEST_SHARE)
        if not candidate.passage:
            is_best = sum(not (each.is_whole or each.passage) for each, _ in self.chosen) < _BEST
            longest = min(largest, _half_more(self._longest) if is_best else self._longest * 2 // 3)
            if longest < tokens(candidate.text) <= min(largest, _half_more(longest)):
                yield largest
        yield longest
        while not self.chosen and longest >= _SHORTEST_EXCERPT:  # a small budget has room for some of the best one
            longest //= 2
            yield longest

    def _offered(self, candidate: Candidate, longest: int) -> bool:
        span = self._span(candidate, longest)
        text, room = candidate.text[span.start : span.end], self._budget.tokens * BYTES_PER_TOKEN
        if self._sheet.size + len(text) > room:  # no label is made for what does not fit without one
            return False
        piece = self._piece(candidate, span, text)
        if not self._sheet.offer(piece.group, piece.name, piece.label, text, candidate.order, room):
            return False
        self.chosen.append((candidate, piece))
        self.texts[piece.text_hash] = text
        if candidate.content:
            self._contents[candidate.content] = candidate
        return True

    def _span(self, candidate: Candidate, longest: int) -> Span:
        passage = candidate.passage
        first, last = (passage.start, passage.end) if passage else (0, len(candidate.text))
        start, end = excerpt(candidate.text[first:last], self._asked, longest)
        return Span(start=first + start, end=first + end)

    def _piece(self, candidate: Candidate, span: Span, text: str) -> PinnedPiece:
        return PinnedPiece(
            ref=candidate.ref,
            shown=self._shown(candidate.ref),
            corpus=candidate.corpus,
            group=candidate.group if mark_length(text) <= _LONGEST_MARK else f"{candidate.group} · {_APART}",
            label=one_line(candidate.label),
            span=span,
            length=len(candidate.text),
            text_hash=pinned_hash(candidate.corpus, text),
            score=candidate.score,
        )


def _half_more(size: int) -> int:
    return size * 3 // 2


def _in_reading_order(chosen: Sequence[tuple[Candidate, PinnedPiece]], groups: Sequence[str] = ()) -> list[PinnedPiece]:
    """Returns the pieces by group, the group with the best piece first; within a group in order of time."""
    rank = {group: place - len(groups) for place, group in enumerate(groups)}
    for place, (_, piece) in enumerate(chosen):
        rank.setdefault(piece.group, place)
    return [piece for _, piece in sorted(chosen, key=lambda each: (rank[each[1].group], each[0].order))]
