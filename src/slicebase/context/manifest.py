"""The manifest: what was put before a model, what was left out and why, so that it can be replayed (ruling 42)."""

from typing import Any

import msgspec
from msgspec import Struct

from slicebase.core.hashing import canonical, digest, id_from
from slicebase.errors import SlicebaseError


class Span(Struct, frozen=True):
    """Half-open, in Unicode code points of the chunk's text."""

    start: int
    end: int


class Piece(Struct, frozen=True):
    """One rendered piece: which text, under which label, and why it is there."""

    ref: str
    corpus: str  # session:<id> or file:<id>, under which the text is kept
    content_hash: str  # of the stored content that the text comes from
    span: Span
    text_hash: str
    label: str
    tokens: int
    score: int  # in millionths (ruling 43)
    parts: dict[str, int]  # what the score is made of, in millionths
    group: str  # the heading that it stands under
    whole: bool  # whether the span is the whole text


class LeftOut(Struct, frozen=True):
    ref: str
    reason: str
    score: int


class PinnedSlice(Struct, frozen=True):
    """A context slice that pieces came from: its name, and the proof of its content (ruling 3)."""

    session: str
    anchor_turn_id: str
    slice_id: str
    policy_params_hash: str
    export_hash: str
    annotators: tuple[str, ...]


class Budget(Struct, frozen=True):
    tokens: int
    turns: int | None = None


class Manifest(Struct, frozen=True):
    question: str
    as_of: str
    budget: Budget
    tokens_used: int
    pieces: tuple[Piece, ...]
    considered: int
    left_out: tuple[LeftOut, ...]
    filters: dict[str, Any]
    slices: tuple[PinnedSlice, ...]
    ranker: str
    tokenizer: str
    renderer: str
    rendered_hash: str

    @property
    def manifest_id(self) -> str:
        return manifest_id(manifest_bytes(self))


_READ = msgspec.json.Decoder(Manifest)


def manifest_bytes(manifest: Manifest) -> bytes:
    """The stored form: canonical, without the id that is made from it and the time of recording."""
    return canonical(msgspec.to_builtins(manifest))


def manifest_id(record: bytes) -> str:
    return id_from("mf_", digest(record))


def read_manifest(record: bytes) -> Manifest:
    try:
        return _READ.decode(record)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SlicebaseError("broken-record", f"the manifest {manifest_id(record)} cannot be read: {error}") from None
