"""A slice file: bytes in, typed values out, the same bytes back."""

import hashlib
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Protocol

from msgspec import Struct

from slicebase.core.hashing import digest
from slicebase.core.parsers import decode
from slicebase.errors import SlicebaseError, Where
from slicebase.files.model import (
    DEFAULT_WRITE,
    DEFAULT_WRITES,
    HEADER_KEYS,
    Code,
    Contract,
    Conversation,
    DerivationSource,
    Link,
    Mark,
    Payload,
)
from slicebase.files.yaml.load import load, split
from slicebase.files.yaml.scalars import place
from slicebase.files.yaml.scan import Node, scan

KeyPath = str | tuple[str, ...]


def steps(path: KeyPath) -> tuple[str, ...]:
    """Returns the steps of a key path such as `slice.links.0.to`. A path is a tuple if a key contains a dot."""
    return tuple(path.split(".")) if isinstance(path, str) else path


_ABSENT: Mapping[str, Any] = {}  # an absent key reads like a value of the wrong shape


class HasSourceText(Protocol):
    """An object that returns a scalar as it is written in the file."""

    def source_text(self, path: KeyPath) -> str | None: ...


class Fields:
    """A mapping of the frontmatter, read with the types that the specification gives to its keys.

    A field that is absent or has the wrong shape reads as None; `tt validate` reports it.
    """

    values: Mapping[str, Any]

    def __init__(self, file: HasSourceText, path: tuple[str, ...], value: Any) -> None:
        self._file = file
        self._path = path
        self.values = value if isinstance(value, dict) else {}

    def fields(self, key: str) -> "Fields":
        return Fields(self._file, (*self._path, key), self.values.get(key))

    def items(self, key: str) -> "list[Fields]":
        found = self.values.get(key)
        items = found if isinstance(found, list) else []
        return [Fields(self._file, (*self._path, key, str(at)), item) for at, item in enumerate(items)]

    def text(self, key: str) -> str | None:
        return self._text(self.values.get(key, _ABSENT), key)

    def texts(self, key: str) -> tuple[str, ...]:
        """Returns the texts of a list. A single text counts as a list of one."""
        found = self.values.get(key)
        if not isinstance(found, list):
            text = self.text(key)
            return () if text is None else (text,)
        texts = (self._text(item, key, str(at)) for at, item in enumerate(found))
        return tuple(text for text in texts if text is not None)

    def whole(self, key: str) -> int | None:
        found = self.values.get(key)
        return found if isinstance(found, int) and not isinstance(found, bool) else None

    def flag(self, key: str) -> bool | None:
        found = self.values.get(key)
        return found if isinstance(found, bool) else None

    def _text(self, value: Any, *path: str) -> str | None:
        """Returns a scalar as the text that is written, even if YAML reads it as another type (ruling 21)."""
        if isinstance(value, str):
            return value
        if isinstance(value, dict | list):
            return None
        return self._file.source_text((*self._path, *path))


