"""The figures of a run that show how it goes wrong, and its report."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slicebase import Slicebase
from slicebase.context import constraints
from slicebase.runs.event import EventDraft, read_payload
from slicebase.truth import run_log
from tests.codes import code_of

RUN = "r1"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Slicebase]:
    with Slicebase.init(tmp_path) as made:
        yield made


def test_a_status_says_where_a_constraint_was_forgotten(memory: Slicebase) -> None:
    memory.runs.start(RUN, "Build it.", "It builds.")
    memory.runs.claim(RUN, "Never run git push.")
    with memory.runs.step(RUN) as step:
        step.act("make && git push", tool="bash")
    status = memory.runs.status(RUN)
    (forgotten,) = status.incidents.forgotten_constraints
    assert (forgotten.claim_id, forgotten.stated, forgotten.action) == ("c1", 2, 4)
    assert status.metrics.forgotten_constraints == 1


def test_a_report_has_the_quotes_and_is_always_the_same(memory: Slicebase) -> None:
    memory.runs.start(RUN, "Find the cause.", "It is found.", budgets={"max_steps": 5})
    log = memory.library.create("Log", "Rows.", type="jsonl")
    row = memory.library.remember(log.id, "The lock file is stale.").ref
    memory.runs.claim(RUN, "It is stale.", status="verified", cite=(row, "lock file is stale"))
    memory.runs.stop(RUN, message="Found.")
    report = memory.runs.report(RUN)
    assert report.outcome.last_snapshot == memory.runs.snapshot(RUN)["snapshot_id"]
    assert report.verified_claims[0].evidence[0].quote == "lock file is stale"
    assert report.markdown == str(memory.runs.report(RUN))
    assert code_of(memory.runs.report, "other") == "no-run"


def test_a_run_that_requires_manifests_stops_at_a_step_without_one(memory: Slicebase) -> None:
    for name in ("bound", "unbound"):
        memory.runs.start(name, "Build it.", "It builds.", guards={"require_manifest": True})
        with memory.runs.step(name, compact=False) as step:
            if name == "bound":
                step.context("how is it built")
                memory.runs.compact(name)  # in the middle of the step
            step.act("make")
    assert memory.runs.compact("bound").tally.stopped is None
    assert code_of(memory.runs.compact, "unbound") == "gate-refused"
    assert memory.runs.status("unbound").stopped == "SYSTEM_ERROR"
    assert memory.verify().status == "VERIFIED"


@pytest.mark.parametrize("compacted", [False, True])
@pytest.mark.parametrize("verb", ["status", "report"])
def test_a_log_is_read_once_for_its_figures(
    verb: str, compacted: bool, memory: Slicebase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its state is made from the same events, and calls are compared only with what forbids something."""
    memory.runs.start(RUN, "Find the cause.", "It is found.")
    for number in range(40):
        memory.runs.log(RUN, [EventDraft(type="ACT_DONE", step=number, payload={"text": f"Look at {number}."})])
        memory.runs.claim(RUN, f"It is not {number}.")
        if compacted and number == 20:
            memory.runs.compact(RUN)
    expected = getattr(memory.runs, verb)(RUN)
    read, plain = list[bytes](), read_payload

    def counted(data: bytes) -> dict[str, Any]:
        read.append(data)
        return plain(data)

    monkeypatch.setattr(run_log, "read_payload", counted)
    monkeypatch.setattr(constraints, "_done_by", None)
    with Slicebase.open(memory.root) as fresh:
        assert getattr(fresh.runs, verb)(RUN) == expected
        assert len(read) <= fresh.truth.runs.log.tally(RUN).seq + 5
