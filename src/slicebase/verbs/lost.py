"""What compactions of stored sessions kept and lost, and a context of what was lost for the next prompt."""

from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path
from textwrap import shorten
from typing import Final, NamedTuple

from slicebase.context.assemble import Candidate, Context, assemble
from slicebase.context.lost import LOST_RULES, TABLE, CompactedTurns, JudgedItem, Loss, by_importance, judge
from slicebase.context.lost_prompt import LostPassage, for_prompt
from slicebase.context.manifest import Budget, heading
from slicebase.context.rediscovery import LookupKind, Repeated, naming, repeated, things
from slicebase.core.hashing import lone_surrogate
from slicebase.core.refs import as_words
from slicebase.core.times import Moment, from_text, milliseconds, to_text
from slicebase.errors import SlicebaseError
from slicebase.graph.record import TurnRecord
from slicebase.graph.turn import Turn, turn_text
from slicebase.history.compactions import compacted_sessions, compactions
from slicebase.history.imports import ImportProgress
from slicebase.runs.records import Span
from slicebase.truth.truth import Truth
from slicebase.verbs.contexts import check_tokens
from slicebase.verbs.imports import import_conversations
from slicebase.verbs.parts import Parts
from slicebase.verbs.record import built


class Cost(NamedTuple):
    """What was looked up again after a compaction."""

    summary: Turn
    repeated: tuple[Repeated, ...]

    def count(self, kind: LookupKind) -> int:
        """How many things of a kind were looked up again."""
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
    wanted: Sequence[LostPassage] = ()  # what was lost by what a prompt asks, the best first, if there is a prompt

    @property
    def items(self) -> list[JudgedItem]:
        """What was lost in all of them and still matters, the most needed first."""
        return by_importance(each for loss in self.compactions for each in loss.judged)

    def __bool__(self) -> bool:
        return bool(self.compactions)

    def __repr__(self) -> str:
        counts = f"compactions={len(self.compactions)}, items={len(self.items)}"
        return f"Losses(session={self.session!r}, {counts})"


def lost(parts: Parts, session: str | None = None, *, prompt: str | None = None) -> Losses:
    """Judges each compaction of a session; by default, of the session that was compacted last."""
    asked = None if prompt is None else parts.surroundings.redaction.text(_checked(prompt))
    name = session if session is not None else next(iter(compacted_sessions(parts.truth)), None)
    if name is None:
        return Losses(None, [])
    judged = [(each, judge(each)) for each in compactions(parts.truth, name)]
    found = Losses(name, [loss for _, loss in judged])
    return found if asked is None else found._replace(wanted=_for_prompt(asked, judged, _MOST))


def lost_everywhere(parts: Parts) -> list[Losses]:
    """Judges every session that was compacted, the newest first."""
    return [lost(parts, session) for session in compacted_sessions(parts.truth)]


def lost_in(parts: Parts, paths: Iterable[Path], progress: ImportProgress) -> Losses:
    """Imports transcripts, then judges the one of their sessions that was compacted last."""
    read = import_conversations(parts, paths, progress=progress).report.sessions
    newest = next((session for session in compacted_sessions(parts.truth) if session in read), None)
    return lost(parts, newest or min(read)) if read else Losses(None, [])


def lost_cost(parts: Parts, session: str | None = None) -> list[Cost]:
    """Returns what was looked up again after each compaction of a session; by default, of the one compacted last."""
    name = session if session is not None else next(iter(compacted_sessions(parts.truth)), None)
    if name is None:
        return []
    found = compactions(parts.truth, name)
    return [
        Cost(each.summary[-1], tuple(repeated(each.before, each.said, after)))
        for each, after in zip(found, turns_after(parts.truth, found), strict=True)
    ]


def turns_after(truth: Truth, found: Sequence[CompactedTurns]) -> list[list[Turn]]:
    """Returns the turns after each compaction up to the next one, as they are stored in its session."""
    after: list[list[Turn]] = []
    for each in found:
        last = each.summary[-1]
        stored = [truth.turn(record.record.id) for record in truth.turns.of_session(last.session)]
        turns = [turn for turn in stored if turn is not None]
        place = next(number for number, turn in enumerate(turns) if turn.id == last.id)
        rest = takewhile(lambda turn: not any(part.summary for part in turn.parts), turns[place + 1 :])
        after.append(list(rest))
    return after


