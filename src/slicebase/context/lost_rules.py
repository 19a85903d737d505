"""The rules that recognise items of a transcript and find them in a summary, as readable tables (docs/lost.md).

The rules have three parts: sentences and the words by which a summary keeps them, shell commands and their results, and
the phrases and tools of each kind of item.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from math import ceil
from typing import Any, Final, Literal, NamedTuple, get_args

from slicebase.graph.annotate import CORRECTED, DECIDED, phrase_patterns, words_in

# Sentences

_CODE: Final = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1`*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_BREAK: Final = re.compile(
    r"\n\s*\n"  # a paragraph ends
    r"|\n(?=\s*(?:[-*+•>#|]|\d+[.)])\s)"  # an entry of a list, a heading or a row of a table begins
    r"|\n(?=\s*[^\sa-z])"  # a line that does not continue a sentence
    r"|(?<=[.!?])[\"')*]*\s+(?=[^\sa-z])|(?<=[。！？])"
)
_MARKS: Final = re.compile(r"(?:\s|[-*+•>#|](?=\s)|\d+[.)](?=\s)|\[[ xX]\]|\*\*(?=\w))*")
_FIGURE: Final = re.compile(r"\d+(?:[.,:]\d+)*")

# Words that two sentences may share without having the same subject.
_COMMON: Final = frozenset(
    {
        "a", "about", "after", "again", "agreed", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be",
        "because", "been", "before", "being", "but", "by", "can", "could", "d", "decided", "decision", "decisions",
        "did", "do", "does", "don", "for", "from", "get", "go", "got", "had", "has", "have", "he", "her", "here", "him",
        "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "let", "like", "ll", "m", "make", "me",
        "more", "my", "need", "no", "not", "now", "of", "on", "one", "only", "or", "our", "out", "please", "re", "s",
        "she", "should", "so", "some", "still", "t", "than", "that", "the", "their", "them", "then", "there", "these",
        "they", "this", "those", "to", "too", "up", "us", "use", "ve", "very", "want", "was", "way", "we", "were",
        "what", "when", "where", "which", "while", "who", "why", "will", "with", "would", "yes", "yet", "you", "your",
    }
)  # fmt: skip
_ENDINGS: Final = ("ing", "ed", "es", "s")
_WINDOW: Final = 3  # consecutive sentences


class Sentence(NamedTuple):
    """A sentence, and its span in the text."""

    text: str
    start: int
    end: int


def sentences(text: str) -> Iterator[Sentence]:
    """Yields sentences, list entries, headings and table rows, without fenced code."""
    for start, end in _prose(text):
        place = start
        for match in (*_BREAK.finditer(text, start, end), None):
            stop = match.start() if match else end
            first = min(_MARKS.match(text, place, stop).end(), stop)  # type: ignore[union-attr]  # it also matches the empty text
            sentence = text[first:stop].rstrip()
            if sentence:
                yield Sentence(sentence, first, first + len(sentence))
            place = match.end() if match else end


def _prose(text: str) -> Iterator[tuple[int, int]]:
    place = 0
    for match in _CODE.finditer(text):
        yield place, match.start()
        place = match.end()
    yield place, len(text)


def says(text: str, phrases: tuple[str, ...]) -> bool:
    """Returns whether the text contains one of the phrases, word for word."""
    words = f" {' '.join(words_in(text))} "
    return any(phrase in words for _, phrase in phrase_patterns(phrases))


@lru_cache(maxsize=4096)
def content_stems(text: str) -> frozenset[str]:
    """Returns the stems of the content words, which are all words but the common ones."""
    return frozenset(_stem(word) for word in words_in(text) if word not in _COMMON)


def figures(text: str) -> frozenset[str]:
    """Returns the numbers in a text."""
    return frozenset(_FIGURE.findall(text))


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            break
    return word.removesuffix("e") if len(word) > 3 else word


class Passages:
    """A text in which sentences are searched, in windows of a few consecutive sentences."""

    def __init__(self, text: str) -> None:
        self.text = " ".join(text.split())
        parts = [sentence.text for sentence in sentences(text)]
        self._windows = [_window(parts[at : at + _WINDOW]) for at in range(len(parts))]

    def hold(self, sentence: str, share: float, *, with_figures: bool) -> bool:
        """Returns whether a window has this share of a sentence's content words and, if asked for, all its numbers."""
        sought = content_stems(sentence)
        least = min(max(ceil(share * len(sought)), 2), len(sought))
        numbers = figures(sentence) if with_figures else frozenset()
        return bool(sought) and any(numbers <= known and len(sought & stems) >= least for stems, known in self._windows)

    def quote(self, literals: Iterable[str]) -> bool:
        """Returns whether the text contains each of these exactly, and not as part of a longer name."""
        return all(_quoted(literal).search(self.text) for literal in literals)


