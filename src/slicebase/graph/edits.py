"""The changes of files in the arguments of tool calls, as lines of a difference.

Coding agents state a change as two texts (`old_string` and `new_string`), as several such pairs (`edits`), as a new
content, or as a patch. Any other call changes no file that is known here.
"""

from collections.abc import Iterator, Mapping
from difflib import unified_diff
from typing import Any, Final, NamedTuple

_PATHS: Final = ("file_path", "path", "filePath", "absolute_path", "target_file", "notebook_path", "filename", "file")
_PAIRS: Final = (("old_string", "new_string"), ("oldString", "newString"), ("old_str", "new_str"), ("old", "new"))
_CONTENTS: Final = ("content", "contents", "file_text", "new_source")
_PATCHES: Final = ("patch", "input", "diff", "command", "cmd")
_BEGIN: Final = "*** Begin Patch"
_DELETE: Final = "*** Delete File: "
_FILE: Final = ("*** Update File: ", "*** Add File: ", _DELETE)
_MOVE: Final = "*** Move to: "
_ELSEWHERE: Final = "@@"  # the lines after it are another place of the file
_MOST_COMPARED: Final = 1500  # lines of two texts: beyond that, a comparison takes too long
_CONTEXT: Final = 3
_HEADER: Final = 3  # lines: the names of the files, and the first place


class FileEdit(NamedTuple):
    """A change of a file: lines that begin with a space, `+`, `-` or `@@`."""

    path: str
    lines: list[str]


def edits_in(tool: str, arguments: Any) -> list[FileEdit]:
    """Returns the changes of files that a tool call makes; none if it makes none that is known."""
    if isinstance(arguments, str):
        return _patched(arguments)
    if not isinstance(arguments, Mapping):
        return []
    for text in _patches(arguments):
        if found := _patched(text):
            return found
    path = next((arguments[name] for name in _PATHS if isinstance(arguments.get(name), str)), None)
    if path is None:
        return []
    pairs = arguments.get("edits")
    changes = [lines for pair in pairs for lines in _replaced(pair)] if isinstance(pairs, list) else []
    changes = changes or [*_replaced(arguments)]
    if not changes and _writes(tool):
        changes = [_added(arguments[name]) for name in _CONTENTS if isinstance(arguments.get(name), str)][:1]
    if not changes:
        return []
    first, *others = changes
    return [FileEdit(path, [*first, *(line for lines in others for line in (_ELSEWHERE, *lines))])]


def _writes(tool: str) -> bool:
    name = tool.lower()
    return any(word in name for word in ("write", "create", "edit"))


def _patches(arguments: Mapping[str, Any]) -> Iterator[str]:
    for name in _PATCHES:
        value = arguments.get(name)
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str):
                yield text


def _patched(text: str) -> list[FileEdit]:
    """Returns the changes in a patch as agents write it, also inside a command."""
    _, begin, patch = text.partition(_BEGIN)
    if not begin:
        return []
    found: list[FileEdit] = []
    for line in patch.splitlines()[1:]:
        if line.startswith("*** End Patch"):
            break
        mark = next((mark for mark in _FILE if line.startswith(mark)), None)
        if mark:
            found.append(FileEdit(line.removeprefix(mark).strip(), ["@@ deleted"] if mark == _DELETE else []))
        elif found and line.startswith(_MOVE):
            found[-1].lines.append(f"@@ moved to {line.removeprefix(_MOVE).strip()}")
        elif found and not line.startswith("*** "):
            found[-1].lines.append(line)
    return found


def _replaced(pair: Any) -> Iterator[list[str]]:
    if not isinstance(pair, Mapping):
        return
    for old_name, new_name in _PAIRS:
        old, new = pair.get(old_name), pair.get(new_name)
        if isinstance(old, str) and isinstance(new, str):
            yield difference(old, new)
            return


def _added(text: str) -> list[str]:
    return [f"+{line}" for line in text.splitlines()]


def difference(old: str, new: str) -> list[str]:
    """Returns the difference of two texts, line by line; of long ones, all of both."""
    before, after = old.splitlines(), new.splitlines()
    if len(before) + len(after) > _MOST_COMPARED:
        return [*(f"-{line}" for line in before), *(f"+{line}" for line in after)]
    return list(unified_diff(before, after, n=_CONTEXT, lineterm=""))[_HEADER:]
