"""What justifies other thresholds ("Tuning metric"): loops, repeated failures, stalls, forgotten constraints, cost."""

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from slicebase.core.hashing import digest_of
from slicebase.runs.budget import spent
from slicebase.runs.event import TERMINAL, Event
from slicebase.runs.records import Record
from slicebase.runs.state import State, chunks_cited_by, fold

# Keys of a payload that say where and at what price, not what.
_BOOKKEEPING = frozenset({"ref", "cost"})


class Metrics(Record, frozen=True):
    """`cycles` are actions with their observation; one is repeated when both were there before, word for word.

    A failure is repeated when one of the same category and place was there before. A stall is a compaction before
    which events were counted and no chunk was cited that had not been cited already.
    """

    events: int
    counted_events: int
    steps: int
    compactions: int
    cycles: int
    repeated_cycles: int
    loop_rate: float
    failures: int
    repeated_failures: int
    no_evidence_stalls: int
    refused_changes: int
    verified_claims: int
    seconds: float
    cost: float
    seconds_per_verified_claim: float | None
    cost_per_verified_claim: float | None


def measure(log: Iterable[Event]) -> Metrics:
    events = list(log)
    used = spent(events)
    cycles = _cycles(events)
    failures = [(event.payload.get("category"), event.payload.get("where")) for event in events if _is_failure(event)]
    verified = sum(claim.get("status") == "verified" for claim in fold(State(""), events).claims.values())
    repeated = len(cycles) - len(set(cycles))
    return Metrics(
        events=len(events),
        counted_events=sum(event.type in TERMINAL for event in events),
        steps=used.steps,
        compactions=sum(event.type == "SNAPSHOT" for event in events),
        cycles=len(cycles),
        repeated_cycles=repeated,
        loop_rate=round(repeated / len(cycles), 6) if cycles else 0.0,
        failures=len(failures),
        repeated_failures=len(failures) - len({digest_of(failure) for failure in failures}),
        no_evidence_stalls=_stalls(events),
        refused_changes=sum(event.type == "REFUSED" for event in events),
        verified_claims=verified,
        seconds=used.seconds,
        cost=used.cost,
        seconds_per_verified_claim=_per(used.seconds, verified),
        cost_per_verified_claim=_per(used.cost, verified),
    )


def _cycles(events: Iterable[Event]) -> list[tuple[str, str]]:
    """Actions with their observations, first to first: calls that run side by side answer in their order."""
    cycles: list[tuple[str, str]] = []
    acts: deque[str] = deque()
    for event in events:
        if event.type == "ACT_DONE":
            acts.append(_content(event.payload))
        elif event.type == "OBSERVE_DONE" and acts:
            cycles.append((acts.popleft(), _content(event.payload)))
    return cycles


def _content(payload: Mapping[str, Any]) -> str:
    return digest_of({name: value for name, value in payload.items() if name not in _BOOKKEEPING})


def _is_failure(event: Event) -> bool:
    return event.type == "FAILURE" and "where" in event.payload and event.payload.get("status") != "resolved"


def _stalls(events: Iterable[Event]) -> int:
    stalls = counted = 0
    cited: set[str] = set()
    found = False
    for event in events:
        counted += event.type in TERMINAL
        chunks = set(chunks_cited_by(event))
        found = found or bool(chunks - cited)
        cited |= chunks
        if event.type == "SNAPSHOT":
            stalls += counted > 0 and not found
            counted, found = 0, False
    return stalls


def _per(amount: float, claims: int) -> float | None:
    return round(amount / claims, 6) if claims else None
