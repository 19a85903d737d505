"""SliceExports of the published kernel (cc-graph-kernel 0.1.x), which differ from §6.1 and §5.3 in three points.

Its roles, phases and edge types begin with a capital letter, also in the text that its slice_id is made from. Its turns
have a `content_hash`, its exports a `graph_snapshot_hash` and an `admissibility_token`, whose making is not published.
And of two candidates that are equal in priority and distance it takes the one with the higher id (ruling 9).
"""

import json
from typing import Any, Final, NamedTuple

from slicebase.core.parsers import read_json
from slicebase.errors import SlicebaseError
from slicebase.graph.export import SliceExport, edge_json, read_export, slice_id
from slicebase.graph.policy import SlicePolicyV1
from slicebase.graph.select import Scored, TurnGraph, select
from slicebase.graph.turn import EDGE_TYPES, PHASES, ROLES

_OF_EXPORT: Final = ("graph_snapshot_hash", "admissibility_token")
_OF_TURN: Final = "content_hash"
_SPELLED: Final = {"role": ROLES, "phase": frozenset(PHASES), "edge_type": EDGE_TYPES}


class KernelExport(NamedTuple):
    """An export in the spelling of §6.1, and what it had that ours do not have."""

    export: SliceExport
    further: tuple[str, ...]  # fields that cannot be checked

    @property
    def fingerprint(self) -> str:
        """The slice_id that follows from the other fields in the kernel's spelling."""
        ids = sorted(turn.id for turn in self.export.turns)
        edges = [(each.parent, each.child, each.edge_type.capitalize()) for each in sorted(self.export.edges)]
        return slice_id(self.export.anchor_turn_id, ids, [edge_json(*each) for each in edges], self.export.basis)


def read_ours_or_kernel(data: bytes) -> SliceExport | KernelExport:
    """Reads a stored SliceExport, ours or one of the kernel. Raises an error with the place of what fits neither.

    A key that is there twice is an error: another reader of the same bytes would see another slice.
    """
    value = read_json(data, unique=True)
    try:
        return read_export(data)
    except SlicebaseError as error:
        if error.code not in ("unknown-field", "unknown-value"):
            raise
        found = _of_kernel(value)
        if found is None:
            raise
        value, further = found
    return KernelExport(read_export(json.dumps(value).encode()), further)


def _of_kernel(value: Any) -> tuple[dict[str, Any], tuple[str, ...]] | None:
    """Returns an export of the kernel in our spelling, and its further fields; None if it is not one."""
    if not isinstance(value, dict):
        return None
    further = [name for name in _OF_EXPORT if name in value]
    export = {name: inner for name, inner in value.items() if name not in _OF_EXPORT}
    for kind in ("turns", "edges"):
        if isinstance(value.get(kind), list):
            export[kind] = [_in_our_spelling(member, kind) for member in value[kind]]
    turns = value.get("turns")
    if isinstance(turns, list) and any(isinstance(turn, dict) and _OF_TURN in turn for turn in turns):
        further.append(f"turns[].{_OF_TURN}")
    return (export, tuple(further)) if export != value else None


def _in_our_spelling(member: Any, kind: str) -> Any:
    if not isinstance(member, dict):
        return member
    found = {name: value for name, value in member.items() if kind != "turns" or name != _OF_TURN}
    for name, known in _SPELLED.items():
        text = found.get(name)
        if isinstance(text, str) and text.lower() in known and text == text.capitalize():
            found[name] = text.lower()
    return found


# Ties


def select_with_higher_ids(graph: TurnGraph, anchor_id: str, policy: SlicePolicyV1) -> set[str]:
    """Returns the turns that the kernel selects: of equal candidates, it takes the one with the higher id."""
    found = select(_Mirrored(graph), _mirrored(anchor_id), policy)
    return {_mirrored(each.turn_id) for each in found}


class _Mirrored:
    """A graph whose ids have the opposite order. The order of siblings stays."""

    def __init__(self, graph: TurnGraph) -> None:
        self._graph = graph

    def get_turn(self, turn_id: str) -> Scored:
        return self._graph.get_turn(_mirrored(turn_id))

    def parents(self, turn_id: str) -> list[str]:
        return [_mirrored(each) for each in self._graph.parents(_mirrored(turn_id))]

    def children(self, turn_id: str) -> list[str]:
        return [_mirrored(each) for each in self._graph.children(_mirrored(turn_id))]

    def siblings(self, turn_id: str, limit: int | None) -> list[str]:
        return [_mirrored(each) for each in self._graph.siblings(_mirrored(turn_id), limit)]


_DIGITS: Final = str.maketrans("0123456789abcdef", "fedcba9876543210")


def _mirrored(turn_id: str) -> str:
    """Returns an id that comes before another one exactly if the given one comes after that; twice, it is the same."""
    return turn_id.translate(_DIGITS)
