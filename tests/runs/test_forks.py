"""Forks: the first events of a run that continues another one give the state that it continues from."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.core.hashing import canonical
from slicebase.runs.checks import Inputs
from slicebase.runs.event import MAX_PAYLOAD, EventDraft, LogHead
from slicebase.runs.forks import fork, forked_state
from slicebase.runs.gate import compact
from slicebase.runs.manifests import inherited_events
from slicebase.runs.records import Inherited, RunStarted
from slicebase.runs.snapshot import build
from slicebase.runs.state import Json, RunState, fold, from_snapshot
from tests.amounts import MORE
from tests.runs.made import (
    FULL,
    LEDGER,
    NOW,
    PASSING,
    RUN,
    STALE,
    STARTED,
    append_all,
    claim,
    compacted,
    conflict,
    cycle,
    failure,
    inputs,
    log,
    manifest,
    pointer,
    question,
)

NOTHING_SPENT = Inherited(run=RUN, events=1, steps=0, seconds=0.0, cost=0.0)


def test_a_fork_continues_from_a_snapshot() -> None:
    origin = compacted(*FULL, question("closed?", "closed")).snapshot
    events, _ = append_all(LogHead("run-2"), fork("run-2", origin, NOTHING_SPENT), NOW)
    assert events[0].payload["forked_from"] == origin["snapshot_id"]
    made = Inputs(msgspec.convert(events[0].payload, RunStarted), None, LogHead("run-2"), tuple(events), LEDGER, {})
    compaction = compact(lambda: made, NOW)
    assert compaction.passed, compaction.diagnosis
    assert compaction.snapshot["state"] == origin["state"]
    assert compaction.snapshot["objective"] == origin["objective"]
    assert compaction.snapshot["counts"]["counted_events_since_last_compaction"] == 0


def test_a_run_of_steps_and_forks_keeps_its_terms() -> None:
    origin = compact(lambda: inputs(*cycle(1)), NOW).snapshot
    first = next(fork("run-2", origin, NOTHING_SPENT))
    assert {name: first.payload[name] for name in ("objective", "done_definition")} == {
        "objective": STARTED.objective,
        "done_definition": STARTED.done_definition,
    }


def test_a_fork_keeps_what_was_cited_before_a_claim_was_restated() -> None:
    other = {**pointer(STALE), "chunk_id": "row:01J/r1"}
    origin = build(fold(RunState(RUN), log(claim(refs=[other]), claim(refs=[pointer(PASSING)]))), NOW)
    cited = fold(RunState("run-2"), append_all(LogHead("run-2"), forked_state(origin), NOW)[0]).chunks_cited
    assert list(cited) == origin["state"]["source_coverage"]["chunk_ids_cited"] == ["row:01J/r1", PASSING.chunk_id]


ids = st.sampled_from(["a", "b", "c"])
refs = st.lists(st.integers(0, 9).map(lambda n: {**pointer(STALE), "chunk_id": f"row:f/{n}"}), max_size=3)
drafts = st.one_of(
    st.builds(claim, ids, st.sampled_from(["verified", "candidate", "retracted"]), refs),
    st.builds(conflict, ids, refs, refs),
    st.builds(failure, ids, st.sampled_from(["open", "resolved"])),
    st.builds(question, ids, st.sampled_from(["open", "closed"])),
    st.builds(manifest, st.integers(1, 9), st.sampled_from([None, "02005444cae1117d"])),
    st.builds(
        lambda *named: EventDraft(type="SOURCE", payload={"source_ids": named[0], "chunk_ids": named[1]}),
        st.lists(ids, max_size=3),
        st.lists(ids, max_size=3),
    ),
)


def without_numbers(state: RunState) -> dict[str, Json]:
    """Returns what a fork has to take over: all but its own name and terms, and the numbers of snapshots."""
    values: dict[str, Json] = msgspec.structs.asdict(state)
    for name in ("run_id", "objective", "done_definition", "provenance_mode", "sequence"):
        del values[name]
    for name in ("claims", "conflicts", "failures"):
        values[name] = [
            {field: value for field, value in item.items() if field not in ("since", "changed")}
            for item in values[name].values()
        ]
    return {name: list(value) if isinstance(value, dict) else value for name, value in values.items()}


@settings(max_examples=100 * MORE, deadline=None)
@given(st.lists(drafts, max_size=12))
def test_the_events_of_a_fork_give_the_state_right_after_its_snapshot(logged: list[EventDraft]) -> None:
    snapshot = build(fold(RunState(RUN), log(*logged)), NOW)
    events, _ = append_all(LogHead("run-2"), forked_state(snapshot), NOW)
    assert without_numbers(fold(RunState("run-2"), events)) == without_numbers(from_snapshot(snapshot))


def test_much_that_is_inherited_is_logged_in_as_many_events_as_its_size_needs() -> None:
    chunks = [f"turn:{number:08x}-0000-0000-0000-000000000000" for number in range(5000)]
    manifests = [f"mf_{number:032x}" for number in range(3000)]
    written = list(inherited_events(chunks, manifests, "slice_policy_v1:0"))
    assert all(len(canonical(draft.payload)) <= MAX_PAYLOAD for draft in written)
    state = fold(RunState(RUN), log(*written))
    assert (list(state.chunks_cited), list(state.latest_manifests)) == (chunks, manifests)
    assert state.policy_ref == "slice_policy_v1:0"
    assert [len(list(inherited_events([], [], policy))) for policy in (None, "slice_policy_v1:0")] == [0, 1]
