"""A step of an agent as a `with` block, with plain arguments."""

import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase import Slicebase
from slicebase.runs.event import Event
from slicebase.runs.gate import Thresholds
from tests.amounts import MORE
from tests.codes import code_of

RUN = "r1"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Slicebase]:
    with Slicebase.init(tmp_path) as made:
        made.runs.start(RUN, "Find the cause.", done="It is found.", budgets={"max_steps": 50})
        yield made


@pytest.fixture
def row(memory: Slicebase) -> str:
    log = memory.library.create("Log", "Rows.", type="jsonl")
    return memory.library.remember(log.id, "Codes are upper case, and the lock is stale.").ref


def events(memory: Slicebase) -> list[Event]:
    """Returns the events of the run, but for its start and the begins and ends of its steps."""
    return [
        event
        for event in memory.truth.runs.events(RUN)
        if event.type not in ("RUN_STARTED", "STEP_BEGUN", "STEP_ENDED")
    ]


def test_what_is_known_is_logged_with_plain_arguments(memory: Slicebase, row: str) -> None:
    with memory.runs.step(RUN) as step:
        step.plan("look at the codes", model="none")
        stale = step.cite(row, "stale")
        first = step.claim("Codes are upper case.", cite=(row, "upper case"), status="verified")
        second = step.claim("The lock is stale.", cite=stale)
        third = step.claim("Both hold.", cite=[stale.evidence_id, (row, "upper case")], id="both")
        step.conflict("Is it?", a=(row, "upper"), b=[(row, "stale")])
        failed = step.fail("no such file", category="io")
        step.ask("Who wrote it?")
        step.close_question("Who wrote it?")
    assert (first.id, second.id, third.id, failed.id) == ("c1", "c2", "both", "f1")
    status = memory.runs.status(RUN)
    assert status.claims == {"verified": 1, "candidate": 2, "retracted": 0}
    assert status.open_questions == ()
    assert status.open_failures[0] == {
        **status.open_failures[0], "why": "no such file", "category": "io", "where": "step 1",
    }  # fmt: skip
    assert {event.step for event in events(memory)} == {1}
    assert events(memory)[0].payload == {"text": "look at the codes", "model": "none"}
    assert memory.runs.compact(RUN).snapshots
    assert memory.verify().status == "VERIFIED"


def test_a_claim_is_a_candidate_until_somebody_says_more(memory: Slicebase, row: str) -> None:
    with memory.runs.step(RUN) as step:
        step.claim("It is cited.", cite=(row, "upper case"))
        assert code_of(step.claim, "It is not.", status="verified") == "gate-would-refuse"
        assert code_of(step.claim, "Nobody said so.", cite=(row, "lower case")) == "quote-not-found"
        assert code_of(step.claim, "Nothing.", cite="ev_" + "0" * 32) == "no-evidence"
    assert memory.runs.status(RUN).claims == {"verified": 0, "candidate": 1, "retracted": 0}


def test_nothing_is_cited_for_a_run_that_is_not_there_or_has_stopped(memory: Slicebase, row: str) -> None:
    assert code_of(memory.runs.claim, "nowhere", "It is.", cite=(row, "upper case")) == "no-run"
    memory.runs.stop(RUN, "HUMAN_REQUESTED")
    assert code_of(memory.runs.claim, RUN, "It is.", cite=(row, "upper case")) == "run-closed"
    assert len(memory.truth.ledger) == 0


def test_a_context_of_a_step_is_logged_in_it(memory: Slicebase) -> None:
    with as_file(files("slicebase") / "samples/claude-code-session.jsonl") as sample:
        memory.import_(str(sample))
    with memory.runs.step(RUN) as step:
        context = step.context("why does the test fail", tokens=500)
        other = memory.context("why does the test fail", tokens=200)
        step.bind(other)
    bound = [event for event in events(memory) if event.type == "MANIFEST"]
    assert [event.payload["manifest_id"] for event in bound] == [context.id, other.id]
    assert [event.step for event in bound] == [1, 1]
    assert memory.replay(context.id).identical


def test_steps_that_are_open_together_have_numbers_of_their_own(memory: Slicebase) -> None:
    with memory.runs.step(RUN) as outer, memory.runs.step(RUN) as inner:
        inner.plan("inside")
        outer.plan("outside")
        assert (outer.number, inner.number) == (1, 2)
    assert memory.runs.next_step(RUN) == 3


@pytest.mark.filterwarnings("ignore::slicebase.RunWarning")
def test_steps_of_several_threads_have_numbers_of_their_own(memory: Slicebase) -> None:
    numbers, ready = [], threading.Barrier(8)

    def work() -> None:
        ready.wait()
        for _ in range(5):
            with memory.runs.step(RUN) as step:
                numbers.append(step.number)
                step.act("look")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers) == list(range(1, 41))
    assert memory.runs.status(RUN).metrics.steps == 40


