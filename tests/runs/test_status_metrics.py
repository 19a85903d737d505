"""The metrics that justify other thresholds ("Tuning metric")."""

from slicebase.runs.event import EventDraft, LogHead
from slicebase.runs.status import Metrics, incidents_of, measure
from tests.runs.made import NOW, PASSING, RUN, append_all, claim, cycle, failure, pointer

SNAPSHOT = EventDraft(type="SNAPSHOT", payload={"status": "PASS"})


def measured(*drafts: EventDraft) -> Metrics:
    return measure(append_all(LogHead(RUN), drafts, NOW)[0])


def act(what: str, seen: str, ref: str = "turn:1") -> list[EventDraft]:
    return [
        EventDraft(type="ACT_DONE", step=1, payload={"do": what, "ref": ref}),
        EventDraft(type="OBSERVE_DONE", step=1, payload={"see": seen, "cost": len(ref)}),
    ]


def test_a_cycle_is_repeated_if_an_earlier_one_has_the_same_action_and_observation() -> None:
    metrics = measured(*act("ls", "a"), *act("ls", "a", ref="turn:22"), *act("ls", "a b"), *act("cat", "a b"))
    assert (metrics.cycles, metrics.repeated_cycles, metrics.loop_rate) == (4, 1, 0.25)


def test_parallel_calls_are_paired_with_their_observations_in_order() -> None:
    (one, see_one), (two, see_two) = act("a", "1"), act("b", "2")
    assert measured(one, two, see_one, see_two, *act("a", "1"), *act("b", "2")).repeated_cycles == 2


def test_a_failure_is_repeated_at_the_same_place() -> None:
    metrics = measured(failure("f1"), failure("f2"), failure("f2", "resolved"))
    assert (metrics.failures, metrics.repeated_failures) == (2, 1)


def test_a_stall_is_a_compaction_without_a_new_citation_before_it() -> None:
    other = {**pointer(PASSING), "chunk_id": "row:f/r"}
    metrics = measured(
        *cycle(1), SNAPSHOT,  # a stall
        *cycle(2), claim("a"), SNAPSHOT,
        *cycle(3), claim("b"), SNAPSHOT,  # the same chunk again: a stall
        SNAPSHOT,  # nothing was done
        *cycle(4), claim("c", refs=[other]), SNAPSHOT,
    )  # fmt: skip
    assert (metrics.compactions, metrics.no_evidence_stalls) == (5, 2)


def test_a_stall_is_also_as_many_counted_events_as_make_a_compaction_due() -> None:
    def stalls(*drafts: EventDraft) -> tuple[int, ...]:
        return incidents_of(append_all(LogHead(RUN), drafts, NOW)[0], counted=3).stalls

    assert stalls(*cycle(1), *cycle(2), *cycle(3)[:2]) == (3, 6)
    assert stalls(*cycle(1)[:2], claim("a"), *cycle(2), SNAPSHOT) == (6,)
    assert stalls(*cycle(1), SNAPSHOT, *cycle(2)[:1], SNAPSHOT) == (3, 6)
    assert stalls(*cycle(1)[:2], claim("a"), SNAPSHOT) == ()


def test_loops_are_counted_whether_the_guard_was_on_or_not() -> None:
    metrics = measured(*act("ls", "a") * 4)
    assert (metrics.loops, metrics.repeated_cycles) == (1, 3)


def test_attempts_to_change_the_terms_are_counted() -> None:
    assert measured(EventDraft(type="REFUSED"), EventDraft(type="REFUSED")).refused_changes == 2


def test_time_and_cost_are_given_per_verified_claim() -> None:
    late = EventDraft(type="X", time="2026-01-01T00:01:00.000Z", payload={"cost": 3})
    metrics = measured(EventDraft(type="X"), claim("a"), claim("b"), claim("c"), claim("c", "retracted"), late)
    assert metrics.verified_claims == 2
    assert (metrics.seconds_per_verified_claim, metrics.cost_per_verified_claim) == (30.0, 1.5)


def test_without_verified_claims_there_is_no_price() -> None:
    metrics = measured(*cycle(1))
    assert (metrics.seconds_per_verified_claim, metrics.cost_per_verified_claim) == (None, None)
    assert measured().loop_rate == 0
