"""Shell commands in a transcript: what was run, whether it was a test, how it ended and what went wrong."""

import re
from collections.abc import Iterator
from typing import Any, Final, Literal

# Where a tool's arguments hold a shell command.
SHELLS: Final = frozenset(
    {"bash", "shell", "local_shell", "exec_command", "container.exec", "run_shell_command", "run_terminal_cmd"}
)
_KEYS: Final = ("command", "cmd")
_TRIVIAL: Final = re.compile(
    r"(?:cd|pushd|popd|export|set|unset|source|echo|printf|sleep|wait|true|false|clear|exit|break|done|fi|for|while|if)\b|\.\s|#"
)
_LEADING: Final = re.compile(r"(?:(?:do|then|else|!|\(|\{|[A-Za-z_]\w*=\S*)\s+)+")
_TOKEN: Final = re.compile(
    r"""(?P<quoted>'[^']*'|"(?:\\.|[^"\\])*"|\\.)"""
    r"|(?P<document><<.*\Z)"
    r"|(?P<redirected>(?:\d|&)?>{1,2}\s*(?:&\d|[^\s;|&]+))"
    r"|(?P<next>&&|\|\||[;\n])|(?P<pipe>\|&?)|(?P<background>&)|(?P<other>[^'\"\\<>;|&\n\d]+|.)",
    re.DOTALL,
)
_WRAPPER: Final = (
    r"(?:(?:\w+=\S*|sudo|time|env|timeout \S+|(?:uv|poetry|pipenv|hatch|pdm|rye) run|npx|bunx|pnpm exec|yarn exec|"
    r"bundle exec|\S*python3?(?:\.\d+)? -m)\s+)*(?:\S*/)?"
)
_TEST: Final = re.compile(
    _WRAPPER
    + r"(?:(?:pytest|py\.test|tox|nox|jest|vitest|mocha|ctest|rspec|phpunit|unittest|playwright test|cypress run)\b"
    r"|(?:go|cargo|npm|pnpm|yarn|bun|deno|dotnet|swift|mvn|gradlew?|make|just|task|mise|rake|mix|bazel|sbt|zig)"
    r"\s(?:.*\s)?(?:\w+:)?tests?\b)"
)
_EXIT: Final = re.compile(r"\bexit(?:ed with)? (?:code|status):? (\d+)", re.IGNORECASE)
_HEAD: Final = 300  # where a tool says how a command ended
_FAILED_TESTS: Final = re.compile(
    r"\b[1-9]\d* (?:failed|failures?|failing|errors?)\b|^(?:---\s)?FAIL(?:ED)?\b", re.MULTILINE
)
_RESULT_LINE: Final = re.compile(
    r"^.*\b\d+ (?:passed|failed|passing|failing|failures?|errors?)\b.*$"
    r"|^(?:test result:|Tests:|ok\b|FAIL\b|PASS\b|OK\b).*$",
    re.MULTILINE,
)
_FIGURES: Final = re.compile(r"\b\d+ (?:passed|failed|passing|failing|failures?|errors?)\b")
_FAILED_NAME: Final = re.compile(r"^(?:FAILED|--- FAIL:|FAIL:?|✕|×)\s+([\w./:\[\]-]+)", re.MULTILINE)

_RAISED: Final = re.compile(r"^(?:[\w.]*(?:Error|Exception)\b|FAILED |--- FAIL: ).*$", re.MULTILINE)
_LOCATED: Final = re.compile(r"^[\w./-]+:\d+(?::\d+)?: .+$", re.MULTILINE)
_FAILING: Final = re.compile(
    r"^.*\b(?:error|errors|exception|fail|failed|failure|fatal|cannot|can't|not found|no such|denied|undefined|panic|"
    r"refused|timed out|timeout|conflict|invalid)\b.*$",
    re.IGNORECASE | re.MULTILINE,
)

Ended = Literal["ok", "failed"]


def command_in(name: str | None, arguments: Any) -> str | None:
    """The command that a call runs in a shell."""
    if (name or "").lower() not in SHELLS:
        return None
    given = arguments
    if isinstance(arguments, dict):
        given = next((arguments[key] for key in _KEYS if arguments.get(key)), None)
    if isinstance(given, list) and all(isinstance(word, str) for word in given):
        # `bash -lc "…"`
        given = (
            given[-1] if len(given) == 3 and given[1].startswith("-") and given[1].endswith("c") else " ".join(given)
        )
    return given.strip() or None if isinstance(given, str) else None


def essence(command: str) -> tuple[str, ...]:
    """The simple commands that do the work: of each pipeline the first, without redirections, `cd`, `echo` and such."""
    return tuple(
        plain for segment in _segments(command) if (plain := _LEADING.sub("", segment)) and not _TRIVIAL.match(plain)
    )


def _segments(command: str) -> Iterator[str]:
    words: list[str] = []
    in_pipe = False
    for match in _TOKEN.finditer(command):
        if match.lastgroup == "next":
            yield " ".join("".join(words).split())
            words, in_pipe = [], False
        elif match.lastgroup == "pipe":
            in_pipe = True
        elif match.lastgroup in ("quoted", "other") and not in_pipe:
            words.append(match[0])
    yield " ".join("".join(words).split())


def is_test(simple: tuple[str, ...]) -> bool:
    return any(_TEST.match(each) for each in simple)


def exit_code(output: str) -> int | None:
    match = _EXIT.search(output, 0, _HEAD)
    return int(match[1]) if match else None


def how_tests_ended(output: str, *, error: bool) -> Ended:
    return "failed" if error or _FAILED_TESTS.search(output) else "ok"


def result_line(output: str) -> str:
    """The line that says how the tests went."""
    lines = _RESULT_LINE.findall(output)
    return " ".join(lines[-1].strip(" =-").split()) if lines else ""


def result_traces(output: str) -> list[str]:
    """What tells one run of tests from another: how many passed and failed, and which failed."""
    return [*_FIGURES.findall(result_line(output)), *_FAILED_NAME.findall(output)]


def telling_line(output: str) -> tuple[str, int]:
    """The line that says what went wrong, and where it stands: what was raised last, else the first complaint."""
    raised = list(_RAISED.finditer(output))
    match = raised[-1] if raised else _LOCATED.search(output) or _FAILING.search(output)
    lines: Iterator[re.Match[str]] = re.finditer(r"^.*\S.*$", output, re.MULTILINE)
    found = match or next((line for line in lines if exit_code(line[0]) is None), None)
    return (found[0], found.start()) if found else ("", 0)