def interrupted(memory: Slicebase) -> None:
    with memory.runs.step(RUN) as step:
        step.plan("wait")
        raise KeyboardInterrupt


def test_an_interruption_ends_a_step_too(memory: Slicebase) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupted(memory)
    assert [event.type for event in events(memory)] == ["PLAN_DONE", "FAILURE", "ACT_DONE", "OBSERVE_DONE"]


def test_an_error_whose_text_cannot_be_stored_is_still_a_failure(memory: Slicebase) -> None:
    with pytest.raises(ValueError, match="\ud800"), memory.runs.step(RUN):
        raise ValueError("\ud800" * 600)
    assert memory.runs.status(RUN).open_failures[0]["why"] == "?" * 500


@pytest.mark.filterwarnings("ignore::slicebase.RunWarning")
def test_a_budget_that_is_used_up_stops_the_run_and_the_loop(tmp_path: Path) -> None:
    with Slicebase.init(tmp_path) as memory:
        memory.runs.start("short", "Try.", {"text": "Tried."}, budgets={"max_steps": 2})

        def loop() -> None:
            for _ in range(5):
                with memory.runs.step("short") as step:
                    step.act("try")

        assert code_of(loop) == "budget-exceeded"
        assert memory.runs.status("short").stopped == "BUDGET_EXCEEDED"


def test_events_are_taken_as_plain_objects(memory: Slicebase) -> None:
    logged = memory.runs.log(RUN, [{"type": "NOTE", "payload": {"text": "seen"}}, {"type": "ACT_DONE", "step": 1}])
    assert (logged.first, logged.last) == (2, 3)
    for bad in ({}, {"type": 5}, {"type": "NOTE", "when": "now"}):
        assert code_of(memory.runs.log, RUN, [bad]) == "bad-event"


def test_settings_decide_when_a_step_compacts_its_run(memory: Slicebase) -> None:
    runs = memory.runs
    memory.set("compaction.steps", 2)
    for number in range(4):
        with runs.step(RUN) as step:
            step.act("look")
        assert bool(step.snapshots) == (number % 2 == 1)
    memory.set("compaction.steps", 1)
    with runs.step(RUN) as step:
        step.act("look")
    assert step.snapshots


@given(st.lists(st.sampled_from([None, ValueError, KeyboardInterrupt, GeneratorExit]), max_size=12))
@settings(max_examples=5 * MORE)
def test_the_counts_alone_decide_when_a_run_is_compacted(outcomes: list[type[BaseException] | None]) -> None:
    with TemporaryDirectory() as folder, Slicebase.init(folder) as memory:
        memory.runs.start(RUN, "Objective", "Done")
        for number, outcome in enumerate(outcomes, 1):
            step = memory.runs.step(RUN, compact=Thresholds(counted_events=100, steps=3))
            with suppress(*[outcome] if outcome else []), step:
                step.plan("look")
                if outcome:
                    raise outcome
            assert bool(step.snapshots) == (number % 3 == 0)


def refused_by_the_gate(memory: Slicebase) -> None:
    with memory.runs.step(RUN, compact=Thresholds(counted_events=3)) as step:
        step.log("CLAIM", claim_id="c", statement="x", status="verified")
        raise ValueError("the tool's own")


def test_an_error_arrives_though_the_gate_stops_the_run(memory: Slicebase) -> None:
    with pytest.raises(ValueError, match="the tool's own") as caught:
        refused_by_the_gate(memory)
    assert ["gate-refused" in note for note in caught.value.__notes__] == [True]
    assert memory.runs.status(RUN).stopped == "SYSTEM_ERROR"


@dataclass(frozen=True)
class FrozenError(Exception):
    text: str


def test_an_error_arrives_though_the_end_of_its_step_exceeds_a_budget(memory: Slicebase) -> None:
    for raised in (ValueError("x"), FrozenError("x")):
        name = type(raised).__name__
        memory.runs.start(name, "Objective", "Done", budgets={"max_steps": 0})
        with pytest.raises(type(raised)), memory.runs.step(name):
            raise raised
        assert memory.runs.status(name).stopped == "BUDGET_EXCEEDED"


class Nameless(type):
    @property
    def __name__(cls) -> int:  # type: ignore[override]
        return 5


class NamelessError(Exception, metaclass=Nameless): ...


