"""Runs against the number of their events: logging, claims and the like, compactions, and verify.

Times are processor time, because others may use the machine; events per second are not.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

from slicebase import Slicebase
from slicebase.core.ids import turn_id
from slicebase.runs.event import EventDraft
from slicebase.runs.evidence import Chunk, cite
from slicebase.runs.gate import DEFAULT_THRESHOLDS
from slicebase.runs.records import ClaimLogged, RunStarted
from slicebase.runs.snapshot import to_bytes
from slicebase.truth.truth import Truth

SOURCE = Path(__file__).resolve().parent.parent / "src"
EVENTS = (1_000, 10_000, 100_000)
SINCE = (30, 3_000, 30_000)  # events since the last snapshot
ONE_BY_ONE = 500
ROUNDS = 51
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
    with tempfile.TemporaryDirectory() as folder, Slicebase.init(folder) as memory:
        _logging(memory.truth)
        _claiming(memory)
    with tempfile.TemporaryDirectory() as folder, Slicebase.init(folder) as memory:
        _compacting(memory)


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


# What a log that has not been compacted costs


def _claiming(memory: Slicebase) -> None:
    """Measures what a verb costs by the number of events since the last snapshot."""
    print("runs: ms per call (processor time), by the events since the last snapshot; × the first column")
    columns: list[dict[str, float]] = []
    for since in SINCE:
        name = f"since-{since}"
        memory.truth.runs.start(name, TERMS, 0)
        source = steps(memory.truth)
        drafts: list[EventDraft] = []
        while len(drafts) < since:
            drafts += next(source)
        memory.truth.runs.append(name, drafts[:since], 0)
        columns.append(_verbs(memory, name))
    print(f"runs: {'':18}" + "".join(f" | {since:16,}" for since in SINCE))
    for verb, first in columns[0].items():
        cells = (f" | {column[verb]:8.2f} {column[verb] / first:6.2f}×" for column in columns)
        print(f"runs: {verb:18}" + "".join(cells))


def _verbs(memory: Slicebase, name: str) -> dict[str, float]:
    runs = memory.runs
    evidence = _evidence(memory)
    numbers = iter(range(10**6))
    verbs: dict[str, Callable[[int], object]] = {
        "claim": lambda n: runs.claim(name, f"It is so, {n}."),
        "claim, verified": lambda n: runs.claim(name, f"It is, {n}.", status="verified", cite=evidence[0]),
        "claim, retracted": lambda n: runs.claim(name, id="c0", status="retracted" if n % 2 else "verified"),
        "conflict": lambda n: runs.conflict(name, f"Or not, {n}.", id=f"x-{n}", a=evidence[0], b=evidence[1]),
        "conflict, resolved": lambda n: runs.conflict(name, id=f"x-{n - ROUNDS}"),
        "failure": lambda n: runs.failure(name, f"It broke, {n}."),
        "question": lambda n: runs.question(name, f"Why, {n}?"),
        "question, closed": lambda n: runs.question(name, f"Why, {n - ROUNDS}?", close=True),
    }
    found = {verb: _median(call, numbers) * 1000 for verb, call in verbs.items()}
    return found | {"tt run claim": _command(memory.root, "run", "claim", name, "It is so.") * 1000}


def _evidence(memory: Slicebase) -> list[str]:
    query = "SELECT evidence FROM evidence LIMIT 2"
    return [str(row[0]) for row in memory.truth.database.connection.execute(query)]


def _median(call: Callable[[int], object], numbers: Iterator[int]) -> float:
    times = []
    for number in islice(numbers, ROUNDS):
        start = process_time()
        call(number)
        times.append(process_time() - start)
    return median(times)


def _command(folder: Path, *arguments: str, rounds: int = 7) -> float:
    """Returns the processor time of a command as a process of its own, with its start."""
    code = "from slicebase.cli.entry import main; main()"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = str(SOURCE)
    times = []
    for _ in range(rounds):
        before = os.times()
        subprocess.run(
            [sys.executable, "-c", code, *arguments], cwd=folder, env=environment, capture_output=True, check=True
        )
        after = os.times()
        times.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return median(times)


# What a long log costs


def _compacting(memory: Slicebase) -> None:
    """Measures what a compaction and verify cost by the number of events, compacting whenever 18 are counted."""
    truth = memory.truth
    truth.runs.start("long", TERMS, 0)
    source = steps(truth)
    times: list[float] = []
    written = first = 0
    print("runs: compacting whenever 18 events are counted; processor time, median of the last 50; verify in all")
    print(
        "runs: events in log | ms per compaction | in a new process | kB stored each | kB of the snapshot | claims"
        " | verify in s | ms per event"
    )
    for mark in EVENTS:
        with truth.database.bulk():
            while truth.runs.log.tally("long").seq < mark:
                times.append(_interval(truth, source))
        tally, latest = truth.runs.log.tally("long"), truth.runs.latest("long")
        assert latest is not None
        stored = _bytes(truth)
        each, written, first = (stored - written) / (tally.sequence - first), stored, tally.sequence
        fresh = median(_in_a_new_process(memory, source) for _ in range(5))
        proof = process_time()
        assert memory.verify().status in ("VERIFIED", "UNVERIFIABLE")
        proof = process_time() - proof
        print(
            f"runs: {tally.seq:13,} | {median(times[-50:]) * 1000:17.1f} | {fresh * 1000:16.1f} | {each / 1e3:14.1f} | "
            f"{len(to_bytes(latest.snapshot)) / 1e3:18.1f} | {len(latest.snapshot['state']['claims']):6,}"
            f" | {proof:11.2f} | {proof / tally.seq * 1000:12.3f}"
        )


def _interval(truth: Truth, source: Iterator[list[EventDraft]], writer: Truth | None = None) -> float:
    """Logs the events up to the next compaction, and returns how long that takes."""
    interval = [draft for _ in range(DEFAULT_THRESHOLDS.counted_events // 3) for draft in next(source)]
    truth.runs.append("long", interval, 0)
    start = process_time()
    (writer or truth).runs.compact("long", 0)
    return process_time() - start


def _in_a_new_process(memory: Slicebase, source: Iterator[list[EventDraft]]) -> float:
    """Returns how long a compaction takes if nothing of the run is in memory, without the start of the process."""
    with Slicebase.open(memory.root) as opened:
        return _interval(memory.truth, source, opened.truth)


def _bytes(truth: Truth) -> int:
    """Returns the size of the stored snapshots of the long run."""
    bodies = (truth.texts.get("run:long", record.body) for record in truth.runs.snapshots.records("long"))
    return sum(len(body.data) for body in bodies if body and body.data)
