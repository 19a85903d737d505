"""Conversations on their way to become runs: stored turns, trajectories, and what a run has of them already."""

from pathlib import Path
from typing import Any

import msgspec

from slicebase.errors import SlicebaseError, Where
from slicebase.graph.turn import Session, Turn
from slicebase.importers.swe_agent import FORMAT, read_trajectory
from slicebase.runs.event import TYPES, VERBOSE, EventDraft
from slicebase.store.annotating import Annotator
from slicebase.store.runs import Runs
from slicebase.store.truth import Truth


def turns_of(truth: Truth, session: str) -> list[Turn]:
    """The turns of a session with their contents; a purged one has no parts."""
    truth.turns.session(session)
    return [truth.with_content(stored.record) for stored in truth.turns.of_session(session)]


def take_trajectory(truth: Truth, path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SlicebaseError("no-input", f"{path}: {error.strerror}", where=Where(str(path))) from None
    truth.turns.add(Session(path.stem, FORMAT), read_trajectory(data, path.stem), Annotator(truth))
    return path.stem


def not_yet_said(runs: Runs, run_id: str, drafts: list[EventDraft]) -> list[EventDraft]:
    """What a conversation has gained since it was logged; refused where the run began with something else."""
    said = [
        {"type": event.type, "step": event.step, "time": event.time, "payload": event.payload}
        for event in runs.events(run_id)
        if event.seq == 1 or TYPES.get(event.type, VERBOSE).agent
    ]
    if [_plain(draft) for draft in drafts[: len(said)]] != said:
        raise SlicebaseError(
            "run-differs", f"run:{run_id} does not begin like this conversation", hint="choose another id for the run"
        )
    return drafts[len(said) :]


def _plain(draft: EventDraft) -> dict[str, Any]:
    """A draft as it reads back from a log."""
    payload = msgspec.json.decode(msgspec.json.encode(draft.payload))
    return {"type": draft.type, "step": draft.step, "time": draft.time, "payload": payload}
