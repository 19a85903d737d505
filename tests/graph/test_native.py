"""The compiled version: it is there, it is built from these sources, and it returns the same as the plain one."""

import random
import shutil
import signal
import sys
import sysconfig
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.errors import SlicebaseError
from slicebase.graph import best_first, selection
from slicebase.graph.atlas import survey
from slicebase.graph.binary32 import binary32
from slicebase.graph.compact import CompactSession
from slicebase.graph.policy import DEFAULT, SlicePolicyV1, policy_from
from slicebase.graph.turn import EdgeType
from slicebase.verbs.kernel import is_current
from tests.graph.graphs import GOLDEN_GRAPHS, Graph, edge, golden, golden_graph, graph, graphs, policies, tid, turn
from tests.graph.slicers import KERNELS, compact
from tests.paths import PROJECT

compiled = pytest.mark.skipif("native" not in KERNELS, reason="the kernel is not compiled")
NAMES = sorted(path.stem for path in Path(PROJECT, "src/slicebase/graph").glob("native*.pxd"))


@pytest.mark.skipif(
    shutil.which((sysconfig.get_config_var("CC") or "cc").split()[0]) is None,
    reason="there is no compiler",
)
def test_with_a_compiler_the_kernel_is_compiled() -> None:
    """So that no run of the tests leaves the compiled version out by accident."""
    assert "native" in KERNELS


@compiled
def test_the_compiled_files_are_not_stale() -> None:
    """`make` compiles them again; a change that was not compiled would be tested by nothing."""
    assert is_current()


