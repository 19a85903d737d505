"""The parents of a source's records: bridges over records that are not turns, and edges that would close a cycle."""

from collections.abc import Iterable

from msgspec import Struct

from slicebase.graph.turn import Edge, EdgeType, Parent


class LinksState(Struct):
    """The state of parent links, from which others can continue."""

    parents: dict[str, tuple[str, ...]] = {}  # of each turn that was read
    bridges: dict[str, str | None] = {}  # of each record that was read and is not a turn: its parent
    first: dict[str, str] = {}  # of each parent: its first child
    awaited: dict[str, list[Parent]] = {}  # of each parent that was not read yet: its children, with edge types


class ParentLinks:
    """The parents of one source's records, added in the order of the source. It keeps only ids, never content.

    - The first child of a parent is a reply, later ones are branches (ruling 18).
    - A record that is not a turn is bridged: its children become children of its parent.
    - A parent that was not read yet is kept: it may come later, be in another file, or not exist.
    - A parent that descends from its own child would close a cycle: it is dropped.
    """

    def __init__(self, state: LinksState | None = None) -> None:
        self.state = state or LinksState()
        self._parents, self._bridges = self.state.parents, self.state.bridges
        self._first, self._awaited = self.state.first, self.state.awaited

    def __contains__(self, turn: str | None) -> bool:
        return turn in self._parents

    def parents(self, turn: str) -> tuple[str, ...]:
        """Returns the parents of a turn that was read; none for another."""
        return self._parents.get(turn, ())

    def resolve(self, record: str | None) -> str | None:
        """Returns the record itself, or its nearest ancestor that is not bridged."""
        while record is not None and record in self._bridges:
            record = self._bridges[record]
        return record

    def join(
        self, child: str, parent: str | None, references: Iterable[str] = ()
    ) -> tuple[tuple[Parent, ...], list[str]]:
        """Adds a turn. Returns its parents, and those that were dropped because they would close a cycle."""
        claimed: dict[str, EdgeType] = {}
        above = self.resolve(parent)
        if above is not None:
            claimed[above] = "reply" if self._first.get(above, child) == child else "branch"
        for reference in references:
            target = self.resolve(reference)
            if target is not None:
                claimed.setdefault(target, "reference")
        return self.adopt(child, [Parent(known, edge_type) for known, edge_type in claimed.items()])

    def adopt(self, child: str, claimed: Iterable[Parent]) -> tuple[tuple[Parent, ...], list[str]]:
        """Adds a turn, as `join` does, with parents whose types are known."""
        # Only a turn that was named as a parent before it was read can already have descendants.
        suspect = child in self._awaited or child in self._bridges
        kept, dropped = [], []
        for parent in claimed:
            if parent.id == child or (suspect and self._descends(parent.id, child)):
                dropped.append(parent.id)
            else:
                kept.append(parent)
        self._remember(child, tuple(kept))
        return tuple(kept), dropped

    def _remember(self, child: str, kept: tuple[Parent, ...]) -> None:
        if child in self._parents:
            return  # the same record again, or another one with its id: the first is kept (ruling 15)
        self._awaited.pop(child, None)
        self._bridges.pop(child, None)  # an id that a turn and another record share is the turn's
        self._parents[child] = tuple(parent.id for parent in kept)
        for parent in kept:
            if parent.type == "reply":
                self._first[parent.id] = child
            if parent.id not in self._parents:
                self._awaited.setdefault(parent.id, []).append(Parent(child, parent.type))

    def _descends(self, turn: str, ancestor: str) -> bool:
        seen = {turn}
        ahead = [turn]
        while ahead:
            for parent in self._parents.get(ahead.pop(), ()):
                if parent == ancestor:
                    return True
                if parent not in seen:
                    seen.add(parent)
                    ahead.append(parent)
        return False

    def bridge(self, record: str, parent: str | None) -> list[Edge]:
        """Adds a record that is not a turn. Returns edges from its parent to the children that were read before it."""
        if record in self._parents or record in self._bridges:
            return []
        above = self.resolve(parent)
        self._bridges[record] = None if above == record else above
        edges = []
        for child in self._awaited.pop(record, ()):
            if above is None or above == child.id or self._descends(above, child.id):
                continue
            edges.append(Edge(above, child.id, child.type))
            self._parents[child.id] = (*self._parents[child.id], above)
            if above not in self._parents:
                self._awaited.setdefault(above, []).append(child)
        return edges
