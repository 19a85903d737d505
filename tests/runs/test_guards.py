"""The guards of a run: how its terms state them, how long loops are allowed, and when a limit is near."""

from typing import Any

import pytest

from slicebase.runs.event import EventDraft, LogHead, append
from slicebase.runs.gate import Spent, check_terms, start
from slicebase.runs.guards import DEFAULT_GUARDS, Guards, allows, guards_of, near_limits, read_guards, with_guards
from slicebase.runs.records import Budgets, RunStarted
from tests.codes import code_of
from tests.runs.made import NOW, RUN


def test_a_run_without_guards_has_the_usual_ones() -> None:
    assert read_guards("Done.") == read_guards({"text": "Done."}) == DEFAULT_GUARDS
    assert read_guards({"guards": {"loop": "stop"}}) == Guards(loop="stop")


@pytest.mark.parametrize(
    "bad", [5, [], {"loop": "maybe"}, {"soft": 0}, {"soft": 1.5}, {"require_manifest": 1}, {"x": 1}]
)
def test_guards_that_cannot_be_read_are_refused_at_the_start_and_ignored_in_an_older_run(bad: Any) -> None:
    done = {"text": "Done.", "guards": bad}
    assert code_of(start, RUN, RunStarted(objective="Try.", done_definition=done)) == "bad-run"
    assert guards_of(done) == DEFAULT_GUARDS


def test_guards_alone_do_not_say_when_a_run_is_done() -> None:
    terms = RunStarted(objective="Try.", done_definition={"guards": {"loop": "off"}})
    assert code_of(start, RUN, terms) == "bad-run"


def test_a_text_becomes_an_object_only_if_something_is_added_to_it() -> None:
    assert with_guards("Done.", budgets={}, guards={}) == "Done."
    assert with_guards("Done.", guards={"loop": "off"}) == {"text": "Done.", "guards": {"loop": "off"}}
    assert with_guards({"goal": 1}, budgets={"max_steps": 2}) == {"goal": 1, "budgets": {"max_steps": 2}}


def test_what_a_done_definition_says_of_guards_stays_beside_what_is_given() -> None:
    done = {"goal": 1, "guards": {"require_manifest": True, "loop": "off"}, "budgets": {"max_cost": 1}}
    assert with_guards(done, guards={"loop": "stop"}, budgets={"max_steps": 2}) == {
        "goal": 1,
        "guards": {"require_manifest": True, "loop": "stop"},
        "budgets": {"max_cost": 1, "max_steps": 2},
    }
    assert with_guards({"guards": 5}, guards={"loop": "stop"}) == {"guards": 5}  # which is refused then


def test_a_run_from_before_there_were_guards_can_be_forked() -> None:
    terms = {"objective": "Try.", "done_definition": {"text": "Done.", "guards": "two"}, "provenance_mode": "x"}
    assert code_of(check_terms, terms) == "bad-run"
    assert check_terms({**terms, "forked_from": "sn_1"}).forked_from == "sn_1"


@pytest.mark.parametrize(
    ("until", "is_allowed"),
    [
        ({"until_step": 5}, True),
        ({"until_step": 4}, False),
        ({"until": "2026-01-01T00:00:00.000Z"}, True),
        ({"until": "2025-12-31T23:59:59.999Z"}, False),
        ({"until_step": 9, "until": "2025-12-31T00:00:00.000Z"}, False),
    ],
)
def test_loops_are_allowed_up_to_a_step_or_a_time_whichever_comes_first(until: Any, is_allowed: bool) -> None:
    allowed, _ = append(LogHead(RUN), EventDraft(type="LOOP_ALLOWED", payload={"reason": "so", **until}), NOW)
    assert allows(allowed, 5, NOW) is is_allowed


def test_a_limit_is_near_from_its_share_on() -> None:
    budgets = Budgets(max_steps=10, max_seconds=100.0, max_cost=0.0)
    assert near_limits(budgets, Spent(7, 79.9, 0.0), 0.8) == {}
    assert list(near_limits(budgets, Spent(8, 80.0, 0.0), 0.8)) == ["steps", "seconds"]
    assert list(near_limits(Budgets(max_cost=1.0), Spent(0, 0.0, sum([0.1] * 8)), 0.8)) == ["cost"]
    assert list(near_limits(Budgets(max_steps=100), Spent(7, 0.0, 0.0), 0.07)) == ["steps"]
    assert near_limits(Budgets(), Spent(9, 9.0, 9.0), 0.8) == {}
