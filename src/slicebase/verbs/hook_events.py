"""What follows a call of a hook: what is kept of the session, and the text that the agent gets.

A session's agent gets the files of the project once, and again when a compaction has taken them from its context. After
a compaction it also gets the narrative of the session and what the summary lost, each once: with the first event at
which they are ready, however long the work in the background takes.

A hook runs at every prompt, so this module imports what an event needs when it comes.
"""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from slicebase.agents.clients import HookEvent, client_named
from slicebase.agents.hook_calls import HookCall
from slicebase.errors import SlicebaseError
from slicebase.history.notes import Compacted, CompactedNotes, SessionContext
from slicebase.verbs.hook_imports import (
    LONGEST_WORK,
    HookWork,
    Say,
    import_transcript,
    is_long,
    is_read,
    put_note,
    read_transcript,
    start_reader,
    summaries_of,
    truth_is_read_only,
)
from slicebase.verbs.hook_losses import are_found, find_losses
from slicebase.verbs.parts import Parts

if TYPE_CHECKING:
    from slicebase.context.assemble import Context
    from slicebase.verbs.newest import ShownFiles

_TRIES: Final = 2  # processes that are started for one narrative
_LINES: Final = ".jsonl"  # transcripts that grow by lines


def respond(
    parts: Parts, call: HookCall, *, wait: bool = False, say: Say = lambda text: None, begun: float | None = None
) -> str | None:
    """Does what an event asks for, and returns the text for the agent. With `wait`, nothing is left to others.

    `begun` is when the client's call came, on the monotonic clock.
    """
    return _RESPONSES[call.event](HookWork(parts, call, wait, say, time.monotonic() if begun is None else begun))


def narrate_compacted(parts: Parts, session: str, unread: HookCall | None = None) -> None:
    """Projects a session as a run, compacts it, writes its narrative, and notes that the agent can get it.

    What is `unread` of its transcript is imported before. Then it finds what the compaction lost.
    """
    from slicebase.verbs.runs import Runs
    from slicebase.verbs.session_runs import narrate_session

    notes, narrative = CompactedNotes(parts.workspace.cache), None
    begun = notes.get(session)  # the hook of the session's start says later that nothing is to be waited for
    try:
        if unread is not None:
            read_transcript(parts, unread)
        session = parts.stored_names.id("session", session)
        leaf = parts.truth.turns.session(session).facts.get("shown_last")
        narrative = narrate_session(Runs(parts), session, leaf).file_id
    finally:
        notes.narrated(session, narrative, os.getpid())
    find_losses(parts, session, unread, begun.before if begun is not None else None)


# Events


def _session_start(work: HookWork) -> str | None:
    """Returns the files of the project; for a session that is resumed, those that its context does not have yet."""
    from slicebase.verbs.newest import ShownFiles

    known, is_start, own = work.contexts.get(work.call.session), work.call.event == HookEvent.START, None
    before = known or SessionContext()
    if is_new := is_start and work.call.source != "resume":
        before = replace(before, files={}, passed=[])
    if is_start and not client_named(work.call.client).adds_at_start:
        work.contexts.put(work.call.session, replace(before, is_new=True))
        return None
    if not is_new and (known or work.notes.get(work.call.session)):
        from slicebase.verbs.session_runs import run_of

        own = run_of(work.call.session)  # a prompt shows its narrative, once; a second process may write one more later
    return _files(work, ShownFiles(before.files, frozenset(before.passed), but=own))


def _before_compaction(work: HookWork) -> None:
    """Imports the transcript, and begins with the narrative. A client that only may compact now is not waited for."""
    if client_named(work.call.client).tells_compactions and not truth_is_read_only(work):
        note = Compacted(before=summaries_of(work))
        put_note(work, note)  # if the import fails, a prompt tries again
        if not is_long(work):
            import_transcript(work)
            note.before = summaries_of(work)
        _begin_narrative(work, note)


def _after_compaction(work: HookWork) -> str | None:
    """Returns the files of the project again, and the narrative if it is written in time.

    The note stays until a prompt has shown what the compaction lost: its summary may not be in the transcript yet.
    """
    note = work.notes.get(work.call.session)
    if note is None or not _is_begun(note):
        note = Compacted()
        if truth_is_read_only(work):
            return _files_again(work, note)
        try:
            put_note(work, note)
        except (OSError, SlicebaseError) as error:
            work.say(str(error))
            return _files_again(work, note)
        if not is_long(work):
            import_transcript(work)
    note.before = None  # the client has said it: there was a compaction
    told = _narrative(work, note)
    files = _files_again(work, note)
    _keep(work, note)
    return _joined(told, files)


def _prompt(work: HookWork) -> str | None:
    """Returns what a compaction has made necessary; for some clients, also what the start of the session could not."""
    before = work.contexts.get(work.call.session) if not client_named(work.call.client).adds_at_start else None
    since = _since_compaction(work)
    return _joined(since, _session_start(work) if before is not None and before.is_new else None)


