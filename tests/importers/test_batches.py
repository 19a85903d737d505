"""The model that answered last is a fact of a session, and so is the branch where the source names one."""

import json
from typing import Any

import pytest

from tests.importers.reading import jsonl, take

UUID = "0f3a0000-0000-4000-8000-00000000000{}"


def claude_code(*models: str) -> bytes:
    return jsonl(
        [
            {
                "type": "assistant",
                "uuid": UUID.format(at),
                "parentUuid": UUID.format(at - 1) if at else None,
                "sessionId": "s",
                "timestamp": f"2026-01-01T00:00:0{at}.000Z",
                "message": {"role": "assistant", "model": model, "content": f"Answer {at}."},
            }
            for at, model in enumerate(models)
        ]
    )


def codex(*models: str) -> bytes:
    spoken = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]}
    records: list[dict[str, Any]] = [
        {"type": "session_meta", "payload": {"id": "s", "git": {"branch": "fix"}}},
        {"type": "response_item", "timestamp": "2026-01-01T00:00:00Z", "payload": spoken},
    ]
    return jsonl([*records, *({"type": "turn_context", "payload": {"model": model}} for model in models)])


def gemini(*models: str) -> bytes:
    messages = [{"id": f"m{at}", "type": "gemini", "content": "Yes.", "model": each} for at, each in enumerate(models)]
    return json.dumps({"sessionId": "s", "projectHash": "abc", "messages": messages}).encode()


def chatgpt(*models: str) -> bytes:
    mapping: dict[str, Any] = {
        f"n{at}": {
            "id": f"n{at}",
            "parent": f"n{at - 1}" if at else None,
            "children": [],
            "message": {
                "id": f"n{at}",
                "author": {"role": "assistant"},
                "content": {"content_type": "text", "parts": ["Yes."]},
                "metadata": {"model_slug": model},
            },
        }
        for at, model in enumerate(models)
    }
    return json.dumps([{"conversation_id": "s", "title": "T", "mapping": mapping, "create_time": 1}]).encode()


@pytest.mark.parametrize(
    ("name", "write"),
    [("s.jsonl", claude_code), ("rollout-s.jsonl", codex), ("s.json", gemini), ("conversations.json", chatgpt)],
)
def test_the_model_that_answered_last_is_kept(name: str, write: Any) -> None:
    (session,) = take((name, write("older-1", "newer-2"))).sessions.values()
    assert session.facts["model"] == "newer-2"
    assert session.facts.get("git_branch") == ("fix" if write is codex else None)


def test_a_message_of_the_client_has_no_model() -> None:
    (session,) = take(("s.jsonl", claude_code("real-1", "<synthetic>"))).sessions.values()
    assert session.facts["model"] == "real-1"
