"""Forgotten constraints: actions of a run that something recorded before forbids, by the file or command that it names.

A constraint is a sentence that forbids something in plain words: "do not touch src/legacy", "never run `git push`". It
stands in a claim that is an instruction, in a claim without a kind that begins so, or in the done definition. What only
hints at something is no constraint here: one with a condition ("unless", "without asking"), or without a name that a
call can be compared with ("the tests"). So what is counted was forbidden; what is not counted may have been, too.

An action breaks it if a call writes the named file or a file below the named folder, or runs the named command.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal, NamedTuple

from slicebase.context.lost_shell import pipelines
from slicebase.context.lost_tools import file_changes
from slicebase.graph.turn import Part
from slicebase.runs.event import Event
from slicebase.runs.loops import Call, call_of
from slicebase.runs.status import Forgotten

Forbids = Literal["write", "run"]


class Constraint(NamedTuple):
    """What a sentence forbids: to write a file or below a folder, or to run a command."""

    forbids: Forbids
    name: tuple[str, ...]  # the parts of a path, or the words of a command
    statement: str


# Reading constraints

_MOST: Final = 2000  # characters of a text that are read
_SENTENCE: Final = re.compile(r"(?<=[.!?;])\s+|\n+")
# At the beginning of a clause, or said to somebody: "tests do not touch src" forbids nothing.
_TO_WHOM: Final = r"(?:^\W*|[,:;(–—-]\s*|\b(?:please|you|and|but|also|we)\s+)"
_NOT: Final = r"(?:do not|don['’]t|never|must not|mustn['’]t|may not|shall not|should not|shouldn['’]t)"
_EVER: Final = r"(?:\s+(?:ever|again|directly|please))?"
_WRITES: Final = re.compile(
    rf"{_TO_WHOM}{_NOT}{_EVER}\s+(?:touch|edit|modify|change|alter|overwrite|rewrite|delete|remove|rename|move|write\s+(?:to|in|into))"
    r"\s+(?:or\s+\w+\s+)?(?P<what>.+)",
    re.IGNORECASE,
)
_RUNS: Final = re.compile(
    rf"{_TO_WHOM}{_NOT}{_EVER}\s+(?:(?:run|execute|call|invoke|use)\s+(?P<what>.+)"
    r"|(?P<git>push|force[- ]push|commit|rebase)\b(?P<rest>.*))",
    re.IGNORECASE,
)
_CONDITION: Final = re.compile(
    r"\b(?:unless|without|until|before|except|other than|only|if|when|while|more than|again|instead|yet|both)\b",
    re.IGNORECASE,
)
_TOKEN: Final = re.compile(r"[`\"“]([^`\"”]{1,200})[`\"”]|'([^']{1,200})'(?!\w)|([^\s,]+)|,")
# A path has a slash or an ending.
_PATH: Final = re.compile(r"[\w@.~-]*/[\w@./~-]*|[\w@-]*(?:\.[\w-]+)*\.[A-Za-z]\w{0,5}")
_BEFORE_NAME: Final = frozenset(
    """the a an any anything everything file files folder folders directory directories code contents content in under
    inside below within of existing to""".split()  # noqa: SIM905
)
_BETWEEN_NAMES: Final = frozenset({"or", "and", "nor"})
_COMMAND_WORD: Final = re.compile(r"[a-z][\w.+/-]*|--?[a-z][\w-]*", re.IGNORECASE)
_NO_COMMAND: Final = frozenset(
    """a an the this that these those any all it them anything everything something tests test commands command code
    scripts script tools tool more other your my our their and or mocks global globals""".split()  # noqa: SIM905
)
_ENDS_COMMAND: Final = frozenset("on in to for from at by as here there now please or and ever since because".split())  # noqa: SIM905
_MOST_WORDS: Final = 4
# What may follow "never push": a branch would be a condition.
_NO_TARGET: Final = re.compile(
    r"\W*(?:(?:anything|any changes|(?:the|your|my) changes|changes|it|this|code)\b)?\W*", re.IGNORECASE
)


def constraints_in(text: str) -> Iterator[Constraint]:
    """Yields what a text forbids."""
    for sentence in _SENTENCE.split(text[:_MOST]):
        statement = " ".join(sentence.split())
        if (writes := _WRITES.search(statement)) and not _CONDITION.search(writes["what"]):
            for path in _paths(writes["what"]):
                yield Constraint("write", path, statement)
        elif (runs := _RUNS.search(statement)) and not _CONDITION.search(runs["what"] or runs["rest"]):
            for words in _commands(runs):
                yield Constraint("run", words, statement)


def _names(what: str) -> Iterator[tuple[str, bool]]:
    """Yields the names with which a text begins, and whether each is quoted: one, or a list of them."""
    begun = False
    for match in _TOKEN.finditer(what):
        quoted = match[1] or match[2]
        word = quoted or (match[3] or "").rstrip(".!;:)")
        if not word or (begun and word.lower() in _BETWEEN_NAMES) or (not begun and word.lower() in _BEFORE_NAME):
            continue
        if quoted is None and not _PATH.fullmatch(word):
            return
        begun = True
        yield word, quoted is not None


def _paths(what: str) -> Iterator[tuple[str, ...]]:
    for name, _ in _names(what):
        parts = _parts(name)
        if parts and not any(mark in name for mark in " *<>{}()"):
            yield parts


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.strip().split("/") if part not in ("", ".", "~"))


def _commands(found: re.Match[str]) -> Iterator[tuple[str, ...]]:
    """Yields the commands that are forbidden, as their words."""
    if found["git"]:
        if not _NO_TARGET.fullmatch(found["rest"]):
            return
        verb = found["git"].lower()
        yield ("git", "push", "--force") if verb.startswith("force") else ("git", verb)
        return
    quoted = [tuple(name.split()) for name, is_quoted in _names(found["what"]) if is_quoted and name.strip()]
    if quoted:
        yield from quoted
        return
    words: list[str] = []
    for word in found["what"].rstrip(".!;").split():
        if not _COMMAND_WORD.fullmatch(plain := word.rstrip(",")) or plain.lower() in _ENDS_COMMAND:
            break
        words.append(plain)
        if plain != word:
            break
    # Two words at least: one alone is a word of the language more often than a program.
    if 2 <= len(words) <= _MOST_WORDS and words[0].lower() not in _NO_COMMAND:
        yield tuple(words)


# Comparing calls with them


def _is_broken(constraint: Constraint, call: Call) -> bool:
    if constraint.forbids == "write":
        return any(_is_below(_parts(path), constraint.name) for path in _written(call))
    return any(_is_run(words, constraint.name) for words in _run_by(call))


def _is_below(path: tuple[str, ...], named: tuple[str, ...]) -> bool:
    """Returns whether a path is the named one, or below it. The named one may be relative to any folder above."""
    return any(path[start : start + len(named)] == named for start in range(len(path) - len(named) + 1))


def _is_run(words: list[str], named: tuple[str, ...]) -> bool:
    if words[:1] != [named[0]]:
        return False
    said = [word for word in named[1:] if not word.startswith("-")]
    options = {word for word in named[1:] if word.startswith("-")}
    plain = [word for word in words[1:] if not word.startswith("-")]
    given = {word for word in words[1:] if word.startswith("-")}
    force = options == {"--force"} and bool(given & {"-f", "--force", "--force-with-lease"})
    return plain[: len(said)] == said and (options <= given or force)


_WRITING_COMMANDS: Final = frozenset({"rm", "mv", "tee", "truncate", "touch"})
_REDIRECTED: Final = re.compile(r"(?<![<>&\d])>{1,2}\s*([^\s;|&<>()]+)")
_WORDS: Final = re.compile(r"""(?:'[^']*'|"[^"]*"|[^\s'"])+""")


