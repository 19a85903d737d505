"""The relationships between files, as data (§ Relationship Types)."""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Relationship(NamedTuple):
    name: str
    inverse: str
    transitive: bool
    symmetric: bool
    about: str
    converse: str | None  # what B is to A when A is this to B; None where that does not follow


class _Pair(NamedTuple):
    name: str
    inverse: str
    transitive: bool
    symmetric: bool
    about: str
    converses: bool = True


# The specification's table. `evidence_for` and `evidence_against` stand there as a pair, but they are opposites,
# not converses: that A supports B says nothing about what B does to A (ruling 28).
_TABLE: Final = (
    _Pair("depends_on", "blocks", True, False, "dependency"),
    _Pair("evidence_for", "evidence_against", False, False, "argument", converses=False),
    _Pair("supersedes", "superseded_by", True, False, "evolution"),
    _Pair("parent", "child", True, False, "containment"),
    _Pair("part_of", "has_part", True, False, "composition"),
    _Pair("is_a", "type_of", True, False, "taxonomy"),
    _Pair("derived_from", "source_of", True, False, "provenance"),
    _Pair("see_also", "see_also", False, True, "association"),
    _Pair("routes_to", "routed_from", False, False, "routing"),
)


def _both_ways(pair: _Pair) -> dict[str, Relationship]:
    """The inverse of a transitive relationship is transitive (ruling 28)."""
    return {
        name: Relationship(
            name, inverse, pair.transitive, pair.symmetric, pair.about, inverse if pair.converses else None
        )
        for name, inverse in ((pair.name, pair.inverse), (pair.inverse, pair.name))
    }


RELATIONSHIPS: Final[Mapping[str, Relationship]] = {
    name: relationship for pair in _TABLE for name, relationship in _both_ways(pair).items()
}
