"""The final report of a run: what it was for, how it ended, what it knows and by which quotes, and what it cost.

It is made from the log and the ledger alone: the same records and thresholds give the same report. Text from the log is
data in it: in Markdown it stands on one line, and what could become a heading, a link or another mark is escaped.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from slicebase.core.hashing import canonical
from slicebase.runs.event import Event
from slicebase.runs.evidence import Evidence
from slicebase.runs.guards import GUARDS
from slicebase.runs.loops import plain_outcome
from slicebase.runs.records import Budgets, DoneDefinition, Record, Span, Spending
from slicebase.runs.state import Json, RunState
from slicebase.runs.status import Incidents, RunStatus
from slicebase.runs.values import field_text, shown_number

FindEvidence = Callable[[str], Evidence | None]


class Quote(Record, frozen=True):
    """What a claim rests on: a place, and the words there. A quote that was purged has no words any more."""

    evidence_id: str
    chunk_id: str
    span: Span | None
    quote: str | None


class ReportedClaim(Record, frozen=True):
    claim_id: str
    statement: str
    evidence: tuple[Quote, ...]


class ReportedConflict(Record, frozen=True):
    conflict_id: str
    description: str
    status: str
    side_a: tuple[Quote, ...]
    side_b: tuple[Quote, ...]


class ReportedFailure(Record, frozen=True):
    """Failures with the same category and reason: how many, how many of them are open, and the first and last place."""

    category: str
    why: str
    count: int
    open: int
    first: str
    last: str


class RunOutcome(Record, frozen=True):
    """How a run ended, or that it goes on."""

    stopped: str | None
    message: str
    first_event: str  # times
    last_event: str
    events: int
    steps: int
    snapshots: int
    last_snapshot: str | None


class Sources(Record, frozen=True):
    """The sources that were seen, and how many chunks of them were seen and cited."""

    source_ids: tuple[str, ...]
    chunks_seen: int
    chunks_cited: int


class Costs(Record, frozen=True):
    budgets: Budgets
    spent: Spending
    seconds_per_verified_claim: float | None
    cost_per_verified_claim: float | None


class RunReport(Record, frozen=True):
    """The final report of a run."""

    run_id: str
    objective: str
    done_definition: DoneDefinition
    outcome: RunOutcome
    verified_claims: tuple[ReportedClaim, ...]
    other_claims: dict[str, int]
    conflicts: tuple[ReportedConflict, ...]
    open_questions: tuple[str, ...]
    failures: tuple[ReportedFailure, ...]
    incidents: Incidents
    sources: Sources
    costs: Costs

    @property
    def markdown(self) -> str:
        """The report as Markdown."""
        return "\n".join(_lines(self)) + "\n"

    def __str__(self) -> str:
        return self.markdown

    def __repr__(self) -> str:
        return f"RunReport(run={self.run_id!r}, verified={len(self.verified_claims)}, stopped={self.outcome.stopped!r})"

    def as_json(self) -> dict[str, Any]:
        """Returns the report as `tt run report --format json` prints it."""
        return msgspec.to_builtins(self)  # type: ignore[no-any-return]


def report_of(
    status: RunStatus, state: RunState, events: Iterable[Event], last_snapshot: str | None, find: FindEvidence
) -> RunReport:
    """Returns the report of a run, given its status, its state, its log and the evidence by its id."""
    log = list(events)
    stop = next((event.payload for event in reversed(log) if event.type == "RUN_STOPPED"), {})
    claims = state.claims.values()
    return RunReport(
        run_id=status.run_id,
        objective=status.objective,
        done_definition=status.done_definition,
        outcome=RunOutcome(
            stopped=status.stopped,
            message=field_text(stop, "message"),
            first_event=log[0].time,
            last_event=log[-1].time,
            events=status.events,
            steps=status.metrics.steps,
            snapshots=status.snapshots,
            last_snapshot=last_snapshot,
        ),
        verified_claims=tuple(
            ReportedClaim(
                claim_id=field_text(claim, "claim_id"),
                statement=field_text(claim, "statement"),
                evidence=quotes_of(claim.get("evidence_refs"), find),
            )
            for claim in claims
            if claim.get("status") == "verified"
        ),
        other_claims={name: count for name, count in status.claims.items() if name != "verified"},
        conflicts=tuple(
            ReportedConflict(
                conflict_id=field_text(conflict, "conflict_id"),
                description=field_text(conflict, "description"),
                status=field_text(conflict, "status"),
                side_a=quotes_of(conflict.get("side_a_refs"), find),
                side_b=quotes_of(conflict.get("side_b_refs"), find),
            )
            for conflict in state.conflicts.values()
        ),
        open_questions=status.open_questions,
        failures=tuple(_failures(state.failures.values())),
        incidents=status.incidents,
        sources=Sources(
            source_ids=tuple(map(str, state.sources_seen.values())),
            chunks_seen=status.coverage.chunks_seen,
            chunks_cited=status.coverage.chunks_cited,
        ),
        costs=Costs(
            budgets=status.budgets,
            spent=status.spent,
            seconds_per_verified_claim=status.metrics.seconds_per_verified_claim,
            cost_per_verified_claim=status.metrics.cost_per_verified_claim,
        ),
    )


def quotes_of(refs: Json, find: FindEvidence) -> tuple[Quote, ...]:
    """Returns what pointers cite, with the words as the ledger has them."""
    pointers = [pointer for pointer in refs if isinstance(pointer, dict)] if isinstance(refs, list) else []
    return tuple(_quote(pointer, find(field_text(pointer, "evidence_id"))) for pointer in pointers)


def _quote(pointer: Mapping[str, Json], known: Evidence | None) -> Quote:
    return Quote(
        evidence_id=field_text(pointer, "evidence_id"),
        chunk_id=known.chunk_id if known else field_text(pointer, "chunk_id"),
        span=known.span if known else None,
        quote=known.quote if known else None,
    )


def _failures(failures: Iterable[Mapping[str, Json]]) -> Iterator[ReportedFailure]:
    """Yields the failures with the same category and reason as one, in order of first appearance."""
    groups: dict[tuple[str, str], list[Mapping[str, Json]]] = {}
    for failure in failures:
        same_as = field_text(failure, "category"), plain_outcome(field_text(failure, "why"))
        groups.setdefault(same_as, []).append(failure)
    for (category, _), same in groups.items():
        yield ReportedFailure(
            category=category,
            why=field_text(same[0], "why"),
            count=len(same),
            open=sum(failure.get("status") == "open" for failure in same),
            first=field_text(same[0], "where"),
            last=field_text(same[-1], "where"),
        )


# Markdown

_Lines = Iterator[str]
_MOST_SOURCES: Final = 100  # that are listed


def _lines(report: RunReport) -> _Lines:
    yield f"# Report of run {_inline(report.run_id)}"
    for heading, section in _SECTIONS.items():
        yield from ("", f"## {heading}", "", *(list(section(report)) or ["None."]))


def _objective(report: RunReport) -> _Lines:
    done: Json = report.done_definition
    if isinstance(done, dict):  # budgets are with the costs
        said = {name: value for name, value in done.items() if name not in ("budgets", GUARDS)}
        done = said["text"] if said.keys() == {"text"} else said
    yield _inline(report.objective)
    yield ""
    yield f"Done when: {_inline(done if isinstance(done, str) else canonical(done).decode())}"


def _outcome(report: RunReport) -> _Lines:
    outcome = report.outcome
    yield f"- {outcome.stopped or 'The run has not stopped.'}" + (
        f": {_inline(outcome.message)}" * bool(outcome.message)
    )
    yield f"- {outcome.events} events in {outcome.steps} steps, from {outcome.first_event} to {outcome.last_event}."
    last = f"; the last that passed is {_code(outcome.last_snapshot)}" if outcome.last_snapshot else ""
    yield f"- {outcome.snapshots} snapshots passed{last}."


def _claims(report: RunReport) -> _Lines:
    for claim in report.verified_claims:
        yield f"- {_name(claim.claim_id)} {_inline(claim.statement)}"
        yield from _quoted(claim.evidence, "")
    others = ", ".join(f"{count} {_inline(name)}" for name, count in report.other_claims.items() if count)
    if others:
        yield f"- Other claims: {others}."


def _conflicts(report: RunReport) -> _Lines:
    for conflict in report.conflicts:
        yield f"- {_name(conflict.conflict_id)} ({_inline(conflict.status)}) {_inline(conflict.description)}"
        yield from _quoted(conflict.side_a, "side a: ")
        yield from _quoted(conflict.side_b, "side b: ")


def _quoted(quotes: Iterable[Quote], label: str) -> _Lines:
    for quote in quotes:
        words = f"“{_inline(quote.quote)}”" if quote.quote is not None else "(the quote is gone)"
        place = f" {quote.span.start}–{quote.span.end}" if quote.span else ""
        yield f"  - {label}{words} {_code(quote.evidence_id)} {_code(quote.chunk_id)}{place}"


def _name(name: str, otherwise: str = "no id") -> str:
    return f"**{_inline(name)}**" if name else f"({otherwise})"


def _questions(report: RunReport) -> _Lines:
    yield from (f"- {_inline(question)}" for question in report.open_questions)


def _failed(report: RunReport) -> _Lines:
    for failure in report.failures:
        places = _inline(failure.first) + (f" … {_inline(failure.last)}" if failure.last != failure.first else "")
        counts = f"{failure.count} times, {failure.open} open"
        yield f"- {_name(failure.category, 'no category')} ({counts}) {_inline(failure.why)}, at {places}"


def _incidents(report: RunReport) -> _Lines:
    found = report.incidents
    for loop in found.loops:
        what = "The same call had the same outcome" if loop.kind == "repeat" else "The same two calls alternated"
        yield f"- {what} {loop.times} times: events {loop.cycles[0][0]} to {loop.cycles[-1][-1]}."
    if found.stalls:
        yield f"- Stalls without new evidence: up to the events {', '.join(map(str, found.stalls))}."
    for broken in found.forgotten_constraints:
        yield f"- Event {broken.action} does what event {broken.stated} forbids: {_inline(broken.statement)}"


def _sources(report: RunReport) -> _Lines:
    sources = report.sources
    yield from (f"- {_code(name)}" for name in sources.source_ids[:_MOST_SOURCES])
    if len(sources.source_ids) > _MOST_SOURCES:
        yield f"- and {len(sources.source_ids) - _MOST_SOURCES} more"
    yield f"- {sources.chunks_seen} chunks seen, {sources.chunks_cited} cited."


def _costs(report: RunReport) -> _Lines:
    spent, budgets, costs = report.costs.spent, report.costs.budgets, report.costs
    for name in ("steps", "seconds", "cost"):
        limit = getattr(budgets, f"max_{name}")
        most = f" of {shown_number(limit)}" if limit is not None else ""
        yield f"- {name.capitalize()}: {shown_number(getattr(spent, name))}{most}"
    if costs.seconds_per_verified_claim is not None:
        yield (
            f"- For each verified claim: {shown_number(costs.seconds_per_verified_claim)} seconds, "
            f"cost {shown_number(costs.cost_per_verified_claim or 0)}"
        )


_SECTIONS: Final[Mapping[str, Callable[[RunReport], _Lines]]] = {
    "Objective": _objective,
    "Outcome": _outcome,
    "Verified claims": _claims,
    "Conflicts": _conflicts,
    "Open questions": _questions,
    "Failures": _failed,
    "Loops, stalls and forgotten constraints": _incidents,
    "Sources": _sources,
    "Costs": _costs,
}

# Everything that can be a mark inside a line, and the beginnings of addresses that become links by themselves.
_ACTIVE: Final = re.compile(r"[\\`*_\[\]<>#|~&!$]|(?<=[a-z]):(?=//)|(?<=www)\.", re.IGNORECASE)
_BEGINS_LIST: Final = re.compile(r"\A(\d*)([-+=.)])")


def _inline(text: str) -> str:
    """Returns a text as data on one line."""
    line = " ".join(text.split())
    return _BEGINS_LIST.sub(r"\1\\\2", _ACTIVE.sub(r"\\\g<0>", line))


def _code(text: str) -> str:
    return f"`{' '.join(text.split()).replace('`', chr(39))}`"
