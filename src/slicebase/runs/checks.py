"""Validation: the checks that a snapshot must pass before a run may continue (requirement B, ruling 39).

A check yields the problems that belong to it and skips those that another check reports. It also yields remarks, which
are no problems: cited text was purged since, for example. Every check accepts any JSON value in place of a snapshot.

Items that are equal to those of the previous snapshot are not checked again: that snapshot passed, its text is the one
that was stored then, and the ledger only grows. So the work depends on what is new, not on everything that a run has
ever claimed. Types are checked where the bytes of an item are made, once in each process (runs/parts.py). The messages
are stored in snapshots.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import partial
from itertools import chain, repeat
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import msgspec

from slicebase.core.hashing import canonical
from slicebase.core.times import from_text
from slicebase.errors import SlicebaseError
from slicebase.runs.event import TERMINAL, Event, LogHead, check_chain
from slicebase.runs.evidence import Evidence, is_sound
from slicebase.runs.guards import guards_of
from slicebase.runs.manifests import BoundSteps, ManifestsLogged, differences, no_steps, steps_without_manifest
from slicebase.runs.parts import StateParts
from slicebase.runs.records import NO_STATE, CheckResult, Pointer, RunStarted, Snapshot
from slicebase.runs.state import ITEMS, Json
from slicebase.runs.values import each_of, is_blank, same

LONGEST_TEXT = 2000  # code points; more is a blob
_SHOWN = 3
_SHOWN_LENGTH = 200


class Remark(NamedTuple):
    """What a check says that passes."""

    text: str


Problems = Iterator[str | Remark]
# What has become of a quote in the ledger: its text is there, has changed or is gone, was purged, or is damaged.
QuoteCondition = Literal["found", "drifted", "purged", "broken"]
Check = Callable[[Mapping[str, Json], "Inputs"], Problems]


class Inputs(NamedTuple):
    """The input of a compaction ("Inputs" in the specification)."""

    started: RunStarted  # the run's first event
    previous: Mapping[str, Json] | None  # the last snapshot that passed
    head: LogHead  # the end of the log right after that snapshot
    events: tuple[Event, ...]  # the events since then
    evidence: Mapping[str, Evidence]  # the ledger's records
    manifests: ManifestsLogged
    condition: Callable[[Evidence], QuoteCondition] = lambda evidence: "found"
    parts: StateParts | None = None  # the bytes of the state of the previous snapshot, where they are known
    new: Mapping[str, list[dict[str, Json]]] = MappingProxyType({})  # by type, what `check` finds to differ from it
    own_parts: StateParts | None = None  # those of the snapshot that is checked, if all values have their types
    bound_before: BoundSteps = no_steps


def check(snapshot: Mapping[str, Json], inputs: Inputs, parts: StateParts | None = None) -> tuple[CheckResult, ...]:
    """Returns the result of every check, in the order of the table. `parts` are those of the state, if it has any."""
    new = {kind: _new_items(snapshot, inputs, kind) for kind in ITEMS}
    inputs = inputs._replace(new=new, own_parts=parts)
    checks = {**CHECKS, **_WITH_MANIFESTS} if guards_of(inputs.started.done_definition).require_manifest else CHECKS
    return tuple(_result(name, problems(snapshot, inputs)) for name, problems in checks.items())


def _result(name: str, problems: Iterable[str | Remark]) -> CheckResult:
    yielded = list(problems)
    failures = [problem for problem in yielded if isinstance(problem, str)]
    found = failures or [remark.text for remark in yielded if isinstance(remark, Remark)]
    shown = [text if len(text) <= _SHOWN_LENGTH else text[:_SHOWN_LENGTH] + "…" for text in found[:_SHOWN]]
    more = [f"and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
    return CheckResult(name=name, status="FAIL" if failures else "PASS", message="; ".join(shown + more))


# The terms, which never change (requirement B)


def _unchanged(name: str, snapshot: Mapping[str, Json], inputs: Inputs) -> Problems:
    if name not in snapshot:  # keys_and_types reports it
        return
    if not same(snapshot[name], getattr(inputs.started, name)):
        yield f"{name} is not what the run started with"
    elif inputs.previous is not None and not same(snapshot[name], inputs.previous.get(name)):
        yield f"{name} is not what the snapshot before says"


# Claims, conflicts and their evidence (requirements B, C, D; guarantee "no new verified claims")


def _verified_claims_cited(snapshot: Mapping[str, Json], inputs: Inputs) -> Problems:
    for claim in _verified(inputs):
        if claim.get("evidence_refs") == []:
            yield f"the verified claim {_name(claim, 'claim_id')} has no evidence"


def _verified_claims_in_ledger(snapshot: Mapping[str, Json], inputs: Inputs) -> Problems:
    verified = _verified(inputs)
    logged = _logged_claims(
        inputs, {claim_id for claim in verified if isinstance(claim_id := claim.get("claim_id"), str)}
    )
    for claim in verified:
        claim_id = claim.get("claim_id")
        if isinstance(claim_id, str) and _content(claim) != _content(logged.get(claim_id, {})):
            yield f"no CLAIM event says what the verified claim {claim_id} says"
        for pointer in map(_read_pointer, _list(claim.get("evidence_refs"))):
            if isinstance(pointer, Pointer) and pointer.evidence_id not in inputs.evidence:
                yield f"the ledger has no {pointer.evidence_id}, on which the claim {_name(claim, 'claim_id')} rests"


def _logged_claims(inputs: Inputs, ids: Set[str]) -> dict[str, Mapping[str, Json]]:
    """Returns the last version of each of these claims in the log.

    It is read from the log and not from the folded state, since the fold is what is being checked.
    """
    logged: dict[str, Mapping[str, Json]] = {}
    since = _with_ids((event.payload for event in inputs.events if event.type == "CLAIM"), ids)
    stated = {claim["claim_id"] for claim in since if not claim.keys() <= _STATUS_ONLY}
    before = [] if ids <= stated else _with_ids(_items(inputs.previous or {}, "CLAIM"), ids)
    for claim in (*before, *since):
        known = logged.get(claim["claim_id"], {}) if claim.keys() <= _STATUS_ONLY else {}
        logged[claim["claim_id"]] = {**known, **claim}
    return logged


_STATUS_ONLY = frozenset({"claim_id", "status"})


def _with_ids(claims: Iterable[Json], ids: Set[str]) -> list[dict[str, Json]]:
    known = (claim for claim in claims if isinstance(claim, dict) and isinstance(claim.get("claim_id"), str))
    return [claim for claim in known if claim["claim_id"] in ids]


def _content(claim: Mapping[str, Json]) -> tuple[Json, Json, Json]:
    return claim.get("status"), claim.get("statement"), claim.get("evidence_refs", [])


def _conflicts_two_sided(snapshot: Mapping[str, Json], inputs: Inputs) -> Problems:
    for conflict in inputs.new["CONFLICT"]:
        side_a, side_b = conflict.get("side_a_refs"), conflict.get("side_b_refs")
        if not isinstance(side_a, list) or not isinstance(side_b, list):  # keys_and_types reports it
            continue
        cited_a, cited_b = set(map(_cited, side_a)), set(map(_cited, side_b))
        if not side_a or not side_b:
            yield f"the conflict {_name(conflict, 'conflict_id')} has no evidence on one side"
        elif cited_a <= cited_b or cited_b <= cited_a:
            yield f"a side of the conflict {_name(conflict, 'conflict_id')} has no evidence that the other has not"


def _cited(pointer: Json) -> str | bytes:
    """Returns what a pointer cites: its evidence; for one without an id, which is reported elsewhere, all of it."""
    name = pointer.get("evidence_id") if isinstance(pointer, dict) else None
    return name if isinstance(name, str) else canonical(pointer)


def _pointers_complete(snapshot: Mapping[str, Json], inputs: Inputs) -> Problems:
    for place, _, pointer in _pointers(inputs):
        if isinstance(pointer, str):
            yield f"{place}: {pointer}"


def _evidence_ids_rederive(snapshot: Mapping[str, Json], inputs: Inputs) -> Problems:
    for place, item, pointer in _pointers(inputs):
        if isinstance(pointer, str):  # pointers_complete reports it
            continue
        record = inputs.evidence.get(pointer.evidence_id)
        if record is None:
            if item.get("status") != "verified":  # verified_claims_in_ledger reports the others
                yield f"{place}: the ledger has no {pointer.evidence_id}, so that its id cannot be derived"
        elif record.pointer != pointer or not is_sound(record):
            yield f"{place}: {pointer.evidence_id} is not the id of its chunk, span and quote"
        elif (condition := inputs.condition(record)) == "broken":
            yield f"{place}: the quote of {pointer.evidence_id} is lost, or is not the one that its id names"
        elif condition != "found":
            yield Remark(f"{place}: the text of {pointer.evidence_id} {_SINCE[condition]}")


_SINCE: Mapping[str, str] = {"drifted": "has changed since, or is gone", "purged": "was purged"}


# What a log names (ruling 54)


def _manifests_known(snapshot: Mapping[str, Json], inputs: Inputs) -> Problems:
    for event in inputs.events:
        name = event.payload.get("manifest_id") if event.type == "MANIFEST" else None
        if not isinstance(name, str):  # keys_and_types reports it
            continue
        if name not in inputs.manifests:
            yield f"event {event.seq}: there is no manifest {name!r}"
        elif (known := inputs.manifests[name]) is None:
            yield Remark(f"event {event.seq}: the manifest {name} was purged")
        elif differing := ", ".join(differences(event.payload, known)):
            yield f"event {event.seq}: the manifest {name} says something else about {differing}"


def _manifests_bound(snapshot: Mapping[str, Json], inputs: Inputs) -> Problems:
    unbound = steps_without_manifest(inputs.events, inputs.bound_before)
    yield from (f"step {step} has an action, and no manifest is bound to it" for step in unbound)


def _statements_present(snapshot: Mapping[str, Json], inputs: Inputs) -> Problems:
    for kind_name, stated in _STATED.items():
        for item in inputs.new[kind_name]:
            for names in stated:
                if all(is_blank(item.get(name)) for name in names):
                    yield f"the {' and the '.join(names)} of {_name(item, ITEMS[kind_name].id) or 'an item'} is empty"
    state = snapshot.get("state")
    questions = _list(state.get("open_questions")) if isinstance(state, dict) else []
    if any(map(is_blank, questions)):
        yield "an open question is empty"
    for event in inputs.events:
        if event.type in ("SOURCE", "MANIFEST"):
            for name in ("source_ids", "chunk_ids"):
                if any(map(is_blank, each_of(event.payload.get(name)))):
                    yield f"event {event.seq}: one of its {name} is empty"


# Of each group of fields, one has to say something.
_STATED: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "CLAIM": (("claim_id",), ("statement",)),
    "CONFLICT": (("conflict_id",), ("description",)),
    "FAILURE": (("failure_id",), ("category",), ("where", "why")),
}


# The shape (guarantee "evidence pointers only"; "Snapshot JSON shape")


def _no_inlined_blobs(snapshot: Mapping[str, Json], inputs: Inputs) -> Problems:
    for name, value in _parts(snapshot, inputs):
        for place, length in _long_texts(value, name):
            yield f"{place} has {length} characters, and {LONGEST_TEXT} are allowed"


def _parts(snapshot: Mapping[str, Json], inputs: Inputs) -> Iterator[tuple[str, Json]]:
    """Yields the values that may not contain blobs, with their places: all but the run's terms, and only new items."""
    kinds = {kind.collection: name for name, kind in ITEMS.items()}
    parts = inputs.own_parts  # these know the longest of the ids, of which there are tens of thousands
    short = {"source_coverage"} if parts and parts.longest_covered <= LONGEST_TEXT else set[str]()
    for name, value in snapshot.items():
        if name == "state" and isinstance(value, dict):
            yield from ((f"state.{field}", inner) for field, inner in value.items() if field not in {*kinds, *short})
        elif name not in {"objective", "done_definition"}:
            yield name, value
    for collection, name in kinds.items():
        for item in inputs.new[name]:
            yield f"{collection} {_name(item, ITEMS[name].id)}", item


