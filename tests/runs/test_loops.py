"""The loop guard: what is a loop, and what only looks like one."""

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.runs.event import Event, EventDraft, LogHead
from slicebase.runs.loops import WAIT_TIMES, WINDOW, Loop, LoopGuard, loops, plain_outcome
from tests.runs.made import NOW, RUN, append_all


def call(command: Any, seen: Any, step: int = 1) -> list[EventDraft]:
    return [
        EventDraft(type="ACT_DONE", step=step, payload={"tool": "bash", "arguments": {"command": command}}),
        EventDraft(type="OBSERVE_DONE", step=step, payload={"text": seen} if isinstance(seen, str) else seen),
    ]


def log(*drafts: EventDraft) -> list[Event]:
    return list(append_all(LogHead(RUN), drafts, NOW)[0])


def found(*drafts: EventDraft) -> list[Loop]:
    return loops(log(*drafts))


def test_the_same_call_with_the_same_outcome_three_times_is_a_loop() -> None:
    assert found(*call("make", "error") * 2) == []
    (loop,) = found(*call("make", "error") * 3)
    assert (loop.kind, loop.times, loop.events, loop.is_new) == ("repeat", 3, (1, 2, 3, 4, 5, 6), True)
    assert "bash make" in loop.message


def test_two_calls_that_alternate_three_times_are_a_loop() -> None:
    pair = [*call("make", "error"), *call("git status", "clean")]
    assert found(*pair * 2, *pair[:2]) == []
    (loop,) = found(*pair * 3)
    assert (loop.kind, loop.times, loop.cycles[0], loop.cycles[-1]) == ("alternate", 3, (1, 2), (11, 12))


def test_a_loop_that_goes_on_is_one_loop_and_every_further_cycle_is_reported() -> None:
    guard = LoopGuard()
    times = [(loop.times, loop.is_new) for event in log(*call("make", "error") * 5) if (loop := guard.add(event))]
    assert times == [(3, True), (4, False), (5, False)]
    again = [*call("make", "error") * 4, *call("ls", "a"), *call("make", "error") * 3]
    assert [loop.times for loop in found(*again)] == [4, 3]


@pytest.mark.parametrize(
    "between",
    [
        call("make", "another error"),
        call("vi a.c", "saved"),
        call("vi a.c", "saved")[:1],
        [EventDraft(type="PROMPT", payload={"text": "try again"})],
    ],
    ids=["another outcome", "another call", "a call without an outcome", "a prompt of the user"],
)
def test_something_new_in_between_ends_a_row(between: list[EventDraft]) -> None:
    assert found(*call("make", "error") * 2, *between, *call("make", "error") * 2) == []


def test_calls_that_run_at_the_same_time_are_paired_with_their_outcomes_in_order() -> None:
    acts, seen = zip(*[call("make", "error")] * 3, strict=True)
    assert [loop.cycles for loop in found(*acts, *seen)] == [((1, 4), (2, 5), (3, 6))]


