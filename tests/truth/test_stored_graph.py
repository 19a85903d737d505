"""A session that is read turn by turn gives the slices of the plain expansion, whatever its shape and its order."""

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from slicebase.errors import SlicebaseError
from slicebase.graph import on_demand, selection
from slicebase.graph.export import ContextSlice
from slicebase.graph.on_demand import WIDE_FAMILY, SessionSource
from slicebase.graph.policy import DEFAULT, SlicePolicyV1, policy_from
from slicebase.graph.record import annotation_records
from slicebase.graph.select import explain, select
from slicebase.graph.selection import KERNEL, KernelName
from slicebase.graph.turn import GIVEN, Annotation, Edge, Parent, Session, Turn
from slicebase.truth import stored_graph
from slicebase.truth.nodes import differing_turns
from slicebase.truth.stored_graph import StoredGraph
from slicebase.truth.truth import Truth
from slicebase.truth.turn_writer import AddedTurns
from slicebase.verbs.verify import verify
from tests.amounts import MORE
from tests.graph.graphs import GOLDEN_GRAPHS, Graph, golden, golden_graph, graphs, policies, turn
from tests.graph.slicers import KERNELS

_numbers = count()


def context_slice(source: SessionSource, anchor: str, policy: SlicePolicyV1, wide: int = WIDE_FAMILY) -> ContextSlice:
    """Returns the slice that the plain and the compiled version return, which is the same."""
    plain = on_demand.context_slice(source, anchor, policy, wide)
    if "native" in KERNELS:
        from slicebase.graph import native_on_demand

        assert native_on_demand.context_slice(source, anchor, policy, wide) == plain
    return plain


@st.composite
def wide_policies(draw: st.DrawFn) -> SlicePolicyV1:
    """Draws policies, also with a radius and a sibling limit that are beyond every graph."""
    policy = draw(policies())
    radius = draw(st.sampled_from([policy.max_radius, 2**32 - 1]))
    limit = draw(st.sampled_from([policy.max_siblings_per_node, 60]))
    return replace(policy, max_radius=radius, max_siblings_per_node=limit)


def renamed(graph: Graph) -> Graph:
    """Returns the graph with ids and a session of its own, which a database can have beside others. Order is kept."""
    number = next(_numbers)
    ids = {each.id: f"{number:08x}{each.id[8:]}" for each in graph.turns}
    turns = [replace(each, id=ids[each.id], session_id=f"s{number}") for each in graph.turns]
    return Graph(tuple(turns), tuple(replace(e, parent=ids[e.parent], child=ids[e.child]) for e in graph.edges))


def keep(truth: Truth, graph: Graph, batches: Sequence[Sequence[int]], later: frozenset[Edge] = frozenset()) -> None:
    """Stores the turns of a graph, batch by batch. Some edges are stored later, as links."""
    session = Session(graph.turns[0].session_id, "test")
    parents: dict[str, list[Parent]] = {each.id: [] for each in graph.turns}
    for edge in graph.edges:
        if edge not in later:
            parents[edge.child].append(Parent(edge.parent, edge.edge_type))

    def annotate(added: AddedTurns) -> Iterator[object]:
        given = {each.id: each for each in graph.turns}
        notes = [
            Annotation(
                each.id,
                GIVEN,
                given[each.id].phase,
                given[each.id].salience,
                given[each.id].trajectory_depth,
                given[each.id].trajectory_sibling_order,
                given[each.id].trajectory_homogeneity,
                given[each.id].trajectory_temporal,
                given[each.id].trajectory_complexity,
            )
            for each in added.turns
        ]
        return annotation_records(session.id, notes)

    for batch in batches:
        turns = [graph.turns[place] for place in batch]
        truth.turns.add(
            session,
            [
                Turn(t.id, session.id, t.role, (), t.created_at * 1000, tuple(dict.fromkeys(parents[t.id])), t.id)
                for t in turns
            ],
            annotate,  # type: ignore[arg-type]
        )
    truth.turns.link(later)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Truth]:
    truth = Truth(tmp_path_factory.mktemp("kept") / "slicebase.db", create=True)
    yield truth
    truth.close()


