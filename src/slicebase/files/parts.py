"""The typed parts of a slice file's frontmatter (format specification, by section)."""

from collections.abc import Mapping
from typing import Final, Literal, get_args

from msgspec import Struct

BodyType = Literal["markdown", "jsonl", "none", "code", "conversation", "text", "yaml", "routine"]
Kind = Literal["context", "pointer"]
WriteMode = Literal["append", "replace", "supersede", "error"]
Overflow = Literal["split", "summarize", "archive", "error"]

BODY_TYPES: Final[tuple[BodyType, ...]] = get_args(BodyType)
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
WRITE_MODES: Final[tuple[WriteMode, ...]] = get_args(WriteMode)
OVERFLOWS: Final[tuple[Overflow, ...]] = get_args(Overflow)

# § Write, ruling 25: what a file without a mode allows.
DEFAULT_WRITE: Final[WriteMode] = "append"
DEFAULT_WRITES: Final[Mapping[str, WriteMode]] = {"yaml": "replace", "code": "replace"}

# The keys of `slice:` in the order in which they are written.
KEYS: Final = (
    "v", "kind", "id", "title", "summary", "body", "payload", "derived_from", "contract", "links", "meta",
    "updated_at", "updated_by", "due", "archived", "purged",
)  # fmt: skip


class Contract(Struct, frozen=True):
    """§ Contract. A file that is read always has a write mode here, its own or the default."""

    purpose: str | None = None
    exclude: tuple[str, ...] = ()
    format: str | None = None
    cleanup: str | None = None
    write: str | None = None
    overflow: str | None = None


class Link(Struct, frozen=True):
    """§ Links: a typed relationship to an id or a path."""

    rel: str | None = None
    to: str | None = None
    label: str | None = None


class Source(Struct, frozen=True):
    """§ Derived Files: what a file was made from, and that source's hash then."""

    id: str | None = None
    hash: str | None = None


class Payload(Struct, frozen=True):
    """§ Pointer: where the content is."""

    uri: str | None = None
    hash: str | None = None
    size: int | None = None


class Code(Struct, frozen=True):
    """§ Code."""

    lang: str | None = None
    extension: str | None = None
    args: tuple[str, ...] = ()


class Conversation(Struct, frozen=True):
    """§ Conversation: the header's eight keys."""

    participants: tuple[str, ...] = ()
    agent_id: str | None = None
    session_id: str | None = None
    trace_id: str | None = None
    span_id: str | None = None
    format: str | None = None
    includes_tool_calls: bool | None = None
    includes_compaction: bool | None = None


class Mark(Struct, frozen=True):
    """When and why a file was archived or purged (ruling 31)."""

    at: str | None = None
    reason: str | None = None
