"""Runs of agents: listed, at a glance, as a time line, event by event, and as documents."""

from typing import TYPE_CHECKING, Annotated, Any, Final

from msgspec import Meta, Struct

from slicebase.core.times import known_time
from slicebase.errors import SlicebaseError
from slicebase.runs.event import CLIENT
from slicebase.runs.status import RunEntry, RunStatus
from slicebase.runs.summary import RunSummary
from slicebase.runs.timeline import HEIGHT, WIDTH, StepLines, TimelineBar, bar_size, bars, event_line, steps_of
from slicebase.web.endpoints import Name, Paged, Parameters, get, window

if TYPE_CHECKING:
    from slicebase.base import Slicebase
    from slicebase.truth.run_log import StoredEvent

EventNumber = Annotated[int, Meta(ge=0, le=2**53 - 1, description="The number of an event.")]


class RunRow(Struct, frozen=True):
    """A run in a list; of one whose terms cannot be read, why not."""

    run: str
    events: int
    snapshots: int
    updated: str | None
    stopped: str | None
    objective: str | None
    problem: str | None
    forked_from: str | None
    projected_from: str | None


class RunList(Struct, frozen=True):
    """Runs, the last changed first."""

    runs: tuple[RunRow, ...]
    next: str | None


class RunsQuery(Paged, frozen=True, kw_only=True):
    """A list of runs."""


def list_runs(memory: "Slicebase", asked: RunsQuery) -> RunList:
    """Lists the runs, the last changed first."""
    stored = memory.truth.runs
    page = window(list(stored.log.tallies()), asked, lambda tally: tally.run_id)
    return RunList(tuple(_row(stored.entry(tally)) for tally in page.items), page.next)


def _row(entry: RunEntry) -> RunRow:
    terms = entry.terms
    return RunRow(
        run=entry.id,
        events=entry.tally.seq,
        snapshots=entry.tally.sequence,
        updated=known_time(entry.tally.updated),
        stopped=entry.stopped,
        objective=terms.objective if terms else None,
        problem=entry.problem,
        forked_from=terms.forked_from if terms else None,
        projected_from=(terms.projected_from or None) if terms else None,
    )


class RunQuery(Parameters, frozen=True, kw_only=True):
    """A run, by its id."""

    run: Name


def summary(memory: "Slicebase", asked: RunQuery) -> RunSummary:
    """Returns a run at a glance."""
    return memory.runs.summary(asked.run)


def status(memory: "Slicebase", asked: RunQuery) -> RunStatus:
    """Returns the status of a run, with its incidents and metrics: it reads the complete log. Nothing is written."""
    return memory.runs.status(asked.run, settle=False)


# The time line


class TimelineAnswer(Struct, frozen=True):
    """The complete run as bars, in a drawing of this size."""

    run: str
    events: int
    width: int
    height: int
    bars: tuple[TimelineBar, ...]


def timeline(memory: "Slicebase", asked: RunQuery) -> TimelineAnswer:
    """Returns the time line of a run: all its events, as bars."""
    log, run_id = memory.truth.runs.log, memory.stored_names.id("run", asked.run)
    with memory.truth.database.reading():
        total = log.tally(run_id).seq
        counts = log.types(run_id, bar_size(total))
    return TimelineAnswer(run_id, total, WIDTH, HEIGHT, bars(total, counts))


class StepsQuery(RunQuery, frozen=True, kw_only=True):
    """A run, and the events to list: so many after one of them; with `after` -1, the last ones."""

    after: Annotated[int, Meta(ge=-1, le=2**53 - 1)] = -1
    limit: Annotated[int, Meta(ge=1, le=500)] = 120


class StepsAnswer(Struct, frozen=True):
    """Some events of a run, by step, from `first` to `last` of so many."""

    run: str
    events: int
    first: int
    last: int
    steps: tuple[StepLines, ...]


def list_steps(memory: "Slicebase", asked: StepsQuery) -> StepsAnswer:
    """Lists events of a run by step, each in one line."""
    log, run_id = memory.truth.runs.log, memory.stored_names.id("run", asked.run)
    with memory.truth.database.reading():
        total = log.tally(run_id).seq
        after = max(0, total - asked.limit) if asked.after < 0 else asked.after
        found = list(log.events(run_id, after, asked.limit))
    lines = [(event_line(*_told(each)), each.link.step) for each in found]
    first, last = (found[0].link.seq, found[-1].link.seq) if found else (after, after)
    return StepsAnswer(run_id, total, first, last, tuple(steps_of(lines)))


def _told(stored: "StoredEvent") -> tuple[int, str, str, dict[str, Any] | None]:
    return stored.link.seq, stored.link.type, stored.link.time, payload_of(stored)


def payload_of(stored: "StoredEvent") -> dict[str, Any] | None:
    """Returns the payload of an event; None where it was purged or cannot be read."""
    try:
        return stored.event.payload
    except SlicebaseError:
        return None


# Events


class EventAnswer(Struct, frozen=True):
    """An event of a run: what it says, and its place in the chain of hashes."""

    run_id: str
    seq: int
    type: str
    step: int | None
    time: str | None  # None where its source states none
    payload: dict[str, Any] | None  # None if it was purged, or cannot be read
    problem: str | None  # why there is no payload
    prev: str | None
    hash: str
    payload_hash: str
    derived_hash: str  # the hash as it follows from the record


