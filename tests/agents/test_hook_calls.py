"""A call of a hook is read in the form of its client."""

import pytest

from slicebase.agents.hook_calls import hook_call


@pytest.mark.parametrize(
    ("given", "prompt"),
    [
        ("What is left?", "What is left?"),
        ("<hook_context># Files\n</hook_context>\n\nWhat is left?", "What is left?"),
        ("Why <hook_context> here</hook_context>?", "Why <hook_context> here</hook_context>?"),
        ("<hook_context>only</hook_context>", None),
        (" ", None),
        (7, None),
    ],
)
def test_a_prompt_is_what_the_user_wrote(given: object, prompt: str | None) -> None:
    """Gemini CLI puts what the hook of the session's start has added before it."""
    assert hook_call("BeforeAgent", {"session_id": "s", "prompt": given}, "gemini").prompt == prompt


@pytest.mark.parametrize("path", ["", "/tmp/a\0b", 7, None])
def test_a_path_that_no_file_can_have_names_no_transcript(path: object) -> None:
    assert hook_call("SessionEnd", {"session_id": "s", "transcript_path": path}).transcript is None


def test_the_home_of_a_user_that_does_not_exist_is_no_error() -> None:
    """It is a path as it stands, which leads nowhere."""
    call = hook_call("SessionEnd", {"session_id": "s", "transcript_path": "~nobody there/a.jsonl"})
    assert str(call.transcript) == "~nobody there/a.jsonl"
