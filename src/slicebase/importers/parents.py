"""How the records of a source hang together: parents, records that are no turns, edges that would close a cycle."""

from collections.abc import Iterable

from msgspec import Struct

from slicebase.graph.turn import Edge, EdgeType, Parent


class LinksState(Struct):
    """What links know, so that others can go on from there."""

    parents: dict[str, tuple[str, ...]] = {}  # of each turn seen
    bridges: dict[str, str | None] = {}  # of each record seen that is no turn: what it hangs on
    first: dict[str, str] = {}  # of each parent: its first child
    awaited: dict[str, list[Parent]] = {}  # of each parent not seen yet: its children and their edges' types


class ParentLinks:
    """The parents of one source, in its order. It keeps ids only, never content.

    - The first child of a parent is a reply, later ones are branches (ruling 18).
    - A record that is no turn is bridged: what hangs on it hangs on what it hangs on.
    - A parent that has not been seen stays what it is: it may stand later, in another file, or nowhere.
    - A parent that descends from its own child would close a cycle: it is dropped.
    """

    def __init__(self, state: LinksState | None = None) -> None:
        self.state = state or LinksState()
        self._parents, self._bridges = self.state.parents, self.state.bridges
        self._first, self._awaited = self.state.first, self.state.awaited

    def __contains__(self, turn: str | None) -> bool:
        return turn in self._parents

    def resolve(self, record: str | None) -> str | None:
        """The turn (or the record not seen yet) that a record stands for."""
        while record is not None and record in self._bridges:
            record = self._bridges[record]
        return record

    def join(
        self, child: str, parent: str | None, references: Iterable[str] = ()
    ) -> tuple[tuple[Parent, ...], list[str]]:
        """The parents of a new turn, and those that were dropped because they would close a cycle."""
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
        """The same for parents whose types are known."""
        # Only what was named as a parent before it was seen as a turn can have descendants already.
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
            return  # the same record again, or another one under its id: the first stays (ruling 15)
        self._awaited.pop(child, None)
        self._bridges.pop(child, None)  # an id of both kinds is the turn's
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
        """A record that is no turn. Its children that came before it are tied to what it hangs on by these edges."""
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
