"""The time line of a run: bars of all events, and events by step, each in one line."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.runs.event import TYPES
from slicebase.runs.timeline import (
    FAMILIES,
    HEIGHT,
    MOST_BARS,
    WIDTH,
    EventLine,
    bar_size,
    bars,
    event_line,
    family_of,
    said,
    steps_of,
)

NOW = "2026-01-01T00:00:00.000Z"
TYPE = st.sampled_from([*TYPES, "NOTE"])


def counted(types: list[str]) -> list[tuple[int, str, int]]:
    """Counts types in parts, as the database does."""
    size = bar_size(len(types))
    found: dict[tuple[int, str], int] = {}
    for place, name in enumerate(types):
        found[place // size, name] = found.get((place // size, name), 0) + 1
    return [(part, name, count) for (part, name), count in found.items()]


@given(st.lists(TYPE, min_size=1, max_size=900))
def test_bars_hold_every_event_once_and_fill_the_width(types: list[str]) -> None:
    drawn = bars(len(types), counted(types))
    assert len(drawn) <= MOST_BARS
    assert [bar.first for bar in drawn] == [1, *(bar.last + 1 for bar in drawn[:-1])]
    assert drawn[-1].last == len(types)
    assert sum(each.count for bar in drawn for each in bar.segments) == len(types)
    assert abs(sum(bar.width for bar in drawn) - WIDTH) < 1


@given(st.lists(TYPE, min_size=1, max_size=900))
def test_a_full_bar_has_the_height_of_the_drawing_and_its_segments_follow_each_other(types: list[str]) -> None:
    first = bars(len(types), counted(types))[0]
    assert abs(sum(each.height for each in first.segments) - HEIGHT) < 0.1
    tops = [each.y for each in first.segments]
    assert tops == sorted(tops, reverse=True)


def test_a_run_of_a_million_events_has_no_more_bars_than_others() -> None:
    assert -(-1_000_000 // bar_size(1_000_000)) <= MOST_BARS
    assert bar_size(1) == 1
    assert bar_size(0) == 1


def test_every_type_of_event_has_a_family_and_unknown_ones_have_the_same() -> None:
    assert set(FAMILIES) <= set(TYPES)
    assert {family_of(name) for name in TYPES if name not in FAMILIES} == {"other"}
    assert family_of("ANYTHING") == "other"


def line(seq: int, type_: str = "PLAN_DONE") -> EventLine:
    return event_line(seq, type_, NOW, {})


def test_events_of_a_step_are_together_and_those_without_one_stay_with_it() -> None:
    given_lines = [(line(1, "RUN_STARTED"), None), (line(2), 1), (line(3, "CLAIM"), None), (line(4), 2), (line(5), 2)]
    found = [(each.step, [event.seq for event in each.events]) for each in steps_of(given_lines)]
    assert found == [(None, [1]), (1, [2, 3]), (2, [4, 5])]


def test_a_snapshot_stands_alone_also_in_the_middle_of_a_step() -> None:
    given_lines = [(line(1), 1), (line(2, "SNAPSHOT"), None), (line(3), 1)]
    assert [(each.step, len(each.events)) for each in steps_of(given_lines)] == [(1, 1), (None, 1), (1, 1)]


@given(st.lists(st.tuples(TYPE, st.none() | st.integers(0, 3))))
def test_steps_hold_every_event_once_in_order(drawn: list[tuple[str, int | None]]) -> None:
    lines = [(line(seq, name), step) for seq, (name, step) in enumerate(drawn, 1)]
    assert [event.seq for each in steps_of(lines) for event in each.events] == list(range(1, len(drawn) + 1))


@pytest.mark.parametrize(
    ("type_", "payload", "words"),
    [
        ("ACT_DONE", {"tool": "Bash", "text": "make\n  test"}, "Bash · make test"),
        ("CLAIM", {"claim_id": "c1", "statement": "It is so.", "status": "verified"}, "c1 · It is so."),
        ("CLAIM", {"claim_id": "c1", "status": "retracted"}, "c1"),
        ("FAILURE", {"failure_id": "f1", "category": "test", "where": "a.py", "why": "1"}, "f1 · test · a.py · 1"),
        ("OBSERVE_DONE", {"text": {"blob": "sha256:0", "bytes": 9, "head": "begins"}}, "begins…"),
        ("SOURCE", {"source_ids": ["session:s"], "chunk_ids": ["turn:a", "turn:b"]}, "1 source, 2 chunks"),
        ("SOURCE", {"chunk_ids": 5}, "1 chunk"),
        ("NOTE", {"a": [1, 2]}, '{"a":[1,2]}'),
        ("STEP_BEGUN", {"watched": True}, ""),
        ("PLAN_DONE", {}, ""),
    ],
)
def test_an_event_is_told_in_one_line(type_: str, payload: dict[str, Any], words: str) -> None:
    assert event_line(1, type_, NOW, payload).text == words


def test_a_long_event_is_cut_and_a_purged_one_says_nothing() -> None:
    assert len(event_line(1, "PLAN_DONE", NOW, {"text": "word " * 10_000}).text) == 240
    gone = event_line(1, "PLAN_DONE", NOW, None)
    assert (gone.text, gone.is_purged) == ("", True)


@given(TYPE, st.dictionaries(st.text(max_size=8), st.recursive(st.none() | st.booleans() | st.text(), st.lists)))
def test_any_payload_can_be_told(type_: str, payload: dict[str, Any]) -> None:
    assert isinstance(said(type_, payload), str)
    assert "\n" not in event_line(1, type_, NOW, payload).text


def test_an_event_whose_source_states_no_time_has_none() -> None:
    assert event_line(1, "NOTE", "1970-01-01T00:00:00.000Z", {"text": "a"}).time is None
    assert event_line(1, "NOTE", "2026-01-01T00:00:00.000Z", {"text": "a"}).time == "2026-01-01T00:00:00.000Z"
