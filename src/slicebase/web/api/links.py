"""The links around a slice file: as lists, and as a drawing whose places are computed here."""

from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta, Struct

from slicebase.files.explore import LONGEST_PATH
from slicebase.files.grid import MOST_PLACES, neighbourhood
from slicebase.web.endpoints import Name, Parameters, get

if TYPE_CHECKING:
    from slicebase.base import Slicebase
    from slicebase.files.explore import LinkEdge, WalkStep
    from slicebase.index.links import Exploration


class LinksQuery(Parameters, frozen=True, kw_only=True):
    """The links of a file; `infer` adds those that follow from others."""

    id: Name
    infer: bool = True
    limit: Annotated[int, Meta(ge=1, le=2000)] = 200


class LinkEnd(Struct, frozen=True):
    """What a link leads to, or comes from; `kind` is `missing` where nothing has this id."""

    id: str
    kind: str
    title: str | None
    type: str | None
    archived: bool


class EdgeRow(Struct, frozen=True):
    """A link that a file states."""

    source: str
    rel: str
    target: str


class LinkRow(Struct, frozen=True):
    """A link of a file: where it leads, and for one that is inferred the first of the links that it follows from."""

    source: str
    rel: str
    target: str
    label: str | None
    row: str | None
    inferred: bool
    outward: bool
    end: LinkEnd
    path: tuple[EdgeRow, ...]
    path_length: int


class LinkLists(Struct, frozen=True):
    """The links of a file, stated ones first; `total` counts all of them, `titles` are of files that paths name."""

    links: tuple[LinkRow, ...]
    total: int
    titles: dict[str, str]


def links(memory: "Slicebase", asked: LinksQuery) -> LinkLists:
    """Returns the links of a file in both directions, and what follows from them."""
    found = memory.finder.explore(asked.id, direction="both", depth=1, infer=asked.infer)
    steps = list(found.walk.all())
    shown = steps[: asked.limit]
    rows = tuple(
        LinkRow(
            *step.edge, step.label, step.row or None, step.is_inferred, step.outward,
            _end(found, step.there), tuple(map(_edge, step.path[:LONGEST_PATH])), step.path_length,
        )
        for step in shown
    )  # fmt: skip
    named = {name for row in rows for edge in row.path for name in (edge.source, edge.target)}
    titles = {name: _titled(memory, found, name) for name in sorted(named)[:_TITLES]}
    return LinkLists(rows, len(steps), {name: title for name, title in titles.items() if title})


_TITLES: Final = 300


def _edge(edge: "LinkEdge") -> EdgeRow:
    return EdgeRow(*edge)


def _end(found: "Exploration", name: str) -> LinkEnd:
    kind, entry = found.places[name]
    if entry is None:
        return LinkEnd(name, kind, None, None, archived=False)
    return LinkEnd(name, kind, entry.title, entry.body_type, bool(entry.archived))


def _titled(memory: "Slicebase", found: "Exploration", name: str) -> str | None:
    if name in found.places:
        entry = found.places[name].entry
        return entry.title if entry else None
    file = memory.folder.readable(name)
    return file.title if file else None


# The drawing


class NeighbourhoodQuery(Parameters, frozen=True, kw_only=True):
    """A drawing of the files around a file: how many links away, and whether inferred links are drawn."""

    id: Name
    depth: Annotated[int, Meta(ge=1, le=3)] = 1
    infer: bool = True


class DrawnFile(Struct, frozen=True):
    """A file or another target of links in a drawing, in units of its grid."""

    id: str
    kind: str
    title: str | None
    type: str | None
    archived: bool
    column: int
    row: float
    distance: int


class DrawnLink(Struct, frozen=True):
    """A link in a drawing, between the numbers of two of its places."""

    source: int
    target: int
    rel: str
    label: str | None
    inferred: bool


class Neighbourhood(Struct, frozen=True):
    """The files around a file, each with its place on a grid of columns and rows."""

    places: tuple[DrawnFile, ...]
    links: tuple[DrawnLink, ...]
    columns: int
    rows: float
    left_out: int
    depth: int  # that was drawn: less than asked for where there is too much


def draw(memory: "Slicebase", asked: NeighbourhoodQuery) -> Neighbourhood:
    """Returns the files around a file, each with its place in a drawing."""
    depth = 1
    found = memory.finder.explore(asked.id, direction="both", depth=1, infer=asked.infer)
    while depth < asked.depth and len(found.places) < MOST_PLACES:
        depth += 1
        found = memory.finder.explore(asked.id, direction="both", depth=depth, infer=asked.infer)
    drawing = neighbourhood(found.walk)
    numbers = {place.name: number for number, place in enumerate(drawing.places)}
    places = tuple(
        DrawnFile(end.id, end.kind, end.title, end.type, end.archived, place.column, place.row, place.distance)
        for place in drawing.places
        for end in (_end(found, place.name),)
    )
    drawn = tuple(_drawn(step, numbers) for step in drawing.steps)
    return Neighbourhood(places, drawn, drawing.columns, drawing.rows, drawing.left_out, depth)


def _drawn(step: "WalkStep", numbers: dict[str, int]) -> DrawnLink:
    edge = step.edge
    return DrawnLink(numbers[edge.source], numbers[edge.target], edge.rel, step.label, step.is_inferred)


ENDPOINTS: Final = (
    get("/files/{id}/links", "finder.explore", links),
    get("/files/{id}/neighbourhood", "finder.explore", draw),
)
