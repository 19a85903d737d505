"""The drawing of the package shows it as it is (tools/house.py, docs/images/house.svg)."""

import os
from itertools import combinations
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from tools.house import PICTURE, Frame, draw
from tools.imports import FLOORS, SOURCE, importing_modules
from tools.layout import graph_of, reachable, reduced, spread
from tools.rooms import read_house

ROOMS = {room for rooms in FLOORS.values() for room in rooms}
PARTS = {"context/lost", "files/body", "files/check", "files/yaml", "truth/postgres", "web/api"}


@pytest.fixture(scope="module")
def drawing() -> Element:
    return ElementTree.fromstring(draw(read_house()))


def groups(drawing: Element, kind: str) -> list[Element]:
    return [group for group in drawing.iterfind(".//{*}g") if group.get("class") == kind]


def names(drawing: Element, kind: str, attribute: str) -> set[str | None]:
    return {group.get(attribute) for group in groups(drawing, kind)}


def texts(element: Element) -> list[str]:
    return [text.text or "" for text in element.iterfind(".//{*}text")]


def frame(group: Element) -> Frame:
    box = group.find("{*}rect")
    assert box is not None
    return Frame(*(float(box.attrib[name]) for name in ("x", "y", "width", "height")))


def lines_by_module(folder: str) -> dict[str, int]:
    """Counts the lines of the modules in a folder, or of one module, without the code under test."""
    path = SOURCE / folder
    if not path.is_dir():
        return {f"{path.name}.py": len((SOURCE / f"{folder}.py").read_bytes().splitlines())}
    found = {}
    for place, _, files in os.walk(path):
        for file in files:
            if file.endswith(".py"):
                with open(os.path.join(place, file), "rb") as stream:
                    found[os.path.join(place, file)] = sum(1 for _ in stream)
    return found


def test_every_floor_and_room_is_drawn_and_named(drawing: Element) -> None:
    assert names(drawing, "floor", "data-floor") == set(FLOORS)
    assert names(drawing, "room", "data-room") == ROOMS
    assert names(drawing, "part", "data-room") == PARTS
    for kind, attribute in (("floor", "data-floor"), ("room", "data-room")):
        for group in groups(drawing, kind):
            assert texts(group)[0].removesuffix(".py") == group.get(attribute)


def test_a_room_shows_its_subject(drawing: Element) -> None:
    rooms = read_house().rooms
    for group in groups(drawing, "room"):
        assert rooms[group.attrib["data-room"]].subject in " ".join(texts(group))


def test_the_figures_are_those_of_the_tree(drawing: Element) -> None:
    counted = lines_by_module(".")
    figures = {text.get("id"): text.text for text in drawing.iterfind(".//{*}text") if text.get("id")}
    assert figures == {
        "figure-modules": f"{len(counted)}",
        "figure-lines": f"{sum(counted.values()):,}",
        "figure-rooms": f"{len(ROOMS)}",
        "figure-largest": f"{max(counted.values())}",
    }


def test_the_table_has_the_size_of_every_room(drawing: Element) -> None:
    rows = {group.attrib["data-room"]: texts(group) for group in groups(drawing, "sizes")}
    assert set(rows) == ROOMS | PARTS
    for room, (name, modules, lines, largest) in rows.items():
        counted = lines_by_module(room)
        assert name.removesuffix(".py") == room.rpartition("/")[2]
        assert (modules, lines) == (f"{len(counted)}", f"{sum(counted.values()):,}")
        assert largest.endswith(f" {max(counted.values())}")


def test_arrows_say_what_is_imported_and_no_arrow_is_implied_by_others(drawing: Element) -> None:
    counts = importing_modules()
    drawn = {(arrow.attrib["data-from"], arrow.attrib["data-to"]): arrow for arrow in groups(drawing, "arrow")}
    for edge, arrow in drawn.items():
        assert arrow.get("data-modules") == str(counts[edge])
        assert (arrow.findtext("{*}title") or "").startswith(f"{counts[edge]} module")
        assert edge[1] not in reachable(graph_of(ROOMS, drawn.keys() - {edge}))[edge[0]]
    assert reachable(graph_of(ROOMS, drawn)) == reachable(graph_of(ROOMS, counts))


def test_arrows_point_down(drawing: Element) -> None:
    boxes = {group.get("data-room"): frame(group) for group in groups(drawing, "room")}
    for arrow in groups(drawing, "arrow"):
        assert boxes[arrow.get("data-from")].bottom < boxes[arrow.get("data-to")].y


def test_boxes_do_not_overlap_and_are_on_their_floors(drawing: Element) -> None:
    boxes = {group.attrib["data-room"]: frame(group) for group in groups(drawing, "room")}
    for one, other in combinations(boxes.values(), 2):
        beside = one.right < other.x or other.right < one.x
        assert beside or one.bottom < other.y or other.bottom < one.y
    for group in groups(drawing, "floor"):
        band = frame(group)
        for box in (boxes[room] for room in FLOORS[group.attrib["data-floor"]]):
            assert band.x < box.x < box.right < band.right
            assert band.y < box.y < box.bottom < band.bottom


def test_the_same_tree_gives_the_same_bytes() -> None:
    assert draw(read_house()) == draw(read_house())


def test_the_committed_drawing_has_the_rooms_and_floors_of_today() -> None:
    """Its figures may be older than the tree: `make house` draws it again."""
    committed = ElementTree.parse(PICTURE).getroot()
    assert names(committed, "floor", "data-floor") == set(FLOORS)
    assert names(committed, "room", "data-room") == ROOMS


def test_an_edge_that_a_path_implies_is_left_out() -> None:
    graph = graph_of("abcd", [("a", "b"), ("b", "c"), ("a", "c"), ("a", "d"), ("c", "d")])
    assert reduced(graph) == [("a", "b"), ("b", "c"), ("c", "d")]


def test_positions_keep_their_gaps_and_stay_near_the_wanted_ones() -> None:
    assert spread([0, 10, 30], [1, 1, 1], [5, 5]) == [0, 10, 30]
    assert spread([10, 10], [1, 1], [4]) == [8, 12]
    assert spread([10, 10], [3, 1], [4]) == [9, 13]
