"""Where coding agents keep their sessions on this machine."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class Home(NamedTuple):
    """An agent's folder below the user's home, the variable that moves it, and where sessions stand in it."""

    format: str
    folder: str
    variable: str
    sessions: str


HOMES = (
    Home("claude-code", ".claude", "CLAUDE_CONFIG_DIR", "projects"),
    Home("codex", ".codex", "CODEX_HOME", "sessions"),
    Home("gemini", ".gemini", "", "tmp/*/chats"),
)


class Found(NamedTuple):
    format: str
    folder: Path
    files: int
    bytes: int


def discover(home: Path, variables: Mapping[str, str]) -> list[Found]:
    """The folders of sessions that are there and hold any."""
    found = []
    for agent in HOMES:
        top = Path(variables.get(agent.variable) or home / agent.folder)
        for folder in sorted(top.glob(agent.sessions)):
            sizes = [path.stat().st_size for path in folder.rglob("*.json*") if path.is_file()]
            if sizes:
                found.append(Found(agent.format, folder, len(sizes), sum(sizes)))
    return found
