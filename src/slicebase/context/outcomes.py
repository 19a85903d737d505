"""What the calls of a transcript were for, and how they ended: which of them failed, and what makes that good again.

A failure is made good by a later success of the same intention: the same call; for a writing tool, the same file; for a
test, the same test, its file, or a folder around it; for any other command, the same program with the same subcommand,
target or script. A run of all tests also makes good what they test and build. A failure is no longer reported, too, if
the same command fails again and its output does not say it any more.

What the user refused or interrupted is no failure, and neither is a message of the client, or that something was not
found.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, Literal, NamedTuple

from slicebase.context.lost_commands import command_family, needed_again, targets_of_tests
from slicebase.context.lost_shell import LOOKING, error_line, exit_code, how_tests_ended, simple_commands
from slicebase.context.lost_speech import INTERRUPTED, REFUSED, is_client_result, without_reminders
from slicebase.context.lost_tools import PATHS, READERS, SEARCHERS, argument, command_in, file_changes, tool_name
from slicebase.core.hashing import canonical, digest_of
from slicebase.graph.turn import Part, part_text

_LONGEST: Final = 160  # characters of a call
_LONGEST_LINE: Final = 300
_HEAD: Final = 300  # characters of a result, in which a client says that the call was refused
_MOST_FOLLOWED: Final = 500  # open failures of tests that one success is compared with

Intention = tuple[str, ...]
CallEnd = Literal["ok", "failed", "refused", "nothing"]


class CallOutcome(NamedTuple):
    """How a call ended. `needs` are the intentions that all have to succeed before its failure is made good."""

    ended: CallEnd
    call: Intention
    needs: frozenset[Intention] = frozenset()
    classes: frozenset[str] = frozenset()  # test, build, check, call
    is_whole: bool = False  # it tests, builds or checks everything
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
    needed = [each for each in needed_again(command) if each.what != "call"] if command else []
    tests = {one for each in needed if each.what == "test" for one in each.simple}
    found = CallOutcome(
        _ended(name, command, simple, result, text, bool(tests)),
        ("call", name, canonical(call.arguments).decode()),
        frozenset(_needs(call, simple, tests)),
        frozenset(each.what for each in needed),
        any("" in targets_of_tests(one) for one in tests) if tests else bool(needed),
        _where(call, command),
    )
    if found.ended != "failed":
        return found
    line = " ".join(error_line(text)[0].split())
    return found._replace(why=_cut(line or "no message", _LONGEST_LINE), output=text)


def _ended(name: str, command: str | None, simple: tuple[str, ...], result: Part, text: str, is_test: bool) -> CallEnd:
    tested = is_test and how_tests_ended(text) == "failed"
    if not (result.error or tested or (command and exit_code(text))):
        return "ok"
    if REFUSED.search(text, 0, _HEAD) or INTERRUPTED.match(text):
        return "refused"
    looks = name in READERS | SEARCHERS or (command is not None and not simple)
    return "nothing" if looks or (text.strip() and is_client_result(text)) else "failed"


def _needs(call: Part, simple: Iterable[str], tests: set[str]) -> Iterator[Intention]:
    for one in simple:
        if one in tests:
            yield from (("test", target) for target in targets_of_tests(one))
        elif family := command_family(one):
            yield "command", *family
    paths = [change.path for change in file_changes(call)] or [argument(call, PATHS) or ""]
    yield from (("file", path.rsplit("/", 1)[-1]) for path in paths if path)


def _where(call: Part, command: str | None) -> str:
    said = command or argument(call, PATHS) or canonical(call.arguments).decode()
    return _cut(f"{call.name or 'tool'}: {' '.join(said.split())}", _LONGEST)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


_VARIES: Final = re.compile(
    r"(?P<path>(?:[\w.~@+-]*/)+)|(?P<hex>\b[0-9a-f]{7,}\b)|(?P<number>\d+(?:[.,:]\d+)*)|(?P<space>\s+)"
)
_INSTEAD: Final = {"path": "", "hex": "#", "number": "0", "space": " "}


def normalised(text: str) -> str:
    """Returns a text without what varies between runs: folders, numbers, times and hashes."""
    return _VARIES.sub(lambda match: _INSTEAD[match.lastgroup or ""], text)


class OpenFailures:
    """The failures that nothing has made good yet, by what would do so."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[CallOutcome, set[Intention]]] = {}
        self._by_need: dict[Intention, dict[str, None]] = {}

    def add(self, name: str, failed: CallOutcome) -> list[str]:
        """Adds a failure. Returns the names of those that the same command no longer reports."""
        same = self._by_need.get(_identity(failed), ())
        said = normalised(failed.output) if len(same) > (name in same) else ""
        gone = [each for each in same if each != name and normalised(self._open[each][0].why) not in said]
        self.remove([*gone, name])
        self._open[name] = failed, set(failed.needs)
        for need in self._keys(failed):
            self._by_need.setdefault(need, {})[name] = None
        return gone

    def made_good(self, done: CallOutcome) -> list[str]:
        """Returns the names of the failures that a success makes good; they are no longer open."""
        good = dict(self._by_need.get(done.call, {}))
        for need in done.needs:
            for name in list(self._by_need.get(_key(need), ()))[-_MOST_FOLLOWED:]:
                waiting = self._open[name][1]
                waiting -= {each for each in waiting if _covers(need, each)}
                if not waiting:
                    good[name] = None
        if done.is_whole:
            classes = done.classes | ({"build"} if "test" in done.classes else set())
            good |= {name: None for what in classes for name in self._by_need.get(("all", what), ())}
        names = sorted(good, key=list(self._open).index) if len(good) > 1 else list(good)
        self.remove(names)
        return names

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
            *(("all", what) for what in failed.classes),
        }


def _identity(failed: CallOutcome) -> Intention:
    return ("same", *sorted(" ".join(need) for need in failed.needs)) if failed.needs else failed.call


def _key(need: Intention) -> Intention:
    return need[:1] if need[0] == "test" else need


def _covers(done: Intention, need: Intention) -> bool:
    """Returns whether the success of an intention is that of another: a folder of tests is that of its tests."""
    if done == need or done[0] != "test" or need[0] != "test":
        return done == need
    return not done[1] or need[1].startswith((f"{done[1]}/", f"{done[1]}::"))
