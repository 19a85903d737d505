"""A step of an agent, as a `with` block.

    with memory.runs.step("my-run") as step:
        step.plan("look at the log")
        step.act("make test", tool="bash")
        step.observe(output)
        step.claim("The lock file is stale.", cite=(ref, "stale lock"))

Each event is on disk as soon as its method returns. A step always ends with its three terminal events: those that the
block did not log are logged as empty. Then the run is compacted if that is due, also after an error: the counts alone
decide. An error that leaves the block, or an interruption, is logged as a failure, and propagates. If the run stops
meanwhile, a note of the error says so. If the process is killed, the next step of the run closes the step.

An agent that repeats itself is warned of (`RunWarning`), or the step raises `loop-found`, as the terms of the run say.
"""

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from slicebase.core.times import Moment
from slicebase.errors import RunWarning, SlicebaseError
from slicebase.runs.event import EventDraft
from slicebase.runs.evidence import Evidence
from slicebase.runs.records import ClaimStatus, FailureLogged
from slicebase.runs.values import is_blank
from slicebase.truth.run_writer import LOOP_FOUND, Logged
from slicebase.truth.runs import NO_BLOBS
from slicebase.verbs.cite import cite_chunk
from slicebase.verbs.parts import Parts
from slicebase.verbs.shown import Within
from slicebase.workspace.surroundings import in_turn, one_thread_at_a_time

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slicebase.context.assemble import Context
    from slicebase.truth.steps import BegunStep
    from slicebase.verbs.cite import Cites
    from slicebase.verbs.runs import Compact, Runs

_CATEGORY = 100  # characters of an error's name
_WHY = 500  # of its message


