"""SWE-agent trajectories: thoughts, actions and observations become turns of a session.

A trajectory is one JSON object. It has its steps under `trajectory`, and the messages before them under `history`; some
have only a history. A step is two records: what the agent did, and what it observed. The messages after the first
answer repeat the steps, and show what the model saw beyond them: the state of the shell. A message has no id, so the id
of a turn is its position (ruling 16): messages that repeat the steps do not count, nor do demonstrations. What such
messages say is in hidden turns with ids of their own, which refer to the turn of their step.

Of a document that was cut off, the complete entries are read, unless the messages before the first step are missing:
then no position is known.
"""

from collections.abc import Iterator
from functools import partial
from itertools import zip_longest
from typing import Any, Final, NamedTuple

from slicebase.core.times import LATEST
from slicebase.graph.turn import Part, Role
from slicebase.importers.batches import BatchBuilder
from slicebase.importers.blocks import Flag, as_name, as_text, marked, no_flag, parts_of, text_parts
from slicebase.importers.elements import json_records
from slicebase.importers.json_stream import RecordLine, fingerprint, repaired, without
from slicebase.importers.silence import holds_text
from slicebase.importers.thread import Build, Fault, NonTurn, SourceRecord, Thread, TurnDraft, read_sessions
from slicebase.importers.times import SourceClock
from slicebase.importers.values import Batch, Format, Head, ImportSource, Options, Read

NAME: Final = "swe-agent"
ENDING: Final = ".traj"
ESSENCE: Final = without()  # an entry never changes: it is hashed completely (ruling 15)

_STEP: Final = frozenset({"action", "observation"})
_MESSAGE: Final = frozenset({"role", "content"})
_CONTENT: Final = frozenset({"content", "thought", "action", "response", "observation"})
_REPEATED: Final = "history of a step"
_MARKS: Final = frozenset({"thought", "action", "message_type", "is_demo"})  # of messages that SWE-agent wrote
# The format does not mark errors; an error begins with one of these texts.
_ERRORS: Final = ("Traceback (most recent call last)", "Your proposed edit has introduced new syntax error")


# Recognition


def sniff(head: Head) -> bool:
    return any(map(_is_document if head.name.lower().endswith(ENDING) else _is_marked, head.records))


def _is_document(value: Any) -> bool:
    return isinstance(value, dict) and any(isinstance(value.get(key), list) for key in ("trajectory", "history"))


def _is_marked(value: Any) -> bool:
    """Returns whether a document can be nothing else: a `history` alone may belong to any program."""
    if not isinstance(value, dict):
        return False
    steps, history = value.get("trajectory"), value.get("history")
    if isinstance(steps, list) and (steps or isinstance(history, list)):
        return not steps or any(_has(entry, _STEP) for entry in steps)
    messages = history if isinstance(history, list) else ()
    return any(_has(entry, _MESSAGE) and bool(entry.keys() & _MARKS) for entry in messages)


def _has(entry: Any, keys: frozenset[str]) -> bool:
    return isinstance(entry, dict) and keys <= entry.keys()


# Reading


def start(options: Options) -> Read:
    return lambda source: _Reader(source, options).read()


FORMAT: Final = Format(NAME, sniff, start)


class _Entry(NamedTuple):
    value: Any
    where: str


class _Entries(NamedTuple):
    """The messages and the steps of a trajectory, and how many bytes there are for each of them."""

    history: list[_Entry]
    steps: list[_Entry]
    size: int = 0

    @property
    def has_beginning(self) -> bool:
        """Whether the messages before the first step are known: they end with the first message of the agent."""
        return not self.steps or any(_is_answer(entry.value) for entry in self.history)


def _is_entry(value: Any) -> bool:
    """Returns whether a value is a trajectory, or a message or step of one that was cut off."""
    return _is_document(value) or _has(value, _MESSAGE) or _has(value, _STEP)


def _is_answer(value: Any) -> bool:
    return isinstance(value, dict) and value.get("role") == "assistant" and not value.get("is_demo")


