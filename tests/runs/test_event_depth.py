"""A payload has a fixed number of levels, so that whoever stores it, everybody can read it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slicebase import Slicebase
from slicebase.core.hashing import MAX_LEVELS, nests_deeper
from slicebase.errors import SlicebaseError
from slicebase.runs import event
from slicebase.runs.event import EventDraft, LogHead, hashed_event

NOW = "2026-01-01T00:00:00.000Z"


def nested(levels: int, inner: Any = 0) -> Any:
    for level in range(levels):
        inner = {"a": inner} if level % 2 else [inner]
    return inner


def code_of(call: Callable[[], Any]) -> str:
    with pytest.raises(SlicebaseError) as caught:
        call()
    return caught.value.code


def test_levels_of_lists_and_objects_are_counted() -> None:
    for levels in (0, 1, 2, 7):
        assert not nests_deeper(nested(levels), levels)
        assert levels == 0 or nests_deeper(nested(levels), levels - 1)
    assert not nests_deeper([[], {}, [[]]], 3)


def test_a_value_that_contains_itself_or_one_object_many_times_is_counted_too() -> None:
    itself: list[Any] = []
    itself.append(itself)
    assert nests_deeper(itself, MAX_LEVELS)
    shared: list[Any] = []
    for _ in range(MAX_LEVELS + 1):
        shared = [shared, shared]
    assert nests_deeper(shared, MAX_LEVELS)


@pytest.mark.parametrize("type_", ["ACT_DONE", "CLAIM", "QUESTION"])
def test_a_payload_has_at_most_100_levels(type_: str) -> None:
    hashed_event(LogHead("r"), EventDraft(type=type_, step=1, payload={"x": nested(MAX_LEVELS - 1)}), NOW)
    with pytest.raises(SlicebaseError) as error:
        hashed_event(LogHead("r"), EventDraft(type=type_, step=1, payload={"x": nested(MAX_LEVELS)}), NOW)
    assert error.value.code == "not-json-value"
    assert str(MAX_LEVELS) in error.value.hint


@pytest.mark.parametrize("levels", [MAX_LEVELS, 480, 5_000, 100_000])
def test_every_door_of_runs_refuses_a_deep_value(tmp_path: Path, levels: int) -> None:
    value = nested(levels)
    with Slicebase.init(tmp_path) as memory:
        memory.runs.start("r", "o", "d")
        doors = (
            lambda: memory.runs.start("deep", "o", {"text": "d", "x": value}),
            lambda: memory.runs.log("r", [{"type": "ACT_DONE", "step": 1, "payload": {"x": value}}]),
            lambda: memory.runs.log("r", [EventDraft(type="ACT_DONE", step=1, payload={"x": value})]),
            lambda: memory.runs.log("r", [{"type": "RUN_STARTED", "payload": {"done_definition": value}}]),
        )
        assert [code_of(door) for door in doors] == ["not-json-value"] * 4
        assert [each.id for each in memory.runs.list_runs()] == ["r"]
        assert memory.runs.status("r").events == 1


@pytest.mark.parametrize("type_", ["ACT_DONE", "QUESTION", "CONFLICT"])
def test_the_deepest_payload_can_be_read_compacted_and_verified(tmp_path: Path, type_: str) -> None:
    key = {"ACT_DONE": "x", "QUESTION": "question", "CONFLICT": "side_a_refs"}[type_]
    with Slicebase.init(tmp_path) as memory:
        memory.runs.start("r", "o", {"text": "d", "x": nested(MAX_LEVELS - 2)})
        memory.runs.log("r", [{"type": type_, "step": 1, "payload": {key: nested(MAX_LEVELS - 1)}}])
        memory.runs.status("r")
        if type_ == "ACT_DONE":
            memory.runs.compact("r")
        else:
            with pytest.raises(SlicebaseError) as error:
                memory.runs.compact("r")
            assert error.value.code == "gate-refused"
        assert memory.verify().status == "VERIFIED"


@pytest.mark.parametrize("levels", [MAX_LEVELS + 1, 480, 700])
def test_a_run_with_a_deeper_payload_from_elsewhere_is_reported_alone(
    tmp_path: Path, levels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Slicebase.init(tmp_path) as memory:
        for run in ("a", "deep", "z"):
            memory.runs.start(run, "o", "d")
            memory.runs.claim(run, "It is.")
        with monkeypatch.context() as patch:
            patch.setattr(event, "check_depth", lambda value, what: None)
            patch.setattr(event, "canonical", msgspec.json.encode)
            draft = EventDraft(type="ACT_DONE", step=1, payload={"x": nested(levels - 1)})
            memory.truth.runs.append("deep", [draft], 0)
        for verb in (memory.runs.status, memory.runs.compact, memory.runs.events):
            with pytest.raises(SlicebaseError) as error:
                verb("deep")
            assert error.value.code == "broken-record"
        assert len(memory.runs.list_runs()) == 3
        verdict = memory.verify()
        assert verdict.checked["runs"] == 3
        assert [finding.place for finding in verdict.findings] == ["run:deep"]
