"""What a turn is in one line: for lists in which somebody looks for the turn to read."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from slicebase.graph.turn import Part

LONGEST_BRIEF: Final = 160  # characters
_READ: Final = 4 * LONGEST_BRIEF  # characters of a text that are looked at
# The arguments that say most about a call, the first that is there.
_TELLING: Final = (
    "command", "cmd", "file_path", "path", "pattern", "query", "url", "description", "prompt", "notebook_path",
    "subject", "skill", "input", "patch",
)  # fmt: skip


def brief_call(name: str | None, arguments: Any) -> str:
    """Returns a tool call in one line: its name, and the argument that says most about it."""
    return one_line(f"{name or 'call'} {_told(arguments)}")


def _told(arguments: Any) -> str:
    if isinstance(arguments, str):
        return arguments[:_READ]
    if isinstance(arguments, Mapping):
        texts = {key: text for key, value in arguments.items() if (text := _as_text(value))}
        return next((texts[key] for key in _TELLING if key in texts), next(iter(texts.values()), ""))
    return _as_text(arguments)


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value[:_READ]
    if isinstance(value, list) and value and all(isinstance(each, str) for each in value[:50]):
        return " ".join(value[:50])[:_READ]
    return ""


def one_line(text: str) -> str:
    """Returns the beginning of a text in one line."""
    words = " ".join(text[:_READ].split())
    return words if len(words) <= LONGEST_BRIEF else f"{words[: LONGEST_BRIEF - 1]}…"


def brief(parts: Iterable[Part]) -> str:
    """Returns a turn in one line: what is said in it, else its first call or result, else what it thinks."""
    told: dict[int, str] = {}
    for part in parts:
        if part.hidden:
            continue
        text = (
            brief_call(part.name, part.arguments) if part.type == "tool_call" else one_line(part.text or part.uri or "")
        )
        if text:
            told.setdefault(_RANK.get(part.type, 1), text)
    return told[min(told)] if told else ""


_RANK: Final = {"text": 0, "thinking": 2}
