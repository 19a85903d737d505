"""What a compaction lost, for the prompt after it: a process in the background finds it once the summary is there.

That takes about a second for each megabyte of a session, and a client stops a hook after ten. So the process that was
started before the compaction waits for the summary, and a prompt waits for the process, or leaves it to the next one.
"""

import os
import time
from contextlib import suppress
from typing import Final

from slicebase.agents.hook_calls import HookCall
from slicebase.history.notes import Compacted, CompactedNotes
from slicebase.verbs.hook_imports import LONGEST_WORK, HookWork, read_transcript
from slicebase.verbs.parts import Parts

_SHORT: Final = 256 << 10  # bytes of a session whose losses a hook finds by itself
_TRIES: Final = 2  # processes that are started for one compaction
_PATIENCE: Final = 180.0  # seconds in which a client writes the summary
_LOOK: Final = 0.25  # seconds between two looks at the transcript


def find_losses(parts: Parts, session: str, call: HookCall | None = None, before: int | None = None) -> None:
    """Finds what a compaction lost, and keeps it.

    With the number of summaries `before` a compaction that has only begun, it waits for the next one.
    """
    from slicebase.verbs.lost_prepared import prepare_losses

    if before is None or _has_summary(parts, session, before, call):
        prepare_losses(parts, parts.stored_names.id("session", session))


def _has_summary(parts: Parts, session: str, before: int, call: HookCall | None) -> bool:
    """Waits until a session has more summaries than before. Nobody waits if a prompt has reported, or it has ended.

    A transcript that grows by lines is followed. Of others the size does not tell that they have changed, and all of a
    session is read each time: what a prompt or the end of an answer imports is enough.
    """
    from slicebase.history.paths import summaries

    notes, until, seen = CompactedNotes(parts.workspace.cache), time.monotonic() + _PATIENCE, None
    while (note := notes.get(session)) is not None and not note.lost and time.monotonic() < until:
        now = _size(call), parts.truth.database.state
        if now != seen:
            if call is not None and (seen is None or now[0] != seen[0]):
                read_transcript(parts, call)
            if len(summaries(parts.truth, session)) > before:
                return True
        if note.ended or call is None:
            break
        seen = now
        time.sleep(_LOOK)
    return False


def _size(call: HookCall | None) -> int:
    """Returns the bytes of a transcript that grows by lines; 0 for others, and for one that is gone."""
    from slicebase.history.reread import GROWING_LINES

    if call is None or call.transcript is None or call.transcript.suffix != GROWING_LINES:
        return 0
    with suppress(OSError):
        return os.stat(call.transcript).st_size
    return 0


def are_found(work: HookWork, note: Compacted) -> bool:
    """Returns whether the losses of a compaction are known, or need little time; waits as long as the client allows.

    A process that was killed is replaced once. If that does not help either, the prompt names `tt lost`.
    """
    from slicebase.history.paths import summaries
    from slicebase.verbs.lost_prepared import is_prepared
    from slicebase.workspace.processes import is_running, start_alone

    parts, session = work.parts, work.call.session
    if work.wait or parts.truth.texts.size(f"session:{session}") <= _SHORT:
        return True
    newest = next(reversed(summaries(parts.truth, session)), None)
    while newest is not None:
        is_young = abs(time.time() - note.finding) < LONGEST_WORK
        runs = note.finder is not None and is_young and is_running(note.finder)
        if is_prepared(parts, session, newest):
            return True
        if not runs and note.finds >= _TRIES:
            note.looks = True
            return True
        if not runs:
            command = ("hook", "find", "--client", work.call.client, "--", session)
            note.finder = start_alone("--root", str(parts.root), *command, folder=parts.root)
            note.finding, note.finds = time.time(), note.finds + 1
            work.notes.keep(session, note)
        if not work.can_wait():
            return False
        work.pause()
    return True
