"""Claude's account export. The expected numbers were counted by hand."""

import json
from typing import Any

from slicebase.importers.claude import NO_PARENT
from tests.importers.reading import take, texts, without


def uuid(number: int) -> str:
    return f"10000000-0000-4000-8000-{number:012}"


def message(number: int, parent: int | None, sender: str = "human", text: str = "hello", **more: Any) -> dict[str, Any]:
    return {
        "uuid": uuid(number),
        "sender": sender,
        "text": text,
        "content": [{"type": "text", "text": text}],
        "created_at": f"2025-05-01T08:00:{number:02}.123456Z",
        "parent_message_uuid": NO_PARENT if parent is None else uuid(parent),
        **more,
    }


def export(*messages: Any, **more: Any) -> tuple[str, bytes]:
    conversation = {
        "uuid": "conv",
        "name": "Bread",
        "created_at": "2025-05-01T08:00:00Z",
        "chat_messages": list(messages),
    }
    return "conversations.json", json.dumps([{**conversation, **more}]).encode()


def test_parents_give_branches() -> None:
    taken = take(export(message(1, None), message(2, 1, "assistant"), message(3, 1, "assistant")))
    assert taken.edges == [(uuid(1), uuid(2), "reply"), (uuid(1), uuid(3), "branch")]
    assert [turn.role for turn in taken.turns] == ["user", "assistant", "assistant"]
    assert taken.sessions["conv"].title == "Bread"


def test_older_exports_are_chains_and_give_the_same_turns() -> None:
    messages = [message(1, None), message(2, 1, "assistant"), message(3, 2)]
    newer = take(export(*messages))
    older = take(export(*(without(each, "parent_message_uuid") for each in messages)))
    assert older.edges == newer.edges
    assert [turn.source_hash for turn in older.turns] == [turn.source_hash for turn in newer.turns]


def test_attachments_are_text_and_files_a_pointer() -> None:
    attachments = [{"file_name": "a.txt", "file_type": "txt", "extracted_content": "inside"}]
    files = [{"file_name": "b.png", "file_kind": "image", "file_uuid": "f-1"}]
    taken = take(export(message(1, None, attachments=attachments, files=files)))
    assert [(part.type, part.text, part.name, part.uri) for part in taken.turns[0].parts] == [
        ("text", "hello", None, None), ("text", "inside", "a.txt", None), ("pointer", None, "b.png", "f-1"),
    ]  # fmt: skip
    assert taken.reasons() == {"media": 1}


def test_thinking_tools_and_searches_are_parts() -> None:
    content = [
        {"type": "thinking", "thinking": "Let me search"},
        {"type": "tool_use", "id": None, "name": "web_search", "input": {"query": "rye"}},
        {"type": "tool_result", "name": "web_search", "content": [
            {"type": "knowledge", "title": "Rye", "url": "https://example.org", "text": "A grass"}], "is_error": False},
        {"type": "token_budget"},
        {"type": "text", "text": "A grass."},
    ]  # fmt: skip
    taken = take(export(message(1, None, "assistant", content=content)))
    assert [part.type for part in taken.turns[0].parts] == ["thinking", "tool_call", "tool_result", "pointer", "text"]
    assert texts(taken.turns[0])[2] == "Rye\nA grass"
    assert not taken.report.reasons


def test_a_message_without_blocks_has_its_text() -> None:
    assert texts(take(export(message(1, None, text="plain", content=[]))).turns[0]) == ["plain"]


def test_odd_messages_do_not_affect_the_others() -> None:
    taken = take(
        export(message(1, None), "what?", {"uuid": uuid(2), "parent_message_uuid": uuid(1)}, message(3, 2, "bot"))
    )
    assert taken.edges == [(uuid(1), uuid(3), "reply")]
    assert taken.reasons() == {"not-object": 1, "no-message": 1, "unknown-role": 1}
    assert taken.turns[1].role == "system"
    assert taken.report.content_left_out == 1  # the second has no text
