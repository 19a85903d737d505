"""The import of a session's transcript by a hook: what is short at once, what is long in a process of its own.

A client stops a hook after some seconds, and an import that is stopped stores nothing.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from slicebase.agents.clients import HookEvent, client_named
from slicebase.agents.hook_calls import HookCall
from slicebase.errors import SlicebaseError
from slicebase.history.notes import Compacted, CompactedNotes, ContextNotes
from slicebase.verbs.parts import Parts

Say = Callable[[str], object]  # tells the user something that is no error

# What is left to do after waiting takes about as long as what was done before it, on a busy machine, too.
_MARGIN: Final = (3.0, 2.0)  # what is not spent with waiting: seconds, and the share of the work up to now
_LAST_STEP: Final = (1.0, 0.25)  # the same for a text that the next prompt can show as well
_LONG: Final = 4 << 20  # bytes of a transcript that are read in about a second
_BUSY: Final = 3000  # milliseconds that a hook waits for another process that writes
_PAUSE: Final = 0.05  # seconds between two looks
LONGEST_WORK: Final = 600.0  # seconds of such a process; another one may have its number after that


@dataclass
class HookWork:
    """A call with what is needed to answer it."""

    parts: Parts
    call: HookCall
    wait: bool
    say: Say
    begun: float
    slept: float = 0.0  # seconds

    @property
    def notes(self) -> CompactedNotes:
        return CompactedNotes(self.parts.workspace.cache)

    @property
    def contexts(self) -> ContextNotes:
        return ContextNotes(self.parts.workspace.cache)

    @property
    def tokens(self) -> int:
        """The most tokens of a text: those of the client, else those of all."""
        own = getattr(self.parts.settings, f"hooks_{self.call.client.replace('-', '_')}_tokens", None)
        return own or self.parts.settings.hooks_tokens

    def can_wait(self) -> bool:
        """Returns whether the hook may wait longer, so that the client does not stop it while it does the rest."""
        return self._has(*_MARGIN)

    def has_time(self) -> bool:
        """Returns whether there is time for another text."""
        return self.wait or self._has(*_LAST_STEP)

    def _has(self, least: float, share: float) -> bool:
        spent = time.monotonic() - self.begun
        left = client_named(self.call.client).seconds(self.call.name) - spent
        return left > max(least, share * (spent - self.slept))

    def pause(self) -> None:
        """Waits a moment for another process."""
        before = time.monotonic()
        time.sleep(_PAUSE)
        self.slept += time.monotonic() - before


def import_transcript(work: HookWork) -> int:
    """Imports what is new in the transcript. Returns how many turns were added."""
    from slicebase.history.follow import follow

    parts, call = work.parts, work.call
    if call.transcript is None:
        raise SlicebaseError("no-input", "the client names no transcript")
    if truth_is_read_only(work):
        return 0
    followed = follow(
        parts.truth,
        parts.workspace.cache,
        call.transcript,
        parts.surroundings.redaction,
        session=call.session,
        is_growing=call.event != HookEvent.END,
    )
    if followed.left:
        work.say(f"{followed.left} bytes of {call.transcript} are left for the next hook")
    if followed.account.content_left_out:
        work.say(f"{followed.account.content_left_out} records of {call.transcript} cannot be read")
    return followed.account.added


def is_long(work: HookWork) -> bool:
    """Returns whether an import may take longer than the client allows, so that another process has to do it."""
    from slicebase.history.follow import unread

    path = work.call.transcript
    return not work.wait and path is not None and unread(work.parts.workspace.cache, path) > _LONG


def put_note(work: HookWork, note: Compacted) -> None:
    """Notes that a session is compacted. Where no note can be written, what was said is stored all the same."""
    try:
        work.notes.put(work.call.session, note)
    except (OSError, SlicebaseError):
        if is_long(work):
            start_reader(work)
        else:
            import_transcript(work)
        raise


def start_reader(work: HookWork) -> int:
    from slicebase.workspace.processes import start_alone

    root, call = work.parts.root, work.call
    given = ("--client", call.client, "--event", call.name, "--", call.session, str(call.transcript))
    return start_alone("--root", str(root), "hook", "read", *given, folder=root)


def is_read(work: HookWork, note: Compacted) -> bool:
    """Imports the transcript. Returns whether that is done: a long one is waited for as long as the client allows."""
    from slicebase.workspace.processes import is_running

    if note.reader is None:
        if not is_long(work):
            import_transcript(work)
            return True
        note.reader, note.reading = start_reader(work), time.time()
    while is_running(note.reader) and abs(time.time() - note.reading) < LONGEST_WORK:
        if not work.can_wait():
            return False
        work.pause()
    note.reader = None
    return True


def read_transcript(parts: Parts, call: HookCall) -> None:
    """Imports a transcript, however long that takes."""
    work = HookWork(parts, call, True, lambda text: None, time.monotonic())
    while import_transcript(work) and _has_more(work):
        pass


def _has_more(work: HookWork) -> bool:
    from slicebase.history.follow import unread

    return work.call.transcript is not None and unread(work.parts.workspace.cache, work.call.transcript) > _LONG


def truth_is_read_only(work: HookWork) -> bool:
    database = work.parts.truth.database
    database.wait(_BUSY)
    return database.read_only


def summaries_of(work: HookWork) -> int:
    """Returns how many summaries a session has; none if it is not stored."""
    from slicebase.history.paths import summaries

    return len(summaries(work.parts.truth, work.call.session))
