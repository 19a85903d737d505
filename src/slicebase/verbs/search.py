"""Searches slice files and turns. It starts fast: the database is opened only if there are turns."""

from typing import TYPE_CHECKING, Final, NamedTuple, overload

from slicebase.context.query import Query, read
from slicebase.core.times import EARLIEST, milliseconds
from slicebase.errors import SlicebaseError, refuse_out_of_range
from slicebase.index.entries import EVERY_FILE, Filters
from slicebase.verbs.parts import Parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slicebase.context.snippets import Snippet
    from slicebase.graph.record import TurnRecord
    from slicebase.graph.turn import Session
    from slicebase.index.search import Hit, Results
    from slicebase.index.turn_search import Match, TurnHit


class FoundTurn(NamedTuple):
    """A turn that was found: its record, its text, and the part of the text that has the words."""

    record: "TurnRecord"
    text: str
    snippet: "Snippet"
    match: "Match"

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
        from slicebase.verbs.sessions import resume_command

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
        return any(turn.match.name == "PARTS" for turn in self.turns)

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


def search(
    parts: Parts,
    query: str,
    filters: Filters | None = None,
    *,
    former_rows: bool = False,
    either: bool = False,
    limit: int = 10,
) -> SearchResults:
    """Finds slice files and turns by their words, best first; filters that only files can match leave turns out."""
    refuse_out_of_range("limit", limit, 1)
    chosen, asked = filters or EVERY_FILE, read(query)
    if not asked.terms and not asked.filters:
        raise SlicebaseError("no-words", f"there is no word to search for in {query!r}")

    def found(*, some: bool) -> SearchResults:
        files = parts.finder.search(query, chosen, former_rows=former_rows, either=some, limit=limit)
        return SearchResults(files, *_turns(parts, asked, chosen, some, limit))

    results = found(some=either)
    if either or len(results) or len(asked.terms) < 2:
        return results
    some = found(some=True)
    if not len(some):
        return results
    some.partial = True
    return some


_BEST: Final = 3  # turns of a session that are shown
_EXAMINED: Final = 20  # turns for each result that may be shown, to find the sessions


def _turns(
    parts: Parts, asked: Query, chosen: Filters, some: bool, limit: int
) -> tuple[list[FoundTurn], list[FoundSession]]:
    """Returns the best turns, and the best sessions with theirs."""
    of_files = chosen._replace(archived=False, changed_since=None, changed_before=None) != EVERY_FILE
    if of_files or not parts.workspace.database.exists():
        return [], []
    from slicebase.verbs.narrow import narrowed
    from slicebase.verbs.turns import TurnReader, turn_hits

    wanted = narrowed(parts, asked, chosen, parts.surroundings.now()).turns
    if wanted is None:
        return [], []
    if chosen.changed_since is not None:
        wanted = wanted._replace(since=max(wanted.since or EARLIEST, milliseconds(chosen.changed_since) + 1))
    reader = TurnReader(parts.truth)
    hits = turn_hits(parts, asked, wanted, reader, most=_EXAMINED * limit, either=some)
    found = {hit.turn: reader.found(hit) for hit in _shown(hits, limit)}
    turns = [found[hit.turn] for hit in hits[:limit]]
    return turns, _folded(parts, hits, found, limit)


def _shown(hits: "list[TurnHit]", limit: int) -> "Iterator[TurnHit]":
    """Yields the hits whose texts are needed: the first ones, and the best of each of the first sessions."""
    yield from hits[:limit]
    for group in list(_by_session(hits).values())[:limit]:
        yield from group[:_BEST]


def _by_session(hits: "list[TurnHit]") -> "dict[str, list[TurnHit]]":
    groups: dict[str, list[TurnHit]] = {}
    for hit in hits:
        groups.setdefault(hit.session, []).append(hit)
    return groups


def _folded(parts: Parts, hits: "list[TurnHit]", found: dict[str, FoundTurn], limit: int) -> list[FoundSession]:
    folded = []
    for session, group in list(_by_session(hits).items())[:limit]:
        best = tuple(found[hit.turn] for hit in group[:_BEST])
        folded.append(FoundSession(parts.truth.turns.session(session), best, len(group) - len(best)))
    return folded


def _fact(session: "Session", name: str) -> str:
    value = session.facts.get(name)
    return value if isinstance(value, str) else ""
