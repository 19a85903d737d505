"""The name of a slice file: its id (§ Storage). An id that is no safe name is refused before any path is made of it.

The relationships between files, as data (§ Relationship Types).

Links and what they point at (§ Addressing, ruling 29). Nothing here looks at a disk.

Rings in a directed graph: rows that supersede each other, files that depend on each other.

Kosaraju's algorithm, with stacks of its own instead of recursion: a chain of a million rows is no danger.
"""

import posixpath
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final, Literal, NamedTuple

from slicebase.core.refs import parse
from slicebase.errors import SlicebaseError

SUFFIX: Final = ".slice"
SAFE_FORM: Final = "an id has no spaces, slashes, backslashes, @, : or #, and starts with neither a dot nor a hyphen"
_SAFE: Final = re.compile(r"[^\s/\\@:#.\-][^\s/\\@:#]*")
_LONGEST: Final = 200  # bytes; file systems allow 255 with the suffix


def is_safe(file_id: str) -> bool:
    """Whether an id names a file of one folder, is no option of a command, and can stand in a reference (ruling 7)."""
    return (
        _SAFE.fullmatch(file_id) is not None
        and file_id.isprintable()
        and len(file_id.encode("utf-8", "surrogatepass")) <= _LONGEST
    )


def file_name(file_id: str) -> str:
    if not is_safe(file_id):
        from slicebase.files.findings import shown

        raise SlicebaseError("bad-id", f"{shown(file_id)} cannot be a file's name", hint=SAFE_FORM)
    return file_id + SUFFIX


class Relationship(NamedTuple):
    name: str
    inverse: str
    transitive: bool
    symmetric: bool
    about: str
    converse: str | None  # what B is to A when A is this to B; None where that does not follow


class _Pair(NamedTuple):
    name: str
    inverse: str
    transitive: bool
    symmetric: bool
    about: str
    converses: bool = True


# The specification's table. `evidence_for` and `evidence_against` stand there as a pair, but they are opposites,
# not converses: that A supports B says nothing about what B does to A (ruling 28).
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


def _both_ways(pair: _Pair) -> dict[str, Relationship]:
    """The inverse of a transitive relationship is transitive (ruling 28)."""
    return {
        name: Relationship(
            name, inverse, pair.transitive, pair.symmetric, pair.about, inverse if pair.converses else None
        )
        for name, inverse in ((pair.name, pair.inverse), (pair.inverse, pair.name))
    }


RELATIONSHIPS: Final[Mapping[str, Relationship]] = {
    name: relationship for pair in _TABLE for name, relationship in _both_ways(pair).items()
}


TargetKind = Literal["id", "path", "reference", "uri"]

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def target_kind(to: str) -> TargetKind:
    """What a target is, by its form: one of our references, another URI, a path, or else an id."""
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
    """A path link as a path from the workspace, given its file's folder there; None where it leads outside.

    The folder `""` is the workspace itself. An absolute path names a place on one machine: it leads outside.
    """
    path = posixpath.normpath(posixpath.join(folder, to))
    outside = path.startswith(("/", "../")) or path == ".."
    return None if outside else path


def meant_id(folder: str, to: str) -> str:
    """A target as an id: a reference to a file is one, and so is a path to a slice file of its folder (ruling 29)."""
    to = to.removeprefix("file:")
    parent, _, name = (resolve(folder, to) or "").rpartition("/")
    return name.removesuffix(SUFFIX) if parent == folder and name.endswith(SUFFIX) else to


Graph = Mapping[str, Collection[str]]


def rings(graph: Graph) -> list[tuple[str, ...]]:
    """The sets of nodes that reach each other, each sorted, and sorted. A node that points at itself is a ring."""
    backwards: dict[str, list[str]] = {}
    for node, targets in graph.items():
        for target in targets:
            backwards.setdefault(target, []).append(node)
    found = []
    seen: set[str] = set()
    for root in reversed(_leaving_order(graph)):
        members = reach(backwards, [root], seen)
        seen.update(members)
        if len(members) > 1 or (members and root in graph.get(root, ())):
            found.append(tuple(sorted(members)))
    return sorted(found)


def reach(graph: Graph, roots: Iterable[str], without: Collection[str] = ()) -> set[str]:
    """Everything that can be reached from the roots, they included, on ways that avoid `without`."""
    pending = list(roots)
    reached: set[str] = set()
    while pending:
        node = pending.pop()
        if node not in reached and node not in without:
            reached.add(node)
            pending.extend(graph.get(node, ()))
    return reached


def _leaving_order(graph: Graph) -> list[str]:
    """Nodes in the order in which a depth-first walk leaves them for good."""
    left: list[str] = []
    entered: set[str] = set()
    for root in graph:
        walk = [(root, iter(graph[root]))] if root not in entered else []
        entered.add(root)
        while walk:
            node, targets = walk[-1]
            target = next((target for target in targets if target not in entered), None)
            if target is None:
                left.append(node)
                walk.pop()
            else:
                entered.add(target)
                walk.append((target, iter(graph.get(target, ()))))
    return left
