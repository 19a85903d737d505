"""What compactions of stored sessions kept and lost, and a context of what was lost for the next prompt."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from slicebase.context.assemble import Candidate, Context, assemble
from slicebase.context.lost import LOST_RULES, TABLE, JudgedItem, Loss, by_importance, judge
from slicebase.context.manifest import Budget, heading
from slicebase.context.ranking import Ranked
from slicebase.core.refs import as_words
from slicebase.core.times import Moment, milliseconds, to_text
from slicebase.errors import SlicebaseError
from slicebase.graph.record import TurnRecord
from slicebase.graph.turn import Session
from slicebase.history.compactions import compacted_sessions, compactions
from slicebase.history.imports import ImportProgress
from slicebase.runs.records import Span
from slicebase.truth.truth import Truth
from slicebase.verbs.contexts import check_tokens, turn_candidate
from slicebase.verbs.imports import import_conversations
from slicebase.verbs.parts import Parts
from slicebase.verbs.record import built


class Losses(NamedTuple):
    """The judged compactions of a session, oldest first; it is false if there are none.

    `session` is None if no session was compacted.
    """

    session: str | None
    compactions: list[Loss]

    @property
    def items(self) -> list[JudgedItem]:
        """What was lost in all of them, the most important first."""
        return by_importance(each for loss in self.compactions for each in loss.judged if not each.kept)

    def __bool__(self) -> bool:
        return bool(self.compactions)

    def __repr__(self) -> str:
        counts = f"compactions={len(self.compactions)}, items={len(self.items)}"
        return f"Losses(session={self.session!r}, {counts})"


def lost(parts: Parts, session: str | None = None) -> Losses:
    """Judges each compaction of a session; by default, of the session that was compacted last."""
    name = session if session is not None else next(iter(compacted_sessions(parts.truth)), None)
    return Losses(name, [judge(each) for each in compactions(parts.truth, name)] if name is not None else [])


def lost_everywhere(parts: Parts) -> list[Losses]:
    """Judges every session that was compacted, the newest first."""
    return [lost(parts, session) for session in compacted_sessions(parts.truth)]


def lost_in(parts: Parts, paths: Iterable[Path], progress: ImportProgress) -> Losses:
    """Imports transcripts, then judges the one of their sessions that was compacted last."""
    read = import_conversations(parts, paths, progress=progress).report.sessions
    newest = next((session for session in compacted_sessions(parts.truth) if session in read), None)
    return lost(parts, newest or min(read)) if read else Losses(None, [])


def lost_context(
    parts: Parts, session: str | None, tokens: int, *, as_of: Moment | None = None, record: bool = True
) -> Context:
    """Builds a context of what a session's compactions lost, and records its manifest."""
    moment = parts.surroundings.now() if as_of is None else milliseconds(as_of)

    def build() -> Context:
        found = lost(parts, session)
        if found.session is None:
            raise SlicebaseError("no-session", "no stored session was compacted", hint="`lost` returns an empty result")
        return _lost_context(parts.truth, found, tokens, moment)

    return built(parts, build, record=record)


def _lost_context(truth: Truth, found: Losses, tokens: int, as_of: int) -> Context:
    """Builds a context of the lost items, the most important first, with one piece for each turn that contains some."""
    question = f"what was lost when session:{found.session} was compacted"
    check_tokens(tokens, heading(question, to_text(as_of)))
    lost: dict[str, list[JudgedItem]] = {}
    for each in found.items:
        lost.setdefault(each.item.turn, []).append(each)
    records = truth.turns.find(lost)
    sessions = {name: truth.turns.session(name) for name in {each.record.session for each in records.values()}}
    return assemble(
        question,
        to_text(as_of),
        Budget(tokens),
        [_lost_candidate(truth, records[turn].record, sessions, items) for turn, items in lost.items()],
        terms=(),
        ranker=LOST_RULES,
        filters={"session": found.session, "compactions": [loss.summary.id for loss in found.compactions]},
        slices=(),
    )


def _lost_candidate(
    truth: Truth, record: TurnRecord, sessions: Mapping[str, Session], found: Sequence[JudgedItem]
) -> Candidate:
    text = truth.text_of(record) or ""
    best = found[0].weight * 1_000_000
    kinds = dict.fromkeys(f"{TABLE[each.item.kind].one} {as_words(each.item.mark)}" for each in found)
    plain = turn_candidate(record, sessions[record.session], text, Ranked(record.id, best, {"importance": best}))
    passage = Span(start=min(each.item.start for each in found), end=max(each.item.end for each in found))
    return plain._replace(label=f"lost: {', '.join(kinds)} · {plain.label}", passage=passage)
