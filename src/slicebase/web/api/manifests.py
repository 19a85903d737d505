"""Recorded contexts: listed, shown, replayed, asked again, and compared."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct

from slicebase.context.comparison import ComparedPiece, PieceChange, PieceChangeKind, compared
from slicebase.context.manifest import Manifest, Replayed, ReplayProblem
from slicebase.errors import SlicebaseError
from slicebase.runs.records import Span
from slicebase.web.api.contexts import ContextAnswer, context_answer, spans_in
from slicebase.web.endpoints import Name, Paged, Parameters, cursor_of, get, read_number

if TYPE_CHECKING:
    from slicebase.base import Slicebase


class ManifestRow(Struct, frozen=True):
    """A recorded context in a list; of one that cannot be read, why not."""

    manifest_id: str
    time: str
    question: str = ""
    as_of: str = ""
    pieces: int = 0
    considered: int = 0
    tokens_used: int = 0
    budget: int = 0
    ranker: str = ""
    problem: str | None = None


class ManifestPage(Struct, frozen=True):
    """Recorded contexts, the newest first."""

    manifests: tuple[ManifestRow, ...]
    next: str | None


class ManifestsQuery(Paged, frozen=True, kw_only=True):
    """A list of recorded contexts."""


def list_manifests(memory: "Slicebase", asked: ManifestsQuery) -> ManifestPage:
    """Lists the recorded contexts, the newest first."""
    found = memory.truth.manifests.newest_first(asked.limit + 1, read_number(asked))
    shown = found[: asked.limit]
    rows = tuple(_row(memory, name, time) for _, name, time in shown)
    return ManifestPage(rows, cursor_of(asked, str(shown[-1][0])) if len(found) > asked.limit else None)


def _row(memory: "Slicebase", name: str, time: str) -> ManifestRow:
    try:
        manifest = memory.truth.manifests.get(name).manifest
    except SlicebaseError as error:
        return ManifestRow(name, time, problem=error.message)
    return ManifestRow(
        manifest_id=name,
        time=time,
        question=manifest.question,
        as_of=manifest.as_of,
        pieces=len(manifest.pieces),
        considered=manifest.considered,
        tokens_used=manifest.tokens_used,
        budget=manifest.budget.tokens,
        ranker=manifest.ranker,
    )


class ManifestQuery(Parameters, frozen=True, kw_only=True):
    """A recorded context, by its id."""

    manifest: Name


class ManifestAnswer(Struct, frozen=True):
    """A recorded context: its manifest, and when it was recorded."""

    manifest_id: str
    time: str
    manifest: Manifest


def show_manifest(memory: "Slicebase", asked: ManifestQuery) -> ManifestAnswer:
    """Returns a recorded manifest."""
    name = memory.stored_names.id("mf", asked.manifest)
    stored = memory.truth.manifests.get(name)
    return ManifestAnswer(name, stored.time, stored.manifest)


# Replay


class ReplayFinding(Struct, frozen=True):
    """A difference between a piece, or the complete text, and what the manifest pins."""

    status: Literal["BROKEN", "PURGED", "UNVERIFIABLE"]
    ref: str
    source: tuple[str, str]
    expected: str
    found: str


class ReplayAnswer(Struct, frozen=True):
    """A context that was rendered again from its pinned pieces; `at` says where each of them is in the text."""

    manifest_id: str
    identical: bool
    status: Literal["IDENTICAL", "BROKEN", "PURGED", "UNVERIFIABLE"]
    text: str
    problems: tuple[ReplayFinding, ...]
    at: tuple[Span | None, ...]


def replay(memory: "Slicebase", asked: ManifestQuery) -> ReplayAnswer:
    """Renders a recorded context again, byte for byte, from the pieces that its manifest pins."""
    name = memory.stored_names.id("mf", asked.manifest)
    manifest = memory.manifest(name)
    found = memory.replay(name)
    texts, _ = memory.truth.manifests.texts_of(name, manifest)
    spans = spans_in(found.text, [texts.get(piece.text_hash, "\0") for piece in manifest.pieces])
    problems = tuple(_finding(each) for each in found.problems)
    return ReplayAnswer(name, found.identical, _status(found), found.text, problems, tuple(spans))


def _finding(each: ReplayProblem) -> ReplayFinding:
    return ReplayFinding(each.status, each.ref, each.source, each.expected, each.found)


def _status(found: Replayed) -> Literal["IDENTICAL", "BROKEN", "PURGED", "UNVERIFIABLE"]:
    """Returns the worst status of the problems."""
    statuses = {problem.status for problem in found.problems}
    if "BROKEN" in statuses:
        return "BROKEN"
    if "UNVERIFIABLE" in statuses:
        return "UNVERIFIABLE"
    return "PURGED" if statuses else "IDENTICAL"


# Comparing


class PieceChangeRow(Struct, frozen=True):
    """A difference in one piece between two contexts."""

    change: PieceChangeKind
    ref: str
    what: str


class DifferenceAnswer(Struct, frozen=True):
    """The differences between two contexts, and all their pieces side by side."""

    before: str
    after: str
    changes: tuple[PieceChangeRow, ...]
    pieces: tuple[ComparedPiece, ...]


class AgainAnswer(DifferenceAnswer, frozen=True):
    """What differs if the question of a manifest is asked again now, and the new context."""

    recorded: bool
    context: ContextAnswer


class TwoManifests(Parameters, frozen=True, kw_only=True):
    """Two recorded contexts, by their ids."""

    before: Name
    after: Name


def diff_manifests(memory: "Slicebase", asked: TwoManifests) -> DifferenceAnswer:
    """Returns the differences between two recorded contexts."""
    before, after = (memory.stored_names.id("mf", each) for each in (asked.before, asked.after))
    changes, pieces = compared(memory.manifest(before), memory.manifest(after))
    return DifferenceAnswer(before, after, tuple(_changes(changes)), pieces)


def ask_again(memory: "Slicebase", asked: ManifestQuery) -> AgainAnswer:
    """Asks the question of a manifest again, and returns what differs. Nothing is recorded."""
    name = memory.stored_names.id("mf", asked.manifest)
    before, built = memory.manifest(name), memory.context_again(name, record=False)
    changes, pieces = compared(before, built.manifest, built.left_out)
    answer = context_answer(built, f"tt context --again {name} --no-record", _LISTED)
    return AgainAnswer(name, built.id, tuple(_changes(changes)), pieces, built.recorded, answer)


_LISTED: Final = 100


def _changes(found: Iterable[PieceChange]) -> Iterator[PieceChangeRow]:
    return (PieceChangeRow(each.change, each.ref, each.what) for each in found)


ENDPOINTS: Final = (
    get("/manifests", "manifest", list_manifests),
    get("/manifests/{manifest}", "manifest", show_manifest),
    get("/manifests/{manifest}/replay", "replay", replay),
    get("/manifests/{manifest}/again", "context_again", ask_again),
    get("/manifests/{before}/diff/{after}", "manifest", diff_manifests),
)
