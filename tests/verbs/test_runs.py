"""The verbs of runs, on a workspace: sessions as runs, narratives, contexts, steps, seals, why."""

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

from slicebase.base import Slicebase
from slicebase.core.ids import turn_id
from slicebase.core.times import to_text
from slicebase.errors import SlicebaseError
from slicebase.files.body.rows import row_line
from slicebase.graph.turn import Parent, Session
from slicebase.history.annotate import Annotator
from slicebase.runs.event import EventDraft
from slicebase.runs.evidence import Evidence, Lookup
from slicebase.runs.gate import DEFAULT_THRESHOLDS, Thresholds, is_run_id
from slicebase.runs.records import Span
from slicebase.verbs.evidence import ChunkTexts
from slicebase.verbs.session_runs import run_of
from tests.context.test_projection import TRANSCRIPT
from tests.importers.test_swe_agent import HISTORY
from tests.runs.made import cycle

NOW = 1_767_225_600_000
RUN = "r1"


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Slicebase]:
    made = Slicebase.init(tmp_path, clock=lambda: NOW / 1000)
    made.truth.turns.add(Session("s1", "test"), TRANSCRIPT, Annotator(made.truth))
    made.runs.start(RUN, "Find the cause.", "Report written.")
    yield made
    made.close()


def code_of(call: Callable[[], Any]) -> str:
    with pytest.raises(SlicebaseError) as caught:
        call()
    return caught.value.code


def types(base: Slicebase, run: str = RUN) -> list[str]:
    return [event.type for event in base.truth.runs.events(run)]


# Evidence


def test_a_turn_a_row_a_section_and_a_document_are_cited_in_the_same_way(base: Slicebase, tmp_path: Path) -> None:
    rows = base.library.create("Log", "Rows.", type="jsonl")
    row = base.library.remember(rows.id, "The lock file is stale.").refs[0]
    page = base.library.create("Page", "Sections.", body="# Locks\n\nThe lock file is stale.\n\n# Tests\n\nPass.\n")
    (tmp_path / "notes.txt").write_text("The lock file is stale.\n")
    document = base.add(tmp_path / "notes.txt")
    turn = f"turn:{TRANSCRIPT[6].id}"
    for reference, quote in (
        (turn, "lock file was stale"),
        (row, "lock file is stale"),
        (f"file:{page.id}", "lock file is stale"),
        (document.chunks[0].chunk_id, "lock file is stale"),
        (f"file:{document.file.id}", "lock file is stale"),
        ("session:s1", "lock file was stale"),
    ):
        evidence = base.cite(reference, quote=quote)
        assert evidence.quote == quote
        assert base.why(evidence.evidence_id).note.startswith("found")
        assert base.truth.ledger[evidence.evidence_id] == evidence


