"""The tree of a session, and the branch that a reader follows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.graph.tree import NOTHING, TurnTree


@st.composite
def forests(draw: st.DrawFn, *, late: bool = True) -> list[int]:
    """Returns for each turn the one that it follows; with `late`, that may have been stored after it."""
    size = draw(st.integers(0, 30))
    above = [draw(st.integers(-1, number - 1)) for number in range(size)]
    if not late:
        return above
    order = draw(st.permutations(range(size)))
    moved = [NOTHING] * size
    for number, parent in enumerate(above):
        moved[order[number]] = NOTHING if parent == NOTHING else order[parent]
    return moved


def below(above: list[int], number: int) -> set[int]:
    found = {number}
    while more := {each for each, parent in enumerate(above) if parent in found} - found:
        found |= more
    return found


@given(forests())
def test_a_reader_follows_the_branch_with_the_newest_turn(above: list[int]) -> None:
    tree = TurnTree(above)
    for number in range(len(above)):
        children = [each for each, parent in enumerate(above) if parent == number]
        assert list(tree.children(number)) == children
        assert tree.newest[number] == max(below(above, number))
        best = max(children, key=lambda child: max(below(above, child)), default=NOTHING)
        assert tree.follow[number] == best


@given(forests())
def test_up_and_down_lead_to_the_root_and_to_a_leaf(above: list[int]) -> None:
    tree = TurnTree(above)
    for number in range(len(above)):
        up, down = tree.up(number), tree.down(number)
        assert [above[each] for each in [number, *up]] == [*up, NOTHING]
        assert [above[each] for each in down] == [number, *down][:-1]
        assert not down or tree.first[down[-1]] == NOTHING
        assert tree.up(number, 2) == up[:2]
        assert tree.down(number, 2) == down[:2]


def test_the_path_leads_to_the_newest_turn() -> None:
    assert TurnTree([]).path() is None
    assert TurnTree([-1, 0, 0, 1, 2]).path() == (0, 4)
    assert TurnTree([-1, -1, 0, 1]).path() == (1, 3)


@pytest.mark.parametrize(("number", "expected"), [(1, [1, 2, 3]), (0, [0, 4]), (4, [0, 4])])
def test_the_alternatives_of_a_turn_are_the_children_of_the_same_turn(number: int, expected: list[int]) -> None:
    assert TurnTree([-1, 0, 0, 0, -1]).alternatives(number) == expected


def test_a_turn_above_itself_is_found() -> None:
    assert TurnTree([-1, 2, 1]).has_cycle()
    assert not TurnTree([2, 0, -1]).has_cycle()
    assert not TurnTree([]).has_cycle()
