"""SWE-agent trajectories: thoughts, actions and observations become turns of a session.

A trajectory has its steps under `trajectory`, and the messages before them under `history`; some have only a history.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from slicebase.core.hashing import digest_of
from slicebase.core.ids import turn_id
from slicebase.errors import SlicebaseError, Where
from slicebase.graph.turn import Parent, Part, Role, Turn

NAME = "swe-agent"
# The format does not mark errors; an error begins with one of these texts.
_ERRORS = ("Traceback (most recent call last)", "Your proposed edit has introduced new syntax error")


class _Message(NamedTuple):
    role: Role
    parts: tuple[Part, ...]
    source: Mapping[str, Any]
    seconds: float = 0.0


def is_trajectory(record: Any) -> bool:
    """Returns whether a value is a trajectory."""
    return isinstance(record, dict) and any(isinstance(record.get(key), list) for key in ("trajectory", "history"))


def read_trajectory(data: bytes, session: str, time: int = 0) -> list[Turn]:
    """Returns the turns of a trajectory. Times start at `time`, because the format has only durations."""
    where = Where(session)
    try:
        record = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SlicebaseError("bad-transcript", f"the trajectory is not JSON: {error}", where=where) from None
    if not is_trajectory(record):
        raise SlicebaseError("bad-transcript", "the JSON has neither a trajectory nor a history", where=where)
    turns: list[Turn] = []
    for position, message in enumerate(_messages(record)):
        time += round(message.seconds * 1000)
        turns.append(
            Turn(
                id=turn_id(NAME, session, position),
                session=session,
                role=message.role,
                parts=message.parts,
                time=time,
                parents=(Parent(turns[-1].id),) if turns else (),
                source_hash=digest_of(message.source),
            )
        )
    return turns


def _messages(record: Mapping[str, Any]) -> Iterator[_Message]:
    history = [entry for entry in _dicts(record.get("history")) if not entry.get("is_demo")]
    steps = _dicts(record.get("trajectory"))
    acting = False
    for entry in history:
        role = entry.get("role")
        if role == "assistant" and steps:
            break
        if role == "assistant":
            acting = True
            yield _acted(entry, entry.get("content"))
        elif role == "tool" or (role == "user" and acting):  # without tools, observations are messages of the user
            yield _observed(entry, entry.get("content"))
        elif role in ("user", "system"):
            yield _Message(role, (Part("text", text=_string(entry.get("content"))),), entry)
    for step in steps:
        yield _acted(step, step.get("response"))
        yield _observed(step, step.get("observation"))


def _acted(entry: Mapping[str, Any], otherwise: Any) -> _Message:
    thought, action = _string(entry.get("thought") or otherwise), _string(entry.get("action")).strip()
    parts = [Part("text", text=thought)] if thought.strip() else []
    if action:
        parts.append(Part("tool_call", name=action.split(maxsplit=1)[0], arguments=action))
    return _Message("assistant", tuple(parts), entry)


def _observed(entry: Mapping[str, Any], text: Any) -> _Message:
    seconds = entry.get("execution_time")
    read = _string(text)
    return _Message(
        "tool",
        (Part("tool_result", text=read, error=read.lstrip().startswith(_ERRORS)),),
        entry,
        float(seconds) if isinstance(seconds, int | float) and seconds > 0 else 0.0,
    )


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _string(value: Any) -> str:
    """Returns text as it is, and a list of blocks as the text in them."""
    if isinstance(value, list):
        return "\n\n".join(_string(block.get("text")) for block in _dicts(value) if block.get("text"))
    return value if isinstance(value, str) else ""
