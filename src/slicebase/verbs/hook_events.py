"""What follows a call of a hook: what is kept of the session, and the text that the agent gets.

A hook runs at every prompt, so this module imports what an event needs when it comes.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from slicebase.agents.clients import HookEvent
from slicebase.agents.hook_calls import HookCall
from slicebase.errors import SlicebaseError
from slicebase.history.notes import Compacted, CompactedNotes
from slicebase.verbs.parts import Parts

if TYPE_CHECKING:
    from slicebase.context.assemble import Context

Say = Callable[[str], object]  # tells the user something that is no error


def respond(parts: Parts, call: HookCall, *, wait: bool = False, say: Say = lambda text: None) -> str | None:
    """Does what an event asks for, and returns the text for the agent. With `wait`, nothing is left to others."""
    return _RESPONSES[call.event](parts, call, wait, say)


def narrate_compacted(parts: Parts, session: str) -> None:
    """Projects a session as a run, compacts it, writes its narrative, and notes that the agent can get it."""
    from slicebase.verbs.runs import Runs
    from slicebase.verbs.session_runs import narrate_session

    narrative = narrate_session(Runs(parts), session, parts.truth.turns.session(session).facts.get("shown_last"))
    notes = CompactedNotes(parts.workspace.cache)
    if notes.get(session) is not None:  # the next prompt may have dropped the note already
        notes.put(session, Compacted(narrative.file_id))


def _session_start(parts: Parts, call: HookCall, wait: bool, say: Say) -> str | None:
    from slicebase.verbs.newest import project_context

    return _shown(parts, project_context(parts, parts.settings.hooks_tokens, record=False))


def _shown(parts: Parts, built: "Context") -> str | None:
    """Returns the text of a context that has pieces, and records it: what an agent sees can be replayed."""
    from slicebase.verbs.record import recorded

    return recorded(parts, built).text if built.pieces else None


def _after_compaction(parts: Parts, call: HookCall, wait: bool, say: Say) -> str | None:
    """Returns the narrative if it is written. The note stays until a prompt has shown what the compaction lost."""
    notes = CompactedNotes(parts.workspace.cache)
    compacted = notes.get(call.session)
    if compacted is None or compacted.reported or compacted.narrative is None:
        return None
    text = _narrative(parts, compacted.narrative)
    with suppress(OSError, SlicebaseError):  # where nothing can be written, it is shown again
        notes.put(call.session, Compacted(compacted.narrative, reported=True))
    return text


def _prompt(parts: Parts, call: HookCall, wait: bool, say: Say) -> str | None:
    notes = CompactedNotes(parts.workspace.cache)
    compacted = notes.get(call.session)
    if compacted is None:
        return None
    from slicebase.verbs.lost import lost_context

    told = None if compacted.reported or compacted.narrative is None else _narrative(parts, compacted.narrative)
    _import(parts, call, wait, say)
    most = parts.settings.hooks_tokens
    lost = _shown(parts, lost_context(parts, call.session, most, prompt=call.prompt, record=False))
    with suppress(OSError, SlicebaseError):
        notes.drop(call.session)  # last: after an error, the next prompt tries again
    return "\n\n".join(filter(None, (told, lost))) or None


_FOOTER: Final = 20  # tokens of a page, for its number


def _narrative(parts: Parts, file_id: str) -> str | None:
    """Returns the text of a narrative in the size for a hook; None if its file was removed or purged since."""
    from slicebase.context.recall import pages
    from slicebase.core.hashing import tokens
    from slicebase.library.narratives import shorter_narrative

    most = parts.settings.hooks_tokens
    try:
        pieces = parts.library.reader().pieces([f"file:{file_id}"])
        frame = tokens(pages([pieces[0]._replace(text="")])[0].text) + _FOOTER
        shorter = shorter_narrative(parts.truth, parts.library.folder.find(file_id), most - frame)
        return pages([pieces[0]._replace(text=shorter)] if shorter else pieces, most)[0].text
    except SlicebaseError as error:
        if error.code not in ("no-file", "purged"):
            raise
        return None


def _before_compaction(parts: Parts, call: HookCall, wait: bool, say: Say) -> None:
    if parts.truth.database.read_only:
        return
    _import(parts, call, wait, say)
    CompactedNotes(parts.workspace.cache).put(call.session, Compacted())
    if wait:
        narrate_compacted(parts, call.session)
    else:
        _in_background(parts, call.session)


def _in_background(parts: Parts, session: str) -> None:
    """Starts a process that narrates the session. This takes seconds for a long one, and the agent must not wait."""
    from slicebase.workspace.processes import start_alone

    start_alone("--root", str(parts.root), "hook", "narrate", session, folder=parts.root)


def _import(parts: Parts, call: HookCall, wait: bool, say: Say) -> None:
    from slicebase.history.follow import follow

    if call.transcript is None:
        raise SlicebaseError("no-input", "the client names no transcript")
    if not parts.truth.database.read_only:
        followed = follow(
            parts.truth,
            parts.workspace.cache,
            call.transcript,
            parts.surroundings.redaction,
            session=call.session,
            is_growing=call.event != HookEvent.END,
        )
        if followed.left:
            say(f"{followed.left} bytes of {call.transcript} are left for the next hook")
        if followed.account.content_left_out:
            say(f"{followed.account.content_left_out} records of {call.transcript} cannot be read")


_RESPONSES: Final[Mapping[HookEvent, Callable[[Parts, HookCall, bool, Say], str | None]]] = {
    HookEvent.START: _session_start,
    HookEvent.PROMPT: _prompt,
    HookEvent.BEFORE_COMPACTION: _before_compaction,
    HookEvent.AFTER_COMPACTION: _after_compaction,
    HookEvent.END: _import,
}
