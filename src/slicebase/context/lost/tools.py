"""The tools of coding agents, by what they do: read, write, search, run commands, keep lists of tasks, ask the user.

Names are compared in lower case. What a tool outside these tables does is not known.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

from msgspec.structs import replace

from slicebase.context.lost.shell import script_in
from slicebase.graph.turn import Part, Turn

READERS: Final = frozenset({"read", "read_file", "view", "view_image", "notebookread"})
WRITERS: Final = frozenset(
    {
        "edit", "multiedit", "write", "notebookedit", "write_file", "edit_file", "replace", "create_file",
        "str_replace_editor", "str_replace_based_edit_tool", "apply_patch",
    }
)  # fmt: skip
SEARCHERS: Final = frozenset(
    {
        "grep", "glob", "search", "search_file_content", "websearch", "webfetch", "codebase_search", "ls",
        "list_directory", "web_fetch", "google_web_search", "toolsearch", "lsp",
    }
)  # fmt: skip
SHELLS: Final = frozenset(
    {"bash", "shell", "local_shell", "exec_command", "container.exec", "run_shell_command", "run_terminal_cmd"}
)
# Tools that return the words of another model.
REPORTERS: Final = frozenset({"task", "agent", "taskoutput", "agentoutput", "spawn_agent", "wait_agent"})
PLANNERS: Final = frozenset({"exitplanmode", "exit_plan_mode"})
ASKERS: Final = frozenset({"askuserquestion", "ask_user"})
# Tools by whose call an agent ends its work.
FINISHERS: Final = frozenset({"submit", "finish", "exit", "attempt_completion", "complete_task", "task_complete"})
# Tools that write a complete list of tasks: the key of the list, and the key of the text of an entry.
TODO_LISTS: Final[Mapping[str, tuple[str, str]]] = {
    "todowrite": ("todos", "content"),
    "write_todos": ("todos", "description"),
    "update_plan": ("plan", "step"),
}
TASK_TOOLS: Final = frozenset({"taskcreate", "taskupdate"})
TASK_LISTS: Final = TASK_TOOLS | TODO_LISTS.keys()
# An error of one of these is about the use of the tool. An error of a command is about the work.
CLIENT_TOOLS: Final = (
    READERS | WRITERS | SEARCHERS | REPORTERS | PLANNERS | ASKERS | TASK_LISTS
    | {"bashoutput", "killshell", "killbash", "skill", "slashcommand"}
    | {"enterplanmode", "tasklist", "taskget", "todoread"}
)  # fmt: skip

PATHS: Final = ("file_path", "path", "absolute_path", "notebook_path", "target_file", "filename")
_COMMAND_KEYS: Final = ("command", "cmd")


def tool_name(part: Part) -> str:
    """Returns the name of a call's tool as the tables have it."""
    name = (part.name or "").lower()
    return "apply_patch" if name.endswith("apply_patch") else name


def argument(part: Part, names: Iterable[str]) -> str | None:
    """Returns the first of the named arguments of a call that is a text."""
    given = part.arguments if isinstance(part.arguments, dict) else {}
    return next((given[key] for key in names if isinstance(given.get(key), str) and given[key]), None)


def command_in(name: str | None, arguments: Any) -> str | None:
    """Returns the shell command in the arguments of a call; None if it has none."""
    if (name or "").lower() not in SHELLS:
        return None
    given = arguments
    if isinstance(arguments, dict):
        given = next((arguments[key] for key in _COMMAND_KEYS if arguments.get(key)), None)
    if isinstance(given, list) and all(isinstance(word, str) for word in given):
        # `bash -lc "…"`
        given = (
            given[-1] if len(given) == 3 and given[1].startswith("-") and given[1].endswith("c") else " ".join(given)
        )
    return script_in(given.replace("\\\n", "  ").strip()) or None if isinstance(given, str) else None


# Files that a call changes

HowChanged = Literal["created", "changed", "removed"]


class FileChange(NamedTuple):
    """A file that a call changes, by the path that the call names."""

    path: str
    how: HowChanged


_PATCHED: Final = re.compile(r"^\*\*\* (Add File|Update File|Delete File|Move to): (.+?)\s*$", re.MULTILINE)
_BY_PATCH: Final[Mapping[str, HowChanged]] = {
    "Add File": "created",
    "Update File": "changed",
    "Delete File": "removed",
    "Move to": "created",
}
_CREATORS: Final = frozenset({"write", "write_file", "create_file"})
_REPLACED: Final = re.compile(r"\b(?:has been (?:updated|modified)|overwr\w+|overwritten)\b", re.IGNORECASE)


def file_changes(part: Part, result: str = "") -> list[FileChange]:
    """Returns the files that a call of a writing tool, or a patch in a command, changes, given its result."""
    patched = [
        FileChange(match[2], _BY_PATCH[match[1]])
        for text in _texts(part.arguments)
        for match in _PATCHED.finditer(text)
    ]
    name = tool_name(part)
    if patched or name not in WRITERS or (path := argument(part, PATHS)) is None:
        return patched
    created = name in _CREATORS or argument(part, ("command",)) == "create"
    return [FileChange(path, "created" if created and not _REPLACED.search(result[:500]) else "changed")]


def _texts(arguments: Any) -> Iterator[str]:
    """Yields the texts among arguments that may be a patch."""
    if isinstance(arguments, str):
        yield arguments
    elif isinstance(arguments, dict | list):
        for inner in arguments.values() if isinstance(arguments, dict) else arguments:
            if isinstance(inner, str | list) and "*** " in str(inner):
                yield from _texts(inner)


# Actions of SWE-agent


class Actions:
    """The actions of SWE-agent, which are lines for its own shell, as calls of the tools that other agents have.

    An edit names no file: it changes the one that was opened last. A result names no call: it is that of the last one.
    """

    def __init__(self) -> None:
        self.opened = ""
        self.count = 0

    def numbered(self, part: Part) -> Part:
        """Returns a part as a call, or as a result, with an id that both have; other parts as they are."""
        self.count += part.type == "tool_call"
        if part.type not in ("tool_call", "tool_result") or part.call_id is not None:
            return self.as_call(part)
        return replace(self.as_call(part), call_id=f"action {self.count}")

    def as_call(self, part: Part) -> Part:
        """Returns the call of a part; a part that is no such action as it is."""
        if part.type != "tool_call" or not isinstance(part.arguments, str) or not part.name:
            return part
        first, _, body = part.arguments.partition("\n")
        words = [word.strip("'\"") for word in first.split()[1:]] or [""]
        if part.name in ("open", "create"):
            self.opened = words[0]
            return replace(part, name="read" if part.name == "open" else "write", arguments={"file_path": words[0]})
        if part.name == "edit":
            text = body.rstrip().removesuffix("end_of_edit") or " ".join(words)
            return replace(part, arguments={"file_path": self.opened, "new_string": text})
        if part.name in ("find_file", "search_file", "search_dir"):
            return replace(part, name="grep", arguments={"pattern": words[0], "path": " ".join(words[1:])})
        if part.arguments.split()[:1] != [part.name] or part.name in FINISHERS:
            return part
        return replace(part, name="bash", arguments={"command": part.arguments})


def as_calls(turns: Iterable[Turn], actions: Actions | None = None) -> list[Turn]:
    """Returns turns in which the actions of SWE-agent are calls. `actions` knows what the turns before have opened."""
    actions = actions or Actions()
    found = []
    for turn in turns:
        parts = tuple(map(actions.numbered, turn.parts))
        found.append(turn if parts == turn.parts else replace(turn, parts=parts))
    return found