@pytest.fixture(params=[(1, 2, 2), (8, 512, 32)], ids=["short pages", "long pages"])
def pages(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_graph, "_FIRST_PAGE", request.param[0])
    monkeypatch.setattr(stored_graph, "_LAST_PAGE", request.param[1])
    monkeypatch.setattr(stored_graph, "_TIED", request.param[2])


@pytest.mark.usefixtures("pages")
@settings(max_examples=12 * MORE)
@given(graphs(), wide_policies(), st.integers(0, 6), st.data())
def test_slices_of_any_graph_are_those_of_the_plain_expansion(
    kept: Truth, drawn: Graph, policy: SlicePolicyV1, wide: int, data: st.DataObject
) -> None:
    graph = renamed(drawn)
    order = data.draw(st.permutations(range(len(graph.turns))))
    later = frozenset(data.draw(st.lists(st.sampled_from(graph.edges), max_size=3))) if graph.edges else frozenset()
    cut = data.draw(st.integers(0, len(order)))
    keep(kept, graph, [order[:cut], order[cut:]], later)
    stored = StoredGraph(kept.database.connection, graph.turns[0].session_id)
    anchor = data.draw(st.sampled_from(graph.turns)).id
    assert on_demand.select(stored, anchor, policy, wide) == select(graph.plain, anchor, policy)
    assert context_slice(stored, anchor, policy, wide) == graph.plain.context_slice(anchor, policy)
    assert explain(stored, anchor, policy) == explain(graph.plain, anchor, policy)
    assert kept.sessions.slice_around(anchor, policy) == graph.plain.context_slice(anchor, policy)


@settings(max_examples=8 * MORE)
@given(graphs(), wide_policies(), st.integers(0, 6), st.data())
def test_a_slice_of_the_past_is_one_of_the_graph_that_there_was(
    kept: Truth, drawn: Graph, policy: SlicePolicyV1, wide: int, data: st.DataObject
) -> None:
    """Ruling 52: turns without a date are left out."""
    times = st.sampled_from([0, 1_704_067_200, 1_704_067_201, 1_704_067_202])
    dated = [replace(each, created_at=data.draw(times)) for each in drawn.turns]
    graph = renamed(Graph(tuple(dated), drawn.edges))
    keep(kept, graph, [range(len(graph.turns))])
    before = Graph(tuple(t for t in graph.turns if 0 < t.created_at <= 1_704_067_201), graph.edges)
    stored = StoredGraph(kept.database.connection, graph.turns[0].session_id, 1_704_067_201_000)
    for anchor in before.turns[:3]:
        assert context_slice(stored, anchor.id, policy, wide) == before.plain.context_slice(anchor.id, policy)


def test_all_that_was_stored_is_derived_again(kept: Truth) -> None:
    assert verify(kept).status == "VERIFIED"
    for session, turns in kept.turns.counts().items():
        assert differing_turns(kept.database.connection, session, range(1, turns + 1)) == []


@pytest.mark.parametrize("name", GOLDEN_GRAPHS)
def test_a_golden_graph_gives_its_slices_turn_by_turn(truth: Truth, name: str) -> None:
    graph = golden_graph(name)
    keep(truth, graph, [range(len(graph.turns))])
    for case in golden(name)["cases"]:
        stored = StoredGraph(truth.database.connection, graph.turns[0].session_id)
        found = context_slice(stored, case["anchor_turn_id"], policy_from(case["policy"]), wide=4)
        assert found.slice_id == case["slice_id"]


def star(size: int, *, distinct: bool) -> Graph:
    """Returns a turn with many children, with random saliences or all with the same."""
    chance = random.Random(7)
    turns = [turn(n, salience=chance.randrange(10_000) / 10_000 if distinct else 0.5) for n in range(size)]
    return renamed(Graph(tuple(turns), tuple(Edge(turns[0].id, each.id, "reply") for each in turns[1:])))


