"""What a run is told by its verbs: start, fork, and the door that refuses what the gate would refuse (ruling 35)."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Any

import msgspec

from slicebase.core.hashing import canonical
from slicebase.errors import SlicebaseError
from slicebase.runs.budget import budgets_of
from slicebase.runs.checks import Inputs, check
from slicebase.runs.event import MAX_PAYLOAD, TYPES, VERBOSE, Draft, Head, append
from slicebase.runs.evidence import Evidence
from slicebase.runs.records import ManifestLogged, QuestionLogged, Refused, RunStarted, SourceLogged
from slicebase.runs.snapshot import build
from slicebase.runs.state import ITEMS, Json, State, fold, from_snapshot

_RUN_ID = re.compile(r"[^\s/]{1,128}")
_NEVER_CHANGES = ("objective", "done_definition", "provenance_mode")


def start(run_id: str, started: RunStarted) -> Draft:
    """The first event of a run."""
    if not _RUN_ID.fullmatch(run_id) or not run_id.isprintable():
        raise SlicebaseError("bad-run", f"{run_id!r} is no id of a run", hint="without spaces and slashes, up to 128")
    if not started.objective.strip() or not started.done_definition:
        raise SlicebaseError("bad-run", "a run needs an objective and a definition of done")
    budgets_of(started.done_definition)
    return Draft.of("RUN_STARTED", started)


def admit(draft: Draft, started: RunStarted) -> Draft:
    """What an agent's line becomes in the log: itself; for a try to change the run's terms, a refusal on record."""
    if draft.type == "RUN_STARTED":
        terms = msgspec.to_builtins(started)
        changed = tuple(name for name in _NEVER_CHANGES if draft.payload.get(name, terms[name]) != terms[name])
        refused = Refused(what=changed, attempted={name: draft.payload[name] for name in changed})
        return Draft.of("REFUSED", refused, step=draft.step, time=draft.time)
    if not TYPES.get(draft.type, VERBOSE).agent:
        raise SlicebaseError(
            "reserved-event",
            f"a {draft.type} event cannot be logged",
            hint="it is written by `tt run compact` and `tt run stop`",
        )
    return draft


def refuse_at_door(draft: Draft, state: State, evidence: Mapping[str, Evidence], now: str) -> None:
    """Raises where the gate would refuse a state that holds this event, and nothing else that is new.

    The gate's own checks are asked, about a run that has only this item.
    """
    base = build(State(state.run_id, "-", "-", "-", **_only_item(draft, state)), now)
    head = Head(state.run_id)
    event, _ = append(head, draft, now)
    snapshot = build(fold(from_snapshot(base), [event]), now)
    started = RunStarted(objective="-", done_definition="-")
    for result in check(snapshot, Inputs(started, base, head, (event,), evidence)):
        if result.status == "FAIL":
            raise SlicebaseError("gate-would-refuse", f"{result.name}: {result.message}")


def _only_item(draft: Draft, state: State) -> dict[str, Any]:
    """The item that a draft changes, as it stands."""
    kind = ITEMS.get(draft.type)
    if kind is None:
        return {}
    item_id = draft.payload.get(kind.id)
    items = getattr(state, kind.collection)
    known = isinstance(item_id, str) and item_id in items
    return {kind.collection: {item_id: items[item_id]} if known else {}}


def fork(run_id: str, snapshot: Mapping[str, Json]) -> Iterator[Draft]:
    """The first events of a run that goes on from a snapshot that passed: its terms, and its state as events.

    A fork's log stands for itself: what it inherits is chained like everything else.
    """
    terms = {name: snapshot[name] for name in _NEVER_CHANGES}
    yield start(run_id, RunStarted(**terms, forked_from=snapshot["snapshot_id"]))
    for type_, kind in ITEMS.items():
        for item in snapshot["state"][kind.collection]:
            yield Draft(type=type_, payload={name: item[name] for name in kind.fields})
    for question in snapshot["state"]["open_questions"]:
        yield Draft.of("QUESTION", QuestionLogged(question=question))
    coverage = snapshot["state"]["source_coverage"]
    yield from seen(coverage["source_ids_seen"], coverage["chunk_ids_seen"])


def seen(source_ids: Iterable[str], chunk_ids: Iterable[str], step: int | None = None) -> Iterator[Draft]:
    """SOURCE events for these ids: one, or as many as their size needs."""
    for sources, chunks in zip_longest(_batches(source_ids), _batches(chunk_ids), fillvalue=()):
        yield Draft.of("SOURCE", SourceLogged(source_ids=sources, chunk_ids=chunks), step=step)


def bind(manifest: ManifestLogged, step: int | None = None) -> Iterator[Draft]:
    """A manifest's event. What it selected stands in it, or behind it where it is too much for one payload."""
    first, *rest = list(_batches(manifest.chunk_ids)) or [()]
    yield Draft.of("MANIFEST", msgspec.structs.replace(manifest, chunk_ids=first), step=step)
    yield from seen((), (chunk_id for batch in rest for chunk_id in batch), step=step)


_BATCH = MAX_PAYLOAD // 2 - 1024  # bytes of ids, of which a payload holds two batches at most


def _batches(ids: Iterable[str]) -> Iterator[tuple[str, ...]]:
    batch: list[str] = []
    size = 0
    for name in ids:
        size += len(canonical(name)) + 1
        if batch and size > _BATCH:
            yield tuple(batch)
            batch, size = [], len(canonical(name)) + 1
        batch.append(name)
    if batch:
        yield tuple(batch)
