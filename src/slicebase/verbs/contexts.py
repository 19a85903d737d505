"""Contexts for a question: finds turns, slices around the best ones, reads their texts, and assembles the pieces."""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec.structs import replace

from slicebase.context.assemble import Candidate, Context, Unread, assemble
from slicebase.context.manifest import Budget, PinnedSlice
from slicebase.context.match import unwanted, without
from slicebase.context.query import Query, read
from slicebase.context.question import analyse
from slicebase.context.ranking import ANCHORS, CHUNKS, CONSIDERED, RANKER, Ranked, merge, rescaled
from slicebase.context.render import PART_BREAK, heading
from slicebase.core.hashing import LARGEST_INTEGER, lone_surrogate, tokens
from slicebase.core.refs import as_words
from slicebase.core.times import Moment, from_text, known_time, milliseconds, to_text
from slicebase.errors import SlicebaseError
from slicebase.graph.policy import SlicePolicyV1
from slicebase.graph.record import TurnRecord
from slicebase.graph.selection import select
from slicebase.graph.turn import Session
from slicebase.index.entries import EVERY_FILE, Filters
from slicebase.index.narrow import EVERY_TURN
from slicebase.index.turns import TurnIndex
from slicebase.index.upkeep import ask_turns
from slicebase.library.chunks import LibraryChunks
from slicebase.truth.truth import Truth
from slicebase.verbs.bundle import slice_in_graph
from slicebase.verbs.graph import Graph, ranked_turns
from slicebase.verbs.names import shown_in_context
from slicebase.verbs.narrow import Narrowed, narrowed
from slicebase.verbs.parts import Parts
from slicebase.verbs.record import built
from slicebase.workspace.workspace import StrPath

if TYPE_CHECKING:
    from slicebase.graph.select import FrontierTurn

_NEARLY: Final = 0.85  # of the best score: beside the narrative of a run, what is worse is mostly not used
# Characters: nobody says so much twice in the same words. A resumed session has copies of what the first one has.
_SAID_ONCE: Final = 200
NOT_NARROWED: Final = Narrowed(EVERY_TURN, EVERY_FILE)


class Request(NamedTuple):
    """A request for a context: the question, the budget, the point in time, and the policy for slices.

    With `is_past`, nothing is taken that is later than the point in time, or has no date (ruling 52).
    """

    question: str
    tokens: int
    turns: int | None
    as_of: int
    policy: SlicePolicyV1
    is_past: bool = False

    @property
    def last(self) -> int | None:
        """The time after which nothing is taken; None if there is none."""
        return self.as_of if self.is_past else None


def context(
    parts: Parts,
    question: str,
    tokens: int,
    *,
    turns: int | None = None,
    policy: StrPath | None = None,
    as_of: Moment | None = None,
    record: bool = True,
    run: str | None = None,
    step: int | None = None,
) -> Context:
    """Builds a context for a question and records its manifest; `Slicebase.context` describes the options."""
    moment = parts.surroundings.now() if as_of is None else milliseconds(as_of)
    asked = parts.surroundings.redaction.text(question)  # the manifest keeps it
    request = Request(asked, tokens, turns, moment, Graph(parts).policy(policy or "focused"), as_of is not None)
    if run is None:
        return built(parts, lambda: context_for(parts, request), record=record)
    from slicebase.verbs.narrate import bind, check_step, first_pieces  # imported here for a fast start

    if record and not parts.truth.database.read_only:
        check_step(parts, run, step)
    first = heading(asked, to_text(moment))
    made = built(
        parts,
        lambda: context_for(parts, request, first_pieces(parts, run, tokens, first, request.last)),
        record=record,
    )
    if made.recorded:
        bind(parts, run, made, step)
    return made


def context_for(parts: Parts, request: Request, first: Sequence[Candidate] = ()) -> Context:
    """Builds the context of a request."""
    query = read(request.question)
    wanted = narrowed(parts, query, EVERY_FILE, request.as_of) if query.narrows else NOT_NARROWED
    shown = shown_in_context(parts)
    return build_context(parts.truth, parts.turn_index, parts.library_chunks, request, first, wanted, shown)


