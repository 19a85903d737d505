"""What is known about a session, from the facts that its source states: where it was held, and how to go on."""

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:  # keeps start-up fast
    from slicebase.graph.turn import Session


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
        return fact(self.session, "copy_of")

    @property
    def resume(self) -> str:
        """The command that resumes the session in its folder."""
        return resume_command(self.session)


def fact(session: "Session", name: str) -> str:
    """Returns a fact of a session that is a text; empty where its source does not say so."""
    value = session.facts.get(name)
    return value if isinstance(value, str) else ""


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
