"""What the calls of a transcript were for, and how they ended: which of them failed, and what makes that good again.

A failure is made good by a later success of the same intention: the same call; for a writing tool, a change of the same
file by a tool or a command; for a test, the same test, its file, or a folder around it; for any other command, the same
program with the same subcommand, target or script, not in another folder, and not for other files or packages
(`lost/aims.py`). A run of all tests also makes good what they test and build, in the same language. Of several commands
in one call all have to succeed; where the output says that tests failed, it is the tests. A failure is no
longer reported, too, if the same command fails again and its output does not say it any more. A command whose status a
pipe or `|| true` hides, and that complains, has not succeeded.

What the user refused or interrupted is no failure, and neither is a message of the client, or that something was not
found.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, Literal, NamedTuple

from slicebase.context.lost.aims import command_aims, language_of, targets_of_tests
from slicebase.context.lost.commands import class_of
from slicebase.context.lost.shell import (
    LOOKING,
    complains,
    error_line,
    exit_code,
    files_written,
    first_folder,
    how_tests_ended,
    simple_commands,
    tests_fail,
)
from slicebase.context.lost.speech import INTERRUPTED, REFUSED, is_client_result, without_reminders
from slicebase.context.lost.tools import (
    PATHS,
    PLANNERS,
    READERS,
    SEARCHERS,
    argument,
    command_in,
    file_changes,
    tool_name,
)
from slicebase.core.hashing import canonical, digest_of
from slicebase.graph.turn import Part, part_text

_LONGEST: Final = 160  # characters of a call
_LONGEST_LINE: Final = 300
_HEAD: Final = 300  # characters of a result, in which a client says that the call was refused
_MOST_FOLLOWED: Final = 500  # open failures that one success is compared with, of each intention

Intention = tuple[str, ...]
CallEnd = Literal["ok", "failed", "refused", "nothing"]


class CallOutcome(NamedTuple):
    """How a call ended. `needs` are the intentions that all have to succeed before its failure is made good."""

    ended: CallEnd
    call: Intention
    needs: frozenset[Intention] = frozenset()
    writes: frozenset[Intention] = frozenset()  # files that a command writes or removes
    tested: frozenset[Intention] = frozenset()  # those of the needs that a run of all tests succeeds with, too
    is_whole: bool = False  # it tests everything
    folder: str = ""  # that the command changes to first
    languages: frozenset[str] = frozenset()  # of what it tests, builds or checks
    where: str = ""
    why: str = ""
    output: str = ""

    @property
    def fingerprint(self) -> str:
        """What all repetitions of a failure have in common: what was tried, and what went wrong."""
        return digest_of([sorted(map(list, self.needs)) or list(self.call), normalised(self.why)])


def outcome(call: Part | None, result: Part) -> CallOutcome:
    """Returns how a call ended, given its result."""
    text = without_reminders(part_text(result))
    if call is None:
        call = Part("tool_call", name="tool", arguments="")
    name = tool_name(call)
    command = command_in(name, call.arguments)
    simple = tuple(each for each in simple_commands(command) if not LOOKING.match(each)) if command else ()
    classes = {one: what for one in simple if (what := class_of(one)) and what != "call"}
    tests = {one for one, what in classes.items() if what == "test"}
    ended = _ended(name, command, simple, result, text, bool(tests))
    tried = tests if ended == "failed" and tests and tests_fail(text) else simple
    found = CallOutcome(
        ended,
        ("call", name, canonical(call.arguments).decode()),
        frozenset([*_commands(tried, tests), *_changes(call)]),
        frozenset(("file", path) for path in _written(command or "")),
        frozenset(_commands((one for one in tried if classes.get(one) in ("test", "build")), tests)),
        any("" in targets_of_tests(one) for one in tests),
        first_folder(command or ""),
        frozenset(language for one in classes if (language := language_of(one))),
        _where(call, command),
    )
    if found.ended != "failed":
        return found
    line = " ".join(error_line(text)[0].split())
    return found._replace(why=_cut(line or "no message", _LONGEST_LINE), output=text)


def _ended(name: str, command: str | None, simple: tuple[str, ...], result: Part, text: str, is_test: bool) -> CallEnd:
    tested = is_test and how_tests_ended(text) == "failed"
    if not (result.error or tested or (command and exit_code(text))):
        return "nothing" if command and _HIDES_STATUS.search(command) and complains(text) else "ok"
    if REFUSED.search(text, 0, _HEAD) or INTERRUPTED.match(text):
        return "refused"
    looks = name in READERS | SEARCHERS or (command is not None and not simple)
    return "nothing" if looks or (text.strip() and is_client_result(text)) else "failed"


_HIDES_STATUS: Final = re.compile(r"[|;\n]")


def _commands(simple: Iterable[str], tests: set[str]) -> Iterator[Intention]:
    """Yields what commands are for."""
    for one in simple:
        if one in tests:
            yield from (("test", target) for target in targets_of_tests(one))
        else:
            yield from (("command", *aim) for aim in command_aims(one))


def _changes(call: Part) -> Iterator[Intention]:
    """Yields the files that a call changes, or what else it is for if it runs no command."""
    changes = file_changes(call)
    yield from (("file", change.path) for change in changes)
    if tool_name(call) in PLANNERS:
        yield "tool", tool_name(call)  # another plan is for the same
    path = argument(call, PATHS)
    if path and not changes and tool_name(call) not in READERS | SEARCHERS:
        yield "tool", tool_name(call), path


_WRITES: Final = re.compile(r"\.write(?:_text|_bytes|FileSync)?\(|\bopen\([^()]*,\s*(?:mode=)?['\"][wa+]")
_FILE: Final = re.compile(r"""['"]([^'"\s]+\.\w+)['"]""")


def _written(command: str) -> Iterator[str]:
    """Yields the files that a command writes or removes; of a program in it that writes files, all that it names."""
    yield from (path for path, _ in files_written(command))
    if _WRITES.search(command):
        yield from _FILE.findall(command)


_IN_WORDS: Final = ("plan", "url", "query", "pattern", "prompt")  # arguments that say by themselves what a call is for


def _where(call: Part, command: str | None) -> str:
    said = command or argument(call, (*PATHS, *_IN_WORDS)) or canonical(call.arguments).decode()
    return _cut(f"{call.name or 'tool'}: {' '.join(said.split())}", _LONGEST)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


_VARIES: Final = re.compile(
    r"(?P<path>(?<![\w.~@+-])(?:~|\.{1,2})?/(?:[\w.~@+-]*/)*)|(?P<hex>\b(?:0x[0-9a-f]+|[0-9a-f]{7,})\b)|"
    r"(?P<number>(?<![A-Za-z_\d])\d+(?:[.,:]\d+)*)|(?P<space>\s+)"
)
_INSTEAD: Final = {"path": "", "hex": "#", "number": "0", "space": " "}


def normalised(text: str) -> str:
    """Returns a text without what varies between runs: folders from the root, numbers, times and hashes.

    A number inside a name (`TS2304`, `test_case_1`) stays: it tells two failures apart.
    """
    return _VARIES.sub(lambda match: _INSTEAD[match.lastgroup or ""], text)


_TESTED: Final[Intention] = ("tested",)  # the key of the failures of which a run of all tests says something


class OpenFailures:
    """The failures that nothing has made good yet, by what would do so."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[CallOutcome, set[Intention]]] = {}
        self._by_need: dict[Intention, dict[str, None]] = {}

    def add(self, name: str, failed: CallOutcome) -> list[str]:
        """Adds a failure. Returns the names of those that the same command no longer reports."""
        known = self._by_need.get(_identity(failed), ())
        same = [each for each in known if each == name or _may_be_same(self._open[each][0], failed)]
        said = normalised(failed.output) if len(same) > (name in same) else ""
        gone = [each for each in same if each != name and normalised(self._open[each][0].why) not in said]
        self.remove([*gone, name])
        self._open[name] = failed, set(failed.needs)
        for need in self._keys(failed):
            self._by_need.setdefault(need, {})[name] = None
        return gone

    def made_good(self, done: CallOutcome) -> list[str]:
        """Returns the names of the failures that a success makes good; they are no longer open."""
        left: dict[str, set[Intention]] = {}
        for need in done.needs | done.writes:
            for name, _ in self._followed(_key(need), done):
                left[name] = self._open[name][1]
                left[name] -= {each for each in left[name] if _covers(need, each)}
        for name, failed in self._followed(_TESTED, done) if done.is_whole else ():
            left[name] = self._open[name][1]
            left[name] -= failed.tested
        again = (name for name, _ in self._followed(done.call, done))
        good = {*again, *(name for name, needs in left.items() if not needs)}
        names = sorted(good, key=list(self._open).index) if len(good) > 1 else list(good)
        self.remove(names)
        return names

    def _followed(self, key: Intention, done: CallOutcome) -> Iterator[tuple[str, CallOutcome]]:
        """Yields the failures with a key that a success may be about."""
        for name in list(self._by_need.get(key, ()))[-_MOST_FOLLOWED:]:
            if _may_be_same(self._open[name][0], done):
                yield name, self._open[name][0]

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            if name in self._open:
                for need in self._keys(self._open.pop(name)[0]):
                    self._by_need[need].pop(name, None)

    @staticmethod
    def _keys(failed: CallOutcome) -> Iterator[Intention]:
        yield from {
            failed.call,
            _identity(failed),
            *map(_key, failed.needs),
            *([_TESTED] if failed.tested else []),
        }


