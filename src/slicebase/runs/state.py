"""The state of a run: a fold over its log.

A log may hold anything (ruling 35), so the fold is total and carries what it finds: what has the wrong shape reaches
the snapshot as it is, where the gate sees it. State folded from a snapshot and the events behind it is the same value
as state folded from the whole log.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import asdict, replace

from slicebase.core.hashing import canonical
from slicebase.runs.event import TERMINAL, Event

POLICY = "slice_policy_v1"

Json = Any
Key = str | int | bytes  # an id; what has none that could serve goes by its event's number or its canonical bytes
Values = dict[Key, Json]


class Retrieval(Struct, frozen=True):
    """What the manifests since the last snapshot say (ruling 38)."""

    manifests: int = 0
    candidates: Json = 0
    selected: Json = 0
    excluded_by_reason: Json = {}
    filters: Values = {}
    manifest_ids: Values = {}


class RunState(Struct, frozen=True):
    """Values stand in order of first appearance, as JSON. Only `fold` makes new states."""

    run_id: str
    objective: Json = None
    done_definition: Json = None
    provenance_mode: Json = None
    sequence: int = 0  # of the last snapshot that passed
    claims: Values = {}
    conflicts: Values = {}
    failures: Values = {}
    open_questions: Values = {}
    sources_seen: Values = {}
    chunks_seen: Values = {}
    chunks_cited: Values = {}
    counted: int = 0
    steps: dict[int | None, None] = {}
    policy_ref: str | None = None
    manifests_before: tuple[Json, ...] = ()  # the last snapshot's latest manifests
    retrieval: Retrieval = Retrieval()
    stopped: Json = None

    @property
    def latest_manifests(self) -> tuple[Json, ...]:
        """The manifests since the last snapshot; where there are none, those that it named."""
        return tuple(self.retrieval.manifest_ids.values()) or self.manifests_before


def fold(state: RunState, events: Iterable[Event]) -> RunState:
    """The state after these events. The work is proportional to the state, once, and to the events."""
    own = {name: dict(value) for name, value in asdict(state).items() if isinstance(value, dict)}
    state = replace(state, **own)
    for event in events:
        if apply := _APPLY.get(event.type):
            state = apply(state, event)
    return state


def from_snapshot(snapshot: Mapping[str, Json]) -> RunState:
    """The state right behind a snapshot that passed."""
    state, coverage = snapshot["state"], snapshot["state"]["source_coverage"]
    items: dict[str, Any] = {
        kind.collection: {item[kind.id]: item for item in state[kind.collection]} for kind in ITEMS.values()
    }
    return RunState(
        run_id=snapshot["run_id"],
        objective=snapshot["objective"],
        done_definition=snapshot["done_definition"],
        provenance_mode=snapshot["provenance_mode"],
        sequence=snapshot["sequence"],
        open_questions=_by_itself(state["open_questions"]),
        sources_seen=_by_itself(coverage["source_ids_seen"]),
        chunks_seen=_by_itself(coverage["chunk_ids_seen"]),
        chunks_cited=_by_itself(coverage["chunk_ids_cited"]),
        policy_ref=snapshot["policy_snapshot_ref"],
        manifests_before=tuple(snapshot["latest_context_manifest_ids"]),
        **items,
    )


def _by_itself(texts: list[str]) -> Values:
    return dict(zip(texts, texts, strict=True))


class ItemKind(NamedTuple):
    """How a claim, a conflict or a failure is kept. Absent fields are filled in where that cannot hide anything."""

    collection: str
    id: str
    fields: tuple[str, ...]
    defaults: Mapping[str, Json]
    refs: tuple[str, ...]


ITEMS: Mapping[str, ItemKind] = {
    "CLAIM": ItemKind(
        "claims",
        "claim_id",
        ("claim_id", "status", "statement", "evidence_refs"),
        {"status": "candidate", "evidence_refs": []},
        ("evidence_refs",),
    ),
    "CONFLICT": ItemKind(
        "conflicts",
        "conflict_id",
        ("conflict_id", "description", "side_a_refs", "side_b_refs", "status"),
        {"side_a_refs": [], "side_b_refs": [], "status": "open"},
        ("side_a_refs", "side_b_refs"),
    ),
    "FAILURE": ItemKind(
        "failures",
        "failure_id",
        ("failure_id", "category", "where", "why", "status"),
        {"status": "open"},
        (),
    ),
}


# Each of these answers the state after an event. The collections that it adds to are the fold's own.


def _started(state: RunState, event: Event) -> RunState:
    terms = ("objective", "done_definition", "provenance_mode")
    return replace(state, **{name: event.payload.get(name) for name in terms})


def _terminal(state: RunState, event: Event) -> RunState:
    state.steps[event.step] = None
    return replace(state, counted=state.counted + 1)


def _item(state: RunState, event: Event) -> RunState:
    """The latest of an id wins. An event that holds nothing but id and status changes the status alone."""
    kind, given = ITEMS[event.type], event.payload
    items: Values = getattr(state, kind.collection)
    key = given[kind.id] if isinstance(given.get(kind.id), str) else event.seq
    before = items.get(key, {})
    status_only = before and given.keys() <= {kind.id, "status"}
    values = {**(before if status_only else kind.defaults), **given}
    item = {
        name: ordered(values[name]) if name in kind.refs else values[name] for name in kind.fields if name in values
    }
    if not before or any(before.get(name) != item.get(name) for name in kind.fields):
        upcoming = state.sequence + 1
        items[key] = {**item, "since": before.get("since", upcoming), "changed": upcoming}
        _carry(state.chunks_cited, chunks_cited_by(event))
    return state


_POINTER_ORDER = ("evidence_id", "chunk_id", "span", "start", "end")


def ordered(refs: Json) -> Json:
    """Pointers with their fields in the specification's order: a log holds them in the canonical one."""
    if isinstance(refs, list):
        return [ordered(pointer) for pointer in refs]
    if not isinstance(refs, dict):
        return refs
    names = [name for name in _POINTER_ORDER if name in refs]
    return {name: ordered(refs[name]) for name in (*names, *sorted(refs.keys() - set(names)))}


