"""The verbs that write runs, for a server that may (`tt serve --write`). The log says who wrote."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from msgspec import Meta, Struct, field

from slicebase.core.refs import ref_of
from slicebase.runs.event import EventDraft
from slicebase.runs.records import StopReason
from slicebase.web.api.writes import SignedWrite, signed
from slicebase.web.endpoints import Name, Parameters, Text, post

if TYPE_CHECKING:
    from slicebase.base import Slicebase
    from slicebase.truth.run_writer import Logged
    from slicebase.verbs.cite import Cite

StepNumber = Annotated[int, Meta(ge=1)]


class RunWrite(SignedWrite, frozen=True, kw_only=True):
    """A run, and who writes to it."""

    run: Name


class LoggedAnswer(Struct, frozen=True):
    """What was logged, as the commands print it with `--json`."""

    run: str
    id: str | None
    ref: str | None
    first: int
    last: int
    snapshots: tuple[str, ...]
    counted_events: int
    steps: int
    stopped: str | None
    interrupted_steps: tuple[int, ...]
    warnings: tuple[str, ...]


def _logged(logged: "Logged") -> LoggedAnswer:
    tally = logged.tally
    return LoggedAnswer(
        tally.run_id,
        logged.id or None,
        logged.ref or None,
        logged.first,
        logged.last,
        logged.snapshots,
        tally.counted,
        tally.steps,
        tally.stopped,
        logged.interrupted_steps,
        logged.warnings,
    )


@contextmanager
def _signing(memory: "Slicebase", asked: SignedWrite) -> Iterator[None]:
    """Logs who writes, together with what is written inside: both are stored, or nothing is."""
    who = memory.surroundings.redaction.value(memory.library.stamp(signed(memory, asked)).who or {})
    with memory.surroundings.one_thread(), memory.truth.runs.log.signing(who):
        yield


def _name(given: str) -> str:
    return ref_of("run", given).removeprefix("run:")


class StartBody(SignedWrite, frozen=True, kw_only=True):
    """The terms of a new run."""

    objective: Text
    done: Annotated[str | dict[str, Any], Meta(description="A text, or an object with budgets and guards.")]
    id: str | None = None


class RunStartedAnswer(Struct, frozen=True):
    """The id of a new run."""

    id: str


def start(memory: "Slicebase", asked: StartBody) -> RunStartedAnswer:
    """Starts a run."""
    run_id = memory.surroundings.new_id() if asked.id is None else _name(asked.id)
    with _signing(memory, asked):
        return RunStartedAnswer(memory.runs.start(run_id, asked.objective, asked.done).run_id)


class ForkBody(RunWrite, frozen=True, kw_only=True):
    """The id of the run that continues another."""

    id: str | None = None


def fork(memory: "Slicebase", asked: ForkBody) -> RunStartedAnswer:
    """Starts a run that continues from the last snapshot of another run that passed."""
    run_id = memory.surroundings.new_id() if asked.id is None else _name(asked.id)
    with _signing(memory, asked):
        return RunStartedAnswer(memory.runs.fork(_name(asked.run), run_id).run_id)


class EventBody(Struct, frozen=True, forbid_unknown_fields=True):
    """An event."""

    type: str
    step: StepNumber | None = None
    payload: dict[str, Any] = field(default_factory=dict)


class LogBody(RunWrite, frozen=True, kw_only=True):
    """Events for the log of a run."""

    events: Annotated[tuple[EventBody, ...], Meta(min_length=1, max_length=1000)]


def log(memory: "Slicebase", asked: LogBody) -> LoggedAnswer:
    """Logs events, all or none of them."""
    drafts = [EventDraft(type=each.type, step=each.step, payload=each.payload) for each in asked.events]
    with _signing(memory, asked):
        return _logged(memory.runs.log(_name(asked.run), drafts))


class EvidenceGiven(Struct, frozen=True, forbid_unknown_fields=True):
    """Evidence by its id, or a text and a quote in it."""

    ref: str
    quote: str | None = None


def _cites(given: tuple[EvidenceGiven, ...]) -> "list[Cite]":
    return [each.ref if each.ref.startswith("ev_") else (each.ref, each.quote or "") for each in given]


class ClaimBody(RunWrite, frozen=True, kw_only=True):
    """A claim, or the change of one."""

    statement: str | None = None
    id: str | None = None
    status: Literal["verified", "candidate", "retracted"] | None = None
    evidence: tuple[EvidenceGiven, ...] = ()
    step: StepNumber | None = None


def claim(memory: "Slicebase", asked: ClaimBody) -> LoggedAnswer:
    """Logs a claim, or changes one. A verified claim needs evidence."""
    with _signing(memory, asked):
        return _logged(
            memory.runs.claim(
                _name(asked.run),
                asked.statement,
                id=asked.id,
                status=asked.status,
                cite=_cites(asked.evidence),
                step=asked.step,
            )
        )


class ConflictBody(RunWrite, frozen=True, kw_only=True):
    """A conflict with evidence for both sides; without a description, the one with this id is resolved."""

    description: str | None = None
    id: str | None = None
    a: tuple[EvidenceGiven, ...] = ()
    b: tuple[EvidenceGiven, ...] = ()
    step: StepNumber | None = None


def conflict(memory: "Slicebase", asked: ConflictBody) -> LoggedAnswer:
    """Logs a conflict, or resolves one."""
    a, b = _cites(asked.a), _cites(asked.b)
    with _signing(memory, asked):
        found = memory.runs.conflict(_name(asked.run), asked.description, id=asked.id, a=a, b=b, step=asked.step)
    return _logged(found)


class QuestionBody(RunWrite, frozen=True, kw_only=True):
    """An open question, or one that is closed."""

    text: Text
    close: bool = False
    step: StepNumber | None = None


def question(memory: "Slicebase", asked: QuestionBody) -> LoggedAnswer:
    """Logs an open question, or closes it."""
    with _signing(memory, asked):
        return _logged(memory.runs.question(_name(asked.run), asked.text, close=asked.close, step=asked.step))


class FailureBody(RunWrite, frozen=True, kw_only=True):
    """A failure, or the id of one that is resolved."""

    why: str = ""
    category: str = "error"
    where: str = ""
    id: str | None = None
    resolve: bool = False
    step: StepNumber | None = None


def failure(memory: "Slicebase", asked: FailureBody) -> LoggedAnswer:
    """Logs a failure, or resolves one."""
    with _signing(memory, asked):
        return _logged(
            memory.runs.failure(
                _name(asked.run),
                asked.why,
                category=asked.category,
                where=asked.where,
                id=asked.id,
                resolve=asked.resolve,
                step=asked.step,
            )
        )


class AllowLoopBody(RunWrite, frozen=True, kw_only=True):
    """Why and for how long an agent may repeat itself."""

    reason: Text
    steps: StepNumber | None = None
    seconds: Annotated[float, Meta(gt=0, le=31_536_000)] | None = None


def allow_loop(memory: "Slicebase", asked: AllowLoopBody) -> LoggedAnswer:
    """Allows an agent to repeat itself, for some steps or seconds."""
    with _signing(memory, asked):
        found = memory.runs.allow_loop(_name(asked.run), asked.reason, steps=asked.steps, seconds=asked.seconds)
    return _logged(found)


class CompactBody(Parameters, frozen=True, kw_only=True):
    """A run that is to be compacted, or whose narrative is to be written."""

    run: Name


def compact(memory: "Slicebase", asked: CompactBody) -> LoggedAnswer:
    """Compacts a run into a snapshot. A snapshot that fails its checks stops the run."""
    return _logged(memory.runs.compact(_name(asked.run)))


class NarrativeAnswer(Struct, frozen=True):
    """A narrative that is a slice file: whether this call has written it."""

    file_id: str
    title: str
    written: bool
    body: str


def narrative(memory: "Slicebase", asked: CompactBody) -> NarrativeAnswer:
    """Writes what a run knew at its last snapshot that passed as a slice file."""
    made = memory.runs.narrative(_name(asked.run))
    return NarrativeAnswer(made.file_id, made.title, made.is_new, made.body)


class StopBody(Parameters, frozen=True, kw_only=True):
    """Why a run stops."""

    run: Name
    reason: StopReason
    message: str = ""


def stop(memory: "Slicebase", asked: StopBody) -> LoggedAnswer:
    """Takes a last snapshot and closes a run."""
    return _logged(memory.runs.stop(_name(asked.run), asked.reason, message=asked.message))


ENDPOINTS: Final = (
    post("/run/start", "runs.start", start),
    post("/run/fork", "runs.fork", fork),
    post("/run/log", "runs.log", log),
    post("/run/claim", "runs.claim", claim),
    post("/run/conflict", "runs.conflict", conflict),
    post("/run/question", "runs.question", question),
    post("/run/failure", "runs.failure", failure),
    post("/run/allow-loop", "runs.allow_loop", allow_loop),
    post("/run/compact", "runs.compact", compact),
    post("/run/narrative", "runs.narrative", narrative),
    post("/run/stop", "runs.stop", stop),
)
