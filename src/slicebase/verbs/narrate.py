"""What connects runs with the library and with contexts: narratives become slice files, snapshots enter contexts."""

from collections.abc import Iterator
from typing import Final

from slicebase.context.assemble import Candidate, Context
from slicebase.context.render import Sheet
from slicebase.core.hashing import BYTES_PER_TOKEN, tokens
from slicebase.core.refs import as_words
from slicebase.core.times import to_text
from slicebase.errors import SlicebaseError
from slicebase.files.create import new_file
from slicebase.files.links import file_name
from slicebase.files.model import Contract, DerivationSource, Link
from slicebase.files.slice_file import SliceFile
from slicebase.library.folder import FolderWriter, SliceFolder
from slicebase.runs.event import EventDraft, LogHead, hashed_event
from slicebase.runs.manifests import manifest_events
from slicebase.runs.narrative import LEAST_NARRATIVE, NARRATIVE_RENDERER, NARRATIVE_TOKENS, Narrative, narrate
from slicebase.runs.state import Json
from slicebase.truth.manifests import manifest_entry
from slicebase.truth.run_writer import Logged
from slicebase.truth.runs import StoredRuns
from slicebase.verbs.parts import Parts
from slicebase.workspace.workspace import LIBRARY

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
        contract=Contract(
            purpose=f"What a run knew at a snapshot, made from it alone ({NARRATIVE_RENDERER}).", write="error"
        ),
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


_FRAME: Final = 80  # tokens around the narrative: the headings of its group and its piece, and a fence
_SHARE: Final = 0.6  # of a context, for the narrative of its run


def snapshot_candidate(snapshot: dict[str, Json], budget: int, first: str) -> Candidate:
    """Returns the narrative of a snapshot as a candidate for a context of so many tokens, which begins with a text.

    It has the size for its place there, so that it is never cut: the next actions stand at its end. Raises `bad-budget`
    if there is no room for it: a context without it would look as if the run knew nothing.
    """
    room = budget - tokens(first) - _FRAME
    wanted = max(LEAST_NARRATIVE, min(room, max(LEAST_NARRATIVE * 2, int(budget * _SHARE)), NARRATIVE_TOKENS))
    needed = budget
    for size in (wanted, LEAST_NARRATIVE):  # a long fence around backticks may need the difference
        found = _candidate(snapshot, size)
        sheet = Sheet(first)
        sheet.offer(found.group, found.ref, found.label, found.text)
        needed = -(-sheet.size // BYTES_PER_TOKEN)
        if needed <= budget:
            return found
    message = f"a context of {budget} tokens has no room for what run:{snapshot['run_id']} knows"
    raise SlicebaseError("bad-budget", message, hint=f"give at least {needed}")


def _candidate(snapshot: dict[str, Json], size: int) -> Candidate:
    narrative = narrate(snapshot, size=size)
    run_id = snapshot["run_id"]
    return Candidate(
        ref=narrative.derived_from,
        corpus=f"run:{run_id}",
        text=narrative.body,
        label=f"snapshot {snapshot['sequence']} · {narrative.updated_at}",
        group=f"run:{as_words(str(run_id))}",
        order=(0, narrative.derived_from),
        score=0,
        parts={},
        is_whole=True,
    )


def first_pieces(parts: Parts, run_id: str, budget: int, first: str, last: int | None = None) -> tuple[Candidate, ...]:
    """Returns what a context of a run begins with: the narrative of its last snapshot that passed, up to a time."""
    latest = parts.truth.runs.latest(run_id, last)
    return (snapshot_candidate(latest.snapshot, budget, first),) if latest else ()


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
