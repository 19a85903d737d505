"""What is known about a session, from the facts that its source states: where it was held, and how to go on."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from slicebase.core.ids import is_uuid

if TYPE_CHECKING:  # keeps start-up fast
    from slicebase.graph.turn import Session

# Facts that Slicebase derives itself.
COPY_FACT: Final = "copy_of"  # the session that has all turns of one which has none of its own; empty if none has all
PURGED_FACT: Final = "purged"  # what marks a session of which something was purged
STARTED_FACT: Final = "started"  # the turns that started agents which have not come, by the keys of the agents
WAITS_FACT: Final = "waits"  # the first turn of an agent's session whose start has not come, by the keys of the agent
SHOWN_FACT: Final = "shown_last"  # the last turn of the branch that the source shows
_DERIVED: Final = frozenset({COPY_FACT, PURGED_FACT, STARTED_FACT, WAITS_FACT, SHOWN_FACT})
_STATED: Final = "stated."  # before the name of a fact that a source chose, and that is one of these


class OfSession:
    """Something with a session, and what is known about that. Texts are empty where the source says nothing."""

    __slots__ = ()
    session: "Session"

    @property
    def id(self) -> str:
        """The id of the session."""
        return self.session.id

    @property
    def ref(self) -> str:
        """The reference of the session."""
        return f"session:{self.session.id}"

    @property
    def title(self) -> str | None:
        """The title that the session's tool gave it."""
        return self.session.title

    @property
    def project(self) -> str:
        """The folder in which the session was held."""
        return fact(self.session, "cwd")

    @property
    def branch(self) -> str:
        """The git branch on which the session began."""
        return fact(self.session, "git_branch")

    @property
    def model(self) -> str:
        """The model that answered last."""
        return fact(self.session, "model")

    @property
    def copy_of(self) -> str:
        """The session that has all turns of this one, which has none of its own."""
        return fact(self.session, COPY_FACT)

    @property
    def resume(self) -> str:
        """The command that resumes the session in its folder."""
        return resume_command(self.session)


def fact(session: "Session", name: str) -> str:
    """Returns a fact of a session that is a text; empty where its source does not say so."""
    value = session.facts.get(name)
    return value if isinstance(value, str) else ""


def shown_last(session: "Session") -> str | None:
    """Returns the last turn of the branch that the source of a session shows, which may be in another session."""
    shown = fact(session, SHOWN_FACT)
    return shown if is_uuid(shown) else None


def copy_hint(session: "Session") -> str:
    """Returns what to say to somebody who asks for the turns of a copy, which has none."""
    original = fact(session, COPY_FACT)
    return f"it is a copy of session:{original}, which has its turns" if original else ""


def stated_facts(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns facts under names that a source chose: none of them is taken for one that Slicebase derives."""
    return {f"{_STATED}{name}" if name in _DERIVED else name: value for name, value in given.items()}


_UUID: Final = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
# The command of each client that resumes a session, and what an id of its sessions looks like.
_RESUME: Final = {
    "claude-code": ("claude --resume", _UUID),
    "codex": ("codex resume", _UUID),
    "gemini": ("gemini --resume", _UUID),
    "opencode": ("opencode --session", r"ses_[0-9A-Za-z]{1,100}"),
}


def resume_command(session: "Session") -> str:
    """Returns the command that resumes a session in its folder; empty if there is none.

    A subagent cannot be resumed: the command is that of the session that started it.
    """
    name = session.id.partition("#")[0]
    command, form = _RESUME.get(session.format, ("", ""))
    if not command or not re.fullmatch(form, name):
        return ""
    import shlex  # imported here for a fast start

    folder = fact(session, "cwd")
    there = f"cd {shlex.quote(folder)} && " if folder else ""
    return f"{there}{command} {name}"