def test_a_document_is_added_once_and_has_its_own_chunks(base: Slicebase, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("word " * 5000)
    first, second = base.add(tmp_path / "notes.txt"), base.add(tmp_path / "notes.txt")
    assert (first.is_new, second.is_new) == (True, False)
    assert first.file.id == second.file.id
    assert len(first.chunks) > 5
    (tmp_path / "picture").write_bytes(b"\xff\xd8")
    assert code_of(lambda: base.add(tmp_path / "picture")) == "not-utf8"
    assert code_of(lambda: base.add(tmp_path / "nothing")) == "no-input"
    assert code_of(lambda: base.add(tmp_path)) == "no-input"


def test_missing_text_cannot_be_cited(base: Slicebase) -> None:
    for reference in (
        "turn:00000000-0000-0000-0000-00000000dead",
        "row:f/r",
        "sec:f@0123456789ab#x",
        f"doc:{'0' * 16}:0-9",
    ):
        assert code_of(lambda ref=reference: base.cite(ref, span=(0, 1))) == "no-chunk"  # type: ignore[misc]
    assert code_of(lambda: base.cite("session:s1", quote="nobody said that")) == "quote-not-found"
    assert code_of(lambda: base.cite("session:s1", quote="e")) == "quote-ambiguous"
    assert code_of(lambda: base.cite("run:r1", quote="x")) == "not-a-chunk"
    assert code_of(lambda: base.cite(f"file:{'0' * 26}", quote="x")) == "no-file"


def test_edited_removed_and_purged_texts_are_distinguished(base: Slicebase, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("The lock file is stale.\n")
    base.add(tmp_path / "notes.txt")
    page = base.library.create("Page", "S.", body="The lock file is stale.\n", contract=["write=replace"])
    in_document = base.cite("file:" + next(iter(base.library.folder.mentioning(b"notes.txt"))).id, quote="stale")  # type: ignore[operator]
    in_page = base.cite(f"file:{page.id}", quote="stale")
    in_turn = base.cite(f"turn:{TRANSCRIPT[6].id}", quote="stale")
    (tmp_path / "notes.txt").write_text("Well: the lock file is stale.\n")
    base.library.remember(page.id, "All is well.")
    assert base.why(in_document.evidence_id).note.startswith("changed, characters 17–22, now at 23–28")
    assert base.why(in_page.evidence_id).note.startswith("changed")
    assert base.why(in_page.evidence_id).text == "stale"
    (tmp_path / "notes.txt").unlink()
    assert base.why(in_document.evidence_id).note.startswith("gone")
    base.purge(f"turn:{TRANSCRIPT[6].id}")
    gone = base.why(in_turn.evidence_id)
    assert gone.note.startswith("purged")
    assert gone.text == ""
    base.library.purge(page.id)
    assert base.why(in_page.evidence_id).text == ""
    verdict = base.verify()
    assert verdict.status == "VERIFIED"
    assert {finding.status for finding in verdict.findings} == {"PURGED", "DRIFTED"}


def test_a_payload_outside_the_workspace_is_not_read(base: Slicebase, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside.txt"
    outside.write_text("The lock file is stale.\n")
    added = base.add(outside, copy=True)
    file = base.library.folder.find(added.file.id or "")
    path = tmp_path / file.name
    path.write_text(path.read_text().replace(file.payload.uri or "", str(outside)))  # type: ignore[union-attr]
    assert code_of(lambda: base.cite(added.chunks[0].chunk_id, quote="stale")) == "no-chunk"
    outside.unlink()


# Claims, conflicts, failures and questions


def evidence(base: Slicebase, quote: str = "lock file was stale") -> str:
    return base.cite("session:s1", quote=quote).evidence_id


def test_claims_are_made_and_change_their_status(base: Slicebase) -> None:
    base.runs.claim(RUN, "It was stale.", status="verified", cite=[evidence(base)])
    base.runs.claim(RUN, "It was always stale.")
    base.runs.claim(RUN, id="c1", status="retracted")
    base.runs.claim(RUN, id="c2", status="verified", cite=[evidence(base)])
    claims = base.truth.runs.state(RUN).claims
    assert [(claim["claim_id"], claim["status"]) for claim in claims.values()] == [
        ("c1", "retracted"),
        ("c2", "verified"),
    ]
    assert claims["c1"]["statement"] == "It was stale."
    assert code_of(lambda: base.runs.claim(RUN, "No.", status="verified")) == "gate-would-refuse"
    assert code_of(lambda: base.runs.claim(RUN, "No.", cite=["ev_" + "0" * 32])) == "no-evidence"
    assert code_of(lambda: base.runs.claim(RUN, id="c9", status="retracted")) == "no-item"
    for change in (base.runs.claim, base.runs.conflict, partial(base.runs.failure, resolve=True)):
        assert code_of(partial(change, RUN)) == "bad-arguments"  # neither a text nor an id


def test_a_compaction_looks_once_at_a_text_that_many_claims_cite(
    base: Slicebase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes.md").write_text("The lock file is stale.\n")
    (chunk,) = base.add(tmp_path / "notes.md").chunks
    quoted = base.cite(chunk.chunk_id, quote="stale")
    for number in range(3):
        base.runs.claim(RUN, f"It was stale, case {number}.", status="verified", cite=[quoted.evidence_id])
    looked: list[str] = []
    real = ChunkTexts.look_up

    def look_up(texts: ChunkTexts, record: Evidence) -> Lookup:
        looked.append(record.evidence_id)
        return real(texts, record)

    monkeypatch.setattr(ChunkTexts, "look_up", look_up)
    base.runs.compact(RUN)
    assert looked == [quoted.evidence_id]


def test_conflicts_failures_and_questions_are_opened_and_closed(base: Slicebase) -> None:
    one, two = evidence(base), evidence(base, "stale lock file")
    base.runs.conflict(RUN, "Was it?", a=[one], b=[two])
    base.runs.failure(RUN, category="tool_error", where="make", why="exit 2")
    base.runs.question(RUN, "Who?")
    status = base.runs.status(RUN)
    assert (len(status.open_conflicts), len(status.open_failures), status.open_questions) == (1, 1, ("Who?",))
    base.runs.conflict(RUN, id="x1")
    base.runs.failure(RUN, id="f1", resolve=True)
    base.runs.question(RUN, "Who?", close=True)
    status = base.runs.status(RUN)
    assert (status.open_conflicts, status.open_failures, status.open_questions) == ((), (), ())
    assert code_of(lambda: base.runs.question(RUN, "Who?", close=True)) == "no-item"
    assert code_of(lambda: base.runs.conflict(RUN, "One-sided", a=[one])) == "gate-would-refuse"
    assert code_of(lambda: base.runs.conflict(RUN, id="x9")) == "no-item"


# Conversations as runs


def test_a_session_becomes_a_run_that_continues_when_the_session_has_grown(base: Slicebase) -> None:
    base.truth.turns.add(Session("s2", "test"), _other(TRANSCRIPT[:7]), Annotator(base.truth))
    first = base.runs.from_session("s2", "talk")
    again = base.runs.from_session("s2", "talk")
    assert (first.first, again.last) == (2, first.last)
    base.runs.compact("talk")
    base.truth.turns.add(Session("s2", "test"), _other(TRANSCRIPT), Annotator(base.truth))
    base.runs.from_session("s2", "talk")
    base.runs.from_session("s2", "whole")
    grown, whole = base.runs.status("talk"), base.runs.status("whole")
    assert grown.claims["candidate"] == whole.claims["candidate"]
    assert (grown.open_questions, grown.open_failures) == (whole.open_questions, whole.open_failures)
    assert code_of(lambda: base.runs.from_session("s2", RUN)) == "run-differs"
    assert code_of(lambda: base.runs.from_session("nothing", "x")) == "no-session"


def _other(turns: list[Any]) -> list[Any]:
    """Returns the same conversation in another session."""
    made: list[Any] = []
    for number, turn in enumerate(turns):
        parents = (Parent(made[-1].id),) if made else ()
        made.append(msgspec.structs.replace(turn, id=turn_id("other", "s2", number), session="s2", parents=parents))
    return made


def test_a_projected_run_is_compacted_along_the_way(base: Slicebase) -> None:
    logged = base.runs.from_session("s1", "talk", compact=Thresholds(counted_events=4))
    assert len(logged.snapshots) == 1
    base.runs.compact("talk")
    claims = {claim["claim_id"]: claim.get("kind") for claim in base.runs.snapshot("talk")["state"]["claims"]}
    assert (claims["reply-1"], claims["reply-2"]) == (None, None)


def test_the_steps_of_a_trajectory_are_its_calls_unless_another_kind_is_asked_for(
    base: Slicebase, tmp_path: Path
) -> None:
    path = tmp_path / "bug-12.traj"
    path.write_text(json.dumps({"history": HISTORY}))
    base.import_(path)
    base.runs.from_session("bug-12", "calls")
    base.runs.from_session("bug-12", "prompts", step_at="prompt")
    assert (base.runs.status("calls").metrics.steps, base.runs.status("prompts").metrics.steps) == (2, 1)


# Narratives


def test_a_narrative_is_a_slice_file_that_supersedes_the_one_before_and_grows_stale(base: Slicebase) -> None:
    """Ruling 41."""
    base.runs.claim(RUN, "It was stale.", status="verified", cite=[evidence(base)])
    base.runs.compact(RUN)
    first = base.runs.narrative(RUN)
    assert first.is_new
    assert base.runs.narrative(RUN) == first._replace(is_new=False)
    file = base.library.folder.find(first.file_id)
    assert file.derived_from is not None
    assert (file.derived_from.id, file.derived_from.hash) == (first.derived_from, first.derived_hash)
    assert base.library.stale(90) == []
    base.runs.compact(RUN)
    (stale,) = base.library.stale(90)
    assert (stale.entry.id, stale.reasons[0].kind) == (first.file_id, "source-changed")
    assert "later snapshot" in base.library.reader(as_of=NOW / 1000).pieces([f"file:{first.file_id}"])[0].label
    second = base.runs.narrative(RUN)
    assert second.supersedes == first.file_id
    assert [link.to for link in base.library.folder.find(second.file_id).links] == [first.file_id]
    assert base.validate().findings == ()


def test_a_purged_run_is_forgotten_in_memory_too(base: Slicebase) -> None:
    base.runs.compact(RUN)
    base.purge(f"run:{RUN}")
    assert code_of(lambda: base.runs.snapshot(RUN)) == "purged"
    assert code_of(lambda: base.runs.narrative(RUN)) == "purged"


def test_a_run_without_a_snapshot_has_no_narrative(base: Slicebase) -> None:
    assert code_of(lambda: base.runs.narrative(RUN)) == "no-snapshot"


# Contexts


def test_a_context_for_a_run_begins_with_its_last_snapshot_and_is_bound_to_a_step(base: Slicebase) -> None:
    base.runs.log(RUN, cycle(3))
    base.runs.claim(RUN, "It was stale.", status="verified", cite=[evidence(base)])
    base.runs.compact(RUN)
    built = base.context("why does the build fail", tokens=4000, run=RUN)
    first = built.manifest.pieces[0]
    assert first.ref == base.runs.snapshot(RUN)["snapshot_id"]
    assert "It was stale." in built.text
    *_, bound = base.truth.runs.events(RUN)
    assert (bound.type, bound.step) == ("MANIFEST", 4)
    assert bound.payload["manifest_id"] == built.manifest.manifest_id
    assert bound.payload["selected"] == len(built.manifest.pieces)
    base.runs.compact(RUN)
    snapshot = base.runs.snapshot(RUN)
    assert snapshot["latest_context_manifest_ids"] == [built.manifest.manifest_id]
    assert snapshot["policy_snapshot_ref"].startswith("slice_policy_v1:")
    assert snapshot["retrieval_diagnostics"]["selected"] == len(built.manifest.pieces)
    assert set(snapshot["state"]["source_coverage"]["chunk_ids_seen"]) >= {
        piece.ref for piece in built.manifest.pieces if piece.ref.startswith("turn:")
    }
    replayed = base.replay(built.manifest.manifest_id)
    assert replayed.identical
    assert replayed.text == built.text
    assert base.verify().findings == ()


def test_a_context_that_is_not_recorded_is_not_bound(base: Slicebase) -> None:
    base.context("why does the build fail", tokens=4000, run=RUN, record=False)
    assert types(base) == ["RUN_STARTED"]


# Why


def test_why_leads_from_a_narrative_to_the_text_and_forward_again(base: Slicebase) -> None:
    one = evidence(base)
    base.runs.claim(RUN, "It was stale.", status="verified", cite=[one])
    base.runs.compact(RUN)
    narrative = base.runs.narrative(RUN)
    base.runs.fork(RUN, "r2")

    def path(reason: Any) -> list[str]:
        return [reason.ref, *(path(reason.children[0]) if reason.children else [])]

    turn = f"turn:{TRANSCRIPT[6].id}"
    snapshot = base.runs.snapshot(RUN)["snapshot_id"]
    assert path(base.why(f"file:{narrative.file_id}")) == [
        f"file:{narrative.file_id}", snapshot, f"claim:{RUN}/c1", one, turn,
    ]  # fmt: skip
    assert path(base.why(f"claim:{RUN}/c1")) == [f"claim:{RUN}/c1", one, turn]
    assert base.why(f"run:{RUN}").children[0].ref == f"claim:{RUN}/c1"
    assert base.why(one).text == "lock file was stale"
    forward = base.why(turn, forward=True)
    assert path(forward) == [turn, one, f"claim:{RUN}/c1", f"file:{narrative.file_id}"]
    (cited,) = forward.children
    mine, forked = cited.children
    assert mine.note == "verified, its only evidence"
    assert forked.ref == "claim:r2/c1"
    assert "run:r2" in {child.ref for child in mine.children}
    assert [child.ref for child in base.why("session:s1", forward=True).children] == [one]
    assert {child.ref for child in base.why(snapshot, forward=True).children} == {f"file:{narrative.file_id}", "run:r2"}
    assert json.loads(json.dumps(forward.as_json()))["children"][0]["ref"] == one


def test_why_shows_the_pieces_of_a_context_and_the_runs_that_used_it(base: Slicebase) -> None:
    built = base.context("why does the build fail", tokens=4000, run=RUN)
    name = built.manifest.manifest_id
    assert [child.ref for child in base.why(name).children] == [piece.ref for piece in built.manifest.pieces]
    turn = built.manifest.pieces[0].ref
    assert name in {child.ref for child in base.why(turn, forward=True).children}
    assert [child.ref for child in base.why(name, forward=True).children] == [f"run:{RUN}"]
    base.runs.compact(RUN)
    (child,) = base.why(name, forward=True).children
    assert child.ref == base.runs.snapshot(RUN)["snapshot_id"]


def test_why_of_an_unknown_reference_is_an_error(base: Slicebase) -> None:
    assert code_of(lambda: base.why(f"claim:{RUN}/c9")) == "no-item"
    assert code_of(lambda: base.why("claim:nothing/c9")) == "no-run"
    assert code_of(lambda: base.why("ev_" + "0" * 32)) == "no-evidence"
    assert code_of(lambda: base.why("session:s1")) == "bad-reference"


def test_why_works_with_claims_that_the_gate_would_refuse(base: Slicebase) -> None:
    odd = {"claim_id": "odd", "evidence_refs": [{"evidence_id": 5}, "x", {"evidence_id": "ev_" + "0" * 32}]}
    base.runs.log(RUN, [EventDraft(type="CLAIM", payload=odd)])
    assert [child.note for child in base.why(f"claim:{RUN}/odd").children] == ["not in the ledger"]
    assert base.why(evidence(base), forward=True).children == ()


# Seals


def test_a_seal_holds_while_everything_only_grows(base: Slicebase) -> None:
    base.library.create("Page", "S.", body="Text.\n")
    sealed = base.seal()
    assert (sealed.runs, sealed.sessions, sealed.files) == (1, 1, 1)
    base.runs.log(RUN, cycle(1))
    base.truth.turns.add(Session("s1", "test"), TRANSCRIPT, Annotator(base.truth))
    assert base.verify(seal="latest").findings == ()
    assert base.seal().files == 1  # a seal does not contain other seals
    assert base.validate().findings == ()


def tamper(base: Slicebase, *statements: str) -> None:
    connection = apsw.Connection(str(base.workspace.database))
    for (trigger,) in connection.execute("SELECT name FROM sqlite_schema WHERE name LIKE '%_keep'").fetchall():
        connection.execute(f"DROP TRIGGER {trigger}")
    for statement in statements:
        connection.execute(statement)
    connection.close()


def test_a_log_that_was_rewritten_is_found_by_its_seal(base: Slicebase) -> None:
    base.runs.log(RUN, cycle(1))
    base.seal()
    tamper(base, *(f"DELETE FROM {table} WHERE run = '{RUN}'" for table in ("events", "runs", "steps")))
    base.runs.start(RUN, "Something else.", "Whatever.")
    base.runs.log(RUN, cycle(2))
    tamper(base, "DELETE FROM log WHERE seq > 1")
    verdict = base.verify(seal="latest")
    assert verdict.status == "BROKEN"
    assert ("seal", f"events/{RUN}") in [(finding.check, finding.place) for finding in verdict.findings]


def test_a_session_that_was_cut_is_found_by_its_seal(base: Slicebase) -> None:
    base.seal()
    tamper(base, "DELETE FROM links", "DELETE FROM turns WHERE seq > 5")
    verdict = base.verify(seal="latest")
    assert ("seal", "turns/s1") in [(finding.check, finding.place) for finding in verdict.findings]


def test_a_file_that_changed_since_its_seal_has_drifted(base: Slicebase) -> None:
    page = base.library.create("Page", "S.", body="Text.\n")
    sealed = base.seal()
    base.library.remember(page.id, "More.")
    verdict = base.verify(seal=sealed.file.id)
    assert [(finding.status, finding.place) for finding in verdict.findings] == [("DRIFTED", f"file:{page.id}")]
    assert verdict.status == "VERIFIED"


def test_a_seal_that_cannot_be_read_is_unverifiable(base: Slicebase, tmp_path: Path) -> None:
    sealed = base.seal()
    path = tmp_path / sealed.file.name
    path.write_bytes(path.read_bytes() + b'["run"]\nnonsense\n["planet", 1]\n')
    assert [finding.check for finding in base.verify(seal="latest").findings] == ["seal-line"] * 3
    path.unlink()
    assert code_of(lambda: base.verify(seal="latest")) == "no-file"


# Steps


def test_a_step_has_its_three_events_and_compacts_when_due(base: Slicebase) -> None:
    for number in range(6):
        with base.runs.step(RUN) as step:
            step.plan(text="look")
            step.act(tool="bash")
            if number % 2:
                step.observe(text="ok", cost=0.5)
            step.log("TOKENS", count=5)
        assert step.number == number + 1
        assert bool(step.snapshots) == (number == 5)
    assert [name for name in types(base) if name.endswith("_DONE")].count("OBSERVE_DONE") == 6
    assert base.runs.status(RUN).snapshots == 1


def fail_in_a_step(base: Slicebase) -> None:
    with base.runs.step(RUN) as step:
        step.plan(text="divide")
        raise ZeroDivisionError("by nothing")


def test_an_error_in_a_step_is_a_failure_and_propagates(base: Slicebase) -> None:
    with pytest.raises(ZeroDivisionError):
        fail_in_a_step(base)
    assert types(base)[1:] == ["STEP_BEGUN", "PLAN_DONE", "FAILURE", "ACT_DONE", "OBSERVE_DONE", "STEP_ENDED"]
    assert base.runs.status(RUN).open_failures[0]["category"] == "ZeroDivisionError"


def test_a_closed_run_has_no_more_steps(base: Slicebase) -> None:
    base.runs.stop(RUN, "HUMAN_REQUESTED")
    with pytest.raises(SlicebaseError) as caught, base.runs.step(RUN):
        pytest.fail("the step was entered")
    assert caught.value.code == "run-closed"


def test_a_step_that_the_gate_refuses_raises_an_error(base: Slicebase) -> None:
    bad = EventDraft(type="CLAIM", payload={"claim_id": "c", "statement": "x", "status": "verified"})
    with (
        pytest.raises(SlicebaseError) as caught,
        base.runs.step(RUN, compact=Thresholds(steps=1)) as step,
    ):
        step.log("CLAIM", **bad.payload)
    assert caught.value.code == "gate-refused"


def test_thresholds_have_the_specifications_defaults() -> None:
    assert (DEFAULT_THRESHOLDS.counted_events, DEFAULT_THRESHOLDS.steps) == (18, 8)


def test_rows_are_cited_by_the_text_that_ruling_36_defines(base: Slicebase, tmp_path: Path) -> None:
    made = base.library.create("Log", "Rows.", type="jsonl")
    path = tmp_path / made.file.name
    line = row_line({"id": "r1", "created_at": to_text(NOW)}, {"rationale": "It fails.", "text": "Lock it.", "n": 1})
    path.write_bytes(path.read_bytes() + line)
    evidence = base.cite(f"row:{made.id}/r1", quote="Lock it.\n\nIt fails.")
    assert evidence.span == Span(start=0, end=19)


def test_a_row_is_cited_by_the_beginning_of_its_id_and_stays_cited_when_it_moves_to_a_part(
    base: Slicebase, tmp_path: Path
) -> None:
    """Rulings 32 and 53."""
    (tmp_path / "slicebase.toml").write_text("[overflow]\nbytes = 1000\n")
    log = base.library.create("Log", "Rows.", type="jsonl", contract=["overflow=archive"]).id
    row = base.library.remember(log, "Lock the door. " + "words " * 20).ref
    evidence = base.cite(row[:-2], quote="Lock the door.")
    assert evidence.chunk_id == row
    while not base.library.remember(log, "Other words. " * 20).overflow:
        pass
    assert row.rpartition("/")[2] not in (tmp_path / ".slices" / f"{log}.slice").read_text()
    assert base.cite(row, quote="Lock the door.").evidence_id == evidence.evidence_id
    assert base.cite(f"file:{log}", quote="Lock the door.").chunk_id.endswith(row.rpartition("/")[2])


# Ids of runs


@pytest.mark.parametrize("name", ["sn_test", "ev_1", "mf_" + "0" * 32])
def test_no_door_gives_a_run_an_id_that_verbs_read_as_another_reference(base: Slicebase, name: str) -> None:
    base.runs.compact(RUN)
    doors: list[Callable[[], Any]] = [
        lambda: base.runs.start(name, "Find it.", "Found."),
        lambda: base.runs.fork(RUN, name),
        lambda: base.runs.from_session("s1", name),
    ]
    assert [code_of(door) for door in doors] == ["bad-run"] * 3
    assert [entry.id for entry in base.runs.list_runs()] == [RUN]


@pytest.mark.parametrize("session", ["x" * 200, "with\u200bnothing to see", "a/b: c"])
def test_a_session_of_any_name_has_a_run_that_can_be_named(session: str) -> None:
    made = run_of(session)
    assert is_run_id(made)
    assert made == run_of(session) != run_of(session + "y")


def test_a_context_of_a_run_without_room_for_what_it_knows_is_refused(base: Slicebase) -> None:
    base.runs.compact(RUN)
    with pytest.raises(SlicebaseError) as refused:
        base.context("stale lock " * 200, 800, run=RUN)
    assert refused.value.code == "bad-budget"
    least = int(str(refused.value.hint).rpartition(" ")[2])
    assert "## Next actions" in base.context("stale lock " * 200, least, run=RUN).text
    assert "## Next actions" in base.context("stale lock", 300, run=RUN).text, "it knows little"


def test_a_context_of_a_run_has_only_pieces_that_are_nearly_as_good_as_the_best(base: Slicebase) -> None:
    base.runs.compact(RUN)
    made = base.context("why does the build fail", 4000, run=RUN)
    found = [piece.score for piece in made.pieces[1:]]
    worse = [each.score for each in made.left_out if each.reason == "score"]
    assert found
    assert worse
    assert max(worse) < 0.85 * max(found) <= min(found)


@pytest.mark.parametrize("budget", [500, 1000, 2000, 4000])
def test_a_context_of_a_run_never_loses_what_is_needed_to_go_on(base: Slicebase, budget: int) -> None:
    """However many claims there are; what is left out is counted in the text."""
    cited = evidence(base)
    rule = {"claim_id": "rule", "statement": "Never push to main.", "kind": "instruction"}
    pointer = msgspec.to_builtins(base.truth.ledger[cited].pointer)
    claims = [{"claim_id": f"v{n}", "status": "verified", "statement": f"It was stale {n}."} for n in range(150)]
    drafts = [{"type": "CLAIM", "payload": {**claim, "evidence_refs": [pointer]}} for claim in (rule, *claims)]
    base.runs.log(RUN, [*drafts, {"type": "QUESTION", "payload": {"question": "task: clean up the lock"}}])
    base.runs.compact(RUN)
    made = base.context("stale lock", budget, run=RUN)
    assert made.tokens <= budget
    for needed in ("> Find the cause.", "- Never push to main.", "- Do the task: clean up", "1. Do the task: clean up"):
        assert needed in made.text
    (left,) = re.findall(r"(\d+) verified claims", made.text)
    assert int(left) + len(re.findall(r"^- \*\*v\d+\*\*", made.text, flags=re.MULTILINE)) == 150
    assert base.replay(made.id).identical
    assert base.runs.narrative(RUN, tokens=1000).is_new is False
    assert list(base.library.folder.mentioning(b"sn_")) == []