@pytest.mark.parametrize("distinct", [True, False])
@pytest.mark.parametrize("place", [0, 77])
def test_a_slice_of_a_star_reads_what_it_selects(kept: Truth, place: int, distinct: bool) -> None:
    graph = star(2000, distinct=distinct)
    keep(kept, graph, [range(2000)])
    read: list[int] = []
    policy = policy_from({"max_nodes": 12, "max_radius": 2**32 - 1})
    stored = StoredGraph(kept.database.connection, graph.turns[0].session_id, on_read=read.append)
    anchor = graph.turns[place].id
    assert context_slice(stored, anchor, policy) == graph.plain.context_slice(anchor, policy)
    assert sum(read) <= 12 * 17  # some are read together


@pytest.mark.parametrize("changes", [{"salience_weight": 0.0}, {"distance_decay": 0.0}, {"salience_weight": 0.000001}])
def test_many_saliences_that_have_one_priority_go_by_id(kept: Truth, changes: dict[str, float]) -> None:
    graph = star(700, distinct=True)
    keep(kept, graph, [range(700)])
    stored = StoredGraph(kept.database.connection, graph.turns[0].session_id)
    policy = policy_from({**changes, "max_nodes": 300})
    assert on_demand.select(stored, graph.turns[0].id, policy) == select(graph.plain, graph.turns[0].id, policy)
    assert context_slice(stored, graph.turns[0].id, policy) == graph.plain.context_slice(graph.turns[0].id, policy)


def test_a_newer_annotation_counts_in_the_family_too(truth: Truth) -> None:
    """Ruling 17."""
    graph = renamed(Graph((turn(1), turn(2, salience=0.2), turn(3, salience=0.3)), ()))
    first, *others = graph.turns
    graph = Graph(graph.turns, tuple(Edge(first.id, each.id, "reply") for each in others))
    keep(truth, graph, [range(3)])
    note = Annotation(others[0].id, "test/2", "synthesis", 1.0, 0, 0, 0.0, 0.0, 0.0)
    for record in annotation_records(first.session_id, [note]):
        truth.turns.annotate(record)
    stored = StoredGraph(truth.database.connection, first.session_id)
    assert [each.turn_id for each in on_demand.select(stored, first.id, DEFAULT)][1] == others[0].id
    assert context_slice(stored, first.id, DEFAULT).annotators == (GIVEN, "test/2")
    assert verify(truth).status == "VERIFIED"


_ABOVE: dict[str, Callable[[int], int]] = {
    "chain": lambda n: n - 1,
    "tree": lambda n: (n - 1) // 2,
    "comb": lambda n: n - n % 10 if n % 10 else n - 10,
    "bushy": lambda n: (n - 1) // 60,
}


@pytest.mark.parametrize("shape", _ABOVE)
def test_conversations_in_any_order_of_storing_are_read_in_parts(kept: Truth, shape: str) -> None:
    """Turns beside each other are read together; the slices are the same wherever a part begins and ends."""
    above = _ABOVE[shape]
    chance = random.Random(11)
    turns = tuple(turn(n, salience=chance.randrange(1000) / 1000) for n in range(700))
    edges = tuple(Edge(turns[above(n)].id, turns[n].id, "reply") for n in range(1, 700))
    graph = renamed(Graph(turns, edges))
    keep(kept, graph, [range(400), range(400, 700)])
    for policy in (DEFAULT, policy_from({"max_radius": 2**32 - 1, "max_nodes": 80})):
        for anchor in (graph.turns[n].id for n in (0, 1, 333, 699)):
            stored = StoredGraph(kept.database.connection, graph.turns[0].session_id)
            assert context_slice(stored, anchor, policy) == graph.plain.context_slice(anchor, policy)