def _identity(failed: CallOutcome) -> Intention:
    return ("same", *sorted(" ".join(need) for need in failed.needs)) if failed.needs else failed.call


def _may_be_same(failed: CallOutcome, done: CallOutcome) -> bool:
    """Returns whether two calls are not known to be about another folder or another language."""
    if failed.folder and done.folder and not _ends_like(failed.folder, done.folder):
        return False
    return not (failed.languages and done.languages and failed.languages.isdisjoint(done.languages))


def _key(need: Intention) -> Intention:
    if need[0] == "file":
        return "file", need[1].rsplit("/", 1)[-1]
    return need[:1] if need[0] == "test" else need[:2] if need[0] == "command" else need


def _covers(done: Intention, need: Intention) -> bool:
    """Returns whether the success of an intention is that of another: a folder of tests is that of its tests."""
    if done == need or done[0] != need[0] or done[0] not in ("file", "test", "command"):
        return done == need
    if done[0] == "command":
        return done[1] == need[1] and (len(done) == 2 or len(need) == 2 or _is_within(need[2], done[2]))
    if done[0] == "file":
        return _ends_like(done[1], need[1])
    file, _, name = need[1].partition("::")
    if _ends_like(done[1], file) or _ends_like(done[1].removesuffix(f"::{name}"), file):
        return "::" not in done[1] or done[1].endswith(f"::{name}")
    return not done[1] or need[1].startswith((f"{done[1]}/", f"{done[1]}::"))


def _is_within(path: str, other: str) -> bool:
    """Returns whether a path is another one, or below it; everything is below no path."""
    return not other or _ends_like(path, other) or path.startswith(f"{other}/")


def _ends_like(one: str, other: str) -> bool:
    """Returns whether two paths may be one: they are equal, or one is absolute and ends with the other."""
    return one == other or any(
        long.startswith(("/", "~")) and bool(short) and long.endswith(f"/{short}")
        for long, short in ((one, other), (other, one))
    )