class _Reader:
    """The reader of a source. Each trajectory in it is a session; all but the first have a number after their name."""

    def __init__(self, source: ImportSource, options: Options) -> None:
        self.source = source
        self.builder = BatchBuilder(NAME)
        self.name = options.session or source.stem
        self.sessions = 0
        self.cut = _Entries([], [])  # what was found of a trajectory that was cut off

    def read(self) -> Iterator[Batch]:
        yield from read_sessions(self.builder, json_records(self.source, _is_entry), self._value)
        yield from self._end_cut()
        yield from self.builder.close()

    def _value(self, value: SourceRecord, line: RecordLine) -> Iterator[Batch]:
        if any(entry.where != line.where for entry in (*self.cut.history[:1], *self.cut.steps[:1])):
            yield from self._end_cut()
        if _is_document(value):
            yield from self._session(_entries_of(value, line), _facts_of(value))
        elif "glued" in line.piece.repairs and _is_entry(value):
            kind = self.cut.history if _has(value, _MESSAGE) else self.cut.steps
            kind.append(_Entry(value, line.where))
        else:
            self.builder.record(line.size)
            self.builder.skip("unknown-record", line.where, lost=holds_text(value))

    def _end_cut(self) -> Iterator[Batch]:
        cut, self.cut = self.cut, _Entries([], [])
        if not cut.has_beginning:
            self.builder.record()
            self.builder.skip("no-beginning", cut.steps[0].where, f"{len(cut.steps)} steps")
        elif cut.history:
            yield from self._session(cut, {})

    def _session(self, entries: _Entries, facts: SourceRecord) -> Iterator[Batch]:
        session = f"{self.name}#{self.sessions}" if self.sessions else self.name
        self.sessions += 1
        self.builder.facts(session).update(facts)
        thread = Thread(self.builder, None, session)
        first = next((at for at, entry in enumerate(entries.history) if _is_answer(entry.value)), len(entries.history))
        alone = first if entries.steps else len(entries.history)  # the messages that no step repeats
        for number, entry in enumerate(entries.history[:alone]):
            self.builder.record(entries.size)
            yield from self._message(thread, entry, acting=number >= first)
        yield from self._steps(thread, entries, entries.history[alone:])
        yield from self.builder.close(session)

    def _message(self, thread: Thread, entry: _Entry, *, acting: bool) -> Iterator[Batch]:
        value = entry.value
        role = as_name(value.get("role")) if isinstance(value, dict) else None
        if role == "user" and acting:  # without tools, observations are messages of the user
            role = "tool"
        if isinstance(value, dict) and value.get("is_demo"):
            yield from self._demonstrate(thread, entry)
        elif isinstance(value, dict) and role not in _MESSAGES:
            self.builder.skip("unknown-record", entry.where, str(role), lost=holds_text(value))
        else:
            yield from self._admit(thread, entry, _MESSAGES[role or "user"])

    def _steps(self, thread: Thread, entries: _Entries, messages: list[_Entry]) -> Iterator[Batch]:
        """Adds the steps, and after them what the messages that repeat them say beyond them."""
        ends: list[str | None] = []  # the last turn of each step
        for step in entries.steps:
            for build in (_act_of_step, _observation_of_step):
                self.builder.record(entries.size)
                yield from self._admit(thread, step, build)
            ends.append(thread.last)
        if thread.last is not None:
            self.builder.facts(thread.session)["shown_last"] = thread.last
        answers = [entry for entry in messages if _is_answer(entry.value)]
        others = [entry for entry in messages if not _is_answer(entry.value)]
        for number, (step, end, *said) in enumerate(zip_longest(entries.steps, ends, answers, others)):
            known = set(_lines(step.value if step else None))
            for message in (each for each in said if each is not None):
                self.builder.record(entries.size)
                yield from self._repeated(thread, message, known, f"{_REPEATED} {number}", end)

    def _repeated(
        self, thread: Thread, message: _Entry, known: set[str], name: str, end: str | None
    ) -> Iterator[Batch]:
        if not isinstance(message.value, dict):
            self.builder.skip("not-object", message.where)
            return
        more = "\n".join(line for line in _lines({"content": message.value.get("content")}) if line not in known)
        role: Role = "assistant" if _is_answer(message.value) else "system"
        draft = TurnDraft(role, tuple(text_parts(more)), f"{name} {role}", None, (end,))
        yield from self._add_aside(thread, message, draft, _REPEATED)

    def _demonstrate(self, thread: Thread, entry: _Entry) -> Iterator[Batch]:
        """Adds a demonstration, which the model saw before its task. It has no position, so its hash is its id."""
        record, source_hash, _ = fingerprint(entry.value, ESSENCE)
        text, _ = _content(record.get("content"), no_flag)
        name = f"demonstration {source_hash}"
        yield from self._add_aside(thread, entry, TurnDraft("system", tuple(text_parts(text)), name), "demonstration")

    def _add_aside(self, thread: Thread, entry: _Entry, draft: TurnDraft, kind: str) -> Iterator[Batch]:
        """Adds a message that does not count as a position."""
        record, source_hash, _ = fingerprint(entry.value, ESSENCE)
        _, others = _content(record.get("content"), lambda reason, what: self.builder.note(reason, entry.where, what))
        parts = marked((*draft.parts, *others), hidden=True)
        if not parts:
            self.builder.other(kind)
            return
        self.builder.postpone()
        yield from thread.add_turn(draft._replace(parts=parts), source_hash, entry.where)

    def _admit(self, thread: Thread, entry: _Entry, build: Build) -> Iterator[Batch]:
        if not isinstance(entry.value, dict):
            self.builder.skip("not-object", entry.where)
            return
        if build in (_observation_of_step, _observation_of_message):
            _wait(thread.clock, entry.value.get("execution_time"))
        yield from thread.admit(entry.value, entry.where, ESSENCE, build)