def _written(call: Call) -> Iterator[str]:
    """Yields the paths that a call writes."""
    part = Part(type="tool_call", name=call.tool, arguments=call.arguments)
    if isinstance(call.arguments, dict) and call.arguments.get("command") == "view":
        return
    yield from (change.path for change in file_changes(part))
    if call.command is None or not _is_shell(call):
        return
    for words in _run_by(call):
        if words[0] in _WRITING_COMMANDS:
            yield from (word for word in words[1:] if not word.startswith("-"))
        elif words[0] == "cp" or (words[0] == "sed" and any(word.startswith("-i") for word in words)):
            yield words[-1]
    yield from (match[1].strip("'\"") for match in _REDIRECTED.finditer(_unquoted(call.command)))


def _unquoted(script: str) -> str:
    return re.sub(r"'[^']*'|\"[^\"]*\"", lambda match: " " if " " in match[0] or ">" in match[0] else match[0], script)


def _is_shell(call: Call) -> bool:
    """Returns whether a call runs a command: by the name of its tool, or as the text of a step without a tool."""
    return call.tool.lower() in _SHELL_NAMES


_SHELL_NAMES: Final = frozenset(
    """bash shell local_shell exec_command container.exec run_shell_command run_terminal_cmd terminal execute_bash
    run_command sh""".split()  # noqa: SIM905
) | {""}
_BEFORE: Final = frozenset({"sudo", "time", "nice", "nohup", "env", "command"})
_GIT_PLACE: Final = frozenset({"-C", "-c", "--git-dir", "--work-tree"})


