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

# Why a record was not taken as it stood. Reports, tests and callers look at the code; the meaning is for people.
REASONS: Final[Mapping[str, str]] = {
    # skipped
    "not-json": "the record is no JSON, or was cut off",
    "not-object": "the record is JSON, but no object",
    "too-large": "the record is larger than an importer takes",
    "too-deep": "the record is nested too deeply",
    "unknown-record": "the record's kind is not known",
    "no-message": "the record should hold a message and does not",
    "no-canonical-form": "the record has no canonical form to be hashed",
    "repeated-id": "the record's id stands in the source already, with other content",
    # repaired
    "not-utf8": "bytes that are no UTF-8 were replaced by U+FFFD",
    "nul-bytes": "NUL bytes were removed",
    "control-characters": "the text holds bare control characters, which JSON forbids",
    "glued": "several records stood on one line",
    "lone-surrogate": "half a surrogate pair was replaced by U+FFFD",
    "integer-range": "an integer beyond ±(2^53−1) was written as text",
    "not-finite": "a number that is not finite was written as text",
    "no-time": "the record has no time of its own; the nearest earlier one was taken",
    "no-id": "the record has no id of its own; its position was taken",
    "no-session": "the record names no session; the file's was taken",
    "logical-parent": "the turn before a compaction is not in the source; the last turn before it was taken",
    "cycle": "a parent that descends from its own child was dropped",
    # flattened
    "unknown-content": "content of an unknown type was kept as JSON text",
    "media": "media were kept as a pointer",
    "unreadable": "content that its source keeps encrypted was kept as a pointer",
}


class Options(NamedTuple):
    """What a person may say about an import."""

    session: str | None = None  # for sources that name none (ruling 16)
    redact: bool = True


class Source(NamedTuple):
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


Read = Callable[[Source], Iterator[Batch]]


class Format(NamedTuple):
    """An importer. `start` gives the reader of one import, which may carry what one file says of another."""

    name: str
    sniff: Callable[[bytes, str], bool]
    start: Callable[[Options], Read]


class Report:
    """What an import took and what it left, added up batch by batch. Edges are the store's to count."""

    def __init__(self) -> None:
        self.sessions: set[str] = set()
        self.turns = 0
        self.records = 0
        self.others: Counter[str] = Counter()
        self.reasons: Counter[tuple[Action, str]] = Counter()
        self.redacted: Counter[str] = Counter()
        self.notes: list[Note] = []  # the first `NOTES_KEPT`; the counters go on
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
        if len(self.notes) < NOTES_KEPT:
            self.notes.append(note)

    def count(self, action: Action) -> int:
        return sum(number for (taken, _), number in self.reasons.items() if taken == action)

    @property
    def adds_up(self) -> bool:
        return self.records == self.turns + self.others.total() + self.count("skipped")
