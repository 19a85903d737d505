"""Messages of pydantic-ai are turns with what people, the model and tools said. docs/adapters.md tells of them."""

from typing import Any

from slicebase.importers.model_messages import message_content

SYSTEM = {"part_kind": "system-prompt", "content": "Be brief."}
RESULT = {"part_kind": "tool-return", "tool_name": "read", "tool_call_id": "c1", "content": {"n": 1}}
IMAGE = {"kind": "binary", "media_type": "image/png", "data": "YWJj", "identifier": "a9"}


def read(kind: str, *parts: dict[str, Any]) -> tuple[str, list[tuple[str, str | None]]]:
    role, found = message_content({"kind": kind, "parts": list(parts)})
    return role, [(part.type, part.text) for part in found]


def test_a_request_has_the_role_of_who_speaks_in_it() -> None:
    prompt = {"part_kind": "user-prompt", "content": "Why?"}
    assert read("request", SYSTEM, prompt) == ("user", [("text", "Why?")])
    assert read("request", RESULT, SYSTEM) == ("tool", [("tool_result", '{"n":1}')])
    assert read("request", RESULT, prompt)[0] == "user"
    assert read("request", SYSTEM) == ("system", [("text", "Be brief.")])
    assert read("request", {"part_kind": "instruction-baseline", "instructions": []}) == ("system", [])


def test_what_a_program_added_to_a_prompt_is_not_what_a_person_said() -> None:
    added = {"kind": "text-content", "content": "Lost: billing.py", "metadata": {"slicebase": "mf_1"}}
    said = {"kind": "text-content", "content": "Why?", "metadata": {"other": 1}}
    prompt = {"part_kind": "user-prompt", "content": ["Hello", said, added, {"kind": "cache-point"}, IMAGE]}
    assert read("request", prompt) == ("user", [("text", "Hello"), ("text", "Why?"), ("pointer", None)])


def test_a_response_has_the_calls_of_the_model() -> None:
    call = {"part_kind": "tool-call", "tool_name": "read", "tool_call_id": "c1", "args": '{"path": "a.py"}'}
    text, speech = {"part_kind": "text", "content": "I look."}, {"part_kind": "speech", "transcript": "Oh."}
    file = {"part_kind": "file", "content": IMAGE}
    role, (said, called, drawn, spoken) = message_content({"kind": "response", "parts": [text, call, file, speech]})
    assert (role, said.text, drawn.type, spoken.text) == ("assistant", "I look.", "pointer", "Oh.")
    assert (called.name, called.arguments, called.call_id) == ("read", {"path": "a.py"}, "c1")


def test_a_failed_result_is_an_error_and_media_in_it_are_pointers() -> None:
    _, (result, image) = message_content(
        {"kind": "request", "parts": [{**RESULT, "content": ["seen", IMAGE], "outcome": "failed"}]}
    )
    assert (result.text, result.error, image.type, image.call_id) == ('["seen"]', True, "pointer", "c1")


def test_a_compaction_is_a_summary_also_one_that_cannot_be_read() -> None:
    for part in ({"content": "We talked."}, {"content": None, "provider_details": {"encrypted_content": "x"}}):
        role, (summary,) = message_content({"kind": "request", "parts": [{"part_kind": "compaction", **part}]})
        assert (role, summary.summary, summary.text) == ("system", True, part["content"])


def test_anything_else_in_a_message_is_no_error() -> None:
    parts: list[Any] = [
        [],
        ["text"],
        [{}],
        [{"part_kind": 7}],
        [{"part_kind": "user-prompt"}],
        [{"part_kind": "file"}],
        None,
    ]
    for odd in parts:
        assert message_content({"kind": "request", "parts": odd})[0] in ("system", "user")
    assert read("request", {"part_kind": "unheard", "x": 1}) == ("system", [("text", '{"part_kind":"unheard","x":1}')])
