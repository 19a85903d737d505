"""The stored form of turns, annotations, sessions and links: canonical bytes, written once and hashed (ruling 1)."""

from array import array
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import groupby, islice, repeat
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from slicebase.core.hashing import canonical, lone_surrogate
from slicebase.core.times import to_text
from slicebase.errors import SlicebaseError
from slicebase.graph.turn import Annotation, EdgeType, Part, Phase, Role, Session, Turn


class TurnRecord(Struct, frozen=True, gc=False):
    """A turn without its content, which is in a separate table so that it can be purged (ruling 19)."""

    content_hash: str
    id: str
    parents: tuple[tuple[str, EdgeType], ...]
    role: Role
    session: str
    source_hash: str
    time: str


class SessionRecord(Struct, frozen=True):
    """A session without its title and facts, which are a text."""

    content_hash: str
    id: str


class AnnotationRecord(Struct, frozen=True):
    """The annotations that one import gave to turns of a session, as columns.

    Numbers are the shortest decimals of their binary32 values, so that the bytes state them exactly.
    """

    annotator: str
    complexity: tuple[str, ...]
    depth: tuple[int, ...]
    homogeneity: tuple[str, ...]
    phase: tuple[Phase, ...]
    salience: tuple[str, ...]
    session: str
    sibling_order: tuple[int, ...]
    temporal: tuple[str, ...]
    turns: tuple[str, ...]

    def rows(self, wanted: Container[str]) -> Iterator[tuple[Any, ...]]:
        """Returns the annotations of the wanted turns, as tuples in the order of an Annotation's fields."""
        columns = zip(
            self.turns,
            repeat(self.annotator, len(self.turns)),
            self.phase,
            _fractions(self.salience),
            self.depth,
            self.sibling_order,
            _fractions(self.homogeneity),
            _fractions(self.temporal),
            _fractions(self.complexity),
            strict=True,
        )
        return (row for row in columns if row[0] in wanted)

    def annotations(self) -> Iterator[Annotation]:
        """Returns the annotations of all turns of the record."""
        return (Annotation(*row) for row in self.rows(self.turns))


def _fractions(texts: Iterable[str]) -> "array[float]":
    """Returns the binary32 numbers that decimals stand for: an array of C floats rounds what is stored in it."""
    return array("f", map(float, texts))


class LinkRecord(Struct, frozen=True):
    """An edge that the source states outside the child's own record."""

    child: str
    parent: str
    session: str  # the child's
    type: EdgeType


class _Content(Struct, frozen=True):
    parts: tuple[Part, ...]
    role: Role


_Record = TypeVar("_Record")

_FAST = msgspec.json.Encoder(order="sorted")
_TURN = msgspec.json.Decoder(TurnRecord)
_ANNOTATIONS = msgspec.json.Decoder(AnnotationRecord)
_SESSION_RECORD = msgspec.json.Decoder(SessionRecord)
_SESSION = msgspec.json.Decoder(Session)
_LINK = msgspec.json.Decoder(LinkRecord)
_CONTENT = msgspec.json.Decoder(_Content)


def content_bytes(role: Role, parts: tuple[Part, ...]) -> bytes:
    """Returns the canonical bytes of a turn's content.

    Only arguments need RFC 8785's rules for numbers and keys. For the rest msgspec's encoder gives the same bytes,
    twenty times as fast.
    """
    if [part for part in parts if part.arguments is not None]:
        parts = tuple([_with_canonical_arguments(part) for part in parts])
    return _fast(_Content(parts, role))


def _with_canonical_arguments(part: Part) -> Part:
    return part if part.arguments is None else replace(part, arguments=msgspec.Raw(canonical(part.arguments)))


def record_bytes(turn: Turn, content_hash: str) -> bytes:
    """Returns the canonical bytes of a turn's record."""
    ordered = turn.parents if len(turn.parents) < 2 else sorted(turn.parents)
    parents = tuple([(parent.id, parent.type) for parent in ordered])
    return _fast(
        TurnRecord(content_hash, turn.id, parents, turn.role, turn.session, turn.source_hash, to_text(turn.time))
    )


def session_bytes(session: Session) -> bytes:
    """Returns the canonical bytes of a session: its text, which can be purged like the content of a turn."""
    return canonical(msgspec.to_builtins(session))


def session_record(session: str, text_hash: str) -> bytes:
    """Returns the canonical bytes of a session's record."""
    return _fast(SessionRecord(text_hash, session))


def annotation_bytes(annotations: AnnotationRecord) -> bytes:
    """Returns the canonical bytes of a record of annotations."""
    return _fast(annotations)


def link_bytes(link: LinkRecord) -> bytes:
    """Returns the canonical bytes of a link."""
    return _fast(link)


def _fast(value: Struct) -> bytes:
    try:
        return _FAST.encode(value)
    except UnicodeEncodeError as error:
        raise lone_surrogate(error) from None


def read_turn(record: bytes) -> TurnRecord:
    """Reads a stored turn."""
    return _read(_TURN, record)


def read_session(text: bytes) -> Session:
    """Reads the text of a session."""
    return _read(_SESSION, text)


def read_session_record(record: bytes) -> SessionRecord:
    """Reads the record of a session."""
    return _read(_SESSION_RECORD, record)


def read_link(record: bytes) -> LinkRecord:
    """Reads a stored link."""
    return _read(_LINK, record)


def read_annotations(record: bytes) -> AnnotationRecord:
    """Reads a stored record of annotations."""
    return _read(_ANNOTATIONS, record)


def read_parts(content: bytes) -> tuple[Part, ...]:
    """Reads the parts of a turn's stored content."""
    return _read(_CONTENT, content).parts


def _read(decoder: msgspec.json.Decoder[_Record], data: bytes) -> _Record:
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SlicebaseError(
            "broken-record",
            f"a stored record cannot be read: {error}",
            hint="run `tt verify` to find everything that is broken",
        ) from None


# Small enough that reading a part of a session reads little else, large enough that there are few rows.
ANNOTATED_TURNS: Final = 128


def annotation_records(session: str, annotations: Sequence[Annotation]) -> Iterator[AnnotationRecord]:
    """Yields annotations of one session as records that have one annotator and a limited number of turns each."""
    for annotator, group in groupby(annotations, key=lambda each: each.annotator):
        while chunk := tuple(islice(group, ANNOTATED_TURNS)):
            yield _annotation_record(session, annotator, chunk)


def _annotation_record(session: str, annotator: str, annotations: Sequence[Annotation]) -> AnnotationRecord:
    from slicebase.graph.binary32 import shortest  # imported here for a fast start: a search reads no annotations

    return AnnotationRecord(
        annotator=annotator,
        complexity=tuple([shortest(each.complexity) for each in annotations]),
        depth=tuple([each.depth for each in annotations]),
        homogeneity=tuple([shortest(each.homogeneity) for each in annotations]),
        phase=tuple([each.phase for each in annotations]),
        salience=tuple([shortest(each.salience) for each in annotations]),
        session=session,
        sibling_order=tuple([each.sibling_order for each in annotations]),
        temporal=tuple([shortest(each.temporal) for each in annotations]),
        turns=tuple([each.turn for each in annotations]),
    )
