"""Stored sessions for people: a list with the figures of each, and the outline of one."""

import re
import shlex
from typing import Final

from slicebase.graph.turn import Session

_RESUME: Final = {"claude-code": "claude --resume", "codex": "codex resume"}
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def resume_command(session: Session) -> str:
    """Returns the command that resumes a session in its folder; empty if there is none.

    A subagent cannot be resumed: the command is that of the session that started it.
    """
    name = session.id.partition("#")[0]
    if session.format not in _RESUME or not _UUID.fullmatch(name):
        return ""
    folder = session.facts.get("cwd")
    there = f"cd {shlex.quote(folder)} && " if isinstance(folder, str) and folder else ""
    return f"{there}{_RESUME[session.format]} {name}"
