"""What differs between two contexts, piece by piece."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from slicebase.context.manifest import Manifest, Piece

Change = Literal["added", "removed", "changed"]


class PieceChange(NamedTuple):
    change: Change
    ref: str
    what: str  # what changed about a piece that is in both


def differences(before: Manifest, after: Manifest) -> list[PieceChange]:
    """Pieces that came, went, or are shown differently, in the order in which a reader meets them."""
    old = {piece.ref: piece for piece in before.pieces}
    new = {piece.ref: piece for piece in after.pieces}
    gone = [PieceChange("removed", ref, _why_gone(ref, after)) for ref in old if ref not in new]
    return gone + list(_in_after(old, new))


def _in_after(old: dict[str, Piece], new: dict[str, Piece]) -> Iterator[PieceChange]:
    for ref, piece in new.items():
        if ref not in old:
            yield PieceChange("added", ref, "")
        elif what := [field for field in ("text_hash", "span", "label", "score") if _differs(field, piece, old[ref])]:
            yield PieceChange("changed", ref, ", ".join(field.removesuffix("_hash") for field in what))


def _differs(field: str, one: Piece, other: Piece) -> bool:
    return bool(getattr(one, field) != getattr(other, field))


def _why_gone(ref: str, after: Manifest) -> str:
    return next((f"no room in {left.reason}" for left in after.left_out if left.ref == ref), "no longer found")
