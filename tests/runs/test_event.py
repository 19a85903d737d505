"""Events and their chain (ruling 33)."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.core.hashing import canonical, digest_of
from slicebase.errors import SlicebaseError
from slicebase.runs.event import (
    MAX_PAYLOAD,
    TERMINAL,
    TYPES,
    ChainLink,
    Event,
    EventDraft,
    LogHead,
    append,
    check_chain,
    read_lines,
)
from tests.paths import GOLDEN
from tests.runs.made import FULL, NOW, RUN, append_all, log

VECTORS = json.loads((GOLDEN / "ids.json").read_text())


def test_events_have_the_hashes_of_the_vectors() -> None:
    head = LogHead(RUN)
    drafts = [
        EventDraft(type="RUN_STARTED", payload=VECTORS["events"][0]["payload"], time="2026-01-01T00:00:00.000Z"),
        EventDraft(type="PLAN_DONE", step=1, payload=VECTORS["events"][1]["payload"], time="2026-01-01T00:00:01.000Z"),
    ]
    for draft, vector in zip(drafts, VECTORS["events"], strict=True):
        event, head = append(head, draft, NOW)
        assert canonical(event.link[:-1]).decode() == vector["canonical"]
        assert event.link.payload_hash == vector["payload_hash"]
        assert event.hash == vector["hash"]


@given(
    st.builds(
        ChainLink,
        st.text(max_size=9),
        st.integers(0, 2**53 - 1),
        st.none() | st.text(max_size=9),
        st.text(max_size=9),
        st.none() | st.integers(0, 2**53 - 1),
        st.text(max_size=9),
        st.text(max_size=9),
        st.just(""),
    )
)
def test_a_links_fast_record_is_its_canonical_form(link: ChainLink) -> None:
    assert link.record == canonical(link[:-1])


def test_only_three_types_are_terminal() -> None:
    """ "Counted events definition"."""
    assert {"PLAN_DONE", "ACT_DONE", "OBSERVE_DONE"} == TERMINAL
    assert len(TYPES) == 18


def test_numbers_run_from_one_without_gaps_and_the_first_event_has_no_previous_hash() -> None:
    events = log(*FULL)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert events[0].prev is None
    assert [event.prev for event in events[1:]] == [event.hash for event in events[:-1]]


def test_an_absent_payload_is_an_empty_object() -> None:
    (draft,) = read_lines([b'{"type": "ANYTHING"}\n'])
    assert draft.payload == {}


def test_a_given_time_is_written_in_utc_with_milliseconds() -> None:
    event, _ = append(LogHead(RUN), EventDraft(type="X", time="2026-01-01T02:00:00+01:00"), NOW)
    assert event.time == "2026-01-01T01:00:00.000Z"


def test_a_payload_is_kept_as_its_canonical_form_reads_back() -> None:
    event, _ = append(LogHead(RUN), EventDraft(type="X", payload={"b": 1.0, "a": ("x",)}), NOW)
    assert list(event.payload.items()) == [("a", ["x"]), ("b", 1)]


@pytest.mark.parametrize(
    ("draft", "code"),
    [
        (EventDraft(type="PLAN_DONE"), "step-missing"),
        (EventDraft(type="PLAN_DONE", step=-1), "bad-event"),
        (EventDraft(type=""), "bad-event"),
        (EventDraft(type="a\nb"), "bad-event"),
        (EventDraft(type="x" * 65), "bad-event"),
        (EventDraft(type="X", time="yesterday"), "bad-time"),
        (EventDraft(type="X", payload={"n": 2**53}), "integer-range"),
        (EventDraft(type="X", payload={"t": "\ud800"}), "lone-surrogate"),
        (EventDraft(type="X", payload={"t": "x" * MAX_PAYLOAD}), "payload-too-large"),
    ],
)
def test_a_draft_that_cannot_be_an_event_is_refused(draft: EventDraft, code: str) -> None:
    with pytest.raises(SlicebaseError) as caught:
        append(LogHead(RUN), draft, NOW)
    assert caught.value.code == code


def test_a_payload_may_have_64_kib() -> None:
    room = MAX_PAYLOAD - len('{"t":""}')
    event, _ = append(LogHead(RUN), EventDraft(type="X", payload={"t": "x" * room}), NOW)
    assert len(canonical(event.payload)) == MAX_PAYLOAD


DEEP = b'{"type":"X","payload":' + b'{"a":' * 9999


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[]",
        b'{"step": 1}',
        b'{"type": 5}',
        b'{"type": "X", "extra": 1}',
        b'{"type":"X","step":true}',
        DEEP,
    ],
)
def test_a_line_that_is_not_an_event_is_refused_with_its_place(line: bytes) -> None:
    with pytest.raises(SlicebaseError) as caught:
        list(read_lines([b'{"type": "X"}\n', b"\n", line], "events.jsonl"))
    assert caught.value.code == "bad-event"
    assert caught.value.where[:2] == ("events.jsonl", 3)


def test_a_byte_that_is_not_utf8_is_refused_with_its_place() -> None:
    with pytest.raises(SlicebaseError) as caught:
        list(read_lines([b'{"type": "X"}\n', b'{"type": "\xff"}'], "events.jsonl"))
    assert (caught.value.code, caught.value.where) == ("not-utf8", ("events.jsonl", 2, 11))


@pytest.mark.parametrize("step", [-1, 2**53, 10**23])
def test_a_step_that_no_database_can_store_is_refused(step: int) -> None:
    with pytest.raises(SlicebaseError) as caught:
        append(LogHead(RUN), EventDraft(type="PLAN_DONE", step=step), NOW)
    assert caught.value.code == "bad-event"


def links(events: tuple[Event, ...]) -> list[ChainLink]:
    return [event.link for event in events]


def test_a_complete_chain_has_no_break() -> None:
    assert list(check_chain(LogHead(RUN), links(log(*FULL)))) == []


def test_the_rest_of_a_chain_is_checked_from_its_head() -> None:
    events = log(*FULL)
    head = LogHead(RUN, events[4].seq, events[4].hash)
    assert list(check_chain(head, links(events[5:]))) == []
    assert [broken.field for broken in check_chain(head, links(events[6:]))] == ["seq"]


OTHER: dict[str, Any] = {
    "run_id": "run-2",
    "type": "OTHER",
    "step": 77,
    "time": "2031-01-01T00:00:00.000Z",
    "payload": {"other": True},
    "prev": digest_of("other"),
    "hash": digest_of("other"),
    "seq": 99,
}


@settings(max_examples=100, deadline=None)
@given(place=st.integers(0, len(FULL)), field=st.sampled_from(sorted(OTHER)))
def test_one_changed_value_is_found_at_its_place_and_nowhere_else(place: int, field: str) -> None:
    events = list(log(*FULL))
    events[place] = msgspec.structs.replace(events[place], **{field: OTHER[field]})
    found = list(check_chain(LogHead(RUN), links(tuple(events))))
    assert found[0].seq == place + 1
    # A wrong number also makes the next number wrong; every other value is reported once.
    assert len(found) == (2 if field == "seq" and place < len(FULL) else 1)


@given(place=st.integers(0, len(FULL) - 1))
def test_a_missing_event_is_found_where_it_is_missing(place: int) -> None:
    events = log(*FULL)
    (broken,) = check_chain(LogHead(RUN), links(events[:place] + events[place + 1 :]))
    assert (broken.seq, broken.field) == (place + 1, "seq")


def test_a_chain_rewritten_from_some_place_has_no_break_but_another_head() -> None:
    """Why `tt seal` exists: a chain alone does not show that its end was rewritten."""
    first, head = append_all(LogHead(RUN), FULL, NOW)
    second, other = append_all(LogHead(RUN), [EventDraft(type="X"), *FULL[1:]], NOW)
    assert list(check_chain(LogHead(RUN), links(tuple(second)))) == []
    assert head.hash != other.hash
    assert first[0].hash != second[0].hash