def _window(parts: Sequence[str]) -> tuple[frozenset[str], frozenset[str]]:
    return frozenset().union(*map(content_stems, parts)), frozenset().union(*map(figures, parts))


@lru_cache(maxsize=4096)
def _quoted(literal: str) -> re.Pattern[str]:
    """Returns the pattern of a quotation. A plain word counts only in backticks, since prose has such words too."""
    if re.fullmatch(r"[a-z]+", literal):
        return re.compile(f"`{literal}`")
    return re.compile(rf"(?<![\w.-]){re.escape(literal)}(?![\w:/-]|\.\w)")


# Shell commands and their results

# Tools whose arguments contain a shell command.
SHELLS: Final = frozenset(
    {"bash", "shell", "local_shell", "exec_command", "container.exec", "run_shell_command", "run_terminal_cmd"}
)
_COMMAND_KEYS: Final = ("command", "cmd")
_TRIVIAL: Final = re.compile(
    r"(?:cd|pushd|popd|export|set|unset|source|echo|printf|sleep|wait|true|false|clear|exit|break|done|fi|for|while|if)\b|\.\s|#"
)
# From the beginning of a word, and without a way back: the time is linear.
_LEADING: Final = re.compile(r"(?<!\S)(?:(?:do|then|else|!|\(|\{|[A-Za-z_]\w*+=\S*+)\s++)++")
_TOKEN: Final = re.compile(
    r"""(?P<quoted>'[^']*'|"(?:\\.|[^"\\])*"|\\.)"""
    r"|(?P<document><<.*\Z)"
    r"|(?P<redirected>(?:\d|&)?>{1,2}\s*(?:&\d|[^\s;|&]+))"
    r"|(?P<next>&&|\|\||[;\n])|(?P<pipe>\|&?)|(?P<background>&)|(?P<other>[^'\"\\<>;|&\n\d]+|.)",
    re.DOTALL,
)
_WRAPPER: Final = (
    r"(?:(?:\w+=\S*|sudo|time|env|timeout \S+|(?:uv|poetry|pipenv|hatch|pdm|rye) run|npx|bunx|pnpm exec|yarn exec|"
    r"bundle exec|\S*python3?(?:\.\d+)? -m)\s+)*(?:\S*/)?"
)
_TEST: Final = re.compile(
    _WRAPPER
    + r"(?:(?:pytest|py\.test|tox|nox|jest|vitest|mocha|ctest|rspec|phpunit|unittest|playwright test|cypress run)\b"
    r"|(?:go|cargo|npm|pnpm|yarn|bun|deno|dotnet|swift|mvn|gradlew?|make|just|task|mise|rake|mix|bazel|sbt|zig)"
    r"\s(?:.*\s)?(?:\w+:)?tests?\b)"
)
_EXIT: Final = re.compile(r"\bexit(?:ed with)? (?:code|status):? (\d+)", re.IGNORECASE)
_HEAD: Final = 300  # characters at the beginning, where a tool reports how a command ended
_FAILED_TESTS: Final = re.compile(
    r"\b[1-9]\d* (?:failed|failures?|failing|errors?)\b|^(?:---\s)?FAIL(?:ED)?\b", re.MULTILINE
)
_RESULT_LINE: Final = re.compile(
    r"^.*\b\d+ (?:passed|failed|passing|failing|failures?|errors?)\b.*$"
    r"|^(?:test result:|Tests:|ok\b|FAIL\b|PASS\b|OK\b).*$",
    re.MULTILINE,
)
_TEST_COUNTS: Final = re.compile(r"\b\d+ (?:passed|failed|passing|failing|failures?|errors?)\b")
_FAILED_NAME: Final = re.compile(r"^(?:FAILED|--- FAIL:|FAIL:?|✕|×)\s+([\w./:\[\]-]+)", re.MULTILINE)

