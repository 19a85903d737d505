"""Verify of runs: one stored value of every kind is changed, and exactly the matching finding is reported."""

import msgspec
import pytest

from slicebase.core.hashing import canonical, digest, raw_digest
from slicebase.errors import SlicebaseError
from slicebase.runs.checks import CHECKS
from slicebase.runs.event import EventDraft
from slicebase.runs.evidence import Chunk, Lookup, cite
from slicebase.runs.gate import Compaction
from slicebase.runs.records import CheckResult, RunStarted, SnapshotLogged
from slicebase.runs.snapshot import build, snapshot_digest, snapshot_id, to_bytes, validated, whole_digest
from slicebase.runs.state import RunState, fold
from slicebase.truth.acts import PurgedText, PurgeRecord
from slicebase.truth.run_log import owner
from slicebase.truth.truth import Truth
from slicebase.verbs.verify import Verdict, verify
from tests.conversations import SESSION, annotate, name, turn
from tests.runs.made import FULL, LEDGER, MANIFESTS, NOW, RUN, STARTED, claim, cycle
from tests.runs.made import TEXT as MADE
from tests.verbs.test_verify import FLIP, rehash, tamper, without_triggers

MOMENT = 1_767_225_600_000


@pytest.fixture
def filled(truth: Truth) -> Truth:
    truth.turns.add(SESSION, [turn("a", text="the lock file is stale")], annotate)
    for record in LEDGER.values():
        truth.ledger.keep(record)
    truth.runs.manifests = MANIFESTS
    truth.runs.start(RUN, STARTED, MOMENT)
    truth.runs.append(RUN, FULL, MOMENT)
    truth.runs.compact(RUN, MOMENT)
    truth.runs.append(RUN, [claim("c3"), *cycle(3)], MOMENT)
    truth.runs.compact(RUN, MOMENT)
    truth.runs.append(RUN, cycle(4), MOMENT)
    return truth


def checks(verdict: Verdict) -> list[str]:
    """Returns the checks that found something. The manifests that these runs name are not in the database."""
    return [finding.check for finding in verdict.findings if finding.check != "manifest-unknown"]


def test_untouched_runs_are_verified(filled: Truth) -> None:
    verdict = verify(filled)
    assert checks(verdict) == []
    counted = {name: verdict.checked[name] for name in ("runs", "events", "snapshots", "evidence")}
    assert counted == {"runs": 1, "events": len(FULL) + 10, "snapshots": 2, "evidence": 2}


def test_a_run_that_was_stopped_by_the_gate_is_verified(filled: Truth) -> None:
    filled.runs.start("bad", RunStarted(objective="x", done_definition="y"), MOMENT)
    filled.runs.append("bad", [claim(refs=[])], MOMENT)
    with pytest.raises(SlicebaseError):
        filled.runs.compact("bad", MOMENT)
    assert checks(verify(filled)) == []


ROW = f"WHERE run = '{RUN}' AND seq = 3"
FIRST = f"WHERE run = '{RUN}' AND seq = 1"


