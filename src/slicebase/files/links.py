"""Names of slice files, relationships between them, targets of links, and cycles in a graph.

Nothing here reads the disk.
"""

import posixpath
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final, Literal, NamedTuple

from slicebase.core.refs import parse
from slicebase.errors import SlicebaseError

# File names: a slice file is named by its id (§ Storage)

SUFFIX: Final = ".slice"
_SAFE: Final = re.compile(r"[^\s/\\@:#.\-][^\s/\\@:#]*")
_LONGEST: Final = 200  # bytes; file systems allow 255 with the suffix
SAFE_FORM: Final = (
    "an id has no spaces, slashes, backslashes, @, : or #, starts with neither a dot nor a hyphen, "
    f"and has at most {_LONGEST} bytes"
)


def is_safe(file_id: str) -> bool:
    """Returns whether an id is a file name without folders, is not a command's option, and fits into a reference.

    Ruling 7 defines the references.
    """
    return (
        _SAFE.fullmatch(file_id) is not None
        and file_id.isprintable()
        and len(file_id.encode("utf-8", "surrogatepass")) <= _LONGEST
    )


def file_name(file_id: str) -> str:
    """Returns the file name of an id. Raises an error for an unsafe id, before it becomes part of a path."""
    if not is_safe(file_id):
        from slicebase.files.findings import shown  # rarely needed

        raise SlicebaseError("bad-id", f"{shown(file_id)} cannot be a file name", hint=SAFE_FORM)
    return file_id + SUFFIX


# Relationships (§ Relationship Types)


class Relationship(NamedTuple):
    """A type of link, and what can be inferred from it."""

    name: str
    inverse: str
    transitive: bool
    symmetric: bool
    about: str
    converse: str | None  # the relationship of B to A when A has this one to B; None if nothing follows


class _Pair(NamedTuple):
    name: str
    inverse: str
    transitive: bool
    symmetric: bool
    about: str
    converses: bool = True


# The specification's table. It has `evidence_for` and `evidence_against` as a pair, but they are opposites, not
# converses: if A supports B, nothing follows about B's relationship to A (ruling 28).
_TABLE: Final = (
    _Pair("depends_on", "blocks", True, False, "dependency"),
    _Pair("evidence_for", "evidence_against", False, False, "argument", converses=False),
    _Pair("supersedes", "superseded_by", True, False, "evolution"),
    _Pair("parent", "child", True, False, "containment"),
    _Pair("part_of", "has_part", True, False, "composition"),
    _Pair("is_a", "type_of", True, False, "taxonomy"),
    _Pair("derived_from", "source_of", True, False, "provenance"),
    _Pair("see_also", "see_also", False, True, "association"),
    _Pair("routes_to", "routed_from", False, False, "routing"),
)


def _both_directions(pair: _Pair) -> dict[str, Relationship]:
    """Returns both relationships of a pair. The inverse of a transitive relationship is transitive (ruling 28)."""
    return {
        name: Relationship(
            name, inverse, pair.transitive, pair.symmetric, pair.about, inverse if pair.converses else None
        )
        for name, inverse in ((pair.name, pair.inverse), (pair.inverse, pair.name))
    }


RELATIONSHIPS: Final[Mapping[str, Relationship]] = {
    name: relationship for pair in _TABLE for name, relationship in _both_directions(pair).items()
}


# A relationship of somebody's own (ruling 53): one word, so that a misplaced id, path or sentence is not taken for one.
_REL_FORM: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


def can_be_relationship(rel: str) -> bool:
    """Returns whether a text can name a relationship, known or not."""
    return _REL_FORM.fullmatch(rel) is not None


