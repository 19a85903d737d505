"""Places of drawings: links around a file, and trees."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from slicebase.files.explore import Inference, LinkEdge, LinkSource, Stated, Walk, explore
from slicebase.files.grid import LONGEST_COLUMN, Drawing, neighbourhood, tree_places


def walked(*stated: str, depth: int = 1, infer: bool = False) -> Walk:
    """A walk from `a` along links written as `a depends_on b`."""
    edges = [LinkEdge(*words.split()) for words in stated]
    source = LinkSource(
        lambda place: [Stated(edge) for edge in edges if edge.source == place],
        lambda place: [Stated(edge) for edge in edges if edge.target == place],
        Inference(edges) if infer else None,
    )
    return explore("a", source, direction="both", depth=depth)


def columns(drawing: Drawing) -> dict[str, int]:
    start = drawing.places[0].column
    return {place.name: place.column - start for place in drawing.places}


def test_what_a_file_links_to_is_right_of_it_and_what_links_to_it_is_left() -> None:
    drawn = neighbourhood(walked("a depends_on b", "c depends_on a", "b see_also d", depth=2))
    assert columns(drawn) == {"a": 0, "b": 1, "c": -1, "d": 2}
    assert [step.edge.rel for step in drawn.steps] == ["depends_on", "depends_on", "see_also"]
    assert (drawn.columns, drawn.rows, drawn.left_out) == (4, 1.0, 0)


def test_inferred_links_are_drawn_too() -> None:
    drawn = neighbourhood(walked("a depends_on b", "b depends_on c", infer=True))
    assert columns(drawn) == {"a": 0, "b": 1, "c": 1}
    assert [bool(step.path) for step in drawn.steps] == [False, True]


def test_a_column_is_not_too_long_to_be_seen_and_the_other_places_are_counted() -> None:
    drawn = neighbourhood(walked(*(f"a depends_on n{number:02}" for number in range(60)), "z depends_on a"))
    assert Counter(columns(drawn).values()) == {-1: 1, 0: 1, 1: LONGEST_COLUMN}
    assert (drawn.rows, drawn.left_out) == (LONGEST_COLUMN, 60 - LONGEST_COLUMN)


def test_what_only_a_place_that_is_left_out_leads_to_is_left_out_too() -> None:
    links = [f"a depends_on n{number:03}" for number in range(30)]
    links += [f"n{number:03} depends_on m{number:03}" for number in range(30)]
    drawn = neighbourhood(walked(*links, depth=2))
    assert {place.name[1:] for place in drawn.places[1:]} == {f"{number:03}" for number in range(LONGEST_COLUMN)}
    assert (len(drawn.places), drawn.left_out) == (1 + 2 * LONGEST_COLUMN, 2 * (30 - LONGEST_COLUMN))
    assert len(drawn.steps) == 2 * LONGEST_COLUMN


def test_a_line_passes_behind_no_other_place() -> None:
    """Where all links lead away from the start, each joins two columns that stand beside each other."""
    links = [f"a depends_on n{number}" for number in range(100)] + [f"m{number} see_also a" for number in range(100)]
    links += [f"n{number} depends_on o{number % 7}" for number in range(100)]
    drawn = neighbourhood(walked(*links, depth=2))
    found = columns(drawn)
    assert {abs(found[step.here] - found[step.there]) for step in drawn.steps} == {1}


LINKS = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("abcdefgh")), max_size=20)


@given(LINKS, st.integers(1, 3), st.booleans())
def test_no_two_places_are_the_same_and_none_is_outside(links: list[tuple[str, str]], depth: int, infer: bool) -> None:
    drawn = neighbourhood(walked(*(f"{one} depends_on {other}" for one, other in links), depth=depth, infer=infer))
    assert drawn == neighbourhood(
        walked(*(f"{one} depends_on {other}" for one, other in links), depth=depth, infer=infer)
    )
    places = [(place.column, place.row) for place in drawn.places]
    assert len(set(places)) == len(places)
    assert all(0 <= column < drawn.columns and 0 <= row <= drawn.rows - 1 for column, row in places)
    assert drawn.places[0].name == "a"


def test_a_parent_is_halfway_between_its_children_and_leaves_have_rows_of_their_own() -> None:
    tree = {"root": ["x", "y"], "x": ["1", "2"], "y": [], "1": [], "2": []}
    drawn = dict(tree_places("root", tree.__getitem__))
    assert {name: (place.depth, place.row) for name, place in drawn.items()} == {
        "root": (0, 1.25), "x": (1, 0.5), "y": (1, 2.0), "1": (2, 0.0), "2": (2, 1.0),
    }  # fmt: skip
    assert drawn["2"].parent == drawn["x"].number


def test_of_a_large_tree_the_nearest_nodes_are_drawn_and_each_says_what_it_lacks() -> None:
    drawn = tree_places(0, lambda number: [number * 3 + each for each in (1, 2, 3)] if number < 100 else [], most=10)
    assert len(drawn) == 10
    assert [place.left_out for _, place in drawn] == [0, 0, 0, 3, 3, 3, 3, 3, 3, 3]
    assert len({place.row for _, place in drawn if place.left_out == 3}) == 7