def test_of_two_siblings_neither_is_an_only_child_however_narrow_a_wide_family_is(truth: Truth) -> None:
    turns = (turn(1), turn(2), turn(3, phase="exploration"))
    graph = renamed(Graph(turns, tuple(Edge(turns[0].id, each.id, "reply") for each in turns[1:])))
    keep(truth, graph, [range(3)])
    policy = policy_from({"max_radius": 1})
    for wide in (0, 1, 2):
        stored = StoredGraph(truth.database.connection, graph.turns[0].session_id)
        expected = select(graph.plain, graph.turns[1].id, policy)
        assert on_demand.select(stored, graph.turns[1].id, policy, wide) == expected
        assert len(expected) == 3


_DAMAGE = [
    "UPDATE nodes SET kind = 20",
    "UPDATE nodes SET kind = -1",
    "UPDATE nodes SET fields = x'00'",
    "UPDATE nodes SET fields = x'0000000000000000000000000000000000000000000000000000807f'",  # infinite complexity
    "UPDATE nodes SET fields = x'0000000000000000000000000000000000000000000000000000c07f'",  # NaN
    "UPDATE nodes SET fields = x'00000000000000000000000000000000000000400000000000000000'",  # a homogeneity of 2
    "UPDATE nodes SET parents = x'0100000000000000ff'",
    "UPDATE nodes SET parents = x'01'",
    "UPDATE nodes SET turn = x'01'",
    "UPDATE nodes SET turn = x'01' WHERE seq = 1",
    "UPDATE nodes SET turn = zeroblob(17) WHERE seq = 1",
    "UPDATE nodes SET salience = NULL",
    "UPDATE nodes SET salience = 9e999",
    "UPDATE nodes SET salience = -9e999",
    "UPDATE nodes SET salience = 1.5",
    "UPDATE nodes SET annotator = NULL",
    "DELETE FROM nodes WHERE seq > 1",
]
_DAMAGE_OF_FAMILIES = [
    "UPDATE nodes SET turn = x'00000000000000000000000000000000'",
    "UPDATE families SET phase = 7",
    "UPDATE families SET phase = -3",
    "UPDATE families SET turn = x'01' WHERE seq = 2",
    "UPDATE families SET negated = 0.5",
    "UPDATE families SET negated = -9e999",
]


def damaged_session(truth: Truth, damage: str, turns: int = 2) -> Graph:
    """Stores a turn with children, and changes the derived tables."""
    children = tuple(turn(n, salience=0.2) for n in range(2, turns + 1))
    edges = tuple(Edge(turn(1).id, each.id, "reply") for each in children)
    graph = renamed(Graph((turn(1), *children), edges))
    keep(truth, graph, [range(turns)])
    truth.database.connection.execute(damage)
    return graph


@pytest.mark.parametrize("turns", [2, WIDE_FAMILY + 2, 3 * WIDE_FAMILY])
@pytest.mark.parametrize("damage", _DAMAGE + _DAMAGE_OF_FAMILIES)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.sqlite
def test_rows_that_no_record_gives_are_an_error_of_every_version(
    truth: Truth, damage: str, turns: int, kernel: KernelName
) -> None:
    graph = damaged_session(truth, damage, turns)
    stored = StoredGraph(truth.database.connection, graph.turns[0].session_id, is_compiled=kernel == "native")
    with pytest.raises(SlicebaseError) as raised:
        selection.context_slice(stored, graph.turns[0].id, DEFAULT)
    assert raised.value.code == "database-damaged"


@pytest.mark.parametrize("damage", _DAMAGE)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.sqlite
def test_rows_that_no_record_gives_are_an_error_of_a_session_in_memory_too(
    truth: Truth, monkeypatch: pytest.MonkeyPatch, damage: str, kernel: KernelName
) -> None:
    monkeypatch.setenv(KERNEL, kernel)
    graph = damaged_session(truth, damage)
    with pytest.raises(SlicebaseError) as raised:
        truth.sessions.slice_around(graph.turns[0].id, DEFAULT)
    assert raised.value.code == "database-damaged"
