"""Steps of a run: numbers without gaps and doubles for all who write, and an end for a step that was interrupted."""

import asyncio
import os
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase import Slicebase, aio
from slicebase.truth import run_log
from slicebase.verbs.step import Step
from tests.amounts import MORE
from tests.codes import code_of

RUN = "r"
CLOSED = ["STEP_BEGUN", "PLAN_DONE", "FAILURE", "ACT_DONE", "OBSERVE_DONE", "STEP_ENDED"]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Slicebase]:
    with Slicebase.init(tmp_path / "w") as opened:
        opened.runs.start(RUN, "Objective", "Done")
        yield opened


def in_process(work: Callable[[Slicebase], object], memory: Slicebase) -> int:
    """Starts a process that does some work with an object of its own. Returns its id."""
    folder = memory.root
    process = os.fork()
    if process == 0:
        status = 70
        try:
            with Slicebase.open(folder) as own:
                work(own)
            status = 0
        finally:
            os._exit(status)
    return process


def killed(memory: Slicebase, events: int = 1, run: str = RUN) -> int:
    """Lets another process begin a step and log some of its events, and kills it. Returns the number of the step."""
    reading, writing = os.pipe()

    def work(own: Slicebase) -> None:
        with own.runs.step(run) as step:
            for log in (step.plan, step.act, step.observe)[:events]:
                log("said")
            os.write(writing, b"%d" % step.number)
            signal.pause()

    process = in_process(work, memory)
    number = int(os.read(reading, 100))
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    for end in (reading, writing):
        os.close(end)
    return number


def types(memory: Slicebase, step: int) -> list[str]:
    return [event.type for event in memory.runs.events(RUN) if event.step == step]


def open_files(memory: Slicebase) -> list[str]:
    folder = memory.workspace.steps
    return os.listdir(folder) if folder.exists() else []


def numbers(memory: Slicebase, type_: str) -> list[int | None]:
    return [event.step for event in memory.runs.events(RUN) if event.type == type_]


# Numbers


def steps(memory: Slicebase, count: int) -> None:
    for _ in range(count):
        with memory.runs.step(RUN, compact=False) as step:
            step.act("look")


async def async_steps(folder: Path, count: int) -> None:
    async with aio.Slicebase.open(folder) as memory:

        async def one() -> None:
            async with memory.runs.step(RUN, compact=False) as step:
                await step.act("look")

        await asyncio.gather(*(one() for _ in range(count)))


