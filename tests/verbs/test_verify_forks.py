"""Verify derives again what a fork has inherited: its terms, its budgets, and the state of the snapshot."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slicebase import Slicebase
from slicebase.runs.event import EventDraft
from slicebase.runs.forks import fork, inheritance
from slicebase.truth.run_log import RunLog

RUN = "r"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Slicebase]:
    with Slicebase.init(tmp_path) as made:
        log = made.library.create("Log", "Rows.", type="jsonl").id
        first, second = (made.library.remember(log, text).ref for text in ("one and two", "three and four"))
        made.runs.start(RUN, "Objective", "Done", budgets={"max_steps": 9})
        made.runs.claim(RUN, "It is.", id="c", cite=(first, "one"))
        made.runs.claim(RUN, "It was.", id="c", cite=(second, "three"))
        with made.runs.step(RUN) as step:
            step.context("one", 300)
        made.runs.compact(RUN)
        yield made


def drafts_of(memory: Slicebase, name: str) -> list[EventDraft]:
    runs = memory.truth.runs
    tally = runs.log.tally(RUN)
    inherited = inheritance(RUN, tally.seq, tally.spent, runs.log.started(RUN))
    return list(fork(name, memory.runs.snapshot(RUN), inherited))


def problems(memory: Slicebase) -> list[tuple[str, str]]:
    return [(finding.check, finding.place) for finding in memory.verify().findings if finding.status == "BROKEN"]


def test_a_fork_has_the_coverage_the_manifests_and_the_policy_of_its_snapshot(memory: Slicebase) -> None:
    memory.runs.fork(RUN, "f")
    memory.runs.compact("f")
    memory.runs.fork("f", "g")
    memory.runs.compact("g")
    origin, *forks = (memory.runs.snapshot(name) for name in (RUN, "f", "g"))
    assert len(origin["state"]["source_coverage"]["chunk_ids_cited"]) == 2
    assert origin["latest_context_manifest_ids"]
    for snapshot in forks:
        assert snapshot["state"]["source_coverage"] == origin["state"]["source_coverage"]
        for name in ("latest_context_manifest_ids", "policy_snapshot_ref", "objective", "done_definition"):
            assert snapshot[name] == origin[name]
    assert memory.verify().status == "VERIFIED"


def test_every_event_that_a_fork_inherits_otherwise_is_found(memory: Slicebase) -> None:
    """The log of each is a sound chain: only the origin says that it is another one."""
    count = len(drafts_of(memory, "f"))
    for place in range(1, count):
        forged = drafts_of(memory, f"f{place}")
        del forged[place]
        memory.truth.runs.begin(f"f{place}", forged, 0)
    changed = drafts_of(memory, "changed")
    changed[0].payload["objective"] = "Another."
    memory.truth.runs.begin("changed", changed, 0)
    richer = drafts_of(memory, "richer")
    richer[0].payload["inherited"]["steps"] = 0
    memory.truth.runs.begin("richer", richer, 0)
    memory.truth.runs.begin("true", drafts_of(memory, "true"), 0)
    expected = {("fork", f"run:f{place} event {place + 1}") for place in range(1, count)}
    assert set(problems(memory)) == expected | {("fork", "run:changed event 1"), ("fork", "run:richer event 1")}


def test_a_fork_of_a_moment_that_its_origin_did_not_have_is_found(memory: Slicebase) -> None:
    """Before the snapshot that it continues, the run had spent less; also a purge of the run does not hide that."""
    last = memory.truth.runs.log.tally(RUN).seq
    moments = {"negative": -5, "none": 0, "first": 1, "before": last - 1, "after": last + 1}
    for name, moment in moments.items():
        forged = drafts_of(memory, name)
        nothing = {"events": moment, "steps": 0, "seconds": 0.0, "cost": 0.0}
        forged[0].payload["inherited"].update(nothing)
        memory.truth.runs.begin(name, forged, 0)
    memory.runs.fork(RUN, "true")
    memory.runs.log(RUN, [{"type": "NOTE"}] * 2)
    moments.pop("after")  # the run has that event now, but had spent more by then
    expected = {("fork", f"run:{name} event 1") for name in moments}
    assert set(problems(memory)) == expected | {("fork", "run:after event 1")}
    memory.purge(f"run:{RUN}")
    assert expected <= set(problems(memory))


def test_a_fork_is_proven_also_after_a_purge(memory: Slicebase) -> None:
    """Of its own words, which its chain still has; of those of the snapshot, as far as they are left."""
    memory.runs.fork(RUN, "f")
    memory.purge("run:f")
    assert problems(memory) == []
    memory.purge(f"run:{RUN}")
    assert problems(memory) == []


def test_a_run_is_read_as_often_for_many_forks_as_for_one(memory: Slicebase, monkeypatch: Any) -> None:
    read: Counter[str] = Counter()
    real = RunLog.events

    def counted(self: RunLog, run_id: str, after: int = 0, **limited: int) -> Any:
        for stored in real(self, run_id, after, **limited):
            read[run_id] += 1
            yield stored

    monkeypatch.setattr(RunLog, "events", counted)
    counts = []
    for name in "abcde":
        memory.runs.fork(RUN, name)
        memory.runs.log(RUN, [{"type": "NOTE"}] * 20)
        events = memory.runs.status(RUN).events
        read.clear()
        assert memory.verify().status == "VERIFIED"
        counts.append(read[RUN] // events)
    assert len(set(counts)) == 1
