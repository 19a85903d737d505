"""The loop guard: finds an agent that repeats itself, from the last events of its run alone.

A cycle is a call (ACT_DONE) with its outcome (OBSERVE_DONE, and the failures of the step in between). A loop is the
same cycle three times in a row, or two cycles that alternate three times. So nothing else was tried in between, and
nothing has changed. A prompt of the user ends a row: the user may ask for the same again.

Outcomes are compared without what differs between two equal ones: times, durations, process numbers, addresses, names
of temporary files. The outcome of a call that waits is compared as it is, since a time that runs on is what the agent
waits for; it takes six equal ones in a row.

What is found depends on the last events only (`WINDOW`). So the work for an event does not grow with the log, and a
process that has just started finds the same as one that has seen the whole run.
"""

import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec

from slicebase.core.hashing import raw_digest
from slicebase.runs.event import Event
from slicebase.runs.records import LoopKind

WINDOW: Final = 96  # events that are looked at
LOOKED_AT: Final = frozenset({"ACT_DONE", "OBSERVE_DONE", "FAILURE", "PROMPT"})  # types of events
LOOP_TIMES: Final = 3  # equal cycles in a row that are a loop
WAIT_TIMES: Final = 6  # of a call that waits
# Keys of a payload that are not part of what was done or observed.
BOOKKEEPING: Final = frozenset(
    {"ref", "made_from", "cost", "call_id", "tool_call_id", "tool_use_id", "timestamp", "started_at"}
)

ContentOf = Callable[[str], str | None]  # returns the text that an event names by its hash, if it is known


def no_content(name: str) -> None:
    """Knows no text that is stored outside an event."""


class Call(NamedTuple):
    """What an ACT_DONE event says was called."""

    tool: str
    arguments: Any

    @property
    def command(self) -> str | None:
        """The text of a command; None for a call that has none."""
        given = self.arguments
        if isinstance(given, dict):
            given = next((given[name] for name in ("command", "cmd", "text") if given.get(name)), None)
        if isinstance(given, list) and given and all(isinstance(word, str) for word in given):
            is_script = len(given) == 3 and given[1].startswith("-") and given[1].endswith("c")  # `bash -lc "…"`
            given = given[-1] if is_script else " ".join(given)
        return given if isinstance(given, str) else None


def call_of(payload: Mapping[str, Any]) -> Call | None:
    """Returns the call in the payload of an ACT_DONE event; None if it says nothing.

    Arguments are an object, a text, or JSON as a text, as in a run that was made from a conversation. What a command is
    said to be for is not a part of the call.
    """
    said = {name: value for name, value in payload.items() if name not in BOOKKEEPING}
    tool = said.pop("tool", None)
    if not said and not tool:
        return None
    given: Any = said.pop(*said) if len(said) == 1 and said.keys() <= {"arguments", "text"} else said
    if isinstance(given, str) and given[:1] in ("{", '"', "["):
        with suppress(msgspec.DecodeError, RecursionError):
            given = msgspec.json.decode(given)
    if isinstance(given, dict) and "command" in given:
        given = {name: value for name, value in given.items() if name != "description"}
    return Call(tool if isinstance(tool, str) else "", given)


class _Made(NamedTuple):
    """A call as it is compared: its digest, whether it waits for something else, and its beginning."""

    digest: bytes
    waits: bool
    shown: str


class _Seen(NamedTuple):
    event: Event
    call: _Made | None


class _Cycle(NamedTuple):
    """A call with its outcome, and the numbers of the two events."""

    call: _Made | None  # None if the log does not say what was called
    act: int
    observe: int
    outcome: tuple[Any, ...]  # payloads: of the observation, and of failures


class Loop(NamedTuple):
    """A loop that an event has completed or continued.

    `cycles` has the numbers of the events of each call with its outcome, in order: `times` repetitions of one, or of
    two different ones.
    """

    kind: LoopKind
    times: int
    cycles: tuple[tuple[int, int], ...]
    call: str  # the beginning of the last call
    is_new: bool  # whether the cycle before was no part of it

    @property
    def events(self) -> tuple[int, ...]:
        """The numbers of all events of the loop."""
        return tuple(sorted({number for cycle in self.cycles for number in cycle}))

    @property
    def message(self) -> str:
        """What is wrong, in words."""
        what = "the same call had the same outcome" if self.kind == "repeat" else "the same two calls alternated"
        return f"{what} {self.times} times (events {self.cycles[0][0]} to {self.cycles[-1][-1]}): {self.call}"


