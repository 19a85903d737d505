"""Batches of turns on their way into the truth, and onto the account."""

from collections.abc import Iterable

from slicebase.graph.turn import Edge
from slicebase.importers.values import Batch, Note
from slicebase.store.account import Account
from slicebase.store.truth import Truth
from slicebase.store.turns import Added, Annotate


def take(
    truth: Truth,
    account: Account,
    batches: Iterable[Batch],
    waiting: list[Edge],
    *,
    name: str,
    annotate: Annotate | None,
) -> None:
    """Stores what was read from an input; `waiting` are the edges whose child has not arrived, before and after."""
    for batch in batches:
        added = truth.turns.add(batch.session, batch.turns, annotate) if batch.session else Added()
        account.add(batch, added, name)
        waiting[:] = _link(truth, account, [*waiting, *batch.links])


def _link(truth: Truth, account: Account, links: list[Edge]) -> list[Edge]:
    """Adds edges that stand outside their child's record; answers those whose child has not arrived."""
    if not links:
        return links
    linked = truth.turns.link(links)
    account.edges += linked.edges
    account.continues += linked.continues
    for child, parent in linked.cycles:
        account.report.note(Note("repaired", "cycle", f"turn:{child}", parent))
    return list(linked.unknown)
