"""The state of a run: a fold over its log.

A log may contain anything (ruling 35), so the fold accepts every event and keeps values of the wrong shape: they reach
the snapshot unchanged, where the gate reports them. Folding a snapshot and the events after it gives the same state as
folding the complete log.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import asdict

from slicebase.core.hashing import canonical
from slicebase.runs.event import TERMINAL, Event
from slicebase.runs.values import each_of, same, sum_of, sums

POLICY = "slice_policy_v1"

Json = Any
ItemKey = str | int | bytes  # an id; without a usable one, the number of the event or the canonical bytes
Values = Mapping[ItemKey, Json]


class Retrieval(Struct, frozen=True):
    """The sums over the manifests since the last snapshot (ruling 38)."""

    manifests: int = 0
    candidates: Json = 0
    selected: Json = 0
    excluded_by_reason: Json = {}
    filters: Values = {}
    manifest_ids: Values = {}


class RunState(Struct, frozen=True):
    """The state of a run. Values are JSON, in order of first appearance. `fold` returns a new state."""

    run_id: str
    objective: Json = None
    done_definition: Json = None
    provenance_mode: Json = None
    sequence: int = 0  # the number of the last snapshot that passed
    claims: Values = {}
    conflicts: Values = {}
    failures: Values = {}
    open_questions: Values = {}
    sources_seen: Values = {}
    chunks_seen: Values = {}
    chunks_cited: Values = {}
    counted: int = 0
    steps: Mapping[int | None, None] = {}
    policy_ref: str | None = None
    manifests_before: tuple[Json, ...] = ()  # the latest manifests of the last snapshot
    retrieval: Retrieval = Retrieval()
    stopped: Json = None

    @property
    def latest_manifests(self) -> tuple[Json, ...]:
        """The manifests since the last snapshot; if there are none, those that it named."""
        return latest_manifests(self.retrieval, self.manifests_before)


def latest_manifests(retrieval: Retrieval, before: tuple[Json, ...]) -> tuple[Json, ...]:
    """Returns the manifests of a retrieval; if there are none, `before`."""
    return tuple(retrieval.manifest_ids.values()) or before


class _Fold(Struct):
    """A mutable copy of a state, to which events are added. Its collections are copies too."""

    run_id: str
    objective: Json
    done_definition: Json
    provenance_mode: Json
    sequence: int
    claims: dict[ItemKey, Json]
    conflicts: dict[ItemKey, Json]
    failures: dict[ItemKey, Json]
    open_questions: dict[ItemKey, Json]
    sources_seen: dict[ItemKey, Json]
    chunks_seen: dict[ItemKey, Json]
    chunks_cited: dict[ItemKey, Json]
    counted: int
    steps: dict[int | None, None]
    policy_ref: str | None
    manifests_before: tuple[Json, ...]
    retrieval: Retrieval
    stopped: Json

    @classmethod
    def of(cls, state: RunState) -> "_Fold":
        values: dict[str, Any] = asdict(state)
        return cls(**(values | {name: dict(values[name]) for name in _COLLECTIONS}))

    def done(self) -> RunState:
        return RunState(**asdict(self))


_COLLECTIONS = frozenset(
    {"claims", "conflicts", "failures", "open_questions", "sources_seen", "chunks_seen", "chunks_cited", "steps"}
)


def fold(state: RunState, events: Iterable[Event]) -> RunState:
    """Returns the state after these events. It takes time for one copy of the state and for each event."""
    copy = _Fold.of(state)
    for event in events:
        if apply := _APPLY.get(event.type):
            apply(copy, event)
    return copy.done()


def from_snapshot(snapshot: Mapping[str, Json]) -> RunState:
    """Returns the state right after a snapshot that passed."""
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
    """How a claim, a conflict or a failure is kept. A field has a default only if that cannot hide a problem."""

    collection: str
    id: str
    fields: tuple[str, ...]
    defaults: Mapping[str, Json]
    refs: tuple[str, ...]


ITEMS: Mapping[str, ItemKind] = {
    "CLAIM": ItemKind(
        "claims",
        "claim_id",
        ("claim_id", "status", "statement", "evidence_refs", "kind"),
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


# Each of these functions adds one type of event to a fold.


def _started(state: _Fold, event: Event) -> None:
    for name in ("objective", "done_definition", "provenance_mode"):
        setattr(state, name, event.payload.get(name))


def _terminal(state: _Fold, event: Event) -> None:
    state.steps[event.step] = None
    state.counted += 1


def _item(state: _Fold, event: Event) -> None:
    """Adds an item; the latest with an id wins. An event with only an id and a status changes only the status."""
    kind, given = ITEMS[event.type], event.payload
    items: dict[ItemKey, Json] = getattr(state, kind.collection)
    key = _item_key(event)
    before = items.get(key, {})
    values = {**(before if before and is_status_only(event) else kind.defaults), **given}
    item = {
        name: ordered(values[name]) if name in kind.refs else values[name] for name in kind.fields if name in values
    }
    if not before or not all(same(before.get(name), item.get(name)) for name in kind.fields):
        upcoming = state.sequence + 1
        items[key] = {**item, "since": before.get("since", upcoming), "changed": upcoming}
        _collect(state.chunks_cited, chunks_cited_by(event))


def is_status_only(event: Event) -> bool:
    """Returns whether an event about an item that is known changes only its status."""
    return event.payload.keys() <= {ITEMS[event.type].id, "status"}


def _item_key(event: Event) -> ItemKey:
    given = event.payload.get(ITEMS[event.type].id)
    return given if isinstance(given, str) else event.seq


_POINTER_ORDER = ("evidence_id", "chunk_id", "span", "start", "end")


def ordered(refs: Json) -> Json:
    """Returns pointers with their fields in the order of the specification. A log has them in canonical order."""
    if isinstance(refs, list):
        return [ordered(pointer) for pointer in refs]
    if not isinstance(refs, dict):
        return refs
    names = [name for name in _POINTER_ORDER if name in refs]
    return {name: ordered(refs[name]) for name in (*names, *sorted(refs.keys() - set(names)))}


def chunks_cited_by(event: Event) -> list[str]:
    """Returns the ids of the chunks that a claim or a conflict cites."""
    return _named(event.payload, ITEMS[event.type], "chunk_id") if event.type in ITEMS else []


def evidence_ids(item: Mapping[str, Json], kind: ItemKind) -> list[str]:
    """Returns the ids of the evidence that an item cites."""
    return _named(item, kind, "evidence_id")


def _named(item: Mapping[str, Json], kind: ItemKind, field: str) -> list[str]:
    """Returns a field of all pointers of an item. Values of the wrong type are skipped: the gate reports them."""
    lists = [refs for name in kind.refs if isinstance(refs := item.get(name), list)]
    named = (pointer.get(field) for refs in lists for pointer in refs if isinstance(pointer, dict))
    return [name for name in named if isinstance(name, str)]


def _question(state: _Fold, event: Event) -> None:
    if event.payload.get("status") == "closed":
        state.open_questions.pop(_question_key(event), None)
    else:
        state.open_questions.setdefault(_question_key(event), event.payload.get("question"))


def _question_key(event: Event) -> ItemKey:
    return _key(event.payload.get("question"))


def _source(state: _Fold, event: Event) -> None:
    _collect(state.sources_seen, event.payload.get("source_ids", []))
    _collect(state.chunks_seen, event.payload.get("chunk_ids", []))


def _manifest(state: _Fold, event: Event) -> None:
    _source(state, event)
    given, before = event.payload, state.retrieval
    policy = given.get("policy_params_hash")
    state.policy_ref = None if policy is None else f"{POLICY}:{policy}"
    state.retrieval = Retrieval(
        manifests=before.manifests + 1,
        candidates=sum_of(before.candidates, given.get("candidates", 0)),
        selected=sum_of(before.selected, given.get("selected", 0)),
        excluded_by_reason=sums(before.excluded_by_reason, given.get("excluded_by_reason", {})),
        filters={**before.filters, **_collected(given.get("filters", []))},
        manifest_ids={**before.manifest_ids, **_collected([given.get("manifest_id")])},
    )


def _inherited(state: _Fold, event: Event) -> None:
    """Adds what a fork takes over from the snapshot that it continues."""
    _collect(state.chunks_cited, event.payload.get("chunk_ids_cited", []))
    state.manifests_before += tuple(each_of(event.payload.get("manifest_ids", [])))
    state.policy_ref = event.payload.get("policy_snapshot_ref")


def _snapshot(state: _Fold, event: Event) -> None:
    if event.payload.get("status") != "PASS":  # never the latest state (ruling 40)
        return
    state.sequence += 1
    state.counted = 0
    state.steps = {}
    state.manifests_before = latest_manifests(state.retrieval, state.manifests_before)
    state.retrieval = Retrieval()


def _stopped(state: _Fold, event: Event) -> None:
    state.stopped = event.payload.get("reason")


_APPLY: Mapping[str, Callable[[_Fold, Event], None]] = {
    "RUN_STARTED": _started,
    **dict.fromkeys(TERMINAL, _terminal),
    **dict.fromkeys(ITEMS, _item),
    "QUESTION": _question,
    "SOURCE": _source,
    "MANIFEST": _manifest,
    "INHERITED": _inherited,
    "SNAPSHOT": _snapshot,
    "RUN_STOPPED": _stopped,
}


_KEYS: Mapping[str, Callable[[Event], ItemKey]] = {
    **dict.fromkeys(ITEMS, _item_key),
    "QUESTION": _question_key,
    "LOOP_ALLOWED": lambda event: "",  # a run has one, of which the last counts; it is no part of the state
}


def key_of(event: Event) -> ItemKey | None:
    """Returns the key under which the item or question of an event is kept, or None for other events."""
    key = _KEYS.get(event.type)
    return key(event) if key else None


def _key(value: Json) -> ItemKey:
    return value if isinstance(value, str) else canonical(value)


def _collect(values: dict[ItemKey, Json], more: Json) -> None:
    for value in each_of(more):
        values.setdefault(_key(value), value)


def _collected(values: Json) -> Values:
    carried: dict[ItemKey, Json] = {}
    _collect(carried, values)
    return carried