@pytest.mark.parametrize("name", NAMES)
def test_sources_that_are_not_compiled_are_not_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Cython is installed, Python could run them, slower than the plain version."""
    monkeypatch.setitem(sys.modules, "cython", SimpleNamespace(compiled=False))
    source = Path(PROJECT, f"src/slicebase/graph/{name}.py").read_text()
    with pytest.raises(ImportError):
        exec(compile(source, name, "exec"), {})


@compiled
@settings(max_examples=150)
@given(graphs(), policies(), st.integers(0, 6), st.data())
def test_twins_agree_on_arbitrary_graphs(given: Graph, policy: SlicePolicyV1, wide: int, data: st.DataObject) -> None:
    anchor = data.draw(st.sampled_from(given.turns)).id
    ours, plain = compact(given, "native", wide), given.compact
    assert selection.select(ours, anchor, policy) == best_first.select(plain, anchor, policy)
    assert selection.context_slice(ours, anchor, policy) == best_first.context_slice(plain, anchor, policy)


@compiled
@pytest.mark.parametrize("wide", [0, 2])
@pytest.mark.parametrize("name", GOLDEN_GRAPHS)
def test_golden_graphs_come_out_the_same_when_every_family_is_wide(name: str, wide: int) -> None:
    session = compact(golden_graph(name), "native", wide)
    for case in golden(name)["cases"]:
        selected = selection.select(session, case["anchor_turn_id"], policy_from(case["policy"]))
        assert [candidate.turn_id for candidate in selected] == case["selection_order"]


def star(salience: Callable[[int], float], count: int = 300) -> Graph:
    turns = [turn(n, "planning" if n % 3 else "synthesis", binary32(salience(n))) for n in range(1, count + 1)]
    return graph(turns, *((1, n) for n in range(2, count + 1)))


@compiled
@pytest.mark.parametrize(
    "salience",
    [
        lambda n: 0.5,  # one run of equal salience
        lambda n: (n * 37 % 101) / 101,
        lambda n: 0.5 + (n * 7 % 300) * 2.0**-24,  # runs of one turn that binary32 gives equal priorities
        lambda n: (n % 2) / 2,
    ],
)
@pytest.mark.parametrize("given", [{}, {"salience_weight": 0}, {"distance_decay": 0}, {"max_siblings_per_node": 200}])
def test_wide_families_with_ties_leave_by_id(salience: Callable[[int], float], given: dict[str, float]) -> None:
    family, policy = star(salience), policy_from({"max_nodes": 280, **given})
    ours, plain = compact(family, "native"), family.compact
    for anchor in (1, 2, 150, 300):
        assert selection.select(ours, tid(anchor), policy) == best_first.select(plain, tid(anchor), policy)


@compiled
@pytest.mark.parametrize("siblings", [0, 1, 3, 2**53 - 1])
@pytest.mark.parametrize("nodes", [1, 40, 2**53 - 1])
@pytest.mark.parametrize("radius", [0, 5, 2**32 - 1])
def test_the_largest_limits_are_only_limits(siblings: int, nodes: int, radius: int) -> None:
    """Nothing is reserved in advance, and no number is cut to fewer bits."""
    policy = SlicePolicyV1(max_nodes=nodes, max_radius=radius, max_siblings_per_node=siblings)
    joined = Graph(
        star(lambda n: n / 300, 120).turns,
        (*(edge(1, n) for n in range(2, 60)), *(edge(n, n + 40) for n in range(3, 80))),
    )
    ours, plain = compact(joined, "native"), joined.compact
    for anchor in (1, 30, 60, 119):
        assert selection.context_slice(ours, tid(anchor), policy) == best_first.context_slice(
            plain, tid(anchor), policy
        )


NUMBERS = st.floats(-(2.0**127), 2.0**127, width=32) | st.floats(-10, 10, width=32) | st.sampled_from(
    [0.0, 1e-45, 0.001, 0.00099999993, 8388607.5, 8388608.0, 16777216.0, 0.1, 9.5, 9.999999, 99999.99, 1.0, 0.3, 1e10]
)  # fmt: skip
INTEGERS = st.sampled_from([0, 1, 255, 256, 65535, 65536, 2**32 - 1, 2**32, 2**53 - 1, -1, -(2**53 - 1)])


@compiled
@settings(max_examples=300)
@given(st.lists(NUMBERS.map(binary32), min_size=4, max_size=4), st.lists(INTEGERS, min_size=3, max_size=3))
def test_numbers_are_written_as_the_plain_version_writes_them(fractions: list[float], integers: list[int]) -> None:
    """Ruling 4: the shortest decimal without an exponent. All sizes of packed integers occur."""
    fields: dict[str, Any] = dict(
        zip(("trajectory_homogeneity", "trajectory_temporal", "trajectory_complexity"), fractions, strict=False)
    )
    depth, order, time = integers
    alone = graph([turn(1, **fields, trajectory_depth=depth, trajectory_sibling_order=order, created_at=time)])
    ours = selection.context_slice(compact(alone, "native"), tid(1), DEFAULT)
    assert ours == best_first.context_slice(alone.compact, tid(1), DEFAULT)


@compiled
@pytest.mark.parametrize("session_id", ["s", 'quoted "\\\n', "Über 日本 🙂", ""])
def test_the_id_of_a_session_may_be_any_text(session_id: str) -> None:
    alone = graph([turn(1, session_id=session_id)])
    ours = selection.context_slice(compact(alone, "native"), tid(1), DEFAULT)
    assert ours == alone.plain.context_slice(tid(1), DEFAULT)


def test_half_of_a_surrogate_pair_is_refused_by_both(kernel: selection.KernelName) -> None:
    session = compact(graph([turn(1, session_id="\ud800")]), kernel)
    with pytest.raises(SlicebaseError) as caught:
        selection.context_slice(session, tid(1), DEFAULT)
    assert caught.value.code == "lone-surrogate"


@pytest.mark.parametrize("anchor", [tid(2), "", "x", "é" * 36, "0" * 36, tid(1)[:-1] + "\ud800", tid(1).upper() + " "])
def test_an_anchor_that_is_not_in_the_session_is_refused(kernel: selection.KernelName, anchor: str) -> None:
    session = compact(graph([turn(1)]), kernel)
    with pytest.raises(SlicebaseError) as caught:
        selection.context_slice(session, anchor, DEFAULT)
    assert caught.value.code == "no-turn"
    (found,) = selection.exports(session, [(anchor, DEFAULT)])
    assert isinstance(found, SlicebaseError)
    assert found.code == "no-turn"


def random_session(count: int, kernel: selection.KernelName) -> CompactSession:
    chance = random.Random(7)
    turns = [turn(n, salience=chance.random()) for n in range(count)]
    types = get_args(EdgeType)
    edges = [edge(chance.randrange(n), n, chance.choice(types)) for n in range(1, count) for _ in range(1 + n % 2)]
    return compact(Graph(tuple(turns), tuple(edges)), kernel)


def test_many_at_once_are_the_same_as_one_after_the_other(kernel: selection.KernelName) -> None:
    session = random_session(400, kernel)
    small = policy_from({"max_nodes": 7})
    anchors = range(0, 400, 9)
    requests = [(tid(anchor), small if anchor % 2 else DEFAULT) for anchor in anchors]
    exports: list[bytes | SlicebaseError] = []
    while len(exports) < len(requests):
        exports += selection.exports(session, requests[len(exports) :])
    assert exports == [best_first.context_slice(session, *request).export for request in requests]


@compiled
def test_a_call_returns_before_its_exports_take_much_memory() -> None:
    session = random_session(2000, "native")
    all_of_it = policy_from({"max_nodes": 2000, "max_radius": 2000})
    found = selection.exports(session, [(tid(0), all_of_it)] * 100)
    assert 1 <= len(found) < 100
    assert set(found) == {selection.context_slice(session, tid(0), all_of_it).export}


def test_threads_can_slice_one_session_at_once(kernel: selection.KernelName) -> None:
    session = random_session(600, kernel)
    whole = policy_from({"max_nodes": 5000, "max_radius": 600})  # so many that the lock is given up
    asked = [(tid(n), policy) for n in range(0, 600, 20) for policy in (DEFAULT, whole)]
    expected = [best_first.context_slice(session, *each) for each in asked]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda each: selection.context_slice(session, *each), asked * 2)) == expected * 2


def test_a_turn_takes_at_most_120_bytes_in_a_wide_family_too(kernel: selection.KernelName) -> None:
    assert compact(star(lambda n: n / 1000, 1000), kernel).nbytes <= 120 * 1000


@compiled
def test_a_number_that_is_no_turn_is_refused() -> None:
    session = random_session(3, "native")
    assert session.kernel is not None
    with pytest.raises(IndexError):
        session.kernel.expand(3, DEFAULT)
    for anchors, above in (([3], [0]), ([0], [3])):
        with pytest.raises(IndexError):
            session.kernel.survey(anchors, above, DEFAULT)
    with pytest.raises(ValueError):
        session.kernel.survey([0, 1], [0], DEFAULT)


@compiled
def test_long_work_can_be_interrupted() -> None:
    """A signal is handled meanwhile, and the next call works."""
    session = random_session(2000, "native")
    whole = policy_from({"max_nodes": 2000, "max_radius": 2000})

    class AlarmError(Exception):
        pass

    def interrupt(*_: object) -> None:
        raise AlarmError

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(AlarmError):
            survey(session, range(2000), whole)  # takes far longer
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert survey(session, [0], whole).sizes[0] == 2000
