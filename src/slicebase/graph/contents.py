"""What the parts of a turn are, for search and for readers: kinds, tool calls with their files, and readable text.

Evidence is cut from `turn_text` (ruling 36). The readable text differs in tool calls: their name and their arguments as
text, without the marks of JSON.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

from slicebase.core.hashing import canonical
from slicebase.graph.turn import Part, Role, part_text

# What `kind:` can name. A turn has several kinds if it has several parts.
KINDS_OF_TURNS: Final = ("prompt", "answer", "thinking", "call", "result", "error", "summary", "code", "media")
_BITS: Final = {kind: 1 << place for place, kind in enumerate(KINDS_OF_TURNS)}
_SPOKEN: Final = {"user": "prompt", "assistant": "answer"}
_KIND_OF_PART: Final = {"thinking": "thinking", "tool_call": "call", "pointer": "media", "code": "code"}
_ASIDE: Final = frozenset({"tool_result", *_KIND_OF_PART})  # parts in which nobody speaks


def kind_bits(kinds: Iterable[str]) -> int:
    """Returns kinds as one number, a bit for each."""
    bits = 0
    for kind in kinds:
        bits |= _BITS[kind]
    return bits


def kinds_of(role: Role, parts: Iterable[Part]) -> set[str]:
    """Returns the kinds of a turn."""
    return set().union(*[_kinds_of_part(role, part.type, part.summary, part.error, part.hidden) for part in parts])


@lru_cache(maxsize=1024)
def _kinds_of_part(role: Role, kind: str, summary: bool, error: bool, hidden: bool) -> frozenset[str]:
    if summary:
        return frozenset({"summary"})
    if kind == "tool_result" or role == "tool":
        return frozenset({"result", "error"} if error else {"result"})
    if kind in _KIND_OF_PART:
        return frozenset({_KIND_OF_PART[kind]})
    return frozenset({_SPOKEN[role]} if role in _SPOKEN and not hidden else ())


# Tool calls


class CallMade(NamedTuple):
    """A tool call: the name of the tool, the id that its result repeats, and the files that its arguments name."""

    tool: str
    call: str
    files: tuple[str, ...]


def calls_in(parts: Iterable[Part]) -> list[CallMade]:
    """Returns the tool calls of a turn."""
    return [
        CallMade(part.name or "", part.call_id or "", tuple(_files(part.arguments)))
        for part in parts
        if part.type == "tool_call"
    ]


def answered_in(parts: Iterable[Part]) -> list[str]:
    """Returns the ids of the calls whose results a turn has."""
    return [part.call_id for part in parts if part.type == "tool_result" and part.call_id]


_FILE_KEYS: Final = frozenset(
    "absolute_path file file_name file_path filename filepath notebook_path path relative_path target_file".split()  # noqa: SIM905
)
_LIST_KEYS: Final = frozenset({"files", "paths", "file_paths"})
_PATCHED: Final = ("*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: ")
_MOST_FILES: Final = 50


def _files(arguments: Any) -> list[str]:
    found = dict.fromkeys(each for each in _named_files(arguments) if each and len(each) < 4096)
    return list(found)[:_MOST_FILES]


def _named_files(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, dict) and depth < 4:
        for key, inner in value.items():
            name = str(key).lower().replace("filepath", "file_path")
            if name in _FILE_KEYS and isinstance(inner, str):
                yield inner
            elif name in _LIST_KEYS and isinstance(inner, list):
                yield from (each for each in inner if isinstance(each, str))
            else:
                yield from _named_files(inner, depth + 1)
    elif isinstance(value, list) and depth < 4:
        for inner in value[:_MOST_FILES]:
            yield from _named_files(inner, depth + 1)
    elif isinstance(value, str) and "*** " in value:
        for line in value.splitlines():
            yield from (line.removeprefix(mark).strip() for mark in _PATCHED if line.startswith(mark))


# Text for readers


def plain_text(parts: Iterable[Part]) -> str:
    """Returns the text of a turn like the readable one, without marks."""
    return "\n\n".join(text for part in parts if (text := _plain(part)))


_COLOURS: Final = r"\x1b\[[0-?]*[mK]"  # compiled on first use: most texts have none


def searched_text(parts: Iterable[Part]) -> str:
    """Returns the text of a turn as it is searched: the plain one, without the colours of a terminal.

    They stand inside words: `\x1b[31merror`.
    """
    text = plain_text(parts)
    return re.sub(_COLOURS, "", text) if "\x1b[" in text else text


def spoken_text(parts: Iterable[Part]) -> str:
    """Returns what is said in a turn: no calls, results and thinking, no summary, and nothing that is hidden."""
    return plain_text(part for part in parts if part.type not in _ASIDE and not part.summary and not part.hidden)


def readable_text(parts: Iterable[Part]) -> str:
    """Returns the text of a turn for readers: a call as name and arguments, thinking marked."""
    return "\n\n".join(text for part in parts if (text := _marked(part)))


def _plain(part: Part) -> str:
    if part.type != "tool_call":
        return part_text(part)
    arguments = "\n".join(_arguments(part.arguments))
    return f"{part.name}\n{arguments}" if arguments else str(part.name)


def _marked(part: Part) -> str:
    text = _plain(part)
    if not text:
        return ""
    if part.type == "thinking":
        return f"[thinking]\n{text}"
    return f"[call] {text}" if part.type == "tool_call" else text


def _arguments(value: Any, name: str = "") -> Iterator[str]:
    """Yields the lines of arguments: `name: value`, with names of nested values joined by dots; text as it is."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _arguments(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list) and value:
        for place, inner in enumerate(value):
            yield from _arguments(inner, f"{name}.{place}" if name else str(place))
    elif value is not None:
        text = value if isinstance(value, str) else canonical(value).decode()
        separator = "\n" if "\n" in text else " "
        yield f"{name}:{separator}{text}" if name else text
