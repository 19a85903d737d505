"""Random operations on runs give the same results in SQLite and in a simple model in memory."""

import tempfile
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from slicebase.core.times import from_text
from slicebase.errors import SlicebaseError
from slicebase.runs.checks import Inputs
from slicebase.runs.event import Event, EventDraft, LogHead
from slicebase.runs.forks import fork, inheritance
from slicebase.runs.gate import Thresholds, admit, compact, is_due, spent, start, stopped
from slicebase.runs.records import RunStarted
from slicebase.runs.snapshot import to_bytes
from slicebase.runs.state import RunState, fold
from slicebase.truth.truth import Truth
from tests.runs.made import LEDGER, MANIFESTS, NOW, STARTED, append_all, claim
from tests.runs.test_state import good_drafts

MOMENT = from_text(NOW)
RUNS = st.sampled_from(["a", "b"])
SOON = Thresholds(counted_events=3, steps=2)


class Model:
    """Runs as lists of events, where every result is computed from the complete list."""

    def __init__(self) -> None:
        self.logs: dict[str, list[Event]] = {}
        self.snapshots: dict[str, list[dict[str, Any]]] = {}

    def begin(self, run: str, drafts: list[EventDraft]) -> None:
        if run in self.logs:
            raise SlicebaseError("run-exists", run)
        self.logs[run], self.snapshots[run] = [], []
        self.grow(run, drafts)

    def grow(self, run: str, drafts: list[EventDraft]) -> None:
        log = self.logs[run]
        head = LogHead(run, log[-1].seq, log[-1].hash) if log else LogHead(run)
        log += append_all(head, drafts, NOW)[0]

    def state(self, run: str) -> RunState:
        return fold(RunState(run), self.logs[run])

    def check_open(self, run: str) -> None:
        if run not in self.logs:
            raise SlicebaseError("no-run", run)
        if self.state(run).stopped:
            raise SlicebaseError("run-closed", run)

    def append(self, run: str, drafts: list[EventDraft], thresholds: Thresholds | None) -> None:
        self.check_open(run)
        for draft in drafts:
            self.grow(run, [admit(draft, STARTED)])
            state = self.state(run)
            if thresholds and is_due(state.counted, len(state.steps), thresholds):
                self.compact(run)

    def compact(self, run: str) -> None:
        self.check_open(run)
        log = self.logs[run]
        last = max((event.seq for event in log if event.type == "SNAPSHOT"), default=0)
        previous = self.snapshots[run][-1] if self.snapshots[run] else None
        head = LogHead(run, last, log[last - 1].hash) if last else LogHead(run)
        inputs = Inputs(
            msgspec.convert(log[0].payload, RunStarted), previous, head, tuple(log[last:]), LEDGER, MANIFESTS
        )
        compaction = compact(lambda: inputs, NOW)
        self.snapshots[run].append(compaction.snapshot)
        self.grow(run, list(compaction.drafts))
        if not compaction.passed:
            raise SlicebaseError("gate-refused", run)

    def passed(self, run: str) -> list[dict[str, Any]]:
        return [snapshot for snapshot in self.snapshots[run] if snapshot["validation"]["status"] == "PASS"]


class RunsAgree(RuleBasedStateMachine):
    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.truth = Truth(Path(self.folder.name) / "slicebase.db", create=True)
        self.truth.database.connection.execute("PRAGMA synchronous = OFF")
        self.truth.runs.manifests = MANIFESTS
        for record in LEDGER.values():
            self.truth.ledger.keep(record)
        self.model = Model()
        self.start("a")

    def both(self, in_model: Any, in_store: Any) -> None:
        """Checks that both succeed, or both raise an error with the same code."""
        outcomes: list[str | None] = []
        for act in (in_model, in_store):
            try:
                act()
                outcomes.append(None)
            except SlicebaseError as error:
                outcomes.append(error.code)
        assert outcomes[0] == outcomes[1]

    @rule(run=RUNS)
    def start(self, run: str) -> None:
        self.both(
            lambda: self.model.begin(run, [start(run, STARTED)]), lambda: self.truth.runs.start(run, STARTED, MOMENT)
        )

    @rule(run=RUNS, drafts=st.lists(good_drafts, min_size=1, max_size=5), thresholds=st.sampled_from([None, SOON]))
    def append(self, run: str, drafts: list[EventDraft], thresholds: Thresholds | None) -> None:
        self.both(
            lambda: self.model.append(run, drafts, thresholds),
            lambda: self.truth.runs.append(run, drafts, MOMENT, thresholds),
        )

    @rule(run=RUNS)
    def append_what_the_gate_refuses(self, run: str) -> None:
        self.append(run, [claim("bad", refs=[])], None)

    @rule(run=RUNS)
    def compact(self, run: str) -> None:
        self.both(lambda: self.model.compact(run), lambda: self.truth.runs.compact(run, MOMENT))

    @rule(run=RUNS)
    def stop(self, run: str) -> None:
        def in_model() -> None:
            self.model.check_open(run)
            if self.model.logs[run][-1].type != "SNAPSHOT":
                self.model.compact(run)
            self.model.grow(run, [stopped("HUMAN_REQUESTED")])

        self.both(in_model, lambda: self.truth.runs.stop(run, "HUMAN_REQUESTED", "", MOMENT))

    @rule(run=RUNS, other=RUNS)
    def fork(self, run: str, other: str) -> None:
        def in_model() -> None:
            if run not in self.model.logs:
                raise SlicebaseError("no-run", run)
            if not self.model.passed(run):
                raise SlicebaseError("no-snapshot", run)
            log = self.model.logs[run]
            inherited = inheritance(run, len(log), spent(log), msgspec.convert(log[0].payload, RunStarted))
            self.model.begin(other, list(fork(other, self.model.passed(run)[-1], inherited)))

        self.both(in_model, lambda: self.truth.runs.fork(run, other, MOMENT))

    @rule()
    def open_again(self) -> None:
        self.truth.close()
        self.truth = Truth(Path(self.folder.name) / "slicebase.db")
        self.truth.database.connection.execute("PRAGMA synchronous = OFF")
        self.truth.runs.manifests = MANIFESTS

    @invariant()
    def they_agree(self) -> None:
        for run, log in getattr(self, "model", Model()).logs.items():
            assert list(self.truth.runs.events(run)) == log
            assert self.truth.runs.state(run) == self.model.state(run)
            for number, snapshot in enumerate(self.model.snapshots[run], 1):
                assert to_bytes(self.truth.runs.snapshots.get(run, number).snapshot) == to_bytes(snapshot)

    def teardown(self) -> None:
        if hasattr(self, "truth"):
            self.truth.close()
            self.folder.cleanup()


TestRunsAgree = RunsAgree.TestCase
TestRunsAgree.settings = settings(max_examples=20, stateful_step_count=15, deadline=None)
