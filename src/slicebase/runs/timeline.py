"""The time line of a run as values to draw: the complete run as bars, and a part of its events, step by step.

The bars are made from counts, so that a run of any length is drawn from as many numbers. An event is told in one line.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal

from slicebase.core.hashing import canonical
from slicebase.core.times import known_time
from slicebase.runs.records import Record
from slicebase.runs.state import ITEMS
from slicebase.runs.values import each_of

EventFamily = Literal[
    "plan", "act", "observe", "claim", "conflict", "question", "failure", "loop", "context", "snapshot", "term", "other"
]
# What the types of events have in common, in the order in which they are stacked.
FAMILIES: Final[Mapping[str, EventFamily]] = {
    "PLAN_DONE": "plan",
    "ACT_DONE": "act",
    "OBSERVE_DONE": "observe",
    "CLAIM": "claim",
    "CONFLICT": "conflict",
    "QUESTION": "question",
    "FAILURE": "failure",
    "REFUSED": "failure",
    "LOOP": "loop",
    "LOOP_ALLOWED": "loop",
    "MANIFEST": "context",
    "SOURCE": "context",
    "SNAPSHOT": "snapshot",
    "RUN_STARTED": "term",
    "INHERITED": "term",
    "RUN_STOPPED": "term",
}
_ORDER: Final = {name: place for place, name in enumerate((*dict.fromkeys(FAMILIES.values()), "other"))}
WIDTH: Final = 1000  # units of the drawing
HEIGHT: Final = 100
MOST_BARS: Final = 200
_LINE: Final = 240  # characters


def family_of(type_: str) -> EventFamily:
    """Returns what an event is drawn as."""
    return FAMILIES.get(type_, "other")


# The complete run


class BarSegment(Record, frozen=True):
    """A part of a bar: so many events of one family, from `y` (counted from above) downwards."""

    family: EventFamily
    count: int
    y: float
    height: float


class TimelineBar(Record, frozen=True):
    """The events from `first` to `last`, as a bar of segments."""

    first: int
    last: int
    x: float
    width: float
    segments: tuple[BarSegment, ...]


def bar_size(events: int) -> int:
    """Returns how many events each bar of a run has, so that it has at most so many bars."""
    return max(1, -(-events // MOST_BARS))


def bars(events: int, counts: Iterable[tuple[int, str, int]]) -> tuple[TimelineBar, ...]:
    """Returns the bars of a run with so many events.

    `counts` says how many events of a type each bar has, as (number of the bar from 0, type, count).
    """
    size = bar_size(events)
    found: dict[int, dict[EventFamily, int]] = {}
    for number, type_, count in counts:
        families = found.setdefault(number, {})
        families[family_of(type_)] = families.get(family_of(type_), 0) + count
    return tuple(_bar(number, size, events, found[number]) for number in sorted(found))


def _bar(number: int, size: int, events: int, families: Mapping[EventFamily, int]) -> TimelineBar:
    first, last = number * size + 1, min(events, (number + 1) * size)
    left, right = ((place - 1) * WIDTH / events for place in (first, last + 1))
    return TimelineBar(
        first=first, last=last, x=round(left, 3), width=round(right - left, 3), segments=tuple(_stacked(families, size))
    )


def _stacked(families: Mapping[EventFamily, int], size: int) -> Iterator[BarSegment]:
    """Yields the segments of a bar, the first family at the bottom."""
    top = float(HEIGHT)
    for family in sorted(families, key=_ORDER.__getitem__):
        height = families[family] * HEIGHT / size
        top -= height
        yield BarSegment(family=family, count=families[family], y=round(top, 3), height=round(height, 3))


# A part of the run


class EventLine(Record, frozen=True):
    """An event in one line. `text` is what it says; of one that was purged, nothing."""

    seq: int
    type: str
    family: EventFamily
    time: str | None  # None where its source states none
    text: str
    status: str = ""  # of a claim, conflict, failure, question or snapshot
    is_purged: bool = False


class StepLines(Record, frozen=True):
    """Events one after the other that have the same step, or none. Events without one stay with the step before them.

    Snapshots and what begins or ends a run stand alone.
    """

    step: int | None
    events: tuple[EventLine, ...]


_ALONE: Final = frozenset({"RUN_STARTED", "INHERITED", "SNAPSHOT", "RUN_STOPPED"})


def steps_of(lines: Iterable[tuple[EventLine, int | None]]) -> Iterator[StepLines]:
    """Yields events by step. Each is given with its step."""
    group: list[EventLine] = []
    current: int | None = None
    for line, step in lines:
        starts = line.type in _ALONE or (bool(group) and group[-1].type in _ALONE)
        if group and (starts or (step is not None and step != current)):
            yield StepLines(step=current, events=tuple(group))
            group, current = [], None
        current = step if step is not None else current
        group.append(line)
    if group:
        yield StepLines(step=current, events=tuple(group))


def event_line(seq: int, type_: str, time: str, payload: Mapping[str, Any] | None) -> EventLine:
    """Returns an event in one line. Without a payload, it was purged."""
    status = payload.get("status") if payload else None
    return EventLine(
        seq=seq,
        type=type_,
        family=family_of(type_),
        time=known_time(time),
        text="" if payload is None else _clipped(said(type_, payload)),
        status=status if isinstance(status, str) else "",
        is_purged=payload is None,
    )


# What an event says, by its type: the fields that are shown, joined. Of other types, the usual fields of words.
_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "RUN_STARTED": ("objective",),
    "CLAIM": ("claim_id", "statement"),
    "CONFLICT": ("conflict_id", "description"),
    "FAILURE": ("failure_id", "category", "where", "why"),
    "QUESTION": ("question",),
    "MANIFEST": ("manifest_id",),
    "SNAPSHOT": ("snapshot_id",),
    "RUN_STOPPED": ("reason", "message"),
    "LOOP": ("kind", "times"),
    "LOOP_ALLOWED": ("reason",),
    "STEP_BEGUN": (),
    "STEP_ENDED": (),
}
_SEEN: Final = {"source": "source_ids", "chunk": "chunk_ids"}
_WORDS: Final = ("tool", "name", "command", "text", "message", "error")


def said(type_: str, payload: Mapping[str, Any]) -> str:
    """Returns what an event says, in some words; the log may have any payload (ruling 35)."""
    if type_ in ITEMS and payload.keys() <= {ITEMS[type_].id, "status"}:
        return str(payload.get(ITEMS[type_].id, ""))
    if type_ == "SOURCE":
        sizes = [(name, len(each_of(payload[field]))) for name, field in _SEEN.items() if field in payload]
        return ", ".join(f"{size} {name}{'s' * (size != 1)}" for name, size in sizes)
    names = _FIELDS.get(type_, _WORDS)
    words = [_plain(payload[name]) for name in names if name in payload and payload[name] not in (None, "", False)]
    if not words and type_ not in _FIELDS and payload:
        return canonical(payload).decode(errors="replace")
    return " · ".join(words)


def _plain(value: Any) -> str:
    if isinstance(value, dict) and isinstance(value.get("head"), str):  # a text that was moved to a blob
        return f"{value['head']}…"
    return value if isinstance(value, str) else canonical(value).decode(errors="replace")


def _clipped(text: str) -> str:
    line = " ".join(text[: 8 * _LINE].split())
    return line if len(line) <= _LINE else line[: _LINE - 1] + "…"
