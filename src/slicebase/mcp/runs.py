"""The tool for runs: start, log, claim, compact, status, report."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta, field
from msgspec.structs import asdict

from slicebase.core.parsers import read_json
from slicebase.core.times import known_time
from slicebase.errors import SlicebaseError
from slicebase.mcp.calls import Arguments, PageNumber, Result, ToolCall, ToolOutput, more_pages, page_of, quoted
from slicebase.runs.event import EventDraft
from slicebase.runs.gate import DEFAULT_THRESHOLDS, is_due
from slicebase.runs.records import DoneDefinition

if TYPE_CHECKING:
    from slicebase.truth.run_writer import Logged
    from slicebase.verbs.evidence import Cite


class EventGiven(Arguments, frozen=True):
    type: str
    step: int | None = None
    payload: dict[str, Any] = field(default_factory=dict)


class Cited(Arguments, frozen=True):
    ref: str
    quote: str | None = None


class RunArguments(Arguments, frozen=True):
    action: Literal["start", "log", "claim", "compact", "status", "report"]
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
    page: PageNumber = 1


class RunResult(Result, frozen=True):
    run: str | None = None
    first: int | None = None
    last: int | None = None
    claim: str | None = None
    snapshots: tuple[str, ...] = ()
    compaction_due: bool = False
    stopped: str | None = None
    status: dict[str, Any] | None = None
    runs: tuple[dict[str, Any], ...] = ()
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


def _start(call: ToolCall, given: RunArguments) -> ToolOutput:
    run_id = call.base.surroundings.new_id() if given.run is None else _name(given)
    with _signed(call):
        tally = call.base.runs.start(run_id, str(given.objective), _done(str(given.done)))
    return ToolOutput(RunResult(tally.run_id, 1, 1), f"Started run:{run_id}")


def _done(text: str) -> DoneDefinition:
    """Returns a done definition: a text, or a JSON object, which can have budgets and guards."""
    done = read_json(text, what="done") if text.lstrip().startswith("{") else text
    return done if isinstance(done, dict) else text


def _log(call: ToolCall, given: RunArguments) -> ToolOutput:
    drafts = [EventDraft(type=each.type, step=each.step, payload=each.payload) for each in given.events]
    with _signed(call):
        return _logged(call.base.runs.log(_name(given), drafts))


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
        )
    return _logged(logged)


def _cited(cited: Cited) -> "Cite":
    return cited.ref if cited.ref.startswith("ev_") else (cited.ref, cited.quote or "")


def _compact(call: ToolCall, given: RunArguments) -> ToolOutput:
    return _logged(call.base.runs.compact(_name(given)))


def _status(call: ToolCall, given: RunArguments) -> ToolOutput:
    if given.run is None:
        return _list(call, given.page)
    found = call.base.runs.status(_name(given))
    status = msgspec.to_builtins(found)
    result = RunResult(
        found.run_id, compaction_due=found.next_compaction.due, stopped=found.stopped, status=status, last=found.events
    )
    claims = ", ".join(f"{count} {name}" for name, count in found.claims.items())
    lines = [f"objective: {found.objective}", f"claims: {claims}"]
    lines += [f"warning: {each}" for each in found.near_limits]
    lines += [f"{len(places)} {name.replace('_', ' ')}" for name, places in asdict(found.incidents).items() if places]
    lines += [f"open question: {question}" for question in found.open_questions]
    lines += [f"open failure: {each.get('failure_id')} {each.get('why')}" for each in found.open_failures]
    lines += [f"interrupted: step {number}, which nobody holds any more" for number in found.interrupted_steps]
    lines += [f"open conflict: {each.get('conflict_id')} {each.get('description')}" for each in found.open_conflicts]
    return ToolOutput(result, quoted(lines, f"{found.events} events; {found.stopped or 'running'}"))


_LINES = 200  # on a page


def _report(call: ToolCall, given: RunArguments) -> ToolOutput:
    report = call.base.runs.report(_name(given)).markdown.splitlines()
    lines, following = page_of(report, given.page, _LINES)
    result = RunResult(_name(given), status={"report": "\n".join(lines)}, next=following)
    return ToolOutput(result, quoted(lines, more_pages(following)))


_RUNS = 50  # on a page


def _list(call: ToolCall, page: int) -> ToolOutput:
    shown, following = page_of(call.base.runs.list_runs(), page, _RUNS)
    rows = [
        {
            "run": entry.id,
            "objective": entry.subject,
            "updated": known_time(entry.tally.updated),
            "stopped": entry.stopped,
        }
        for entry in shown
    ]
    lines = [f"run:{row['run']} {row['stopped'] or 'running'}: {row['objective']}" for row in rows]
    return ToolOutput(
        RunResult(runs=tuple(rows), next=following),
        quoted(lines, more_pages(following)) if lines else "There are no runs.",
    )


ACTIONS: Mapping[str, Action] = {
    "start": Action(_start, ("objective", "done")),
    "log": Action(_log, ("run", "events")),
    "claim": Action(_claim, ("run",)),
    "compact": Action(_compact, ("run",)),
    "status": Action(_status, ()),
    "report": Action(_report, ("run",)),
}


def _name(given: RunArguments) -> str:
    from slicebase.core.refs import ref_of

    return ref_of("run", str(given.run)).removeprefix("run:")


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
        tally.run_id,
        logged.first,
        logged.last,
        logged.ref or None,
        logged.snapshots,
        due,
        tally.stopped,
        {"warnings": logged.warnings} if logged.warnings else None,
    )
    named = [logged.ref] if logged.ref else []
    parts = [*named, f"run:{tally.run_id} events {logged.first} to {logged.last}", *logged.snapshots]
    said = ", ".join(parts) + ("; compaction is due" if due else "")
    return ToolOutput(
        result, quoted([f"warning: {each}" for each in logged.warnings], said) if logged.warnings else said
    )
