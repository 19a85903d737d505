"""A walk along links: what it finds, how far it goes, what is inferred, and how it is drawn."""

from collections import deque
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.files.explore import Direction, Inference, LinkEdge, LinkSource, Stated, Walk, explore, mermaid, tree
from slicebase.files.links import RELATIONSHIPS


def links(*stated: str, infer: bool = False) -> LinkSource:
    """Links written as `a depends_on b`; a fourth word is the row that states it."""
    edges = [(LinkEdge(*words.split()[:3]), "".join(words.split()[3:])) for words in stated]
    return LinkSource(
        lambda place: [Stated(edge, None, row) for edge, row in edges if edge.source == place],
        lambda place: [Stated(edge, None, row) for edge, row in edges if edge.target == place],
        Inference(edge for edge, row in edges if not row) if infer else None,
    )


def met(walk: Walk) -> list[str]:
    return [" ".join(step.edge) + (f" {step.row}" if step.row else "") for step in walk.all()]


CHAIN = ("a depends_on b", "b depends_on c", "c depends_on d", "x see_also b")


@pytest.mark.parametrize(
    ("direction", "depth", "expected"),
    [
        ("out", 1, ["b depends_on c"]),
        ("out", 2, ["b depends_on c", "c depends_on d"]),
        ("in", 1, ["a depends_on b", "x see_also b"]),
        ("both", 1, ["b depends_on c", "a depends_on b", "x see_also b"]),
    ],
)
def test_links_are_followed_in_a_direction_to_a_given_depth(
    direction: Direction, depth: int, expected: list[str]
) -> None:
    assert met(explore("b", links(*CHAIN), direction=direction, depth=depth)) == expected


def test_a_walk_can_follow_one_relationship_only() -> None:
    assert met(explore("b", links(*CHAIN), direction="both", rel="see_also")) == ["x see_also b"]


def test_a_cycle_is_walked_once() -> None:
    cycle = links("a is_a b", "b is_a c", "c is_a a", "a is_a a")
    assert met(explore("a", cycle, depth=50)) == ["a is_a b", "b is_a c", "c is_a a"]


def test_a_place_is_reached_by_a_shortest_path() -> None:
    walk = explore("a", links("a is_a b", "b is_a c", "a see_also c", "c is_a d"), depth=3)
    assert [step.there for step in walk.steps["a"] if step.first] == ["b", "c"]
    assert [step.first for step in walk.steps["b"]] == [False]
    assert [step.there for step in walk.steps["c"]] == ["d"]


def test_an_inferred_link_names_its_path() -> None:
    """Ruling 28."""
    walk = explore("a", links(*CHAIN, infer=True))
    inferred = {" ".join(step.edge): [" ".join(edge) for edge in step.path] for step in walk.all() if step.path}
    assert inferred == {
        "a depends_on c": ["a depends_on b", "b depends_on c"],
        "a depends_on d": ["a depends_on b", "b depends_on c", "c depends_on d"],
    }


def test_an_inverse_relationship_is_inferred() -> None:
    """The specification's own example: `--rel type_of --infer`."""
    taxonomy = links("cat is_a mammal", "mammal is_a animal", infer=True)
    walk = explore("animal", taxonomy, rel="type_of")
    assert met(walk) == ["animal type_of cat", "animal type_of mammal"]
    assert [" ".join(edge) for edge in walk.steps["animal"][0].path] == ["mammal is_a animal", "cat is_a mammal"]


def test_inferred_links_to_a_place_are_found() -> None:
    walk = explore("d", links(*CHAIN, infer=True), direction="in", rel="depends_on")
    assert met(walk) == ["c depends_on d", "a depends_on d", "b depends_on d"]
    assert [" ".join(edge) for edge in walk.steps["d"][1].path] == [
        "a depends_on b",
        "b depends_on c",
        "c depends_on d",
    ]