def _since_compaction(work: HookWork) -> str | None:
    note = work.notes.get(work.call.session) or _untold_compaction(work)
    if note is None:
        return None
    if not note.lost:
        if not is_read(work, note):
            _keep(work, note)
            return None
        count = summaries_of(work)
        _note_look(work, summaries=count)
        if note.before is not None and count <= note.before:  # nothing was compacted after all
            work.notes.drop(work.call.session)
            return None
    note.before = None
    lost = None
    if not note.lost and are_found(work, note):
        lost, note.lost = _lost(work, note), True
    told = _narrative(work, note)
    files = _files_again(work, note)
    _keep(work, note)  # last: after an error, the next prompt tries again
    return _joined(told, lost, files)


def _session_end(work: HookWork) -> None:
    if is_long(work):
        start_reader(work)
    else:
        import_transcript(work)
    note = work.notes.get(work.call.session)
    if note is not None and not note.ended:
        note.ended = True
        _keep(work, note)


_RESPONSES: Final[Mapping[HookEvent, Callable[[HookWork], str | None]]] = {
    HookEvent.START: _session_start,
    HookEvent.PROMPT: _prompt,
    HookEvent.BEFORE_COMPACTION: _before_compaction,
    HookEvent.AFTER_COMPACTION: _after_compaction,
    HookEvent.END: _session_end,
}


# Compactions


def _untold_compaction(work: HookWork) -> Compacted | None:
    """Returns a note on a compaction since the last prompt, of a client that does not tell of them.

    The transcript is imported only if its new lines may have one: to read all of it takes seconds.
    """
    from slicebase.history.live_files import has_marks

    path, client = work.call.transcript, client_named(work.call.client)
    if client.tells_compactions or path is None or truth_is_read_only(work):
        return None
    known = work.contexts.get(work.call.session) or SessionContext()
    before = summaries_of(work) if known.summaries is None else known.summaries
    may_be, place = False, known.looked
    if path.exists():  # not before the first answer
        may_be, place = has_marks(path, known.looked, client.compaction_marks if path.suffix == _LINES else ())
    if may_be and is_long(work):
        _note_look(work, summaries=before, looked=place)
        return Compacted(before=before)
    if may_be:
        import_transcript(work)
    now = summaries_of(work) if may_be else before
    _note_look(work, summaries=now, looked=place)
    return _begin_narrative(work, Compacted()) if now > before else None


def _note_look(work: HookWork, **seen: Any) -> None:
    """Notes what was seen of compactions, if the client does not tell of them."""

    def changed(known: SessionContext | None) -> SessionContext | None:
        now = replace(known or SessionContext(), **seen)
        return now if now != (known or SessionContext()) else None

    if not client_named(work.call.client).tells_compactions:
        with suppress(OSError, SlicebaseError):
            work.contexts.change(work.call.session, changed)


def _begin_narrative(work: HookWork, note: Compacted) -> Compacted:
    """Notes that a session is compacted, and starts the work on its narrative: for a long one, it takes seconds."""
    work.notes.put(work.call.session, note)
    if work.wait:
        narrate_compacted(work.parts, work.call.session)
        return work.notes.get(work.call.session) or note
    from slicebase.workspace.processes import start_alone

    root = work.parts.root
    note.tries += 1
    reads = ("--transcript", str(work.call.transcript)) if work.call.transcript is not None else ()
    command = ("hook", "narrate", "--client", work.call.client, *reads, "--", work.call.session)
    note.worker, note.begun = start_alone("--root", str(root), *command, folder=root), time.time()
    note.finder, note.finding, note.finds = note.worker, note.begun, note.finds + 1
    work.notes.keep(work.call.session, note)  # it may be written already
    return note


def _narrative(work: HookWork, note: Compacted) -> str | None:
    """Returns the narrative once, if it is there before the time is over; a process that was killed is replaced."""
    from slicebase.verbs.newest import seen_files

    if note.reported:
        return None
    if not _is_begun(note):
        begun = _begin_narrative(work, note)
        note.narrative, note.tries = begun.narrative, max(begun.tries, 1)
    note.narrative, note.worker = _awaited(work, note)
    if note.narrative is not None and not work.has_time():
        return None  # the next prompt shows it
    if note.narrative is not None:
        text = _narrative_text(work, note.narrative)
        note.reported = True
        kept = work.contexts.get(work.call.session) or SessionContext()
        versions, _ = seen_files(work.parts, {f"file:{note.narrative}"})
        _note_files(work, {**kept.files, **versions}, kept.passed)
        return text
    is_over = not _is_running(note)
    if is_over and note.worker is not None and note.tries < _TRIES:
        _begin_narrative(work, note)
    elif is_over:
        note.reported = True  # it failed, which `tt doctor` tells
    return None


