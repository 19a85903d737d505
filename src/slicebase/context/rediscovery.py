"""What an agent looks up again after a compaction: files read, commands run, searches made, questions asked.

A lookup after the boundary that repeats one before it, of something that the summary does not name, is what the agent
pays for the loss (docs/lost.md). It can be computed from any transcript that continues after a compaction.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from slicebase.context.lost.shell import simple_commands
from slicebase.context.lost.tools import (
    ASKERS,
    PATHS,
    READERS,
    SEARCHERS,
    argument,
    command_in,
    file_changes,
    tool_name,
)
from slicebase.context.lost.words import Passages, content_stems, names, sentences
from slicebase.core.hashing import tokens
from slicebase.graph.turn import Part, Turn, part_text

LookupKind = Literal["file", "search", "command", "question"]

_SOUGHT: Final = ("pattern", "query", "url")
_WHERE: Final = ("path", "glob", "prompt")

_SHOWS: Final = re.compile(
    r"(?:cat|head|tail|nl|less|bat|sed(?!\s(?:.*\s)?-\w*i))\s(?:.*\s)?(?P<path>[\w./~@+-]*[/.][\w./@+-]+)\Z"
)
_SEEKS: Final = re.compile(r"(?:grep|rg|ag|find|fd|git grep)\s(?P<rest>.+)\Z", re.DOTALL)
# Commands that show or change the state of the moment: to run one again is no sign of a loss.
_MOMENTARY: Final = re.compile(
    r"(?:ls|pwd|wc|which|du|df|ps|kill|mkdir|rm|mv|cp|touch|chmod|date|cat|head|tail|sed|less|nl|bat|tree|stat|file|diff|"
    r"awk|sort|jq|true|test|whoami|env|printenv|history|open|tee|ln|git (?:status|diff|log|show|add|commit|push|pull|"
    r"fetch|checkout|switch|restore|reset|stash|branch|rev-parse|rebase|merge|remote|rm|mv|config|clean|tag|worktree))\b"
)
_SEEN: Final = 400  # characters of a command
_SAME_WORDS: Final = 0.6  # of a question
_NEAR: Final = 3  # calls: a read this close before an edit of the same file is part of the edit


class LookedUp(NamedTuple):
    """Something that an agent looked up: where, and how many tokens its result has."""

    kind: LookupKind
    what: str
    turn: str
    tokens: int
    where: str = ""  # of a search: the folder or the question that it was limited to
    for_edit: bool = False  # a file that is read right before it is edited, or after the agent wrote it
    failed: bool = False

    @property
    def ref(self) -> str:
        """The reference of the turn that contains it."""
        return f"turn:{self.turn}"


class Repeated(NamedTuple):
    """Something that was looked up before a compaction, and the first time that it was looked up again after it."""

    first: LookedUp
    again: LookedUp
    in_summary: bool

    @property
    def tokens(self) -> int:
        """The tokens of the result that was fetched again."""
        return self.again.tokens


def repeated(before: Iterable[Turn], summary: str, after: Iterable[Turn]) -> list[Repeated]:
    """Returns what was looked up before and again after, in the order of the first lookup after the compaction.

    A lookup that failed gives nothing, and one of a file that the agent has written since is about what it wrote.
    """
    known = things(before)
    same = _Same(known)
    said = naming(summary, known.values())
    again: dict[tuple[str, ...], LookedUp] = {}
    for each in lookups(after):
        if not each.for_edit and not each.failed and (key := same.key(each)):
            again.setdefault(key, each)
    return [Repeated(known[key], found, said(known[key])) for key, found in again.items()]


def things(turns: Iterable[Turn]) -> dict[tuple[str, ...], LookedUp]:
    """Returns everything that was looked up, once for each thing: the last lookup of it."""
    return {_key(each): each for each in lookups(turns) if not each.failed}


def naming(text: str, of: Iterable[LookedUp]) -> Callable[[LookedUp], bool]:
    """Returns a function that says whether a text names a thing: a file by an end of its path that no other has."""
    passages = Passages(text)
    paths = [each.what for each in of if each.kind == "file"]
    return lambda each: _named(each, passages, paths)


def _named(each: LookedUp, text: Passages, paths: Sequence[str]) -> bool:
    if each.kind == "file":
        return any(text.quote([name]) for name in distinct_names(each.what, paths))
    if each.kind == "search":
        return any(text.quote([word]) for word in _sought_words(each.what))
    if each.kind == "command":
        return text.quote(simple_commands(each.what))
    return text.coverage(each.what) >= _SAME_WORDS


def distinct_names(path: str, others: Sequence[str]) -> list[str]:
    """Returns every end of a path that no other path has."""
    steps = [step for step in path.split("/") if step]
    ends = ["/".join(steps[at:]) for at in range(len(steps))]
    return [end for end in ends if sum(other == end or other.endswith("/" + end) for other in others) <= 1]


def _sought_words(pattern: str) -> list[str]:
    """Returns the words of a pattern by which a text names the search: the names in it, else its longest word."""
    words = re.findall(r"[\w./-]{4,}", pattern.replace("\\", " "))
    return [word for word in words if names(word)] or sorted(words, key=len)[-1:]


# Lookups


def lookups(turns: Iterable[Turn]) -> list[LookedUp]:
    """Returns the lookups of turns, in order."""
    turns = list(turns)
    results = {part.call_id: part for turn in turns for part in turn.parts if part.type == "tool_result"}
    found: list[tuple[int, LookedUp]] = []
    written: dict[str, list[int]] = {}  # by the last step of the path: the numbers of the calls that wrote it
    number = 0
    for turn in turns:
        for part in turn.parts:
            if part.type == "tool_call":
                number += 1
                for change in file_changes(part):
                    written.setdefault(_last_step(change.path), []).append(number)
                result = results.get(part.call_id) if part.call_id else None
                found += [(number, each) for each in _of_call(part, turn.id, result)]
            elif part.type == "text" and turn.role in ("user", "assistant") and not part.hidden:
                found += [(number, LookedUp("question", text, turn.id, tokens(text))) for text in _questions(part.text)]
    return [each._replace(for_edit=_is_for_edit(number, each, written)) for number, each in found]


def _is_for_edit(number: int, each: LookedUp, written: Mapping[str, Sequence[int]]) -> bool:
    at = written.get(_last_step(each.what), ()) if each.kind == "file" else ()
    return any(call <= number + _NEAR for call in at)


def _last_step(path: str) -> str:
    return path.rstrip("/").rsplit("/", 1)[-1]


def _of_call(part: Part, turn: str, result: Part | None) -> Iterator[LookedUp]:
    size = tokens(result.text or "") if result else 0
    failed = bool(result and result.error)
    for kind, what, where in _looked_up(part):
        yield LookedUp(kind, what, turn, size, where, failed=failed)


def _looked_up(part: Part) -> Iterator[tuple[LookupKind, str, str]]:
    name = tool_name(part)
    if command := command_in(name, part.arguments):
        yield from _of_command(command)
    elif name in READERS and (path := argument(part, PATHS)):
        yield "file", path, ""
    elif name in SEARCHERS and (sought := argument(part, _SOUGHT)):
        yield "search", sought, argument(part, _WHERE) or ""
    elif name in ASKERS:
        yield from (("question", text, "") for text in _questions(part_text(part)))


def _of_command(command: str) -> Iterator[tuple[LookupKind, str, str]]:
    lasting = []
    for simple in (each[:_SEEN] for each in simple_commands(command)):
        if shown := _SHOWS.match(simple):
            yield "file", shown["path"], ""
        elif seeks := _SEEKS.match(simple):
            yield "search", *_pattern_in(seeks["rest"])
        elif not _MOMENTARY.match(simple):
            lasting.append(simple)
    if lasting:
        yield "command", " && ".join(lasting), ""


def _pattern_in(arguments: str) -> tuple[str, str]:
    """Returns what a search command seeks, and where: its first quoted argument, else its first that is no flag."""
    quoted = re.search(r"""(["'])(.+?)\1""", arguments, re.DOTALL)
    plain = [word for word in arguments.split() if not word.startswith("-")]
    if quoted:
        return quoted[2], " ".join(word for word in arguments[quoted.end() :].split() if not word.startswith("-"))
    return (plain[0], " ".join(plain[1:])) if plain else (arguments, "")


def _questions(text: str | None) -> list[str]:
    return [
        each.text
        for each in sentences(text or "")
        if each.text.endswith("?") and len(each.text) <= 300 and len(content_stems(each.text)) >= 3
    ]


# The same thing


def _key(each: LookedUp) -> tuple[str, ...]:
    if each.kind == "question":
        return each.kind, " ".join(sorted(content_stems(each.what)))
    return (each.kind, each.what, each.where) if each.kind == "search" else (each.kind, each.what)


class _Same:
    """Finds the known thing that a lookup repeats."""

    def __init__(self, known: Mapping[tuple[str, ...], LookedUp]) -> None:
        self._known = known
        self._files: dict[str, list[str]] = {}
        self._questions: dict[str, list[tuple[str, ...]]] = {}
        for key, each in known.items():
            if each.kind == "file":
                self._files.setdefault(_last_step(each.what), []).append(each.what)
            elif each.kind == "question":
                for stem in content_stems(each.what):
                    self._questions.setdefault(stem, []).append(key)

    def key(self, each: LookedUp) -> tuple[str, ...] | None:
        """Returns the key of the known thing: a file also by an end of its path, a question by most of its words."""
        key = _key(each)
        if key in self._known:
            return key
        if each.kind == "file":
            like = [path for path in self._files.get(_last_step(each.what), ()) if _is_end(path, each.what)]
            return ("file", like[0]) if len(like) == 1 else None
        return self._question(content_stems(each.what)) if each.kind == "question" else None

    def _question(self, sought: frozenset[str]) -> tuple[str, ...] | None:
        near = dict.fromkeys(key for stem in sorted(sought) for key in self._questions.get(stem, ()))
        for key in near:
            stems = content_stems(self._known[key].what)
            if 5 * len(sought & stems) >= 4 * len(sought | stems):
                return key
        return None


def _is_end(path: str, other: str) -> bool:
    """Returns whether one of two paths is an end of the other, in whole steps."""
    longer, shorter = sorted((path, other), key=len, reverse=True)
    return longer.endswith("/" + shorter.removeprefix("./").lstrip("/"))
