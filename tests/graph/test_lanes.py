"""The rows of a tree: each can be drawn by itself, and together they show which turn follows which."""

from hypothesis import given

from slicebase.graph.lanes import MOST_LANES, Lanes, branches_of
from slicebase.graph.tree import NOTHING, TurnTree
from tests.graph.test_tree import forests


def bits(mask: int) -> set[int]:
    return {lane for lane in range(MOST_LANES) if mask >> lane & 1}


def followed(lanes: Lanes, size: int) -> list[int]:
    """Reads from the rows which turn each turn follows, as somebody does who follows the lines with a finger."""
    rows = [lanes.row(number) for number in range(size)]
    above = [NOTHING] * size
    running: dict[int, int] = {}  # by lane: the turn at the upper end of its line
    for number, row in enumerate(rows):
        assert bits(row.above) == set(running)
        for lane in bits(row.joins):  # the branch on this lane began without a turn above it
            first = running[lane]
            while above[first] != NOTHING:
                first = above[first]
            above[first] = number
        if row.lane in running:
            above[number] = running.pop(row.lane)
        running = {lane: turn for lane, turn in running.items() if lane in bits(row.below)}
        for lane in bits(row.below) - set(running):
            assert lane == row.lane or lane in bits(row.forks)
            running[lane] = number
    assert not running
    return above


@given(forests(late=False))
def test_the_rows_show_which_turn_follows_which(above: list[int]) -> None:
    lanes = Lanes(TurnTree(above))
    if lanes.width < MOST_LANES:
        assert followed(lanes, len(above)) == above


@given(forests())
def test_no_two_branches_have_a_lane_at_once(above: list[int]) -> None:
    tree = TurnTree(above)
    lanes = Lanes(tree)
    taken: set[tuple[int, int]] = set()
    for branch in branches_of(tree):
        lane = lanes.row(branch.first).lane
        if lane < MOST_LANES - 1:
            rows = {(lane, row) for row in range(branch.top + 1, branch.bottom + 1)}
            assert not rows & taken
            taken |= rows
            assert all(lanes.row(row).above >> lane & 1 for _, row in rows)


@given(forests())
def test_a_branch_leaves_the_row_of_the_turn_that_it_follows(above: list[int]) -> None:
    tree = TurnTree(above)
    lanes = Lanes(tree)
    firsts = [branch.first for branch in branches_of(tree)]
    assert lanes.branches == len(firsts)
    for first in firsts:
        if (parent := tree.above[first]) != NOTHING:
            row = lanes.row(parent)
            assert lanes.row(first).lane in bits(row.forks if parent < first else row.joins)


def test_a_conversation_without_branches_has_one_lane() -> None:
    lanes = Lanes(TurnTree([-1, 0, 1]))
    assert lanes.width == 1
    assert [lanes.row(number) for number in range(3)] == [(0, 0, 1, 0, 0), (0, 1, 1, 0, 0), (0, 1, 0, 0, 0)]


def test_a_branch_that_ended_leaves_its_lane_to_the_next_one() -> None:
    tree = TurnTree([-1, 0, 0, 2, 2, 4])  # 1 and 3 are branches of one turn
    lanes = Lanes(tree)
    assert lanes.width == 2
    assert [lanes.row(number).lane for number in range(6)] == [0, 1, 0, 1, 0, 0]
    assert [lanes.row(number).forks for number in range(6)] == [2, 0, 2, 0, 0, 0]


def test_very_many_branches_share_the_last_lane() -> None:
    size = 3 * MOST_LANES
    lanes = Lanes(TurnTree([-1, *[0] * size]))
    rows = [lanes.row(number) for number in range(size + 1)]
    assert lanes.width == MOST_LANES
    assert max(row.lane for row in rows) == MOST_LANES - 1
    assert rows[-1].below == 0
