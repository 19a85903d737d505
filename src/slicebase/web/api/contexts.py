"""Contexts: built for a question as a model would see them, and not recorded."""

import shlex
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta, Struct

from slicebase.context.assemble import Context, Piece
from slicebase.context.manifest import LeftOut, Manifest, PinnedPiece
from slicebase.runs.records import Span
from slicebase.web.endpoints import AddressText, Parameters, get

if TYPE_CHECKING:
    from slicebase.base import Slicebase

MOST_SHOWN_TOKENS: Final = 200_000  # of a context that is shown
OtherName = Annotated[str, Meta(max_length=1000, description="An id, a name or a time; empty for none.")]


class ContextQuery(Parameters, frozen=True, kw_only=True):
    """A question and a budget. With `as_of`, nothing later is taken; with `run`, its narrative comes first."""

    q: AddressText
    tokens: Annotated[int, Meta(ge=1, le=MOST_SHOWN_TOKENS)] = 4000
    turns: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    as_of: OtherName = ""
    run: OtherName = ""
    policy: OtherName = ""
    left_out: Annotated[int, Meta(ge=0, le=500, description="How many to list that were left out.")] = 100


class ScoredPiece(Struct, frozen=True):
    """A piece of a context: where it is from, its text, its tokens, and the parts of its score, in millionths."""

    place: int  # in the text, from 1
    ref: str
    shown: str
    group: str
    label: str
    span: Span
    length: int
    tokens: int
    score: int
    parts: dict[str, int]
    text: str
    at: Span | None  # where the piece is in the text of the context


class LeftOutRow(Struct, frozen=True):
    """A candidate that is not in the context, and why."""

    ref: str
    reason: str
    why: str
    score: int


class ContextAnswer(Struct, frozen=True):
    """A context: its text, its pieces (the best first), what was left out (the best first), and its manifest."""

    manifest_id: str
    recorded: bool
    text: str
    pieces: tuple[ScoredPiece, ...]
    left_out: tuple[LeftOutRow, ...]
    narrowed_by: tuple[str, ...]
    undated: int
    command: str
    manifest: Manifest


def context(memory: "Slicebase", asked: ContextQuery) -> ContextAnswer:
    """Builds a context for a question. Nothing is recorded."""
    policy = memory.graph.requested_policy(asked.policy).params_hash if asked.policy else None  # never a file
    built = memory.context(
        asked.q,
        asked.tokens,
        turns=asked.turns,
        policy=policy,
        as_of=asked.as_of or None,
        run=asked.run or None,
        record=False,
    )
    # The command asks what was asked, without secrets.
    return context_answer(built, command_of(asked, built.manifest.question), asked.left_out)


def context_answer(built: Context, command: str, listed: int) -> ContextAnswer:
    """Returns a context as the API shows it, with so many of those that were left out."""
    return ContextAnswer(
        manifest_id=built.id,
        recorded=built.recorded,
        text=built.text,
        pieces=tuple(scored(built)),
        left_out=tuple(left_out_rows(built.left_out[:listed])),
        narrowed_by=built.narrowed_by,
        undated=built.undated,
        command=command,
        manifest=built.manifest,
    )


def scored(built: Context) -> Iterator[ScoredPiece]:
    """Yields the pieces of a context, the best first."""
    places = {(piece.ref, piece.span.start): at for at, piece in enumerate(built.manifest.pieces)}
    spans = spans_in(built.text, [built.texts[piece.text_hash] for piece in built.manifest.pieces])
    for piece in built.pieces:
        at = places[piece.ref, piece.span.start]
        yield _scored(piece, built.manifest.pieces[at], at + 1, spans[at])


def _scored(piece: Piece, pinned: PinnedPiece, place: int, at: Span | None) -> ScoredPiece:
    return ScoredPiece(
        place=place,
        ref=piece.ref,
        shown=pinned.shown,
        group=pinned.group,
        label=piece.label,
        span=piece.span,
        length=pinned.length,
        tokens=piece.tokens,
        score=piece.score,
        parts=dict(piece.parts),
        text=piece.text,
        at=at,
    )


def spans_in(text: str, pieces: Iterable[str]) -> list[Span | None]:
    """Returns where pieces are in a rendered text, which has each of them as it is, in this order."""
    found: list[Span | None] = []
    after = 0
    for piece in pieces:
        at = text.find(f"\n{piece}\n", max(0, after - 1))
        found.append(Span(start=at + 1, end=at + 1 + len(piece)) if at >= 0 else None)
        after = after if at < 0 else at + 1 + len(piece)
    return found


def left_out_rows(left_out: Iterable[LeftOut]) -> Iterator[LeftOutRow]:
    """Yields what was left out, with the reasons in words."""
    return (LeftOutRow(each.ref, each.reason, each.why, each.score) for each in left_out)


def command_of(asked: ContextQuery, question: str) -> str:
    """Returns the command that prints the same context."""
    words = ["tt", "context", question, "--tokens", str(asked.tokens)]
    options = {"--turns": asked.turns, "--as-of": asked.as_of, "--run": asked.run, "--policy": asked.policy}
    words += [str(part) for option in options.items() if option[1] for part in option]
    return shlex.join((*words, "--no-record"))


ENDPOINTS: Final = (get("/context", "context", context),)