def test_120_steps_of_processes_threads_and_tasks_have_120_numbers(memory: Slicebase) -> None:
    """Ruling 47."""

    def threads(own: Slicebase) -> None:
        own.truth.database.connection.execute("PRAGMA synchronous = OFF")
        workers = [threading.Thread(target=steps, args=(own, 5)) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    works: list[Callable[[Slicebase], object]] = [threads] * 3
    works += [lambda own: asyncio.run(async_steps(own.root, 20))] * 3
    processes = [in_process(work, memory) for work in works]
    assert [os.waitpid(process, 0)[1] for process in processes] == [0] * 6
    assert sorted(numbers(memory, "STEP_BEGUN")) == list(range(1, 121))  # type: ignore[type-var]
    assert Counter(numbers(memory, "ACT_DONE")) == Counter(range(1, 121))
    assert numbers(memory, "FAILURE") == []
    assert memory.runs.status(RUN).metrics.steps == 120
    assert open_files(memory) == []
    assert memory.verify().status == "VERIFIED"


def test_every_claim_and_failure_of_eight_processes_is_in_the_state(memory: Slicebase) -> None:
    """Ruling 47: what was acknowledged is in the state, whoever else writes."""
    count = 10 * MORE
    reading, writing = os.pipe()

    def work(own: Slicebase) -> None:
        own.truth.database.connection.execute("PRAGMA synchronous = OFF")
        for n in range(count):
            said = f"{os.getpid()} {n}"
            os.write(writing, f"{own.runs.claim(RUN, said).id}\t{said}\n".encode())
            if n % 5 == 0:
                os.write(writing, f"{own.runs.failure(RUN, said).id}\t{said}\n".encode())

    processes = [in_process(work, memory) for _ in range(8)]
    os.close(writing)
    with os.fdopen(reading) as pipe:
        lines = dict(line.split("\t") for line in pipe.read().splitlines())
    assert [os.waitpid(process, 0)[1] for process in processes] == [0] * 8
    state = memory.truth.runs.state(RUN)
    assert list(state.claims) == [f"c{n}" for n in range(1, 8 * count + 1)]
    assert list(state.failures) == [f"f{n}" for n in range(1, 8 * count // 5 + 1)]
    known = {name: item["statement"] for name, item in state.claims.items()}
    assert known | {name: item["why"] for name, item in state.failures.items()} == lines


def test_every_conflict_of_several_tasks_and_threads_is_in_the_state(memory: Slicebase) -> None:
    log = memory.library.create("Log", "Rows.", type="jsonl").id
    row = memory.library.remember(log, "one and two").ref

    async def tasks() -> list[str]:
        async with aio.Slicebase.open(memory.root) as own:
            calls = [own.runs.conflict(RUN, f"async {n}", a=(row, "one"), b=(row, "two")) for n in range(5)]
            return [logged.id for logged in await asyncio.gather(*calls)]

    names: list[str] = []

    def of_a_thread() -> None:
        names.append(memory.runs.conflict(RUN, "of a thread", a=(row, "one"), b=(row, "two")).id)

    workers = [threading.Thread(target=of_a_thread) for _ in range(5)]
    for worker in workers:
        worker.start()
    names += asyncio.run(tasks())
    for worker in workers:
        worker.join()
    assert sorted(names) == sorted(memory.truth.runs.state(RUN).conflicts) == sorted(f"x{n}" for n in range(1, 11))


def test_a_number_follows_the_highest_that_has_begun_or_was_given_by_hand(memory: Slicebase) -> None:
    memory.runs.log(RUN, [{"type": "ACT_DONE", "step": 7}])
    assert memory.runs.next_step(RUN) == 8
    assert memory.runs.begin_step(RUN) == 8
    assert memory.runs.begin_step(RUN) == 9
    with memory.runs.step(RUN) as step:
        assert (step.number, memory.runs.next_step(RUN)) == (10, 11)
    assert memory.runs.status(RUN).metrics.steps == 2
    assert memory.runs.status(RUN).next_compaction.counted_events == 4


def test_a_context_is_bound_to_the_step_that_begins_next(memory: Slicebase) -> None:
    memory.library.create("Log", "Rows.", body="# Codes\n\nThey are upper case.\n")
    with memory.runs.step(RUN):
        memory.runs.bind(RUN, memory.context("codes", 300))
    memory.runs.bind(RUN, memory.context("codes", 400))
    with memory.runs.step(RUN) as step:
        assert step.number == 2
    assert numbers(memory, "MANIFEST") == [2, 2]


# The end of a step

TERMINAL = ("PLAN_DONE", "ACT_DONE", "OBSERVE_DONE")
WAYS: list[Callable[[Slicebase, Step, str], object]] = [
    lambda memory, step, name: {"PLAN_DONE": step.plan, "ACT_DONE": step.act, "OBSERVE_DONE": step.observe}[name]("x"),
    lambda memory, step, name: step.log(name, text="x"),
    lambda memory, step, name: memory.runs.log(RUN, [{"type": name, "step": step.number}]),
]


def interrupted(action: Callable[[], object]) -> None:
    """Calls an action that is interrupted after its commit, before it returns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("slicebase.truth.runs.RunWriter.outcome", stop)
        action()


def stop(*_: object) -> None:
    raise KeyboardInterrupt


@given(
    st.lists(st.tuples(st.sampled_from(TERMINAL), st.sampled_from(range(len(WAYS)))), max_size=4),
    st.sampled_from(["return", "raise", "interrupt"]),
)
@settings(max_examples=10 * MORE)
def test_a_step_adds_exactly_the_terminal_events_that_its_log_has_not(logged: list[tuple[str, int]], end: str) -> None:
    with TemporaryDirectory() as folder, Slicebase.init(folder) as memory:
        memory.runs.start(RUN, "Objective", "Done")
        with suppress(KeyboardInterrupt, ValueError), memory.runs.step(RUN, compact=False) as step:
            for place, (name, way) in enumerate(logged):
                action = partial(WAYS[way], memory, step, name)
                if end == "interrupt" and place == len(logged) - 1:
                    interrupted(action)
                action()
            if end == "raise":
                raise ValueError
        given = [name for name, _ in logged]
        expected = Counter(given) | Counter(TERMINAL)
        assert Counter(event.type for event in memory.runs.events(RUN) if event.type in TERMINAL) == expected
        assert memory.runs.status(RUN).next_compaction.counted_events == expected.total()
        assert memory.verify().status == "VERIFIED"


def disturbed(memory: Slicebase, name: str) -> None:
    with memory.runs.step(RUN) as step:
        event = {"type": name, "step": step.number, "payload": {"watched": True}}
        assert code_of(memory.runs.log, RUN, [event]) == "reserved-event"
        assert code_of(step.log, name, watched=True) == "reserved-event"
        raise ValueError("boom")


@pytest.mark.parametrize("name", ["STEP_BEGUN", "STEP_ENDED"])
def test_nobody_can_begin_or_end_the_step_of_another_one(memory: Slicebase, name: str) -> None:
    with pytest.raises(ValueError, match="boom"):
        disturbed(memory, name)
    assert [failure["category"] for failure in memory.runs.status(RUN).open_failures] == ["ValueError"]


# Steps that were interrupted


@pytest.mark.parametrize("events", [0, 500])
def test_closing_many_interrupted_steps_reads_none_of_the_events_since(
    memory: Slicebase, monkeypatch: Any, events: int
) -> None:
    """They are closed in one transaction, in which nobody else can write."""
    steps = [memory.runs.step(RUN).__enter__() for _ in range(20)]
    memory.runs.log(RUN, [{"type": "TOKEN", "step": step.number} for step in steps] * (events // 20))
    steps.clear()
    read: Counter[str] = Counter()
    real = run_log.read_link

    def counted(*link: Any) -> object:
        read["links"] += 1
        return real(*link)

    monkeypatch.setattr(run_log, "read_link", counted)
    with memory.runs.step(RUN, compact=False) as step:
        assert len(step.interrupted_steps) == 20
    assert read.total() < 10


def test_a_step_of_a_killed_process_is_closed_by_the_next_step(memory: Slicebase) -> None:
    assert killed(memory) == 1
    with memory.runs.step(RUN) as step:
        step.plan("go on")
        assert step.interrupted_steps == (1,)
    assert types(memory, 1) == CLOSED
    with memory.runs.step(RUN) as later:
        assert later.interrupted_steps == ()
    (failure,) = memory.runs.status(RUN).open_failures
    assert (failure["failure_id"], failure["category"], failure["where"]) == ("step-1", "interrupted", "step 1")
    assert memory.runs.compact(RUN).snapshots
    assert memory.verify().status == "VERIFIED"
    assert open_files(memory) == []


@pytest.mark.parametrize("events", [0, 1, 2, 3])
def test_a_step_of_a_killed_process_is_closed_by_status_once_and_says_so(memory: Slicebase, events: int) -> None:
    number = killed(memory, events)
    status = memory.runs.status(RUN)
    assert status.interrupted_steps == (number,)
    assert [failure["failure_id"] for failure in status.open_failures] == ["step-1"]
    assert (status.metrics.counted_events, status.metrics.steps) == (3, 1)
    again = memory.runs.status(RUN)
    assert again.interrupted_steps == ()
    assert again.events == status.events
    assert memory.verify().status == "VERIFIED"


def test_stopping_a_run_closes_what_was_interrupted_before_its_last_snapshot(memory: Slicebase) -> None:
    killed(memory)
    assert memory.runs.stop(RUN, "HUMAN_REQUESTED").interrupted_steps == (1,)
    assert memory.runs.snapshot(RUN)["state"]["failures"][0]["failure_id"] == "step-1"


def test_a_step_that_is_open_elsewhere_is_never_closed(memory: Slicebase) -> None:
    """In this object, in another one, in a thread, in a task, and in a process."""
    with memory.runs.step(RUN), Slicebase.open(memory.root) as other, other.runs.step(RUN):
        call = other.runs.recorder(RUN)
        call.started("bash")
        with memory.runs.step(RUN) as step:
            assert step.interrupted_steps == ()
            assert memory.runs.status(RUN).interrupted_steps == ()
            processes = [in_process(lambda own: own.runs.status(RUN), memory) for _ in range(2)]
            assert [os.waitpid(process, 0)[1] for process in processes] == [0, 0]
    assert numbers(memory, "FAILURE") == []
    assert len(open_files(memory)) == 1  # of the recorded call
    call.ended("call-1", "done")
    assert open_files(memory) == []


def test_a_step_whose_object_was_dropped_is_interrupted(memory: Slicebase) -> None:
    memory.runs.step(RUN).__enter__()
    assert memory.runs.status(RUN).interrupted_steps == (1,)
    with memory.runs.step(RUN) as step:
        assert step.number == 2


def test_a_step_that_a_fork_leaves_to_its_parent_is_held_by_it_alone(memory: Slicebase) -> None:
    with memory.runs.step(RUN) as step:
        step.plan("fork")
        child = os.fork()
        if child == 0:
            try:
                step.__exit__(None, None, None)  # raises `other-process`, and ends nothing
            finally:
                os._exit(7)
        os.waitpid(child, 0)
        assert memory.runs.status(RUN).interrupted_steps == ()
        step.act("go on")
    assert types(memory, 1) == ["STEP_BEGUN", "PLAN_DONE", "ACT_DONE", "OBSERVE_DONE", "STEP_ENDED"]


def test_a_begin_that_is_interrupted_leaves_no_step_that_nobody_closes(memory: Slicebase, monkeypatch: Any) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("slicebase.truth.runs.RunWriter.outcome", interrupted)  # after the commit
    with pytest.raises(KeyboardInterrupt):
        memory.runs.step(RUN).__enter__()
    monkeypatch.undo()
    assert memory.runs.status(RUN).interrupted_steps == (1,)


def test_a_step_in_another_worktree_is_open_for_all(tmp_path: Path) -> None:
    """Worktrees share the database, and not the folder of the workspace."""
    git = ["git", "-C", str(tmp_path / "main"), "-c", "user.name=t", "-c", "user.email=t@t"]
    (tmp_path / "main").mkdir()
    subprocess.run([*git, "init", "-q"], check=True)
    with Slicebase.init(tmp_path / "main") as memory:
        memory.runs.start(RUN, "Objective", "Done")
        (memory.root / "file").touch()
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-qm", "all"], check=True)
        subprocess.run([*git, "worktree", "add", "-q", str(tmp_path / "other")], check=True)
        with Slicebase.init(tmp_path / "other") as other:
            assert other.workspace.database == memory.workspace.database
            with other.runs.step(RUN):
                assert memory.runs.status(RUN).interrupted_steps == ()


def test_a_workspace_that_can_only_be_read_reports_what_was_interrupted(memory: Slicebase, monkeypatch: Any) -> None:
    killed(memory)
    monkeypatch.setattr(memory.truth.database, "read_only", True)
    for _ in range(2):
        assert memory.runs.status(RUN).interrupted_steps == (1,)
    assert memory.runs.status(RUN).open_failures == ()


def test_a_status_that_waits_for_a_writer_in_vain_reports_what_was_interrupted(memory: Slicebase) -> None:
    killed(memory)
    memory.truth.database.wait(1)
    with Slicebase.open(memory.root) as other, other.truth.database.writing():
        assert memory.runs.status(RUN).interrupted_steps == (1,)
    assert memory.runs.status(RUN).interrupted_steps == (1,)
    assert memory.runs.status(RUN).interrupted_steps == ()


def test_a_step_whose_end_meets_a_lock_is_closed_later_for_a_true_reason(memory: Slicebase) -> None:
    """Its process goes on, and its object is there: only its end could not be written."""
    raised = ValueError("mine")
    step = memory.runs.step(RUN).__enter__()
    memory.truth.database.wait(1)
    with Slicebase.open(memory.root) as other, other.truth.database.writing():
        step.__exit__(ValueError, raised, None)
    assert ["locked" in note for note in raised.__notes__] == [True]
    assert memory.runs.status(RUN).interrupted_steps == (1,)
    (failure,) = memory.runs.status(RUN).open_failures
    assert (failure["category"], "its end could not be written" in failure["why"]) == ("interrupted", True)


def test_a_stopped_run_stays_as_it_is(memory: Slicebase) -> None:
    with memory.runs.step(RUN) as step:
        memory.runs.stop(RUN)
    assert step.interrupted_steps == ()
    with Slicebase.open(memory.root) as other:
        assert other.runs.status(RUN).interrupted_steps == ()
    assert open_files(memory) == []


def test_an_interrupted_step_that_exceeds_a_budget_stops_the_run(memory: Slicebase) -> None:
    memory.runs.start("short", "Objective", "Done", budgets={"max_steps": 0})
    killed(memory, 0, "short")
    assert code_of(memory.runs.step("short").__enter__) == "budget-exceeded"
    assert memory.runs.status("short").stopped == "BUDGET_EXCEEDED"
    memory.runs.start("other", "Objective", "Done", budgets={"max_steps": 0})
    killed(memory, 0, "other")
    assert memory.runs.status("other").stopped == "BUDGET_EXCEEDED"
    assert memory.verify().status == "VERIFIED"


def test_a_step_that_lost_its_file_and_was_closed_by_others_is_not_closed_again(memory: Slicebase) -> None:
    with memory.runs.step(RUN) as step:
        (memory.workspace.steps / open_files(memory)[0]).unlink()
        assert memory.runs.status(RUN).interrupted_steps == (1,)
        before = types(memory, 1)
    assert types(memory, 1) == before
    assert isinstance(step, Step)


def test_a_failure_of_a_step_never_replaces_another_one(memory: Slicebase) -> None:
    """A fork begins again with step 1, and keeps the failures that it has inherited."""
    with pytest.raises(LookupError), memory.runs.step(RUN):
        raise LookupError("first")
    memory.runs.compact(RUN)
    memory.runs.fork(RUN, "fork")
    with pytest.raises(LookupError), memory.runs.step("fork"):
        raise LookupError("second")
    killed(memory, run="fork")
    failures = memory.runs.status("fork").open_failures
    assert [failure["why"] for failure in failures][:2] == ["first", "second"]
    assert len({failure["failure_id"] for failure in failures}) == 3


def test_the_doctor_removes_the_files_of_steps_that_nobody_holds(memory: Slicebase) -> None:
    """Of a run that was stopped by somebody else, before the process with the step was killed."""
    reading, writing = os.pipe()

    def work(own: Slicebase) -> None:
        with own.runs.step(RUN):
            own.runs.stop(RUN)
            os.write(writing, b"1")
            signal.pause()

    process = in_process(work, memory)
    os.read(reading, 1)
    assert memory.doctor(fix=True)[0] == []
    assert len(open_files(memory)) == 1
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    assert [complaint.check for complaint in memory.doctor()[0]] == ["litter"]
    assert memory.doctor(fix=True)[0] == []
    assert open_files(memory) == []


def test_nothing_of_steps_is_left_by_uninit(memory: Slicebase) -> None:
    with memory.runs.step(RUN):
        pass
    folder = memory.root
    memory.uninit(delete_data=True)
    assert not (folder / ".slicebase").exists()
