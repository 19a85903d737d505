"""The canonical bytes of a state, kept part by part.

The id of a snapshot hashes all of it, and almost all of it was in the snapshot before. A part that is the same object
as before has the same bytes, so only new parts are encoded. The plain twin is `canonical`, which encodes everything.
"""

from collections.abc import Iterator, Mapping
from operator import is_
from typing import Any, NamedTuple

import msgspec

from slicebase.runs.records import Claim, Conflict, Failure
from slicebase.runs.state import Json

_ENCODER = msgspec.json.Encoder(order="sorted")
_TYPES: Mapping[str, Any] = {"claims": Claim, "conflicts": Conflict, "failures": Failure, "open_questions": str}
_COVERAGE = ("chunk_ids_cited", "chunk_ids_seen", "source_ids_seen")  # lists that only grow


class KeptList(NamedTuple):
    """A list of a state, the canonical bytes of each of its values, and those of all, without the brackets.

    Texts of the coverage have no bytes of their own: their list only grows, so that its bytes are continued.
    """

    values: list[Json]
    parts: list[bytes]
    joined: bytes
    longest: int = 0  # the length of the longest text of the coverage


class StateParts(NamedTuple):
    """The canonical bytes of a state whose values have the types of the specification."""

    items: Mapping[str, KeptList]
    coverage: Mapping[str, KeptList]

    def pieces(self) -> Iterator[bytes]:
        """Yields the canonical bytes of the state in pieces."""
        yield b"{"
        for name in sorted(self.items):
            yield from (b'"%b":[' % name.encode(), self.items[name].joined, b"],")
        yield b'"source_coverage":{'
        for index, name in enumerate(sorted(self.coverage)):
            yield from (b'%b"%b":[' % (b"," if index else b"", name.encode()), self.coverage[name].joined, b"]")
        yield b"}}"

    @property
    def longest_covered(self) -> int:
        """The length of the longest text of the coverage, in code points."""
        return max(kept.longest for kept in self.coverage.values())

    @property
    def size(self) -> int:
        """The length of the canonical bytes."""
        return sum(map(len, self.pieces()))


_EMPTY = KeptList([], [], b"")
_NOTHING = StateParts(dict.fromkeys(_TYPES, _EMPTY), dict.fromkeys(_COVERAGE, _EMPTY))


def parts_of(state: Json, before: StateParts | None = None) -> StateParts | None:
    """Returns the parts of a state, or None if a value does not have the type of the specification.

    What has the right type contains only texts and integers under known keys. For these, msgspec's encoder gives the
    bytes of RFC 8785, thirty times as fast. `before` has the parts of the snapshot before.
    """
    kept = before or _NOTHING
    coverage = state.get("source_coverage") if isinstance(state, dict) else None
    if not isinstance(coverage, dict) or coverage.keys() != kept.coverage.keys():
        return None
    if state.keys() != {*_TYPES, "source_coverage"}:
        return None
    try:
        return StateParts(
            {name: _items(state[name], kept.items[name], type_) for name, type_ in _TYPES.items()},
            {name: _texts(coverage[name], kept.coverage[name]) for name in _COVERAGE},
        )
    except (msgspec.ValidationError, UnicodeEncodeError):
        return None


def _items(values: Json, kept: KeptList, type_: Any) -> KeptList:
    if not isinstance(values, list):
        raise msgspec.ValidationError
    if len(kept.values) <= len(values) and all(map(is_, kept.values, values)):  # nothing but new items
        new = [_encoded(value, type_) for value in values[len(kept.values) :]]
        return KeptList(values, kept.parts + new, _joined(kept.joined, *new))
    known = zip(values, kept.values, kept.parts, strict=False)
    parts = [part if value is old else _encoded(value, type_) for value, old, part in known]
    parts += [_encoded(value, type_) for value in values[len(parts) :]]
    return KeptList(values, parts, b",".join(parts))


def _encoded(value: Json, type_: Any) -> bytes:
    return _ENCODER.encode(msgspec.convert(value, type_))


def _texts(values: Json, kept: KeptList) -> KeptList:
    if not isinstance(values, list):
        raise msgspec.ValidationError
    before = kept if values[: len(kept.values)] == kept.values else _EMPTY  # only a text equals a text
    new = msgspec.convert(values[len(before.values) :], list[str])
    joined = _joined(before.joined, _ENCODER.encode(new)[1:-1])
    return KeptList(values, [], joined, max(before.longest, *map(len, new), 0))


def _joined(*pieces: bytes) -> bytes:
    return b",".join(filter(None, pieces))
