"""What is written besides the events: loops that a guard finds, and warnings of limits that are near."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slicebase import RunWarning, Slicebase
from slicebase.runs.event import EventDraft
from slicebase.truth.run_log import RunLog
from slicebase.truth.runs import StoredRuns
from tests.codes import code_of

RUN = "r1"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Slicebase]:
    with Slicebase.init(tmp_path) as made:
        yield made


def started(memory: Slicebase, **guards: Any) -> Slicebase:
    memory.runs.start(RUN, "Build it.", "It builds.", guards=guards)
    return memory


def cycle(step: int, seen: str = "error") -> list[EventDraft]:
    return [
        EventDraft(type="ACT_DONE", step=step, payload={"tool": "bash", "arguments": {"command": "make"}}),
        EventDraft(type="OBSERVE_DONE", step=step, payload={"text": seen}),
    ]


def loops(memory: Slicebase) -> list[Any]:
    return [event.payload for event in memory.runs.events(RUN) if event.type == "LOOP"]


def test_a_loop_is_logged_with_its_evidence_and_is_a_warning(memory: Slicebase) -> None:
    started(memory)
    assert memory.runs.log(RUN, [*cycle(1), *cycle(2)]).warnings == ()
    logged = memory.runs.log(RUN, cycle(3))
    assert (len(logged.warnings), logged.first, logged.last) == (1, 6, 8)
    assert loops(memory) == [{"kind": "repeat", "times": 3, "cycles": [[2, 3], [4, 5], [6, 7]]}]
    assert memory.runs.status(RUN).metrics.loops == 1
    assert memory.verify().status == "VERIFIED"


def test_a_run_may_stop_loops_and_then_everything_is_stored_before_the_error(memory: Slicebase) -> None:
    started(memory, loop="stop")
    assert code_of(memory.runs.log, RUN, [*cycle(1), *cycle(2), *cycle(3), {"type": "NOTE"}]) == "loop-found"
    assert [event.type for event in memory.runs.events(RUN)][-2:] == ["LOOP", "NOTE"]
    assert code_of(memory.runs.log, RUN, cycle(4)) == "loop-found"
    assert memory.runs.log(RUN, cycle(5, "done")).tally.stopped is None


def test_a_run_may_have_no_guard(memory: Slicebase) -> None:
    started(memory, loop="off")
    assert memory.runs.log(RUN, cycle(1) * 5).warnings == ()
    assert loops(memory) == []
    assert memory.runs.status(RUN).metrics.loops == 1


def test_a_run_that_was_made_from_a_conversation_is_not_guarded(memory: Slicebase) -> None:
    terms = {"objective": "Build it.", "done_definition": "It builds.", "provenance_mode": "audit_only"}
    memory.truth.runs.begin(RUN, [EventDraft(type="RUN_STARTED", payload={**terms, "projected_from": "session:s"})], 0)
    assert memory.runs.log(RUN, cycle(1) * 3).warnings == ()
    assert (loops(memory), memory.runs.status(RUN).metrics.loops) == ([], 1)


def test_a_loop_is_found_by_several_writers_together(memory: Slicebase, tmp_path: Path) -> None:
    started(memory)
    with Slicebase.open(tmp_path) as other:
        for step, writer in enumerate([memory, other, memory], 1):
            warned = [writer.runs.log(RUN, [draft]).warnings for draft in cycle(step)]
    assert [len(each) for each in warned] == [0, 1]


def test_what_was_rolled_back_is_not_remembered(memory: Slicebase) -> None:
    started(memory)
    memory.runs.log(RUN, cycle(1))
    notes = [{"type": "NOTE"}] * 10
    for before in (notes[:2], notes[:4]):
        assert code_of(memory.runs.log, RUN, [*before, *cycle(2), {"type": "ACT_DONE"}]) == "step-missing"
    assert memory.runs.log(RUN, [*notes, *cycle(2)]).warnings == ()


def test_what_was_purged_is_compared_no_more(memory: Slicebase) -> None:
    memory.runs.start("other", "Try.", "Tried.")
    started(memory)
    memory.runs.log(RUN, [*cycle(1), *cycle(2)])
    memory.purge("run:other")
    guard = memory.truth.runs.take_loop_guard(memory.truth.runs.log.tally(RUN))
    assert guard is None
    assert len(memory.runs.log(RUN, cycle(3)).warnings) == 1  # the log still has it


def test_loops_are_allowed_for_some_steps(memory: Slicebase) -> None:
    started(memory, loop="stop")
    memory.runs.log(RUN, [*cycle(1), *cycle(2)])
    memory.runs.allow_loop(RUN, "The server starts slowly.", steps=2)
    for step in (3, 4):
        assert memory.runs.log(RUN, cycle(step)).warnings == ()
    assert code_of(memory.runs.log, RUN, cycle(5)) == "loop-found"
    (allowed,) = [event.payload for event in memory.runs.events(RUN) if event.type == "LOOP_ALLOWED"]
    assert allowed == {"reason": "The server starts slowly.", "until_step": 4, "until": None}
    assert memory.verify().status == "VERIFIED"


def test_loops_are_allowed_for_some_time(tmp_path: Path) -> None:
    seconds = [1_767_225_600]
    with started(Slicebase.init(tmp_path, clock=lambda: seconds[0]), loop="stop") as memory:
        memory.runs.log(RUN, [*cycle(1), *cycle(2)])
        memory.runs.allow_loop(RUN, "Once more.", seconds=60)
        seconds[0] += 60
        memory.runs.log(RUN, cycle(3))
        seconds[0] += 1
        assert code_of(memory.runs.log, RUN, cycle(4)) == "loop-found"
        act, seen = ({"type": draft.type, "step": 5, "payload": draft.payload} for draft in cycle(5))
        backdated = [act, {**seen, "time": "2026-01-01T00:00:00Z"}]
        assert code_of(memory.runs.log, RUN, backdated) == "loop-found"


def test_only_the_verb_allows_loops(memory: Slicebase) -> None:
    started(memory)
    assert code_of(memory.runs.log, RUN, [{"type": "LOOP_ALLOWED", "payload": {"until_step": 99}}]) == "reserved-event"
    assert code_of(memory.runs.allow_loop, RUN, " ", steps=1) == "bad-arguments"
    assert code_of(memory.runs.allow_loop, RUN, "so") == "bad-arguments"
    assert code_of(memory.runs.allow_loop, RUN, "so", steps=0) == "out-of-range"


def test_looking_for_loops_reads_no_more_of_a_long_log(memory: Slicebase, monkeypatch: Any, tmp_path: Path) -> None:
    started(memory)
    memory.runs.log(RUN, [draft for n in range(300) for draft in cycle(n, f"error {n}")])
    read: list[int] = []
    real = RunLog.events

    def counted(log: RunLog, run_id: str, after: int = 0, **limited: int) -> Iterator[Any]:
        for stored in real(log, run_id, after, **limited):
            read.append(stored.link.seq)
            yield stored

    monkeypatch.setattr(RunLog, "events", counted)
    memory.runs.log(RUN, cycle(301))
    assert len(read) < 10  # this process has seen the others
    with Slicebase.open(tmp_path) as other:
        other.runs.log(RUN, cycle(302))
    assert len(read) < 150


def test_a_step_warns_or_raises(memory: Slicebase) -> None:
    def run(name: str) -> None:
        for _ in range(3):
            with memory.runs.step(name) as step:
                step.act("make", tool="bash")
                step.observe("error")

    memory.runs.start("warned", "Build it.", "It builds.")
    with pytest.warns(RunWarning, match="3 times"):
        run("warned")
    memory.runs.start("stopped", "Build it.", "It builds.", guards={"loop": "stop"})
    assert code_of(run, "stopped") == "loop-found"
    status = memory.runs.status("stopped")
    assert (status.stopped, status.interrupted_steps, status.metrics.steps) == (None, (), 3)
    assert [failure["category"] for failure in status.open_failures] == ["loop"]


def test_a_step_begins_whatever_was_interrupted_before_it(memory: Slicebase) -> None:
    started(memory, loop="stop")
    for number in range(1, 5):
        step = memory.runs.step(RUN, compact=False).__enter__()
        step.act("make")
        assert (step.number, step.interrupted_steps) == (number, (number - 1,) if number > 1 else ())
        del step


def test_a_call_that_fails_in_the_same_way_again_and_again_is_a_loop(memory: Slicebase) -> None:
    started(memory, loop="stop")
    recorder = memory.runs.recorder(RUN)

    @recorder
    def build(target: str) -> None:
        raise OSError("no space left")

    notes = []
    for _ in range(3):
        with pytest.raises(OSError, match="no space") as caught:
            build("all")
        notes.append(getattr(caught.value, "__notes__", []))
    assert [len(each) for each in notes] == [0, 0, 1]
    assert "loop-found" in notes[-1][0]


@pytest.mark.parametrize("size", [800, 100_000])
def test_long_results_of_recorded_calls_are_compared_without_durations(memory: Slicebase, size: int) -> None:
    started(memory, loop="stop")
    recorder = memory.runs.recorder(RUN)
    outputs = iter([f"{'x' * size}\nfailed in 0.{n}s" for n in range(3)])
    build = recorder(lambda: next(outputs))
    assert [build()[-1], build()[-1]] == ["s", "s"]
    assert code_of(build) == "loop-found"
    assert memory.runs.status(RUN).metrics.loops == 1


def test_a_budget_warns_once_before_it_stops_the_run(memory: Slicebase) -> None:
    memory.runs.start(RUN, "Try.", "Tried.", budgets={"max_steps": 10, "max_cost": 5}, guards={"soft": 0.5})
    plans = [{"type": "PLAN_DONE", "step": step, "payload": {"cost": 0.5}} for step in range(1, 12)]
    warned = [memory.runs.log(RUN, [plan]).warnings for plan in plans[:10]]
    assert [len(each) for each in warned] == [0, 0, 0, 0, 2, 0, 0, 0, 0, 0]
    assert len(memory.runs.status(RUN).near_limits) == 2
    assert code_of(memory.runs.log, RUN, plans[10:]) == "budget-exceeded"


@pytest.mark.filterwarnings("ignore::slicebase.RunWarning")
def test_time_that_passes_before_a_step_or_a_claim_is_warned_of_by_them(tmp_path: Path) -> None:
    seconds = [1_767_225_600]
    with Slicebase.init(tmp_path, clock=lambda: seconds[0]) as memory:
        for name in ("begun", "claimed"):
            memory.runs.start(name, "Try.", "Tried.", budgets={"max_seconds": 100})
        seconds[0] += 79
        with memory.runs.step("claimed") as claimed:
            seconds[0] += 1
            with memory.runs.step("begun") as begun:
                assert len(begun.warnings) == 1
            claimed.claim("It is late.")
        assert claimed.warnings == ("run:claimed: seconds 80 of 100 are spent",)
        assert begun.warnings == ("run:begun: seconds 80 of 100 are spent",)


def test_a_step_that_begins_does_not_make_the_guard_read_the_log_again(memory: Slicebase, monkeypatch: Any) -> None:
    read: list[int] = []
    real = StoredRuns.read_loop_guard

    def counted(runs: StoredRuns, run_id: str, before: int) -> Any:
        read.append(before)
        return real(runs, run_id, before)

    monkeypatch.setattr(StoredRuns, "read_loop_guard", counted)
    started(memory)
    for number in range(4):
        with memory.runs.step(RUN, compact=False) as step:
            step.act("make")
            step.observe(f"error {number}")
    assert len(read) == 1