def test_other_events_in_between_do_not_end_a_row() -> None:
    plan = [EventDraft(type="PLAN_DONE", step=1, payload={"text": "once more"}), EventDraft(type="NOTE")]
    assert len(found(*[*plan, *call("make", "error")] * 3)) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3 passed in 0.12s", "3 passed in 1.30s"),
        ("real\t0m1.204s", "real\t0m9.9s"),
        ("2026-01-01T10:00:00.123Z failed", "2026-01-02 11:01:01 failed"),
        ("10:00:01 up 3 days", "10:00:07 up 3 days"),
        ("cannot open /tmp/tmpa81kd0_x/lock", "cannot open /tmp/tmpzz9_12a/lock"),
        ("sh[12345]: pid 12345 died", "sh[9876]: pid 9876 died"),
        ("<Task at 0x7f31c0a2b4c0>", "<Task at 0x7f0000a2b4c0>"),
        ("Process ID: 4410", "Process ID: 51020"),
        ("[1] 4410\nstarted", "[1] 51020\nstarted"),
        ("thread 'main' (4410) panicked", "thread 'main' (5120) panicked"),
        ("Tue Nov  6 17:19:47 UTC 2026", "Wed Nov 17 08:00:01 UTC 2026"),
        ("Date: Tue, 17 Nov 2026 17:19:47 GMT", "Date: Wed, 18 Nov 2026 08:00:01 GMT"),
        ("-rw-r--r-- 1 me me 12 Nov 17 17:00 a", "-rw-r--r-- 1 me me 12 Nov 17 17:01 a"),
        ("3 mins 18.5 secs", "2 mins 1.0 secs"),
        ("elapsed: 2.84", "elapsed: 11.2"),
        ("listening on http://127.0.0.1:54321", "listening on http://127.0.0.1:40101"),
        ("/var/folders/x9/ab12_c/T/tmp731830b7", "/var/folders/x9/ab12_c/T/tmp9k3b7"),
        ("\x1b[31mred\x1b[0m  \nend", "red\nend"),
    ],
)
def test_times_durations_numbers_of_processes_and_temporary_names_are_no_difference(one: str, other: str) -> None:
    assert plain_outcome(one) == plain_outcome(other)
    assert len(found(*call("make", one), *call("make", other), *call("make", one))) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3 passed", "4 passed"),
        ("a.py:10: error", "a.py:12: error"),
        ("process 1 of 9", "process 2 of 9"),
        ("version 1.2.3", "version 1.2.4"),
        ("/tmp/repo/a.py", "/tmp/repo/b.py"),
        ("id 8f14e45f-ceea-467f-a3ab-6d1b6a5b6a5b", "id 8f14e45f-ceea-467f-a3ab-000000000000"),
        ("[404]", "[500]"),
        ("[1] 12 files", "[1] 13 files"),
        ("May 12 files", "May 13 files"),
        ("5 min", "6 min"),
        ("time: 5", "time: 6"),
        ("port 8080 is in use", "port 8081 is in use"),
    ],
)
def test_everything_else_is_a_difference(one: str, other: str) -> None:
    assert plain_outcome(one) != plain_outcome(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"text": "error", "exit_code": 2, "duration_ms": 17}, {"text": "error", "exit_code": 2, "duration_ms": 21}),
        ({"text": '{"out": "error", "seconds": 0.5}'}, {"text": '{"out": "error", "seconds": 1.25}'}),
        ({"call_id": "a", "lines": ["failed in 1s"]}, {"call_id": "b", "lines": ["failed in 2s"]}),
    ],
)
def test_fields_for_times_processes_and_calls_are_no_difference(one: Any, other: Any) -> None:
    assert len(found(*call("make", one), *call("make", other), *call("make", one))) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"text": "error", "exit_code": 2}, {"text": "error", "exit_code": 1}),
        ({"text": '{"out": "error", "left": 2}'}, {"text": '{"out": "error", "left": 1}'}),
        ({"text": "error"}, {"text": "error", "more": 1}),
        ({"text": "[" * 400 + "1" + "]" * 400}, {"text": "[" * 400 + "2" + "]" * 400}),
    ],
)
def test_other_fields_are_a_difference(one: Any, other: Any) -> None:
    assert found(*call("make", one), *call("make", other), *call("make", one)) == []


def test_the_id_of_a_call_is_no_part_of_it() -> None:
    acts = [EventDraft(type="ACT_DONE", step=1, payload={"text": "make", "call_id": name}) for name in "abc"]
    assert len(found(*(draft for act in acts for draft in [act, call("", "error")[1]]))) == 1


def test_all_outcomes_of_a_call_are_compared() -> None:
    def polled(seen: str) -> list[EventDraft]:
        return [*call("poll", "started"), call("", seen)[1]]

    assert found(*polled("1 left"), *polled("2 left"), *polled("3 left")) == []
    assert [loop.cycles for loop in found(*polled("failed") * 3)] == [((1, 3), (4, 6), (7, 9))]


def test_a_step_in_which_nothing_was_done_does_not_end_a_row() -> None:
    thought = [EventDraft(type=name, step=2) for name in ("ACT_DONE", "OBSERVE_DONE")]
    assert len(found(*[*call("make", "error"), *thought] * 3)) == 1


