"""The relationship table: § Relationship Types, ruling 28."""

import pytest

from slicebase.files.links import RELATIONSHIPS
from tests.paths import SHARED

SPECIFICATION = SHARED / "spec" / "slices-v1-format.md"


def test_every_relationship_has_an_inverse_with_the_same_properties() -> None:
    for name, relationship in RELATIONSHIPS.items():
        other = RELATIONSHIPS[relationship.inverse]
        assert relationship.name == name
        assert other.inverse == name
        assert (other.transitive, other.symmetric) == (relationship.transitive, relationship.symmetric)


def test_there_are_eight_pairs_and_one_that_is_its_own_inverse() -> None:
    assert len(RELATIONSHIPS) == 17
    assert [name for name, relationship in RELATIONSHIPS.items() if relationship.inverse == name] == ["see_also"]


def test_for_and_against_are_opposites_and_not_converses() -> None:
    """Ruling 28."""
    without = {name for name, relationship in RELATIONSHIPS.items() if relationship.converse is None}
    assert without == {"evidence_for", "evidence_against"}


@pytest.mark.skipif(not SPECIFICATION.exists(), reason="the specification is not beside the project")
def test_the_table_is_the_specifications() -> None:
    table = [
        [cell.strip(" `") for cell in line.strip("|").split("|")]
        for line in SPECIFICATION.read_text().splitlines()
        if line.startswith("| `") and line.count("|") == 6
    ]
    assert len(table) == 9
    for name, inverse, transitive, symmetric, _ in table:
        relationship = RELATIONSHIPS[name]
        assert relationship.inverse == inverse
        assert (relationship.transitive, relationship.symmetric) == (transitive == "Yes", symmetric == "Yes")