class LeavingError(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


def test_an_error_that_cannot_say_its_name_or_its_text_arrives_and_ends_its_step(memory: Slicebase) -> None:
    for raised in (NamelessError("x"), LeavingError()):
        with pytest.raises(type(raised)), memory.runs.step(RUN):
            raise raised
    status = memory.runs.status(RUN)
    assert status.interrupted_steps == ()
    assert [(failure["category"], failure["why"]) for failure in status.open_failures] == [
        ("NamelessError", "x"), ("LeavingError", ""),
    ]  # fmt: skip


def test_an_error_arrives_though_the_clock_fails_at_the_end_of_its_step(tmp_path: Path) -> None:
    times, raised = [1.0], ValueError("mine")
    with Slicebase.init(tmp_path, clock=lambda: times[-1]) as memory:
        memory.runs.start(RUN, "Objective", "Done")
        step = memory.runs.step(RUN).__enter__()
        times.clear()
        step.__exit__(ValueError, raised, None)
        assert ["IndexError" in note for note in raised.__notes__] == [True]
        times.append(2.0)
        assert memory.runs.status(RUN).interrupted_steps == (1,)


def test_an_error_arrives_in_a_forked_process(memory: Slicebase, monkeypatch: pytest.MonkeyPatch) -> None:
    with memory.runs.step(RUN) as step:
        process = os.getpid()
        monkeypatch.setattr(os, "getpid", lambda: process + 1)  # as a child sees it
        raised = ValueError("the child's own")
        step.__exit__(ValueError, raised, None)
        monkeypatch.undo()
        step.act("go on")
    assert ["other-process" in note for note in raised.__notes__] == [True]
    assert memory.runs.status(RUN).open_failures == ()


def test_a_step_is_used_inside_its_block_and_once(memory: Slicebase) -> None:
    """An event outside would belong to no step, or to one that has ended."""
    step = memory.runs.step(RUN)
    assert code_of(step.plan, "too early") == "bad-event"
    with step:
        step.plan("in time")
        assert code_of(step.__enter__) == "bad-event"
    for late in (step.plan, step.claim, step.ask, step.fail, step.log):
        assert code_of(late, "too late") == "bad-event"
    assert code_of(step.__enter__) == "bad-event"
    assert [event.type for event in events(memory)] == ["PLAN_DONE", "ACT_DONE", "OBSERVE_DONE"]


def test_a_step_that_stops_its_run_ends_quietly(memory: Slicebase) -> None:
    with memory.runs.step(RUN) as step:
        step.act("finish")
        memory.runs.stop(RUN)
    assert step.snapshots == ()
    assert memory.runs.status(RUN).stopped == "OBJECTIVE_ACHIEVED"


def test_a_claim_cites_a_piece_a_pair_from_json_and_nothing_else(memory: Slicebase, row: str) -> None:
    piece = memory.context("codes").pieces[0]
    with memory.runs.step(RUN) as step:
        step.claim("A piece.", cite=piece, status="verified")
        step.claim("Pairs.", cite=[[row, "upper case"], (row, "stale")], status="verified")  # type: ignore[list-item]
        for wrong in (5, [5], iter([5])):
            assert code_of(step.claim, "Not that.", cite=wrong) == "bad-arguments"
    assert memory.runs.status(RUN).claims["verified"] == 2


@pytest.mark.parametrize("name", ["run:x", "a:b", "a/b", "a b", ""])
def test_an_id_that_no_reference_can_name_is_refused(memory: Slicebase, name: str) -> None:
    assert code_of(memory.runs.start, name, "Objective", "Done") == "bad-run"


def test_the_id_of_a_claim_can_be_a_reference(memory: Slicebase) -> None:
    assert code_of(memory.runs.claim, RUN, "It is.", id="a b") == "bad-reference"
    memory.runs.claim(RUN, "It is.", id="a/b:c")
    assert memory.why(f"claim:{RUN}/a/b:c").text == "It is."


def test_the_reference_of_a_claim_names_it_in_its_own_run_only(memory: Slicebase) -> None:
    memory.runs.start("other", "Objective", "Done")
    memory.runs.claim(RUN, "It is.", id=f"claim:{RUN}/c9")
    assert memory.runs.claim(RUN, id=f"claim:{RUN}/c9", status="retracted").id == "c9"
    for statement in (None, "It is."):
        assert code_of(memory.runs.claim, "other", statement, id=f"claim:{RUN}/c9") == "bad-reference"
    assert code_of(memory.runs.claim, RUN, "It is.", id="claim:c9") == "bad-reference"
    assert memory.runs.status("other").events == 1


def test_a_step_knows_the_complete_id_of_its_run(memory: Slicebase) -> None:
    with memory.runs.step(f"run:{RUN}", compact=False) as step:
        assert step.run_id == RUN
    assert memory.runs.status(f"run:{RUN}").run_id == RUN


def test_settings_that_cannot_be_read_do_not_stop_a_step(memory: Slicebase, tmp_path: Path) -> None:
    with memory.runs.step(RUN, compact=False) as step:
        (tmp_path / "slicebase.toml").write_text("half a line that an editor is writ")
        step.act("go on")
    assert memory.runs.next_step(RUN) == 2
