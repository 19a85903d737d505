"""Rings in a directed graph: rows that supersede each other, files that depend on each other.

Kosaraju's algorithm, with stacks of its own instead of recursion: a chain of a million rows is no danger.
"""

from collections.abc import Collection, Iterable, Mapping

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
