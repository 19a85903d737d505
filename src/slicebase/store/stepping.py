"""A step of an agent as a `with` block: plan, act and observe, each on disk as soon as it is said.

    with base.runs.step("my-run", clock) as step:
        step.plan(text="look at the log")
        step.act(tool="bash", text="make test")
        step.observe(text=output)

A step always ends with its three terminal events: what was not said is logged as empty. Behind them the run is
compacted where that is due. An error that leaves the block is logged as a failure, and goes on.
"""

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from slicebase.runs.event import EventDraft
from slicebase.runs.gate import Thresholds, bind
from slicebase.runs.records import FailureLogged, ManifestLogged
from slicebase.store.runs import Logged, Runs

_WHY = 500


class Step:
    def __init__(
        self, runs: Runs, run_id: str, number: int, clock: Callable[[], int], thresholds: Thresholds | None
    ) -> None:
        self._runs = runs
        self._clock = clock
        self._thresholds = thresholds
        self._missing = ["PLAN_DONE", "ACT_DONE", "OBSERVE_DONE"]
        self.run_id = run_id
        self.number = number
        self.snapshots: tuple[str, ...] = ()

    def __enter__(self) -> Self:
        self._runs.check_open(self.run_id)
        return self

    def plan(self, **payload: Any) -> Logged:
        return self._terminal("PLAN_DONE", payload)

    def act(self, **payload: Any) -> Logged:
        return self._terminal("ACT_DONE", payload)

    def observe(self, **payload: Any) -> Logged:
        return self._terminal("OBSERVE_DONE", payload)

    def log(self, type_: str, **payload: Any) -> Logged:
        """Any other event of the step."""
        return self._append([EventDraft(type=type_, step=self.number, payload=payload)])

    def context(self, manifest: ManifestLogged) -> Logged:
        """What was put before the model in this step."""
        return self._append(list(bind(manifest, self.number)))

    def _terminal(self, type_: str, payload: dict[str, Any]) -> Logged:
        logged = self._append([EventDraft(type=type_, step=self.number, payload=payload)])
        if type_ in self._missing:
            self._missing.remove(type_)
        return logged

    def _append(self, drafts: list[EventDraft], thresholds: Thresholds | None = None) -> Logged:
        return self._runs.append(self.run_id, drafts, self._clock(), thresholds)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        drafts = [EventDraft(type=name, step=self.number) for name in self._missing]
        if error is not None and isinstance(error, Exception) and not self._runs.is_closed(self.run_id):
            self._append([self._failure(error), *drafts])
        elif error is None:
            self.snapshots = self._append(drafts, self._thresholds).snapshots

    def _failure(self, error: Exception) -> EventDraft:
        failure = FailureLogged(
            failure_id=f"step-{self.number}",
            category=type(error).__name__,
            where=f"step {self.number}",
            why=str(error)[:_WHY],
        )
        return EventDraft.of("FAILURE", failure, step=self.number)