def _run_by(call: Call) -> Iterator[list[str]]:
    """Yields the words of each command that a call runs."""
    command = call.command
    if command is None or not _is_shell(call):
        return
    for pipeline in pipelines(command):
        for stage in pipeline.stages:
            words = [word.strip("'\"") for word in _WORDS.findall(stage)]
            while words and words[0] in _BEFORE:
                words = words[1:]
            while len(words) > 2 and words[0] == "git" and words[1] in _GIT_PLACE:
                words = [words[0], *words[3:]]
            if words:
                yield words


# A log


def forgotten_constraints(events: Iterable[Event]) -> tuple[Forgotten, ...]:
    """Returns the actions of a log that a constraint forbids which was recorded before them."""
    held: dict[Any, tuple[int, list[Constraint]]] = {}  # by claim: the event that states it, and what it forbids
    found: list[Forgotten] = []
    for event in events:
        if event.type == "RUN_STARTED":
            texts = _texts(event.payload.get("done_definition"))
            held[None] = event.seq, [each for text in texts for each in constraints_in(text)]
        elif event.type == "CLAIM":
            _hold(held, event)
        elif event.type == "ACT_DONE" and held and (call := call_of(event.payload)):
            for claim_id, (stated, constraints) in held.items():
                broken = next((each for each in constraints if _is_broken(each, call)), None)
                if broken:
                    found.append(
                        Forgotten(claim_id=claim_id, stated=stated, action=event.seq, statement=broken.statement)
                    )
    return tuple(found)


def _hold(held: dict[Any, tuple[int, list[Constraint]]], event: Event) -> None:
    payload, claim_id = event.payload, event.payload.get("claim_id")
    if not isinstance(claim_id, str):
        return
    statement = payload.get("statement")
    if payload.get("status") == "retracted":
        held.pop(claim_id, None)
    elif isinstance(statement, str):
        held.pop(claim_id, None)
        begins = re.match(rf"\W*(?:please\s+)?{_NOT}\b", statement, re.IGNORECASE)
        if payload.get("kind") == "instruction" or ("kind" not in payload and begins):
            constraints = list(constraints_in(statement))
            if constraints:
                held[claim_id] = event.seq, constraints


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)
