"""The picture of an atlas: every turn once, edges of a tree that do not cross turns, and nothing but shapes."""

from math import log2
from xml.etree import ElementTree

import pytest
from hypothesis import given
from msgspec.structs import replace

from slicebase.errors import SlicebaseError
from slicebase.graph import atlas_svg
from slicebase.graph.atlas_svg import svg
from tests.graph.graphs import Graph, graph, graphs, turn
from tests.graph.test_atlas import chain, made

NAMESPACE = "{http://www.w3.org/2000/svg}"


def drawn(given: Graph) -> ElementTree.Element:
    return ElementTree.fromstring(svg(made(given)))


def turns_in(picture: ElementTree.Element) -> list[ElementTree.Element]:
    return [each for each in picture.iter(f"{NAMESPACE}circle") if each.find(f"{NAMESPACE}title") is not None]


@given(graphs())
def test_every_turn_has_a_place_of_its_own_inside_the_picture(given: Graph) -> None:
    picture = drawn(given)
    places = {(float(each.attrib["cx"]), float(each.attrib["cy"])) for each in turns_in(picture)}
    assert len(places) == len(turns_in(picture)) == len(given.turns)
    width, height = float(picture.attrib["width"]), float(picture.attrib["height"])
    assert all(0 < x < width and 0 < y < height for x, y in places)


@given(graphs())
def test_edges_of_the_tree_go_down_and_lanes_are_few(given: Graph) -> None:
    session = given.compact
    tree = atlas_svg._tree(session)
    for below, above in tree.above.items():
        assert tree.spots[above].row < tree.spots[below].row
        between = [tree.spots[each] for each in tree.order[tree.spots[above].row + 1 : tree.spots[below].row]]
        assert all(spot.lane > tree.spots[above].lane for spot in between)
    assert max(spot.lane for spot in tree.spots.values()) <= log2(len(session)) + 1


def test_the_same_atlas_gives_the_same_bytes() -> None:
    assert svg(made(chain(60))) == svg(made(chain(60)))


def test_the_picture_holds_shapes_and_labels_only_whatever_the_session_is_called() -> None:
    name = '"><script>alert(1)</script>&\u202e\x07\ud800'
    turns = [replace(turn(n), session_id=name) for n in range(3)]
    text = svg(made(graph(turns, (0, 1), (1, 2)))).encode()
    picture = ElementTree.fromstring(text)
    kinds = {each.tag.removeprefix(NAMESPACE) for each in picture.iter()}
    assert kinds == {"svg", "style", "rect", "text", "circle", "path", "title"}
    assert not any(key.startswith("on") or "href" in key for each in picture.iter() for key in each.attrib)
    assert b"url(" not in text
    assert b"@import" not in text


def test_turns_that_no_slice_reaches_look_different() -> None:
    picture = drawn(graph([turn(1), turn(2), turn(3)], (1, 2)))
    assert [each.attrib["class"] for each in turns_in(picture)].count("none") == 1


def test_a_long_name_ends_inside_the_picture_and_is_complete_for_a_screen_reader() -> None:
    picture = drawn(graph([replace(turn(1), session_id="x" * 500)]))
    assert picture.attrib["aria-label"].endswith("x" * 500)
    assert max(len(each.text or "") for each in picture.iter(f"{NAMESPACE}text")) < 60


def test_a_session_without_turns_gives_an_empty_picture() -> None:
    from slicebase.graph.atlas import SessionAtlas, survey
    from slicebase.graph.compact import compact
    from slicebase.graph.policy import DEFAULT

    session = compact("s", [], [])
    assert turns_in(ElementTree.fromstring(svg(SessionAtlas(session, survey(session, [], DEFAULT))))) == []


def test_a_picture_that_nobody_could_look_at_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atlas_svg, "MOST_DRAWN", 2)
    with pytest.raises(SlicebaseError) as raised:
        svg(made(chain(3)))
    assert raised.value.code == "too-large"
