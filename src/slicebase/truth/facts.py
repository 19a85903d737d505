"""The title and facts of sessions: how those of later imports are added, and what a purge leaves of them."""

from typing import Any

from msgspec.structs import replace

from slicebase.graph.record import read_session, session_bytes
from slicebase.graph.turn import Session

PURGED_FACT = "purged"  # what marks a session of which something was purged


def merged(before: Session, session: Session) -> Session:
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
    return {name: value for name, value in session.facts.items() if name == "shown_last"}
