"""The coding agents that can call us: where their settings are, their names of events, and their units.

This table is the only place that knows how clients differ in this. Installing, reading a call and the documentation
follow it.
"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from slicebase.errors import SlicebaseError


class HookEvent(StrEnum):
    """What happens in a session of a coding agent."""

    START = "session start"
    PROMPT = "prompt"
    BEFORE_COMPACTION = "before compaction"
    AFTER_COMPACTION = "after compaction"
    END = "session end"


class HookScope(StrEnum):
    """Whose settings call us: those of one project, or those of the user, which count in every project."""

    PROJECT = "project"
    USER = "user"


class UserFolder(NamedTuple):
    """Where a client keeps the settings of its user: below the home, or below the folder that a variable names."""

    home: str
    variable: str
    settings: str

    def path(self, home: Path, variables: Mapping[str, str]) -> Path:
        return Path(variables.get(self.variable) or home / self.home, self.settings)


class Client(NamedTuple):
    """A coding agent. `events` has its names of events, with ours."""

    settings: str  # in a project
    user: UserFolder
    events: Mapping[str, HookEvent]
    project_variable: str | None = None  # names the project's folder when the client calls; else `cwd` does
    second: int = 1  # of its time limits
    most_seconds: Mapping[str, int] = {}  # that it gives to an event, where that is less than we ask for
    comments: bool = False  # it reads settings that have comments
    plugin: bool = False  # the file of settings is a program that calls us, and ours alone
    trust: str = ""  # what the user has to do before the client calls
    adds_at_start: bool = True  # what a session's start adds does no harm; else the first prompt adds it
    tells_compactions: bool = True  # the event before a compaction means that there is one
    compaction_marks: tuple[bytes, ...] = ()  # else: what the line of one has in a transcript, and few other lines

    def time_limit(self, event: str) -> int:
        """Returns the time limit of a hook, in the unit of the client."""
        return self.seconds(event) * self.second

    def seconds(self, event: str) -> int:
        """Returns how long a hook may take."""
        return min(_SECONDS, self.most_seconds.get(event, _SECONDS))


_SECONDS: Final = 10  # the time limit after which the client stops a hook
_NAMES: Final = {
    "SessionStart": HookEvent.START,
    "UserPromptSubmit": HookEvent.PROMPT,
    "PreCompact": HookEvent.BEFORE_COMPACTION,
    "SessionEnd": HookEvent.END,
}
CLAUDE_CODE: Final = "claude-code"

CLIENTS: Final[Mapping[str, Client]] = {
    CLAUDE_CODE: Client(
        settings=".claude/settings.json",
        user=UserFolder(".claude", "CLAUDE_CONFIG_DIR", "settings.json"),
        events=_NAMES,
        project_variable="CLAUDE_PROJECT_DIR",
    ),
    "codex": Client(
        settings=".codex/hooks.json",
        user=UserFolder(".codex", "CODEX_HOME", "hooks.json"),
        events=_NAMES,  # it has PostCompact, too, which cannot add to the context: SessionStart (compact) can
        most_seconds={"SessionEnd": 3},
        trust="Codex calls a hook only when you trust it: start codex here, enter /hooks, and trust those of `tt`.",
    ),
    "gemini": Client(
        settings=".gemini/settings.json",
        user=UserFolder("", "GEMINI_CLI_HOME", ".gemini/settings.json"),
        events={
            "SessionStart": HookEvent.START,
            "BeforeAgent": HookEvent.PROMPT,
            "PreCompress": HookEvent.BEFORE_COMPACTION,
            "SessionEnd": HookEvent.END,
        },
        project_variable="GEMINI_PROJECT_DIR",
        second=1000,
        comments=True,
        adds_at_start=False,  # it would stand before the prompt, and a resumed session loses prompts that begin so
        tells_compactions=False,  # it asks before every request to the model
        compaction_marks=(b'"$set"', b'"messages"'),
        trust="Gemini CLI reads the settings of a project only when you trust its folder: start gemini here, or enter "
        "/permissions.",
    ),
    "opencode": Client(
        settings=".opencode/plugins/slicebase.js",
        user=UserFolder(".config", "XDG_CONFIG_HOME", "opencode/plugins/slicebase.js"),
        events=_NAMES,  # as the plugin calls them
        second=1000,
        plugin=True,
    ),
}


def client_named(name: str) -> Client:
    """Returns the client with this name; raises `unknown-client` if there is none."""
    if name not in CLIENTS:
        known = ", ".join(CLIENTS)
        raise SlicebaseError("unknown-client", f"there are no hooks for {name!r}", hint=f"clients are {known}")
    return CLIENTS[name]
