"""Small runs for the tests."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from slicebase.runs.checks import Inputs
from slicebase.runs.event import Event, EventDraft, LogHead, append
from slicebase.runs.evidence import Chunk, Evidence, cite
from slicebase.runs.gate import Compaction, compact
from slicebase.runs.records import ManifestLogged, RunStarted, Span
from slicebase.runs.state import Json

RUN = "run-1"
START = LogHead(RUN)
NOW = "2026-01-01T00:00:00.000Z"
STARTED = RunStarted(
    objective="Find the cause.", done_definition={"text": "Report written.", "budgets": {"max_steps": 99}}
)

TEXT = "The build fails because the lock file is stale. The tests pass."
TURN = Chunk("session:s1", "turn:00000000-0000-0000-0000-000000000001", TEXT)
STALE = cite(TURN, "the lock file is stale")
PASSING = cite(TURN, "The tests pass.")
LEDGER: Mapping[str, Evidence] = {record.evidence_id: record for record in (STALE, PASSING)}


def pointer(record: Evidence) -> dict[str, Any]:
    return msgspec.to_builtins(record.pointer)  # type: ignore[no-any-return]


def cycle(step: int) -> list[EventDraft]:
    """Returns the three counted events of a step."""
    return [EventDraft(type=name, step=step) for name in ("PLAN_DONE", "ACT_DONE", "OBSERVE_DONE")]


def claim(
    claim_id: str = "c1", status: str = "verified", refs: Json = None, statement: Json = "It is stale."
) -> EventDraft:
    payload = {"claim_id": claim_id, "status": status, "statement": statement}
    return EventDraft(type="CLAIM", payload={**payload, "evidence_refs": [pointer(STALE)] if refs is None else refs})


def conflict(
    conflict_id: str = "x1", side_a: Json = None, side_b: Json = None, description: str = "It fails and it passes."
) -> EventDraft:
    return EventDraft(
        type="CONFLICT",
        payload={
            "conflict_id": conflict_id,
            "description": description,
            "side_a_refs": [pointer(STALE)] if side_a is None else side_a,
            "side_b_refs": [pointer(PASSING)] if side_b is None else side_b,
        },
    )


def failure(failure_id: str = "f1", status: str = "open") -> EventDraft:
    payload = {"failure_id": failure_id, "category": "tool_error", "where": "make test", "why": "exit 2"}
    return EventDraft(type="FAILURE", payload={**payload, "status": status})


def question(text: Json = "Who wrote the lock file?", status: str = "open") -> EventDraft:
    return EventDraft(type="QUESTION", payload={"question": text, "status": status})


POLICY = "02005444cae1117d"


def known_manifest(number: int = 1, policy: str | None = POLICY) -> ManifestLogged:
    return ManifestLogged(
        manifest_id=f"mf_{number:0{32 if policy else 31}x}" + ("" if policy else "0"),
        policy_params_hash=policy,
        candidates=10,
        selected=3,
        excluded_by_reason={"budget": 5, "radius": 2},
        filters=("session:s1",),
        source_ids=("session:s1",),
        chunk_ids=(TURN.chunk_id,),
    )


def manifest(number: int = 1, policy: str | None = POLICY) -> EventDraft:
    return EventDraft(type="MANIFEST", payload=msgspec.json.decode(msgspec.json.encode(known_manifest(number, policy))))


# Those that `manifest` makes, and one that considered nothing.
MANIFESTS: Mapping[str, ManifestLogged | None] = {
    entry.manifest_id: entry
    for entry in (
        ManifestLogged(manifest_id="m"),
        *(known_manifest(number, policy) for number in range(1, 10) for policy in (None, POLICY)),
    )
}


def append_all(head: LogHead, drafts: Iterable[EventDraft], now: str) -> tuple[list[Event], LogHead]:
    """Returns the events that the drafts become after `head`, and the new end of the log."""
    events = []
    for draft in drafts:
        event, head = append(head, draft, now)
        events.append(event)
    return events, head


def log(*drafts: EventDraft, head: LogHead = START) -> tuple[Event, ...]:
    """Returns the events of a run; after an empty head, with its start."""
    started = [EventDraft.of("RUN_STARTED", STARTED)] if head.seq == 0 else []
    events, _ = append_all(head, [*started, *drafts], NOW)
    return tuple(events)


def inputs(*drafts: EventDraft, previous: Mapping[str, Json] | None = None, head: LogHead = START) -> Inputs:
    return Inputs(STARTED, previous, head, log(*drafts, head=head), LEDGER, MANIFESTS)


def compacted(*drafts: EventDraft) -> Compaction:
    made = inputs(*drafts)
    return compact(lambda: made, NOW)


FULL = (
    *cycle(1),
    manifest(),
    claim(),
    claim("c2", "candidate", [], "It was always stale."),
    conflict(),
    question(),
    failure(),
    EventDraft(type="SOURCE", payload={"source_ids": ["file:01J"], "chunk_ids": ["row:01J/r1"]}),
    *cycle(2),
)
SPAN = Span(start=0, end=3)