@pytest.mark.parametrize("rel", RELATIONSHIPS)
@pytest.mark.parametrize("reversed_links", [(), (0,), (1,), (0, 1)])
def test_a_relationship_is_found_from_either_end_whichever_side_states_it(
    rel: str, reversed_links: tuple[int, ...]
) -> None:
    """§ Relationship Properties: `tt explore X --rel type_of --infer`, where one of the two files says `is_a`."""
    relationship = RELATIONSHIPS[rel]
    if reversed_links and not relationship.converse:
        return  # evidence_for and evidence_against are not converses (ruling 28)
    chain = [("a", rel, "b"), ("b", rel, "c")]
    stated = [
        f"{target} {relationship.converse} {source}" if at in reversed_links else f"{source} {rel} {target}"
        for at, (source, rel, target) in enumerate(chain)
    ]
    true = {("a", "b"), ("b", "c")} | ({("a", "c")} if relationship.transitive else set())
    for start, asked in product("abc", filter(None, {rel, relationship.converse})):
        walk = explore(start, links(*stated, infer=True), direction="both", rel=asked)
        found = [(step.edge.source, step.edge.target) for step in walk.all()]
        forward = found if asked == rel else [(target, source) for source, target in found]
        if relationship.symmetric:
            forward = [(min(pair), max(pair)) for pair in forward]
        assert sorted(forward) == sorted(pair for pair in true if start in pair), (start, asked)


def test_a_walk_in_both_directions_shows_every_link_once() -> None:
    walk = explore("b", links("a depends_on b", "b depends_on c", infer=True), direction="both")
    assert met(walk) == ["b depends_on c", "a depends_on b"]


def test_nothing_is_inferred_from_the_link_of_a_row() -> None:
    stated = links("a depends_on b row1", "b depends_on c", infer=True)
    assert met(explore("a", stated, depth=2)) == ["a depends_on b row1", "b depends_on c"]


def test_a_tree_shows_directions_rows_labels_and_reasons() -> None:
    stated = links("a depends_on b", "b depends_on c", "x evidence_for a row1", infer=True)
    assert list(tree(explore("a", stated, direction="both", depth=2), str.upper)) == [
        "A",
        "├─ depends_on → B",
        "│  └─ depends_on → C",
        "├─ evidence_for ← X  (row row1)",
        "└┄ depends_on → C  (because a depends_on b, b depends_on c)",
    ]


def test_a_place_without_links_is_a_tree_of_one() -> None:
    assert list(tree(explore("a", links()), str)) == ["a"]


def test_a_drawing_escapes_titles_and_shows_inferred_links_dotted() -> None:
    walk = explore("a", links("a is_a b", "b is_a c", infer=True))
    drawing = mermaid(walk, lambda place: f'"{place}" <#1>')
    assert 'n0["#34;a#34; #60;#35;1#62;"]' in drawing
    assert "n0 -->|is_a| n1" in drawing
    assert "n0 -.->|is_a| n2" in drawing


_edges = st.lists(
    st.tuples(st.sampled_from("abcde"), st.sampled_from(["is_a", "depends_on", "see_also"]), st.sampled_from("abcde")),
    max_size=12,
)


@given(edges=_edges, depth=st.integers(1, 6))
def test_a_walk_reaches_what_is_within_its_depth_and_nothing_else(
    edges: list[tuple[str, str, str]], depth: int
) -> None:
    walk = explore("a", links(*(" ".join(edge) for edge in edges)), depth=depth)
    distance, pending = {"a": 0}, deque(["a"])
    while pending:
        here = pending.popleft()
        for source, _, target in edges:
            if source == here and target not in distance:
                distance[target] = distance[here] + 1
                pending.append(target)
    assert set(walk.places()) == {place for place, steps in distance.items() if steps <= depth}
    assert len(met(walk)) == len(set(met(walk)))


@given(edges=_edges, start=st.sampled_from("abcde"))
def test_both_ways_of_asking_for_a_relationship_agree(edges: list[tuple[str, str, str]], start: str) -> None:
    """What leads here by a relationship is what this leads to by its converse."""
    stated = links(*(" ".join(edge) for edge in edges), infer=True)
    for rel in ("is_a", "depends_on", "see_also"):
        converse = RELATIONSHIPS[rel].converse
        into = {step.there for step in explore(start, stated, direction="in", rel=rel).all()}
        out = {step.there for step in explore(start, stated, direction="out", rel=converse).all()}
        assert into == out
