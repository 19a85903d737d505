"""Contexts for a question: finds turns, slices around the best ones, reads their texts, and assembles the pieces."""

from collections.abc import Sequence
from math import inf
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from slicebase.context.assemble import Candidate, Context, assemble
from slicebase.context.manifest import Budget, PinnedSlice, heading
from slicebase.context.match import unwanted, without
from slicebase.context.query import Query, read
from slicebase.context.ranking import ANCHORS, CHUNKS, CONSIDERED, RANKER, Ranked, merge, rescaled
from slicebase.core.hashing import LARGEST_INTEGER, lone_surrogate, tokens
from slicebase.core.refs import as_words
from slicebase.core.times import Moment, from_text, known_time, milliseconds, to_text
from slicebase.errors import SlicebaseError
from slicebase.graph.best_first import context_slice, select
from slicebase.graph.policy import SlicePolicyV1
from slicebase.graph.record import TurnRecord
from slicebase.graph.select import FrontierTurn as Selected
from slicebase.graph.turn import Session
from slicebase.index.entries import EVERY_FILE, Filters
from slicebase.index.narrow import EVERY_TURN
from slicebase.index.turns import TurnIndex
from slicebase.index.upkeep import ask_turns
from slicebase.library.chunks import LibraryChunks
from slicebase.truth.truth import Truth
from slicebase.verbs.graph import Graph, ranked_turns
from slicebase.verbs.narrow import Narrowed, narrowed
from slicebase.verbs.parts import Parts
from slicebase.verbs.record import built
from slicebase.workspace.workspace import StrPath

_NEARLY: Final = 0.85  # of the best score: beside the narrative of a run, what is worse is mostly not used
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
    return build_context(parts.truth, parts.turn_index, parts.library_chunks, request, first, wanted)


def build_context(
    truth: Truth,
    index: TurnIndex,
    chunks: LibraryChunks | None,
    request: Request,
    first: Sequence[Candidate] = (),
    wanted: Narrowed = NOT_NARROWED,
) -> Context:
    """Builds a context of turns and, if there is a library, rows and sections: the best that fit into the budget.

    The pieces of `first` come before all others, whatever their score; then of turns only those that are nearly
    as good as the best one. Only what the query asks for is taken.
    """
    query = read(request.question)
    _check(request, query)
    turns = None if wanted.turns is None else wanted.turns._replace(as_of=request.last)
    ranked = [] if turns is None else ranked_turns(truth, index, query.words, CONSIDERED, turns)
    pinned, selections = _slices(truth, ranked[:ANCHORS], request)
    merged = merge(ranked, selections)
    if turns:
        passing = ask_turns(index, truth, lambda: index.passing([each.turn for each in merged], turns))
        merged = [each for each in merged if each.turn in passing]
    candidates = _turn_candidates(truth, index, merged, request.last)
    if chunks is not None and wanted.files is not None:
        count = ask_turns(index, truth, lambda: index.count(request.last))
        candidates += _chunk_candidates(chunks, request, count, query, wanted.files)
    excluded = unwanted(query)
    candidates = [each for each in candidates if not any(term.is_in(each.text) for term in excluded)]
    filters: dict[str, Any] = {"rows": "active", "archived": False} if chunks is not None else {}
    if query.narrows:
        filters["query"] = [*map(str, query.filters), *(f"-{term.text}" for term in query.excluded)]
    if request.is_past:
        filters["last"] = to_text(request.as_of)
        filters["undated"] = 0 if turns is None else ask_turns(index, truth, lambda: index.undated(turns))
    return assemble(
        request.question,
        to_text(request.as_of),
        Budget(request.tokens, request.turns),
        [*first, *sorted(candidates, key=lambda each: (-each.score, each.ref))],
        terms={word.text for word in index.words(query.words)},
        ranker=f"{RANKER} {vectors.name}" if (vectors := index.vectors()) else RANKER,
        filters=filters,
        slices=pinned,
        least=_NEARLY * max((each.score for each in merged), default=0) if first else -inf,
    )._replace(policy=request.policy)


def _chunk_candidates(
    chunks: LibraryChunks, request: Request, turns: int, query: Query, files: Filters
) -> list[Candidate]:
    found = chunks.ranked(query.words, CHUNKS, request.as_of, files, without(query), request.last)
    scaled = rescaled(found, len(chunks), turns or len(chunks))
    return [candidate for each in scaled if (candidate := chunks.candidate(each, request.as_of))]


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


def _slices(
    truth: Truth, anchors: Sequence[Ranked], request: Request
) -> tuple[list[PinnedSlice], list[tuple[Ranked, Sequence[Selected]]]]:
    pinned: list[PinnedSlice] = []
    selections: list[tuple[Ranked, Sequence[Selected]]] = []
    policy = request.policy
    for anchor in anchors:
        graph = truth.sessions.around(anchor.turn, policy.max_radius, request.last)
        found = context_slice(graph, anchor.turn, policy)
        hashes = (found.slice_id, found.policy_params_hash, found.export_hash)
        pinned.append(PinnedSlice(graph.session_id, anchor.turn, *hashes, found.annotators))
        selections.append((anchor, select(graph, anchor.turn, policy)))
    return pinned, selections


def _turn_candidates(truth: Truth, index: TurnIndex, merged: Sequence[Ranked], last: int | None) -> list[Candidate]:
    records = truth.turns.find(found.turn for found in merged)
    sessions = {session: truth.turns.session(session) for session in {each.record.session for each in records.values()}}
    if last is not None:  # the title of a session that went on may tell what came later
        for session in ask_turns(index, truth, lambda: index.unfinished(sessions, last)):
            sessions[session] = replace(sessions[session], title=None)
    candidates = []
    for found in merged:
        record = records[found.turn].record
        text = truth.readable_text_of(record)
        if text is not None:
            candidates.append(turn_candidate(record, sessions[record.session], text, found))
    return candidates


def turn_candidate(record: TurnRecord, session: Session, text: str, found: Ranked) -> Candidate:
    """Returns a turn as a candidate for a context."""
    title = f"{as_words(session.title)} · " if session.title else ""
    return Candidate(
        ref=f"turn:{record.id}",
        corpus=f"session:{record.session}",
        content_hash=record.content_hash,
        text=text,
        label=f"{as_words(record.role)} · {known_time(record.time) or 'undated'}",
        group=f"{title}session:{as_words(record.session)}",
        order=(from_text(record.time), record.id),
        score=found.score,
        parts={name: value for name, value in found.parts.items() if value},
    )