_RAISED: Final = re.compile(r"^(?:[\w.]*(?:Error|Exception)\b|FAILED |--- FAIL: ).*$", re.MULTILINE)
_LOCATED: Final = re.compile(r"^[\w./-]+:\d+(?::\d+)?: .+$", re.MULTILINE)
_FAILING: Final = re.compile(
    r"^.*\b(?:error|errors|exception|fail|failed|failure|fatal|cannot|can't|not found|no such|denied|undefined|panic|"
    r"refused|timed out|timeout|conflict|invalid)\b.*$",
    re.IGNORECASE | re.MULTILINE,
)

Ended = Literal["ok", "failed"]


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
    return given.strip() or None if isinstance(given, str) else None


def simple_commands(command: str) -> tuple[str, ...]:
    """Returns the first command of each pipeline without redirections, except trivial ones such as `cd` and `echo`."""
    return tuple(
        plain for segment in _segments(command) if (plain := _LEADING.sub("", segment)) and not _TRIVIAL.match(plain)
    )


def _segments(command: str) -> Iterator[str]:
    words: list[str] = []
    in_pipe = False
    for match in _TOKEN.finditer(command):
        if match.lastgroup == "next":
            yield " ".join("".join(words).split())
            words, in_pipe = [], False
        elif match.lastgroup == "pipe":
            in_pipe = True
        elif match.lastgroup in ("quoted", "other") and not in_pipe:
            words.append(match[0])
    yield " ".join("".join(words).split())


def is_test(simple: tuple[str, ...]) -> bool:
    """Returns whether one of these commands runs tests."""
    return any(_TEST.match(each) for each in simple)


def exit_code(output: str) -> int | None:
    """Returns the exit code that a tool reports at the beginning of its output."""
    match = _EXIT.search(output, 0, _HEAD)
    return int(match[1]) if match else None


def how_tests_ended(output: str, *, error: bool) -> Ended:
    """Returns whether a test run failed, by its output or by the report of the tool."""
    return "failed" if error or _FAILED_TESTS.search(output) else "ok"


def result_line(output: str) -> str:
    """Returns the line with the result of the tests, the last if there are several."""
    lines = _RESULT_LINE.findall(output)
    return " ".join(lines[-1].strip(" =-").split()) if lines else ""


def result_traces(output: str) -> list[str]:
    """Returns the texts that identify a test run: how many tests passed and failed, and the names of failed tests."""
    return [*_TEST_COUNTS.findall(result_line(output)), *_FAILED_NAME.findall(output)]


def error_line(output: str) -> tuple[str, int]:
    """Returns the line that says what went wrong, and its offset: the last raised error, else the first complaint."""
    raised = list(_RAISED.finditer(output))
    match = raised[-1] if raised else _LOCATED.search(output) or _FAILING.search(output)
    lines: Iterator[re.Match[str]] = re.finditer(r"^.*\S.*$", output, re.MULTILINE)
    found = match or next((line for line in lines if exit_code(line[0]) is None), None)
    return (found[0], found.start()) if found else ("", 0)


# Kinds of items, and the phrases and tools by which they are recognised

LostKind = Literal["decision", "instruction", "task", "error", "test", "file", "command"]
LOST_KINDS: Final[tuple[LostKind, ...]] = get_args(LostKind)

