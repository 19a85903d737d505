"""Shell commands: the pipelines of a script with their places, and what tools report of how they ended."""

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

_TRIVIAL: Final = re.compile(
    r"(?:cd|pushd|popd|export|set|unset|source|echo|printf|sleep|wait|true|false|clear|exit|break|done|fi|for|while|if)\b|\.\s|#"
)
# Without a way back: the time is linear.
_LEADING: Final = re.compile(
    r"""\A(?:(?:do|then|else|!|\(|\{)\s++|[A-Za-z_]\w*+=(?:'[^']*+'|"[^"]*+"|[^\s'"]|['"])*+(?:\s++|\Z))++"""
)
_TOKEN: Final = re.compile(
    r"""(?P<quoted>'[^']*'|"(?:\\.|[^"\\])*"|\\.)"""
    r"""|(?P<redirected><<<\s*(?:'[^']*'|"[^"]*"|\S+)|<<-?\s*\S+|(?:\d|&)?>{1,2}\s*(?:&\d|[^\s;|&]+))"""
    r"|(?P<next>&&|\|\||[;\n])|(?P<pipe>\|&?)|(?P<background>&)|(?P<other>[^'\"\\<>;|&\n\d]+|.)",
    re.DOTALL,
)
_DOCUMENT: Final = re.compile(r"<<(?!<)-?\s*(['\"]?)([A-Za-z_]\w*)\1")

# Commands that only look around.
LOOKING: Final = re.compile(
    r"(?:cat|head|tail|less|ls|find|fd|grep|rg|ag|wc|which|stat|file|tree|diff|jq|awk|sed -n|nl|"
    r"ps|pgrep|lsof|du|df|pwd|readlink|realpath|type|command -v|test -\w|sort|cut|"
    r"git (?:status|diff|log|show|grep|ls-files|ls-tree|ls-remote|blame|rev-parse|rev-list|branch|cat-file|reflog|"
    r"merge-base|show-ref|for-each-ref|remote|describe|check-ignore))\b"
)


_CHANGES_FOLDER: Final = re.compile(
    r"\s*(?:cd|pushd)\s+(?:--\s+)?('[^'$]+'|\"[^\"$]+\"|[^\s;&|$'\"-][^\s;&|$'\"]*)\s*(?:&&|;|\n)"
)


def first_folder(script: str) -> str:
    """Returns the folder that a script changes to first; nothing if it does not, or if the folder is not known."""
    match = _CHANGES_FOLDER.match(script)
    folder = match[1].strip("'\"").rstrip("/") if match else ""
    return "" if folder.startswith("..") else folder.removeprefix("./")


# `bash -c "…"` as a whole, also after `sudo` or `timeout`. Without a way back: the time is linear.
_SHELL_IN_SHELL: Final = re.compile(
    r"""(?:sudo\s+|timeout\s+\S+\s+)*+(?:/\S*/)?(?:bash|sh|zsh)\s+-[a-z]*c\s+(?P<mark>['"])"""
    r"""(?P<script>(?:(?!(?P=mark))[^\\]|\\.)*+)(?P=mark)""",
    re.DOTALL,
)


def script_in(command: str) -> str:
    """Returns the script that a command gives to a shell; any other command as it is."""
    inner = _SHELL_IN_SHELL.fullmatch(command)
    if inner is None:
        return command
    return inner["script"].replace('\\"', '"') if inner["mark"] == '"' else inner["script"]


class Pipeline(NamedTuple):
    """A pipeline of a script: the plain text of each of its commands, and its span in the script."""

    stages: tuple[str, ...]
    start: int
    end: int

    @property
    def first(self) -> str:
        """The first command, which says what the pipeline is for. Others mostly shorten its output."""
        return self.stages[0]


def pipelines(script: str) -> list[Pipeline]:
    """Returns the pipelines of a script, without redirections, documents and trivial commands such as `cd`."""
    return [each for each in _pipelines(without_documents(script)) if each.first and not _TRIVIAL.match(each.first)]


def simple_commands(script: str) -> tuple[str, ...]:
    """Returns the first command of each pipeline."""
    return tuple(each.first for each in pipelines(script))


def _pipelines(script: str) -> Iterator[Pipeline]:
    stages: list[list[str]] = [[]]
    start = 0
    for match in _TOKEN.finditer(script):
        if match.lastgroup == "next":
            yield _pipeline(script, stages, start, match.start())
            stages, start = [[]], match.end()
        elif match.lastgroup == "pipe":
            stages.append([])
        elif match.lastgroup in ("quoted", "other"):
            stages[-1].append(match[0])
    yield _pipeline(script, stages, start, len(script))


def _pipeline(script: str, stages: list[list[str]], start: int, end: int) -> Pipeline:
    plain = tuple(_LEADING.sub("", " ".join("".join(words).split())) for words in stages)
    body = script[start:end]
    return Pipeline(plain, start + len(body) - len(body.lstrip()), start + len(body.rstrip()))


def without_documents(script: str) -> str:
    """Returns a script with the documents that it contains (`<<EOF`) blank, so that offsets do not change."""
    pieces: list[str] = []
    place = 0
    while match := _DOCUMENT.search(script, place):
        line_end = script.find("\n", match.end())
        if line_end < 0:
            break
        closing = re.compile(rf"^[ \t]*{match[2]}[ \t]*$", re.MULTILINE).search(script, line_end + 1)
        end = closing.end() if closing else len(script)
        pieces += [script[place:line_end], "\n", " " * (end - line_end - 1)]
        place = end
    return "".join([*pieces, script[place:]]) if pieces else script


