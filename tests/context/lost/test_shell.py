"""Shell commands: what was run, and how it ended."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slicebase.context.lost.shell import exit_code, how_tests_ended, simple_commands


@pytest.mark.parametrize(
    ("command", "simple"),
    [
        ("cd /repo && pytest -q 2>&1 | tail -30", ("pytest -q",)),
        ("git add -A; git commit -m 'a; b && c | d'", ("git add -A", "git commit -m 'a; b && c | d'")),
        ("DEBUG=1 make  build > /dev/null", ("make build",)),
        ("for i in 1 2; do pytest x || break; done", ("pytest x",)),
        ("python - <<'E'\nprint(1)\nE", ("python -",)),
        (
            "gh pr create --body \"$(cat <<'E'\npytest tests/a.py\nE\n)\" && ls",
            ("gh pr create --body \"$(cat <<'E' )\"", "ls"),
        ),
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
    assert how_tests_ended(output) == ended


def test_a_long_word_is_read_once() -> None:
    """Its time was the square of its length: 18 seconds for a word of 30,000 characters."""
    for word in ("a" * 200_000, "_" * 200_000):
        assert simple_commands(word) == (word,)
    assert simple_commands("a=" * 100_000) == simple_commands("a='" * 100_000) == ()


def test_only_whole_words_are_left_out_before_a_command() -> None:
    assert simple_commands("A=1 B=2 undo it") == ("undo it",)
    assert simple_commands("filter='.a | .b'\nA='x y' gh api z | jq \"$filter\"") == ("gh api z",)
    assert simple_commands("gh api x -f query='a { b' { c") == ("gh api x -f query='a { b' { c",)