@pytest.mark.parametrize(
    ("statement", "check", "place"),
    [
        (f"UPDATE events SET record = {FLIP.format('record')} {ROW}", "event-hash", "event 3"),
        (f"UPDATE events SET hash = zeroblob(32) {ROW}", "event-hash", "event 3"),
        (f"UPDATE events SET payload = (SELECT payload FROM events {FIRST}) {ROW}", "event-key", "event 3"),
        (f"DELETE FROM events {ROW}", "numbering", f"events/{RUN} #4"),
        (f"DELETE FROM events WHERE run = '{RUN}' AND seq > {len(FULL) + 8}", "log", f"events/{RUN}"),
        (f"UPDATE texts SET bytes = {FLIP.format('bytes')} WHERE hash = (SELECT payload FROM events {FIRST})",
         "text-hash", "event 1"),
        (f"DELETE FROM texts WHERE hash = (SELECT payload FROM events {FIRST})", "payload-missing", "event 1"),
        (f"UPDATE snapshots SET record = {FLIP.format('record')} {FIRST}", "row-hash", f"snapshots/{RUN} #1"),
        (f"UPDATE snapshots SET hash = zeroblob(32) {FIRST}", "row-hash", f"snapshots/{RUN} #1"),
        (f"UPDATE snapshots SET snapshot = 'sn_0' {FIRST}", "row-hash", f"snapshots/{RUN} #1"),
        (f"DELETE FROM snapshots WHERE run = '{RUN}' AND seq = 2", "log", f"snapshots/{RUN}"),
        (f"DELETE FROM snapshots {FIRST}", "numbering", f"snapshots/{RUN} #2"),
        ("UPDATE evidence SET evidence = 'ev_0' WHERE rowid = 1", "row-hash", "evidence #1"),
        (f"UPDATE evidence SET record = {FLIP.format('record')} WHERE rowid = 1", "row-hash", "evidence #1"),
        ("UPDATE evidence SET chunk = 'row:f/r' WHERE rowid = 1", "row-hash", "evidence #1"),
        ("DELETE FROM texts WHERE owner = 'session:s1' AND rowid = (SELECT min(rowid) FROM texts WHERE "
         "owner = 'session:s1')", "quote-missing", "ev_"),
        ("UPDATE texts SET bytes = x'6f74686572' WHERE owner = 'session:s1' AND rowid = (SELECT min(rowid) FROM texts "
         "WHERE owner = 'session:s1')", "text-hash", "ev_"),
        ("UPDATE runs SET counted = counted + 1", "derived", "standing"),
        ("UPDATE runs SET stopped = 'NO_EVIDENCE'", "derived", "standing"),
        ("DELETE FROM runs", "derived", "standing"),
        ("DELETE FROM steps WHERE step = 1", "derived", "steps"),
        ("UPDATE steps SET last = last + 1 WHERE step = 1", "derived", "steps"),
    ],
)  # fmt: skip
def test_a_changed_value_is_found_at_its_place(filled: Truth, statement: str, check: str, place: str) -> None:
    tamper(filled, statement)
    verdict = verify(filled)
    assert checks(verdict)[0] == check
    assert place in verdict.findings[0].place
    assert verdict.status == "BROKEN"


def test_a_snapshots_changed_text_is_found_in_the_snapshot(filled: Truth) -> None:
    record = next(filled.runs.snapshots.records(RUN))
    changed = "CAST(replace(CAST(bytes AS TEXT), 'It is stale', 'It is fresh') AS BLOB)"
    tamper(filled, f"UPDATE texts SET bytes = {changed} WHERE hash = x'{record.body[7:]}'")
    verdict = verify(filled)
    assert checks(verdict) == ["text-hash"]
    assert "snapshot 1" in verdict.findings[0].place


def test_a_snapshot_rewritten_with_all_its_hashes_does_not_follow_from_the_log(filled: Truth) -> None:
    """An attacker computes all hashes, but the log still says something else."""
    stored = filled.runs.snapshots.get(RUN, 1)
    forged = stored.snapshot
    forged["state"]["claims"][0]["statement"] = "It is fresh."
    forged["snapshot_id"] = "sn_" + snapshot_digest(forged)[7:39]
    body = to_bytes(forged)
    record = msgspec.structs.replace(stored.record, body=digest(body), digest=snapshot_digest(forged))
    data = canonical(msgspec.to_builtins(record))
    with without_triggers(filled.database.path) as connection:
        connection.execute("INSERT INTO texts VALUES (?, ?, ?, NULL)", (owner(RUN), raw_digest(body), body))
        connection.execute(
            "UPDATE snapshots SET snapshot = ?, record = ?, hash = ? WHERE run = ? AND seq = 1",
            (forged["snapshot_id"], data, raw_digest(data), RUN),
        )
    rehash(filled)
    assert "snapshot-event" in checks(verify(filled))


