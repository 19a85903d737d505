"""Stored sessions for people: a list with the figures of each, the newest first."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from slicebase.context.query import read
from slicebase.core.times import to_text
from slicebase.graph.turn import Session
from slicebase.index.entries import EVERY_FILE
from slicebase.index.session_figures import SessionFigures
from slicebase.index.upkeep import ask_turns
from slicebase.truth.truth import Truth
from slicebase.verbs.found import resume_command
from slicebase.verbs.narrow import narrowed, project_of
from slicebase.verbs.parts import Parts
from slicebase.verbs.turns import TurnReader, turn_hits


class SessionEntry(NamedTuple):
    """A stored session, the number of its turns, and what is known about it."""

    session: Session
    turns: int
    size: int = 0  # tokens; purged turns do not count
    started: str | None = None  # None if nothing of it is left
    ended: str | None = None
    compactions: int = 0
    prompt: str = ""  # the beginning of the first prompt

    @property
    def id(self) -> str:
        """The id of the session."""
        return self.session.id

    @property
    def title(self) -> str | None:
        """The title that the session's tool gave it."""
        return self.session.title

    @property
    def project(self) -> str:
        """The folder in which the session was held; empty where its source does not say so."""
        return project_of(self.session)

    @property
    def branch(self) -> str:
        """The git branch on which the session began; empty where its source does not say so."""
        return _fact(self.session, "git_branch")

    @property
    def model(self) -> str:
        """The model that answered; empty where its source does not say so."""
        return _fact(self.session, "model")

    @property
    def resume(self) -> str:
        """The command that resumes the session in its folder; empty if there is none."""
        return resume_command(self.session)

    def __repr__(self) -> str:
        return f"SessionEntry(id={self.id!r}, turns={self.turns})"


_MOST: Final = 1_000_000


def list_sessions(parts: Parts, query: str = "", limit: int | None = None) -> list[SessionEntry]:
    """Returns the sessions that have a turn that a query finds, the newest first; without a query, all."""
    asked, truth, index = read(query), parts.truth, parts.turn_index
    wanted = narrowed(parts, asked, EVERY_FILE, parts.surroundings.now()).turns
    if wanted is None:
        return []
    if asked.terms:
        hits = turn_hits(parts, asked, wanted, TurnReader(truth), most=_MOST)
        wanted = wanted._replace(sessions={hit.session for hit in hits})
    found = {each.id: each for each in ask_turns(index, truth, lambda: index.sessions(wanted))}
    stored = {session.id: (session, turns) for session, turns in truth.turns.sessions()}
    names = [*found, *(() if asked.terms or wanted else (name for name in stored if name not in found))]
    listed = [name for name in names[:limit] if name in stored]
    prompts = ask_turns(index, truth, lambda: {name: index.prompts(name, _TRIED) for name in listed})
    return [_entry(*stored[name], found.get(name), _first_prompt(truth, prompts[name])) for name in listed]


def _entry(session: Session, turns: int, figures: SessionFigures | None, prompt: str) -> SessionEntry:
    if figures is None:
        return SessionEntry(session, turns)
    times = (to_text(figures.started), to_text(figures.ended))
    return SessionEntry(session, turns, figures.size, *times, figures.compactions, prompt)


_TRIED: Final = 5  # prompts, to find one that a person typed
_OF_THE_CLIENT: Final = ("<", "Caveat:", "[Request interrupted")
_LONGEST_PROMPT: Final = 200  # characters


def _first_prompt(truth: Truth, prompts: Sequence[str]) -> str:
    """Returns the beginning of the first prompt, if possible one that the client did not write itself."""
    texts = [_beginning(truth, turn) for turn in prompts]
    typed = [text for text in texts if not text.startswith(_OF_THE_CLIENT)]
    return next(iter([*typed, *texts]), "")


def _beginning(truth: Truth, turn: str) -> str:
    text = truth.text_of(truth.turns.get(turn).record)
    return " ".join((text or "")[: 4 * _LONGEST_PROMPT].split())[:_LONGEST_PROMPT]


def _fact(session: Session, name: str) -> str:
    value = session.facts.get(name)
    return value if isinstance(value, str) else ""
