"""Snapshots: shape, order, id and bytes ("Snapshot JSON shape", rulings 37 and 38)."""

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.core.hashing import canonical, digest_of
from slicebase.errors import SlicebaseError
from slicebase.runs.event import EventDraft, LogHead
from slicebase.runs.records import RunStarted
from slicebase.runs.snapshot import build, content, from_bytes, snapshot_digest, snapshot_id, to_bytes, typed
from slicebase.runs.state import RunState, fold
from tests.paths import GOLDEN
from tests.runs.golden import assert_golden
from tests.runs.made import FULL, NOW, RUN, append_all, claim, compacted, cycle, log, manifest
from tests.runs.test_state import good_drafts, odd_drafts

VECTOR = json.loads((GOLDEN / "ids.json").read_text())["snapshot"]


def test_the_snapshot_of_a_small_run_matches_the_vector() -> None:
    started = RunStarted(objective="Find the cause.", done_definition="Report written.")
    drafts = [EventDraft.of("RUN_STARTED", started), EventDraft(type="PLAN_DONE", step=1)]
    snapshot = build(fold(RunState(RUN), append_all(LogHead(RUN), drafts, NOW)[0]), NOW)
    assert content(snapshot) == VECTOR["without_id_time_validation"]
    assert canonical(content(snapshot)).decode() == VECTOR["canonical"]
    assert snapshot["snapshot_id"] == VECTOR["snapshot_id"]


def test_a_snapshots_bytes_are_the_golden_ones() -> None:
    assert_golden("snapshot.json", to_bytes(compacted(*FULL).snapshot))


def test_keys_are_in_the_specified_order_at_every_level() -> None:
    """Encoding the typed record, whose fields are in that order, gives the same bytes."""
    snapshot = compacted(*FULL).snapshot
    assert msgspec.json.encode(typed(snapshot)) == to_bytes(snapshot)


def test_the_same_log_gives_the_same_bytes_but_for_the_time() -> None:
    first, second = compacted(*FULL).snapshot, compacted(*FULL).snapshot
    assert to_bytes(first) == to_bytes(second)
    later = build(fold(RunState(RUN), ()), "2027-01-01T00:00:00.000Z")
    earlier = build(fold(RunState(RUN), ()), NOW)
    assert later["snapshot_id"] == earlier["snapshot_id"]


def test_the_id_covers_everything_but_itself_time_and_validation() -> None:
    snapshot = compacted(*FULL).snapshot
    for name in snapshot:
        changed = snapshot_id({**snapshot, name: "other"}) != snapshot["snapshot_id"]
        assert changed == (name not in ("snapshot_id", "created_at", "validation"))


@settings(max_examples=60, deadline=None)
@given(st.lists(good_drafts | odd_drafts, max_size=6))
def test_the_fast_digest_is_the_digest_of_the_canonical_content(drafts: list[EventDraft]) -> None:
    snapshot = build(fold(RunState(RUN), log(*drafts)), NOW)
    assert snapshot_digest(snapshot) == digest_of(content(snapshot))
    assert snapshot_digest({**snapshot, "zä": 1.0}) == digest_of({**content(snapshot), "zä": 1.0})


def test_the_id_is_the_beginning_of_its_digest() -> None:
    snapshot = compacted().snapshot
    assert snapshot["snapshot_id"] == "sn_" + snapshot_digest(snapshot)[7:39]


def test_counts_hold_the_values_before_the_reset() -> None:
    """Ruling 34."""
    counts = compacted(*cycle(1), *cycle(2)).snapshot["counts"]
    assert counts == {"steps_since_last_compaction": 2, "counted_events_since_last_compaction": 6}


def test_diagnostics_sum_up_the_manifests_since_the_last_snapshot() -> None:
    """Ruling 38; guarantee "auditability"."""
    diagnostics = compacted(manifest(1), manifest(2)).snapshot["retrieval_diagnostics"]
    assert diagnostics == {
        "manifests": 2,
        "candidates": 20,
        "selected": 6,
        "excluded": 14,
        "excluded_by_reason": {"budget": 10, "radius": 4},
        "filters": ["session:s1"],
        "manifest_ids": [f"mf_{1:032x}", f"mf_{2:032x}"],
    }


def test_bytes_read_back() -> None:
    snapshot = compacted(*FULL, claim("c3", "retracted")).snapshot
    assert from_bytes(to_bytes(snapshot)) == snapshot


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff", b'"x"', b"[" * 100_000])
def test_bytes_that_are_not_an_object_are_refused(data: bytes) -> None:
    with pytest.raises(SlicebaseError) as caught:
        from_bytes(data)
    assert caught.value.code == "bad-snapshot"


def test_an_object_that_is_not_a_snapshot_cannot_be_typed() -> None:
    with pytest.raises(SlicebaseError) as caught:
        typed({"snapshot_id": "sn_x"})
    assert caught.value.code == "bad-snapshot"
