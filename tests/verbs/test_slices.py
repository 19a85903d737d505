"""Many slices at once: in the order of the requests, errors in their places, and each session read once."""

import _thread
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from slicebase import Slicebase
from slicebase.errors import SlicebaseError
from slicebase.graph.compact import CompactSession
from slicebase.graph.policy import DEFAULT, FOCUSED, SlicePolicyV1
from slicebase.graph.selection import KERNEL
from slicebase.graph.turn import Session
from slicebase.truth.sessions import SMALL
from slicebase.truth.stored_graph import StoredGraph
from slicebase.verbs import slices
from tests.codes import code_of
from tests.conversations import SESSION, annotate, chain, name, turn
from tests.graph.slicers import KERNELS

LONG = SMALL + 100
NOWHERE = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Slicebase]:
    with Slicebase.init(tmp_path) as made:
        made.truth.turns.add(SESSION, chain(LONG), annotate)
        others = [turn(f"o{n}", *([f"o{n // 2}"] if n else []), session="other") for n in range(40)]
        made.truth.turns.add(Session("other", "test"), others, annotate)
        yield made


@pytest.mark.parametrize("kernel", ["plain", "auto"])
def test_many_slices_are_those_of_one_after_the_other(
    memory: Slicebase, monkeypatch: pytest.MonkeyPatch, kernel: str
) -> None:
    """Requests of two sessions take turns, some fail, and there are enough for several threads."""
    monkeypatch.setenv(KERNEL, kernel)
    monkeypatch.setattr(slices, "processors", lambda: 3)
    turns = [name(n) if n % 3 else name(f"o{n % 40}") for n in range(0, LONG, 2)]
    turns[7], turns[20], turns[21] = NOWHERE, "no turn", f"turn:{turns[1][:20]}"
    requests = [(each, (DEFAULT, FOCUSED, None)[place % 3]) for place, each in enumerate(turns)]
    answers = memory.graph.select_many(requests)
    assert len(answers) == len(requests)
    for (each, policy), answer in zip(requests, answers, strict=True):
        if isinstance(answer, SlicebaseError):
            assert (each, answer.code) in ((NOWHERE, "no-turn"), ("no turn", "bad-reference"))
        else:
            assert answer == memory.graph.select(each, policy).export
    assert sum(isinstance(answer, SlicebaseError) for answer in answers) == 2


@pytest.mark.parametrize(("count", "kind"), [(2, StoredGraph), (200, CompactSession)])
def test_a_session_is_read_completely_where_many_slices_of_it_are_asked_for(
    memory: Slicebase, count: int, kind: type
) -> None:
    memory.graph.select_many([(name(n), DEFAULT) for n in range(count)])
    with memory.truth.sessions.around(name(0)) as graph:
        assert isinstance(graph, kind)


def test_a_policy_that_may_select_all_reads_the_session_at_once(memory: Slicebase) -> None:
    everything = SlicePolicyV1(max_nodes=LONG, max_radius=LONG)
    (answer,) = memory.graph.select_many([(name(3), everything)])
    assert answer == memory.graph.select(name(3), everything).export
    with memory.truth.sessions.around(name(0)) as graph:
        assert isinstance(graph, CompactSession)


def test_no_requests_have_no_answers(memory: Slicebase) -> None:
    assert memory.graph.select_many([]) == []


def test_many_sessions_of_which_one_slice_each_is_asked_for_are_not_read_completely(memory: Slicebase) -> None:
    """What counts is how many slices of the same session are asked for."""
    memory.truth.turns.add(Session("long", "test"), [turn(f"l{n}", session="long") for n in range(LONG)], annotate)
    requests = [(name("l0"), DEFAULT), *((name(n), DEFAULT) for n in range(200))]
    assert not [each for each in memory.graph.select_many(requests) if isinstance(each, SlicebaseError)]
    with memory.truth.sessions.around(name("l0")) as graph:
        assert isinstance(graph, StoredGraph)


@pytest.mark.parametrize("anchor", [name("o1"), name(1)])
@pytest.mark.parametrize(("value", "code"), [("fast", "bad-kernel"), ("NATIVE ", None), ("", None), ("plain", None)])
def test_the_environment_chooses_a_version_that_there_is(
    memory: Slicebase, monkeypatch: pytest.MonkeyPatch, value: str, code: str | None, anchor: str
) -> None:
    """Whether the session is in memory or read in parts. A wrong choice is an error of the call, not of a request."""
    monkeypatch.setenv(KERNEL, value)
    try:
        (answer,) = memory.graph.select_many([(anchor, DEFAULT)])
        found = None
        assert isinstance(answer, bytes)
    except SlicebaseError as error:
        found = error.code
        assert code_of(memory.graph.select, anchor) == found
    assert found == code or (code is None and found == "no-kernel")
    assert bool([each for each in memory.doctor()[0] if each.check == "kernel"]) == (found is not None)


def test_damage_costs_only_the_requests_that_meet_it(memory: Slicebase) -> None:
    """The long session is read in parts."""
    session = "(SELECT number FROM shapes WHERE session = 's')"
    memory.truth.database.connection.execute(f"UPDATE nodes SET kind = 99 WHERE seq = 5 AND session = {session}")
    damaged, other = memory.graph.select_many([(name(4), DEFAULT), (name("o1"), DEFAULT)])
    assert isinstance(damaged, SlicebaseError)
    assert damaged.code == "database-damaged"
    assert isinstance(other, bytes)


@pytest.mark.skipif("native" not in KERNELS, reason="the plain version selects with one thread")
def test_an_interrupted_batch_ends_with_the_slices_that_it_has_begun(
    memory: Slicebase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads that are left would finish their parts: here, for a minute."""
    done: list[int] = []

    def slow(_: CompactSession, requests: list[slices.AskedSlice]) -> list[bytes]:
        if not done:
            _thread.interrupt_main()  # as Ctrl-C does
        done.append(len(requests))
        time.sleep(0.1)
        return [b""]

    monkeypatch.setattr(slices, "processors", lambda: 2)
    monkeypatch.setattr(slices, "exports", slow)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may start tests that ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            memory.graph.select_many([(name(n), DEFAULT) for n in range(LONG)])
    finally:
        signal.signal(signal.SIGINT, before)
    assert 0 < len(done) < 60
