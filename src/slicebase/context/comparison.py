"""Two contexts compared: what differs, and every piece of either side by side."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from msgspec import Struct

from slicebase.context.manifest import LeftOut, Manifest, PinnedPiece
from slicebase.runs.records import Span

PieceChangeKind = Literal["added", "removed", "changed"]


class PieceChange(NamedTuple):
    """A difference in one piece between two contexts."""

    change: PieceChangeKind
    ref: str
    what: str  # for a removed piece the reason, for a changed one the fields that differ


def differences(before: Manifest, after: Manifest, left: Sequence[LeftOut] | None = None) -> list[PieceChange]:
    """Returns the removed pieces, then the added and changed ones in their order in the new context.

    Of a turn with several pieces, those that begin at the same place are compared.
    `left` is everything that the new context left out, if that is known: its manifest keeps the best few.
    """
    counts = Counter(piece.ref for piece in before.pieces) | Counter(piece.ref for piece in after.pieces)
    old, new = (
        {(piece.ref, piece.span.start if counts[piece.ref] > 1 else 0): piece for piece in each.pieces}
        for each in (before, after)
    )
    reasons = {each.ref: each.why for each in (after.left_out.best if left is None else left)}
    is_known = left is not None or after.left_out.is_listed
    otherwise = "no longer found" if is_known else "no room, or no longer found"
    gone = [PieceChange("removed", ref, reasons.get(ref, otherwise)) for ref, start in old if (ref, start) not in new]
    return gone + list(_in_after(old, new))


_ByPlace = dict[tuple[str, int], PinnedPiece]


def _in_after(old: _ByPlace, new: _ByPlace) -> Iterator[PieceChange]:
    for place, piece in new.items():
        if place not in old:
            yield PieceChange("added", piece.ref, "")
        elif what := [field for field in ("text_hash", "span", "label", "score") if _differs(field, piece, old[place])]:
            yield PieceChange("changed", piece.ref, ", ".join(field.removesuffix("_hash") for field in what))


def _differs(field: str, one: PinnedPiece, other: PinnedPiece) -> bool:
    return bool(getattr(one, field) != getattr(other, field))


class PieceSide(Struct, frozen=True):
    """A piece as one of two contexts has it; `place` is its number in the text, from 1."""

    place: int
    span: Span
    length: int
    score: int
    label: str


class ComparedPiece(Struct, frozen=True):
    """A piece of one of two contexts, or of both; `what` says what differs, or why it is gone."""

    ref: str
    group: str
    change: Literal["added", "removed", "changed", "same"]
    what: str
    before: PieceSide | None
    after: PieceSide | None


def compared(
    before: Manifest, after: Manifest, left: Sequence[LeftOut] | None = None
) -> tuple[list[PieceChange], tuple[ComparedPiece, ...]]:
    """Returns the differences between two contexts, and all their pieces side by side.

    Those of the new context come first, in its order. `left` is everything that it left out, if that is known.
    """
    changes = differences(before, after, left)
    counts = Counter(piece.ref for piece in before.pieces) | Counter(piece.ref for piece in after.pieces)
    old, new = (_placed(each.pieces, counts) for each in (before, after))
    removed = {change.ref: change.what for change in changes if change.change == "removed"}
    changed = {change.ref: change.what for change in changes if change.change == "changed"}
    rows = [_row(piece, old.get(name), (at, piece), changed) for name, (at, piece) in new.items()]
    gone = [
        ComparedPiece(piece.ref, piece.group, "removed", removed.get(piece.ref, ""), _side(at, piece), None)
        for name, (at, piece) in old.items()
        if name not in new
    ]
    return changes, (*rows, *gone)


_Place = tuple[int, PinnedPiece]


def _placed(pieces: Iterable[PinnedPiece], counts: Counter[str]) -> dict[tuple[str, int], _Place]:
    """Returns pieces by reference; several of one text also by where they begin."""
    return {
        (piece.ref, piece.span.start if counts[piece.ref] > 1 else 0): (at, piece) for at, piece in enumerate(pieces, 1)
    }


def _row(piece: PinnedPiece, old: _Place | None, new: _Place, changed: dict[str, str]) -> ComparedPiece:
    if old is None:
        return ComparedPiece(piece.ref, piece.group, "added", "", None, _side(*new))
    what = changed.get(piece.ref, "") if _differ(old[1], piece) else ""
    return ComparedPiece(piece.ref, piece.group, "changed" if what else "same", what, _side(*old), _side(*new))


def _differ(one: PinnedPiece, other: PinnedPiece) -> bool:
    """Returns whether two pieces differ: of a text with several pieces, only some may."""
    return (one.text_hash, one.span, one.label, one.score) != (other.text_hash, other.span, other.label, other.score)


def _side(at: int, piece: PinnedPiece) -> PieceSide:
    return PieceSide(at, piece.span, piece.length, piece.score, piece.label)
