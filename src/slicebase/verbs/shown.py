"""What a bundle or a SliceExport shows, as a boundary: references inside it are accepted, others are not."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from slicebase.core.refs import parse, prefixed
from slicebase.core.short_ids import the_only
from slicebase.errors import SlicebaseError
from slicebase.verbs.names import EVERYTHING

if TYPE_CHECKING:  # keeps start-up fast
    from slicebase.verbs.parts import Parts

_UNKNOWN = frozenset({"no-turn", "bad-reference"})  # the workspace does not have it; the bundle may


class ShownTurns(NamedTuple):
    """The turns that a bundle or a SliceExport shows."""

    turns: frozenset[str]
    slice_id: str

    def __repr__(self) -> str:
        return f"ShownTurns(slice_id={self.slice_id!r}, turns={len(self.turns)})"

    @classmethod
    def in_bundle(cls, data: bytes, key: bytes | None = None) -> Self:
        """Returns what a bundle or a SliceExport shows.

        Raises `broken-bundle` for one that contradicts itself, and `no-key` for a signature that cannot be checked.
        """
        from slicebase.graph.proof import examine  # imported here for a fast start: most claims have no boundary

        examined = examine(data, key=key)
        if examined.findings:
            first = examined.findings[0]
            hint = "`tt slice --verify` shows everything that is wrong with it"
            raise SlicebaseError("broken-bundle", f"{first.check}: {first.message}", hint=hint)
        if any(each.stops for each in examined.unchecked):
            raise SlicebaseError("no-key", "the bundle is signed, and no key was given", hint="give its key")
        return cls(frozenset(turn.id for turn in examined.export.turns), examined.export.slice_id)

    def has(self, reference: str, parts: "Parts | None" = None) -> bool:
        """Returns whether a reference is in what was shown: a turn, or evidence that quotes one.

        A short id is completed in the workspace, if there is one that knows it, else among the turns of the bundle.
        """
        ref = prefixed(reference)
        if ref is not None and ref.kind == "ev":
            return self._has_evidence(reference, parts)
        if ref is not None and ref.kind != "turn":
            parse(reference, short=True)
            return False
        if parts is not None:
            try:
                found = parts.names.ref(reference, EVERYTHING)
            except SlicebaseError as error:
                if error.code not in _UNKNOWN:
                    raise
            else:
                return found.name in self.turns if found.kind == "turn" else self._of_kind(str(found), parts)
        name = parse(reference, bare="turn", short=True).name
        return name in self.turns or the_only(name, self._beginning(name), "turns of the bundle") is not None

    def _of_kind(self, reference: str, parts: "Parts") -> bool:
        return reference.startswith("ev_") and self._has_evidence(reference, parts)

    def _beginning(self, name: str) -> list[str]:
        return [turn for turn in self.turns if turn.startswith(name)]

    def _has_evidence(self, reference: str, parts: "Parts | None") -> bool:
        if parts is None:
            hint = "evidence is in the ledger of the workspace that cited it"
            raise SlicebaseError("no-workspace", f"there is no workspace here that knows {reference}", hint=hint)
        name = parts.stored_names.id("ev", reference)
        record = parts.truth.ledger.get(name)
        if record is None:
            raise SlicebaseError("no-evidence", f"the ledger has no {name}")
        return self.has_chunk(record.chunk_id)

    def has_chunk(self, chunk_id: str) -> bool:
        """Returns whether a chunk, given by its complete reference, is in what was shown."""
        return chunk_id.removeprefix("turn:") in self.turns

    def refuse_outside(self, chunk_id: str) -> None:
        """Raises `outside-bundle` for a chunk that was not shown."""
        if not self.has_chunk(chunk_id):
            hint = f"`tt slice --admits` says what is in the slice {self.slice_id}"
            raise SlicebaseError("outside-bundle", f"{chunk_id} is not in what was shown", hint=hint)

    def refuse_outside_in(self, value: Any, parts: "Parts") -> None:
        """Raises `outside-bundle` if a pointer somewhere in a JSON value names what was not shown."""
        ahead = [value]
        while ahead:
            inner = ahead.pop()
            if isinstance(inner, Mapping):
                self._refuse_pointer(inner.get("chunk_id"), inner.get("evidence_id"), parts)
                ahead += inner.values()
            elif isinstance(inner, list | tuple):
                ahead += inner

    def _refuse_pointer(self, chunk: object, evidence: object, parts: "Parts") -> None:
        if isinstance(chunk, str):
            self.refuse_outside(chunk)
        record = parts.truth.ledger.get(evidence) if isinstance(evidence, str) else None
        if record is not None:
            self.refuse_outside(record.chunk_id)


Within = bytes | ShownTurns | None


def boundary(within: Within) -> ShownTurns | None:
    """Returns the boundary that is given: what was shown, or the bytes of a bundle or a SliceExport."""
    return ShownTurns.in_bundle(within) if isinstance(within, bytes) else within
