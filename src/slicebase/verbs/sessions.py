"""Stored sessions for people: a list with the figures of each, the newest first."""

import sys
from collections.abc import Container, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from slicebase.context.lost.speech import said_by_user
from slicebase.context.match import unwanted
from slicebase.context.query import read
from slicebase.core.times import to_text
from slicebase.errors import SlicebaseError
from slicebase.graph.session import COPY_FACT, PURGED_FACT, OfSession, fact
from slicebase.graph.turn import Session
from slicebase.index.entries import EVERY_FILE
from slicebase.index.session_figures import SessionFigures
from slicebase.index.turn_search import Bounds
from slicebase.index.upkeep import ask_turns
from slicebase.truth.truth import Truth
from slicebase.verbs.narrow import narrowed
from slicebase.verbs.parts import Parts
from slicebase.verbs.turns import TurnReader, turn_hits


class _SessionEntry(NamedTuple):
    session: Session
    turns: int
    size: int = 0  # tokens; purged turns do not count
    started: str | None = None  # None if nothing of it is left, or its source has no times
    ended: str | None = None
    compactions: int = 0
    prompt: str = ""  # the beginning of the first prompt
    is_purged: bool = False  # nothing of it is left
    problem: str | None = None  # why it cannot be read, or not all of it


class SessionEntry(OfSession, _SessionEntry):
    """A stored session, the number of its turns, and what is known about it."""

    def __repr__(self) -> str:
        return f"SessionEntry(id={self.id!r}, turns={self.turns})"


class SessionRow(Struct, frozen=True):
    """A session in a list, as JSON."""

    session: str
    turns: int
    format: str
    title: str
    started: str | None
    ended: str | None
    project: str
    branch: str
    prompt: str
    compactions: int
    model: str
    tokens: int
    resume: str
    copy_of: str
    purged: bool
    problem: str | None = None


def session_row(each: SessionEntry) -> SessionRow:
    """Returns a session as a row of a list."""
    return SessionRow(
        session=each.id,
        turns=each.turns,
        format=each.session.format,
        title=each.title or "",
        started=each.started,
        ended=each.ended,
        project=each.project,
        branch=each.branch,
        prompt=each.prompt,
        compactions=each.compactions,
        model=each.model,
        tokens=each.size,
        resume=each.resume,
        copy_of=each.copy_of,
        purged=each.is_purged,
        problem=each.problem,
    )


_EVERY_TURN: Final = Bounds(sys.maxsize)


def list_sessions(
    parts: Parts, query: str = "", limit: int | None = None, after: str | None = None
) -> list[SessionEntry]:
    """Returns the sessions that have a turn that a query finds, the newest first; without a query, all.

    `after` is the session before the first one that is wanted. Raises `no-session` if the list does not have it.
    """
    asked, truth, index = read(query), parts.truth, parts.turn_index
    wanted = narrowed(parts, asked, EVERY_FILE, parts.surroundings.now()).turns
    if wanted is None:
        return []
    if asked.terms or unwanted(asked):
        hits = turn_hits(parts, asked, wanted, TurnReader(truth), _EVERY_TURN)
        wanted = wanted._replace(sessions=hits.by_session.keys())
    is_all = not (asked.terms or wanted)  # one that cannot be read is listed with the reason; no filter could pass it
    figures = ask_turns(index, truth, lambda: index.sessions(wanted), is_partial=is_all)
    found = {each.id: each for each in figures}
    stored = truth.turns.counts_of_all()
    others = () if asked.terms or wanted else (name for name in stored if name not in found)
    names = [name for name in (*found, *others) if name in stored]
    listed = names[_place_after(names, after) :][:limit]
    prompts, lacking = ask_turns(
        index,
        truth,
        lambda: ({name: index.prompts(name, _TRIED) for name in listed}, {each.session for each in index.unreadable}),
        is_partial=is_all,
    )
    entries = [_readable_entry(truth, name, stored[name], found, prompts[name]) for name in listed]
    return [each._replace(problem=each.problem or _LACKING) if each.id in lacking else each for each in entries]


