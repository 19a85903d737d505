"""Runs in the truth: an acknowledged event is stored, the chain never breaks, and the gate stops bad runs."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from msgspec import to_builtins

from slicebase.core.hashing import digest
from slicebase.core.times import from_text
from slicebase.errors import SlicebaseError
from slicebase.runs.event import EventDraft, LogHead, check_chain
from slicebase.runs.gate import Thresholds
from slicebase.runs.records import RunStarted
from slicebase.runs.snapshot import snapshot_id
from slicebase.runs.state import RunState, fold
from slicebase.runs.status import tally_of
from slicebase.truth.run_log import StoredEvent
from slicebase.truth.truth import Truth
from tests.conversations import purge_text
from tests.runs.made import (
    FULL,
    LEDGER,
    MANIFESTS,
    PASSING,
    RUN,
    STALE,
    STARTED,
    claim,
    conflict,
    cycle,
    failure,
    question,
)

NOW = from_text("2026-01-01T00:00:00.000Z")


@pytest.fixture
def truth(tmp_path: Path) -> Iterator[Truth]:
    made = Truth(tmp_path / "slicebase.db", create=True)
    for record in LEDGER.values():
        made.ledger.keep(record)
    made.runs.manifests = MANIFESTS
    made.runs.start(RUN, STARTED, NOW)
    yield made
    made.close()


def types(truth: Truth, run_id: str = RUN) -> list[str]:
    return [event.type for event in truth.runs.events(run_id)]


def code_of(error: pytest.ExceptionInfo[SlicebaseError]) -> str:
    return error.value.code


# The log


def test_events_are_read_as_they_were_written(truth: Truth) -> None:
    logged = truth.runs.append(RUN, FULL, NOW)
    assert (logged.first, logged.last) == (2, len(FULL) + 1)
    events = list(truth.runs.events(RUN))
    assert [event.type for event in events[1:]] == [draft.type for draft in FULL]
    assert [event.payload for event in events[1:]] == [draft.payload for draft in FULL]
    assert list(check_chain(LogHead(RUN), [event.link for event in events])) == []


def test_a_database_that_is_opened_again_continues_where_it_was(truth: Truth) -> None:
    truth.runs.append(RUN, FULL, NOW)
    again = Truth(truth.database.path)
    again.runs.append(RUN, cycle(9), NOW)
    assert truth.runs.log.tally(RUN) == tally_of(RUN, truth.runs.events(RUN))
    again.close()


def test_the_tally_of_a_run_agrees_with_its_log(truth: Truth) -> None:
    truth.runs.append(RUN, FULL, NOW)
    truth.runs.compact(RUN, NOW)
    truth.runs.append(RUN, [*cycle(2), EventDraft(type="X", payload={"cost": 0.5})], NOW)
    assert truth.runs.log.tally(RUN) == tally_of(RUN, truth.runs.events(RUN))
    assert truth.runs.state(RUN) == fold(RunState(RUN), truth.runs.events(RUN))


def test_a_batch_with_a_bad_event_stores_nothing(truth: Truth) -> None:
    with pytest.raises(SlicebaseError):
        truth.runs.append(RUN, [*cycle(1), EventDraft(type="PLAN_DONE")], NOW)
    assert types(truth) == ["RUN_STARTED"]


def test_a_run_starts_once_and_is_found_by_its_id(truth: Truth) -> None:
    with pytest.raises(SlicebaseError) as caught:
        truth.runs.start(RUN, STARTED, NOW)
    assert code_of(caught) == "run-exists"
    for ask in (truth.runs.state, truth.runs.latest, lambda run: truth.runs.append(run, [], NOW)):
        with pytest.raises(SlicebaseError) as caught:
            ask("nothing")
        assert code_of(caught) == "no-run"


def test_the_run_that_was_updated_last_is_listed_first(truth: Truth) -> None:
    for run, moment in (("b", 2000), ("a", 2000), ("c", 1000)):
        truth.runs.start(run, STARTED, NOW + moment)
    truth.runs.append("c", cycle(1), NOW + 3000)
    assert [tally.run_id for tally in truth.runs.log.tallies()] == ["c", "a", "b", RUN]


def test_a_large_text_is_kept_as_a_blob(truth: Truth) -> None:
    text = "x" * 100_000
    truth.runs.append(RUN, [EventDraft(type="OBSERVE_DONE", step=1, payload={"out": text})], NOW)
    *_, last = truth.runs.events(RUN)
    assert last.payload["out"]["blob"] == digest(text.encode())
    stored = truth.texts.get(f"run:{RUN}", digest(text.encode()))
    assert stored is not None
    assert stored.data == text.encode()


def test_each_blob_of_each_run_is_recorded_once(truth: Truth) -> None:
    truth.runs.start("other", STARTED, NOW)
    drafts = [EventDraft(type="OBSERVE_DONE", step=1, payload={"out": letter * 100_000}) for letter in "xyx"]
    for run in (RUN, RUN, "other"):
        truth.runs.append(run, drafts, NOW)
    known_and_new = [EventDraft(type="OBSERVE_DONE", step=2, payload={"out": letter * 100_000}) for letter in "xz"]
    truth.runs.append(RUN, known_and_new, NOW)
    connection = truth.database.connection
    rows = connection.execute("SELECT run, count(*), count(DISTINCT text) FROM blobs GROUP BY run")
    assert sorted(rows) == sorted([(RUN, 3, 3), ("other", 2, 2)])
    assert [seq for (seq,) in connection.execute("SELECT seq FROM blobs ORDER BY seq")] == [1, 2, 3, 4, 5]


def test_an_attempt_to_change_the_terms_is_recorded(truth: Truth) -> None:
    truth.runs.append(RUN, [EventDraft(type="RUN_STARTED", payload={"objective": "Another."})], NOW)
    assert types(truth) == ["RUN_STARTED", "REFUSED"]
    assert truth.runs.state(RUN).objective == STARTED.objective


# The gate, and the checks before it


@pytest.mark.parametrize("draft", [claim(refs=[]), conflict(side_a=[]), question("x" * 2001)])
def test_a_call_refuses_a_bad_event_at_once_and_writes_nothing(truth: Truth, draft: EventDraft) -> None:
    with pytest.raises(SlicebaseError) as caught:
        truth.runs.append_checked(RUN, lambda items: draft, NOW)
    assert code_of(caught) == "gate-would-refuse"
    assert types(truth) == ["RUN_STARTED"]


def test_a_call_logs_an_event_that_can_pass(truth: Truth) -> None:
    for draft in (claim(), conflict(), failure(), question()):
        truth.runs.append_checked(RUN, lambda items, draft=draft: draft, NOW)  # type: ignore[misc]
    assert truth.runs.compact(RUN, NOW).snapshots


def test_a_snapshot_is_stored_with_its_event(truth: Truth) -> None:
    truth.runs.append(RUN, FULL, NOW)
    (name,) = truth.runs.compact(RUN, NOW).snapshots
    stored = truth.runs.snapshots.find(name)
    assert snapshot_id(stored.snapshot) == name
    assert stored.record.event == len(FULL) + 2
    assert types(truth)[-1] == "SNAPSHOT"


def test_compaction_happens_by_itself_when_it_is_due(truth: Truth) -> None:
    steps = [draft for step in range(13) for draft in cycle(step)]
    logged = truth.runs.append(RUN, steps, NOW, Thresholds())
    assert len(logged.snapshots) == 2
    assert [seq for seq, name in enumerate(types(truth), 1) if name == "SNAPSHOT"] == [20, 39]
    assert logged.tally.counted == 3


def test_a_refused_snapshot_its_event_and_the_stop_are_stored_together(truth: Truth) -> None:
    """Ruling 40."""
    truth.runs.append(RUN, cycle(1), NOW)
    truth.runs.compact(RUN, NOW)
    truth.runs.append(RUN, [claim(refs=[])], NOW)
    with pytest.raises(SlicebaseError) as caught:
        truth.runs.compact(RUN, NOW)
    assert code_of(caught) == "gate-refused"
    assert types(truth)[-3:] == ["CLAIM", "SNAPSHOT", "RUN_STOPPED"]
    failed = truth.runs.snapshots.get(RUN, 2).snapshot
    assert failed["validation"]["status"] == "FAIL"
    assert failed["validation"]["failure_action_taken"] == "SYSTEM_ERROR"
    latest = truth.runs.latest(RUN)
    assert latest is not None
    assert latest.record.sequence == 1
    with pytest.raises(SlicebaseError) as caught:
        truth.runs.append(RUN, cycle(2), NOW)
    assert code_of(caught) == "run-closed"
    with pytest.raises(SlicebaseError) as caught:
        truth.runs.compact(RUN, NOW)
    assert code_of(caught) == "run-closed"


def test_a_gate_that_refuses_in_the_middle_of_a_batch_keeps_what_came_before(truth: Truth) -> None:
    steps = [claim(refs=[]), *(draft for step in range(9) for draft in cycle(step))]
    with pytest.raises(SlicebaseError) as caught:
        truth.runs.append(RUN, steps, NOW, Thresholds())
    assert code_of(caught) == "gate-refused"
    assert len(types(truth)) == 1 + 1 + 18 + 2


def test_a_fork_continues_from_the_last_snapshot_that_passed(truth: Truth) -> None:
    truth.runs.append(RUN, FULL, NOW)
    truth.runs.compact(RUN, NOW)
    truth.runs.append(RUN, [claim("bad", refs=[])], NOW)
    with pytest.raises(SlicebaseError):
        truth.runs.compact(RUN, NOW)
    truth.runs.fork(RUN, "run-2", NOW)
    assert list(truth.runs.state("run-2").claims) == ["c1", "c2"]
    assert truth.runs.compact("run-2", NOW).snapshots


def test_a_run_without_a_snapshot_that_passed_cannot_be_forked(truth: Truth) -> None:
    with pytest.raises(SlicebaseError) as caught:
        truth.runs.fork(RUN, "run-2", NOW)
    assert code_of(caught) == "no-snapshot"


def test_a_stopped_run_ends_with_a_snapshot_of_all_it_knew(truth: Truth) -> None:
    truth.runs.append(RUN, FULL, NOW)
    truth.runs.stop(RUN, "OBJECTIVE_ACHIEVED", "", NOW)
    assert types(truth)[-2:] == ["SNAPSHOT", "RUN_STOPPED"]
    with pytest.raises(SlicebaseError) as caught:
        truth.runs.stop(RUN, "OBJECTIVE_ACHIEVED", "", NOW)
    assert code_of(caught) == "run-closed"


def test_a_run_that_cannot_be_proven_ends_with_a_system_error_for_any_requested_reason(truth: Truth) -> None:
    truth.runs.append(RUN, [claim(refs=[])], NOW)
    with pytest.raises(SlicebaseError) as caught:
        truth.runs.stop(RUN, "OBJECTIVE_ACHIEVED", "", NOW)
    assert code_of(caught) == "gate-refused"
    assert truth.runs.log.tally(RUN).stopped == "SYSTEM_ERROR"


def test_the_event_that_exceeds_a_budget_is_kept_and_the_run_stops(truth: Truth) -> None:
    terms = RunStarted(objective="x", done_definition={"text": "y", "budgets": {"max_steps": 2}})
    truth.runs.start("short", terms, NOW)
    truth.runs.append("short", [*cycle(1), *cycle(2)], NOW)
    with pytest.raises(SlicebaseError) as caught:
        truth.runs.append("short", cycle(3), NOW)
    assert code_of(caught) == "budget-exceeded"
    assert types(truth, "short")[-3:] == ["PLAN_DONE", "SNAPSHOT", "RUN_STOPPED"]
    assert truth.runs.log.tally("short").stopped == "BUDGET_EXCEEDED"


@pytest.mark.parametrize(
    ("budgets", "draft"),
    [
        ({"max_seconds": 60}, EventDraft(type="X", time="2026-01-01T00:01:00.001Z")),
        ({"max_cost": 1.5}, EventDraft(type="X", payload={"cost": 1.6})),
    ],
)
def test_time_and_cost_are_budgets_too(truth: Truth, budgets: dict[str, float], draft: EventDraft) -> None:
    truth.runs.start("short", RunStarted(objective="x", done_definition={"text": "y", "budgets": budgets}), NOW)
    with pytest.raises(SlicebaseError) as caught:
        truth.runs.append("short", [draft], NOW)
    assert code_of(caught) == "budget-exceeded"


# Snapshots


def test_snapshots_are_read_complete_in_whichever_form_they_are_stored(truth: Truth) -> None:
    for number in range(40):
        truth.runs.append(RUN, [claim(f"c{number}"), *cycle(number)], NOW)
        truth.runs.compact(RUN, NOW)
    fresh = Truth(truth.database.path)
    records = list(fresh.runs.snapshots.records(RUN))
    assert [record.sequence for record in records] == list(range(1, 41))
    assert 1 < sum(record.weight == 0 for record in records) < 20
    for record in records:
        stored = fresh.runs.snapshots.get(RUN, record.sequence)
        assert "sn_" + record.digest[7:39] == snapshot_id(stored.snapshot) == stored.snapshot["snapshot_id"]
        assert len(stored.snapshot["state"]["claims"]) == record.sequence
    fresh.close()


def test_unknown_snapshots_are_reported_as_unknown(truth: Truth) -> None:
    with pytest.raises(SlicebaseError) as caught:
        truth.runs.snapshots.get(RUN, 1)
    assert code_of(caught) == "no-snapshot"
    with pytest.raises(SlicebaseError) as caught:
        truth.runs.snapshots.find("sn_" + "0" * 32)
    assert code_of(caught) == "no-snapshot"


# The ledger


def test_evidence_is_found_by_its_id_and_its_chunk(truth: Truth) -> None:
    assert truth.ledger[STALE.evidence_id] == STALE
    assert truth.ledger.of_chunk(STALE.chunk_id) == sorted([STALE, PASSING], key=lambda record: record.evidence_id)
    truth.ledger.keep(STALE)
    assert sorted(truth.ledger) == sorted(LEDGER)
    assert len(truth.ledger) == 2
    assert "ev_" + "0" * 32 not in truth.ledger


def test_a_quote_is_purged_with_its_corpus(truth: Truth) -> None:
    """Ruling 19."""
    purge_text(truth, STALE.corpus_id, STALE.quote_hash)
    assert truth.ledger[STALE.evidence_id].quote is None
    truth.ledger.keep(STALE)
    assert truth.ledger[STALE.evidence_id].quote is None


def test_a_run_whose_payload_was_purged_reports_that(truth: Truth) -> None:
    truth.runs.append(RUN, [claim()], NOW)
    *_, last = truth.runs.events(RUN)
    purge_text(truth, f"run:{RUN}", last.link.payload_hash)
    with pytest.raises(SlicebaseError) as caught:
        truth.runs.state(RUN)
    assert code_of(caught) == "purged"
    links = [stored.link for stored in truth.runs.log.events(RUN)]
    assert list(check_chain(LogHead(RUN), links)) == []


# Append-only for every writer


@pytest.mark.parametrize("table", ["events", "snapshots", "evidence"])
def test_nothing_is_changed_or_removed_through_sql(truth: Truth, table: str) -> None:
    """Uses the connection of another program, with the defaults of SQLite."""
    truth.runs.append(RUN, FULL, NOW)
    truth.runs.compact(RUN, NOW)
    foreign = apsw.Connection(str(truth.database.path))
    columns = [row[1] for row in foreign.execute(f"PRAGMA table_info({table})")]
    for statement in (
        f"DELETE FROM {table}",
        f"UPDATE {table} SET record = x'00'",
        *(f"UPDATE {table} SET {column} = {column}" for column in columns),
    ):
        with pytest.raises(apsw.ConstraintError):
            foreign.execute(statement)
    before = foreign.execute(f"SELECT * FROM {table}").fetchall()
    others = ", ".join("x'00'" if column == "record" else column for column in columns)
    for kind in ("INSERT OR REPLACE", "REPLACE", "INSERT OR IGNORE", "INSERT OR FAIL"):
        with contextlib.suppress(apsw.ConstraintError):
            foreign.execute(f"{kind} INTO {table} SELECT {others} FROM {table}")
    assert foreign.execute(f"SELECT * FROM {table}").fetchall() == before
    foreign.close()


# Several processes


WRITER = """
import sys
from pathlib import Path
from slicebase.runs.event import EventDraft
from slicebase.truth.run_log import StoredEvent
from slicebase.truth.truth import Truth

