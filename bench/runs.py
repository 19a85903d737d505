"""Logging events and compacting a long run: how time and bytes grow with new events, the state and the log."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

from slicebase.core.ids import turn_id
from slicebase.runs.event import EventDraft
from slicebase.runs.evidence import Chunk, cite
from slicebase.runs.gate import DEFAULT_THRESHOLDS
from slicebase.runs.records import ClaimLogged, RunStarted
from slicebase.runs.snapshot import to_bytes
from slicebase.truth.truth import Truth

EVENTS = 100_000
ONE_BY_ONE = 500
CLAIM_EVERY = 5  # steps
TERMS = RunStarted(objective="Measure a long run.", done_definition="The log has its length.")
QUOTE = "the retry waits for the lock"


def steps(truth: Truth, first: int = 0) -> Iterator[list[EventDraft]]:
    """Yields the steps of an agent: plan, act, observe, one seen chunk, and sometimes a claim with a citation."""
    number = first
    while True:
        chunk = Chunk("session:bench", f"turn:{turn_id('bench', 'bench', number)}", f"In step {number} {QUOTE}.")
        drafts = [
            EventDraft(type="PLAN_DONE", step=number, payload={"text": f"Look at part {number} of the retry loop."}),
            EventDraft(type="ACT_DONE", step=number, payload={"tool": "bash", "text": f"pytest -k part_{number}"}),
            EventDraft(type="OBSERVE_DONE", step=number, payload={"tool": "bash", "text": chunk.text * 5}),
            EventDraft(
                type="SOURCE", step=number, payload={"source_ids": [chunk.corpus_id], "chunk_ids": [chunk.chunk_id]}
            ),
        ]
        if number % CLAIM_EVERY == 0:
            evidence = cite(chunk, QUOTE)
            truth.ledger.keep(evidence)
            claim = ClaimLogged(
                claim_id=f"c{number}",
                statement=f"In step {number} the retry waits for the lock that the test holds.",
                status="verified",
                evidence_refs=(evidence.pointer,),
            )
            drafts.append(EventDraft.of("CLAIM", claim, step=number))
        yield drafts
        number += 1


def run() -> None:
    with tempfile.TemporaryDirectory() as folder:
        truth = Truth(Path(folder) / "slicebase.db", create=True)
        try:
            _logging(truth)
            with truth.database.bulk():
                _compacting(truth)
        finally:
            truth.close()


def _logging(truth: Truth) -> None:
    truth.runs.start("single", TERMS, 0)
    source = steps(truth)
    drafts = [draft for _ in range(ONE_BY_ONE // 4) for draft in next(source)]
    start = perf_counter()
    for draft in drafts:
        truth.runs.append("single", [draft], 0)
    single = len(drafts) / (perf_counter() - start)
    truth.runs.start("batch", TERMS, 0)
    drafts = [draft for _ in range(5000) for draft in next(source)]
    start = perf_counter()
    truth.runs.append("batch", drafts, 0)
    batch = len(drafts) / (perf_counter() - start)
    print(f"runs: {single:,.0f} events/s one by one, each on disk; {batch:,.0f} events/s in a batch of {len(drafts):,}")


def _compacting(truth: Truth) -> None:
    truth.runs.start("long", TERMS, 0)
    source = steps(truth)
    marks = [EVENTS // 100, EVENTS // 10, EVENTS // 2, EVENTS]
    times: list[float] = []
    written = _bytes(truth)
    first = 0
    print("runs: compacting whenever 18 events are counted; processor time, median of the last 50")
    print("runs: events in log | ms per compaction | kB stored per compaction | kB of the whole snapshot | claims")
    while marks:
        interval = [draft for _ in range(DEFAULT_THRESHOLDS.counted_events // 3) for draft in next(source)]
        truth.runs.append("long", interval, 0)
        start = process_time()
        truth.runs.compact("long", 0)
        times.append(process_time() - start)
        tally = truth.runs.log.tally("long")
        if tally.seq >= marks[0]:
            latest = truth.runs.latest("long")
            assert latest is not None
            stored = _bytes(truth)
            each = (stored - written) / (tally.sequence - first)
            print(
                f"runs: {tally.seq:13,} | {median(times[-50:]) * 1000:17.1f} | {each / 1e3:24.1f} | "
                f"{len(to_bytes(latest.snapshot)) / 1e3:24.1f} | {len(latest.snapshot['state']['claims']):6,}"
            )
            written, first = stored, tally.sequence
            marks.pop(0)


def _bytes(truth: Truth) -> int:
    """Returns the size of the stored snapshots of the long run."""
    bodies = (truth.texts.get("run:long", record.body) for record in truth.runs.snapshots.records("long"))
    return sum(len(body.data) for body in bodies if body and body.data)
