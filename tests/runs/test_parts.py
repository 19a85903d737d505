"""The bytes of a state that are kept part by part are its canonical bytes."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.core.hashing import canonical, digest_of
from slicebase.runs import parts as module
from slicebase.runs.checks import LONGEST_TEXT, check
from slicebase.runs.event import EventDraft
from slicebase.runs.parts import StateParts, parts_of
from slicebase.runs.records import SnapshotState
from slicebase.runs.snapshot import build, built, content, same_content, size_of, snapshot_digest, to_bytes
from slicebase.runs.state import Json, RunState, fold
from tests.amounts import MORE
from tests.runs.made import NOW, RUN, claim, inputs, log, question
from tests.runs.test_state import good_drafts, odd_drafts

LONG = EventDraft(type="SOURCE", payload={"chunk_ids": ["x" * (LONGEST_TEXT + 1)]})
drafts = good_drafts | odd_drafts | st.just(LONG)


def is_typed(state: Json) -> bool:
    try:
        msgspec.convert(state, SnapshotState)
    except msgspec.ValidationError:
        return False
    return True


@settings(max_examples=60 * MORE, deadline=None)
@given(st.lists(st.lists(drafts, max_size=5), max_size=4))
def test_parts_that_are_kept_from_state_to_state_give_the_canonical_bytes(batches: list[list[EventDraft]]) -> None:
    events, done, state = log(*(draft for batch in batches for draft in batch)), 1, RunState(RUN)
    kept: StateParts | None = None
    before: tuple[dict[str, Json], StateParts | None] | None = None
    for batch in batches:
        state = fold(state, events[done : done + len(batch)])
        done += len(batch)
        snapshot, digest, parts = built(state, NOW, kept)
        assert (parts is not None) == is_typed(snapshot["state"])
        assert digest == snapshot_digest(snapshot) == digest_of(content(snapshot))
        assert size_of(snapshot, parts) == len(to_bytes(snapshot))
        if parts is not None:
            assert b"".join(parts.pieces()) == canonical(snapshot["state"])
        if before is not None:
            assert same_content(*before, snapshot, parts) == (digest_of(content(before[0])) == digest)
        kept, before = parts, (snapshot, parts)


@settings(max_examples=60 * MORE, deadline=None)
@given(st.lists(drafts, max_size=6))
def test_the_checks_say_the_same_with_and_without_parts(drafts: list[EventDraft]) -> None:
    given_ = inputs(*drafts)
    snapshot = build(fold(RunState(RUN), given_.events), NOW)
    assert check(snapshot, given_, parts_of(snapshot["state"])) == check(snapshot, given_)


@pytest.mark.parametrize("other", [True, 1.5, "1", None])
def test_a_part_that_only_python_takes_for_the_same_is_encoded_again(other: Any) -> None:
    state = build(fold(RunState(RUN), log(claim())), NOW)["state"]
    changed = {**state, "claims": [{**state["claims"][0], "since": other}]}
    assert parts_of(changed, parts_of(state)) is None


def test_only_what_is_new_is_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[Json] = []

    def counted(value: Json, type_: Any, plain: Any = module._encoded) -> bytes:
        encoded.append(value)
        return bytes(plain(value, type_))

    monkeypatch.setattr(module, "_encoded", counted)
    many = [claim(f"c{number}", "candidate", []) for number in range(50)]
    events = log(*many, claim("c7", "retracted", []), claim("new", "candidate", []), question())
    state = fold(RunState(RUN), events[:-3])
    first = built(state, NOW)
    assert len(encoded) == 50
    second = built(fold(state, events[-3:]), NOW, first.parts)
    assert [value if isinstance(value, str) else value["claim_id"] for value in encoded[50:]] == [
        "c7",
        "new",
        question().payload["question"],
    ]
    assert second.digest == digest_of(content(second.snapshot))
