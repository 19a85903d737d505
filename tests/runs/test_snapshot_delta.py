"""Deltas, which storage keeps instead of complete snapshots (ruling 37)."""

from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.runs.event import EventDraft
from slicebase.runs.snapshot import apply_deltas, delta, to_bytes
from tests.runs.made import claim, cycle
from tests.runs.test_state import good_drafts, run_with_snapshots


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(good_drafts, max_size=6), min_size=2, max_size=5))
def test_a_delta_and_the_snapshot_before_give_the_snapshot(batches: list[list[EventDraft]]) -> None:
    _, snapshots = run_with_snapshots(batches)
    rebuilt = snapshots[0][1]
    for _, snapshot in snapshots[1:]:
        rebuilt = apply_deltas(rebuilt, [delta(rebuilt, snapshot)])
        assert to_bytes(rebuilt) == to_bytes(snapshot)


def test_a_delta_holds_only_what_changed() -> None:
    _, snapshots = run_with_snapshots([[claim("a"), claim("b")], [*cycle(1), claim("b", "retracted"), claim("c")]])
    change = delta(snapshots[0][1], snapshots[1][1])
    assert [item["claim_id"] for item in change["state"]["claims"]] == ["b", "c"]
    assert change["state"]["source_coverage"]["chunk_ids_cited"] == []
