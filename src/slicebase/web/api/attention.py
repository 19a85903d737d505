"""What needs a look in the runs: all that is open, was refused or cannot be read; and whether something was purged."""

from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta, Struct

from slicebase.core.times import known_time
from slicebase.index.notes import purged_files
from slicebase.truth.acts import last_purge
from slicebase.truth.run_needs import RunNeed, run_needs
from slicebase.web.endpoints import Nothing, Parameters, get

if TYPE_CHECKING:
    from slicebase.base import Slicebase


class RunNeedRow(Struct, frozen=True):
    """A run that needs a look: how much is open in it, whether the gate stopped it, and why it cannot be read."""

    run: str
    updated: str | None
    conflicts: int
    questions: int
    failures: int
    refused: bool
    problem: str | None


class AttentionQuery(Parameters, frozen=True, kw_only=True):
    """How many runs of each kind are listed."""

    limit: Annotated[int, Meta(ge=1, le=10_000)] = 10


class Attention(Struct, frozen=True):
    """Runs that need a look, the last changed first, and how many there are: a run is in one of the lists.

    `unreadable` cannot be read, `refused` did not pass their compaction, and in `open` something waits for an answer.
    """

    unreadable: tuple[RunNeedRow, ...]
    refused: tuple[RunNeedRow, ...]
    open: tuple[RunNeedRow, ...]
    unreadable_total: int
    refused_total: int
    open_total: int


def attention(memory: "Slicebase", asked: AttentionQuery) -> Attention:
    """Returns the runs that need a look: unreadable, refused by the gate, or with something open."""
    found = run_needs(memory.truth.database, memory.truth.runs)
    unreadable = [each for each in found if each.problem is not None]
    refused = [each for each in found if each.problem is None and each.is_refused]
    rest = [each for each in found if each.problem is None and not each.is_refused]
    return Attention(
        unreadable=_rows(unreadable, asked.limit),
        refused=_rows(refused, asked.limit),
        open=_rows(rest, asked.limit),
        unreadable_total=len(unreadable),
        refused_total=len(refused),
        open_total=len(rest),
    )


def _rows(found: list[RunNeed], limit: int) -> tuple[RunNeedRow, ...]:
    return tuple(map(_row, found[:limit]))


def _row(each: RunNeed) -> RunNeedRow:
    return RunNeedRow(
        run=each.run_id,
        updated=known_time(each.updated),
        conflicts=each.conflicts,
        questions=each.questions,
        failures=each.failures,
        refused=each.is_refused,
        problem=each.problem,
    )


class Purges(Struct, frozen=True):
    """The number of the last purge, or 0, and of purged slice files. With others, words that were shown may be gone."""

    purges: int
    files: int


def purges(memory: "Slicebase", asked: Nothing) -> Purges:
    """Returns the number of the last purge, as `/changes` has it, and of purged files: a purge of no text is no act."""
    return Purges(last_purge(memory.truth.database.connection), memory.finder.index.ask(purged_files))


ENDPOINTS: Final = (
    get("/attention", "runs.list_runs", attention),
    get("/purges", "status", purges),
)
