"""The files of a conversation with their state: those that were written, by tools, commands or subagents, or read."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from slicebase.context.lost.items import placed_parts
from slicebase.context.lost.shell import files_written, first_folder
from slicebase.context.lost.tools import PATHS, READERS, argument, command_in, file_changes, tool_name
from slicebase.graph.turn import Part, Turn, part_text

_NEWEST: Final = 8  # turns in which an edit says what the work is about now
_MOST_NAMES: Final = 5
_MOST_READ: Final = 12  # files that were only read

AgentTurns = Mapping[str, Sequence[Turn]]  # the turns of subagents, by the turn that started them


class HandoverFile(NamedTuple):
    """A file, what became of it in words, and the turn and the place in it that say so."""

    path: str
    how: str  # created, changed, removed or read
    statement: str
    turn: str
    place: int
    also: tuple[str, ...]  # other turns that the words are from


class _FileState(NamedTuple):
    how: str  # created, changed, removed or read
    times: int
    turn: str
    place: int
    names: tuple[str, ...] = ()  # in the lines that the last edit changed
    agents: tuple[str, ...] = ()  # turns of subagents
    named: tuple[str, ...] = ()  # the turn that names the path


def handover_files(turns: Sequence[Turn], agents: AgentTurns) -> Iterator[HandoverFile]:
    """Yields the files that were written, and some that were read, the last one first."""
    files: dict[str, _FileState] = {}
    for part, at in _calls(turns, agents):
        for path, how in [*_changes(part, files)]:
            if how != "read" or not at.agents:  # what a subagent reads is its own
                before = files.pop(path, None)
                # A command may name a known path by its end: the path is from another turn then.
                named = before.named if before and path not in part_text(part) else at.agents or (at.turn,)
                files[path] = _after(before, at._replace(how=how, names=_changed_names(part), named=named))
    newest = {turn.id for turn in turns[-_NEWEST:]}
    read = 0
    for path, state in reversed(files.items()):
        read += state.how == "read"
        if state.how != "read" or read <= _MOST_READ:
            times = f" {state.times} times" if state.times > 1 else ""
            last = f", last {', '.join(state.names)}" if state.names and state.turn in newest else ""
            by = ", last by a subagent" if state.agents else ""
            told = f"{path} ({state.how}{times}{last}{by})"
            also = tuple(dict.fromkeys(each for each in (*state.agents, *state.named) if each != state.turn))
            yield HandoverFile(path, state.how, told, state.turn, state.place, also)


def _calls(turns: Sequence[Turn], agents: AgentTurns) -> Iterator[tuple[Part, _FileState]]:
    """Yields the calls that did not fail, each with where it is said: those of a subagent where that was started."""
    failed = _failed(turns)
    for turn in turns:
        place = 0
        for part, _, at in placed_parts(turn):
            if part.type == "tool_call" and part.call_id not in failed:
                place = at
                yield part, _FileState("", 1, turn.id, at)
        started = agents.get(turn.id, ())
        failed_there = _failed(started)
        for own in started:
            for part in own.parts:
                if part.type == "tool_call" and part.call_id not in failed_there:
                    yield part, _FileState("", 1, turn.id, place, agents=(own.id,))


def _failed(turns: Iterable[Turn]) -> set[str | None]:
    return {part.call_id for turn in turns for part in turn.parts if part.type == "tool_result" and part.error}


def _changes(call: Part, known: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yields the files that a call changes, or reads if it changes none, each with how."""
    changes = [(change.path, str(change.how)) for change in file_changes(call)]
    changes += _written(call, known)
    if not changes and tool_name(call) in READERS and (path := argument(call, PATHS)):
        changes = [(path, "read")]
    yield from changes


def _written(call: Part, known: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yields the files that a command writes, and the known ones that it removes, each with how."""
    command = command_in(tool_name(call), call.arguments) or ""
    folder = first_folder(command)
    for name, is_removed in files_written(command):
        path = f"{folder}/{name}" if folder.startswith("/") and not name.startswith(("/", "~")) else name
        found = [each for each in known if each == path or each.endswith(f"/{path}")]
        if is_removed:
            yield from ((each, "removed") for each in found)
        elif found or _OWN_FILE.fullmatch(path):
            yield from ((each, "changed") for each in found[-1:] or [path])


_OWN_FILE: Final = re.compile(r"(?!/(?:dev|tmp|proc)/)[\w./~@+-]*\w\.\w+")  # neither a device nor temporary


def _after(before: _FileState | None, now: _FileState) -> _FileState:
    if before is None or before.how in ("read", "removed") or now.how == "removed":
        return now
    if now.how == "read":
        return before._replace(turn=now.turn, place=now.place, names=now.names)
    return now._replace(how=before.how, times=before.times + 1)


_NAME: Final = re.compile(r"\b(?=\w*[a-z0-9][A-Z]|\w*\w_\w|[A-Z]{2}\w*[a-z])[A-Za-z_]\w{3,}")


def _changed_names(call: Part) -> tuple[str, ...]:
    """Returns some names of code in the lines that an edit adds or removes."""
    given = call.arguments if isinstance(call.arguments, dict) else {}
    edits = given.get("edits") if isinstance(given.get("edits"), list) else [given]
    found: dict[str, None] = {}
    for edit in (each for each in edits or () if isinstance(each, dict)):
        old, new = (_lines_of(edit, keys) for keys in (("old_string", "old_str"), ("new_string", "new_str")))
        for line in [*(line for line in new if line not in old), *(line for line in old if line not in new)]:
            found |= dict.fromkeys(_NAME.findall(line))
    return tuple(found)[:_MOST_NAMES]


def _lines_of(edit: Mapping[str, Any], keys: Iterable[str]) -> dict[str, None]:
    texts = [text for key in keys if isinstance(text := edit.get(key), str)]
    return {line.strip(): None for text in texts for line in text.splitlines()}
