"""Turns in one line."""

from typing import Any

import pytest

from slicebase.graph.brief import LONGEST_BRIEF, brief, brief_call, one_line
from slicebase.graph.turn import Part


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"description": "list", "command": "ls -l"}, "Bash ls -l"),
        ({"command": ["git", "log"]}, "Bash git log"),
        ({"number": 3, "word": "x"}, "Bash x"),
        ("echo 1\necho 2", "Bash echo 1 echo 2"),
        ({}, "Bash"),
        (None, "Bash"),
    ],
)
def test_a_call_is_its_name_and_the_argument_that_says_most(arguments: Any, told: str) -> None:
    assert brief_call("Bash", arguments) == told


def test_what_is_said_comes_before_calls_and_thoughts() -> None:
    thought, call, said = (
        Part("thinking", text="hm"),
        Part("tool_call", name="Read", arguments={}),
        Part("text", text="I look."),
    )
    assert brief([thought, call, said]) == "I look."
    assert brief([thought, call]) == "Read"
    assert brief([thought]) == "hm"
    assert brief([Part("text", text="x", hidden=True)]) == ""


def test_a_long_text_is_cut() -> None:
    assert len(one_line("word " * 1000)) == LONGEST_BRIEF
    assert one_line("a\n\n b") == "a b"
