"""What a search found: turns with the part of their text that has the words, and the sessions that they are in."""

from typing import TYPE_CHECKING, Any, NamedTuple, overload

from slicebase.graph.session import OfSession

if TYPE_CHECKING:  # keeps start-up fast
    from collections.abc import Iterator

    from slicebase.context.match import Attempt, Match
    from slicebase.context.snippets import Snippet
    from slicebase.graph.turn import Session
    from slicebase.index.results import Hit, Results


class TurnView(NamedTuple):
    """A stored turn with its text and, if it was found, how it matches and the part of its text that has the words."""

    id: str
    session: str
    role: str  # user, assistant, system or tool
    time: str | None  # when it was written, in RFC 3339 form; None where its source does not say so
    text: str | None  # as evidence cites it; None if it was purged
    match: "Match | None" = None
    snippet: "Snippet | None" = None

    @property
    def ref(self) -> str:
        """The reference of the turn."""
        return f"turn:{self.id}"

    def __repr__(self) -> str:
        return f"TurnView(ref={self.ref!r}, role={self.role!r}, time={self.time!r})"

    def as_json(self) -> dict[str, Any]:
        """Returns the turn as `tt search --json` prints it; the marks count in code points of the snippet."""
        return {
            "ref": self.ref,
            "session": f"session:{self.session}",
            "time": self.time,
            "role": self.role,
            "match": self.match.name.lower() if self.match is not None else None,
            "snippet": self.snippet.text if self.snippet else None,
            "marks": self.snippet.marks if self.snippet else (),
            "text": self.text,
        }


class _FoundSession(NamedTuple):
    session: "Session"
    turns: tuple[TurnView, ...]
    more: int  # turns that match as well and are not shown


class FoundSession(OfSession, _FoundSession):
    """A session that was found, with its best turns."""

    @property
    def date(self) -> str | None:
        """The day of its newest turn that is shown; None where its source does not say so."""
        return max((turn.time[:10] for turn in self.turns if turn.time), default=None)

    def __repr__(self) -> str:
        return f"FoundSession(id={self.id!r}, turns={len(self.turns)}, more={self.more})"

    def as_json(self) -> dict[str, Any]:
        """Returns the session with its best turns, as `tt search --json` prints it."""
        return {
            "ref": self.ref,
            "title": self.title,
            "project": self.project,
            "branch": self.branch,
            "date": self.date,
            "resume": self.resume,
            "turns": [turn.as_json() for turn in self.turns],
            "more": self.more,
        }


class FoundTurns(NamedTuple):
    """The best turns that were found, the best sessions with theirs, and how many turns match."""

    turns: list[TurnView]
    sessions: list[FoundSession]
    total: int = 0
    is_exact: bool = True  # else there may be more: not all texts were searched, or compared with the query


class SearchResults:
    """The slice files and the turns that a search found, best first.

    It is a sequence of the files, then the turns. Each of them has a `ref` and a `text`. `sessions` has the best turns
    by session, and `total_turns` is the number of all turns that match; if `is_exact` is false, there may be more. If
    nothing has all words, `partial` is true, and these are the best that have some of them. If fewer have all words
    than were asked for, `rest` has the best of those that have some, and they come last in the sequence. If nothing has
    an identifier as it is, `by_parts` is true, and these have its parts. If nothing was found, `hints` say what to try.
    """

    def __init__(
        self,
        files: "Results",
        found: FoundTurns,
        attempt: "Attempt",
        *,
        either: bool,
        rest: "SearchResults | None" = None,
        hints: tuple[str, ...] = (),
    ) -> None:
        self.files = files
        self.turns, self.sessions, self.total_turns, self.is_exact = found
        self.partial = attempt.some and not either
        self.by_parts = attempt.parts
        self.rest = rest
        self.hints = hints

    def __iter__(self) -> "Iterator[Hit | TurnView]":
        yield from self.files
        yield from self.turns
        yield from self.rest or ()

    def __len__(self) -> int:
        return len(self.files) + len(self.turns) + len(self.rest or ())

    @overload
    def __getitem__(self, place: int) -> "Hit | TurnView": ...
    @overload
    def __getitem__(self, place: slice) -> "list[Hit | TurnView]": ...
    def __getitem__(self, place: int | slice) -> "Hit | TurnView | list[Hit | TurnView]":
        return list(self)[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SearchResults) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"SearchResults(files={len(self.files)}, turns={len(self.turns)}, partial={self.partial})"


def search_json(found: SearchResults, now: int, half_life: float) -> dict[str, Any]:
    """Returns what was found as `tt search --json` prints it; files are as fresh as they are `now`."""
    return {
        "total": found.files.total,
        "total_turns": found.total_turns,
        "exact": found.is_exact,
        "files": [hit.as_json(now, half_life) for hit in found.files.hits],
        "sessions": [each.as_json() for each in found.sessions],
        "turns": [turn.as_json() for turn in found.turns],
        "partial": found.partial,
        "by_parts": found.by_parts,
        "rest": search_json(found.rest, now, half_life) if found.rest else None,
        "hints": list(found.hints),
    }