@one_thread_at_a_time
class Step:
    """One step of a run, for a `with` block."""

    def __init__(self, parts: Parts, runs: "Runs", run_id: str, compact: "Compact" = True) -> None:
        self.surroundings = parts.surroundings
        self._parts = parts
        self._runs = runs
        self._compact = compact
        self._begun: BegunStep | None = None
        self._is_open = False
        self.run_id = run_id
        self.number = 0  # given when the block begins
        self.interrupted_steps: tuple[int, ...] = ()  # earlier ones, that were closed as failures when the block began
        self.snapshots: tuple[str, ...] = ()  # that were taken when the block ended
        self.warnings: tuple[str, ...] = ()  # of loops, and of budgets that are nearly spent

    def __repr__(self) -> str:
        return f"Step(run={self.run_id!r}, number={self.number})"

    @in_turn
    def __enter__(self) -> Self:
        if self.number:
            raise SlicebaseError("bad-event", f"{self!r} was begun before", hint="`runs.step` returns another one")
        self.run_id = self._parts.stored_names.id("run", self.run_id)
        self._begun = self._parts.truth.steps.begin(self.run_id, self.surroundings.now())
        self.number, self.interrupted_steps = self._begun.number, self._begun.interrupted
        self.warnings = self._begun.warnings  # given at the end: an error here would leave the step open
        self._is_open = True
        return self

    @property
    def _open_number(self) -> int:
        """The number of the step. Raises an error outside the block: an event there would belong to no step."""
        if not self._is_open:
            raise SlicebaseError("bad-event", f"{self!r} is not open", hint="use it inside its `with` block")
        return self.number

    # The three events of every step

    def plan(self, text: str = "", /, **details: Any) -> Logged:
        """Logs what the agent is going to do."""
        return self._log("PLAN_DONE", text, details)

    def act(self, text: str = "", /, *, blobs: "Mapping[str, bytes]" = NO_BLOBS, **details: Any) -> Logged:
        """Logs what the agent does: a command, or a call with `tool` and `arguments`."""
        return self._log("ACT_DONE", text, details, blobs)

    def observe(self, text: str = "", /, *, blobs: "Mapping[str, bytes]" = NO_BLOBS, **details: Any) -> Logged:
        """Logs what the agent sees; `blobs` is content that the details name by its hash."""
        return self._log("OBSERVE_DONE", text, details, blobs)

    # What is known, and what is not

    def claim(
        self,
        statement: str,
        *,
        cite: "Cites" = (),
        status: ClaimStatus | None = None,
        id: str | None = None,
        within: Within = None,
    ) -> Logged:
        """Logs a claim, a candidate unless a status is given.

        `cite` is what supports it: a reference with a quote, `(ref, quote)`, evidence or its id, or several of these.
        With `within`, the bytes of a bundle or a SliceExport, it can cite only what that shows.
        """
        options: dict[str, Any] = {"cite": cite, "within": within, "step": self._open_number}
        return self._told(self._runs.claim(self.run_id, statement, id=id, status=status, **options))

    def cite(
        self,
        reference: str,
        quote: str | None = None,
        *,
        span: tuple[int, int] | None = None,
        within: Within = None,
    ) -> Evidence:
        """Adds a quote or a span of a text to the evidence ledger; `within` a bundle, only what that shows."""
        return cite_chunk(self._parts, reference, quote=quote, span=span, within=within)

    def conflict(self, description: str, a: "Cites", b: "Cites", *, id: str | None = None) -> Logged:
        """Logs a conflict between two sides of evidence."""
        return self._told(self._runs.conflict(self.run_id, description, id=id, a=a, b=b, step=self._open_number))

    def fail(self, why: str, *, category: str = "error", where: str = "", id: str | None = None) -> Logged:
        """Logs a failure."""
        place = where or f"step {self.number}"
        number = self._open_number
        return self._told(self._runs.failure(self.run_id, why, category=category, where=place, id=id, step=number))

    def ask(self, question: str) -> Logged:
        """Logs an open question."""
        return self._told(self._runs.question(self.run_id, question, step=self._open_number))

    def close_question(self, question: str) -> Logged:
        """Closes a question: it is answered, or no longer open."""
        return self._told(self._runs.question(self.run_id, question, close=True, step=self._open_number))

    # Contexts, and everything else

    def context(self, question: str, tokens: int = 4000, *, as_of: Moment | None = None) -> "Context":
        """Builds a context for this step, which begins with the run's last snapshot, and logs it."""
        from slicebase.verbs.contexts import context

        return context(self._parts, question, tokens, as_of=as_of, run=self.run_id, step=self._open_number)

    def bind(self, context: "Context") -> Logged:
        """Logs a context that was given to the model in this step."""
        return self._told(self._runs.bind(self.run_id, context, step=self._open_number))

    def log(self, type: str, /, **payload: Any) -> Logged:
        """Logs any other event of the step, as it is: the gate checks it at the next compaction, not before."""
        return self._told(self._runs.log(self.run_id, [self._draft(type, payload)]))

    def _log(
        self, type_: str, text: str, details: "Mapping[str, Any]", blobs: "Mapping[str, bytes]" = NO_BLOBS
    ) -> Logged:
        payload = {"text": text, **details} if text else dict(details)
        logged = self._runs.log(self.run_id, [self._draft(type_, payload)], blobs=blobs)
        return self._told(logged)

    def _told(self, logged: Logged) -> Logged:
        self.warnings += logged.warnings
        _give(logged.warnings)
        return logged

    def _draft(self, type_: str, payload: "Mapping[str, Any] | None" = None) -> EventDraft:
        return EventDraft(type=type_, step=self._open_number, payload=dict(payload or {}))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with _noted(error), self.surroundings.one_thread():
            if self._begun is None or not self._is_open:
                return
            self._is_open = False
            failed = partial(self._failure, error) if error is not None else None
            found: SlicebaseError | None = None
            try:
                warned = self._parts.truth.steps.end(self.run_id, self._begun, self.surroundings.now, failed)
            except SlicebaseError as problem:
                if problem.code != LOOP_FOUND:
                    raise
                warned, found = (), problem
            self.snapshots = self._runs.log(self.run_id, [], compact=self._compact).snapshots
            if found is not None:
                raise found
            self.warnings += warned
            _give((*self._begun.warnings, *warned))

    def _failure(self, error: BaseException, failure_id: str) -> FailureLogged:
        return FailureLogged(
            failure_id=failure_id,
            category=_category(error),
            where=f"step {self.number}",
            why=self.surroundings.redaction.text(_text_of(error))[:_WHY].encode("utf-8", "replace").decode(),
        )


def _give(texts: Iterable[str]) -> None:
    for text in texts:
        warnings.warn(text, RunWarning, stacklevel=3)


@contextmanager
def _noted(error: BaseException | None) -> Iterator[None]:
    """Adds what goes wrong inside to an error that is already on its way: that one says more, and has to arrive."""
    try:
        yield
    except Exception as problem:
        if error is None:
            raise
        with suppress(Exception):  # an error of a program can refuse to be changed
            code = problem.code if isinstance(problem, SlicebaseError) else _name_of(problem)
            error.add_note(f"{_text_of(problem)} [{code}]")


def _category(error: BaseException) -> str:
    if isinstance(error, SlicebaseError) and error.code == LOOP_FOUND:
        return "loop"
    name = _name_of(error)[:_CATEGORY]
    return "error" if is_blank(name) else name


def _name_of(error: BaseException) -> str:
    """Returns the name of the class of an error. A metaclass can show anything else as `__name__`."""
    name: str = type.__dict__["__name__"].__get__(type(error))
    return name


def _text_of(error: BaseException) -> str:
    """Returns the text of an error as a plain string; an empty one if the error cannot say it."""
    try:
        return str.__str__(str(error))  # a class of strings can raise anything, too
    except KeyboardInterrupt:
        raise
    except BaseException:  # an error of a tool can raise anything, also SystemExit
        return ""