def lost_context(
    parts: Parts,
    session: str | None,
    tokens: int,
    *,
    prompt: str | None = None,
    as_of: Moment | None = None,
    record: bool = True,
) -> Context:
    """Builds a context of what a session's compactions lost, and records its manifest.

    With `prompt`, what the prompt asks for comes first.
    """
    moment = parts.surroundings.now() if as_of is None else milliseconds(as_of)
    asked = parts.surroundings.redaction.text(_checked(prompt)) if prompt is not None else None  # the manifest keeps it

    def build() -> Context:
        name = session if session is not None else next(iter(compacted_sessions(parts.truth)), None)
        if name is None:
            raise SlicebaseError("no-session", "no stored session was compacted", hint="`lost` returns an empty result")
        removed = compactions(parts.truth, name)
        judged = [(each, judge(each)) for each in removed]
        return render_lost(parts.truth, name, judged, tokens, moment, asked)

    return built(parts, build, record=record)


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
_LAST: Final = 3
_MOST: Final = 256  # passages: more than fit into a context that a prompt has room for


def render_lost(
    truth: Truth,
    session: str,
    judged: Sequence[tuple[CompactedTurns, Loss]],
    tokens: int,
    as_of: int,
    prompt: str | None,
) -> Context:
    """Builds a context of lost items, the most needed first, under the heading of their kind."""
    question = f"what was lost when session:{session} was compacted"
    if prompt:
        question += f", for: {shorten(prompt, _HEADING, placeholder=' …')}"
    check_tokens(tokens, heading(question, to_text(as_of)))
    items = by_importance(each for _, loss in judged for each in loss.judged)
    wanted = [
        LostPassage(each.item.turn, each.item.start, each.item.end, each.text, each.score, each) for each in items
    ]
    if prompt:
        wanted = _for_prompt(prompt, judged, _MOST)
    looked_at = _last_looked_at([removed for removed, _ in judged])
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
            "compactions": [loss.summary.id for _, loss in judged],
            **({"prompt": prompt} if prompt else {}),
        },
        slices=(),
        groups=[row.heading for row in TABLE.values()],
    )


def _last_looked_at(removed: Sequence[CompactedTurns]) -> list[LostPassage]:
    """Returns the last files and searches that the summary does not name: where the agent was."""
    found: list[LostPassage] = []
    for each in removed[-1:]:
        known = things(each.before)
        said = naming(each.said, known.values())
        texts = {turn.id: turn_text(turn.parts) for turn in each.before}
        for thing in [thing for thing in known.values() if thing.kind in ("file", "search") and not said(thing)][::-1]:
            start = texts[thing.turn].find(thing.what)
            if start >= 0 and len(found) < _LAST:
                found.append(LostPassage(thing.turn, start, start + len(thing.what), thing.what, 0, None))
    return found


def _for_prompt(prompt: str, judged: Sequence[tuple[CompactedTurns, Loss]], limit: int) -> list[LostPassage]:
    turns = [turn for removed, _ in judged for turn in removed.before]
    said = "\n\n".join(removed.said for removed, _ in judged)
    return for_prompt(prompt, turns, said, [each for _, loss in judged for each in loss.judged], limit)


def _lost_candidate(truth: Truth, record: TurnRecord, found: LostPassage) -> Candidate:
    item = found.item
    return Candidate(
        ref=f"turn:{record.id}",
        corpus=f"session:{record.session}",
        content_hash=record.content_hash,
        text=truth.text_of(record) or "",
        label=f"{TABLE[item.kind].one}, {as_words(item.item.mark)}" if item else as_words(record.role),
        group=TABLE[item.kind].heading if item else "From the turns before",
        order=(from_text(record.time), f"{record.id} {found.start:09}"),
        score=found.score,
        parts=dict(item.parts) if item else {"prompt": found.score},
        passage=Span(start=found.start, end=found.end),
    )