class LoopGuard:
    """Looks at the events of a run one by one, and keeps the last ones in memory."""

    def __init__(self, content: ContentOf = no_content) -> None:
        self.content = content
        self._events: deque[_Seen] = deque()
        self._calls: Counter[bytes] = Counter()  # how often each call is in the window
        self._repeated = 0  # how many of them are there often enough for a loop
        self._same: dict[tuple[int, ...], bool] = {}  # what was compared, by the numbers of the events of two cycles

    def add(self, event: Event) -> Loop | None:
        """Adds the next event. Returns the loop that it completes or continues."""
        if event.type not in LOOKED_AT:
            return None
        self._events.append(_Seen(event, _made(event.payload) if event.type == "ACT_DONE" else None))
        self._count(self._events[-1], 1)
        while self._events[0].event.seq <= event.seq - WINDOW:
            self._count(self._events.popleft(), -1)
        if event.type != "OBSERVE_DONE" or not self._repeated:
            return None
        cycles = _cycles(self._events)
        found = self._tail(cycles) if cycles and cycles[-1].observe == event.seq else None
        if found is None:
            return None
        kind, rows = found
        return Loop(
            kind=kind,
            times=len(rows) // _PERIODS[kind],
            cycles=tuple((cycle.act, cycle.observe) for cycle in rows),
            call=cycles[-1].call.shown if cycles[-1].call else "",
            is_new=self._tail(cycles[:-1]) is None,
        )

    def _count(self, seen: _Seen, by: int) -> None:
        if seen.call is None:
            return
        name = seen.call.digest
        before = self._calls[name]
        self._calls[name] += by
        self._repeated += (before + by >= LOOP_TIMES) - (before >= LOOP_TIMES)
        if not self._calls[name]:
            del self._calls[name]

    def _tail(self, cycles: Sequence[_Cycle]) -> tuple[LoopKind, Sequence[_Cycle]] | None:
        """Returns the cycles at the end that are a loop."""
        for kind, period in _PERIODS.items():
            pattern = cycles[-period:]
            if len(pattern) < period or (period > 1 and pattern[0].call == pattern[1].call):
                continue
            needed = WAIT_TIMES if any(cycle.call and cycle.call.waits for cycle in pattern) else LOOP_TIMES
            count = period
            while count < len(cycles) and self._is_same(cycles[-1 - count], cycles[-1 - count + period]):
                count += 1
            if count // period >= needed:
                return kind, cycles[-(count - count % period) :]
        return None

    def _is_same(self, one: _Cycle, other: _Cycle) -> bool:
        if one.call is None or one.call != other.call or not any(one.outcome) or not any(other.outcome):
            return False
        if one.outcome == other.outcome:
            return True
        if one.call.waits:
            return False
        places = (one.act, one.observe, other.act, other.observe)
        if places not in self._same:
            if len(self._same) >= WINDOW:
                self._same.clear()
            self._same[places] = False
            with suppress(RecursionError):  # JSON in a text may be nested as deep as it likes
                self._same[places] = _is_equal(one.outcome, other.outcome, self.content)
        return self._same[places]


_PERIODS: Final[Mapping[LoopKind, int]] = {"repeat": 1, "alternate": 2}
_SHOWN: Final = 120


def loops(events: Iterable[Event], content: ContentOf = no_content) -> list[Loop]:
    """Returns the loops in a log, each as it was when it ended, with all its cycles."""
    guard, found = LoopGuard(content), list[Loop]()
    for event in events:
        loop = guard.add(event)
        if loop is None:
            continue
        if not loop.is_new and found:
            before = found.pop()
            earlier = (cycle for cycle in before.cycles if cycle < loop.cycles[0] and before.kind == loop.kind)
            loop = loop._replace(cycles=(*earlier, *loop.cycles))
        found.append(loop)
    return [_counted(loop) for loop in found]


