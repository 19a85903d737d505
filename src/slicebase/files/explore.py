"""Infers links from stated links, walks along links from one file, and draws the walk (§ Links, ruling 28).

An edge can be inferred in two ways: by reversing a stated edge, and by following a chain of edges (§ Relationship
Properties). Both together are reachability. For each relationship, the stated edges and the reversed edges of its
converse form one graph. If the relationship is transitive, a file is related to everything that it reaches in this
graph; otherwise it is related to its neighbours only.

The closure of a chain of n files has n² edges, so nothing is computed before it is needed. The edges of one file
cost one walk, and a path is built only when it is read. What is printed has the beginning of each path: all paths of
one file together can be n² edges, too.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, get_args

from msgspec import Struct

from slicebase.core.refs import as_words
from slicebase.files.links import RELATIONSHIPS

LONGEST_PATH: Final = 20  # edges of a path that are printed


# Inference


class LinkEdge(NamedTuple):
    """A link between two files, by their ids."""

    source: str
    rel: str
    target: str


class LinkPath(NamedTuple):
    """The last stated edge of a path, the path before it, and how many edges both have."""

    step: LinkEdge
    before: "LinkPath | None" = None
    length: int = 1

    def backwards(self) -> "Iterator[LinkEdge]":
        """Yields the edges from the last one to the first."""
        path: LinkPath | None = self
        while path:
            yield path.step
            path = path.before


class InferredEdge(Struct, frozen=True, eq=False):
    """An edge that no file states."""

    source: str
    rel: str
    target: str
    last: LinkPath

    @property
    def path(self) -> tuple[LinkEdge, ...]:
        """The stated edges that it follows from, in order from source to target; some may be reversed."""
        return tuple(self.last.backwards())[::-1]


class Inference:
    """Infers edges from a set of stated edges. The order of the stated edges does not change the result."""

    def __init__(self, stated: Iterable[LinkEdge]) -> None:
        self._stated = frozenset(edge for edge in stated if edge.source != edge.target)
        self._graphs: dict[str, dict[str, dict[str, LinkEdge]]] = {}
        for edge in self._stated:
            self._add(edge.rel, edge.source, edge.target, edge)
        for edge in self._stated:
            relationship = RELATIONSHIPS.get(edge.rel)
            if relationship and relationship.converse:
                self._add(relationship.converse, edge.target, edge.source, edge)

    def _add(self, rel: str, source: str, target: str, because: LinkEdge) -> None:
        self._graphs.setdefault(rel, {}).setdefault(source, {}).setdefault(target, because)

    def of(self, source: str, rel: str | None = None) -> Iterator[InferredEdge]:
        """Yields the inferred edges of one file by relationship, the nearest first, then in the order of ids."""
        for name in (rel,) if rel else RELATIONSHIPS:
            yield from self._walk(source, name)

    def all(self) -> Iterator[InferredEdge]:
        """Yields the inferred edges of all files."""
        for rel in RELATIONSHIPS:
            for source in sorted(self._graphs.get(rel, ())):
                yield from self._walk(source, rel)

    def _walk(self, source: str, rel: str) -> Iterator[InferredEdge]:
        """Walks breadth first, so that each target gets a shortest path, and of those the first in the order of ids."""
        neighbours: Mapping[str, Mapping[str, LinkEdge]] = self._graphs.get(rel, {})
        transitive = rel in RELATIONSHIPS and RELATIONSHIPS[rel].transitive
        seen = {source}
        reached: list[tuple[str, LinkPath | None]] = [(source, None)]
        for place, before in reached:  # the list grows during the loop
            for target in sorted(neighbours.get(place, ())):
                if target in seen:
                    continue
                seen.add(target)
                path = LinkPath(neighbours[place][target], before, before.length + 1 if before else 1)
                if transitive:
                    reached.append((target, path))
                if LinkEdge(source, rel, target) not in self._stated:
                    yield InferredEdge(source, rel, target, path)


# The walk


Direction = Literal["out", "in", "both"]
DIRECTIONS: tuple[str, ...] = get_args(Direction)


class Stated(NamedTuple):
    """A link that a file or one of its rows states."""

    edge: LinkEdge
    label: str | None = None
    row: str = ""

    def as_json(self) -> dict[str, Any]:
        return {**self.edge._asdict(), "label": self.label, "row": self.row or None}


class WalkStep(NamedTuple):
    """An edge that a walk finds at the place `here`."""

    edge: LinkEdge
    here: str
    label: str | None
    row: str
    last: LinkPath | None  # of an inferred edge, the path from here that it follows from; None for a stated edge
    first: bool  # whether this step reaches `there` for the first time, so that the walk continues from it

    @property
    def is_inferred(self) -> bool:
        """Whether no file states this edge."""
        return self.last is not None

    @property
    def path(self) -> tuple[LinkEdge, ...]:
        """The stated edges that an inferred edge follows from, from its source to its target; () for a stated edge.

        A chain of many files has many long paths, so that a path is built only when it is read.
        """
        found = tuple(self.last.backwards()) if self.last else ()
        return found[::-1] if self.outward else found

    @property
    def path_length(self) -> int:
        """How many edges the path has."""
        return self.last.length if self.last else 0

    @property
    def outward(self) -> bool:
        return self.edge.source == self.here

    @property
    def there(self) -> str:
        return self.edge.target if self.outward else self.edge.source

    def as_json(self) -> dict[str, Any]:
        path = [edge._asdict() for edge in self.path[:LONGEST_PATH]]
        inferred = {"inferred": self.is_inferred, "path": path, "path_length": self.path_length}
        return {**Stated(self.edge, self.label, self.row).as_json(), **inferred}


class Walk(NamedTuple):
    """The result of a walk along links: where it starts, and its steps."""

    start: str
    steps: Mapping[str, Sequence[WalkStep]]  # by the place where each step starts

    def all(self) -> Iterator[WalkStep]:
        for steps in self.steps.values():
            yield from steps

    def places(self) -> list[str]:
        return list(dict.fromkeys([self.start, *(step.there for step in self.all())]))


class LinkSource(NamedTuple):
    """Where a walk reads links: the links of a place, the links to a place and, for inference, all links."""

    out_of: Callable[[str], Collection[Stated]]
    into: Callable[[str], Collection[Stated]]
    inference: Inference | None = None


def explore(
    start: str, links: LinkSource, *, direction: Direction = "out", rel: str | None = None, depth: int = 1
) -> Walk:
    """Walks along links from a file, breadth first, so that each place is reached by a shortest path.

    An edge is found once, from either end. The walk does not continue from a place that only an inferred edge reaches.
    """
    steps: dict[str, list[WalkStep]] = {}
    reached, met = {start}, set[tuple[LinkEdge | None, str]]()
    layer = [start]
    for _ in range(depth):
        if not layer:
            break
        beyond = []
        for here in layer:
            for step in sorted(_steps_from(here, links, direction, rel), key=_order):
                if (step.edge, step.row) in met or (step.is_inferred and (_mirrored(step.edge), "") in met):
                    continue
                met.add((step.edge, step.row))
                first = not step.is_inferred and step.there not in reached
                steps.setdefault(here, []).append(step._replace(first=first))
                if first:
                    reached.add(step.there)
                    beyond.append(step.there)
        layer = beyond
    return Walk(start, steps)


def _steps_from(here: str, links: LinkSource, direction: Direction, rel: str | None) -> Iterator[WalkStep]:
    out = links.out_of(here) if direction != "in" or links.inference else ()
    into = links.into(here) if direction != "out" else ()
    for each in (*(out if direction != "in" else ()), *into):
        if rel in (None, each.edge.rel) and each.edge.source != each.edge.target:
            yield WalkStep(each.edge, here, each.label, each.row, None, first=False)
    if links.inference is None:
        return
    # Without a relationship, the inferred links out of a place have its converses, and so say the same.
    if direction == "in" or (direction == "both" and rel):
        yield from _inferred_into(here, links.inference, out, into, rel)
    if direction == "in":
        return
    for edge in links.inference.of(here, rel):
        # In both directions the stated edge itself is shown, so its reverse would only repeat it.
        if direction == "out" or rel or edge.last.length > 1:
            yield WalkStep(LinkEdge(here, edge.rel, edge.target), here, None, "", edge.last, first=False)


def _inferred_into(
    here: str, inference: Inference, out: Collection[Stated], into: Collection[Stated], rel: str | None
) -> Iterator[WalkStep]:
    """Yields the inferred edges to a place: the sources of `rel` are the targets of its converse."""
    stated = {each.edge for each in into}
    for name in (rel,) if rel else RELATIONSHIPS:
        converse = RELATIONSHIPS[name].converse if name in RELATIONSHIPS else None
        if converse is None:
            continue
        reached = {edge.target: edge.last for edge in inference.of(here, converse)}
        reached |= {each.edge.target: LinkPath(each.edge) for each in out if each.edge.rel == converse and not each.row}
        for there, last in reached.items():
            edge = LinkEdge(there, name, here)
            if edge not in stated and there != here:
                yield WalkStep(edge, here, None, "", last, first=False)


def _mirrored(edge: LinkEdge) -> LinkEdge | None:
    """Returns the same edge seen from its other end, None if the relationship has no converse."""
    relationship = RELATIONSHIPS.get(edge.rel)
    return LinkEdge(edge.target, relationship.converse, edge.source) if relationship and relationship.converse else None


def _order(step: WalkStep) -> tuple[bool, bool, str, str, str]:
    """Sorts stated steps before inferred ones, outward steps before inward ones."""
    return step.is_inferred, not step.outward, step.edge.rel, step.there, step.row


# As text


def tree(walk: Walk, name_of: Callable[[str], str]) -> Iterator[str]:
    """Yields the lines of the walk drawn as a tree. Dotted branches are inferred."""
    yield name_of(walk.start)
    pending = [(step, "", step is walk.steps[walk.start][-1]) for step in reversed(walk.steps.get(walk.start, ()))]
    while pending:
        step, indent, last = pending.pop()
        branch = ("└" if last else "├") + ("┄ " if step.is_inferred else "─ ")
        yield f"{indent}{branch}{_in_words(step, name_of)}"
        below = walk.steps.get(step.there, ()) if step.first else ()
        deeper = indent + ("   " if last else "│  ")
        pending += [(each, deeper, each is below[-1]) for each in reversed(below)]


def _in_words(step: WalkStep, name_of: Callable[[str], str]) -> str:
    arrow = "→" if step.outward else "←"
    more = [f'"{as_words(step.label)}"'] if step.label else []
    more += [f"row {as_words(step.row)}"] if step.row else []
    more += [_because(step)] if step.is_inferred else []
    return f"{step.edge.rel} {arrow} {name_of(step.there)}" + (f"  ({'; '.join(more)})" if more else "")


def _because(step: WalkStep) -> str:
    shown = [f"{edge.source} {edge.rel} {edge.target}" for edge in step.path[:LONGEST_PATH]]
    more = step.path_length - len(shown)
    return f"because {', '.join(shown)}{f', and {more:,} more' if more else ''}"


def mermaid(walk: Walk, name_of: Callable[[str], str]) -> str:
    """Returns the walk as a Mermaid flowchart. Dotted arrows are inferred."""
    names = {place: f"n{number}" for number, place in enumerate(walk.places())}
    lines = ["flowchart LR"]
    lines += [f'  {names[place]}["{_escaped(name_of(place))}"]' for place in names]
    for step in walk.all():
        arrow = "-.->" if step.is_inferred else "-->"
        lines.append(f"  {names[step.edge.source]} {arrow}|{_escaped(step.edge.rel)}| {names[step.edge.target]}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return "".join(f"#{ord(character)};" if character in '#"<>|' else character for character in text)
