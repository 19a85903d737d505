"""The typed parts of a slice file's frontmatter, and the forms that values must have.

The docstrings name the sections of the format specification.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeGuard, Union, get_args

from msgspec import Struct

BodyType = Literal["markdown", "jsonl", "none", "code", "conversation", "text", "yaml", "routine"]
FileKind = Literal["context", "pointer"]
WriteMode = Literal["append", "replace", "supersede", "error"]
Overflow = Literal["split", "summarize", "archive", "error"]

BODY_TYPES: Final[tuple[BodyType, ...]] = get_args(BodyType)
FILE_KINDS: Final[tuple[FileKind, ...]] = get_args(FileKind)
WRITE_MODES: Final[tuple[WriteMode, ...]] = get_args(WriteMode)
OVERFLOWS: Final[tuple[Overflow, ...]] = get_args(Overflow)

# § Write, ruling 25: the write mode of a file that states none.
DEFAULT_WRITE: Final[WriteMode] = "append"
DEFAULT_WRITES: Final[Mapping[str, WriteMode]] = {"yaml": "replace", "code": "replace"}

# The keys of `slice:` in the order in which they are written.
HEADER_KEYS: Final = (
    "v", "kind", "id", "title", "summary", "body", "payload", "derived_from", "contract", "links", "meta",
    "created_at", "updated_at", "updated_by", "taken_from", "moved", "merged", "due", "done", "archived",
    "purged",
)  # fmt: skip


class Contract(Struct, frozen=True):
    """§ Contract: the instructions for writers. For a file that was read, `write` is never None."""

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


class DerivationSource(Struct, frozen=True):
    """§ Derived Files: the source of a file, and the hash that the source had at that time."""

    id: str | None = None
    hash: str | None = None


class Payload(Struct, frozen=True):
    """§ Pointer: where the content is."""

    uri: str | None = None
    hash: str | None = None
    size: int | None = None


class Code(Struct, frozen=True):
    """§ Code: the settings of a code body."""

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


# Forms: tables for the frontmatter, a row's envelope and a conversation's header


Forms = Mapping[str, Union["Form", "Forms"]]


class Form(NamedTuple):
    """A condition that a value must meet."""

    fits: Callable[[Any], bool]
    name: str  # as in "…, not text"


class Misfit(NamedTuple):
    """A value that does not have its form."""

    path: tuple[str, ...]
    value: Any
    form: str

    @property
    def name(self) -> str:
        return ".".join(self.path)


def misfits(values: Mapping[str, Any], forms: Forms, path: tuple[str, ...] = ()) -> Iterator[Misfit]:
    """Yields the values that do not have the form of the table, in their own order. Null counts as absent and fits."""
    for key, value in values.items():
        form = forms.get(key)
        if form is None or value is None:
            continue
        if isinstance(form, Form):
            if not form.fits(value):
                yield Misfit((*path, key), value, form.name)
        elif isinstance(value, dict):
            yield from misfits(value, form, (*path, key))
        else:
            yield Misfit((*path, key), value, "a mapping")


def is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str)


def is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def is_whole(value: object) -> TypeGuard[int]:
    return type(value) is int and value >= 0


def is_share(value: object) -> TypeGuard[float]:
    return type(value) in (int, float) and 0 <= value <= 1  # type: ignore[operator]  # mypy does not follow type()


def text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


TEXT: Final = Form(is_text, "text")
FLAG: Final = Form(lambda value: isinstance(value, bool), "true or false")
WHOLE: Final = Form(is_whole, "a whole number")
SHARE: Final = Form(is_share, "a number from 0 to 1")
