"""Everything that a model saw is a turn: attachments of every type, contexts of hooks, plans, and to-do lists."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slicebase.importers.attachments import UNSEEN
from slicebase.importers.claude_records import NO_TURNS
from tests.importers.reading import jsonl, take, without
from tests.importers.test_claude_code import SESSION, record, uuid

WORD = "zanzibar"

# One attachment of each shape that the client gives to the model, with the word where its text is.
SEEN: list[dict[str, Any]] = [
    {
        "type": "file",
        "filename": "/r/a.py",
        "content": {"type": "text", "file": {"filePath": "/r/a.py", "content": WORD}},
    },
    {"type": "directory", "path": "/r", "content": WORD, "displayPath": "r"},
    {"type": "edited_text_file", "filename": "/r/a.py", "snippet": f"1→{WORD}"},
    {"type": "compact_file_reference", "filename": f"/r/{WORD}.py"},
    {"type": "selected_lines_in_ide", "filename": "/r/a.py", "content": WORD, "lineStart": 1, "lineEnd": 2},
    {"type": "opened_file_in_ide", "filename": f"/r/{WORD}.py"},
    {"type": "plan_file_reference", "planFilePath": "/p.md", "planContent": f"# Plan\n{WORD}"},
    {
        "type": "todo_reminder",
        "content": [{"content": WORD, "status": "pending", "activeForm": "doing"}],
        "itemCount": 1,
    },
    {"type": "nested_memory", "path": "/r/CLAUDE.md", "content": {"path": "/r/CLAUDE.md", "content": WORD}},
    {"type": "invoked_skills", "skills": [{"name": "s", "path": "p", "content": WORD}]},
    {"type": "skill_listing", "content": WORD, "skillCount": 1},
    {"type": "hook_additional_context", "content": ["first", WORD], "hookName": "PreToolUse:Bash"},
    {"type": "hook_success", "hookEvent": "SessionStart", "content": WORD, "stdout": WORD, "exitCode": 0},
    {"type": "hook_blocking_error", "blockingError": {"blockingError": WORD, "command": "x"}},
    {"type": "hook_blocking_error", "hookName": "Stop", "blockingError": {"blockingError": "no", "command": WORD}},
    {"type": "hook_stopped_continuation", "message": "enough", "hookName": WORD},
    {"type": "async_hook_response", "response": {"hookSpecificOutput": {"additionalContext": WORD}}},
    {"type": "queued_command", "prompt": WORD, "commandMode": "prompt"},
    {"type": "queued_command", "prompt": [{"type": "text", "text": WORD}], "commandMode": "task-notification"},
    {"type": "diagnostics", "files": [{"uri": "file:///r/a.py", "diagnostics": [{"message": WORD}]}]},
    {"type": "teammate_mailbox", "messages": [{"from": "ann", "text": WORD}]},
    {"type": "agent_listing_delta", "addedLines": [WORD], "removedTypes": []},
    {"type": "an_attachment_of_next_year", "body": {"deep": [{"text": WORD}]}},
    {"type": "another", "id": WORD},
    {"type": "another", "data": WORD},
    {"type": "another", "command": {"stdout": WORD}},
    {"type": "another", "content": "c", "status": "s", "more": WORD},
]


def attachment(number: int, parent: int, content: Any) -> dict[str, Any]:
    return {**without(record(number, parent, "attachment"), "message"), "attachment": content}


@pytest.mark.parametrize("given", SEEN, ids=lambda given: given["type"])
def test_what_an_attachment_gave_to_the_model_is_a_turn(given: dict[str, Any]) -> None:
    taken = take(("s.jsonl", jsonl([record(1, None), attachment(2, 1, given), record(3, 2, "assistant")])))
    turn = taken.by_id[uuid(2)]
    assert WORD in "".join(part.text or "" for part in turn.parts)
    assert turn.role == ("user" if given.get("commandMode") == "prompt" else "system")
    assert taken.edges == [(uuid(1), uuid(2), "reply"), (uuid(2), uuid(3), "reply")]
    assert not taken.report.others


@pytest.mark.parametrize(
    "given",
    [
        {"type": "hook_non_blocking_error", "stderr": WORD},
        {"type": "hook_success", "hookEvent": "PostToolUse", "content": WORD},
        {"type": "command_permissions", "allowedTools": [WORD]},
        {"type": "token_usage", "used": 3, "total": 7},
        {"type": "hook_success", "hookEvent": "SessionStart", "content": "", "stdout": WORD},
    ],
    ids=lambda given: given["type"],
)
def test_an_attachment_that_no_model_saw_is_accounted_for_by_name(given: dict[str, Any]) -> None:
    taken = take(("s.jsonl", jsonl([record(1, None), attachment(2, 1, given), record(3, 2, "assistant")])))
    assert taken.report.others == {f"attachment/{given['type']}": 1}
    assert taken.edges == [(uuid(1), uuid(3), "reply")]


def test_an_image_in_an_attachment_is_a_pointer() -> None:
    image = {
        "type": "file",
        "filename": "a.png",
        "content": {"type": "image", "file": {"base64": "AAAA", "type": "image/png"}},
    }
    (_, turn) = take(("s.jsonl", jsonl([record(1, None), attachment(2, 1, image)]))).turns
    assert [part.type for part in turn.parts] == ["text", "pointer"]


@pytest.mark.parametrize(
    "field",
    [
        {"content": {"contents": [{"uri": "x", "mimeType": "text/plain", "blob": "QUJD"}]}},
        {"content": [{"type": "image/png", "data": "QUJD"}]},
        {"picture": "data:image/png;base64,QUJD"},
        {"signature": "QUJD" * 100},
    ],
    ids=lambda field: next(iter(field)),
)
@pytest.mark.parametrize("kind", ["mcp_resource", "an_attachment_of_next_year"])
def test_bytes_in_an_attachment_are_never_text(kind: str, field: dict[str, Any]) -> None:
    given = {"type": kind, **field}
    (_, turn) = take(("s.jsonl", jsonl([record(1, None), attachment(2, 1, given)]))).turns
    assert "QUJD" not in "".join(part.text or "" for part in turn.parts)
    assert [part.type for part in turn.parts][-1] == "pointer"


def test_a_context_that_a_hook_saved_and_a_plan_beside_a_message_are_kept() -> None:
    saved = {**without(record(2, 1, "saved_hook_context"), "message"), "content": [WORD], "hookEvent": "SessionStart"}
    taken = take(("s.jsonl", jsonl([record(1, None, planContent="the plan"), saved])))
    assert [part.text for turn in taken.turns for part in turn.parts] == ["hello", "the plan", WORD]


texts = st.text("abc xyz/", min_size=1, max_size=12).map(lambda text: text + WORD)
fields = st.sampled_from(
    [
        "content",
        "snippet",
        "text",
        "prompt",
        "planContent",
        "addedLines",
        "message",
        "skills",
        "new",
        "data",
        "id",
    ]
)
values = st.recursive(
    texts,
    lambda inner: st.lists(inner, min_size=1, max_size=2) | st.dictionaries(fields, inner, min_size=1, max_size=2),
    max_leaves=4,
)
kinds = st.sampled_from(["file", "todo", "plan_mode", "hook_additional_context", "mcp_resource", "task_status", "x"])
operations = st.sampled_from(["remove", "dequeue"])


@st.composite
def records_with_text(draw: st.DrawFn, number: int) -> list[dict[str, Any]]:
    """Draws records with a text that a model saw, in every place where a client puts one."""
    where = draw(st.sampled_from(["message", "attachment", "hook", "agent", "queue", "system", "replaced"]))
    bare = without(record(number, number - 1), "message")
    text = draw(texts)
    if where == "queue":  # a queued text with a slash is a command to the client
        text = text.lstrip(" /")
    if where == "attachment":
        return [
            {
                **bare,
                "type": "attachment",
                "attachment": {**draw(st.dictionaries(fields, values, min_size=1, max_size=3)), "type": draw(kinds)},
            }
        ]
    if where == "hook":
        return [{**bare, "type": "saved_hook_context", "content": [text]}]
    if where == "agent":
        inner = {"type": "user", "uuid": uuid(number + 500), "message": {"role": "user", "content": text}}
        said = draw(st.sampled_from([inner, {**inner, "type": "system", "message": None, "content": [text]}]))
        kind = draw(st.sampled_from(["agent_progress", "skill_progress"]))
        agent = draw(st.sampled_from([{"agentId": "a1"}, {}]))
        return [{**bare, "type": "progress", "parentToolUseID": "c1", "data": {"type": kind, **agent, "message": said}}]
    if where == "queue":
        queued = {"type": "queue-operation", "sessionId": SESSION, "timestamp": "2026-01-01T10:00:00.000Z"}
        taken = [{**queued, "operation": draw(operations)}]
        follows = [record(number, number - 1, "user", text)] if taken[0]["operation"] == "dequeue" else []
        return [{**queued, "operation": "enqueue", "content": text}, *taken, *follows]
    if where == "system":
        content = draw(st.sampled_from([text, [{"type": "text", "text": text}]]))
        return [{**bare, "type": "system", "subtype": "informational", "content": content}]
    if where == "replaced":
        replaced = {"kind": "tool-result", "toolUseId": "c1", "replacement": text}
        return [{"type": "content-replacement", "sessionId": SESSION, "replacements": [replaced]}]
    return [record(number, number - 1, "user", text)]


def strings(value: Any) -> list[str]:
    """Returns the texts with the word. What stands under `id` is a name."""
    if isinstance(value, str):
        return [value] if WORD in value else []
    if isinstance(value, dict):
        value = [each for key, each in value.items() if key != "id"]
    inner = value if isinstance(value, list) else ()
    return [text for each in inner for text in strings(each)]


@given(st.data(), st.integers(1, 5))
@settings(max_examples=60)
def test_no_record_with_text_that_a_model_saw_is_without_a_turn(data: st.DataObject, count: int) -> None:
    lines = [line for number in range(1, count + 1) for line in data.draw(records_with_text(number))]
    taken = take(("s.jsonl", jsonl(lines)))
    kept = "\n".join(part.text or "" for turn in taken.turns for part in turn.parts)
    for text in strings(lines):
        assert text.strip("\n") in kept
    assert taken.report.adds_up
    assert not taken.report.count("skipped")


def test_the_types_that_are_no_turns_are_names_of_records_and_not_of_messages() -> None:
    assert not NO_TURNS & {"user", "assistant", "attachment", "system"}
    assert not UNSEEN & {each["type"] for each in SEEN}


def test_copies_of_requests_and_states_of_the_client_are_counted_by_their_names() -> None:
    texts = [{"type": "text", "text": f"what other records say: {WORD}"}]
    asked = {"type": "api-request", "params": {"model": "m"}, "shapeHash": "h"}
    shape = {"type": "api-request-shape", "shape": {"system": texts, "tools": []}}
    blob = {"type": "api-request-blob", "hash": "h", "message": {"role": "user", "content": texts}}
    states = [{"type": "atis-latch", "atis": ""}, {"type": "cost-state", "totalCostUSD": 2.4}]
    own: list[dict[str, Any]] = [asked, shape, blob, *states, {"type": "tools-used", "tools": ["Bash"]}]
    taken = take(
        ("s.jsonl", jsonl([record(1, None, "user", "hello"), *({**each, "sessionId": SESSION} for each in own)]))
    )
    assert [part.text for turn in taken.turns for part in turn.parts] == ["hello"]
    assert not taken.report.count("skipped")
    assert taken.report.adds_up