def _is_begun(note: Compacted) -> bool:
    """Returns whether the narrative is written, or a process was started for it: the import before that may fail."""
    return note.narrative is not None or note.tries > 0


def _awaited(work: HookWork, note: Compacted) -> tuple[str | None, int | None]:
    """Waits for the narrative, as long as the client allows. Returns its file, and the process that makes it."""
    while note.narrative is None and note.worker is not None:
        is_over = not _is_running(note) or not work.can_wait()
        now = work.notes.get(work.call.session)  # after the look at the process, which writes the note at its end
        if now is None or now.narrative is not None or now.worker is None:
            return (now.narrative, now.worker) if now else (None, None)
        if is_over:
            break
        work.pause()
    return note.narrative, note.worker


def _is_running(note: Compacted) -> bool:
    from slicebase.workspace.processes import is_running

    return note.worker is not None and abs(time.time() - note.begun) < LONGEST_WORK and is_running(note.worker)


def _keep(work: HookWork, note: Compacted) -> None:
    """Keeps what is still to be reported. Where nothing can be written, everything is reported again."""
    with suppress(OSError, SlicebaseError):
        if note.reported and note.lost and note.files:
            work.notes.drop(work.call.session)
        else:
            work.notes.keep(work.call.session, note)


# Texts


_NOT_IN_TIME: Final = (
    "What the compaction lost takes longer to find than a hook may take. `tt lost`, or the tool `lost`, lists it."
)


def _lost(work: HookWork, note: Compacted) -> str | None:
    """Returns what the compaction lost. If what looked for it was stopped, nothing looks again."""
    from slicebase.verbs.lost import lost_context
    from slicebase.verbs.lost_prepared import PreparedNotes

    if note.looks:
        return _NOT_IN_TIME
    call, note.looks = work.call, True
    _keep(work, note)
    try:
        known = PreparedNotes(work.parts.workspace.cache).get(call.session)
        found = lost_context(work.parts, call.session, work.tokens, prompt=call.prompt, record=False, prepared=known)
        return _shown(work, found)
    except Exception:
        note.looks = False  # it was not stopped: the next prompt tries again
        _keep(work, note)
        raise


def _files_again(work: HookWork, note: Compacted) -> str | None:
    """Returns people's own files once after a compaction, which has taken them from the context."""
    from slicebase.verbs.newest import ShownFiles

    if note.files or not work.has_time():
        return None
    note.files = True
    kept = work.contexts.get(work.call.session)
    told = {name: version for name, version in (kept.files if kept else {}).items() if name == note.narrative}
    return _files(work, ShownFiles(told, own_only=True))


def _files(work: HookWork, known: "ShownFiles") -> str | None:
    """Returns the files of the project, and notes which the session has in its context."""
    from slicebase.verbs.newest import project_context, seen_files

    built = project_context(work.parts, work.tokens, record=False, known=known)
    text = _shown(work, built)
    versions, passed = seen_files(work.parts, {piece.ref for piece in built.pieces})
    _note_files(work, {**known.versions, **versions}, passed)
    return text


def _note_files(work: HookWork, files: dict[str, str], passed: list[str]) -> None:
    """Notes which files a session's context has, and which it could have had."""
    with suppress(OSError, SlicebaseError):
        work.contexts.change(
            work.call.session,
            lambda note: replace(note or SessionContext(), files=files, passed=passed, is_new=False),
        )


def _shown(work: HookWork, built: "Context") -> str | None:
    """Returns the text of a context that has pieces, and records it: what an agent sees can be replayed.

    If another process holds the database, or the disk is full, the agent sees it nevertheless.
    """
    from slicebase.verbs.record import recorded

    if not built.pieces:
        return None
    try:
        truth_is_read_only(work)
        return recorded(work.parts, built).text
    except SlicebaseError as error:
        if error.code not in ("locked", "disk-full"):
            raise
        return built.text


_FOOTER: Final = 20  # tokens of a page, for its number


def _narrative_text(work: HookWork, file_id: str) -> str | None:
    """Returns the text of a narrative in the size for a hook; None if its file was removed or purged since."""
    from slicebase.context.recall import pages
    from slicebase.core.hashing import tokens
    from slicebase.library.narratives import shorter_narrative

    library, most = work.parts.library, work.tokens
    try:
        pieces = library.reader().pieces([f"file:{file_id}"])
        frame = tokens(pages([pieces[0]._replace(text="")])[0].text) + _FOOTER
        shorter = shorter_narrative(work.parts.truth, library.folder.find(file_id), most - frame)
        return pages([pieces[0]._replace(text=shorter)] if shorter else pieces, most)[0].text
    except SlicebaseError as error:
        if error.code not in ("no-file", "purged"):
            raise
        return None


def _joined(*texts: str | None) -> str | None:
    return "\n\n".join(filter(None, texts)) or None