truth = Truth(Path(sys.argv[1]))
for number in range(int(sys.argv[3])):
    draft = EventDraft(type="ACT_DONE", step=number, payload={"who": sys.argv[2], "number": number})
    logged = truth.runs.append("run-1", [draft], 0)
    print(logged.last, flush=True)
"""


def writer(path: Path, name: str, count: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", WRITER, str(path), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_writers_of_one_run_take_turns_and_the_chain_holds(truth: Truth) -> None:
    writers = [writer(truth.database.path, f"w{number}", 25) for number in range(4)]
    acknowledged = [int(line) for process in writers for line in process.communicate(timeout=60)[0].split()]
    events = list(truth.runs.events(RUN))
    assert sorted(acknowledged) == list(range(2, 102))
    assert list(check_chain(LogHead(RUN), [event.link for event in events])) == []
    assert truth.runs.log.tally(RUN) == tally_of(RUN, events)
    for number in range(4):
        mine = [event.payload["number"] for event in events if event.payload.get("who") == f"w{number}"]
        assert mine == list(range(25))


@pytest.mark.parametrize("moment", [1, 3, 7, 12])
def test_a_writer_killed_at_any_moment_loses_no_acknowledged_event(truth: Truth, moment: int) -> None:
    process = writer(truth.database.path, "w", 100_000)
    assert process.stdout is not None
    acknowledged = [int(process.stdout.readline()) for _ in range(moment)]
    process.kill()
    acknowledged += [int(line) for line in process.stdout.read().split()]
    process.wait()
    process.stdout.close()
    events = list(truth.runs.events(RUN))
    assert acknowledged[-1] <= events[-1].seq <= acknowledged[-1] + 1
    assert list(check_chain(LogHead(RUN), [event.link for event in events])) == []
    truth.runs.append(RUN, cycle(1), NOW)
    truth.runs.compact(RUN, NOW)


def test_a_state_that_is_read_again_reads_only_the_events_since(
    truth: Truth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = list[int]()
    plain = truth.runs.log.events

    def counted(run_id: str, after: int = 0, **limited: int) -> Iterator[StoredEvent]:
        for stored in plain(run_id, after, **limited):
            read.append(stored.link.seq)
            yield stored

    monkeypatch.setattr(truth.runs.log, "events", counted)
    truth.runs.append(RUN, [*cycle(1), claim(), question("why?")], NOW)
    end = truth.runs.log.tally(RUN).seq
    read.clear()
    before = truth.runs.state(RUN)
    kept = to_builtins(before, builtin_types=(bytes,), str_keys=True)
    assert max(read) == len(set(read)) == end > 5
    read.clear()
    assert truth.runs.state(RUN) == before
    assert read == []
    other = Truth(tmp_path / "slicebase.db")  # another process adds to the run
    other.runs.append(RUN, [*cycle(2), failure(), claim(status="retracted")], NOW)
    assert truth.runs.state(RUN) == other.runs.state(RUN) != before
    assert read == list(range(end + 1, other.runs.log.tally(RUN).seq + 1))
    assert to_builtins(before, builtin_types=(bytes,), str_keys=True) == kept
    other.close()


def test_a_known_state_follows_snapshots_rollbacks_and_purges(truth: Truth, tmp_path: Path) -> None:
    def fresh() -> RunState:
        with contextlib.closing(Truth(tmp_path / "slicebase.db")) as other:
            return other.runs.state(RUN)

    for step in range(1, 8):
        truth.runs.append(RUN, [*cycle(step), claim(), question(f"why {step}?")], NOW)
        assert truth.runs.state(RUN) == fresh()
        if step % 3 == 0:
            truth.runs.compact(RUN, NOW)
            assert truth.runs.state(RUN) == fresh()
    with contextlib.suppress(KeyError), truth.runs.log.appending(RUN) as appender:
        appender.append(question("never stored"), "2026-01-01T00:00:00.000Z")
        raise KeyError
    assert truth.runs.state(RUN) == fresh()
    truth.runs.append(RUN, [question("in its place")], NOW)
    assert truth.runs.state(RUN) == fresh()
    *_, last = truth.runs.log.events(RUN)
    purge_text(truth, f"run:{RUN}", last.link.payload_hash)
    with pytest.raises(SlicebaseError) as caught:
        truth.runs.state(RUN)
    assert code_of(caught) == "purged"


def test_the_states_of_a_few_runs_are_kept(truth: Truth) -> None:
    for number in range(9):
        truth.runs.start(f"run-of-many-{number}", STARTED, NOW)
        assert truth.runs.state(f"run-of-many-{number}").run_id == f"run-of-many-{number}"
    assert len(truth.runs._states) < 9
