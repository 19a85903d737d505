"""The input and the output of importers: sources, batches of turns, and the report.

An importer reads an `ImportSource` (a name and its bytes, chunk by chunk) and yields `Batch`es in the source's order. A
long session comes in several batches. A batch never holds more than about `BATCH_TURNS` turns or `BATCH_BYTES` bytes of
source, so that memory stays bounded and an interrupted import can be run again.

A record is the unit of a source: a line, a message, a node. Each record is exactly one of: a turn, a record that is
known not to be a turn (counted by kind), a record that was skipped (one note). `ImportReport.adds_up` checks this.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from msgspec import Struct

from slicebase.graph.turn import Edge, Session, Turn

if TYPE_CHECKING:
    from slicebase.importers.seen import SeenMessages
    from slicebase.secrets.redact import Redactor

BATCH_TURNS: Final = 500
BATCH_BYTES: Final = 4 << 20
NOTES_KEPT: Final = 1000
_SURROGATES: Final = re.compile("[\ud800-\udfff]")

NoteAction = Literal["skipped", "repaired", "flattened"]


class ReasonCode(NamedTuple):
    """What happens to a record for a reason, and the reason's meaning."""

    action: NoteAction
    meaning: str


# Why a record was not imported unchanged. Reports, tests and callers use the code; the meaning is for people.
REASONS: Final[Mapping[str, ReasonCode]] = {
    "not-json": ReasonCode("skipped", "the record is not JSON, or was cut off"),
    "not-object": ReasonCode("skipped", "the record is JSON, but not an object"),
    "only-nul": ReasonCode("skipped", "there are only NUL bytes where a record should be"),
    "too-large": ReasonCode("skipped", "the record is larger than an importer can read"),
    "too-deep": ReasonCode("skipped", "the record is nested too deeply"),
    "importer-failed": ReasonCode("skipped", "the importer failed at the record, which is an error of ours"),
    "unknown-record": ReasonCode("skipped", "the type of the record is not known"),
    "no-message": ReasonCode("skipped", "the record should contain a message, but does not"),
    "no-canonical-form": ReasonCode("skipped", "the record has no canonical form, so it cannot be hashed"),
    "unfinished": ReasonCode("skipped", "the message still grows; an import after its end stores it"),
    "no-beginning": ReasonCode(
        "skipped", "the messages before the steps were cut off, so the positions of the steps are not known"
    ),
    "partly-read": ReasonCode("repaired", "the importer failed at a part of the record, which is an error of ours"),
    "not-utf8": ReasonCode("repaired", "bytes that are not UTF-8 were replaced by U+FFFD"),
    "nul-bytes": ReasonCode("repaired", "NUL bytes were removed"),
    "control-characters": ReasonCode("repaired", "bare control characters, which JSON does not allow, were kept"),
    "glued": ReasonCode("repaired", "the record was not alone on its line; it was separated from the rest"),
    "lone-surrogate": ReasonCode("repaired", "half of a surrogate pair was replaced by U+FFFD"),
    "integer-range": ReasonCode("repaired", "an integer beyond ±(2^53−1) was written as text"),
    "not-finite": ReasonCode("repaired", "a number that is not finite was written as text"),
    "no-time": ReasonCode("repaired", "the record has no time; that of the nearest record with one, if any, was used"),
    "no-session": ReasonCode("repaired", "the record names no session; the session of the file was used"),
    "repeated-id": ReasonCode("repaired", "another record has the same id; the record's position was used instead"),
    "unknown-role": ReasonCode("repaired", "the role of the record is not known; the role system was used"),
    "logical-parent": ReasonCode(
        "repaired", "the turn before a compaction is not in the file; the last turn that was read was used"
    ),
    "compacted-parent": ReasonCode(
        "repaired", "the record names the turn before a compaction as its parent; the summary was used"
    ),
    "missing-parent": ReasonCode(
        "repaired", "the parent of the record is not stored; its turn goes on from the turn before it"
    ),
    "cycle": ReasonCode("repaired", "a parent that descends from its own child was removed"),
    "unknown-content": ReasonCode("flattened", "content of an unknown type was kept as text"),
    "long-facts": ReasonCode("flattened", "what is said about a session is long; its beginning was kept"),
    "media": ReasonCode("flattened", "media were kept as a pointer"),
    "unreadable": ReasonCode("flattened", "content that is encrypted in the source was kept as a pointer"),
}


class Options(NamedTuple):
    """The options of an import."""

    session: str | None = None  # for sources that name no session (ruling 16)
    redact: bool = True
    redactor: "Redactor | None" = None  # with the rules of the user; None for the built-in rules


