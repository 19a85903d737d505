"""What needs a look in the runs of a database: what is open, what the gate stopped, and what cannot be read.

The counts come from derived tables, so that a thousand runs are asked at once. Of a run that goes on, the last snapshot
is compared with its digest: nothing can be added to a run whose snapshot is damaged.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

from slicebase.errors import SlicebaseError
from slicebase.runs.status import RunEntry
from slicebase.truth.database import Database
from slicebase.truth.run_log import owner
from slicebase.truth.runs import StoredRuns

_REFUSED: Final = "SYSTEM_ERROR"  # why a run has stopped whose compaction did not pass
_ASKED: Final = """
    SELECT items.run, items.type, count(*) FROM runs JOIN items ON items.run = runs.run
    WHERE runs.stopped IS NULL AND items.type = 'QUESTION' AND items.stated > 0 GROUP BY 1, 2"""
# The status of a conflict or a failure is in the last event about it.
_STATED: Final = """
    SELECT items.run, items.type, count(*) FROM runs JOIN items ON items.run = runs.run
    JOIN events ON events.run = items.run AND events.seq =
      CASE WHEN items.changed > items.stated THEN items.changed ELSE items.stated END
    JOIN texts ON texts.owner = '{owner}' || items.run AND texts.hash = events.payload
    WHERE runs.stopped IS NULL AND items.type IN ('CONFLICT', 'FAILURE') AND texts.bytes IS NOT NULL
      AND {status} = 'open' GROUP BY 1, 2"""


class RunNeed(NamedTuple):
    """A run that needs a look: what is open in it, why it cannot be read, or that the gate stopped it."""

    run_id: str
    updated: str
    conflicts: int
    questions: int
    failures: int
    is_refused: bool
    problem: str | None

    @property
    def is_open(self) -> bool:
        """Whether a conflict, a question or a failure is open in it."""
        return bool(self.conflicts or self.questions or self.failures)


def run_needs(database: Database, runs: StoredRuns) -> list[RunNeed]:
    """Returns the runs that need a look, the last changed first."""
    with runs.log.reading():
        open_ = _open_items(database)
        found = [_need(runs, runs.entry(tally), open_) for tally in list(runs.log.tallies())]
    return [each for each in found if each.is_open or each.is_refused or each.problem is not None]


def _open_items(database: Database) -> Mapping[tuple[str, str], int]:
    counts = Counter[tuple[str, str]]()
    stated = _STATED.format(owner=owner(""), status=database.dialect.field.format("texts.bytes", "status"))
    for query in (_ASKED, stated):
        for run_id, type_, number in database.connection.execute(query):
            counts[str(run_id), str(type_)] = int(number)
    return counts


def _need(runs: StoredRuns, entry: RunEntry, open_: Mapping[tuple[str, str], int]) -> RunNeed:
    problem = None if entry.problem == "purged" else entry.problem
    if problem is None and entry.stopped is None and entry.tally.sequence:
        try:
            runs.snapshots.check(entry.id, entry.tally.sequence)
        except SlicebaseError as error:
            problem = None if error.code == "purged" else error.message
    return RunNeed(
        entry.id,
        entry.tally.updated,
        conflicts=open_.get((entry.id, "CONFLICT"), 0),
        questions=open_.get((entry.id, "QUESTION"), 0),
        failures=open_.get((entry.id, "FAILURE"), 0),
        is_refused=entry.stopped == _REFUSED,
        problem=problem,
    )
