"""The tool for runs: start, log, claim, compact, stop, fork, narrative, status, report."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple

from msgspec import Meta, ValidationError, convert, field
from msgspec.structs import asdict

from slicebase.core.parsers import read_json
from slicebase.core.times import known_time
from slicebase.errors import SlicebaseError
from slicebase.mcp.calls import Arguments, Result, ToolCall, ToolOutput, ToolResult
from slicebase.mcp.quotes import (
    PagedLine,
    PageNumber,
    excerpt,
    line,
    long_lines,
    more_pages,
    page_of,
    plain,
    quoted,
)
from slicebase.mcp.refusals import with_tools
from slicebase.runs.event import TYPES, EventDraft
from slicebase.runs.gate import DEFAULT_THRESHOLDS, is_due
from slicebase.runs.records import DoneDefinition, StopReason
from slicebase.runs.state import ITEMS
from slicebase.runs.values import field_text

if TYPE_CHECKING:
    from slicebase.runs.status import RunEntry, RunStatus, RunTally
    from slicebase.truth.run_writer import Logged
    from slicebase.verbs.cite import Cite


class EventGiven(Arguments, frozen=True):
    type: str
    step: int | None = None
    payload: dict[str, Any] = field(default_factory=dict)


class Cited(Arguments, frozen=True):
    ref: str
    quote: str | None = None


class RunArguments(Arguments, frozen=True):
    action: Literal["start", "log", "claim", "compact", "stop", "fork", "narrative", "status", "report"]
    run: Annotated[
        str | None,
        Meta(description="start creates one, status without it lists runs", examples=["build-42"]),
    ] = None
    objective: Annotated[str | None, Meta(description="start: its purpose")] = None
    done: Annotated[str | None, Meta(description="start: text or JSON", examples=["Tests pass."])] = None
    events: Annotated[
        tuple[EventGiven, ...],
        Meta(
            description="log: PLAN_DONE, ACT_DONE, OBSERVE_DONE (with step), QUESTION, FAILURE, CONFLICT, SOURCE …",
            examples=[[{"type": "ACT_DONE", "step": 1, "payload": {"tool": "pytest"}}]],
        ),
    ] = ()
    statement: Annotated[str | None, Meta(description="claim: the statement")] = None
    claim_id: Annotated[str | None, Meta(description="claim: change it")] = None
    status: Annotated[
        Literal["verified", "candidate", "retracted"] | None, Meta(description="claim: verified needs evidence")
    ] = None
    evidence: Annotated[
        tuple[Cited, ...],
        Meta(
            description="claim: chunks with a quote each, or ev_ ids",
            examples=[[{"ref": "turn:5c1e…", "quote": "5 attempts"}]],
        ),
    ] = ()
    reason: Annotated[StopReason | None, Meta(description="stop: why")] = None
    message: Annotated[str, Meta(description="stop: details")] = ""
    fork: Annotated[str | None, Meta(description="fork: the new run's name")] = None
    page: PageNumber = 1


class RunViewArguments(Arguments, frozen=True):
    """The arguments of the tool where nothing is written."""

    action: Literal["status", "report"]
    run: Annotated[str | None, Meta(description="status without it lists runs", examples=["build-42"])] = None
    page: PageNumber = 1


class RunFound(Result, frozen=True):
    run: str
    updated: str = ""
    stopped: str = ""


class RunFigures(Result, frozen=True):
    events: int
    snapshots: int
    claims: dict[str, int]
    metrics: dict[str, float | None]


class RunResult(ToolResult, frozen=True):
    run: str = ""
    first: int | None = None
    last: int | None = None
    claim: str = ""
    snapshots: tuple[str, ...] = ()
    compaction_due: bool = False
    stopped: str = ""
    warnings: int = 0
    file: str = ""
    figures: RunFigures | None = None
    runs: tuple[RunFound, ...] = ()
    next: int | None = None
    redacted: dict[str, Any] = field(default_factory=dict)


class Action(NamedTuple):
    """An action of the tool, and the arguments that it needs."""

    do: Callable[[ToolCall, RunArguments], ToolOutput]
    needs: tuple[str, ...]


def run(call: ToolCall, given: RunArguments) -> ToolOutput:
    """Performs one action on a run."""
    action = ACTIONS[given.action]
    missing = [name for name in action.needs if not getattr(given, name)]
    if missing:
        raise SlicebaseError("bad-arguments", f"{given.action} needs {', '.join(missing)}")
    return action.do(call, given)


def view_run(call: ToolCall, given: RunViewArguments) -> ToolOutput:
    """Performs an action that only reads."""
    return run(call, RunArguments(given.action, given.run, page=given.page))


def _start(call: ToolCall, given: RunArguments) -> ToolOutput:
    run_id = call.base.surroundings.new_id() if given.run is None else _name(given)
    with _signed(call):
        tally = call.base.runs.start(run_id, str(given.objective), _done(str(given.done)))
    return _started(tally)


def _fork(call: ToolCall, given: RunArguments) -> ToolOutput:
    fork = call.base.surroundings.new_id() if given.fork is None else _run_id(given.fork)
    with _signed(call):
        return _started(call.base.runs.fork(_name(given), fork))


def _started(tally: "RunTally") -> ToolOutput:
    run = plain(tally.run_id)
    return ToolOutput(RunResult(run, 1, tally.seq), f"Started run:{run}")


def _done(text: str) -> DoneDefinition:
    """Returns a done definition: a text, or a JSON object, which can have budgets and guards."""
    done = read_json(text, what="done") if text.lstrip().startswith("{") else text
    return done if isinstance(done, dict) else text


def _log(call: ToolCall, given: RunArguments) -> ToolOutput:
    drafts = [_draft(number, each) for number, each in enumerate(given.events, 1)]
    if call.environment.within is not None:
        call.environment.within.refuse_outside_in([draft.payload for draft in drafts], call.base)
    with _signed(call):
        return _logged(call.base.runs.log(_name(given), drafts))


def _draft(number: int, given: EventGiven) -> EventDraft:
    """Returns an event to log. The gate would refuse one with a wrong payload later, and end the run for that."""
    kind, item = TYPES.get(given.type), ITEMS.get(given.type)
    is_change = item is not None and item.id in given.payload and given.payload.keys() <= {item.id, "status"}
    if kind is not None and kind.agent and kind.payload is not None and not is_change:
        fields = kind.payload.__struct_fields__
        known = {name: value for name, value in given.payload.items() if name in fields}  # others say nothing
        try:
            convert(known, kind.payload)
            blank = next((name for name, value in known.items() if isinstance(value, str) and not value.strip()), None)
            problem = f"`{blank}` is empty" if blank else None
        except ValidationError as error:
            problem = str(error)
        if problem:
            message = f"event {number} is no {given.type}: {problem}"
            raise SlicebaseError("bad-event", message, hint=f"its payload can have {', '.join(fields)}")
    return EventDraft(type=given.type, step=given.step, payload=given.payload)


def _claim(call: ToolCall, given: RunArguments) -> ToolOutput:
    if not (given.statement or given.claim_id):
        raise SlicebaseError("bad-arguments", "claim needs statement, or claim_id and status")
    with _signed(call):
        logged = call.base.runs.claim(
            _name(given),
            given.statement,
            id=given.claim_id,
            status=given.status,
            cite=[_cited(each) for each in given.evidence],
            within=call.environment.within,
        )
    return _logged(logged)


def _cited(cited: Cited) -> "Cite":
    return cited.ref if cited.ref.startswith("ev_") else (cited.ref, cited.quote or "")


def _compact(call: ToolCall, given: RunArguments) -> ToolOutput:
    return _logged(call.base.runs.compact(_name(given)))


def _stop(call: ToolCall, given: RunArguments) -> ToolOutput:
    assert given.reason is not None  # `run` has checked it
    return _logged(call.base.runs.stop(_name(given), given.reason, message=given.message))


_LINES = 200  # on a page


def _narrative(call: ToolCall, given: RunArguments) -> ToolOutput:
    narrative = call.base.runs.narrative(_name(given))
    lines, following = page_of(long_lines(narrative.body), given.page, _LINES)
    result = RunResult(plain(_name(given)), file=plain(f"file:{narrative.id}"), next=following)
    more = " ".join(filter(None, [f"It is {result.file}.", more_pages(following)]))
    return ToolOutput(result, quoted([each.text for each in lines], more))


def _status(call: ToolCall, given: RunArguments) -> ToolOutput:
    if given.run is None:
        return _list(call, given.page)
    found = call.base.runs.status(_name(given))
    shown, following = page_of([PagedLine(line(each)) for each in _said(found)], given.page, _LINES)
    counted = {name: found.claims.get(name, 0) for name in ("verified", "candidate", "retracted")}
    result = RunResult(
        plain(found.run_id),
        last=found.events,
        compaction_due=found.next_compaction.due,
        stopped=plain(found.stopped),
        figures=RunFigures(found.events, found.snapshots, counted, asdict(found.metrics)),
        next=following,
    )
    state = f"{found.events} events; {plain(found.stopped) or 'running'}"
    more = " ".join(filter(None, [state, more_pages(following)]))
    return ToolOutput(result, quoted([each.text for each in shown], more))


def _said(found: "RunStatus") -> Iterator[str]:
    """Yields what the status of a run says in words."""
    yield f"objective: {excerpt(found.objective)}"
    yield "claims: " + ", ".join(f"{count} {name}" for name, count in found.claims.items())
    for each in found.near_limits:
        yield f"warning: {each}"
    for name, places in asdict(found.incidents).items():
        if places:
            yield f"{len(places)} {name.replace('_', ' ')}"
    for question in found.open_questions:
        yield f"open question: {excerpt(question)}"
    for failure in found.open_failures:
        yield f"open failure: {field_text(failure, 'failure_id', 'no id')} {excerpt(field_text(failure, 'why'))}"
    for number in found.interrupted_steps:
        yield f"interrupted: step {number}, which nobody holds any more"
    for conflict in found.open_conflicts:
        name, said = field_text(conflict, "conflict_id", "no id"), field_text(conflict, "description")
        yield f"open conflict: {name} {excerpt(said)}"


def _report(call: ToolCall, given: RunArguments) -> ToolOutput:
    report = long_lines(call.base.runs.report(_name(given)).markdown)
    lines, following = page_of(report, given.page, _LINES)
    text = quoted([each.text for each in lines], more_pages(following))
    return ToolOutput(RunResult(plain(_name(given)), next=following), text)


_RUNS = 50  # on a page


def _list(call: ToolCall, page: int) -> ToolOutput:
    shown, following = page_of([_run_line(entry) for entry in call.base.runs.list_runs()], page, _RUNS)
    runs = tuple(each.value for each in shown if isinstance(each.value, RunFound))
    text = quoted([each.text for each in shown], more_pages(following)) if shown else "There are no runs."
    return ToolOutput(RunResult(runs=runs, next=following), text)


def _run_line(entry: "RunEntry") -> PagedLine:
    text = line(f"run:{entry.id} {entry.stopped or 'running'}: {excerpt(entry.subject)}")
    return PagedLine(text, RunFound(plain(entry.id), known_time(entry.tally.updated) or "", plain(entry.stopped)))


READING_ACTIONS: Final = frozenset({"status", "report"})  # they need not wait for calls that write
ACTIONS: Mapping[str, Action] = {
    "start": Action(_start, ("objective", "done")),
    "log": Action(_log, ("run", "events")),
    "claim": Action(_claim, ("run",)),
    "compact": Action(_compact, ("run",)),
    "stop": Action(_stop, ("run", "reason")),
    "fork": Action(_fork, ("run",)),
    "narrative": Action(_narrative, ("run",)),
    "status": Action(_status, ()),
    "report": Action(_report, ("run",)),
}


def _name(given: RunArguments) -> str:
    return _run_id(str(given.run))


def _run_id(text: str) -> str:
    from slicebase.core.refs import ref_of

    return ref_of("run", text).removeprefix("run:")


@contextmanager
def _signed(call: ToolCall) -> Iterator[None]:
    """Logs which client writes, together with what is written inside: both are stored, or nothing is."""
    who = call.base.surroundings.redaction.value(call.base.library.stamp(call.signed()).who or {})
    with call.base.surroundings.one_thread(), call.base.truth.runs.log.signing(who):
        yield


def _logged(logged: "Logged") -> ToolOutput:
    tally = logged.tally
    due = is_due(tally.counted, tally.steps, DEFAULT_THRESHOLDS)
    result = RunResult(
        plain(tally.run_id),
        logged.first,
        logged.last,
        plain(logged.ref),
        logged.snapshots,
        due,
        plain(tally.stopped),
        len(logged.warnings),
    )
    parts = [result.claim, f"run:{result.run} events {logged.first} to {logged.last}", *logged.snapshots]
    said = ", ".join(filter(None, parts)) + ("; compaction is due" if due else "")
    warnings = [line(f"warning: {with_tools(each)}") for each in logged.warnings]
    return ToolOutput(result, quoted(warnings, said) if warnings else said)
