"""Steps that need a manifest: which ones, and where it may be bound."""

from typing import Any

import pytest

from slicebase.runs.event import EventDraft, LogHead
from slicebase.runs.manifests import steps_without_manifest
from tests.runs.made import NOW, RUN, append_all


def without(*drafts: EventDraft, before: Any = ()) -> list[int]:
    return steps_without_manifest(append_all(LogHead(RUN), drafts, NOW)[0], lambda steps: steps & set(before))


def act(step: int, **payload: Any) -> EventDraft:
    return EventDraft(type="ACT_DONE", step=step, payload=payload)


def bound(step: int | None) -> EventDraft:
    return EventDraft(type="MANIFEST", step=step, payload={"manifest_id": "m"})


def test_a_step_with_an_action_needs_a_manifest_of_its_own() -> None:
    assert without(act(1, do="it"), bound(1), act(2, do="it"), bound(None), act(2, do="more")) == [2]
    assert without(act(1, do="it"), bound(1), bound(2), act(2, do="it")) == []


def test_a_step_without_an_action_needs_none() -> None:
    assert without(EventDraft(type="PLAN_DONE", step=1, payload={"text": "think"}), act(1)) == []


def test_a_manifest_before_the_last_snapshot_counts() -> None:
    assert without(act(1, do="it"), act(2, do="it"), before={1}) == [2]


def test_the_log_before_is_read_only_if_a_step_would_fail() -> None:
    events = append_all(LogHead(RUN), [bound(1), act(1, do="it")], NOW)[0]
    assert steps_without_manifest(events, lambda steps: pytest.fail("it was read")) == []