def _counted(loop: Loop) -> Loop:
    """Returns a loop with as many cycles as are whole repetitions."""
    period = _PERIODS[loop.kind]
    return loop._replace(times=len(loop.cycles) // period, cycles=loop.cycles[len(loop.cycles) % period :])


def _cycles(events: Iterable[_Seen]) -> list[_Cycle]:
    """Returns the cycles since the last prompt up to the one that is complete now, in the order of their calls.

    Calls of a step are paired with outcomes in order: parallel calls return results in the order of calls. Further
    outcomes belong to the last one. A call that has no outcome yet is something else that was tried. A step in which
    nothing was done and nothing was seen is not.
    """
    cycles: dict[int, _Cycle] = {}  # by the number of the call's event
    waiting: dict[int | None, deque[int]] = {}
    answered: dict[int | None, int] = {}  # the last call of a step that has an outcome
    failures: dict[int | None, list[Any]] = {}
    last = 0
    for seen in events:
        event = seen.event
        if event.type == "PROMPT":
            cycles, waiting, answered, last = {}, {}, {}, 0
        elif event.type == "ACT_DONE":
            waiting.setdefault(event.step, deque()).append(event.seq)
            cycles[event.seq] = _Cycle(seen.call, event.seq, 0, ())
            failures.pop(event.step, None)
        elif event.type == "FAILURE":
            failures.setdefault(event.step, []).append((event.payload.get("category"), event.payload.get("why")))
        elif waiting.get(event.step) or event.step in answered:
            last = waiting[event.step].popleft() if waiting[event.step] else answered[event.step]
            answered[event.step] = last
            observed = {name: value for name, value in event.payload.items() if name not in BOOKKEEPING}
            outcome = (*cycles[last].outcome, observed, *failures.pop(event.step, []))
            cycles[last] = cycles[last]._replace(observe=event.seq, outcome=outcome)
    return [cycle for number, cycle in cycles.items() if number <= last and not _is_empty(cycle)]


def _is_empty(cycle: _Cycle) -> bool:
    return cycle.call is None and cycle.observe > 0 and not any(cycle.outcome)


# Calls that wait for something else

_WAITING_TOOLS: Final = frozenset(
    {"agentoutput", "bashoutput", "monitor", "sleep", "taskoutput", "wait", "wait_agent", "write_stdin"}
)
# Patterns are compiled when they are first used: most commands compare nothing, and start-up counts.
_WAITING_COMMAND: Final = r"(?m)(?:^|[;&|(]|\b(?:do|then))\s*(?:sleep|wait|watch|tail\s+-[fF])\b"


def _waits(call: Call) -> bool:
    if call.tool.lower().rsplit(".", 1)[-1].rsplit("__", 1)[-1] in _WAITING_TOOLS:
        return True
    command = call.command
    return command is not None and re.search(_WAITING_COMMAND, command) is not None


def _made(payload: Mapping[str, Any]) -> _Made | None:
    call = call_of(payload)
    if call is None:
        return None
    arguments = msgspec.json.encode(call.arguments, order="sorted")  # what a text holds may have no canonical form
    said = f"{call.tool} {call.command or arguments[:_SHOWN].decode(errors='replace')}"
    shown = " ".join(said[: 4 * _SHOWN].split())
    made = raw_digest(call.tool.encode() + b"\0" + arguments)
    return _Made(made, _waits(call), shown if len(shown) <= _SHOWN else shown[: _SHOWN - 1] + "…")


# What differs between two equal outcomes

_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_DAY: Final = r"\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?"
_CHANGING: Final[tuple[tuple[str, str], ...]] = (
    (r"\x1b\[[0-9;?]*[A-Za-z]", ""),  # colours
    (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?", "<time>"),
    (_DAY + _MONTH + r" [ \d]?\d \d\d:\d\d(?::\d\d)?(?: [A-Z]{3,4})?(?: \d{4}\b)?", "<time>"),  # of date, ls and syslog
    (_DAY + r"\d\d? " + _MONTH + r" \d{4} \d\d:\d\d:\d\d", "<time>"),
    (r"\b\d\d?:\d\d:\d\d(?:[.,]\d+)?\b", "<time>"),
    (r"\b1[5-9]\d{8}(?:\d{3}|\.\d+)?\b", "<time>"),  # seconds or milliseconds since 1970
    (
        r"\b(?:\d+ ?(?:h|hours?|m|mins?|minutes?),? ?){0,2}\d+(?:\.\d+)? ?"
        r"(?:ns|[uµ]s|ms|s|secs?|seconds?|mins|minutes?)\b"
        r"|\b\d+\.\d+ ?(?:m|min)\b",
        "<duration>",
    ),
    (r"(?i)\b(elapsed|duration|took|time)([ =:]+)\d+\.\d+\b", r"\1\2<duration>"),
    (r"((?:/private)?/(?:var/)?tmp/|/var/folders/\w+/(?:\w+/T/)?)(?=[\w.-]*[A-Z\d]|tmp)[\w.-]+", r"\1<temporary>"),
    (r"\bpytest-\d+\b", "pytest-<number>"),  # the folder of a test run
    (r"(?i)\b(pid|process(?: id)?|thread(?: id)?)([ =:#]+)\d+\b(?!\s*(?:/|of\b))", r"\1\2<number>"),
    (r"(\bthread '[^']*' \()\d+|(?m:^(\[\d+\] )\d{3,}$)", r"\1\2<number>"),  # of Rust, and of a job of a shell
    (r"\[\d{4,}\]", "[<number>]"),  # the process in a line of a log
    (r"(?i)(\bport[ =:]+|(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]):)(?:3[3-9]|[45]\d|6[0-5])\d{3}\b", r"\1<port>"),
    (r"\b0x[0-9a-fA-F]{6,16}\b", "<address>"),
    (r"(?m)(?<![ \t\r])[ \t\r]++$", ""),
)


def plain_outcome(text: str) -> str:
    """Returns the text of an outcome without times, durations, process numbers, addresses and temporary names."""
    for pattern, replacement in _CHANGING:
        text = re.sub(pattern, replacement, text)
    return text


_STORED: Final = frozenset({"blob", "bytes", "head"})  # content outside an event
# Keys of times, durations and processes, without `_` and `-`
_CHANGING_KEYS: Final = frozenset(
    """time timestamp startedat endedat finishedat starttime endtime duration durationms durationseconds elapsed
    elapsedms elapsedseconds elapsedtime seconds milliseconds ms latency latencyms walltime pid processid""".split()  # noqa: SIM905
)


def _is_equal(one: Any, other: Any, content: ContentOf) -> bool:
    """Returns whether two outcomes differ only in what differs between two equal ones."""
    if one == other:
        return True
    one, other = _text(one, content), _text(other, content)
    if isinstance(one, str) and isinstance(other, str):
        return _is_same_text(one, other, content)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            _is_changing(name) or _is_equal(one[name], other[name], content) for name in one
        )
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(partial(_is_equal, content=content), one, other))
    return False


