"""Inference: § Relationship Properties, ruling 28."""

import random
from itertools import islice, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.files.explore import (
    LONGEST_PATH,
    Direction,
    Inference,
    LinkEdge,
    LinkSource,
    Stated,
    explore,
    tree,
)
from slicebase.files.links import RELATIONSHIPS


def inferred(*stated: LinkEdge) -> set[tuple[str, str, str]]:
    return {(edge.source, edge.rel, edge.target) for edge in Inference(stated).all()}


def test_a_transitive_relationship_goes_through_chains() -> None:
    """§ Relationship Properties."""
    found = inferred(LinkEdge("A", "depends_on", "B"), LinkEdge("B", "depends_on", "C"))
    assert ("A", "depends_on", "C") in found


def test_a_relationship_gives_its_inverse() -> None:
    assert inferred(LinkEdge("A", "is_a", "B")) == {("B", "type_of", "A")}
    assert inferred(LinkEdge("A", "routes_to", "B")) == {("B", "routed_from", "A")}


def test_the_inverse_of_a_transitive_relationship_is_transitive() -> None:
    assert ("C", "type_of", "A") in inferred(LinkEdge("A", "is_a", "B"), LinkEdge("B", "is_a", "C"))
    assert ("A", "type_of", "C") in inferred(LinkEdge("A", "type_of", "B"), LinkEdge("C", "is_a", "B"))


def test_see_also_goes_in_both_directions_and_no_further() -> None:
    found = inferred(LinkEdge("A", "see_also", "B"), LinkEdge("B", "see_also", "C"))
    assert found == {("B", "see_also", "A"), ("C", "see_also", "B")}


@pytest.mark.parametrize("rel", ["evidence_for", "evidence_against", "a_relationship_of_ones_own"])
def test_nothing_follows_from_evidence_or_from_an_unknown_relationship(rel: str) -> None:
    """Ruling 28."""
    assert inferred(LinkEdge("A", rel, "B"), LinkEdge("B", rel, "C")) == set()


def test_what_is_stated_is_not_inferred_again() -> None:
    stated = [
        LinkEdge("A", "is_a", "B"),
        LinkEdge("B", "type_of", "A"),
        LinkEdge("B", "is_a", "C"),
        LinkEdge("A", "is_a", "C"),
    ]
    assert inferred(*stated) == {("C", "type_of", "A"), ("C", "type_of", "B")}


def test_no_edge_leads_from_a_file_to_itself() -> None:
    """Ruling 28."""
    assert inferred(LinkEdge("A", "depends_on", "A")) == set()
    found = inferred(LinkEdge("A", "depends_on", "B"), LinkEdge("B", "depends_on", "A"))
    assert found == {("A", "blocks", "B"), ("B", "blocks", "A")}


def test_an_inferred_edge_names_its_path_in_stated_edges() -> None:
    up, down = LinkEdge("A", "part_of", "B"), LinkEdge("C", "has_part", "B")
    (edge,) = Inference([up, down]).of("A", "part_of")
    assert (edge.target, edge.path) == ("C", (up, down))


def test_of_several_paths_the_shortest_is_named_and_of_those_the_first_by_id() -> None:
    stated = [LinkEdge(a, "is_a", b) for a, b in ("AX", "XZ", "AM", "MZ", "AQ", "QR", "RZ")]
    paths = {edge.target: edge.path for edge in Inference(stated).of("A", "is_a")}
    assert paths["Z"] == (LinkEdge("A", "is_a", "M"), LinkEdge("M", "is_a", "Z"))


_RELATIONSHIPS = ["depends_on", "blocks", "see_also", "evidence_for", "evidence_against", "is_a", "type_of", "own"]
_edges = st.lists(
    st.builds(LinkEdge, st.sampled_from("ABCDE"), st.sampled_from(_RELATIONSHIPS), st.sampled_from("ABCDE")), max_size=9
)


def fixpoint(stated: list[LinkEdge]) -> set[LinkEdge]:
    """The simple version of the inference: applies the three sentences of ruling 28 until nothing new follows."""
    known = {edge for edge in stated if edge.source != edge.target}
    while True:
        new = set[LinkEdge]()
        for edge in known:
            relationship = RELATIONSHIPS.get(edge.rel)
            if relationship is None:
                continue
            if relationship.converse:
                new.add(LinkEdge(edge.target, relationship.converse, edge.source))
            if relationship.transitive:
                new |= {
                    LinkEdge(edge.source, edge.rel, other.target)
                    for other in known
                    if other.rel == edge.rel and other.source == edge.target and other.target != edge.source
                }
        if new <= known:
            return known - set(stated)
        known |= new


@settings(max_examples=200)
@given(_edges)
def test_the_walk_agrees_with_the_fixpoint(stated: list[LinkEdge]) -> None:
    assert inferred(*stated) == {tuple(edge) for edge in fixpoint(stated)}


@settings(max_examples=100)
@given(_edges, st.randoms(use_true_random=False))
def test_every_path_proves_its_edge_and_the_order_of_statements_changes_nothing(
    stated: list[LinkEdge], chance: random.Random
) -> None:
    found = [(edge, edge.path) for edge in Inference(stated).all()]
    for edge, path in found:
        here = edge.source
        for step in path:
            assert step in stated
            forwards = step.rel == edge.rel and step.source == here
            assert forwards or (RELATIONSHIPS[edge.rel].converse == step.rel and step.target == here)
            here = step.target if forwards else step.source
        assert here == edge.target
    shuffled = list(stated)
    chance.shuffle(shuffled)
    assert [(e.source, e.rel, e.target, path) for e, path in found] == [
        (e.source, e.rel, e.target, e.path) for e in Inference(shuffled).all()
    ]


def test_links_are_inferred_through_a_chain_of_ten_thousand_files() -> None:
    names = [f"{n:05}" for n in range(10_000)]
    chain = [LinkEdge(a, "depends_on", b) for a, b in pairwise(names)]
    inference = Inference(chain)
    *_, last = inference.of("00000", "depends_on")
    assert (last.target, len(last.path)) == ("09999", 9_999)
    assert len(list(islice(inference.all(), 20_000))) == 20_000


@pytest.mark.parametrize("direction", ["out", "in", "both"])
def test_a_long_chain_is_walked_and_printed_without_all_of_its_paths(direction: Direction) -> None:
    """All paths of one file together would be fifty million edges."""
    names = [f"{n:05}" for n in range(10_000)]
    stated = [Stated(LinkEdge(a, "depends_on", b)) for a, b in pairwise(names)]
    links = LinkSource(
        lambda place: [each for each in stated[int(place) : int(place) + 1] if each.edge.source == place],
        lambda place: [each for each in stated[max(0, int(place) - 1) : int(place)] if each.edge.target == place],
        Inference(each.edge for each in stated),
    )
    walk = explore("04000", links, direction=direction)
    steps = list(walk.all())
    assert len(steps) >= 9_999
    furthest = max(steps, key=lambda step: step.path_length)
    assert furthest.path_length == len(furthest.path) == 5_999
    assert furthest.path[0].source == furthest.edge.source or furthest.path[0].target == furthest.edge.source
    assert len(furthest.as_json()["path"]) == LONGEST_PATH
    assert max(map(len, tree(walk, str))) < 1_000
    assert sum(len(line) for line in tree(walk, str)) < 10_000_000
