"""The links between slice files, read from the index."""

import os
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import apsw

from slicebase.files.explore import Direction, Inference, LinkEdge, LinkSource, Stated, Walk, explore
from slicebase.files.links import target_kind
from slicebase.index.entries import FileEntry, find_file, get_files

PlaceKind = Literal["file", "missing", "path", "reference", "uri"]

_LINKS: Final = """
SELECT files.id, links.rel, coalesce(target.id, links.node), links.label, links.row
FROM links JOIN files ON files.number = links.file LEFT JOIN files AS target ON target.name = links.name
"""
_OUT: Final = f"{_LINKS} WHERE files.id = ? AND links.active ORDER BY files.name, links.position"
_INTO: Final = f"""
{_LINKS} WHERE links.active AND (links.node = ?1 OR links.name IN (SELECT name FROM files WHERE id = ?1))
ORDER BY files.id, files.name, links.position
"""
# The links of a row are about the row only: nothing about its file is inferred from them.
_OF_FILES: Final = f"{_LINKS} WHERE links.row = ''"


class LinkTarget(NamedTuple):
    """The target of a link: a file of the library, or something else that it names."""

    kind: PlaceKind
    entry: FileEntry | None = None


class Exploration(NamedTuple):
    """The links around a file, and what their targets are."""

    walk: Walk
    places: dict[str, LinkTarget]

    @property
    def links(self) -> list[LinkEdge]:
        """The links, the nearest first, each with its source, relationship and target."""
        return [step.edge for step in self.walk.all()]

    def __repr__(self) -> str:
        return f"Exploration(start={self.walk.start!r}, links={len(self.links)})"

    def as_json(self) -> dict[str, Any]:
        """Returns the places and the edges, as `tt explore --json` prints them."""
        places = [
            {"id": name, "kind": place.kind, "title": place.entry.title if place.entry else None}
            for name, place in self.places.items()
        ]
        return {"start": self.walk.start, "places": places, "edges": [step.as_json() for step in self.walk.all()]}


def explore_files(
    connection: apsw.Connection,
    root: Path,
    given: str,
    *,
    direction: Direction = "out",
    rel: str | None = None,
    depth: int = 1,
    infer: bool = False,
) -> Exploration:
    """Follows the links from a file of the workspace at `root`, and returns what it finds."""
    start = find_file(connection, given).id
    links = LinkSource(
        lambda place: links_out_of(connection, place),
        lambda place: links_into(connection, place),
        Inference(each.edge for each in _stated(connection, _OF_FILES)) if infer else None,
    )
    walk = explore(start, links, direction=direction, rel=rel, depth=depth)
    places = walk.places()
    entries = get_files(connection, places)
    return Exploration(walk, {place: _place(entries.get(place), root, place) for place in places})


def links_out_of(connection: apsw.Connection, place: str) -> list[Stated]:
    """Returns the links that a file states."""
    return _stated(connection, _OUT, place)


def links_into(connection: apsw.Connection, place: str) -> list[Stated]:
    """Returns the links that files state about this target."""
    return _stated(connection, _INTO, place)


def part_links(connection: apsw.Connection) -> list[tuple[str, str]]:
    """Returns the pairs of files that are joined by `part_of` or `has_part`, as ids."""
    query = f"{_LINKS} WHERE links.rel IN ('part_of', 'has_part') AND links.row = ''"
    return [(each.edge.source, each.edge.target) for each in _stated(connection, query)]


def overflow_links(connection: apsw.Connection) -> list[tuple[str, str]]:
    """Returns the pairs of files of which overflow created one as a part of the other, as ids (ruling 32)."""
    query = f"""
    {_LINKS} WHERE rel IN ('part_of', 'has_part') AND label IN ('overflow', 'archive') AND row = ''
    """
    return [(each.edge.source, each.edge.target) for each in _stated(connection, query)]


def overflow_parts(connection: apsw.Connection) -> set[str]:
    """Returns the ids of files that overflow created as parts of others (ruling 32)."""
    query = """
    SELECT files.id FROM links JOIN files ON files.number = links.file
    WHERE links.rel = 'part_of' AND links.rel IN ('part_of', 'has_part') -- as the index `overflow_links` has it
    AND links.label IN ('overflow', 'archive') AND links.row = ''
    """
    return {file_id for (file_id,) in connection.execute(query) if file_id}


def _stated(connection: apsw.Connection, query: str, *values: Any) -> list[Stated]:
    rows = connection.execute(query, values)
    return [Stated(LinkEdge(source, rel, target), label, row) for source, rel, target, label, row in rows]


def _place(entry: FileEntry | None, root: Path, name: str) -> LinkTarget:
    if entry:
        return LinkTarget("file", entry)
    kind = target_kind(name)
    if kind == "id" or (kind == "path" and not os.path.exists(root / name)):  # also for names that no path can have
        return LinkTarget("missing")
    return LinkTarget(kind)
