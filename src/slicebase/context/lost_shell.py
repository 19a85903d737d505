"""Shell commands and what tools report of them: which commands run tests, and the lines that say how they ended."""

import re
from collections.abc import Iterator
from typing import Any, Final, Literal

# Tools whose arguments contain a shell command.
SHELLS: Final = frozenset(
    {"bash", "shell", "local_shell", "exec_command", "container.exec", "run_shell_command", "run_terminal_cmd"}
)
_COMMAND_KEYS: Final = ("command", "cmd")
_TRIVIAL: Final = re.compile(
    r"(?:cd|pushd|popd|export|set|unset|source|echo|printf|sleep|wait|true|false|clear|exit|break|done|fi|for|while|if)\b|\.\s|#"
)
# From the beginning of a word, and without a way back: the time is linear.
_LEADING: Final = re.compile(r"(?<!\S)(?:(?:do|then|else|!|\(|\{|[A-Za-z_]\w*+=\S*+)\s++)++")
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
_HEAD: Final = 300  # characters at the beginning, where a tool reports how a command ended
_FAILED_TESTS: Final = re.compile(
    r"\b[1-9]\d* (?:failed|failures?|failing|errors?)\b|^(?:---\s)?FAIL(?:ED)?\b", re.MULTILINE
)
_RAISED: Final = re.compile(r"^(?:[\w.]*(?:Error|Exception)\b|FAILED |--- FAIL: ).*$", re.MULTILINE)
_LOCATED: Final = re.compile(r"^[\w./-]+:\d+(?::\d+)?: .+$", re.MULTILINE)
_FAILING: Final = re.compile(
    r"^.*\b(?:error|errors|exception|fail|failed|failure|fatal|cannot|can't|not found|no such|denied|undefined|panic|"
    r"refused|timed out|timeout|conflict|invalid)\b.*$",
    re.IGNORECASE | re.MULTILINE,
)

Ended = Literal["ok", "failed"]


def command_in(name: str | None, arguments: Any) -> str | None:
    """Returns the shell command in the arguments of a call; None if it has none."""
    if (name or "").lower() not in SHELLS:
        return None
    given = arguments
    if isinstance(arguments, dict):
        given = next((arguments[key] for key in _COMMAND_KEYS if arguments.get(key)), None)
    if isinstance(given, list) and all(isinstance(word, str) for word in given):
        # `bash -lc "…"`
        given = (
            given[-1] if len(given) == 3 and given[1].startswith("-") and given[1].endswith("c") else " ".join(given)
        )
    return given.replace("\\\n", "  ").strip() or None if isinstance(given, str) else None


def simple_commands(command: str) -> tuple[str, ...]:
    """Returns the first command of each pipeline without redirections, except trivial ones such as `cd` and `echo`."""
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


def exit_code(output: str) -> int | None:
    """Returns the exit code that a tool reports at the beginning of its output."""
    match = _EXIT.search(output, 0, _HEAD)
    return int(match[1]) if match else None


def how_tests_ended(output: str, *, error: bool) -> Ended:
    """Returns whether a test run failed, by its output or by the report of the tool."""
    return "failed" if error or _FAILED_TESTS.search(output) else "ok"


def error_line(output: str) -> tuple[str, int]:
    """Returns the line that says what went wrong, and its offset: the last raised error, else the first complaint."""
    raised = list(_RAISED.finditer(output))
    match = raised[-1] if raised else _LOCATED.search(output) or _FAILING.search(output)
    lines: Iterator[re.Match[str]] = re.finditer(r"^.*\S.*$", output, re.MULTILINE)
    found = match or next((line for line in lines if exit_code(line[0]) is None), None)
    return (found[0], found.start()) if found else ("", 0)


PATCHED: Final = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)

# Commands that are needed again, by what they do. Looking around (`ls`, `git status`) is not among them.
_BUILD: Final = re.compile(
    _WRAPPER + r"(?:(?:go|cargo|dotnet|swift|mvn|gradlew?|bazel|sbt|zig|stack|cabal) (?:.*\s)?"
    r"(?:build|install|package|compile|publish|vet|generate)\b"
    r"|(?:npm|pnpm|yarn|bun|deno|make|just|task|mise|rake|mix|nx|turbo)\s(?:.*\s)?(?:\w+[:-])*(?:build|compile|bundle|generate|release|package|dist)\b"
    r"|(?:tsc|webpack|vite build|esbuild|rollup|cmake|ninja|make\Z|docker build|docker compose|xcodebuild|"
    r"python\S* -m build)\b)"
)
_CHECK: Final = re.compile(
    _WRAPPER + r"(?:(?:npm|pnpm|yarn|bun|make|just|task|mise|rake|mix|cargo|deno|go)\s(?:.*\s)?(?:\w+[:-])*"
    r"(?:lint|fmt|format|check|typecheck|vet|clippy|ci)\b"
    r"|(?:ruff|mypy|eslint|prettier|black|flake8|golangci-lint|gofmt|shellcheck|tsc --noEmit|pre-commit|"
    r"rubocop|pylint|biome)\b)"
)
_DEPLOY: Final = re.compile(
    _WRAPPER + r"(?:kubectl|helm|terraform|ansible|fly|flyctl|vercel|netlify|heroku|wrangler|gcloud|aws|az|"
    r"docker (?:push|run|exec)|ssh|scp|rsync|systemctl)\b"
)
_CALL: Final = re.compile(
    _WRAPPER
    + r"(?:gh api|gh (?:pr|run|issue|workflow) (?:view|list|create|checks|diff|comment|watch)|curl|psql|sqlite3|"
    r"mysql|redis-cli|alembic|"
    r"(?:npm|pnpm|yarn|bun|make|just|task|mise|rake|mix|cargo|go|uv|poetry) run\b|go tool|"
    r"(?:bash|sh|zsh|node|python\S*|ruby|deno run|tsx|perl) (?!-[ce]\b)\S*[\w/]\.\w+|\./[\w./-]+|"
    r"(?:git (?:clone|bisect|worktree add|show [\w./-]+:\S+|read-tree|filter-repo|submodule)))"
)
_SEEN: Final = 400  # characters of a command: what it does is said at its beginning
CommandClass = Literal["test", "build", "check", "deploy", "call"]
_CLASSES: Final[tuple[tuple[CommandClass, re.Pattern[str]], ...]] = (
    ("test", _TEST),
    ("build", _BUILD),
    ("check", _CHECK),
    ("deploy", _DEPLOY),
    ("call", _CALL),
)


def command_class(simple: tuple[str, ...]) -> CommandClass | None:
    """Returns what commands are needed again for; None if they only look around or change the state of the moment."""
    return next((name for name, pattern in _CLASSES if any(pattern.match(each[:_SEEN]) for each in simple)), None)


def needed_lines(command: str) -> str:
    """Returns the lines of a script that are needed again; a command of one line as it is."""
    lines = command.splitlines()
    return "\n".join(line.strip() for line in lines if len(lines) == 1 or command_class(simple_commands(line)))