def _long_texts(value: Json, place: str) -> Iterator[tuple[str, int]]:
    if isinstance(value, str):
        if len(value) > LONGEST_TEXT:
            yield place, len(value)
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _long_texts(name, f"a key of {place}")
            yield from _long_texts(inner, f"{place}.{name}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _long_texts(inner, f"{place}[{index}]")


_PLACEHOLDER = {"status": "PASS", "checks": [], "failure_action_taken": "NONE"}
_NO_STATE = msgspec.to_builtins(NO_STATE)


def _keys_and_types(snapshot: Mapping[str, Json], inputs: Inputs) -> Problems:
    """Compares the snapshot with its type. The validation may be missing: the checks run before it is written."""
    try:
        checked = {**snapshot, "state": _NO_STATE} if inputs.own_parts else _without_pointers(snapshot)
        msgspec.convert({"validation": _PLACEHOLDER, **checked}, Snapshot)
        from_text(snapshot["created_at"])
    except msgspec.ValidationError as error:
        yield str(error)
    except SlicebaseError as error:
        yield f"created_at: {error.message}"


def _without_pointers(snapshot: Mapping[str, Json]) -> dict[str, Json]:
    """Returns the snapshot with its lists of pointers emptied: pointers_complete checks those."""
    state = snapshot.get("state")
    if not isinstance(state, dict):
        return dict(snapshot)
    emptied = {
        kind.collection: [_emptied(item, kind.refs) for item in state[kind.collection]]
        for kind in ITEMS.values()
        if isinstance(state.get(kind.collection), list)
    }
    return {**snapshot, "state": {**state, **emptied}}


def _emptied(item: Json, refs: tuple[str, ...]) -> Json:
    if not isinstance(item, dict):
        return item
    return {**item, **{name: [] for name in refs if isinstance(item.get(name), list)}}


# The log (rulings 33, 34)


def _counts_right(snapshot: Mapping[str, Json], inputs: Inputs) -> Problems:
    counted = [event for event in inputs.events if event.type in TERMINAL]
    right = {
        "steps_since_last_compaction": len({event.step for event in counted}),
        "counted_events_since_last_compaction": len(counted),
    }
    counts = snapshot.get("counts")
    for name, number in right.items():
        found = counts.get(name) if isinstance(counts, dict) else None
        if type(found) is int and found != number:  # keys_and_types reports other types
            yield f"{name} is {found}, and the log says {number}"


def _sequence_unbroken(snapshot: Mapping[str, Json], inputs: Inputs) -> Problems:
    expected = inputs.previous["sequence"] + 1 if inputs.previous is not None else 1
    if type(snapshot.get("sequence")) is int and snapshot["sequence"] != expected:
        yield f"the sequence is {snapshot['sequence']}, and {expected} would follow"
    if isinstance(snapshot.get("run_id"), str) and snapshot["run_id"] != inputs.head.run_id:
        yield f"the snapshot is of {snapshot['run_id']}, and the log of {inputs.head.run_id}"


def _chain_unbroken(snapshot: Mapping[str, Json], inputs: Inputs) -> Problems:
    for broken in check_chain(inputs.head, (event.link for event in inputs.events)):
        yield f"event {broken.seq}: {broken.field} is {broken.found}, and {broken.expected} was expected"


CHECKS: Mapping[str, Check] = {
    "objective_unchanged": partial(_unchanged, "objective"),
    "done_definition_unchanged": partial(_unchanged, "done_definition"),
    "verified_claims_cited": _verified_claims_cited,
    "verified_claims_in_ledger": _verified_claims_in_ledger,
    "conflicts_two_sided": _conflicts_two_sided,
    "pointers_complete": _pointers_complete,
    "evidence_ids_rederive": _evidence_ids_rederive,
    "no_inlined_blobs": _no_inlined_blobs,
    "keys_and_types": _keys_and_types,
    "counts_right": _counts_right,
    "sequence_unbroken": _sequence_unbroken,
    "chain_unbroken": _chain_unbroken,
    "manifests_known": _manifests_known,
    "statements_present": _statements_present,
}
_WITH_MANIFESTS: Mapping[str, Check] = {"manifests_bound": _manifests_bound}  # where the terms of a run ask for it


# Reading values of any shape


def _items(snapshot: Mapping[str, Json], kind: str) -> list[Json]:
    state = snapshot.get("state")
    return _list(state.get(ITEMS[kind].collection)) if isinstance(state, dict) else []


def _new_items(snapshot: Mapping[str, Json], inputs: Inputs, kind: str) -> list[dict[str, Json]]:
    """Returns the items that differ from the previous snapshot. The others passed these checks with it.

    An item keeps its place forever. One that is elsewhere counts as new, which only means that it is checked.
    """
    before = chain(_items(inputs.previous or {}, kind), repeat(None))
    return [
        item
        for item, old in zip(_items(snapshot, kind), before, strict=False)
        if item is not old and isinstance(item, dict) and not same(old, item)  # a fold keeps the objects of the rest
    ]


def _verified(inputs: Inputs) -> list[dict[str, Json]]:
    return [claim for claim in inputs.new["CLAIM"] if claim.get("status") == "verified"]


def _name(item: Mapping[str, Json], field: str) -> str:
    return str(item.get(field, "without an id"))


def _pointers(inputs: Inputs) -> Iterator[tuple[str, dict[str, Json], Pointer | str]]:
    """Yields each pointer of the new items with its place and item; for an incomplete one, the problem as text."""
    for kind_name, kind in ITEMS.items():
        for item in inputs.new[kind_name]:
            for name in kind.refs:
                for index, pointer in enumerate(_list(item.get(name))):
                    yield f"{_name(item, kind.id)}.{name}[{index}]", item, _read_pointer(pointer)


def _list(value: Json) -> list[Any]:
    return value if isinstance(value, list) else []


def _read_pointer(pointer: Json) -> Pointer | str:
    try:
        read = msgspec.convert(pointer, Pointer)
    except msgspec.ValidationError as error:
        return str(error)
    return read if 0 <= read.span.start < read.span.end else "its span is empty or reversed"
