"""The tools of agents: the command that a call runs, and the files that it changes."""

from typing import Any

import pytest

from slicebase.context.lost.tools import command_in, file_changes
from slicebase.graph.turn import Part


@pytest.mark.parametrize(
    ("name", "arguments", "command"),
    [
        ("Bash", {"command": "ls -l"}, "ls -l"),
        ("shell", {"command": ["bash", "-lc", "make test"]}, "make test"),
        ("shell", {"command": ["ls", "-l"]}, "ls -l"),
        ("Bash", {"command": "sudo timeout 9 bash -c 'cd a && make \"b\"'"}, 'cd a && make "b"'),
        ("Bash", {"command": 'sh -c "make \\"b\\""'}, 'make "b"'),
        ("Bash", {"command": "bash -c 'make' && ls"}, "bash -c 'make' && ls"),
        ("exec_command", {"cmd": "ls"}, "ls"),
        ("run_shell_command", {"command": " ls "}, "ls"),
        ("Bash", {"command": ""}, None),
        ("Bash", {"command": 3}, None),
        ("Bash", None, None),
        ("Read", {"command": "ls"}, None),
        (None, {}, None),
    ],
)
def test_the_command_is_read_from_the_arguments_of_each_tool(
    name: str | None, arguments: Any, command: str | None
) -> None:
    assert command_in(name, arguments) == command


def test_a_line_that_is_continued_is_one_command() -> None:
    assert command_in("Bash", {"command": "\\\nA=1 \\\nmake test"}) == "A=1   make test"


PATCH = (
    "*** Begin Patch\n*** Add File: new.py\n+x\n*** Update File: old.py\n@@\n*** Delete File: gone.py\n*** End Patch"
)
PATCHED = [("new.py", "created"), ("old.py", "changed"), ("gone.py", "removed")]


@pytest.mark.parametrize(
    ("name", "arguments", "result", "changes"),
    [
        ("Write", {"file_path": "/a.py", "content": "x"}, "File created successfully", [("/a.py", "created")]),
        ("Write", {"file_path": "/a.py", "content": "x"}, "The file has been updated.", [("/a.py", "changed")]),
        ("Edit", {"file_path": "/a.py"}, "ok", [("/a.py", "changed")]),
        ("apply_patch", PATCH, "", PATCHED),
        ("shell", {"command": ["apply_patch", PATCH]}, "", PATCHED),
        ("Read", {"file_path": "/a.py"}, "x", []),
    ],
)  # fmt: skip
def test_the_files_that_a_call_changes(name: str, arguments: Any, result: str, changes: list[tuple[str, str]]) -> None:
    assert file_changes(Part("tool_call", name=name, arguments=arguments), result) == changes
