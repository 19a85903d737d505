"""The compact form of a session: built from rows in any order, small, and exact."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.errors import SlicebaseError
from slicebase.graph.compact import compact
from slicebase.graph.policy import DEFAULT, policy_from
from slicebase.graph.selection import KernelName, context_slice, with_kernel
from tests.graph.graphs import Graph, graph, graphs, tid, turn


def row(number: int, annotator: str = "rules/1", salience: float = 0.5, created_at: int = 0) -> tuple[object, ...]:
    return (tid(number), "user", "planning", salience, 0, 0, 0.5, 0.5, 1.0, created_at, annotator)


@settings(max_examples=40)
@given(graphs(), st.data())
def test_a_compact_session_says_what_the_plain_one_says(given: Graph, data: st.DataObject) -> None:
    packed, plain = given.compact, given.plain
    for each in given.turns:
        assert packed.get_turn(each.id) == each
        assert packed.parents(each.id) == plain.parents(each.id)
        assert packed.children(each.id) == plain.children(each.id)
        limit = data.draw(st.none() | st.integers(0, 6))
        assert packed.siblings(each.id, limit) == plain.siblings(each.id, limit)


def test_numbers_keep_their_size() -> None:
    turns = [
        turn(1, created_at=-(10**12), trajectory_depth=2**40, trajectory_complexity=-3.5),
        turn(2, created_at=10**12, trajectory_sibling_order=300),
    ]
    packed = graph(turns, (1, 2)).compact
    assert [packed.get_turn(each.id) for each in turns] == turns


def test_fractions_are_rounded_to_binary32() -> None:
    assert compact("s", [row(1, salience=0.1)], []).get_turn(tid(1)).salience == 0.10000000149011612


def test_annotators_are_those_of_the_selected_turns(kernel: KernelName) -> None:
    """Ruling 17."""
    session = with_kernel(compact("s", [row(1, "rules/2"), row(2, "given/1")], [(tid(1), tid(2), "reply")]), kernel)
    assert context_slice(session, tid(1), DEFAULT).annotators == ("given/1", "rules/2")
    alone = policy_from({"max_nodes": 1})
    assert context_slice(session, tid(1), alone).annotators == ("rules/2",)


def test_an_empty_session_has_no_turn() -> None:
    with pytest.raises(SlicebaseError) as caught:
        compact("s", [], []).number_of(tid(1))
    assert caught.value.code == "no-turn"


def test_rows_that_repeat_an_id_are_refused() -> None:
    with pytest.raises(SlicebaseError) as caught:
        compact("s", [row(1), row(1)], [])
    assert caught.value.code == "duplicate-turn"


def test_a_turn_takes_less_than_a_hundred_bytes() -> None:
    chain = graph([turn(n) for n in range(1000)], *((n, n + 1) for n in range(999)))
    assert chain.compact.nbytes < 100 * 1000


def test_orders_of_wide_families_are_kept_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slicebase.graph.compact._KEPT_MEMBERS", 250)
    star = graph([turn(n, salience=n / 100) for n in range(100)], *((0, n) for n in range(1, 100))).compact
    orders = [list(star.ranked_children(0, distance, DEFAULT)) for distance in (1, 2, 3, 1)]
    assert orders[0] == orders[3]
    assert sum(len(turns) for turns, _ in star._ranked.values()) <= 250
