"""What connects runs with the library, contexts and conversations.

Narratives become slice files, snapshots and manifests enter contexts, and conversations become runs.
`narrate_session` does the work before a coding agent's compaction: a snapshot of the session as a run, and its
narrative.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import msgspec

from slicebase.context.assemble import Candidate, Context
from slicebase.core.hashing import canonical, digest
from slicebase.core.refs import as_words
from slicebase.core.times import to_text
from slicebase.errors import SlicebaseError
from slicebase.files.create import new_file
from slicebase.files.links import file_name
from slicebase.files.model import Contract, DerivationSource, Link
from slicebase.files.slice_file import SliceFile
from slicebase.library.folder import FolderWriter, SliceFolder
from slicebase.runs.event import TYPES, VERBOSE, EventDraft, LogHead, hashed_event
from slicebase.runs.gate import is_run_id
from slicebase.runs.manifests import manifest_events
from slicebase.runs.narrative import Narrative, narrate
from slicebase.runs.projection import StepAt
from slicebase.runs.state import Json
from slicebase.truth.manifests import manifest_entry
from slicebase.truth.run_writer import Logged
from slicebase.truth.runs import StoredRuns
from slicebase.verbs.parts import Parts
from slicebase.workspace.workspace import LIBRARY

if TYPE_CHECKING:
    from slicebase.verbs.runs import Runs

# Narratives


def narrative_file(narrative: Narrative) -> SliceFile:
    """Returns a narrative as a slice file (ruling 41)."""
    return new_file(
        id=narrative.file_id,
        title=narrative.title,
        summary=narrative.summary,
        body_type="markdown",
        body=narrative.body.encode(),
        derived_from=DerivationSource(narrative.derived_from, narrative.derived_hash),
        contract=Contract(purpose="What a run knew at a snapshot. It is made from the snapshot alone.", write="error"),
        links=[Link("supersedes", narrative.supersedes)] if narrative.supersedes else [],
        updated_at=narrative.updated_at,
        name=f"{LIBRARY}/{file_name(narrative.file_id)}",
    )


def keep_narrative(writer: FolderWriter, narrative: Narrative) -> bool:
    """Writes the slice file of a narrative; returns whether it is new.

    The narrative is made while the writer holds the library's lock, so that no purge comes between.
    """
    file = narrative_file(narrative)
    if writer.folder.get(file.id or "") is not None:
        return False
    writer.add(file)
    return True


def last_narrated(runs: StoredRuns, folder: SliceFolder, snapshot: dict[str, Json]) -> dict[str, Json] | None:
    """Returns the last earlier snapshot of the run that has a narrative in the library, else None."""
    earlier = {
        "sn_" + record.digest[7:39]: record.sequence
        for record in runs.snapshots.records(snapshot["run_id"])
        if record.sequence < snapshot["sequence"]
    }
    files = folder.mentioning(*(name.encode() for name in earlier)) if earlier else ()
    sources = (file.derived_from.id for file in files if file.derived_from)
    narrated = [earlier[source] for source in sources if source in earlier]
    return runs.snapshots.get(snapshot["run_id"], max(narrated)).snapshot if narrated else None


# Contexts of runs


def snapshot_candidate(snapshot: dict[str, Json]) -> Candidate:
    """Returns the narrative of a snapshot as a candidate for a context."""
    narrative = narrate(snapshot)
    run_id = snapshot["run_id"]
    return Candidate(
        ref=narrative.derived_from,
        corpus=f"run:{run_id}",
        content_hash=digest(narrative.body.encode()),
        text=narrative.body,
        label=f"snapshot {snapshot['sequence']} · {narrative.updated_at}",
        group=f"run:{as_words(str(run_id))}",
        order=(0, narrative.derived_from),
        score=0,
        parts={},
    )


def first_pieces(parts: Parts, run_id: str) -> tuple[Candidate, ...]:
    """Returns what a context for a run begins with: the narrative of its last snapshot that passed."""
    latest = parts.truth.runs.latest(run_id)
    return (snapshot_candidate(latest.snapshot),) if latest else ()


def check_step(parts: Parts, run_id: str, step: int | None) -> None:
    """Raises an error if no context can be bound to this step of the run."""
    parts.truth.runs.check_open(run_id)
    hashed_event(LogHead(run_id), EventDraft(type="MANIFEST", step=step), to_text(parts.surroundings.now()))


def bind(parts: Parts, run_id: str, context: Context, step: int | None) -> Logged:
    """Logs the context that was given to the model in a step, by default the one that begins next.

    Raises `no-manifest` if the context is not recorded here.
    """
    runs = parts.truth.runs
    parts.truth.manifests.get(context.id)
    entry = manifest_entry(context.manifest)

    def drafts() -> Iterator[EventDraft]:  # inside the transaction, where no other step can begin
        yield from manifest_events(entry, runs.log.last_step(run_id) + 1 if step is None else step)

    return runs.append(run_id, drafts(), parts.surroundings.now())


# Conversations as runs


def steps_of(format_name: str) -> StepAt:
    """Returns what a step of a conversation is: a call in a trajectory, which has only one prompt, else a prompt."""
    from slicebase.importers.swe_agent import NAME  # imported here to keep start-up fast: few commands need it

    return "call" if format_name == NAME else "prompt"


def new_drafts(runs: StoredRuns, run_id: str, drafts: list[EventDraft]) -> Iterator[EventDraft]:
    """Yields the drafts that the run does not have yet; raises `run-differs` if the run begins differently.

    The log is read when the first draft is asked for: inside the transaction that adds them.
    """
    logged = [
        {"type": event.type, "step": event.step, "time": event.time, "payload": event.payload}
        for event in runs.events(run_id)
        if event.seq == 1 or TYPES.get(event.type, VERBOSE).agent
    ]
    if [_plain(draft) for draft in drafts[: len(logged)]] != logged:
        raise SlicebaseError(
            "run-differs", f"run:{run_id} does not begin like this conversation", hint="choose another id for the run"
        )
    yield from drafts[len(logged) :]


def _plain(draft: EventDraft) -> dict[str, Any]:
    """Returns a draft as it is read back from a log."""
    payload = msgspec.json.decode(canonical(draft.payload))
    return {"type": draft.type, "step": draft.step, "time": draft.time, "payload": payload}


# Errors after which a session continues as another run: it was rewound, or its run was stopped or purged.
_NEEDS_NEW_RUN: Final = frozenset({"run-differs", "run-closed", "gate-refused", "purged"})


def run_of(session: str) -> str:
    """Returns the id of the run that a session is projected to, unless another one is named."""
    name = "from-" + "-".join(re.split(r"[/:\s]+", session.strip()))
    usable = is_run_id(name + _NEXT_RUN)
    return name if usable else "from-" + digest(session.encode("utf-8", "surrogatepass"))[7:39]


_NEXT_RUN: Final = "-00000000"  # as much as follows if the run cannot continue: the beginning of a leaf


def narrate_session(runs: "Runs", session: str, leaf: str | None) -> Narrative:
    """Projects a session as a run, compacts and narrates it. If its run cannot continue, another one does."""
    refused: SlicebaseError | None = None
    for run_id in _runs_for(runs, session, leaf):
        try:
            return _narrated(runs, session, run_id)
        except SlicebaseError as error:
            if error.code not in _NEEDS_NEW_RUN:
                raise
            refused = error
    assert refused is not None
    raise refused


def _runs_for(runs: "Runs", session: str, leaf: str | None) -> Iterator[str]:
    """Yields the run of a session, the last one with which it went on, and a new one whose id also names the leaf."""
    name = run_of(session)
    yield name
    others = (entry.tally.run_id for entry in runs.list_runs() if entry.tally.run_id.startswith(f"{name}-"))
    yield from islice(others, 1)
    if leaf is not None:
        yield f"{name}-{leaf[:8]}"


def _narrated(runs: "Runs", session: str, run_id: str) -> Narrative:
    logged = runs.from_session(session, run_id, open_end=True)
    if logged.last >= logged.first or not runs.has_snapshot(run_id):
        runs.compact(run_id)
    return runs.narrative(run_id)