def _is_changing(name: str) -> bool:
    return name.lower().replace("_", "").replace("-", "") in _CHANGING_KEYS


def _text(value: Any, content: ContentOf) -> Any:
    """Returns content outside an event as its text, if that is known, and every other value as it is."""
    if not isinstance(value, dict) or value.keys() != _STORED or not isinstance(value["head"], str):
        return value
    is_whole = value["bytes"] == len(value["head"].encode())
    text = value["head"] if is_whole else content(str(value["blob"]))
    return value["blob"] if text is None else text


def _is_same_text(one: str, other: str, content: ContentOf) -> bool:
    """Compares two texts by lines: nothing that changes goes beyond one, and most lines are equal to the letter."""
    lines, others = one.split("\n"), other.split("\n")
    if len(lines) == len(others) and all(
        line == each or plain_outcome(line) == plain_outcome(each) for line, each in zip(lines, others, strict=True)
    ):
        return True
    values = _decoded(one), _decoded(other)
    return None not in values and _is_equal(*values, content)


def _decoded(text: str) -> Any:
    """Returns the object or list that a text is as JSON; None for any other text."""
    if text.lstrip()[:1] in ("{", "["):
        with suppress(msgspec.DecodeError, RecursionError):
            return msgspec.json.decode(text)
    return None
