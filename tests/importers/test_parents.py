"""The parents of records, and bridges over records that are not turns."""

from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.graph.turn import Edge, Parent
from slicebase.importers.parents import ParentLinks


def test_a_chain_of_records_that_are_not_turns_is_bridged() -> None:
    links = ParentLinks()
    links.join("a", None)
    links.bridge("p", "a")
    links.bridge("q", "p")
    assert links.join("b", "q")[0] == (Parent("a", "reply"),)


def test_a_child_of_a_bridge_without_a_parent_is_a_root() -> None:
    links = ParentLinks()
    links.bridge("p", None)
    assert links.join("a", "p")[0] == ()


def test_bridges_that_lead_in_a_circle_lead_nowhere() -> None:
    links = ParentLinks()
    links.bridge("p", "q")
    links.bridge("q", "p")
    assert links.join("a", "p")[0] == ()


def test_the_same_record_again_changes_nothing() -> None:
    links = ParentLinks()
    links.join("a", None)
    first = links.join("b", "a")
    links.join("c", "a")
    assert links.join("b", "a") == first


def test_a_reference_to_the_parent_is_not_a_second_edge() -> None:
    links = ParentLinks()
    links.join("a", None)
    assert links.join("b", "a", ["a"])[0] == (Parent("a", "reply"),)


def test_a_late_bridge_does_not_close_a_cycle() -> None:
    links = ParentLinks()
    links.join("b", "p")
    links.join("c", "b")
    assert links.bridge("p", "c") == []
    links.join("d", "q")
    assert links.bridge("q", "c") == [Edge("c", "d", "reply")]


NAMES = st.sampled_from("abcdefgh")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(NAMES, st.none() | NAMES, st.lists(NAMES, max_size=2), st.booleans()), max_size=12))
def test_whatever_is_claimed_the_result_has_no_cycle(claims: list[tuple[str, str | None, list[str], bool]]) -> None:
    links = ParentLinks()
    kept: dict[str, set[str]] = {}
    for child, parent, references, is_turn in claims:
        if is_turn:
            parents, _ = links.join(child, parent, references)
            kept.setdefault(child, {each.id for each in parents})
        else:
            for edge in links.bridge(child, parent):
                kept[edge.child].add(edge.parent)
    while kept:
        free = [turn for turn, parents in kept.items() if not parents & kept.keys()]
        assert free
        for turn in free:
            del kept[turn]
