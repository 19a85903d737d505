"""What goes into an importer and what comes out: sources, sessions, batches of turns, and the report.

An importer takes a `Source` (a name and its bytes, chunk by chunk) and yields `Batch`es in the source's order. A long
session comes in several batches, and a batch never holds more than about `BATCH_TURNS` turns or `BATCH_BYTES` bytes of
source, so that memory stays bounded and an interrupted import can be run again.

A record is what the source counts by: a line, a message, a node. Each record read is exactly one of: a turn, a record
known to be no turn (counted by kind), a record that was skipped (one note). `Report.adds_up` says so.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from slicebase.graph.turn import Edge, Session, Turn

BATCH_TURNS: Final = 500
BATCH_BYTES: Final = 4 << 20
NOTES_KEPT: Final = 1000

Action = Literal["skipped", "repaired", "flattened"]


class ReasonCode(NamedTuple):
    action: Action
    meaning: str


# Why a record was not taken as it stood. Reports, tests and callers look at the code; the meaning is for people.
REASONS: Final[Mapping[str, ReasonCode]] = {
    "not-json": ReasonCode("skipped", "the record is no JSON, or was cut off"),
    "not-object": ReasonCode("skipped", "the record is JSON, but no object"),
    "only-nul": ReasonCode("skipped", "nothing but NUL bytes stands where a record should be"),
    "too-large": ReasonCode("skipped", "the record is larger than an importer takes"),
    "too-deep": ReasonCode("skipped", "the record is nested too deeply"),
    "unknown-record": ReasonCode("skipped", "the record's kind is not known"),
    "no-message": ReasonCode("skipped", "the record should hold a message and does not"),
    "no-canonical-form": ReasonCode("skipped", "the record has no canonical form to be hashed"),
    "not-utf8": ReasonCode("repaired", "bytes that are no UTF-8 were replaced by U+FFFD"),
    "nul-bytes": ReasonCode("repaired", "NUL bytes were removed"),
    "control-characters": ReasonCode("repaired", "the text holds bare control characters, which JSON forbids"),
    "glued": ReasonCode("repaired", "something else stood behind the record on its line"),
    "lone-surrogate": ReasonCode("repaired", "half a surrogate pair was replaced by U+FFFD"),
    "integer-range": ReasonCode("repaired", "an integer beyond ±(2^53−1) was written as text"),
    "not-finite": ReasonCode("repaired", "a number that is not finite was written as text"),
    "no-time": ReasonCode("repaired", "the record has no time; the nearest earlier one was taken"),
    "no-session": ReasonCode("repaired", "the record names no session; the file's was taken"),
    "repeated-id": ReasonCode("repaired", "the record's id is another record's already; its position was taken"),
    "unknown-role": ReasonCode("repaired", "the record's role is not known; it was taken as the system's"),
    "logical-parent": ReasonCode(
        "repaired", "the turn before a compaction is not here; the last one in the file was taken"
    ),
    "cycle": ReasonCode("repaired", "a parent that descends from its own child was dropped"),
    "unknown-content": ReasonCode("flattened", "content of an unknown type was kept as text"),
    "media": ReasonCode("flattened", "media were kept as a pointer"),
    "unreadable": ReasonCode("flattened", "content that its source keeps encrypted was kept as a pointer"),
}


class Options(NamedTuple):
    """What a person may say about an import."""

    session: str | None = None  # for sources that name none (ruling 16)
    redact: bool = True


class ImportSource(NamedTuple):
    """One input: its name as reports show it (`export.zip!conversations.json`), and its bytes."""

    name: str
    chunks: Iterable[bytes]

    @property
    def stem(self) -> str:
        """The file's name without folders and extension: the session of a source that names none (ruling 16)."""
        last = re.split(r"[/!\\]", self.name)[-1]
        return last.rpartition(".")[0] or last or "-"


class Note(Struct, frozen=True):
    """What happened to one record: skipped, repaired or flattened; where; why (a code of `REASONS`)."""

    action: Action
    reason: str
    where: str
    detail: str = ""
    lost: bool = False  # message content was left out


class Batch(Struct, frozen=True):
    """Some turns of one session, in the source's order. Without a session it carries only what was counted.

    A turn's `parents` are what its own record states. `links` are edges that the source shows elsewhere: the tool call
    that started a subagent, a parent that turned out later to be no turn. They may concern turns of earlier batches or
    of other files; adding one twice changes nothing.
    """

    session: Session | None
    turns: tuple[Turn, ...] = ()
    links: tuple[Edge, ...] = ()
    records: int = 0
    others: dict[str, int] = {}  # records known to be no turns, by kind
    notes: tuple[Note, ...] = ()
    redacted: dict[str, int] = {}  # secrets replaced, by label


Read = Callable[[ImportSource], Iterator[Batch]]


class Format(NamedTuple):
    """An importer. `start` gives the reader of one import, which may carry what one file says of another."""

    name: str
    sniff: Callable[[bytes, str], bool]
    start: Callable[[Options], Read]


class ImportReport:
    """What an import took and what it left, added up batch by batch. Edges are the store's to count."""

    def __init__(self) -> None:
        self.sessions: set[str] = set()
        self.turns = 0
        self.records = 0
        self.others: Counter[str] = Counter()
        self.reasons: Counter[tuple[Action, str]] = Counter()
        self.redacted: Counter[str] = Counter()
        self.notes: list[Note] = []  # the first `NOTES_KEPT` of each reason; the counters go on
        self.content_left_out = 0

    def add(self, batch: Batch) -> None:
        if batch.session is not None and batch.turns:
            self.sessions.add(batch.session.id)
        self.turns += len(batch.turns)
        self.records += batch.records
        self.others.update(batch.others)
        self.redacted.update(batch.redacted)
        for note in batch.notes:
            self.note(note)

    def note(self, note: Note) -> None:
        self.reasons[note.action, note.reason] += 1
        self.content_left_out += note.lost
        if self.reasons[note.action, note.reason] <= NOTES_KEPT:
            self.notes.append(note)

    def count(self, action: Action) -> int:
        return sum(number for (taken, _), number in self.reasons.items() if taken == action)

    @property
    def adds_up(self) -> bool:
        return self.records == self.turns + self.others.total() + self.count("skipped")
