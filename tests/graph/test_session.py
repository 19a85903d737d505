"""A session says how to go on with it, in the words of the client that held it."""

import pytest

from slicebase.graph.session import resume_command
from slicebase.graph.turn import Session

ID = "0f9a1c55-7c11-4e0b-9d55-0a5f3f2b7c10"


@pytest.mark.parametrize(
    ("format_name", "session", "command"),
    [
        ("claude-code", ID, f"claude --resume {ID}"),
        ("claude-code", f"{ID}#agent-a1", f"claude --resume {ID}"),
        ("codex", ID, f"codex resume {ID}"),
        ("gemini", ID, f"gemini --resume {ID}"),
        ("opencode", "ses_5f3aB", "opencode --session ses_5f3aB"),
        ("gemini", "session-2026-01-16T18-34", ""),
        ("opencode", "ses_1; rm -rf ~", ""),
        ("claude-code", f"{ID}\n", ""),
        ("chatgpt", ID, ""),
    ],
)
def test_a_session_is_resumed_by_the_command_of_its_client(format_name: str, session: str, command: str) -> None:
    assert resume_command(Session(session, format_name)) == command


def test_the_folder_of_a_session_is_quoted_for_the_shell() -> None:
    there = Session("ses_1", "opencode", facts={"cwd": "/home/me/my app; x"})
    assert resume_command(there) == "cd '/home/me/my app; x' && opencode --session ses_1"
