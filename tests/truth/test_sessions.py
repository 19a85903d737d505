"""Sessions as graphs: a slice is the same from the complete session and from a window, and always up to date."""

import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.graph import on_demand
from slicebase.graph.best_first import context_slice
from slicebase.graph.compact import CompactSession
from slicebase.graph.on_demand import Near
from slicebase.graph.policy import BROAD, DEFAULT, FOCUSED, SlicePolicyV1
from slicebase.graph.selection import context_slice as slice_of
from slicebase.graph.selection import select
from slicebase.graph.turn import Edge, Turn
from slicebase.truth.sessions import SMALL, Sessions
from slicebase.truth.stored_graph import StoredGraph
from slicebase.truth.truth import Truth
from tests.codes import code_of
from tests.conversations import SESSION, annotate, chain, name, store, turn

LONG = SMALL + 200


def forest(trees: int, length: int) -> list[Turn]:
    """Returns chains with a branch at every seventh turn."""
    turns = []
    for tree in range(trees):
        for n in range(length):
            parents = [] if n == 0 else [f"{tree}-{n - 2 if n % 7 == 0 else n - 1}"]
            turns.append(turn(f"{tree}-{n}", *parents))
    return turns


@pytest.mark.parametrize("policy", [DEFAULT, FOCUSED, BROAD, SlicePolicyV1(max_radius=0)])
@pytest.mark.sqlite
def test_a_slice_of_a_large_session_is_that_of_the_complete_one(truth: Truth, policy: SlicePolicyV1) -> None:
    truth.turns.add(SESSION, forest(6, 120), annotate)
    whole = truth.sessions.whole("s")
    parts = Sessions(truth.database, truth.turns)
    for anchor in ("0-0", "2-60", "3-7", "5-119"):
        with parts.around(name(anchor)) as graph:
            assert isinstance(graph, StoredGraph)
        assert parts.slice_around(name(anchor), policy) == context_slice(whole, name(anchor), policy)


def test_a_session_that_may_be_selected_completely_is_read_at_once(truth: Truth) -> None:
    truth.turns.add(SESSION, chain(LONG), annotate)
    everything = SlicePolicyV1(max_nodes=LONG, max_radius=LONG)
    assert len(truth.sessions.slice_around(name(3), everything).contents.turns) == LONG
    with truth.sessions.around(name(3)) as graph:
        assert isinstance(graph, CompactSession)


@pytest.mark.sqlite
def test_a_process_that_asks_often_reads_the_complete_session_and_caches_it(truth: Truth) -> None:
    truth.turns.add(SESSION, chain(LONG), annotate)
    kinds = []
    for n in range(0, LONG, 8):
        with truth.sessions.around(name(n)) as graph:
            kinds.append(type(graph))
        truth.sessions.slice_around(name(n), DEFAULT)
    assert kinds[0] is StoredGraph
    assert kinds[-1] is CompactSession


@settings(max_examples=15, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(0, 39))
def test_slices_do_not_depend_on_the_order_of_insertion(tmp_path_factory: pytest.TempPathFactory, random: object,
                                                        anchor: int) -> None:  # fmt: skip
    turns = [turn(n, *{max(0, n - 1 - n % 3)} if n else ()) for n in range(40)]
    shuffled = list(turns)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    slices = []
    for order in (turns, shuffled):
        truth = Truth(tmp_path_factory.mktemp("order") / "slicebase.db", create=True)
        store(truth, order)
        slices.append(truth.sessions.slice_around(name(anchor), DEFAULT).export)
        truth.close()
    assert slices[0] == slices[1]


@pytest.mark.sqlite
def test_a_graph_that_is_read_turn_by_turn_is_one_state_while_another_process_writes(truth: Truth) -> None:
    truth.turns.add(SESSION, chain(LONG), annotate)
    other = Truth(truth.database.path)
    with truth.sessions.around(name(3)) as graph:
        before = select(graph, name(3), FOCUSED)
        store(other, [turn("new", 9)])
        assert name("new") not in graph.children(name(9))
        assert select(graph, name(3), FOCUSED) == before
    with truth.sessions.around(name(3)) as graph:
        assert name("new") in graph.children(name(9))
    other.close()