def chunks_cited_by(event: Event) -> list[str]:
    """The chunks that a claim or a conflict points to."""
    return _named(event.payload, ITEMS[event.type], "chunk_id") if event.type in ITEMS else []


def evidence_ids(item: Mapping[str, Json], kind: ItemKind) -> list[str]:
    """The evidence that an item points to."""
    return _named(item, kind, "evidence_id")


def _named(item: Mapping[str, Json], kind: ItemKind, field: str) -> list[str]:
    """What an item's pointers name in this field. What cannot be read is the gate's to report."""
    lists = [refs for name in kind.refs if isinstance(refs := item.get(name), list)]
    named = (pointer.get(field) for refs in lists for pointer in refs if isinstance(pointer, dict))
    return [name for name in named if isinstance(name, str)]


def _question(state: RunState, event: Event) -> RunState:
    question = event.payload.get("question")
    if event.payload.get("status") == "closed":
        state.open_questions.pop(_key(question), None)
    else:
        state.open_questions.setdefault(_key(question), question)
    return state


def _source(state: RunState, event: Event) -> RunState:
    _carry(state.sources_seen, event.payload.get("source_ids", []))
    _carry(state.chunks_seen, event.payload.get("chunk_ids", []))
    return state


def _manifest(state: RunState, event: Event) -> RunState:
    given, before = event.payload, state.retrieval
    policy = given.get("policy_params_hash")
    retrieval = Retrieval(
        manifests=before.manifests + 1,
        candidates=_sum(before.candidates, given.get("candidates", 0)),
        selected=_sum(before.selected, given.get("selected", 0)),
        excluded_by_reason=_sums(before.excluded_by_reason, given.get("excluded_by_reason", {})),
        filters={**before.filters, **_carried(given.get("filters", []))},
        manifest_ids={**before.manifest_ids, **_carried([given.get("manifest_id")])},
    )
    policy_ref = None if policy is None else f"{POLICY}:{policy}"
    return replace(_source(state, event), policy_ref=policy_ref, retrieval=retrieval)


def _snapshot(state: RunState, event: Event) -> RunState:
    if event.payload.get("status") != "PASS":  # never the latest state (ruling 40)
        return state
    return replace(
        state,
        sequence=state.sequence + 1,
        counted=0,
        steps={},
        manifests_before=state.latest_manifests,
        retrieval=Retrieval(),
    )


def _stopped(state: RunState, event: Event) -> RunState:
    return replace(state, stopped=event.payload.get("reason"))


_APPLY: Mapping[str, Callable[[RunState, Event], RunState]] = {
    "RUN_STARTED": _started,
    **dict.fromkeys(TERMINAL, _terminal),
    **dict.fromkeys(ITEMS, _item),
    "QUESTION": _question,
    "SOURCE": _source,
    "MANIFEST": _manifest,
    "SNAPSHOT": _snapshot,
    "RUN_STOPPED": _stopped,
}


def _key(value: Json) -> Key:
    return value if isinstance(value, str) else canonical(value)


def _carry(values: Values, more: Json) -> None:
    for value in more if isinstance(more, list) else [more]:
        values.setdefault(_key(value), value)


def _carried(values: Json) -> Values:
    carried: Values = {}
    _carry(carried, values)
    return carried


def _sum(total: Json, more: Json) -> Json:
    """A sum; what is no number stands in its place, for the gate to see."""
    if type(total) is not int:
        return total
    return total + more if type(more) is int else more


def _sums(totals: Json, more: Json) -> Json:
    if not isinstance(totals, dict):
        return totals
    if not isinstance(more, dict):
        return more
    return totals | {name: _sum(totals.get(name, 0), value) for name, value in more.items()}
