"""Snapshots of runs: listed, shown with the checks of the gate, and compared."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import msgspec
from msgspec import Struct

from slicebase.runs.difference import ItemsDiffer, items_differ
from slicebase.runs.records import Validation
from slicebase.web.api.run_items import ClaimRow, ConflictRow, FailureRow, ItemMaker
from slicebase.web.endpoints import Name, Paged, Parameters, cursor_of, get, read_number

if TYPE_CHECKING:
    from slicebase.base import Slicebase

_Row = TypeVar("_Row")


class SnapshotRow(Struct, frozen=True):
    """A snapshot in a list: its number in the run, and the event that recorded it."""

    snapshot_id: str
    sequence: int
    status: str
    event: int
    time: str


class SnapshotPage(Struct, frozen=True):
    """Snapshots of a run, the newest first."""

    snapshots: tuple[SnapshotRow, ...]
    next: str | None


class SnapshotsQuery(Paged, frozen=True, kw_only=True):
    """The snapshots of a run."""

    run: Name


def list_snapshots(memory: "Slicebase", asked: SnapshotsQuery) -> SnapshotPage:
    """Lists the snapshots of a run, the newest first."""
    runs, run_id = memory.truth.runs, memory.stored_names.id("run", asked.run)
    runs.log.tally(run_id)
    found = runs.snapshots.newest_first(run_id, asked.limit + 1, read_number(asked))
    shown = found[: asked.limit]
    rows = tuple(
        SnapshotRow(name, each.sequence, each.status, each.event, runs.log.link(run_id, each.event).time)
        for name, each in shown
    )
    return SnapshotPage(rows, cursor_of(asked, str(shown[-1][1].sequence)) if len(found) > asked.limit else None)


# One snapshot


class SnapshotQuery(Parameters, frozen=True, kw_only=True):
    """A snapshot, by its id."""

    snapshot: Name


class SnapshotAnswer(Struct, frozen=True):
    """A snapshot without the lists of its state, which are read page by page, and with the checks of the gate.

    One that has failed may have values of any type (ruling 35).
    """

    snapshot_id: str
    run_id: str
    sequence: int
    created_at: str
    objective: Any
    done_definition: Any
    provenance_mode: Any
    policy_snapshot_ref: str | None
    counts: dict[str, Any]
    latest_context_manifest_ids: tuple[Any, ...]
    retrieval_diagnostics: dict[str, Any]
    validation: Validation
    sizes: dict[str, int]  # how many of each the state has
    sources: tuple[Any, ...]  # the first that were seen
    event: int  # that recorded it
    before: str | None  # the snapshots of the run before and after it
    after: str | None


_SOURCES: Final = 100


def show_snapshot(memory: "Slicebase", asked: SnapshotQuery) -> SnapshotAnswer:
    """Returns a snapshot with the checks of the gate."""
    snapshots = memory.truth.runs.snapshots
    stored = snapshots.find(memory.stored_names.id("sn", asked.snapshot))
    record, found = stored.record, stored.snapshot
    state, coverage = found["state"], found["state"]["source_coverage"]
    near = {each.sequence: name for name, each in snapshots.newest_first(record.run_id, 3, record.sequence + 2)}
    return SnapshotAnswer(
        **{name: found[name] for name in _AS_STORED},
        latest_context_manifest_ids=tuple(found["latest_context_manifest_ids"]),
        validation=msgspec.convert(found["validation"], Validation),
        sizes={name: len(items) for name, items in (*state.items(), *coverage.items()) if isinstance(items, list)},
        sources=tuple(coverage["source_ids_seen"][:_SOURCES]),
        event=record.event,
        before=near.get(record.sequence - 1),
        after=near.get(record.sequence + 1),
    )


_AS_STORED: Final = (
    "snapshot_id", "run_id", "sequence", "created_at", "objective", "done_definition", "provenance_mode",
    "policy_snapshot_ref", "counts", "retrieval_diagnostics",
)  # fmt: skip


# The difference between two snapshots


class ChangedRow(Struct, Generic[_Row], frozen=True):
    """An item that both snapshots have, and the fields in which it differs."""

    before: _Row
    after: _Row
    fields: tuple[str, ...]


class ItemChanges(Struct, Generic[_Row], frozen=True):
    """What differs between two snapshots in items of one kind: numbers, and the first of each."""

    counts: dict[str, int]  # added, changed, gone, same
    added: tuple[_Row, ...]
    changed: tuple[ChangedRow[_Row], ...]
    gone: tuple[_Row, ...]


class SnapshotDifference(Struct, frozen=True):
    """What was added, changed or is gone between two snapshots."""

    before: str
    after: str
    claims: ItemChanges[ClaimRow]
    conflicts: ItemChanges[ConflictRow]
    open_questions: ItemChanges[str]
    failures: ItemChanges[FailureRow]
    coverage: dict[str, tuple[int, int]]  # sources and chunks: how many before and after


class TwoSnapshots(Parameters, frozen=True, kw_only=True):
    """Two snapshots, by their ids."""

    before: Name
    after: Name


_LISTED: Final = 200


def diff_snapshots(memory: "Slicebase", asked: TwoSnapshots) -> SnapshotDifference:
    """Returns what was added, changed or is gone between two snapshots."""
    names = [memory.stored_names.id("sn", each) for each in (asked.before, asked.after)]
    one, other = (memory.truth.runs.snapshots.find(name).snapshot for name in names)
    make = ItemMaker(memory)
    covered = (each["state"]["source_coverage"] for each in (one, other))
    before, after = ({name: len(ids) for name, ids in each.items()} for each in covered)
    return SnapshotDifference(
        before=names[0],
        after=names[1],
        claims=_changes(items_differ(one, other, "claims"), make.claim),
        conflicts=_changes(items_differ(one, other, "conflicts"), make.conflict),
        open_questions=_changes(items_differ(one, other, "open_questions"), str),
        failures=_changes(items_differ(one, other, "failures"), make.failure),
        coverage={name: (before.get(name, 0), size) for name, size in after.items()},
    )


def _changes(found: ItemsDiffer, make: Callable[[Any], _Row]) -> ItemChanges[_Row]:
    counts = {"added": len(found.added), "changed": len(found.changed), "gone": len(found.gone), "same": found.same}
    changed = (ChangedRow(make(each.before), make(each.after), each.fields) for each in found.changed[:_LISTED])
    return ItemChanges(
        counts, tuple(map(make, found.added[:_LISTED])), tuple(changed), tuple(map(make, found.gone[:_LISTED]))
    )


ENDPOINTS: Final = (
    get("/runs/{run}/snapshots", "runs.snapshot", list_snapshots),
    get("/snapshots/{snapshot}", "runs.snapshot", show_snapshot),
    get("/snapshots/{before}/diff/{after}", "runs.snapshot", diff_snapshots),
)
