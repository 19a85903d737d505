"""Forks: runs that continue from a snapshot of another run that passed.

The log of a fork is complete in itself: what it inherits is written as its first events, its terms and the state.
"""

from collections.abc import Iterator, Mapping

from slicebase.errors import SlicebaseError
from slicebase.runs.event import EventDraft
from slicebase.runs.gate import NEVER_CHANGES, Spent, budgets_of, exhausted, start, with_inherited
from slicebase.runs.manifests import inherited_events, source_events
from slicebase.runs.records import Inherited, QuestionLogged, RunStarted
from slicebase.runs.state import ITEMS, Json


def inheritance(run_id: str, events: int, own: Spent, started: RunStarted) -> Inherited:
    """Returns what a fork inherits from a run that has these terms, so many events, and has spent so much itself."""
    total = with_inherited(own, started)
    return Inherited(run=run_id, events=events, steps=total.steps, seconds=total.seconds, cost=total.cost)


def fork(run_id: str, snapshot: Mapping[str, Json], inherited: Inherited) -> Iterator[EventDraft]:
    """Yields the first events of a run that continues from a snapshot that passed: its terms, and its state as events.

    The log of a fork is complete: inherited items are events in its own chain. So is what was spent of its budgets.
    """
    started = fork_terms(snapshot, inherited)
    used_up = exhausted(budgets_of(started.done_definition), with_inherited(Spent(), started))
    if used_up:
        hint = "start a run with budgets of its own"
        message = f"run:{inherited.run} has left nothing to a fork: {used_up}"
        raise SlicebaseError("budget-exceeded", message, hint=hint)
    yield start(run_id, started)
    yield from forked_state(snapshot)


def fork_terms(snapshot: Mapping[str, Json], inherited: Inherited) -> RunStarted:
    """Returns the terms of a run that continues from a snapshot."""
    terms = {name: snapshot[name] for name in NEVER_CHANGES}
    return RunStarted(**terms, forked_from=snapshot["snapshot_id"], inherited=inherited)


def forked_state(snapshot: Mapping[str, Json]) -> Iterator[EventDraft]:
    """Yields the state of a snapshot as events: folding them gives the state right after it."""
    state, coverage = snapshot["state"], snapshot["state"]["source_coverage"]
    yield from inherited_events(
        coverage["chunk_ids_cited"], snapshot["latest_context_manifest_ids"], snapshot["policy_snapshot_ref"]
    )
    for type_, kind in ITEMS.items():
        for item in state[kind.collection]:
            yield EventDraft(type=type_, payload={name: item[name] for name in kind.fields if name in item})
    for question in state["open_questions"]:
        yield EventDraft.of("QUESTION", QuestionLogged(question=question))
    yield from source_events(coverage["source_ids_seen"], coverage["chunk_ids_seen"])
