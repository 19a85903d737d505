"""Steps of runs: their numbers, and what becomes of one whose process ends before it.

A number is given inside the transaction that logs it (ruling 47): it follows the highest number that the run has, so
that all who write to a run, in processes, threads and tasks, get numbers without gaps and doubles.

While a step is open, its process holds a file beside the database, which all worktrees share. If nobody holds it any
more, the step was interrupted: its process was killed, its object was dropped, or its end could not be written. Whoever
begins the next step of the run, stops the run or asks for its status closes the interrupted step: with a failure, and
with the terminal events that it did not log. The file is removed before the transaction is committed. So none is left
behind, and a step that loses its file without an end counts as interrupted.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NamedTuple

from slicebase.core.hashing import digest
from slicebase.core.times import to_text
from slicebase.errors import SlicebaseError
from slicebase.runs.event import STEP_BEGUN, STEP_ENDED, WATCHED, EventDraft
from slicebase.runs.items import step_failure_id
from slicebase.runs.records import FailureLogged
from slicebase.truth.database import Database
from slicebase.truth.run_log import Appender, run_closed
from slicebase.truth.run_writer import RunWriter
from slicebase.truth.runs import StoredRuns
from slicebase.workspace.holds import HeldFile, is_free, remove_free
from slicebase.workspace.workspace import STEPS

_WHY: Final = "Nobody ended the step: its process has ended, its object was dropped, or its end could not be written."


class BegunStep(NamedTuple):
    """A step that was begun: its number, the file that is held for it, and the steps that were closed before it.

    `warnings` are of budgets: time passes before a step, too.
    """

    number: int
    held: HeldFile | None
    interrupted: tuple[int, ...]
    warnings: tuple[str, ...]


class StoredSteps:
    """The steps of the runs of a database."""

    def __init__(self, runs: StoredRuns, database: Database) -> None:
        self._runs = runs
        self._database = database
        self._folder = database.path.with_name(STEPS)

    def begin(self, run_id: str, now: int, *, watched: bool = True) -> BegunStep:
        """Begins the next step of a run, after closing those that were interrupted.

        A step that is not `watched` is never closed by others: nobody can know whether it goes on. In a database that
        other machines use, none is: they do not see the files of this one.
        """
        watched = watched and not self._database.is_shared
        held: HeldFile | None = None
        number = 0
        try:
            with self._runs.log.appending(run_id) as appender:
                if appender.tally.stopped is not None:
                    raise run_closed(appender.tally)
                writer = RunWriter(self._runs, appender, to_text(now), watch=False)
                interrupted = self._close(writer, appender)
                if appender.tally.stopped is None:
                    number = self._runs.log.last_step(run_id) + 1
                    held = HeldFile(self._path(run_id, number)) if watched else None
                    begun = EventDraft(type=STEP_BEGUN, step=number, payload=dict(WATCHED) if watched else {})
                    writer.add_own(begun)
            warned = writer.outcome().warnings
        except BaseException:
            if held is not None:
                held.remove()
            raise
        return BegunStep(number, held, interrupted, warned)

    def end(
        self,
        run_id: str,
        step: BegunStep,
        now: Callable[[], int],
        failed: Callable[[str], FailureLogged] | None = None,
    ) -> tuple[str, ...]:
        """Ends a step: logs its failure, which gets an id here, and the terminal events that the log has not.

        Returns the warnings that this causes. The log decides, not the memory of a process: an interruption can come
        between a commit and the next line. Does nothing if the run has stopped meanwhile, or if the step was closed by
        others because its file was gone.
        """
        writer = None
        try:
            with self._runs.log.appending(run_id) as appender:
                known = self._runs.log.step(run_id, step.number)
                if appender.tally.stopped is None and known is not None and known.begun:
                    writer = RunWriter(self._runs, appender, to_text(now()))
                    failure = failed(step_failure_id(self._runs.items(run_id), step.number)) if failed else None
                    _log_end(writer, appender, step.number, failure, known.missing)
                if step.held is not None:
                    step.held.remove()
        finally:
            if step.held is not None:
                step.held.remove()
        return writer.outcome().warnings if writer is not None else ()

    def settle(self, run_id: str, now: int) -> tuple[int, ...]:
        """Closes the steps of a run that were interrupted. Returns them, also where they cannot be closed now.

        A run that stops with them, since they exceed a budget, is no error here. One that has stopped stays as it is.
        """
        found = self.interrupted(run_id)
        if not found or self._database.read_only:
            return found
        try:
            with self._runs.log.appending(run_id) as appender:
                if appender.tally.stopped is not None:
                    return ()
                return self._close(RunWriter(self._runs, appender, to_text(now), watch=False), appender)
        except SlicebaseError:  # another process writes for long, or the disk is full: the next call closes them
            return found

    def interrupted(self, run_id: str) -> tuple[int, ...]:
        """Returns the steps of an open run that have not ended and that nobody holds any more."""
        if self._runs.is_closed(run_id):
            return ()
        return tuple(step for step in self._runs.log.open_steps(run_id) if is_free(self._path(run_id, step)))

    def _close(self, writer: RunWriter, appender: Appender) -> tuple[int, ...]:
        """Closes steps that nobody holds, unless a budget stops the run meanwhile. Returns those that it closed."""
        run_id, closed = appender.tally.run_id, []
        items = self._runs.items(run_id)
        for step, known in self._runs.log.open_steps(run_id).items():
            path = self._path(run_id, step)
            if appender.tally.stopped is not None or not is_free(path):
                continue
            failure = FailureLogged(
                failure_id=step_failure_id(items, step), category="interrupted", where=f"step {step}", why=_WHY
            )
            _log_end(writer, appender, step, failure, known.missing)
            remove_free(path)
            closed.append(step)
        return tuple(closed)

    def _path(self, run_id: str, step: int) -> Path:
        """Returns the path of the file of a step. The id of a run can be longer than the name of a file."""
        return self._folder / f"{digest(run_id.encode())[7:39]}-{step}"


def _log_end(
    writer: RunWriter, appender: Appender, step: int, failure: FailureLogged | None, missing: Iterable[str]
) -> None:
    """Logs how a step ended, up to the event that stops the run."""
    drafts = [EventDraft.of("FAILURE", failure, step=step)] if failure is not None else []
    drafts += [EventDraft(type=name, step=step) for name in missing]
    for draft in (*drafts, EventDraft(type=STEP_ENDED, step=step)):
        if appender.tally.stopped is None:
            writer.add_own(draft)
