"""Forgotten constraints: actions of a run that something recorded before forbids, by the file or command that it names.

A constraint is a sentence that forbids something in plain words: "do not touch src/legacy", "never run `git push`". It
stands in a claim that is an instruction, in a claim without a kind that begins so, or in the done definition. What only
hints at something is no constraint here: one with a condition ("unless", "without asking"), about another place, in
quoted text or in a question, or without a name that a call can be compared with ("the tests"). So what is counted was
forbidden; what is not counted may have been, too.

An action breaks it if a call writes the named file or a file below the named folder, removes or renames it where only
that is forbidden, or runs the named command.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal, NamedTuple

from slicebase.context.lost.shell import commands_run, files_written, script_in
from slicebase.context.lost.tools import file_changes
from slicebase.graph.turn import Part
from slicebase.runs.event import Event
from slicebase.runs.loops import Call, call_of
from slicebase.runs.status import Forgotten

Forbids = Literal["write", "remove", "run"]


class Constraint(NamedTuple):
    """What a sentence forbids: to write or to remove a file or what is below a folder, or to run a command."""

    forbids: Forbids
    name: tuple[str, ...]  # the parts of a path, of which the first is empty if it is absolute; or words of a command
    statement: str


# Reading constraints

_MOST: Final = 2000  # characters of a text that are read
_SENTENCE: Final = re.compile(r"(?<=[.!?;])\s+|\n+")
# At the beginning of a clause, or said to somebody: "tests do not touch src" forbids nothing.
_TO_WHOM: Final = r"(?:^\W*|[,:;(–—-]\s*|\b(?:please|you|and|but|also|we)\s+)"
_NEVER: Final = r"(?:must not|mustn['’]?t|may not|shall not|should not|shouldn['’]?t|(?:must|may|shall|should) never)"
_CANNOT: Final = r"(?<=you )(?:cannot|can['’]t|are not allowed to|aren['’]t allowed to)"
_NOT: Final = rf"(?:do not|don['’]?t|never|{_NEVER}|{_CANNOT})"
_EVER: Final = r"(?:\s+(?:ever|again|directly|please))?"
_WRITE: Final = r"touch|edit|modify|change|alter|overwrite|rewrite|write\s+(?:to|in|into)"
_REMOVE: Final = r"delete|remove|rename|move"
_WRITES: Final = (
    re.compile(
        rf"{_TO_WHOM}{_NOT}{_EVER}\s+(?:(?:{_REMOVE})(?:\s*,|\s+or)\s+)*(?P<verb>{_WRITE}|{_REMOVE})"
        r"(?:\s*,\s*[a-z]+)*\s+(?:or\s+[a-z]+\s+)?(?P<what>.+)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^\W*(?P<what>.+?)\s+{_NEVER}\s+(?:ever\s+)?be\s+(?:(?P<gone>deleted|removed|renamed|moved)"
        r"|touched|edited|modified|changed|altered|overwritten|rewritten)\b(?P<rest>.*)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{_TO_WHOM}(?:leave|keep)\s+(?P<what>.+?)\s+(?:alone|untouched|unchanged)\b(?P<rest>.*)", re.IGNORECASE
    ),
    re.compile(rf"{_TO_WHOM}no\s+(?:changes|edits|modifications)\s+(?:to|in|under|of)\s+(?P<what>.+)", re.IGNORECASE),
)
_RUNS: Final = re.compile(
    rf"{_TO_WHOM}{_NOT}{_EVER}\s+(?:(?:run|execute|call|invoke|use)\s+(?P<what>.+)"
    r"|(?:git\s+)?(?P<git>push|force[- ]push|commit|rebase)\b(?P<rest>.*))",
    re.IGNORECASE,
)
_CONDITION: Final = re.compile(
    r"\b(?:unless|without|until|before|after|except|other|another|only|if|when|while|more than|again|instead|yet|both"
    r"|apart from|aside from|besides|too (?:much|often)|(?<!this )(?<!the )repo(?:sitory)?)\b",
    re.IGNORECASE,
)
# What comes before makes it a condition, a question or a report: "if you do not edit a.py", "why do you never push".
_LEADS: Final = re.compile(
    r"\b(?:if|when|whenever|once|unless|until|because|since|although|why|how|that|who|which|(?<!this )repo"
    r"|(?<!this )repository|says?|said)\b",
    re.IGNORECASE,
)
_QUOTED_TEXT: Final = re.compile(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)|^[ \t]*>[^\n]*$")
_TOKEN: Final = re.compile(r"[`\"“]([^`\"”]{1,200})[`\"”]|'([^']{1,200})'(?!\w)|([^\s,]+)|,")
# A path has a slash or an ending.
_PATH: Final = re.compile(r"[\w@.~-]*/[\w@./~-]*|[\w@-]*(?:\.[\w-]+)*\.[A-Za-z]\w{0,5}")
_BEFORE_NAME: Final = frozenset(
    """the a an any anything everything file files folder folders directory directories code contents content in under
    inside below within of existing to""".split()  # noqa: SIM905
)
_NO_NAME: Final = frozenset({"e.g", "i.e"})
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
    for sentence in _SENTENCE.split(_QUOTED_TEXT.sub("", text[:_MOST])):
        statement = " ".join(sentence.split())
        if statement.endswith("?"):
            continue
        writes = next((found for form in _WRITES if (found := form.search(statement))), None)
        if writes:
            if not _is_conditional(statement, writes):
                forbids: Forbids = "remove" if _is_removal(writes.groupdict()) else "write"
                yield from (Constraint(forbids, path, statement) for path in _paths(writes["what"]))
        elif (runs := _RUNS.search(statement)) and not _is_conditional(statement, runs):
            yield from (Constraint("run", words, statement) for words in _commands(runs))


def _is_conditional(statement: str, found: re.Match[str]) -> bool:
    parts = found.groupdict()
    says = f"{parts.get('what') or ''} {parts.get('rest') or ''}"
    return bool(_CONDITION.search(says) or _LEADS.search(statement[: found.start()]))


def _is_removal(found: dict[str, str | None]) -> bool:
    return bool(found.get("gone") or re.fullmatch(_REMOVE, found.get("verb") or "", re.IGNORECASE))


def _names(what: str) -> Iterator[tuple[str, bool]]:
    """Yields the names with which a text begins, and whether each is quoted: one, or a list of them."""
    begun = False
    for match in _TOKEN.finditer(what):
        quoted = match[1] or match[2]
        word = quoted or (match[3] or "").rstrip(".!;:)")
        if not word or (begun and word.lower() in _BETWEEN_NAMES) or (not begun and word.lower() in _BEFORE_NAME):
            continue
        if quoted is None and (not _PATH.fullmatch(word) or word.lower() in _NO_NAME):
            return
        begun = True
        yield word, quoted is not None


def _paths(what: str) -> Iterator[tuple[str, ...]]:
    for name, _ in _names(what):
        parts = _parts(name)
        if parts and not any(mark in name for mark in " *<>{}()"):
            yield parts


def _parts(path: str) -> tuple[str, ...]:
    """Returns the parts of a path; the first is empty if it is absolute. A home folder is as good as none."""
    plain = posixpath.normpath(path.strip()) if path.strip() else ""
    parts = tuple(part for part in plain.split("/") if part not in ("", ".", "~"))
    return ("", *parts) if parts and plain.startswith("/") else parts


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


class _Done(NamedTuple):
    """What a call does: the paths that it writes, those of them that it removes or renames, and its commands."""

    write: tuple[tuple[str, ...], ...]
    remove: tuple[tuple[str, ...], ...]
    run: tuple[list[str], ...]

    def breaks(self, constraint: Constraint) -> bool:
        if constraint.forbids == "run":
            return any(_is_run(words, constraint.name) for words in self.run)
        paths = self.remove if constraint.forbids == "remove" else self.write
        return any(_is_below(path, constraint.name) for path in paths)


def _done_by(call: Call) -> _Done:
    run = tuple(words for script in _scripts(call) for words in commands_run(script))
    written = list(_written(call))
    removed = tuple(_parts(path) for path, is_removed in written if is_removed)
    return _Done(tuple(_parts(path) for path, _ in written), removed, run)


def _is_below(path: tuple[str, ...], named: tuple[str, ...]) -> bool:
    """Returns whether a path is the named one, or below it.

    A relative one may be named from any folder above, an absolute one from the root of the repository.
    """
    if not named[0]:
        return path[: len(named)] == named or path[: len(named) - 1] == named[1:]
    return named[-1] in path and any(
        path[start : start + len(named)] == named for start in range(len(path) - len(named) + 1)
    )


def _is_run(words: list[str], named: tuple[str, ...]) -> bool:
    if words[:1] != [named[0]]:
        return False
    said = [word for word in named[1:] if not word.startswith("-")]
    options = {word for word in named[1:] if word.startswith("-")}
    plain = [word for word in words[1:] if not word.startswith("-")]
    given = {word for word in words[1:] if word.startswith("-")}
    force = options == {"--force"} and bool(given & {"-f", "--force", "--force-with-lease"})
    return plain[: len(said)] == said and (options <= given or force)


def _written(call: Call) -> Iterator[tuple[str, bool]]:
    """Yields the paths that a call writes, and whether it removes or renames each."""
    part = Part(type="tool_call", name=call.tool, arguments=call.arguments)
    if isinstance(call.arguments, dict) and call.arguments.get("command") == "view":
        return
    yield from ((change.path, change.how == "removed") for change in file_changes(part))
    for script in _scripts(call):
        yield from files_written(script)


def _scripts(call: Call) -> dict[str, None]:
    """Returns the command of a call, and the script that it gives to a shell.

    A call runs a command by the name of its tool, or as the text of a step without a tool.
    """
    if call.command is None or call.tool.lower() not in _SHELL_NAMES:
        return {}
    return dict.fromkeys((call.command, script_in(call.command)))


_SHELL_NAMES: Final = frozenset(
    """bash shell local_shell exec_command container.exec run_shell_command run_terminal_cmd terminal execute_bash
    run_command sh""".split()  # noqa: SIM905
) | {""}


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
        elif event.type == "PROMPT":
            _lift(held, event.payload.get("text"))
        elif event.type == "ACT_DONE" and _forbids(held) and (call := call_of(event.payload)):
            done = _done_by(call)
            for claim_id, (stated, constraints) in held.items():
                broken = next((each for each in constraints if done.breaks(each)), None)
                if broken:
                    found.append(
                        Forgotten(claim_id=claim_id, stated=stated, action=event.seq, statement=broken.statement)
                    )
    return tuple(found)


def _forbids(held: dict[Any, tuple[int, list[Constraint]]]) -> bool:
    """Returns whether anything is forbidden: the terms of a run are held also if they forbid nothing."""
    return any(constraints for _, constraints in held.values())


def _lift(held: dict[Any, tuple[int, list[Constraint]]], text: Any) -> None:
    """Removes the constraints of claims whose file or command a later prompt names, and does not forbid.

    "Now push it" ends "do not push". The terms of a run never change.
    """
    if not isinstance(text, str):
        return
    forbidden = {(each.forbids, each.name) for each in constraints_in(text)}
    for claim_id, (stated, constraints) in list(held.items()):
        kept = [each for each in constraints if (each.forbids, each.name) in forbidden or not _names_it(text, each)]
        if claim_id is not None and len(kept) < len(constraints):
            held[claim_id] = stated, kept


def _names_it(text: str, constraint: Constraint) -> bool:
    last = next((word for word in reversed(constraint.name) if not word.startswith("-")), "")
    return bool(last) and re.search(rf"(?<!\w){re.escape(last)}(?!\w)", text, re.IGNORECASE) is not None


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