def build_context(
    truth: Truth,
    index: TurnIndex,
    chunks: LibraryChunks | None,
    request: Request,
    first: Sequence[Candidate] = (),
    wanted: Narrowed = NOT_NARROWED,
    shown: Callable[[str], str] | None = None,
) -> Context:
    """Builds a context of turns and, if there is a library, rows and sections: the best that fit into the budget.

    The pieces of `first` come before all others, whatever their score; then of turns only those that are nearly
    as good as the best one. Only what the query asks for is taken. `shown` makes references short.
    """
    query = read(request.question)
    _check(request, query)
    turns = None if wanted.turns is None else wanted.turns._replace(as_of=request.last)
    ranked = [] if turns is None else ranked_turns(truth, index, query.words, CONSIDERED, request.as_of, turns)
    slices = _Slices(truth, ranked[:ANCHORS], request)
    merged = merge(ranked, slices.selections)
    if turns:
        passing = ask_turns(index, truth, lambda: index.passing([each.turn for each in merged], turns))
        merged = [each for each in merged if each.turn in passing]
    read_turns = _Turns(truth, query, request.last, merged)
    candidates: list[Candidate | Unread] = [
        Unread(
            f"turn:{each.turn}",
            each.score,
            partial(read_turns.content, each),
            partial(read_turns.candidate, each),
            partial(read_turns.time, each),
            partial(read_turns.known, each),
        )
        for each in merged
    ]
    undated = 0
    if chunks is not None and wanted.files is not None:
        count = ask_turns(index, truth, lambda: index.count(request.last))
        candidates += _chunk_candidates(chunks, request, count, query, wanted.files)
        undated = chunks.undated
    filters: dict[str, Any] = {"rows": "active", "archived": False} if chunks is not None else {}
    if query.narrows:
        filters["query"] = [*map(str, query.filters), *(f"-{term.text}" for term in query.excluded)]
    if request.is_past:
        filters["last"] = to_text(request.as_of)
        filters["undated"] = undated + (ask_turns(index, truth, lambda: index.undated(turns)) if turns else 0)
    return assemble(
        request.question,
        to_text(request.as_of),
        Budget(request.tokens, request.turns),
        [*first, *sorted(candidates, key=lambda each: -each.score)],  # equal ones stay as they were ranked
        terms=analyse(query.words, index.words(query.words)).words,
        ranker=f"{RANKER} {vectors.name}" if (vectors := index.vectors()) else RANKER,
        filters=filters,
        slices=slices.pinned,
        policy=request.policy,
        least=_NEARLY * max((each.score for each in merged), default=0) if first else -inf,
        shown=shown or truth.shown,
    )


def _chunk_candidates(
    chunks: LibraryChunks, request: Request, turns: int, query: Query, files: Filters
) -> list[Candidate]:
    found = chunks.ranked(query.words, CHUNKS, request.as_of, files, without(query), request.last)
    scaled = rescaled(found, len(chunks), turns or len(chunks))
    read = chunks.candidates(scaled, request.as_of, request.last)
    excluded = unwanted(query)
    return [each for each in read if not any(term.is_in(each.text) for term in excluded)]


def _check(request: Request, query: Query) -> None:
    if not request.question.strip():
        raise SlicebaseError("bad-question", "the question is empty")
    if not query.words.strip():
        raise SlicebaseError("bad-question", "the question has only filters", hint="`tt search` takes filters alone")
    try:
        request.question.encode()
    except UnicodeEncodeError as error:
        raise lone_surrogate(error) from None
    check_tokens(request.tokens, heading(request.question, to_text(request.as_of)))
    if request.turns is not None:
        _check_budget("turns", request.turns, 1)


_LEAST_TOKENS = 64


def check_tokens(number: int, first: str) -> None:
    """Raises `bad-budget` if a context of this size, with this text first, cannot be built."""
    _check_budget("tokens", number, max(_LEAST_TOKENS, tokens(first)))


def _check_budget(what: str, number: int, least: int) -> None:
    if not least <= number <= LARGEST_INTEGER:
        hint = f"give a number from {least} to {LARGEST_INTEGER}"
        raise SlicebaseError("bad-budget", f"a context of {number} {what} cannot be built", hint=hint)


