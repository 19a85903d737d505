"""Budgets (ruling 38)."""

from typing import Any

import pytest

from slicebase.errors import SlicebaseError
from slicebase.runs.event import EventDraft, LogHead
from slicebase.runs.gate import Spent, budgets_of, cost_of, exceeded, spent
from slicebase.runs.records import Budgets
from slicebase.runs.status import tally_of
from tests.runs.made import NOW, RUN, append_all, cycle


def test_budgets_are_part_of_the_done_definition() -> None:
    done = {"text": "x", "budgets": {"max_steps": 3, "max_cost": 1.5}}
    assert budgets_of(done) == Budgets(max_steps=3, max_cost=1.5)
    assert budgets_of("Report written.") == Budgets()
    assert budgets_of({"text": "x"}) == Budgets()
    assert repr(budgets_of({"budgets": {"max_steps": 5.0, "max_cost": 2}})) == repr(Budgets(max_steps=5, max_cost=2.0))


@pytest.mark.parametrize(
    ("budgets", "problem"),
    [
        ({"max_tokens": 3}, "max_tokens"), ({"max_steps": "3"}, "not a number"), ({"max_cost": True}, "not a number"),
        ({"max_steps": 2.5}, "2.5, which is not a whole number"), ({"max_steps": float("inf")}, "inf"),
        ({"max_cost": float("inf")}, "inf"), ({"max_seconds": float("nan")}, "nan"), ({"max_cost": -1}, "below 0"),
        ({"max_steps": 1e300}, "1e+300"), ({"max_cost": 10**5000}, "too large"), ([1], "object"), ("x", "object"),
    ],
)  # fmt: skip
def test_budgets_that_cannot_be_read_are_refused(budgets: Any, problem: str) -> None:
    with pytest.raises(SlicebaseError) as caught:
        budgets_of({"budgets": budgets})
    assert (caught.value.code, problem in caught.value.message) == ("bad-run-budget", True)


def test_a_limit_is_exceeded_only_beyond_it() -> None:
    budgets = Budgets(max_steps=2, max_seconds=10, max_cost=1)
    assert exceeded(budgets, Spent(2, 10.0, 1.0)) is None
    for over in (Spent(3, 0, 0), Spent(0, 10.5, 0), Spent(0, 0, 1.01)):
        assert exceeded(budgets, over)
    assert exceeded(Budgets(), Spent(10**6, 1e9, 1e9)) is None


def test_a_run_spends_distinct_steps_time_and_the_costs_of_its_events() -> None:
    drafts = [
        *cycle(1),
        *cycle(1),
        EventDraft(type="ACT_DONE", step=2, payload={"cost": 0.25}),
        EventDraft(type="MODEL_CALL", step=7, payload={"cost": 1}, time="2026-01-01T00:01:30.500Z"),
    ]
    assert spent(append_all(LogHead(RUN), drafts, NOW)[0]) == Spent(2, 90.5, 1.25)
    assert spent([]) == Spent()


@pytest.mark.parametrize("cost", ["1", None, True, -1, [], {}])
def test_a_cost_that_is_not_an_amount_costs_nothing(cost: Any) -> None:
    assert cost_of({"cost": cost}) == 0


def test_a_clock_that_runs_backwards_spends_no_time() -> None:
    drafts = [EventDraft(type="X"), EventDraft(type="X", time="2025-01-01T00:00:00.000Z")]
    assert spent(append_all(LogHead(RUN), drafts, NOW)[0]).seconds == 0


def test_time_counts_from_the_first_event_that_has_a_date() -> None:
    times = ("1970-01-01T00:00:00.000Z", "1970-01-01T00:00:09.000Z", "2026-01-01T00:00:00.000Z")
    drafts = [EventDraft(type="X", time=time) for time in (*times, "2026-01-01T00:00:05.000Z")]
    events = append_all(LogHead(RUN), drafts, NOW)[0]
    assert [spent(events[:count]).seconds for count in (2, 3, 4)] == [9, 0, 5]
    assert [tally_of(RUN, events[:count]).spent.seconds for count in (2, 3, 4)] == [9, 0, 5]


def test_large_budgets_are_shown_as_people_write_them() -> None:
    spent_all = Spent(0, 4_123_456.5, 0.25)
    assert exceeded(Budgets(max_seconds=4_100_000, max_cost=0.2), spent_all) == (
        "seconds 4123456 of 4100000, cost 0.25 of 0.2"
    )