def forge(truth: Truth, drafts: list[EventDraft], questions: list[str]) -> None:
    """Stores a run with a snapshot that has more questions than its log, and says that it passed every check."""
    truth.runs.start("forged", STARTED, MOMENT)
    truth.runs.append("forged", drafts, MOMENT)
    events = tuple(truth.runs.events("forged"))
    snapshot = build(fold(RunState("forged"), events), NOW)
    snapshot["state"]["open_questions"] += questions
    snapshot["snapshot_id"] = snapshot_id(snapshot)
    passed = tuple(CheckResult(name=name, status="PASS", message="") for name in CHECKS)
    whole = validated(snapshot, passed, "NONE")
    content = snapshot_digest(whole)
    logged = SnapshotLogged(
        snapshot_id=whole["snapshot_id"], sequence=1, status="PASS", digest=whole_digest(whole, content)
    )
    draft = EventDraft.of("SNAPSHOT", logged, time=NOW)
    with truth.runs.log.appending("forged") as appender:
        event = appender.append(draft, NOW)
        truth.runs.snapshots.keep(Compaction(whole, content, (draft,), None), None, event.seq)


@pytest.mark.parametrize(
    ("drafts", "questions", "found"),
    [
        ([claim(), *cycle(1)], [], []),
        ([claim(), *cycle(1)], ["Who said so?"], ["snapshot-fold"]),
        ([claim(refs=[])], [], ["snapshot-checks"]),
    ],
)
def test_a_snapshot_that_was_stored_as_it_should_be_and_does_not_follow_from_the_log_is_found(
    filled: Truth, drafts: list[EventDraft], questions: list[str], found: list[str]
) -> None:
    forge(filled, drafts, questions)
    assert checks(verify(filled)) == found


@pytest.mark.parametrize("seq", [1, 2])
@pytest.mark.parametrize(
    ("field", "value", "checks_of"),
    [
        ("weight", 0, {"snapshot-id"}),
        ("weight", 9, {"snapshot-text"}),
        ("event", 1, {"snapshot-event"}),
        ("event", 10_000, {"snapshot-event"}),
        ("sequence", 7, {"record-key"}),
        ("status", "FAIL", {"snapshot-event"}),
        ("run_id", "other", {"record-key"}),
        ("body", "sha256:00", {"snapshot-text"}),
        ("digest", "sha256:" + "0" * 64, {"record-key"}),
    ],
)
def test_a_record_of_a_snapshot_that_matches_its_hash_and_says_something_else_is_a_finding(
    filled: Truth, seq: int, field: str, value: object, checks_of: set[str]
) -> None:
    query = f"SELECT record FROM snapshots WHERE run = '{RUN}' AND seq = {seq}"
    record = msgspec.json.decode(next(filled.database.connection.execute(query))[0])
    if record[field] == value:
        return
    changed = canonical({**record, field: value})
    tamper(filled, f"UPDATE snapshots SET record = x'{changed.hex()}' WHERE run = '{RUN}' AND seq = {seq}")
    rehash(filled)
    found = [finding.check for finding in verify(filled).findings if finding.status == "BROKEN"]
    assert len(found) == 1
    assert found[0] in checks_of


def test_purged_payloads_and_quotes_are_listed_and_are_not_damage(filled: Truth) -> None:
    *_, last = filled.runs.events(RUN)
    record = next(iter(LEDGER.values()))
    texts = (PurgedText(owner(RUN), last.link.payload_hash), PurgedText(record.corpus_id, record.quote_hash))
    filled.texts.purge(PurgeRecord("", texts, NOW, f"run:{RUN}"))
    found = [finding for finding in verify(filled).findings if finding.check != "manifest-unknown"]
    assert {finding.status for finding in found} == {"PURGED"}


def test_a_quote_that_is_not_in_its_turn_is_found(filled: Truth) -> None:
    true = cite(Chunk("session:s", f"turn:{name('a')}", "the lock file is stale"), "lock file")
    filled.ledger.keep(true)
    texts = {true.chunk_id: "the lock file is stale", **{record.chunk_id: MADE for record in LEDGER.values()}}
    assert checks(verify(filled, look_up=lambda evidence: Lookup("same", texts[evidence.chunk_id]))) == []
    texts[true.chunk_id] = "something else"
    verdict = verify(filled, look_up=lambda evidence: Lookup("same", texts[evidence.chunk_id]))
    assert checks(verdict) == ["quote"]
    assert verdict.status == "BROKEN"