class ImportSource(NamedTuple):
    """One input: its name as reports show it (`export.zip!conversations.json`), its bytes, and what is known of it."""

    name: str
    chunks: Iterable[bytes]
    is_growing: bool = False  # it was written just now: more may follow
    folder: str = ""  # where the file is: its name may be relative
    seen: "SeenMessages | None" = None  # what is known of its messages, if it was read before

    @property
    def stem(self) -> str:
        """The file's name without folders and extension: the session of a source that names none (ruling 16).

        Bytes of the name that are not UTF-8, which Python reads as lone surrogates, are replaced (ruling 1).
        """
        last = _SURROGATES.sub("\ufffd", re.split(r"[/!\\]", self.name)[-1])
        return last.rpartition(".")[0] or last or "-"


class Note(Struct, frozen=True):
    """What happened to one record (skipped, repaired or flattened), why (a code of `REASONS`), and where it is."""

    action: NoteAction
    reason: str
    where: str
    detail: str = ""
    lost: bool = False  # message content was left out


StarterKey = tuple[str, str, str]  # what an agent is known by, its session, and the digest of its id, run or prompt


class KnownAgents(NamedTuple):
    """Turns that started agents, and first turns of agents that wait for such a turn: ids and digests only."""

    starters: list[tuple[StarterKey, str]]
    waiting: list[tuple[StarterKey, list[str]]]
    linked: tuple[StarterKey, ...] = ()  # the starters whose agents were found


class Batch(Struct, frozen=True):
    """Some turns of one session, in the source's order. Without a session it holds only counts, notes and links.

    A turn's `parents` are those that its own record states. `links` are edges that the source states elsewhere: from
    the tool call that started a subagent, or across a parent that later proved not to be a turn. They may lead to turns
    of earlier batches or of other files; adding one twice changes nothing.
    """

    session: Session | None
    turns: tuple[Turn, ...] = ()
    links: tuple[Edge, ...] = ()
    records: int = 0
    others: dict[str, int] = {}  # records that are known not to be turns, by kind
    notes: tuple[Note, ...] = ()
    redacted: dict[str, int] = {}  # secrets replaced, by label
    unnamed: bool = False  # the source does not name the session: it is named after the file, or by the user
    agents: KnownAgents | None = None  # at the end of a file, what it says about agents of other files
    is_open: bool = False  # at the end of a file that grows: something in it is not decided
    seen: int = 0  # turns of the session beside these that are stored already
    assumed: frozenset[str] = frozenset()  # turns whose records name no parent: theirs are the turns before them


Read = Callable[[ImportSource], Iterator[Batch]]


class Head(NamedTuple):
    """The beginning of a source, by which its format is recognised: its bytes, and the first objects in them."""

    name: str
    data: bytes
    records: list[dict[str, Any]]


class Format(NamedTuple):
    """An importer. `sniff` returns whether it reads a source, and `start` returns the reader of a file."""

    name: str
    sniff: Callable[[Head], bool]
    start: Callable[[Options], Read]


class ImportReport:
    """What an import read and what it left out, added up batch by batch. The store counts the edges."""

    def __init__(self) -> None:
        self.sessions: set[str] = set()
        self.turns = 0
        self.records = 0
        self.others: Counter[str] = Counter()
        self.reasons: Counter[tuple[NoteAction, str]] = Counter()
        self.redacted: Counter[str] = Counter()
        self.notes: list[Note] = []  # the first `NOTES_KEPT` of each reason; the counters count all
        self.content_left_out = 0

    def add(self, batch: Batch) -> None:
        """Adds the counts and notes of a batch."""
        if batch.session is not None and (batch.turns or batch.seen):
            self.sessions.add(batch.session.id)
        self.turns += len(batch.turns) + batch.seen
        self.records += batch.records
        self.others.update(batch.others)
        self.redacted.update(batch.redacted)
        for note in batch.notes:
            self.note(note)

    def include(self, part: "ImportReport") -> None:
        """Adds what another report says."""
        self.sessions |= part.sessions
        self.turns += part.turns
        self.records += part.records
        self.others.update(part.others)
        self.redacted.update(part.redacted)
        kept: Counter[tuple[NoteAction, str]] = Counter()
        for note in part.notes:
            self.note(note)
            kept[note.action, note.reason] += 1
        self.reasons.update(part.reasons - kept)
        self.content_left_out += part.content_left_out - sum(note.lost for note in part.notes)

    def note(self, note: Note) -> None:
        """Adds a note."""
        self.reasons[note.action, note.reason] += 1
        self.content_left_out += note.lost
        if self.reasons[note.action, note.reason] <= NOTES_KEPT:
            self.notes.append(note)

    def count(self, action: NoteAction) -> int:
        """Returns the number of notes with an action."""
        return sum(number for (each, _), number in self.reasons.items() if each == action)

    @property
    def adds_up(self) -> bool:
        """Whether each record is a turn, a record that is not a turn, or a skipped one."""
        return self.records == self.turns + self.others.total() + self.count("skipped")
