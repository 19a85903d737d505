"""Turns, their annotations, and the edges between them (rulings 12, 13, 15, 17, 18)."""

from collections.abc import Collection, Iterable
from typing import Any, Final, Literal, get_args

from msgspec import Struct, to_builtins

from slicebase.core.hashing import canonical, digest_of

Role = Literal["user", "assistant", "system", "tool"]
Phase = Literal["synthesis", "planning", "consolidation", "debugging", "exploration"]
EdgeType = Literal["reply", "branch", "reference", "default"]

ROLES: Final = frozenset(get_args(Role))
PHASES: Final[tuple[Phase, ...]] = get_args(Phase)
EDGE_TYPES: Final = frozenset(get_args(EdgeType))
KEPT_TURN: Final = "kept"  # the type of a part of a summary that names a turn which stayed in the context
SPOKEN: Final = frozenset({"text", "thinking"})  # parts whose name is that of a speaker
GIVEN: Final = "given/1"  # the annotator of annotations that a graph file gives (ruling 17)


# None of these values can be part of a reference cycle, so the garbage collector can ignore them (`gc=False`).


class Part(Struct, frozen=True, gc=False, omit_defaults=True):
    """One piece of a turn's content.

    `text`, `thinking` and `code` have text, and the name of who speaks if the source states one; `tool_call` has a name
    and arguments; `tool_result` has the text that the tool returned; `pointer` names content that is not stored here
    (an image, an attachment). `hidden` marks content that the source does not show to people, `summary` the text with
    which a compaction replaced the turns before it.
    """

    type: str
    text: str | None = None
    name: str | None = None
    arguments: Any = None
    call_id: str | None = None
    error: bool = False
    language: str | None = None
    uri: str | None = None
    media_type: str | None = None
    hidden: bool = False
    summary: bool = False


class Parent(Struct, frozen=True, gc=False, order=True):
    """A parent of a turn, as its source states it. It may be in another session, or not stored yet."""

    id: str
    type: EdgeType = "reply"


TREE_EDGES: Final = EDGE_TYPES - {"reference"}  # a reference is not a place in the tree


def tree_parent(parents: Iterable[tuple[str, str]], edges: Collection[str] = TREE_EDGES) -> str | None:
    """Returns the parent of a turn in the tree, given all its parents with their edge types.

    Of several parents, the one with the lowest id counts.
    """
    return min((parent for parent, kind in parents if kind in edges), default=None)


class Turn(Struct, frozen=True, gc=False):
    """A turn's record. It never changes once it is stored (ruling 15)."""

    id: str
    session: str
    role: Role
    parts: tuple[Part, ...]
    time: int  # milliseconds since 1970
    parents: tuple[Parent, ...]
    source_hash: str

    @property
    def tree_parent(self) -> str | None:
        """The parent of the turn in the tree, or None for a root."""
        return tree_parent((parent.id, parent.type) for parent in self.parents)

    @property
    def content_hash(self) -> str:
        """The digest of the turn's role and parts."""
        return digest_of(content(self.role, self.parts))


class Edge(Struct, frozen=True, gc=False, order=True, forbid_unknown_fields=True):
    """An edge between two turns. Edges sort as in a SliceExport: by parent, child, type as text (§6.2, ruling 12)."""

    parent: str
    child: str
    edge_type: EdgeType


class Session(Struct, frozen=True):
    """A conversation, and what its source says about it.

    A later import adds to the facts of earlier ones, and replaces those that it states again.
    """

    id: str
    format: str
    title: str | None = None
    facts: dict[str, Any] = {}


class Annotation(Struct, frozen=True, gc=False):
    """The values by which SlicePolicy ranks a turn, and who gave them. Numbers with a fraction are binary32 values."""

    turn: str
    annotator: str  # name/version
    phase: Phase
    salience: float
    depth: int
    sibling_order: int
    homogeneity: float
    temporal: float
    complexity: float


def content(role: Role, parts: Iterable[Part]) -> dict[str, Any]:
    """Returns the content of a turn as JSON values."""
    return {"parts": [to_builtins(part) for part in parts], "role": role}


def turn_text(parts: Iterable[Part]) -> str:
    """Returns a turn's text as evidence and search use it (ruling 36): its parts, with a blank line between them."""
    return "\n\n".join(text for part in parts if (text := part_text(part)))


def part_text(part: Part) -> str:
    """Returns the text of a part: a call's name and arguments, else its text, after who speaks, or its URI."""
    if part.type == "tool_call":
        return f"{part.name} {canonical(part.arguments).decode()}"
    if part.name and part.text and part.type in SPOKEN:
        return f"{part.name}: {part.text}"
    return part.text or part.uri or ""
