"""Shell commands: what was run, whether it was a test, and how it ended."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.context.lost_shell import (
    command_class,
    command_in,
    exit_code,
    how_tests_ended,
    needed_lines,
    simple_commands,
)


@pytest.mark.parametrize(
    ("name", "arguments", "command"),
    [
        ("Bash", {"command": "ls -l"}, "ls -l"),
        ("shell", {"command": ["bash", "-lc", "make test"]}, "make test"),
        ("shell", {"command": ["ls", "-l"]}, "ls -l"),
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


@pytest.mark.parametrize(
    ("command", "simple"),
    [
        ("cd /repo && pytest -q 2>&1 | tail -30", ("pytest -q",)),
        ("git add -A; git commit -m 'a; b && c | d'", ("git add -A", "git commit -m 'a; b && c | d'")),
        ("DEBUG=1 make  build > /dev/null", ("make build",)),
        ("for i in 1 2; do pytest x || break; done", ("pytest x",)),
        ("python - <<'E'\nprint(1)\nE", ("python -",)),
        ("echo done", ()),
        ("", ()),
    ],
)
def test_the_simple_commands_of_a_command(command: str, simple: tuple[str, ...]) -> None:
    assert simple_commands(command) == simple


@given(st.text(alphabet=st.sampled_from("ab '\"\\;|&<>\n$()#1"), max_size=40))
def test_any_text_has_an_essence(command: str) -> None:
    assert all(each == each.strip() and each for each in simple_commands(command))


@pytest.mark.parametrize(
    ("what", "commands"),
    [
        ("test", ["pytest -q", "uv run pytest", ".venv/bin/python -m pytest x", "go test ./...", "npm run test:unit",
                  "make test", "mise run test:ci", "timeout 60 cargo test --all", "npx jest", "A=1 tox"]),
        ("build", ["make build", "go build -o /tmp/x ./cmd", "npm run build", "cargo build --release", "make"]),
        ("check", ["mise run lint", "ruff check .", "npm run typecheck", "mypy"]),
        ("deploy", ["kubectl apply -f x.yaml", "ssh staging true"]),
        ("call", ["gh api repos/a/b/pulls/1/comments", "bash tools/run.sh setup", "python tools/load.py --users 5"]),
        (None, ["pip install pytest", "git diff tests/", "cat test.py", "ls", "git status", "python -c 'print(1)'"]),
    ],
)  # fmt: skip
def test_what_a_command_is_needed_again_for(what: str | None, commands: list[str]) -> None:
    assert [command_class(simple_commands(each)) for each in commands] == [what] * len(commands)


def test_of_a_script_only_the_lines_that_are_needed_again_are_kept() -> None:
    assert needed_lines("cd /repo && make test 2>&1") == "cd /repo && make test 2>&1"
    assert needed_lines("rm -rf x\ngit clone a b 2>&1\n\n# count\nls | wc -l") == "git clone a b 2>&1"


@pytest.mark.parametrize(
    ("output", "code"),
    [
        ("Exit code 2\nno", 2),
        ("Process exited with code 0\nfine", 0),
        ("fine", None),
        ("x" * 400 + "exit code 1", None),
    ],
)
def test_the_exit_code_is_at_the_beginning(output: str, code: int | None) -> None:
    assert exit_code(output) == code


@pytest.mark.parametrize(
    ("output", "ended"),
    [
        ("....\n=== 41 passed in 2.1s ===", "ok"),
        ("F.\nFAILED t.py::test_a - x\n1 failed, 2 passed", "failed"),
        ("ok  \tshop/a\t0.1s\nok  \tshop/b\t0.2s", "ok"),
        ("--- FAIL: TestA (0.00s)\nFAIL", "failed"),
        ("0 failed, 3 passed", "ok"),
    ],
)
def test_results_of_test_runs(output: str, ended: str) -> None:
    assert how_tests_ended(output, error=False) == ended


def test_a_run_that_the_tool_reports_as_failed_has_failed() -> None:
    assert how_tests_ended("", error=True) == "failed"


def test_a_long_word_is_read_once() -> None:
    """Its time was the square of its length: 18 seconds for a word of 30,000 characters."""
    for word in ("a" * 200_000, "_" * 200_000, "a=" * 100_000):
        assert simple_commands(word) == (word,)


def test_only_whole_words_are_left_out_before_a_command() -> None:
    assert simple_commands("A=1 B=2 undo it") == ("undo it",)


def test_a_line_that_is_continued_is_one_command() -> None:
    assert command_in("Bash", {"command": "\\\nA=1 \\\nmake test"}) == "A=1   make test"