_LACKING: Final = "a record of it cannot be read"
_DAMAGES: Final = ("broken-record", "database-damaged")


def _readable_entry(
    truth: Truth, name: str, turns: int, found: Mapping[str, SessionFigures], prompts: Sequence[str]
) -> SessionEntry:
    """Returns a session for a list. One that cannot be read keeps nobody from seeing the others."""
    try:
        return _entry(truth, truth.turns.session(name), turns, found, _first_prompt(truth, prompts))
    except SlicebaseError as error:
        if error.code not in _DAMAGES:
            raise
        return _entry(truth, Session(name, ""), turns, found, "")._replace(problem=error.message)


def session_entry(parts: Parts, session: str) -> SessionEntry:
    """Returns one session with its figures."""
    truth, index = parts.truth, parts.turn_index
    figures, prompts = ask_turns(
        index, truth, lambda: (index.sessions(), index.prompts(session, _TRIED)), is_partial=True
    )
    found = {each.id: each for each in figures}
    stored = truth.turns.session(session)
    return _entry(truth, stored, truth.turns.counts().get(session, 0), found, _first_prompt(truth, prompts))


def titles_of(parts: Parts, sessions: Sequence[str]) -> dict[str, str]:
    """Returns what sessions are called: their titles, or the beginnings of what was asked in them first.

    It is empty where neither is known, and where the record that has it is damaged.
    """
    truth, index = parts.truth, parts.turn_index
    prompts = ask_turns(index, truth, lambda: {name: index.prompts(name, _TRIED) for name in sessions})
    return {name: _called(truth, name, prompts[name]) for name in sessions}


def _called(truth: Truth, session: str, prompts: Sequence[str]) -> str:
    try:
        return truth.turns.session(session).title or _first_prompt(truth, prompts)
    except SlicebaseError as error:
        if error.code not in _DAMAGES:
            raise
        return ""


def _place_after(names: Sequence[str], after: str | None) -> int:
    if after is None:
        return 0
    if after not in names:
        raise SlicebaseError("no-session", f"the list does not have {after!r} any more", hint="list them again")
    return names.index(after) + 1


def _entry(
    truth: Truth, session: Session, turns: int, found: Mapping[str, SessionFigures], prompt: str
) -> SessionEntry:
    figures = found.get(session.id)
    if figures is None:  # the index has every turn that has a text
        is_purged = bool(turns) or _is_purged(truth, session, found)
        return SessionEntry(session, turns, is_purged=is_purged)
    started, ended = (None if time is None else to_text(time) for time in (figures.started, figures.ended))
    return SessionEntry(session, turns, figures.size, started, ended, figures.compactions, prompt)


def _is_purged(truth: Truth, session: Session, found: Container[str]) -> bool:
    """Returns whether nothing is left of a session without turns: of a copy, whether nothing is left of the other."""
    original = fact(session, COPY_FACT)
    if original and original not in found:
        session = truth.turns.session(original)
    return bool(session.facts.get(PURGED_FACT))


_TRIED: Final = 5  # prompts, to find one that a person typed
_LONGEST_PROMPT: Final = 200  # characters


def _first_prompt(truth: Truth, prompts: Sequence[str]) -> str:
    """Returns the beginning of the first prompt, if possible one that the client did not write itself."""
    texts = [_beginning(truth, turn) for turn in prompts]
    typed = [said for text in texts if (said := " ".join(said_by_user(text).split()))]
    return next(iter([*typed, *texts]), "")


def _beginning(truth: Truth, turn: str) -> str:
    text = truth.text_of(truth.turns.get(turn).record)
    return " ".join((text or "")[: 4 * _LONGEST_PROMPT].split())[:_LONGEST_PROMPT]