@pytest.mark.parametrize("length", [20, LONG], ids=["small", "large"])
@pytest.mark.parametrize("damage", ["kind=99", "fields = x'00'", "parents = x'01'", "parents=x'0200000000000000ff'"])
@pytest.mark.sqlite
def test_a_row_that_no_record_gives_is_damage_and_not_an_error_of_the_program(
    truth: Truth, length: int, damage: str
) -> None:
    truth.turns.add(SESSION, chain(length), annotate)
    truth.database.connection.execute(f"UPDATE nodes SET {damage} WHERE seq = 3")
    assert code_of(truth.sessions.slice_around, name(2), DEFAULT) == "database-damaged"


@pytest.mark.parametrize("length", [20, LONG], ids=["small", "large"])
@pytest.mark.parametrize(
    "damage", ["nodes WHERE seq = 3", "nodes", "shapes"], ids=["one node", "all nodes", "the session's number"]
)
def test_a_turn_without_its_derived_row_is_damage_and_is_not_said_to_be_missing(
    truth: Truth, length: int, damage: str
) -> None:
    truth.turns.add(SESSION, chain(length), annotate)
    truth.database.connection.execute(f"DELETE FROM {damage}")
    assert code_of(truth.sessions.slice_around, name(2), DEFAULT) == "database-damaged"
    assert code_of(truth.sessions.whole, SESSION.id) == "database-damaged"


@pytest.mark.parametrize("damage", ["nodes SET parents = x'01'", "nodes SET kind = 99", "families SET phase = 9"])
@pytest.mark.sqlite
def test_damage_is_found_also_where_the_caller_reads_the_graph(truth: Truth, damage: str) -> None:
    truth.turns.add(SESSION, chain(LONG), annotate)
    truth.database.connection.execute(f"UPDATE {damage} WHERE seq = 3")
    with truth.sessions.around(name(2)) as graph:
        assert code_of(slice_of, graph, name(2), DEFAULT) == "database-damaged"


@pytest.mark.parametrize("error", [IndexError, struct.error])
@pytest.mark.parametrize("length", [20, LONG], ids=["small", "large"])
def test_an_error_of_the_caller_is_no_damage(truth: Truth, length: int, error: type[Exception]) -> None:
    truth.turns.add(SESSION, chain(length), annotate)
    with pytest.raises(error), truth.sessions.around(name(2)):
        raise error


@pytest.mark.parametrize("limit", [0, 5, 59, 60, 1_000_000])
def test_a_family_is_ranked_once_however_many_of_its_turns_are_selected(truth: Truth, limit: int) -> None:
    class Counted(StoredGraph):
        asked = 0

        def best_children(self, number: int, limit: int) -> list[Near]:
            self.asked += 1
            return super().best_children(number, limit)

    truth.turns.add(SESSION, [turn("hub"), *(turn(n, "hub") for n in range(60))], annotate)
    graph = Counted(truth.database.connection, "s")
    policy = SlicePolicyV1(max_nodes=40, max_siblings_per_node=limit)
    assert on_demand.context_slice(graph, name(7), policy) == context_slice(truth.sessions.whole("s"), name(7), policy)
    assert graph.asked == 1
    again = Counted(truth.database.connection, "s")
    for each in range(60):
        assert again.siblings(name(each), limit) == truth.sessions.whole("s").siblings(name(each), limit)
    assert again.asked == 1


@pytest.mark.sqlite
def test_a_cached_session_contains_turns_and_links_that_another_process_adds(truth: Truth, tmp_path: Path) -> None:
    store(truth, [turn("a"), turn("b", "a"), turn("c")])
    assert len(truth.sessions.slice_around(name("a"), DEFAULT).contents.turns) == 2
    other = Truth(truth.database.path)
    store(other, [turn("d", "b")])
    assert len(truth.sessions.slice_around(name("a"), DEFAULT).contents.turns) == 3
    other.turns.link([Edge(name("b"), name("c"), "reference")])
    other.close()
    assert len(truth.sessions.slice_around(name("a"), DEFAULT).contents.turns) == 4
    truth.turns.add(SESSION, [turn("e", "a")], annotate)
    assert len(truth.sessions.slice_around(name("a"), DEFAULT).contents.turns) == 5


def test_the_cache_is_bounded(truth: Truth) -> None:
    for session in "abc":
        turns = [turn(f"{session}{n}", session=session) for n in range(10)]
        store(truth, turns)
    few = Sessions(truth.database, truth.turns, kept_turns=15)
    for session in "abc":
        few.whole(session)
    assert len(few._kept) == 1


def test_a_slice_stays_in_its_session(truth: Truth) -> None:
    """Ruling 13."""
    store(truth, [turn("a"), turn("b", "a", session="t")])
    assert len(truth.sessions.slice_around(name("a"), DEFAULT).contents.turns) == 1
