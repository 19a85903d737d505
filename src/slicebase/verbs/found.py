"""What a search found: turns with the part of their text that has the words, and the sessions that they are in."""

import re
from typing import TYPE_CHECKING, Final, NamedTuple, overload

if TYPE_CHECKING:  # keeps start-up fast
    from collections.abc import Iterator

    from slicebase.context.snippets import Snippet
    from slicebase.graph.record import TurnRecord
    from slicebase.graph.turn import Part, Session
    from slicebase.index.search import Hit, Results
    from slicebase.index.turn_search import Match


class FoundTurn(NamedTuple):
    """A turn that was found: its record, its content, and the part of its text that has the words."""

    record: "TurnRecord"
    parts: "tuple[Part, ...]"
    snippet: "Snippet"
    match: "Match"

    @property
    def text(self) -> str:
        """The text of the turn, as evidence cites it."""
        from slicebase.graph.turn import turn_text

        return turn_text(self.parts)

    @property
    def id(self) -> str:
        """The id of the turn."""
        return self.record.id

    @property
    def ref(self) -> str:
        """The reference of the turn."""
        return f"turn:{self.record.id}"

    @property
    def role(self) -> str:
        """Who speaks: user, assistant, system or tool."""
        return self.record.role

    @property
    def time(self) -> str:
        """When the turn was written, in RFC 3339 form."""
        return self.record.time

    def __repr__(self) -> str:
        return f"FoundTurn(ref={self.ref!r}, role={self.role!r}, time={self.time!r})"


class FoundSession(NamedTuple):
    """A session that was found, with its best turns."""

    session: "Session"
    turns: tuple[FoundTurn, ...]
    more: int  # turns that were found in it as well and are not shown

    @property
    def id(self) -> str:
        """The id of the session."""
        return self.session.id

    @property
    def ref(self) -> str:
        """The reference of the session."""
        return f"session:{self.session.id}"

    @property
    def project(self) -> str:
        """The folder in which the session was held; empty where its source does not say so."""
        return _fact(self.session, "cwd")

    @property
    def branch(self) -> str:
        """The git branch on which the session began; empty where its source does not say so."""
        return _fact(self.session, "git_branch")

    @property
    def resume(self) -> str:
        """The command that resumes the session in its folder; empty if there is none."""
        return resume_command(self.session)

    def __repr__(self) -> str:
        return f"FoundSession(id={self.id!r}, turns={len(self.turns)}, more={self.more})"


class SearchResults:
    """The slice files and the turns that a search found, best first.

    It is a sequence of the files, then the turns. Each of them has a `ref` and a `text`. `sessions` has the same turns
    by session. If nothing has all words, `partial` is true, and these are the best that have some of them.
    """

    def __init__(
        self,
        files: "Results",
        turns: list[FoundTurn],
        sessions: "list[FoundSession] | None" = None,
        *,
        partial: bool = False,
    ) -> None:
        self.files = files
        self.turns = turns
        self.sessions = sessions or []
        self.partial = partial

    @property
    def by_parts(self) -> bool:
        """Whether no turn has an identifier of the query as it is, so that its parts were searched."""
        return bool(self.turns) and all(turn.match.name == "PARTS" for turn in self.turns)

    def __iter__(self) -> "Iterator[Hit | FoundTurn]":
        yield from self.files
        yield from self.turns

    def __len__(self) -> int:
        return len(self.files) + len(self.turns)

    @overload
    def __getitem__(self, place: int) -> "Hit | FoundTurn": ...
    @overload
    def __getitem__(self, place: slice) -> "list[Hit | FoundTurn]": ...
    def __getitem__(self, place: int | slice) -> "Hit | FoundTurn | list[Hit | FoundTurn]":
        return list(self)[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SearchResults) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"SearchResults(files={len(self.files)}, turns={len(self.turns)}, partial={self.partial})"


def _fact(session: "Session", name: str) -> str:
    value = session.facts.get(name)
    return value if isinstance(value, str) else ""


# How to go on

_RESUME: Final = {"claude-code": "claude --resume", "codex": "codex resume"}
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def resume_command(session: "Session") -> str:
    """Returns the command that resumes a session in its folder; empty if there is none.

    A subagent cannot be resumed: the command is that of the session that started it.
    """
    import shlex

    name = session.id.partition("#")[0]
    if session.format not in _RESUME or not _UUID.fullmatch(name):
        return ""
    folder = session.facts.get("cwd")
    there = f"cd {shlex.quote(folder)} && " if isinstance(folder, str) and folder else ""
    return f"{there}{_RESUME[session.format]} {name}"
