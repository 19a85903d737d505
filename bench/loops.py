"""The loop guard on real sessions and trajectories: how often it says that an agent repeats itself, and where.

Every session that the shared data has is projected as a run, whose events the guard reads. Most sessions are ordinary
work, so a loop is a false alarm unless a reader of the printed place agrees with it.
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from slicebase import Slicebase
from slicebase.errors import SlicebaseError
from slicebase.history.imports import import_inputs
from slicebase.history.inputs import inputs
from slicebase.importers.values import Options
from slicebase.runs.event import Event
from slicebase.runs.loops import Loop, loops

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
TRANSCRIPTS = (
    "claude-code/**/*-*.jsonl",
    "claude-code/dag_*.jsonl",
    "codex/*.jsonl",
    "gemini/*.json",
    "runs/swe-agent/*.traj",
)


class Watched(NamedTuple):
    """A session as a run: its events, and the loops that the guard finds in them."""

    session: str
    events: list[Event]
    loops: list[Loop]

    @property
    def calls(self) -> int:
        return sum(event.type == "ACT_DONE" for event in self.events)


def run() -> None:
    """Prints how many loops there are in how many calls, and the place of each."""
    found = list(watched())
    if not found:
        print("loops: skipped, ../shared/data is absent")
        return
    alarms = sum(len(each.loops) for each in found)
    print(
        f"loops: {alarms} in {len(found)} sessions with {sum(each.calls for each in found):,} calls; "
        f"{sum(bool(each.loops) for each in found)} sessions have one"
    )
    for each in found:
        places = {event.seq: event.payload.get("ref", "") for event in each.events}
        for loop in each.loops:
            (first, _), (last, _) = loop.cycles[0], loop.cycles[-1]
            print(f"  {each.session[:36]}, {places[first]} to {places[last]}: {loop.message}")


def watched() -> Iterator[Watched]:
    """Yields the sessions of the shared data that can be runs."""
    paths = sorted({path for pattern in TRANSCRIPTS for path in DATA.glob(pattern)})
    with TemporaryDirectory() as folder, Slicebase.open(folder, folder) as memory:
        if paths:
            with memory.truth.database.bulk():
                import_inputs(memory.truth, inputs(paths), Options())
        for session, _ in list(memory.truth.turns.sessions()):
            try:
                run_id = memory.runs.from_session(session.id).tally.run_id
            except SlicebaseError as error:
                if error.code != "bad-transcript":  # without a prompt there is no objective
                    raise
                continue
            events = memory.runs.events(run_id)
            yield Watched(session.id, events, loops(events))
