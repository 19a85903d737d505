"""A context without a question: what of the library was changed last. It starts quickly, since hooks wait for it.

Contexts from the store: find turns, slice around the best, fetch their texts, and let `context` decide.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from slicebase.context.assemble import ANCHORS, CHUNKS, CONSIDERED, Candidate, Context, assemble, merge
from slicebase.context.lost import RULES as LOST
from slicebase.context.lost import TABLE, Judged, Loss, by_importance
from slicebase.context.manifest import Budget, PinnedSlice
from slicebase.context.question import analyse
from slicebase.context.ranking import RANKER, Ranked, brought_to_scale, rank
from slicebase.core.hashing import LARGEST_INTEGER, digest, lone_surrogate
from slicebase.core.times import from_text, to_text
from slicebase.errors import SlicebaseError
from slicebase.graph.best_first import context_slice, select
from slicebase.graph.policy import SlicePolicyV1
from slicebase.graph.record import TurnRecord, read_parts
from slicebase.graph.select import FrontierTurn as Selected
from slicebase.graph.turn import Session, turn_text
from slicebase.index.turns import TurnIndex, bring_up_to_date
from slicebase.library.chunks import LibraryChunks
from slicebase.library.library import Library
from slicebase.runs.records import Span
from slicebase.truth.truth import Truth

NEWEST = "newest/1"  # in place of a ranker: files in the order in which they were changed
_NEWEST_FILES = 30


def newest_context(library: Library, tokens: int, as_of: int) -> Context:
    """The files of a library that were changed last, each with what it begins with, under the budget."""
    look = library.look(as_of)
    candidates = []
    for entry in library.list_files()[:_NEWEST_FILES]:
        try:
            piece = look.pieces([f"file:{entry.id}"])[0]
        except SlicebaseError:
            continue  # it cannot be read now: `tt validate` says why
        candidates.append(
            Candidate(
                ref=f"file:{entry.id}",
                corpus=f"file:{entry.id}",
                content_hash=digest(piece.text.encode()),
                text=piece.text,
                label=piece.label,
                group=f"{entry.title} · file:{entry.id}",
                order=(entry.changed, entry.id),
                score=entry.changed,
                parts={"changed": entry.changed},
            )
        )
    return assemble(
        "what is known of this project",
        to_text(as_of),
        Budget(tokens, None),
        candidates,
        terms=(),
        ranker=NEWEST,
        filters={"archived": False},
        slices=(),
    )


_LEAST_TOKENS = 64


class Request(NamedTuple):
    """What is asked for: a question, what the answer may cost, when it speaks, and how to slice around turns."""

    question: str
    tokens: int
    turns: int | None
    as_of: int
    policy: SlicePolicyV1


def build_context(
    truth: Truth, index: TurnIndex, chunks: LibraryChunks | None, request: Request, first: Sequence[Candidate] = ()
) -> Context:
    """Turns and, where there is a library, rows and sections, merged by worth under the budget, behind what comes
    first whatever it is worth."""
    _check(request)
    ranked = ranked_turns(truth, index, request.question, CONSIDERED)
    pinned, selections = _slices(truth, ranked[:ANCHORS], request.policy)
    candidates = _turn_candidates(truth, merge(ranked, selections))
    if chunks is not None:
        candidates += _chunk_candidates(chunks, request, len(index))
    return assemble(
        request.question,
        to_text(request.as_of),
        Budget(request.tokens, request.turns),
        [*first, *sorted(candidates, key=lambda each: (-each.score, each.ref))],
        terms={word.text for word in index.words(request.question)},
        ranker=RANKER,
        filters={"rows": "active", "archived": False} if chunks is not None else {},
        slices=pinned,
    )


def _chunk_candidates(chunks: LibraryChunks, request: Request, turns: int) -> list[Candidate]:
    found = chunks.ranked(request.question, CHUNKS, request.as_of)
    scaled = brought_to_scale(found, len(chunks), turns or len(chunks))
    return [candidate for each in scaled if (candidate := chunks.candidate(each, request.as_of))]


def ranked_turns(truth: Truth, index: TurnIndex, question: str, limit: int) -> list[Ranked]:
    """The best turns for a question, with the index brought up to date before."""
    bring_up_to_date(index, truth)
    asked = analyse(question, index.words(question))
    return rank(asked, index.figures(asked), limit)


def _check(request: Request) -> None:
    if not request.question.strip():
        raise SlicebaseError("bad-question", "the question is empty")
    try:
        request.question.encode()
    except UnicodeEncodeError as error:
        raise lone_surrogate(error) from None
    _check_budget("tokens", request.tokens, _LEAST_TOKENS)
    if request.turns is not None:
        _check_budget("turns", request.turns, 1)


def _check_budget(what: str, number: int, least: int) -> None:
    if not least <= number <= LARGEST_INTEGER:
        hint = f"from {least} to {LARGEST_INTEGER}"
        raise SlicebaseError("bad-budget", f"a context of {number} {what} cannot be built", hint=hint)


def _slices(
    truth: Truth, anchors: Sequence[Ranked], policy: SlicePolicyV1
) -> tuple[list[PinnedSlice], list[tuple[Ranked, Sequence[Selected]]]]:
    pinned: list[PinnedSlice] = []
    selections: list[tuple[Ranked, Sequence[Selected]]] = []
    for anchor in anchors:
        graph = truth.sessions.around(anchor.turn, policy.max_radius)
        found = context_slice(graph, anchor.turn, policy)
        hashes = (found.slice_id, found.policy_params_hash, found.export_hash)
        pinned.append(PinnedSlice(graph.session_id, anchor.turn, *hashes, found.annotators))
        selections.append((anchor, select(graph, anchor.turn, policy)))
    return pinned, selections


def lost_context(truth: Truth, session: str, losses: Sequence[Loss], tokens: int, as_of: int) -> Context:
    """What compactions of a session lost, the most important first, one piece for each turn that holds some of it."""
    _check_budget("tokens", tokens, _LEAST_TOKENS)
    lost: dict[str, list[Judged]] = {}
    for each in by_importance(judged for loss in losses for judged in loss.judged if not judged.kept):
        lost.setdefault(each.item.turn, []).append(each)
    records = truth.turns.find(lost)
    sessions = {name: truth.turns.session(name) for name in {each.record.session for each in records.values()}}
    return assemble(
        f"what was lost when session:{session} was compacted",
        to_text(as_of),
        Budget(tokens),
        [_lost_candidate(truth, records[turn].record, sessions, found) for turn, found in lost.items()],
        terms=(),
        ranker=LOST,
        filters={"session": session, "compactions": [loss.summary.id for loss in losses]},
        slices=(),
    )


def _lost_candidate(
    truth: Truth, record: TurnRecord, sessions: Mapping[str, Session], found: Sequence[Judged]
) -> Candidate:
    stored = truth.texts.get(f"session:{record.session}", record.content_hash)
    text = turn_text(read_parts(stored.data)) if stored and stored.data is not None else ""
    best = found[0].weight * 1_000_000
    told = dict.fromkeys(f"{TABLE[each.item.kind].one} {each.item.mark}" for each in found)
    plain = _candidate(record, sessions[record.session], text, Ranked(record.id, best, {"importance": best}))
    passage = Span(start=min(each.item.start for each in found), end=max(each.item.end for each in found))
    return plain._replace(label=f"lost: {', '.join(told)} · {plain.label}", passage=passage)


def _turn_candidates(truth: Truth, merged: Sequence[Ranked]) -> list[Candidate]:
    records = truth.turns.find(found.turn for found in merged)
    sessions = {session: truth.turns.session(session) for session in {each.record.session for each in records.values()}}
    candidates = []
    for found in merged:
        record = records[found.turn].record
        stored = truth.texts.get(f"session:{record.session}", record.content_hash)
        if stored is not None and stored.data is not None:
            text = turn_text(read_parts(stored.data))
            candidates.append(_candidate(record, sessions[record.session], text, found))
    return candidates


def _candidate(record: TurnRecord, session: Session, text: str, found: Ranked) -> Candidate:
    title = f"{session.title} · " if session.title else ""
    when = from_text(record.time)  # 0 where the source knows none
    return Candidate(
        ref=f"turn:{record.id}",
        corpus=f"session:{record.session}",
        content_hash=record.content_hash,
        text=text,
        label=f"{record.role} · {record.time if when else 'undated'}",
        group=f"{title}session:{record.session}",
        order=(when, record.id),
        score=found.score,
        parts={name: value for name, value in found.parts.items() if value},
    )