DECISIONS: Final = (
    *DECIDED, "i'll go with", "we'll go with", "i went with", "went with", "going with", "settled on", "opted for",
    "i chose", "we chose", "chose to", "agreed to", "agreed on", "agreed that",
)  # fmt: skip
# "Instead" is a correction only at the end of a sentence; elsewhere it compares.
CORRECTIONS: Final = (
    *(phrase for phrase in CORRECTED if phrase != "instead"),
    "revert",
    "undo",
    "i said",
    "i told you",
)
ASKED: Final = (
    "always", "never", "don't", "do not", "must", "mustn't", "make sure", "ensure", "please", "should", "shouldn't",
    "need", "needs", "want", "can you", "can we", "could you", "could we", "would you", "let's", "only", "avoid",
    "prefer", "remember", "before you", "no need", "not allowed", "from now on",
)  # fmt: skip
ORDERS: Final = frozenset(
    {
        "add", "adjust", "allow", "apply", "ask", "build", "bump", "call", "change", "check", "clean", "commit",
        "compare", "continue", "convert", "copy", "create", "cut", "delete", "deploy", "describe", "disable", "do",
        "document", "drop", "enable", "explain", "extend", "find", "finish", "fix", "format", "give", "go", "handle",
        "hide", "implement", "improve", "include", "investigate", "keep", "leave", "list", "look", "merge", "migrate",
        "move", "open", "pin", "port", "prepare", "print", "push", "put", "read", "rebase", "redo", "refactor",
        "remove", "rename", "repeat", "replace", "rerun", "restore", "review", "rewrite", "run", "set", "show",
        "simplify", "skip", "sort", "split", "start", "support", "switch", "take", "tell", "tidy", "treat", "try",
        "turn", "undo", "update", "upgrade", "use", "validate", "verify", "wait", "wire", "wrap", "write",
    }
)  # fmt: skip
OPEN: Final = (
    "todo", "still to do", "still need to", "still needs to", "still have to", "left to do", "remaining work",
    "for later", "come back to", "follow up", "not done yet", "next step", "next steps",
)  # fmt: skip
# Texts that a client writes in the name of the user.
INJECTED_TEXT: Final = re.compile(
    r"\s*(?:<(?:command-|local-command|system-reminder|bash-|task-|user-|ide_|environment_)|\[Request interrupted|"
    r"Caveat: The messages below|This session is being continued|If you need specific details from before)"
)
# Tools that read or write one file. The first of the PATHS in their arguments is the file.
FILES: Final = {
    **dict.fromkeys(("read", "read_file", "view", "view_image", "notebookread"), "read"),
    **dict.fromkeys(("edit", "multiedit", "write", "notebookedit", "write_file", "edit_file", "replace"), "written"),
    **dict.fromkeys(("create_file", "str_replace_editor", "str_replace_based_edit_tool"), "written"),
}
PATHS: Final = ("file_path", "path", "absolute_path", "notebook_path", "target_file", "filename")
PATCHED: Final = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
# Tools that write a complete list of tasks: the key of the list, and the key of the text of an entry.
TODO_LISTS: Final = {
    "todowrite": ("todos", "content"),
    "write_todos": ("todos", "description"),
    "update_plan": ("plan", "step"),
}
DONE: Final = frozenset({"completed", "done", "cancelled", "canceled", "deleted"})
TASK_NUMBER: Final = re.compile(r"Task #(\w+)")

REFUSED: Final = re.compile(
    r"(?:user|person) (?:doesn't|does not|didn't) want to|rejected by (?:the )?user", re.IGNORECASE
)
REASON: Final = re.compile(r"the user (?:said|provided the following reason[^:]*):\s*(.+)", re.DOTALL | re.IGNORECASE)
CORRECTION: Final[tuple[LostKind, str]] = ("instruction", "correction")


def kind_of_sentence(text: str, *, by_user: bool) -> tuple[LostKind, str] | None:
    """Returns the kind and the mark of a sentence; None if it is not an item."""
    is_question = text.endswith("?")
    if not is_question and says(text, DECISIONS):
        return "decision", "by the user" if by_user else "by the assistant"
    if by_user and (says(text, CORRECTIONS) or words_in(text)[-1:] == ["instead"]):
        return CORRECTION
    if by_user and (is_question or says(text, ASKED) or _first_word(text) in ORDERS):
        return "instruction", "asked"
    return ("task", "said") if not is_question and says(text, OPEN) else None


def _first_word(text: str) -> str:
    match = re.match(r"[^\W\d]+", text)
    return match[0].lower() if match else ""