class _Slices:
    """The context slices around the best turns."""

    def __init__(self, truth: Truth, anchors: Sequence[Ranked], request: Request) -> None:
        self._truth, self._policy, self._last = truth, request.policy, request.last
        self.selections = [(anchor, self._selected(anchor.turn)) for anchor in anchors]

    def _selected(self, turn: str) -> "Sequence[FrontierTurn]":
        with self._truth.sessions.around(turn, self._last) as graph:
            return select(graph, turn, self._policy)

    def pinned(self, from_slices: Collection[str]) -> Iterator[PinnedSlice]:
        """Yields the slices that have one of these turns."""
        for anchor, selected in self.selections:
            if any(each.turn_id in from_slices for each in selected):
                yield self._pinned(anchor.turn)

    def _pinned(self, turn: str) -> PinnedSlice:
        found, session, around = slice_in_graph(self._truth, turn, self._policy, self._last)
        return PinnedSlice(session, turn, found.slice_id, found.export_hash, found.annotators, around)


_READ_AT_ONCE: Final = 32  # turns: about as many fit into a context of 2,000 tokens


class _Turns:
    """Reads the texts of turns when they are asked for: their records together with those that are asked for next."""

    def __init__(self, truth: Truth, query: Query, last: int | None, found: Sequence[Ranked]) -> None:
        self._truth = truth
        self._last = last
        self._excluded = unwanted(query)
        self._sessions: dict[str, Session] = {}
        self._order = {each.turn: place for place, each in enumerate(found)}
        self._found = found
        self._records: dict[str, TurnRecord] = {}
        self._texts: dict[str, str] = {}

    def content(self, found: Ranked) -> str | None:
        """Returns what copies of a turn have in common; None if it was purged, or has a word that the query excludes.

        The session is not read for it: a session that was copied has a copy of each of its turns.
        """
        record = self._record(found.turn)
        text = self._truth.readable_text_of(record)
        if text is None or any(term.is_in(text) for term in self._excluded):
            return None
        self._texts[found.turn] = text
        return _content(record, text)

    def candidate(self, found: Ranked) -> Candidate:
        """Returns a turn whose content was asked for as a candidate."""
        record = self._record(found.turn)
        if record.session not in self._sessions:
            self._sessions[record.session] = self._session(record.session)
        return turn_candidate(record, self._sessions[record.session], self._texts[found.turn], found)

    def known(self, found: Ranked) -> str:
        """Returns what copies of a turn have in common if it is long, as far as its record tells that."""
        return self._record(found.turn).content_hash

    def time(self, found: Ranked) -> int:
        """Returns when a turn was said, in milliseconds."""
        return from_text(self._record(found.turn).time)

    def _record(self, turn: str) -> TurnRecord:
        if turn not in self._records:
            first = self._order[turn]
            stored = self._truth.turns.find(each.turn for each in self._found[first : first + _READ_AT_ONCE])
            self._records |= {name: each.record for name, each in stored.items()}
        return self._records[turn] if turn in self._records else self._truth.turns.get(turn).record

    def _session(self, name: str) -> Session:
        """Returns a session; as of a time without its title, which has no date, and may tell what came later."""
        session = self._truth.turns.session(name)
        return session if self._last is None else replace(session, title=None)


def turn_candidate(record: TurnRecord, session: Session, text: str, found: Ranked) -> Candidate:
    """Returns a turn as a candidate for a context."""
    title = f"{as_words(session.title)} · " if session.title else ""
    return Candidate(
        ref=f"turn:{record.id}",
        corpus=f"session:{record.session}",
        text=text,
        label=PART_BREAK.join((*_when(record.time), as_words(record.role))),
        group=f"{title}session:{as_words(record.session)}",
        order=(from_text(record.time), record.id),
        score=found.score,
        parts={name: value for name, value in found.parts.items() if value},
        content=_content(record, text),
    )


def _content(record: TurnRecord, text: str) -> str:
    """Returns what copies of a turn have in common: what it says, and when if that is little."""
    if len(text) >= _SAID_ONCE:
        return record.content_hash
    return f"{record.content_hash} {record.time}" if known_time(record.time) else ""


def _when(time: str) -> tuple[str, ...]:
    """Returns the day and the minute of a time, so that a rendered label can leave out what the one before says."""
    known = known_time(time)
    return (known[:10], known[11:16]) if known else ("undated",)