def unknown_relationship(rel: str) -> tuple[str, str] | None:
    """Returns the warning and the hint for a relationship that the format does not define, None for a known one.

    It is followed as neither transitive nor symmetric (ruling 53).
    """
    if rel in RELATIONSHIPS:
        return None
    from slicebase.files.findings import shown  # rarely needed

    near = nearest(rel, RELATIONSHIPS)
    hint = f"did you mean {' or '.join(near)}?" if near else f"relationships are {', '.join(RELATIONSHIPS)}"
    return f"{shown(rel)} is not a relationship that the format defines", hint


def doubts(rels: Iterable[str | None]) -> tuple[str, ...]:
    """Returns the warnings about relationships that the format does not define."""
    unknown = (unknown_relationship(rel) for rel in dict.fromkeys(rels) if rel)
    return tuple(f"{message}; {hint}" for message, hint in filter(None, unknown))


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Returns the known names that are most like this one, at most two; none if none is like it."""
    from difflib import get_close_matches  # rarely needed

    return get_close_matches(name, sorted(known), n=2)


# Targets of links (§ Addressing, ruling 29)

TargetKind = Literal["id", "path", "reference", "uri"]

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def target_kind(to: str) -> TargetKind:
    """Returns the kind of a target by its form: one of our references, another URI, a path, or else an id."""
    if ":" in to or "_" in to:
        try:
            parse(to)
            return "reference"
        except SlicebaseError:
            pass
    if _SCHEME.match(to):
        return "uri"
    return "path" if "/" in to or to.endswith(SUFFIX) else "id"


def resolve(folder: str, to: str) -> str | None:
    """Returns a link's path relative to the workspace, None if it leads outside.

    `folder` is the folder of the linking file; `""` is the workspace itself. An absolute path leads outside, because
    it names a place on one machine only.
    """
    path = posixpath.normpath(posixpath.join(folder, to))
    outside = path.startswith(("/", "../")) or path == ".."
    return None if outside else path


def target_id(folder: str, to: str) -> str:
    """Returns a target as an id, also for a reference to a file or a path to a slice file in `folder` (ruling 29)."""
    to = to.removeprefix("file:")
    parent, _, name = (resolve(folder, to) or "").rpartition("/")
    return name.removesuffix(SUFFIX) if parent == folder and name.endswith(SUFFIX) else to


# Cycles: rows that supersede each other, files that depend on each other
#
# Kosaraju's algorithm, with its own stacks instead of recursion, so that a chain of a million rows is safe.

LinkGraph = Mapping[str, Collection[str]]


def rings(graph: LinkGraph) -> list[tuple[str, ...]]:
    """Returns the sets of nodes that reach each other, each set sorted, in sorted order.

    A node that points at itself is a cycle too.
    """
    backwards: dict[str, list[str]] = {}
    for node, targets in graph.items():
        for target in targets:
            backwards.setdefault(target, []).append(node)
    found = []
    seen: set[str] = set()
    for root in reversed(_finish_order(graph)):
        members = reach(backwards, [root], seen)
        seen.update(members)
        if len(members) > 1 or (members and root in graph.get(root, ())):
            found.append(tuple(sorted(members)))
    return sorted(found)


def reach(graph: LinkGraph, roots: Iterable[str], without: Collection[str] = ()) -> set[str]:
    """Returns the nodes that can be reached from the roots, and the roots, on paths that avoid `without`."""
    pending = list(roots)
    reached: set[str] = set()
    while pending:
        node = pending.pop()
        if node not in reached and node not in without:
            reached.add(node)
            pending.extend(graph.get(node, ()))
    return reached


def _finish_order(graph: LinkGraph) -> list[str]:
    """Returns the nodes in the order in which a depth-first walk finishes them."""
    finished: list[str] = []
    entered: set[str] = set()
    for root in graph:
        walk = [(root, iter(graph[root]))] if root not in entered else []
        entered.add(root)
        while walk:
            node, targets = walk[-1]
            target = next((target for target in targets if target not in entered), None)
            if target is None:
                finished.append(node)
                walk.pop()
            else:
                entered.add(target)
                walk.append((target, iter(graph.get(target, ()))))
    return finished