class EventPage(Struct, frozen=True):
    """Events of a run, in order; `next` is the number to ask after."""

    events: tuple[EventAnswer, ...]
    next: int | None


class EventsQuery(RunQuery, frozen=True, kw_only=True):
    """A run, and the number of the event after which to begin."""

    after: EventNumber = 0
    limit: Annotated[int, Meta(ge=1, le=500)] = 50


def list_events(memory: "Slicebase", asked: EventsQuery) -> EventPage:
    """Lists events of a run with their payloads, in order."""
    log, run_id = memory.truth.runs.log, memory.stored_names.id("run", asked.run)
    log.tally(run_id)
    found = list(log.events(run_id, asked.after, asked.limit + 1))
    shown = found[: asked.limit]
    return EventPage(tuple(map(_event, shown)), shown[-1].link.seq if len(found) > asked.limit else None)


def _event(stored: "StoredEvent") -> EventAnswer:
    link = stored.link
    payload, problem = None, None
    try:
        payload = stored.event.payload
    except SlicebaseError as error:
        problem = error.message
    return EventAnswer(
        run_id=link.run_id,
        seq=link.seq,
        type=link.type,
        step=link.step,
        time=known_time(link.time),
        payload=payload,
        problem=problem,
        prev=link.prev,
        hash=link.hash,
        payload_hash=link.payload_hash,
        derived_hash=link.derived_hash,
    )


class EventQuery(RunQuery, frozen=True, kw_only=True):
    """An event of a run, by its number."""

    seq: EventNumber


class ChainedEvent(Struct, frozen=True):
    """An event with its neighbours in the chain, and the event that says who wrote it, if there is one."""

    event: EventAnswer
    before: EventAnswer | None
    after: EventAnswer | None
    signature: EventAnswer | None


_SIGNED_WITHIN: Final = 200  # events after one, among which the signature is looked for


def show_event(memory: "Slicebase", asked: EventQuery) -> ChainedEvent:
    """Returns an event with its payload, and its neighbours in the chain."""
    log, run_id = memory.truth.runs.log, memory.stored_names.id("run", asked.run)
    log.tally(run_id)
    near = {each.link.seq: each for each in log.events(run_id, max(0, asked.seq - 2), _SIGNED_WITHIN)}
    if asked.seq not in near:
        raise SlicebaseError("no-item", f"run:{run_id} has no event {asked.seq}")
    before, after = near.get(asked.seq - 1), near.get(asked.seq + 1)
    signature = next((each for each in near.values() if _signs(each, asked.seq)), None)
    return ChainedEvent(
        event=_event(near[asked.seq]),
        before=_event(before) if before else None,
        after=_event(after) if after else None,
        signature=_event(signature) if signature else None,
    )


def _signs(stored: "StoredEvent", seq: int) -> bool:
    """Returns whether an event says who wrote the one with this number."""
    events = (payload_of(stored) or {}).get("events") if stored.link.type == CLIENT else None
    return isinstance(events, dict) and _is_in(events.get("first"), events.get("last"), seq)


def _is_in(first: Any, last: Any, seq: int) -> bool:
    return isinstance(first, int) and isinstance(last, int) and first <= seq <= last


class BlobQuery(RunQuery, frozen=True, kw_only=True):
    """Content of a run, by its hash, and the part of it to read, in characters."""

    blob: Name
    start: Annotated[int, Meta(ge=0, le=2**53 - 1)] = 0
    limit: Annotated[int, Meta(ge=1, le=200_000)] = 20_000


class BlobAnswer(Struct, frozen=True):
    """A part of content that an event names by its hash, as text; bytes that are no text are replaced."""

    blob: str
    bytes: int
    length: int  # characters
    start: int
    text: str


def show_blob(memory: "Slicebase", asked: BlobQuery) -> BlobAnswer:
    """Returns content that an event names by its hash."""
    data = memory.runs.blob(asked.run, asked.blob)
    text = data.decode(errors="replace")
    return BlobAnswer(asked.blob, len(data), len(text), asked.start, text[asked.start : asked.start + asked.limit])


# Documents


class MarkdownAnswer(Struct, frozen=True):
    """A document about a run, as Markdown."""

    run: str
    title: str
    markdown: str


def narrative(memory: "Slicebase", asked: RunQuery) -> MarkdownAnswer:
    """Returns the narrative of the last snapshot of a run that passed. No file is written."""
    made = memory.runs.narrative(asked.run, write=False)
    return MarkdownAnswer(memory.stored_names.id("run", asked.run), made.title, made.body)


def report(memory: "Slicebase", asked: RunQuery) -> MarkdownAnswer:
    """Returns the report of a run."""
    made = memory.runs.report(asked.run)
    return MarkdownAnswer(made.run_id, f"Report of run {made.run_id}", made.markdown)


ENDPOINTS: Final = (
    get("/runs", "runs.list_runs", list_runs),
    get("/runs/{run}", "runs.summary", summary),
    get("/runs/{run}/status", "runs.status", status),
    get("/runs/{run}/timeline", "runs.events", timeline),
    get("/runs/{run}/steps", "runs.events", list_steps),
    get("/runs/{run}/events", "runs.events", list_events),
    get("/runs/{run}/events/{seq}", "runs.events", show_event),
    get("/runs/{run}/blobs/{blob}", "runs.blob", show_blob),
    get("/runs/{run}/narrative", "runs.narrative", narrative),
    get("/runs/{run}/report", "runs.report", report),
)
