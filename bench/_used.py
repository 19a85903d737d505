"""What an agent uses: the files, commands, tests and identifiers of its calls, and which of them a text names.

`bench/handover.py` compares what the turns after a cut use with what a text about the turns before it names. Both are
expressed in the things that the turns before the cut show: nothing counts that nobody could hand over.

- A file is used if it is edited, read, shown by a command, searched in, an argument of a command, or named to another
  agent. It is not used if it is only listed, or read right before an edit of it (`context/rediscovery.py`): then the
  edit counts. A failed read or edit does not count. A file is known by the last two steps of its path, and by its name
  if no other has it.
- A command is known by its program and what it is told to do (`go test`, `mise run lint`), without flags, paths and
  values: those are files, tests and identifiers. Commands that show or change the state of the moment do not count;
  the files and commits that `git show` and the like look into do.
- An identifier is a name of code that the turns before declare, search for, or write in prose; variables and
  parameters inside of functions are none. It is used if it is searched for, an argument of a command, in a line that
  an edit adds or removes, declared in a written file, or named to another agent. A test is an identifier that is named
  like one.

What tools return, and what the agent only says or thinks, uses nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any, Final, Literal, NamedTuple

from slicebase.context.lost.shell import simple_commands
from slicebase.context.lost.tools import (
    PATHS,
    REPORTERS,
    Actions,
    argument,
    as_calls,
    command_in,
    file_changes,
    tool_name,
)
from slicebase.context.rediscovery import lookups
from slicebase.graph.turn import Part, Turn

ThingKind = Literal["file", "command", "test", "identifier"]
KINDS: Final[tuple[ThingKind, ...]] = ("file", "command", "test", "identifier")

_RUN: Final = re.compile(r"[\w.@+~/-]+")
_FILE: Final = re.compile(
    r"[\w.@+~/-]*[\w@+-]\.(?:go|mod|sum|py|pyi|js|mjs|cjs|ts|tsx|jsx|md|rst|txt|json|jsonl|toml|ya?ml|ini|cfg|conf|lock|"
    r"sh|bash|bats|html|css|scss|svg|c|h|cc|cpp|hpp|rs|java|kt|swift|rb|php|lua|sql|xml|proto|ipynb|csv|tmpl|traj)\Z"
)
_WORD: Final = re.compile(r"[A-Za-z_]\w{3,}")
_IS_NAME: Final = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z](?!\Z)|\w_\w")
_HASH: Final = re.compile(r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}\b")
_IS_TEST: Final = re.compile(r"(?:Test|Benchmark|Fuzz|Example)[A-Z_]|test_|\w+Test\Z")
_DECLARED: Final = re.compile(
    r"(?:\b(?:func|function|def|class|type|interface|struct|enum|trait|fn)\s+(?:\([^)\n]{0,80}\)\s*)?"
    r"|^(?:\s*\d+[→:\t])?(?:export )?(?:const|var|let)\s+)([A-Za-z_]\w{3,})",
    re.MULTILINE,
)
# Variables and parameters inside of functions.
_LOCAL: Final = re.compile(
    r"\b([A-Za-z_]\w{3,})(?=(?:, *\w+)* *:=)|(?:, *|\bfor )([A-Za-z_]\w{3,})(?=(?:, *\w+)* *(?::=| in\b))"
    r"|[ \t](?:const|var|let) +([A-Za-z_]\w{3,})|^(?:\s*\d+[→:])?[ \t]+([A-Za-z_]\w{3,}) = "
    r"|(?<=[(,])[ \t]*([A-Za-z_]\w{3,})(?= [\w.*\[\]]+[,)]|: ?[\w.\[\] |]+(?: = [^,)\n]+)?[,)])",
    re.MULTILINE,
)
_ESCAPED: Final = re.compile(r"\\[nrt\"]")  # a call is rendered as JSON
_ORDER: Final = re.compile(r"[a-z][a-z0-9]*(?:[:_-][a-z0-9]+)*\Z")  # a word that tells a program what to do
# Commands of the moment that look into what they name.
_LOOKS: Final = re.compile(r"(?:git (?:show|diff|log|blame|ls-tree|cat-file)|jq|awk|wc|diff)\b")
# What begins no command, or says too little.
_NO_FAMILY: Final = re.compile(r"-.*|do|then|else|git|.*[^\w@+~./ :-].*", re.DOTALL)


class Thing(NamedTuple):
    kind: ThingKind
    name: str


class Known:
    """The things that turns show, by which other turns and texts are compared."""

    def __init__(self, turns: Iterable[Turn]) -> None:
        self._actions = Actions()
        turns = as_calls(turns, self._actions)
        self._files: dict[str, set[str]] = {}  # by the name: the last two steps of the paths
        for text in _everything(turns):
            for path in _paths(text):
                self._files.setdefault(_last(path), set()).add(_two(path))
        self._names = _known_names(turns)
        self.commands = frozenset(_families(turns))
        self._sought = {name: _as_written(name) for name in self.commands}

    def named(self, text: str) -> frozenset[Thing]:
        """Returns the known things that a text names."""
        plain = _ESCAPED.sub(" ", text)
        commands = (Thing("command", name) for name, written in self._sought.items() if written.search(plain))
        return frozenset([*self._of_files(_paths(plain)), *self._of_names(_names(plain)), *commands])

    def used(self, turns: Iterable[Turn]) -> frozenset[Thing]:
        """Returns the known things that the turns after these use."""
        turns = as_calls(turns, copy(self._actions))
        commands = (Thing("command", name) for name in _families(turns) if name in self.commands)
        return frozenset([*self._of_files(_used_files(turns)), *self._of_names(_used_names(turns)), *commands])

    def _of_files(self, paths: Iterable[str]) -> Iterator[Thing]:
        for path in paths:
            two, having = _two(path), self._files.get(_last(path), set())
            longer = {each for each in having if "/" in each}
            if two in longer:
                yield Thing("file", two)
            elif ("/" not in two or not longer) and len(only := longer or having) == 1:
                yield Thing("file", min(only))

    def _of_names(self, names: Iterable[str]) -> Iterator[Thing]:
        yield from (
            Thing("test" if _IS_TEST.match(name) else "identifier", name) for name in names if name in self._names
        )


# Calls


def _calls(turns: Sequence[Turn]) -> Iterator[Part]:
    """Yields the calls that were not refused or failed; a command may fail."""
    failed = {part.call_id for turn in turns for part in turn.parts if part.type == "tool_result" and part.error}
    failed -= {None}
    for turn in turns:
        for part in turn.parts:
            if part.type == "tool_call" and (part.call_id not in failed or argument(part, ("command",))):
                yield part


def _delegated(turns: Sequence[Turn]) -> Iterator[str]:
    """Yields what the agent tells other agents to do."""
    for part in _calls(turns):
        if tool_name(part) in REPORTERS:
            yield from _texts(part.arguments)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(each)


def _everything(turns: Iterable[Turn]) -> Iterator[str]:
    for turn in turns:
        for part in turn.parts:
            yield from _texts(part.arguments) if part.type == "tool_call" else _texts(part.text)


# Files


def _paths(text: str) -> set[str]:
    return {run for each in set(_RUN.findall(text)) if _FILE.match(run := each.rstrip(".-").removeprefix("./"))}


def _last(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _two(path: str) -> str:
    return "/".join([step for step in path.split("/") if step][-2:])


def _used_files(turns: Sequence[Turn]) -> Iterator[str]:
    for part in _calls(turns):
        yield from (change.path for change in file_changes(part))
    for each in lookups(turns):
        if each.kind == "file" and not each.for_edit and not each.failed:
            yield each.what
        elif each.kind == "command":
            yield from _paths(each.what)
        elif each.kind == "search":
            yield from _paths(each.where)
    yield from (path for text in (*_looking(turns), *_delegated(turns)) for path in _paths(text))


# Commands


def _looking(turns: Sequence[Turn]) -> Iterator[str]:
    for part in _calls(turns):
        if command := command_in(tool_name(part), part.arguments):
            yield from filter(_LOOKS.match, simple_commands(command))


def _families(turns: Sequence[Turn]) -> Iterator[str]:
    for each in lookups(turns):
        for simple in each.what.split(" && ") if each.kind == "command" else ():
            if family := _family(simple):
                yield family


def _family(simple: str) -> str:
    """Returns the program of a command and what it is told to do."""
    program, *rest = simple.split() or [""]
    orders = [program.removeprefix("./")]
    for word in rest[:3]:
        script = len(orders) == 1 and _FILE.match(word)
        if not script and not _ORDER.match(word):
            break
        orders.append(word)
    family = " ".join(orders[:3])
    return "" if _NO_FAMILY.fullmatch(family) else family


def _as_written(family: str) -> re.Pattern[str]:
    """Returns the pattern of a command in a text. A plain word counts only in quotes: prose has such words too."""
    if re.fullmatch(r"[a-z]+", family):
        return re.compile(rf"[`\"$] ?{family}(?![\w-])")
    return re.compile(rf"(?<![\w.-]){re.escape(family)}(?![\w-])")


# Names


def _names(text: str) -> set[str]:
    """Returns the names of code in a text, and the hashes of commits; a path is none."""
    plain = _RUN.sub(lambda run: " " if _FILE.match(run[0].rstrip(".-")) else run[0], text)
    return {word for word in set(_WORD.findall(plain)) if _IS_NAME.search(word)} | set(_HASH.findall(plain))


def _known_names(turns: Sequence[Turn]) -> set[str]:
    declared: set[str] = set()
    local: set[str] = set()
    for text in _everything(turns):
        declared.update(name for name in _DECLARED.findall(text) if _IS_NAME.search(name))
        local.update(name for match in _LOCAL.finditer(text) for name in match.groups() if name)
    spoken = {
        name
        for turn in turns
        for part in turn.parts
        if part.type == "text" and turn.role in ("user", "assistant")
        for name in _names(part.text or "")
    }
    return declared | (spoken - local) | set(_sought(turns))


def _sought(turns: Sequence[Turn]) -> Iterator[str]:
    for each in lookups(turns):
        if each.kind in ("search", "command"):
            yield from _names(each.what)
    yield from (name for command in _looking(turns) for name in _HASH.findall(command))


def _used_names(turns: Sequence[Turn]) -> Iterator[str]:
    yield from _sought(turns)
    yield from (name for text in _delegated(turns) for name in _names(text))
    for part in _calls(turns):
        if file_changes(part):
            yield from _changed_names(part)


def _changed_names(part: Part) -> Iterator[str]:
    """Yields the names in the lines that an edit adds or removes, and those that a written file declares."""
    given = part.arguments if isinstance(part.arguments, dict) else {}
    edits = given.get("edits") if isinstance(given.get("edits"), list) else [given]
    for edit in edits or ():
        old, new = (_lines(edit, keys) for keys in (("old_string", "old_str"), ("new_string", "new_str")))
        for line in old ^ new:
            yield from _names(line)
    if written := argument(part, ("content", "file_text")):
        yield from _DECLARED.findall(written)
    for text in _texts(part.arguments):
        if "*** " in text and argument(part, PATHS) is None:  # a patch
            yield from (name for line in text.splitlines() if line[:1] in ("+", "-") for name in _names(line))


def _lines(edit: Any, keys: Iterable[str]) -> set[str]:
    texts = (edit.get(key) for key in keys) if isinstance(edit, dict) else ()
    return {line.strip() for text in texts if isinstance(text, str) for line in text.splitlines()}
