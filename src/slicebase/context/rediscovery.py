"""What an agent looks up again after a compaction: files read, commands run, searches made, questions asked.

A lookup after the boundary that repeats one before it is what the agent pays for the loss (docs/lost.md). It can be
computed from any transcript that continues after a compaction.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, get_args

from slicebase.context.lost_shell import command_in, simple_commands
from slicebase.context.lost_words import Passages, content_stems, names, sentences
from slicebase.core.hashing import tokens
from slicebase.graph.turn import Part, Turn, part_text

LookupKind = Literal["file", "search", "command", "question"]
LOOKUP_KINDS: Final[tuple[LookupKind, ...]] = get_args(LookupKind)

READERS: Final = frozenset({"read", "read_file", "view", "view_image", "notebookread"})
WRITERS: Final = frozenset(
    {
        "edit", "multiedit", "write", "notebookedit", "write_file", "edit_file", "replace", "create_file",
        "str_replace_editor", "str_replace_based_edit_tool",
    }
)  # fmt: skip
SEARCHERS: Final = frozenset(
    {"grep", "glob", "search", "search_file_content", "websearch", "webfetch", "codebase_search"}
)
PATHS: Final = ("file_path", "path", "absolute_path", "notebook_path", "target_file", "filename")
_SOUGHT: Final = ("pattern", "query", "url")

_SHOWS: Final = re.compile(r"(?:cat|head|tail|sed|nl|less|bat)\s(?:.*\s)?(?P<path>[\w./~@+-]*[/.][\w./@+-]+)\Z")
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
    for_edit: bool = False  # a file that is read right before it is edited

    @property
    def ref(self) -> str:
        """The reference of the turn that contains it."""
        return f"turn:{self.turn}"


class Repeated(NamedTuple):
    """Something that stood before a compaction and was looked up again after it."""

    first: LookedUp
    again: tuple[LookedUp, ...]
    in_summary: bool

    @property
    def tokens(self) -> int:
        """The tokens of the results that were fetched again."""
        return sum(each.tokens for each in self.again)


def repeated(before: Iterable[Turn], summary: str, after: Iterable[Turn]) -> list[Repeated]:
    """Returns what was looked up before and again after, in the order of the first lookup after the compaction."""
    known = things(before)
    said = naming(summary, known.values())
    again: dict[tuple[str, str], list[LookedUp]] = {}
    for each in lookups(after):
        if not each.for_edit and (key := _same(each, known)):
            again.setdefault(key, []).append(each)
    return [Repeated(known[key], tuple(found), said(known[key])) for key, found in again.items()]


def things(turns: Iterable[Turn]) -> dict[tuple[str, str], LookedUp]:
    """Returns everything that was looked up, once for each thing: the last lookup of it."""
    return {_key(each): each for each in lookups(turns)}


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
    sizes = {part.call_id: tokens(part.text or "") for part in _parts(turns, "tool_result") if part.call_id}
    found: list[tuple[int, LookedUp]] = []
    written: list[tuple[int, str]] = []
    number = 0
    for turn in turns:
        for part in turn.parts:
            if part.type == "tool_call":
                number += 1
                written += [(number, path) for path in _written(part)]
                size = sizes.get(part.call_id or "", 0)
                found += [(number, LookedUp(kind, what, turn.id, size)) for kind, what in _of_call(part)]
            elif part.type == "text" and turn.role in ("user", "assistant") and not part.hidden:
                found += [(number, LookedUp("question", text, turn.id, tokens(text))) for text in _questions(part.text)]
    return [each._replace(for_edit=_is_for_edit(number, each, written)) for number, each in found]


def _parts(turns: Sequence[Turn], kind: str) -> Iterator[Part]:
    return (part for turn in turns for part in turn.parts if part.type == kind)


def _is_for_edit(number: int, each: LookedUp, written: Sequence[tuple[int, str]]) -> bool:
    return each.kind == "file" and any(path == each.what and number <= at <= number + _NEAR for at, path in written)


def _of_call(part: Part) -> Iterator[tuple[LookupKind, str]]:
    name = (part.name or "").lower()
    arguments: Mapping[str, Any] = part.arguments if isinstance(part.arguments, dict) else {}
    if command := command_in(name, part.arguments):
        yield from _of_command(command)
    elif name in READERS and (path := first_text(arguments, PATHS)):
        yield "file", path
    elif name in SEARCHERS and (sought := first_text(arguments, _SOUGHT)):
        yield "search", sought
    elif name == "askuserquestion":
        yield from (("question", text) for text in _questions(part_text(part)))


def _of_command(command: str) -> Iterator[tuple[LookupKind, str]]:
    lasting = []
    for simple in (each[:_SEEN] for each in simple_commands(command)):
        if shown := _SHOWS.match(simple):
            yield "file", shown["path"]
        elif seeks := _SEEKS.match(simple):
            yield "search", _pattern_in(seeks["rest"])
        elif not _MOMENTARY.match(simple):
            lasting.append(simple)
    if lasting:
        yield "command", " && ".join(lasting)


def _pattern_in(arguments: str) -> str:
    """Returns what a search command seeks: its first quoted argument, else its first that is no flag."""
    quoted = re.search(r"""(["'])(.+?)\1""", arguments, re.DOTALL)
    plain = [word for word in arguments.split() if not word.startswith("-")]
    return quoted[2] if quoted else plain[0] if plain else arguments


def _written(part: Part) -> Iterator[str]:
    if (part.name or "").lower() in WRITERS and isinstance(part.arguments, dict):
        path = first_text(part.arguments, PATHS)
        if path:
            yield path


def first_text(arguments: Mapping[str, Any], names: Iterable[str]) -> str | None:
    """Returns the first of the named arguments that is a text."""
    return next((arguments[key] for key in names if isinstance(arguments.get(key), str) and arguments[key]), None)


def _questions(text: str | None) -> list[str]:
    return [
        each.text
        for each in sentences(text or "")
        if each.text.endswith("?") and len(each.text) <= 300 and len(content_stems(each.text)) >= 3
    ]


# The same thing


def _key(each: LookedUp) -> tuple[str, str]:
    if each.kind == "question":
        return each.kind, " ".join(sorted(content_stems(each.what)))
    return each.kind, each.what


def _same(each: LookedUp, known: Mapping[tuple[str, str], LookedUp]) -> tuple[str, str] | None:
    """Returns the key of the known thing that a lookup repeats: for a question, one with most of its words."""
    key = _key(each)
    if key in known or each.kind != "question":
        return key if key in known else None
    sought = content_stems(each.what)
    for other, lookup in known.items():
        if lookup.kind == "question":
            stems = content_stems(lookup.what)
            if 5 * len(sought & stems) >= 4 * len(sought | stems):
                return other
    return None
