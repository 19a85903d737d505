"""Events: the append-only log of a run, in which each record is chained to the one before it (ruling 33)."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct, field

from slicebase.core.hashing import LARGEST_INTEGER, MAX_LEVELS, canonical, check_depth, digest, digest_of, nests_deeper
from slicebase.core.parsers import decode
from slicebase.core.times import from_text, to_text
from slicebase.errors import SlicebaseError, Where
from slicebase.runs.records import (
    ClaimLogged,
    ConflictLogged,
    FailureLogged,
    LoopAllowed,
    LoopLogged,
    ManifestLogged,
    QuestionLogged,
    Record,
    Refused,
    RunStarted,
    RunStopped,
    SnapshotLogged,
    SourceLogged,
    StateInherited,
)

MAX_PAYLOAD = 64 * 1024  # canonical bytes; larger content becomes a blob, named by its hash
MAX_TYPE = 64


class EventType(NamedTuple):
    """A type of event: whether it counts towards the next compaction, whether an agent may log it, and its payload."""

    terminal: bool
    agent: bool
    payload: type[Record] | None


TYPES: Mapping[str, EventType] = {
    "RUN_STARTED": EventType(False, False, RunStarted),
    "PLAN_DONE": EventType(True, True, None),
    "ACT_DONE": EventType(True, True, None),
    "OBSERVE_DONE": EventType(True, True, None),
    "CLAIM": EventType(False, True, ClaimLogged),
    "CONFLICT": EventType(False, True, ConflictLogged),
    "QUESTION": EventType(False, True, QuestionLogged),
    "FAILURE": EventType(False, True, FailureLogged),
    "SOURCE": EventType(False, True, SourceLogged),
    "MANIFEST": EventType(False, True, ManifestLogged),
    "LOOP": EventType(False, True, LoopLogged),
    "LOOP_ALLOWED": EventType(False, False, LoopAllowed),
    "INHERITED": EventType(False, False, StateInherited),
    "STEP_BEGUN": EventType(False, False, None),
    "STEP_ENDED": EventType(False, False, None),
    "SNAPSHOT": EventType(False, False, SnapshotLogged),
    "REFUSED": EventType(False, False, Refused),
    "RUN_STOPPED": EventType(False, False, RunStopped),
}
VERBOSE = EventType(False, True, None)  # for every other name
# The number of a step is given, and the step is over. A process holds one that is watched (truth/steps.py).
STEP_BEGUN = "STEP_BEGUN"
STEP_ENDED = "STEP_ENDED"
WATCHED: Mapping[str, Any] = {"watched": True}
CLIENT = "CLIENT"  # a verbose event: who wrote the events before it
TERMINAL = frozenset(name for name, kind in TYPES.items() if kind.terminal)


class EventDraft(Record, frozen=True):
    """An event that is not yet in a log: a line of `tt run log --file`."""

    type: str
    step: int | None = None
    time: str | None = None
    payload: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, type_: str, payload: Record, step: int | None = None, time: str | None = None) -> "EventDraft":
        """Returns a draft with a typed payload."""
        return cls(type=type_, step=step, time=time, payload=msgspec.to_builtins(payload))


class ChainLink(NamedTuple):
    """The part of an event that the chain covers.

    It contains the hash of the payload, not the payload, so that the chain can still be verified after a purge.
    """

    run_id: str
    seq: int
    prev: str | None
    type: str
    step: int | None
    time: str
    payload_hash: str
    hash: str

    @property
    def record(self) -> bytes:
        """The canonical bytes that the hash is over.

        The values are texts, integers and null, which need none of the rules of RFC 8785 for numbers and keys. So
        msgspec's encoder gives the same bytes, ten times as fast.
        """
        return msgspec.json.encode(self[:-1])

    @property
    def derived_hash(self) -> str:
        return digest(self.record)


class Event(Struct, frozen=True):
    """An event of a run: its number, type, step, time and payload, and its place in the hash chain."""

    run_id: str
    seq: int
    type: str
    step: int | None
    time: str
    payload: dict[str, Any]
    prev: str | None
    hash: str

    def __repr__(self) -> str:
        return f"Event(run={self.run_id!r}, seq={self.seq}, type={self.type!r}, step={self.step})"

    @property
    def link(self) -> ChainLink:
        payload_hash = digest_of(self.payload)
        return ChainLink(self.run_id, self.seq, self.prev, self.type, self.step, self.time, payload_hash, self.hash)


class PurgedEvent(Event, frozen=True):
    """An event of which some strings were purged: its chain covers the payload as it was."""

    payload_hash: str

    @property
    def link(self) -> ChainLink:
        return ChainLink(
            self.run_id, self.seq, self.prev, self.type, self.step, self.time, self.payload_hash, self.hash
        )


class LogHead(NamedTuple):
    """The end of a log. A log without events ends at 0."""

    run_id: str
    seq: int = 0
    hash: str | None = None


class HashedEvent(NamedTuple):
    """An event, and the bytes that its two hashes are over."""

    event: Event
    record: bytes
    payload_hash: str
    payload: bytes


def hashed_event(head: LogHead, draft: EventDraft, now: str) -> HashedEvent:
    """Returns the event that a draft becomes after `head`, with its hashes.

    A draft without a time gets `now`. The payload is decoded from its canonical bytes, so that an event in memory
    equals the same event from storage.
    """
    _check(draft)
    check_depth(draft.payload, f"the payload of {draft.type}")
    data = canonical(draft.payload)
    size = _complete_size(draft, len(data))
    if size > MAX_PAYLOAD:
        raise SlicebaseError(
            "payload-too-large",
            f"the payload of {draft.type} has {size} bytes with all its fields, and {MAX_PAYLOAD} are allowed",
            hint="store the content as a blob and name its hash",
        )
    time = to_text(from_text(draft.time)) if draft.time is not None else now
    payload_hash = digest(data)
    seq = head.seq + 1
    record = ChainLink(head.run_id, seq, head.hash, draft.type, draft.step, time, payload_hash, "").record
    payload = read_payload(data)
    event = Event(head.run_id, seq, draft.type, draft.step, time, payload, head.hash, digest(record))
    return HashedEvent(event, record, payload_hash, data)


class _Complete(NamedTuple):
    """The longest form of an item or of the terms of a run: fields that may be left out, and the longest values."""

    absent: Mapping[str, Any]
    longest: Mapping[str, Any]


_LONGEST_ID = "\U0001f4be" * 128  # of a run, in UTF-8
_LONGEST_NUMBER = -1.2345678901234567e-300
_COMPLETE: Mapping[str, _Complete] = {
    "RUN_STARTED": _Complete(
        {"provenance_mode": "audit_only"},
        {
            "forked_from": "sn_" + "0" * 32,
            "inherited": {
                "run": _LONGEST_ID,
                "events": LARGEST_INTEGER,
                "steps": LARGEST_INTEGER,
                "seconds": _LONGEST_NUMBER,
                "cost": _LONGEST_NUMBER,
            },
        },
    ),
    "CLAIM": _Complete({"evidence_refs": []}, {"status": "retracted"}),
    "CONFLICT": _Complete({"side_a_refs": [], "side_b_refs": []}, {"status": "resolved"}),
    "FAILURE": _Complete({}, {"status": "resolved"}),
}
_MOST_ADDED = 2048  # bytes


def _complete_size(draft: EventDraft, size: int) -> int:
    """Returns the size of a payload with everything that a change of its status or a fork of its run would write.

    So what is accepted once can be changed and forked: both write the item again, with all its fields.
    """
    form = _COMPLETE.get(draft.type)
    if form is None or size <= MAX_PAYLOAD - _MOST_ADDED:
        return size
    return max(size, len(canonical({**form.absent, **draft.payload, **form.longest})))


_PAYLOAD = msgspec.json.Decoder(dict[str, Any])
_LONG_NUMBER = re.compile(rb"[0-9]{16}")


def read_payload(data: bytes) -> dict[str, Any]:
    """Returns a payload from its canonical bytes.

    RFC 8785 prints a double such as 1e17 without a point. It is read as a double again: an integer of this size has no
    canonical form, and no snapshot could contain it.
    """
    payload = _PAYLOAD.decode(data)
    return _with_doubles(payload) if _LONG_NUMBER.search(data) else payload


def is_too_deep(data: bytes, payload: Mapping[str, Any]) -> bool:
    """Returns whether a payload, given with its bytes, is nested more deeply than any event of ours."""
    return data.count(b"[") + data.count(b"{") > MAX_LEVELS and nests_deeper(payload, MAX_LEVELS)


def _with_doubles(value: Any) -> Any:
    if type(value) is int and abs(value) > LARGEST_INTEGER:
        return float(value)
    if isinstance(value, dict):
        return {name: _with_doubles(inner) for name, inner in value.items()}
    return [_with_doubles(inner) for inner in value] if isinstance(value, list) else value


def append(head: LogHead, draft: EventDraft, now: str) -> tuple[Event, LogHead]:
    """Returns the event that a draft becomes after `head`, and the new end of the log."""
    event = hashed_event(head, draft, now).event
    return event, LogHead(head.run_id, event.seq, event.hash)


def _check(draft: EventDraft) -> None:
    if not 0 < len(draft.type) <= MAX_TYPE or not draft.type.isprintable():
        raise SlicebaseError(
            "bad-event",
            f"the event type {draft.type[: MAX_TYPE + 1]!r} does not have 1 to {MAX_TYPE} printable characters",
        )
    if draft.type in TERMINAL and draft.step is None:
        raise SlicebaseError(
            "step-missing",
            f"a {draft.type} event needs its step",
            hint='add "step": <number>; events of this type are counted by step',
        )
    if draft.step is not None and not 0 <= draft.step <= LARGEST_INTEGER:
        raise SlicebaseError("bad-event", f"the step is not a number from 0 to {LARGEST_INTEGER}")


_line_decoder = msgspec.json.Decoder(EventDraft)


def draft_of(event: Mapping[str, Any]) -> EventDraft:
    """Returns an event that a program gives as an object."""
    try:
        return msgspec.convert(event, EventDraft)
    except msgspec.ValidationError as error:
        hint = 'an event looks like {"type": "PLAN_DONE", "step": 1, "payload": {}}'
        raise SlicebaseError("bad-event", f"this is not an event: {error}", hint=hint) from None


def read_lines(data: Iterable[bytes], name: str = "-", first: int = 1) -> Iterator[EventDraft]:
    """Yields the drafts in JSON lines; `first` is the number of the first line.

    Raises an error with the file and line for a line that is not an event.
    """
    for number, line in enumerate(data, first):
        if not line.strip():
            continue
        try:
            decode(line, number, name)  # the next decoder does not say where a byte is wrong
            yield _line_decoder.decode(line)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise SlicebaseError(
                "bad-event",
                f"the line is not an event: {error}",
                hint='a line looks like {"type": "PLAN_DONE", "step": 1, "payload": {}}',
                where=Where(name, number),
            ) from None


class Break(NamedTuple):
    """A place where a chain is broken."""

    seq: int
    field: Literal["run_id", "seq", "prev", "hash"]
    expected: str
    found: str


def check_chain(head: LogHead, links: Iterable[ChainLink]) -> Iterator[Break]:
    """Yields every break in a chain of links that should follow `head`.

    After a break the check continues from the values that are found, so that one wrong value is reported once.
    """
    expected = head
    allowed = {head.hash}
    for link in links:
        derived = link.derived_hash
        if broken := _first_break(expected, allowed, link, derived):
            yield broken
        expected = LogHead(head.run_id, link.seq, link.hash)
        allowed = {link.hash, derived}


def _first_break(expected: LogHead, allowed: set[str | None], link: ChainLink, derived: str) -> Break | None:
    seq = expected.seq + 1
    if link.seq != seq:
        return Break(seq, "seq", str(seq), str(link.seq))
    if link.run_id != expected.run_id:
        return Break(seq, "run_id", expected.run_id, link.run_id)
    if link.prev not in allowed:
        return Break(seq, "prev", str(expected.hash), str(link.prev))
    if link.hash != derived:
        return Break(seq, "hash", derived, link.hash)
    return None


# Blobs: content that is too large for a payload, stored separately under its hash (ruling 33)

LONG = 2000  # code points; longer texts are moved out of a payload that is too large
HEAD = 500


def move_to_blobs(draft: EventDraft) -> tuple[EventDraft, dict[str, bytes]]:
    """Returns a draft with its long texts replaced by hash, size and beginning, and those texts as blobs by hash."""
    blobs: dict[str, bytes] = {}
    payload: dict[str, Any] = {name: _with_blobs(value, blobs) for name, value in draft.payload.items()}
    return EventDraft(type=draft.type, step=draft.step, time=draft.time, payload=payload), blobs


def _with_blobs(value: Any, blobs: dict[str, bytes]) -> Any:
    if isinstance(value, str) and len(value) > LONG:
        data = value.encode()
        name = digest(data)
        blobs[name] = data
        return {"blob": name, "bytes": len(data), "head": value[:HEAD]}
    if isinstance(value, dict):
        return {name: _with_blobs(inner, blobs) for name, inner in value.items()}
    if isinstance(value, list):
        return [_with_blobs(inner, blobs) for inner in value]
    return value
