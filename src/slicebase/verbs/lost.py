"""What compactions of stored sessions kept and lost, and a context of what was lost for the next prompt."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from slicebase.context.assemble import Candidate, Context, assemble
from slicebase.context.forms import for_index
from slicebase.context.identifiers import in_any_case
from slicebase.context.lost.judged import (
    LOST_RULES,
    TABLE,
    CompactedTurns,
    JudgedCompactions,
    JudgedItem,
    Loss,
    judge,
    weigh,
)
from slicebase.context.lost.prompt import (
    AskedTurns,
    LostPassage,
    for_prompt,
    in_order,
    is_worth_its_room,
    only_goes_on,
)
from slicebase.context.lost.weights import WEIGHTS
from slicebase.context.manifest import Budget
from slicebase.context.question import Question, analyse
from slicebase.context.ranking import CONSIDERED, Figures, rank, rarity
from slicebase.context.rediscovery import LookupKind, Repeated, repeated
from slicebase.context.render import heading
from slicebase.core.hashing import lone_surrogate
from slicebase.core.refs import as_words
from slicebase.core.times import LAST_UNDATED, Moment, from_text, is_up_to, milliseconds, to_text
from slicebase.errors import SlicebaseError
from slicebase.graph.record import TurnRecord
from slicebase.graph.turn import Turn
from slicebase.history.compactions import CompactedSession, compacted_sessions, compactions, judged_session
from slicebase.index.narrow import TurnFilters
from slicebase.index.turns import TurnIndex
from slicebase.index.upkeep import ask_turns
from slicebase.runs.records import Span
from slicebase.truth.truth import Truth
from slicebase.verbs.lost_prepared import PreparedLosses, last_looked_at
from slicebase.verbs.names import shown_in_context
from slicebase.verbs.parts import Parts
from slicebase.verbs.record import built

if TYPE_CHECKING:
    from slicebase.history.imports import ImportProgress


class Cost(NamedTuple):
    """What was looked up again after a compaction of a session."""

    session: str
    summary: Turn
    repeated: tuple[Repeated, ...]  # what the summary does not name
    named: tuple[Repeated, ...] = ()  # what it names

    @property
    def dearest(self) -> list[Repeated]:
        """All of it: first what the summary does not name, the dearest first."""
        return sorted(
            (*self.repeated, *self.named),
            key=lambda each: (each.in_summary, -each.tokens, each.first.kind, each.first.what),
        )

    def count(self, kind: LookupKind) -> int:
        """How many things of a kind that the summary does not name were looked up again."""
        return sum(each.first.kind == kind for each in self.repeated)

    @property
    def tokens(self) -> int:
        """The tokens of what was read and searched again. A command is run again for its new result."""
        return sum(each.tokens for each in self.repeated if each.first.kind in ("file", "search"))


class Losses(NamedTuple):
    """The judged compactions of a session, oldest first; it is false if there are none.

    `session` is None if no session was compacted.
    """

    session: str | None
    compactions: list[Loss]
    items: Sequence[JudgedItem] = ()  # what was lost in all of them and still matters, the most needed first
    wanted: Sequence[LostPassage] = ()  # what was lost by what a prompt asks, the best first, if there is a prompt

    def __bool__(self) -> bool:
        return bool(self.compactions)

    def __repr__(self) -> str:
        counts = f"compactions={len(self.compactions)}, items={len(self.items)}"
        return f"Losses(session={self.session!r}, {counts})"


def lost(parts: Parts, session: str | None = None, *, prompt: str | None = None) -> Losses:
    """Judges the compactions of a session; by default, of the session that was compacted last."""
    asked = None if prompt is None else parts.surroundings.redaction.text(_checked(prompt))
    name = _session(parts, session)
    removed, since = compactions(parts.truth, name) if name is not None else ([], [])
    if not removed:
        return Losses(name, [])
    judged = judge(removed, since)
    wanted = (
        []
        if asked is None
        else _for_prompt(parts.truth, parts.turn_index, asked, parts.surroundings.now(), removed, judged)
    )
    return Losses(name, judged.losses, judged.items, wanted)


def _session(parts: Parts, session: str | None, last: int | None = None) -> str | None:
    """Returns the session whose compactions are judged: of a copy, the one that has its turns; by default, the last."""
    if session is None:
        return next(iter(compacted_sessions(parts.truth, last)), None)
    return judged_session(parts.truth, session)


def was_compacted(parts: Parts, session: str | None) -> bool:
    """Returns whether a session, by its id or a short one, was compacted; by default, whether any was."""
    name = _session(parts, None if session is None else parts.stored_names.id("session", session))
    return name is not None and bool(compactions(parts.truth, name).compactions)


def lost_everywhere(parts: Parts) -> list[Losses]:
    """Judges every session that was compacted, the newest first."""
    return [lost(parts, session) for session in compacted_sessions(parts.truth)]


def lost_in(parts: Parts, paths: Iterable[Path], progress: "ImportProgress") -> Losses:
    """Imports transcripts, then judges the one of their sessions that was compacted last."""
    session = compacted_in(parts, paths, progress)
    return lost(parts, session) if session is not None else Losses(None, [])


def compacted_in(parts: Parts, paths: Iterable[Path], progress: "ImportProgress") -> str | None:
    """Imports transcripts, and returns the one of their sessions that was compacted last, else any of them."""
    from slicebase.verbs.imports import import_conversations  # imported here for a fast start

    read = import_conversations(parts, paths, progress=progress).report.sessions
    of_these = {judged_session(parts.truth, session) for session in read}
    newest = next((session for session in compacted_sessions(parts.truth) if session in of_these), None)
    return newest or min(read, default=None)


def lost_cost(parts: Parts, session: str | None = None) -> list[Cost]:
    """Returns what was looked up again after each compaction of a session; by default, of the one compacted last."""
    name = _session(parts, session)
    if name is None:
        return []
    removed, since = compactions(parts.truth, name)
    following = [*(each.before for each in removed[1:]), since]
    costs = []
    for each, after in zip(removed, following[: len(removed)], strict=True):
        found = repeated(each.before, each.said, after)
        named = tuple(again for again in found if again.in_summary)
        costs.append(Cost(name, each.summary[-1], tuple(again for again in found if not again.in_summary), named))
    return costs


def lost_context(
    parts: Parts,
    session: str | None,
    tokens: int,
    *,
    prompt: str | None = None,
    as_of: Moment | None = None,
    record: bool = True,
    prepared: PreparedLosses | None = None,
) -> Context:
    """Builds a context of what a session's compactions lost, and records its manifest.

    With `prompt`, what the prompt asks for comes first. What was `prepared` for these compactions is not looked for.
    """
    last = None if as_of is None else milliseconds(as_of)
    moment = parts.surroundings.now() if last is None else last
    asked = parts.surroundings.redaction.text(_checked(prompt)) if prompt is not None else None  # the manifest keeps it

    def build() -> Context:
        name = _session(parts, session, last)
        if name is None:
            when = "" if last is None else f" up to {to_text(last)}"
            hint = "`lost` returns an empty result"
            raise SlicebaseError("no-session", f"no stored session was compacted{when}", hint=hint)
        found, filters = compactions(parts.truth, name, last), dict[str, Any]()
        if last is not None:
            found, filters["undated"] = _until(last, found)
            filters["last"] = to_text(last)
        removed, looked_at = found.compactions, None
        if prepared is not None and last is None and prepared.is_of(removed, parts.truth.runs.log.acts()):
            judged, looked_at = weigh(removed, prepared.items, WEIGHTS), prepared.looked_at
        else:
            judged = judge(removed, found.since)
        shown = shown_in_context(parts)
        return render_lost(
            parts.truth, parts.turn_index, name, removed, judged, tokens, moment, asked, filters, shown, looked_at
        )

    return built(parts, build, record=record)


def _until(last: int, found: CompactedSession) -> tuple[CompactedSession, int]:
    """Returns compactions without turns that are later or undated, and how many are undated."""
    turns = {turn.id: turn for each in (*(each.before for each in found.compactions), found.since) for turn in each}
    undated = sum(0 <= turn.time <= LAST_UNDATED for turn in turns.values())
    removed = [CompactedTurns(tuple(_dated(last, each.before)), each.summary) for each in found.compactions]
    return CompactedSession(removed, _dated(last, found.since)), undated


def _dated(last: int, turns: Iterable[Turn]) -> list[Turn]:
    return [turn for turn in turns if is_up_to(turn.time, last)]


def _checked(prompt: str) -> str:
    if not prompt.strip():
        raise SlicebaseError("bad-question", "the prompt is empty")
    try:
        prompt.encode()
    except UnicodeEncodeError as error:
        raise lone_surrogate(error) from None
    return prompt[:_LONGEST]


_LONGEST: Final = 4_000  # characters of a prompt: more may be pasted, and says less of what it asks
_HEADING: Final = 120  # characters of a prompt in the heading of its context
_FIRST_ITEMS: Final = 8  # items that come before the places that were looked at last
_MOST: Final = 256  # passages: more than fit into a context that a prompt has room for
_LEAST_TOKENS: Final = 16  # of a piece


def render_lost(
    truth: Truth,
    index: TurnIndex,
    session: str,
    removed: Sequence[CompactedTurns],
    judged: JudgedCompactions,
    tokens: int,
    as_of: int,
    prompt: str | None,
    filters: dict[str, Any] | None = None,
    shown: Callable[[str], str] | None = None,
    looked_at: Sequence[LostPassage] | None = None,
) -> Context:
    """Builds a context of lost items, the most needed first, under the heading of their kind.

    `looked_at` is where the agent was, if that is known already.
    """
    from slicebase.verbs.contexts import check_tokens  # imported here for a fast start: a list has no budget

    question = f"what was lost when session:{session} was compacted"
    if prompt:
        question += f", for: {shorten(prompt, _HEADING, placeholder=' …')}"
    check_tokens(tokens, heading(question, to_text(as_of)))
    if prompt and removed:
        last = as_of if filters and "last" in filters else None
        wanted = _for_prompt(truth, index, prompt, as_of, removed, judged, last)
    else:
        wanted = in_order(judged.items[: max(_MOST, tokens // _LEAST_TOKENS)])
    wanted = [each for place, each in enumerate(wanted) if place < _FIRST_ITEMS or is_worth_its_room(each)]
    if looked_at is None:
        looked_at = last_looked_at(removed[-1]) if removed else []
    records = truth.turns.find({each.turn for each in (*wanted, *looked_at)})
    candidates = [_lost_candidate(truth, records[each.turn].record, each) for each in wanted]
    candidates[_FIRST_ITEMS:_FIRST_ITEMS] = [
        _lost_candidate(truth, records[each.turn].record, each)._replace(label="looked at", group="Looked at last")
        for each in looked_at
    ]
    return assemble(
        question,
        to_text(as_of),
        Budget(tokens),
        candidates,
        terms=(),
        ranker=LOST_RULES,
        filters={
            "session": session,
            "compactions": [loss.summary.id for loss in judged.losses],
            **({"prompt": prompt} if prompt else {}),
            **(filters or {}),
        },
        groups=[row.heading for row in TABLE.values()],
        shown=shown or truth.shown,
    )


def _for_prompt(
    truth: Truth,
    index: TurnIndex,
    prompt: str,
    now: int,
    removed: Sequence[CompactedTurns],
    judged: JudgedCompactions,
    last: int | None = None,
) -> list[LostPassage]:
    if only_goes_on(prompt):
        return in_order(judged.items[:_MOST])
    turns = {turn.id: turn for each in removed for turn in each.before}
    sessions = sorted({turn.session for turn in turns.values()})
    wanted = TurnFilters(sessions=sessions, as_of=last)

    def asked() -> AskedTurns:
        question = analyse(prompt, index.words(prompt), now)
        figures = index.figures(question, wanted)
        scores = {each.turn: each.score for each in rank(question, figures, CONSIDERED) if each.turn in turns}
        return AskedTurns(scores, _worth_of_words(index, question, figures))

    return for_prompt(ask_turns(index, truth, asked), turns.values(), removed[-1].said, judged, _MOST)


def _worth_of_words(index: TurnIndex, question: Question, figures: Figures) -> Callable[[str], int]:
    """Returns a function that gives the worth of the words and identifiers of a question in a text."""
    worths = {match.known_as: rarity(match.turns, figures.indexed) for match in figures.matches}
    names = {name: max(worths.get((form,), 0) for form in in_any_case(name)) for name in question.names}

    def worth(text: str) -> int:
        low, stems = text.lower(), {word.stem for word in index.words(for_index(text))}
        of_words = sum(value for forms, value in worths.items() if not stems.isdisjoint(forms))
        return of_words + sum(value for name, value in names.items() if name in low)

    return worth


def _lost_candidate(truth: Truth, record: TurnRecord, found: LostPassage) -> Candidate:
    item = found.item
    return Candidate(
        ref=f"turn:{record.id}",
        corpus=f"session:{record.session}",
        text=truth.readable_text_of(record) or "",
        label=as_words(item.name) if item else as_words(record.role),
        group=item.heading if item else "From the turns before",
        order=(from_text(record.time), f"{record.id} {found.start:09}"),
        score=found.score,
        parts=dict(found.parts),
        passage=Span(start=found.start, end=found.end),
    )
