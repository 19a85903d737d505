"""The title and facts of sessions: how those of later imports are added, and what a purge leaves of them."""

from typing import Any

from msgspec.structs import replace

from slicebase.core.hashing import raw_digest
from slicebase.graph.record import SessionRecord, read_session, session_bytes, session_record
from slicebase.graph.session import COPY_FACT, PURGED_FACT, SHOWN_FACT
from slicebase.graph.turn import Session
from slicebase.truth.chains import Chain
from slicebase.truth.database import Database
from slicebase.truth.texts import keep_texts

# Where a session was held: a copy of its turns in another folder does not move it.
_HELD = ("cwd", "git_branch", "version")


def append_facts(
    database: Database,
    session: Session,
    newest: SessionRecord | None,
    before: Session | None,
    *,
    is_copy: bool,
    copied: str | None,
) -> None:
    """Appends the facts of a session that the source states, if they are new or changed.

    `is_copy` says that none of the turns beside them is new, and `copied` which session has all turns of this one so
    far: it is empty if none has, and None if that is not known, or this one has turns of its own.
    """
    if copied is not None:
        session = replace(session, facts={**session.facts, COPY_FACT: copied})
    elif before and not is_copy and COPY_FACT in before.facts:  # it has its own turns, too
        before = replace(before, facts={name: value for name, value in before.facts.items() if name != COPY_FACT})
    if is_copy and before:
        held = {name: before.facts[name] for name in _HELD if name in before.facts}
        session = replace(session, facts={**session.facts, **held})
    text = session_bytes(_merged(before, session) if before else session)
    text_hash = raw_digest(text)
    name = "sha256:" + text_hash.hex()
    if newest is None or newest.content_hash != name:
        keep_texts(database.connection, f"session:{session.id}", {text_hash: text})
        database.append(Chain("sessions", session.id), [(session_record(session.id, name),)])


def _merged(before: Session, session: Session) -> Session:
    """Returns the stored facts of a session, updated with the new ones. What was purged does not come back."""
    if before.facts.get(PURGED_FACT):
        session = without_texts(session)
    return replace(before, title=session.title or before.title, facts={**before.facts, **session.facts})


def marked_as_purged(text: bytes) -> bytes:
    """Returns the text of a session with the mark that keeps its title and facts from coming back."""
    session = read_session(text)
    return session_bytes(replace(session, facts={**session.facts, PURGED_FACT: True}))


def without_texts(session: Session) -> Session:
    """Returns what a purge leaves of a session: no title, and only the fact that names a turn."""
    return Session(session.id, session.format, None, {PURGED_FACT: True, **_kept_facts(session)})


def _kept_facts(session: Session) -> dict[str, Any]:
    return {name: value for name, value in session.facts.items() if name == SHOWN_FACT}
