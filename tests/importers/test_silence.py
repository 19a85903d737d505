"""No record with text is counted as silent, in any format."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.importers.silence import holds_text, is_text, without_turn
from slicebase.importers.thread import Fault, NonTurn
from tests.importers.reading import jsonl, take
from tests.importers.test_claude_code import SESSION, record, uuid

TEXT = "words that a model may have read"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": {"b": [{"c": TEXT}]}}, True),
        ({"text": "continue"}, True),
        ({"parts": ["hi"]}, True),
        ({"x": "请继续"}, True),
        ({"x": "привет"}, True),
        ({"text": "  "}, False),
        ({"mode": "plan", "id": "0b1c", "at": "2026-01-01 10:00:00", "count": 3, "on": True, "no": None}, False),
        ({"cwd": "/Users/ann/My Project", "branch": "feature/x"}, False),
        ({"x": "/compact now please"}, True),
        ({"image": "QUJD" * 9000}, False),
        ([], False),
    ],
    ids=str,
)
def test_text_is_told_from_names_ids_times_and_paths(value: Any, *, expected: bool) -> None:
    assert holds_text(value) is expected


@given(st.text(max_size=40))
def test_any_string_is_text_or_not(text: str) -> None:
    assert is_text(f"some words and {text}")
    assert holds_text({"content": text}) is bool(text.strip())


def test_a_record_with_text_is_silent_only_if_its_kind_is_known_to_be() -> None:
    assert without_turn("note", {"text": TEXT}, {"note"}) == NonTurn("note")
    assert without_turn("note", {"at": 3}, source_id="a", parent="b") == NonTurn("note", "a", "b")
    assert without_turn("note", {"text": TEXT}) == Fault("unknown-record", "note")


def session(**changes: Any) -> dict[str, Any]:
    return {"type": "progress", "sessionId": SESSION, "uuid": uuid(9), "parentUuid": uuid(1), **changes}


# Records of which no importer reads the text. They are named by their format.
UNREAD: list[tuple[str, str, Any]] = [
    ("claude-code", "s.jsonl", session(data={"type": "news_progress", "message": TEXT})),
    ("claude-code", "s.jsonl", session(data={"type": "agent_progress", "agentId": "a", "normalizedMessages": [TEXT]})),
    ("claude-code", "s.jsonl", session(type="system", subtype="news", body=TEXT)),
    ("claude-code", "s.jsonl", session(type="attachment", attachment=TEXT)),
    ("claude-code", "s.jsonl", session(type="news", headline=TEXT)),
    ("codex", "rollout-1.jsonl", {"type": "event_msg", "payload": {"type": "news", "headline": TEXT}}),
    ("codex", "rollout-1.jsonl", {"type": "news", "payload": {"headline": TEXT}}),
    ("codex", "rollout-1.jsonl", {"type": "response_item", "payload": {"type": "news", "headline": TEXT}}),
    ("gemini", "g.jsonl", {"$set": {"headline": TEXT}}),
    ("gemini", "g.jsonl", {"sessionId": "g", "headline": TEXT}),
    ("gemini", "g.jsonl", {"headline": TEXT}),
    ("messages", "m.jsonl", {"headline": TEXT}),
    ("chatgpt", "c.jsonl", {"headline": TEXT}),
    ("claude", "c.jsonl", {"headline": TEXT}),
    ("opencode", "o.jsonl", {"headline": TEXT}),
    ("swe-agent", "s.jsonl", {"headline": TEXT}),
]
SOUND: dict[str, list[Any]] = {
    "claude-code": [record(1, None)],
    "codex": [{"type": "session_meta", "payload": {"id": "s"}}],
    "gemini": [{"sessionId": "g", "projectHash": "h"}],
    "messages": [{"role": "user", "content": "hi"}],
    "chatgpt": [{"mapping": {"a": {"id": "a", "parent": None, "children": []}}}],
    "claude": [{"uuid": uuid(5), "chat_messages": []}],
    "opencode": [{"info": {"id": "ses_1"}, "messages": []}],
    "swe-agent": [{"trajectory": [{"action": "ls", "observation": ""}], "history": []}],
}


@pytest.mark.parametrize(("kind", "name", "unread"), UNREAD, ids=lambda each: json.dumps(each)[:60])
def test_text_that_is_not_read_is_left_out_with_its_place(kind: str, name: str, unread: Any) -> None:
    taken = take((name, jsonl([*SOUND[kind], unread])))
    before = take((name, jsonl(SOUND[kind])))
    assert {batch.session.format for batch in taken.batches if batch.session} <= {kind}
    assert taken.report.content_left_out - before.report.content_left_out == 1
    assert taken.report.others == before.report.others
    assert any(note.lost and "2" in note.where.replace("[1]", ":2") for note in taken.report.notes)


@settings(max_examples=60)
@given(
    st.sampled_from(UNREAD),
    st.dictionaries(st.sampled_from(["id", "at", "mode", "n"]), st.sampled_from(["a-1", "x", 3, None]), max_size=3),
)
def test_the_same_without_text_costs_nothing(unread: tuple[str, str, Any], more: dict[str, Any]) -> None:
    kind, name, value = unread
    silent = json.loads(json.dumps(value).replace(TEXT, ""))
    taken = take((name, jsonl([*SOUND[kind], {**more, **silent}])))
    assert taken.report.content_left_out == take((name, jsonl(SOUND[kind]))).report.content_left_out