class SliceFile(Struct, frozen=True, dict=True, eq=False):
    """An immutable slice file. Its name and bytes are its identity; everything else is read from them."""

    name: str
    head: bytes  # everything up to the body, markers included
    body: bytes
    header: str  # the YAML text between the markers
    frontmatter: Mapping[str, Any]  # the header as plain values

    @classmethod
    def parse(cls, data: bytes, name: str = "-") -> "SliceFile":
        """Reads a file. Raises an error if the frontmatter is not a YAML mapping; accepts everything else."""
        start, end, body = split(data, name)
        header = decode(data[start:end], 2, name)
        return cls(name, data[:body], data[body:], header, _mapping(header, name))

    def to_bytes(self) -> bytes:
        """Returns the bytes of the file, exactly as they were read."""
        return self.head + self.body

    def with_header(self, header: str) -> "SliceFile":
        """Returns the file with another YAML text between its markers."""
        start, end, _ = split(self.head)
        head = self.head[:start] + header.encode() + self.head[end:]
        if split(head, self.name).body != len(head):
            raise SlicebaseError("yaml-documents", "a line `---` would end the frontmatter", where=Where(self.name))
        return SliceFile(self.name, head, self.body, header, _mapping(header, self.name))

    def with_body(self, body: bytes) -> "SliceFile":
        """Returns the file with another body. A closing marker without a line end gets one before the first text."""
        head = self.head
        if body and not head.endswith(b"\n"):
            head = head.removesuffix(b"\r") + self.newline.encode()
        return SliceFile(self.name, head, body, self.header, self.frontmatter)

    @property
    def newline(self) -> str:
        """The line end of the frontmatter: that of its first line (ruling 20)."""
        return "\r\n" if b"\r\n" in self.head[: self.head.index(b"\n") + 1] else "\n"

    def __repr__(self) -> str:
        return f"SliceFile({self.name!r}, {len(self.head)} + {len(self.body)} bytes)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SliceFile) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[str, bytes, bytes]:
        return self.name, self.head, self.body

    # Places

    @cached_property
    def tree(self) -> Node:
        """The frontmatter as a tree of nodes with their positions."""
        return scan(self.header, first_line=2)

    def node(self, path: KeyPath) -> Node | None:
        """Returns the node at a key path, None if it does not exist."""
        node = self.tree
        for step in steps(path):
            entry = node.child(step)
            if entry is None:
                return None
            node = entry.value
        return node

    def source_text(self, path: KeyPath) -> str | None:
        """Returns a scalar as it is written, without YAML's types; None if nothing is written."""
        node = self.node(path)
        return node.text if node and node.is_scalar and node.form != "empty" else None

    def where(self, path: KeyPath = ()) -> Where:
        """Returns the line and column of a key or list item, or of the nearest enclosing one that exists."""
        node, offset = self.tree, None
        for step in steps(path):
            entry = node.child(step)
            if entry is None:
                break
            node, offset = entry.value, entry.start
        if offset is None:
            return Where(self.name, 1, 1)
        line, column = place(self.header, offset)
        return Where(self.name, line + 1, column)

    # Typed access

    @property
    def _slice(self) -> Fields:
        """The fields of the key `slice`. They hold this file: kept in it, they would keep it until a collection."""
        return Fields(self, ("slice",), self.frontmatter.get("slice"))

    @property
    def v(self) -> str | None:
        return self._slice.text("v")

    @property
    def id(self) -> str | None:
        return self._slice.text("id")

    @property
    def title(self) -> str | None:
        return self._slice.text("title")

    @property
    def summary(self) -> str | None:
        return self._slice.text("summary")

    @property
    def kind(self) -> str:
        """The stated kind, or the default of ruling 23."""
        given = self._slice.text("kind")
        if given is not None:
            return given
        return "pointer" if self.body_type == "none" and "payload" in self._slice.values else "context"

    @property
    def body_type(self) -> str | None:
        return self._slice.fields("body").text("type")

    @property
    def code(self) -> Code:
        fields = self._slice.fields("body").fields("code")
        return Code(fields.text("lang"), fields.text("extension"), fields.texts("args"))

    @property
    def conversation(self) -> Conversation:
        fields = self._slice.fields("body").fields("conversation")
        return Conversation(
            participants=fields.texts("participants"),
            agent_id=fields.text("agent_id"),
            session_id=fields.text("session_id"),
            trace_id=fields.text("trace_id"),
            span_id=fields.text("span_id"),
            format=fields.text("format"),
            includes_tool_calls=fields.flag("includes_tool_calls"),
            includes_compaction=fields.flag("includes_compaction"),
        )

    @property
    def contract(self) -> Contract:
        fields = self._slice.fields("contract")
        return Contract(
            purpose=fields.text("purpose"),
            exclude=fields.texts("exclude"),
            format=fields.text("format"),
            cleanup=fields.text("cleanup"),
            write=self.write_mode,
            overflow=fields.text("overflow"),
        )

    @property
    def write_mode(self) -> str:
        """How the body may be changed: the mode in the contract, or the default of ruling 25."""
        given = self._slice.fields("contract").text("write")
        return given or DEFAULT_WRITES.get(self.body_type or "", DEFAULT_WRITE)

    @cached_property
    def links(self) -> tuple[Link, ...]:
        items = self._slice.items("links")
        return tuple(Link(item.text("rel"), item.text("to"), item.text("label")) for item in items)

    @property
    def derived_from(self) -> DerivationSource | None:
        fields = self._slice.fields("derived_from")
        return DerivationSource(fields.text("id"), fields.text("hash")) if fields.values else None

    @property
    def payload(self) -> Payload | None:
        fields = self._slice.fields("payload")
        return Payload(fields.text("uri"), fields.text("hash"), fields.whole("size")) if fields.values else None

    @property
    def meta(self) -> Mapping[str, Any]:
        return self._slice.fields("meta").values

    @property
    def created_at(self) -> str | None:
        """When the file was created. Other tools write it; ours has that time in the id (ruling 26)."""
        return self._slice.text("created_at")

    @property
    def updated_at(self) -> str | None:
        return self._slice.text("updated_at")

    @property
    def taken_from(self) -> str | None:
        """Where the content of an archive was in the file that it is a part of (ruling 32)."""
        return self._slice.text("taken_from")

    @property
    def moved(self) -> str | None:
        """The sum of the marks of all lines that moved to archives, except rows (ruling 32)."""
        return self._slice.text("moved")

    @property
    def merged(self) -> str | None:
        """The mark of the last merge of two bodies, from which content may move to archives (ruling 32)."""
        return self._slice.text("merged")

    @property
    def due(self) -> str | None:
        """Work that a writer left to be done: a summary of a file that has grown too large (ruling 32)."""
        return self._slice.text("due")

    @property
    def done(self) -> Mark | None:
        """When somebody did what was due for this file."""
        return self._mark("done")

    @property
    def archived(self) -> Mark | None:
        return self._mark("archived")

    @property
    def purged(self) -> Mark | None:
        return self._mark("purged")

    def _mark(self, key: str) -> Mark | None:
        """Returns the mark `{at, reason}`. Any other value except null and false counts as a mark without them."""
        if self._slice.values.get(key) in (None, False):
            return None
        fields = self._slice.fields(key)
        return Mark(fields.text("at"), fields.text("reason"))

    @property
    def unknown(self) -> Mapping[str, Any]:
        """The keys of `slice` that the specification does not name."""
        return {key: value for key, value in self._slice.values.items() if key not in HEADER_KEYS}

    @property
    def beside(self) -> Mapping[str, Any]:
        """The keys beside `slice`."""
        return {key: value for key, value in self.frontmatter.items() if key != "slice"}

    # The body

    @property
    def body_line(self) -> int:
        """The line number in the file of the body's first line."""
        return self.head.count(b"\n") + 1

    def text_for_model(self) -> str:
        """Returns the content without the frontmatter (§ File Structure)."""
        return decode(self.body, self.body_line, self.name)

    # Hashes

    @property
    def hash(self) -> str | None:
        """The hash that `derived_from.hash` of another file is compared with (ruling 24)."""
        if self.kind == "pointer":
            return self.payload.hash if self.payload else None
        return digest(self.body)

    @property
    def digest(self) -> str:
        """The digest of the complete file: the version of a file that has no parts (ruling 24)."""
        sha256 = hashlib.sha256(self.head)
        sha256.update(self.body)
        return "sha256:" + sha256.hexdigest()


def _mapping(header: str, name: str) -> Mapping[str, Any]:
    try:
        value = load(header, first_line=2)
    except SlicebaseError as error:
        raise error.at(Where(name)) from None
    if not isinstance(value, dict):
        raise SlicebaseError(
            "frontmatter-shape",
            f"the frontmatter is {'empty' if value is None else 'a ' + type(value).__name__}, not a mapping",
            hint="put the metadata under the key `slice:`",
            where=Where(name, 2, 1),
        )
    return value
