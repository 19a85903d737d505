"""The program of a command and its words, without what it is run with: `sudo`, `uv run`, `docker compose exec web`."""

import re
from typing import Final

_WORD: Final = re.compile(r"""(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+""", re.DOTALL)
_SEEN: Final = 400  # characters of a command: what it does is said at its beginning
_MOST_WRAPPED: Final = 5


def command_words(simple: str) -> list[str]:
    """Returns the words of a simple command without what it is run with, such as `sudo` or `uv run`."""
    return _unwrapped(_WORD.findall(simple[:_SEEN]))


def base_name(word: str) -> str:
    """Returns the last step of a path."""
    return word.rsplit("/", 1)[-1]


_WRAPPERS: Final = frozenset({"sudo", "time", "env", "nice", "nohup", "npx", "bunx", "command", "xvfb-run", "stdbuf"})
_TWO_WORDS: Final = frozenset(
    {
        ("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("hatch", "run"), ("pdm", "run"), ("rye", "run"),
        ("pnpm", "exec"), ("yarn", "exec"), ("npm", "exec"), ("bundle", "exec"), ("mise", "exec"), ("pixi", "run"),
    }
)  # fmt: skip


def _unwrapped(words: list[str]) -> list[str]:
    """Returns a command without what it is run with: `sudo`, `uv run`, `docker compose exec web`, `python -m`."""
    for _ in range(_MOST_WRAPPED):
        while words and (re.match(r"[A-Za-z_]\w*=", words[0]) or (words[0].startswith("-") and len(words) > 1)):
            words = words[1:]
        if not words:
            break
        first = base_name(words[0])
        if first in _WRAPPERS:
            words = words[1:]
        elif (
            (first == "timeout" and len(words) > 2)
            or (first, *words[1:2]) in _TWO_WORDS
            or (re.fullmatch(r"python[\d.]*", first) and words[1:2] == ["-m"])
        ):
            words = words[2:]
        elif inner := _in_container(first, words):
            words = inner
        else:
            break
    return words


def _in_container(first: str, words: list[str]) -> list[str]:
    """Returns the command that is run in a container that exists; nothing for any other command."""
    if first not in ("docker", "docker-compose", "podman", "kubectl") or "exec" not in words[:3]:
        return []
    rest = words[words.index("exec") + 1 :]
    if "--" in rest:
        return rest[rest.index("--") + 1 :]
    while rest and rest[0].startswith("-"):
        del rest[: 2 if rest[0] in ("-e", "-u", "-w", "--env", "--user", "--workdir") else 1]
    return rest[1:]