@pytest.mark.parametrize(("pair", "kind"), [(["make"], "repeat"), (["make", "ls"], "alternate")])
def test_a_loop_that_is_longer_than_the_window_is_counted_to_its_end(pair: list[str], kind: str) -> None:
    (loop,) = found(*[draft for each in pair for draft in call(each, f"{each} failed")] * WINDOW)
    assert (loop.kind, loop.times, loop.cycles[0]) == (kind, WINDOW, (1, 2))


def test_a_call_that_waits_is_a_loop_only_if_nothing_at_all_changes_for_long() -> None:
    wait = "sleep 30; tail build.log"
    assert found(*(draft for n in range(9) for draft in call(wait, f"running for {n}s"))) == []
    assert found(*call(wait, "running") * (WAIT_TIMES - 1)) == []
    assert [loop.times for loop in found(*call(wait, "running") * WAIT_TIMES)] == [WAIT_TIMES]
    by_tool = EventDraft(type="ACT_DONE", step=1, payload={"tool": "BashOutput", "arguments": {"id": "b1"}})
    assert found(*[by_tool, call("", "running")[1]] * (WAIT_TIMES - 1)) == []


def test_nothing_is_said_about_steps_whose_calls_or_outcomes_are_not_in_the_log() -> None:
    assert found(*call("make", {}) * 5) == []
    assert found(*[EventDraft(type="ACT_DONE", step=1), call("", "seen")[1]] * 5) == []


def test_a_failure_of_the_step_is_a_part_of_the_outcome() -> None:
    def failing(why: str) -> list[EventDraft]:
        act, observed = call("make", {})
        failure = {"failure_id": why, "category": "error", "where": "step", "why": why}
        return [act, EventDraft(type="FAILURE", step=1, payload=failure), observed]

    assert len(found(*failing("exit 2") * 3)) == 1
    assert found(*failing("exit 2"), *failing("exit 1"), *failing("exit 2")) == []


def test_what_a_call_is_said_to_be_for_is_no_part_of_it() -> None:
    def described(words: str) -> list[EventDraft]:
        text = json.dumps({"command": "make", "description": words})
        act = EventDraft(type="ACT_DONE", step=1, payload={"tool": "Bash", "text": text, "ref": words})
        return [act, call("", "error")[1]]

    assert len(found(*described("build"), *described("build again"), *described("try"))) == 1


@pytest.mark.parametrize("text", ["1" * 400, "1e400", "[" * 500 + "]" * 500, "[" * 50_000, '"\\ud800"', "{"])
def test_any_text_can_be_a_call(text: str) -> None:
    act = EventDraft(type="ACT_DONE", step=1, payload={"tool": "x", "text": text})
    assert len(found(*[act, call("", "error")[1]] * 3)) == 1


def test_content_outside_an_event_is_compared_by_its_text_where_that_is_known() -> None:
    def stored(name: str) -> list[EventDraft]:
        return call("make", {"result": {"blob": name, "bytes": 900, "head": "x" * 500}})

    drafts = [*stored("one"), *stored("two"), *stored("one")]
    texts = {"one": "x" * 880 + " in 1.5s", "two": "x" * 880 + " in 9.25s"}
    assert found(*drafts) == []
    assert len(loops(log(*drafts), texts.get)) == 1
    assert len(found(*stored("one") * 3)) == 1


_DRAFTS = st.lists(
    st.one_of(
        st.builds(call, st.sampled_from("ab"), st.sampled_from("xy"), st.integers(1, 2)),
        st.sampled_from([[EventDraft(type="NOTE")] * 40, [EventDraft(type="PROMPT")], call("a", "x")[:1]]),
    ),
    max_size=30,
)


@settings(max_examples=40)
@given(_DRAFTS)
def test_a_guard_that_starts_with_the_last_events_finds_what_one_finds_that_saw_all(
    drafts: Iterable[list[EventDraft]],
) -> None:
    events = log(*(draft for each in drafts for draft in each))
    guard = LoopGuard()
    for index, event in enumerate(events):
        late = LoopGuard()
        last = [late.add(each) for each in events[max(0, index + 1 - WINDOW) : index + 1]][-1]
        assert guard.add(event) == last