# What a script runs and writes

_BEFORE: Final = frozenset({"sudo", "time", "nice", "nohup", "env", "command"})
_GIT_PLACE: Final = frozenset({"-C", "-c", "--git-dir", "--work-tree"})
_REMOVING: Final = frozenset({"rm", "unlink", "rmdir"})
_WRITING: Final = frozenset({"tee", "truncate", "touch"})
_REDIRECTED: Final = re.compile(r"(?<![<>&\d])>{1,2}\s*([^\s;|&<>()]+)")
_WORDS: Final = re.compile(r"""(?:'[^']*'|"[^"]*"|[^\s'"])+""")


def commands_run(script: str) -> Iterator[list[str]]:
    """Yields the words of each command that a script runs."""
    for pipeline in pipelines(script):
        for stage in pipeline.stages:
            words = [word.strip("'\"") for word in _WORDS.findall(stage)]
            while words and words[0] in _BEFORE:
                yield words
                words = words[1:]
            while len(words) > 2 and words[0] == "git" and words[1] in _GIT_PLACE:
                words = [words[0], *words[3:]]
            if words:
                yield words


def files_written(script: str) -> Iterator[tuple[str, bool]]:
    """Yields the paths that a script writes, and whether it removes or renames each."""
    for command in commands_run(script):
        words = command[1:] if command[:2] in (["git", "rm"], ["git", "mv"]) else command
        names = [word for word in words[1:] if not word.startswith("-")]
        if words[0] == "mv":
            yield from ((name, name != names[-1]) for name in names)
        elif words[0] in _REMOVING | _WRITING:
            yield from ((name, words[0] in _REMOVING) for name in names)
        elif words[0] == "cp" or (words[0] in ("sed", "perl") and any(_IN_PLACE.match(word) for word in words)):
            yield words[-1], False
    plain = _unquoted(without_documents(script))
    yield from ((match[1].strip("'\""), False) for match in _REDIRECTED.finditer(plain))


_IN_PLACE: Final = re.compile(r"-[nrsEpz0]*i|--in-place")


def _unquoted(script: str) -> str:
    return re.sub(r"'[^']*'|\"[^\"]*\"", lambda match: " " if " " in match[0] or ">" in match[0] else match[0], script)


# How it ended

_EXIT: Final = re.compile(r"\bexit(?:ed with)? (?:code|status):? (\d+)", re.IGNORECASE)
_HEAD: Final = 300  # characters at the beginning, where a tool reports how a command ended
_FAILED_TESTS: Final = re.compile(
    r"\b[1-9]\d* (?:failed|failures?|failing|errors?)\b|^(?:---\s)?FAIL(?:ED)?\b", re.MULTILINE
)
_NAMED_FAILURE: Final = re.compile(r"\b[1-9]\d* (?:failed|failing)\b|^(?:---\s)?FAIL(?:ED)?\b", re.MULTILINE)
_RAISED: Final = re.compile(r"^(?:[\w.]*(?:Error|Exception)\b|FAILED |--- FAIL: ).*$", re.MULTILINE)
_LOCATED: Final = re.compile(r"^[\w./-]+:\d+(?::\d+)?: .+$", re.MULTILINE)
_FAILING: Final = re.compile(
    r"^.*\b(?:error|errors|exception|fail|failed|failure|fatal|cannot|can't|not found|no such|denied|undefined|panic|"
    r"refused|timed out|timeout|conflict|invalid)\b.*$",
    re.IGNORECASE | re.MULTILINE,
)

Ended = Literal["ok", "failed"]


def exit_code(output: str) -> int | None:
    """Returns the exit code that a tool reports at the beginning of its output."""
    match = _EXIT.search(output, 0, _HEAD)
    return int(match[1]) if match else None


def how_tests_ended(output: str) -> Ended:
    """Returns whether a test run failed, by its output."""
    return "failed" if _FAILED_TESTS.search(output) else "ok"


def tests_fail(output: str) -> bool:
    """Returns whether an output can only be that of tests which fail. A linter counts errors, too."""
    return _NAMED_FAILURE.search(output) is not None


_COMPLAINS: Final = re.compile(
    r"^(?:\S+?[:(]\d+(?:[:,]\d+)?\)?: |\S*make(?:\[\d+\])?: \*\*\* |(?:error|fatal)(?:\[\w+\]| \w+)?: |"
    r"npm (?:ERR!|error)\s|Traceback \(most recent|BUILD FAILED|Build failed)",
    re.MULTILINE,
)


def complains(output: str) -> bool:
    """Returns whether an output has lines as a compiler, a linter or an interpreter writes them when it fails."""
    return _COMPLAINS.search(output) is not None


def error_line(output: str) -> tuple[str, int]:
    """Returns the line that says what went wrong, and its offset: the last raised error, else the first complaint."""
    raised = list(_RAISED.finditer(output))
    match = raised[-1] if raised else _LOCATED.search(output) or _FAILING.search(output)
    lines: Iterator[re.Match[str]] = re.finditer(r"^.*\S.*$", output, re.MULTILINE)
    found = match or next((line for line in lines if exit_code(line[0]) is None), None)
    return (found[0], found.start()) if found else ("", 0)