def _lines(value: Any) -> list[str]:
    """Returns the lines of what an entry says."""
    given = repaired(value)[0] if isinstance(value, dict) else {}
    said = [_content(given.get(key), no_flag)[0] for key in sorted(_CONTENT)]
    return [line.strip() for text in said for line in text.splitlines() if line.strip(" `")]


def _entries_of(value: SourceRecord, line: RecordLine) -> _Entries:
    history, steps = (
        [_Entry(entry, f"{line.where}.{key}[{number}]") for number, entry in enumerate(value[key])]
        if isinstance(value.get(key), list)
        else []
        for key in ("history", "trajectory")
    )
    return _Entries(history, steps, line.size // (len(history) + 2 * len(steps) or 1))


def _facts_of(value: SourceRecord) -> SourceRecord:
    info = value.get("info")
    stated = {"environment": value.get("environment"), **(info if isinstance(info, dict) else {})}
    return {name: stated[name] for name in ("environment", "exit_status") if as_name(stated.get(name))}


def _wait(clock: SourceClock, seconds: Any) -> None:
    """Adds a duration to the time: the format has no other times."""
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if is_number and 0 < seconds * 1000 <= LATEST - clock.now:
        clock.now += round(seconds * 1000)


# Turns


def _said(role: Role, entry: SourceRecord, flag: Flag) -> TurnDraft | NonTurn | Fault:
    text, others = _content(entry.get("content"), flag)
    return TurnDraft(role, (Part("text", text=text), *others))


def _acted(key: str, entry: SourceRecord, flag: Flag) -> TurnDraft | NonTurn | Fault:
    if not entry.keys() & _CONTENT:
        return Fault("no-message")
    thought, others = _content(entry.get("thought") or entry.get(key), flag)
    action = as_text(entry.get("action")).strip()
    parts = [Part("text", text=thought)] if thought.strip() else []
    if action:
        parts.append(Part("tool_call", name=action.split(maxsplit=1)[0], arguments=action))
    return TurnDraft("assistant", (*parts, *others))


def _observed(key: str, entry: SourceRecord, flag: Flag) -> TurnDraft | NonTurn | Fault:
    if not entry.keys() & _CONTENT:
        return Fault("no-message")
    text, others = _content(entry.get(key), flag)
    failed = text.lstrip().startswith(_ERRORS)
    return TurnDraft("tool", (Part("tool_result", text=text, error=failed), *others))


_act_of_step: Final[Build] = partial(_acted, "response")
_observation_of_step: Final[Build] = partial(_observed, "observation")
_observation_of_message: Final[Build] = partial(_observed, "content")
_MESSAGES: Final[dict[str, Build]] = {
    "system": partial(_said, "system"),
    "user": partial(_said, "user"),
    "assistant": partial(_acted, "content"),
    "tool": _observation_of_message,
}


def _content(value: Any, flag: Flag) -> tuple[str, tuple[Part, ...]]:
    """Returns the text of some content, blocks of it with blank lines between them, and the parts that have no text."""
    parts: list[Part] = []
    for block in value if isinstance(value, list) else [value]:
        text = block.get("text") if isinstance(block, dict) else None
        parts += [Part("text", text=text)] if as_name(text) else parts_of(block, flag)
    texts = [part.text for part in parts if part.text and part.type != "thinking"]
    return "\n\n".join(texts), tuple(part for part in parts if part.text is None or part.type == "thinking")
