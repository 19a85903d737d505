"""A call of a hook, whatever the client: what happened, in which session, and where its transcript is.

`hook_call` reads what a client sends, and `hook_output` writes what it expects. What differs between clients belongs
here and nowhere else: what follows a call (`verbs/hook_events.py`) knows events, not clients.
"""

import os
import re
from pathlib import Path
from typing import Any, Final, NamedTuple

from slicebase.agents.clients import CLAUDE_CODE, HookEvent, client_named
from slicebase.errors import SlicebaseError


class HookCall(NamedTuple):
    """A call of a hook. `source` says why a session starts: startup, resume, clear; `name` is the client's event."""

    client: str
    name: str
    event: HookEvent
    session: str
    transcript: Path | None = None
    source: str = ""
    prompt: str | None = None


def hook_call(name: str, given: Any, client: str = CLAUDE_CODE) -> HookCall:
    """Reads the JSON that a client sends with an event of its own; raises `bad-request` if it is none."""
    events = client_named(client).events
    if name not in events or not isinstance(given, dict) or not isinstance(given.get("session_id"), str):
        raise SlicebaseError("bad-request", f"stdin does not hold a call of the event {name}")
    path, prompt = given.get("transcript_path"), given.get("prompt")
    source = str(given.get("source") or given.get("trigger") or "")
    event = events[name]
    return HookCall(
        client=client,
        name=name,
        event=HookEvent.AFTER_COMPACTION if event == HookEvent.START and source == "compact" else event,
        session=given["session_id"],
        transcript=Path(os.path.expanduser(path)) if isinstance(path, str) and path and "\0" not in path else None,
        source=source,
        prompt=_without_added(prompt) or None if isinstance(prompt, str) else None,
    )


# Gemini CLI gives the hook of a prompt what the hook of the session's start has added.
_ADDED: Final = re.compile(r"\s*<hook_context>.*?</hook_context>", re.DOTALL)


def _without_added(prompt: str) -> str:
    """Returns the prompt as the user wrote it."""
    return _ADDED.sub("", prompt, count=1).strip() if _ADDED.match(prompt) else prompt.strip()


def hook_output(name: str, text: str, client: str = CLAUDE_CODE) -> dict[str, Any]:
    """Returns the JSON by which a hook adds a text to the agent's context."""
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}
