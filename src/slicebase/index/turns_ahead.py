"""Prepares many turns for the index in another process, while this one writes those before them.

What is prepared depends on the truth alone, so the index is the same. What the process does not finish, whatever the
reason, is prepared here, from the turn at which it stopped: an error is raised here.
"""

import pickle
import sys
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from slicebase.core.ids import uuid_bytes
from slicebase.index.turn_rows import batches_of
from slicebase.index.turn_schema import IndexedTurn, ReadyTurn, UnreadableRow
from slicebase.index.wanted_turns import NoteRow, WantedTurns, wanted_turns
from slicebase.workspace.processes import end, ended_after, processors, serving

if TYPE_CHECKING:  # keeps start-up fast
    from subprocess import Popen

    from slicebase.truth.truth import Truth

_FIELDS: Final = len(IndexedTurn._fields)
_LONGEST: Final = 60  # seconds that a batch may take; most take less than one


class _Frame(NamedTuple):
    """What the process sends: a batch, in which each turn is one plain tuple, and the rows that cannot be read."""

    batch: list[tuple[Any, ...]]
    unreadable: list[UnreadableRow]
    is_last: bool = False


def batches_ahead(truth: "Truth", wanted: WantedTurns, note: NoteRow) -> Generator[list[ReadyTurn], None, None]:
    """Yields the turns to add, ready. Close it: that ends the process."""
    last, noted = "", set[UnreadableRow]()

    def note_once(row: UnreadableRow) -> None:
        if row not in noted:
            noted.add(row)
            note(row)

    if (process := _started(truth, wanted)) is not None:
        try:
            for frame in _frames_of(process):
                for row in frame.unreadable:
                    note_once(row)
                yield [ReadyTurn(IndexedTurn._make(row[:_FIELDS]), *row[_FIELDS:]) for row in frame.batch]
                if frame.is_last:
                    return
                last = frame.batch[-1][0]
        finally:
            end(process)
    yield from batches_of(wanted_turns(truth, wanted, note_once, _row_of(truth, last)))


def _row_of(truth: "Truth", turn: str) -> int:
    """Returns the number of a turn's row, 0 without a turn. It stays the same when turns before it are purged."""
    if not turn:
        return 0
    query = "SELECT coalesce(max(rowid), 0) FROM turns WHERE turn = ?"
    with truth.database.errors():
        return int(truth.database.connection.execute(query, (uuid_bytes(turn),)).get)


def _started(truth: "Truth", wanted: WantedTurns) -> "Popen[bytes] | None":
    """Returns a process that prepares turns; None if there can be none, or if it would not see what this one sees."""
    if processors() < 2 or truth.database.is_shared or truth.database.connection.in_transaction:
        return None
    with suppress(OSError):
        process = serving(__name__)
        try:
            assert process.stdin is not None
            process.stdin.write(pickle.dumps((str(truth.database.path), truth.database.file_id, wanted)))
            process.stdin.close()
        except OSError:
            end(process)
            raise
        return process
    return None


def _frames_of(process: "Popen[bytes]") -> Iterator[_Frame]:
    assert process.stdout is not None
    while True:
        frame = None
        # It has ended too early, or hangs; or something else writes there, which can raise any error.
        with suppress(Exception), ended_after(process, _LONGEST):
            frame = pickle.load(process.stdout)
        if not isinstance(frame, _Frame):
            return
        yield frame


# The other process


def serve() -> None:
    """Prepares the turns that the standard input names, and writes them to the standard output."""
    from slicebase.truth.truth import Truth

    # Whatever goes wrong here goes wrong again in the process that waits, and is reported there.
    with suppress(Exception, KeyboardInterrupt):
        path, file_id, wanted = pickle.load(sys.stdin.buffer)
        truth = Truth(Path(path))
        if truth.database.file_id != file_id:  # another database is at its path now
            return
        for frame in _frames(truth, wanted):
            pickle.dump(frame, sys.stdout.buffer, pickle.HIGHEST_PROTOCOL)
            sys.stdout.buffer.flush()


def _frames(truth: "Truth", wanted: WantedTurns) -> Iterator[_Frame]:
    unreadable: list[UnreadableRow] = []
    for batch in batches_of(wanted_turns(truth, wanted, unreadable.append)):
        # Without the texts, which are in no row of the index; and plain tuples are read three times as fast.
        yield _Frame([(*ready.turn._replace(text=""), *ready[1:]) for ready in batch], list(unreadable))
        unreadable.clear()
    yield _Frame([], unreadable, is_last=True)
