"""What a compaction kept and lost: the items of the turns before it are searched in its summary (docs/lost.md)."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from slicebase.context.lost.follow import OVER, items
from slicebase.context.lost.items import TranscriptItem
from slicebase.context.lost.neighbours import as_one, neighbours
from slicebase.context.lost.phrases import LOST_KINDS, LostKind
from slicebase.context.lost.score import ScoreBasis, contained, features, parts_of
from slicebase.context.lost.weights import WEIGHTS
from slicebase.context.lost.words import Passages, StatementIndex, content_weights
from slicebase.graph.contents import readable_text
from slicebase.graph.turn import Turn, turn_text

LOST_RULES: Final = "lost/6"

KEPT_SHARE: Final = 0.75  # the share of an item's content that a summary must have
_MENTIONED: Final = 0.65  # of what somebody could do again
_CROWDED: Final = 250_000  # millionths that each further command or artefact of the same sort counts less
_EACH_NEIGHBOUR: Final = 200_000  # millionths that each further statement counts that is shown with an item
_SAME: Final = 0.6  # of an item's content; one that says no more than a better one is not listed again
_IN_PART: Final = 0.4  # of its content, if the better one says little else
_MARK: Final = re.compile(r"(?:conversation compacted|context compacted)?\W*", re.IGNORECASE)


class CompactedTurns(NamedTuple):
    """The turns that a compaction removed, in order, and the turns of the summary that replaces them."""

    before: tuple[Turn, ...]
    summary: tuple[Turn, ...]

    @property
    def readable(self) -> bool:
        """Whether the summary has text. Some clients store it encrypted, and after a crash there may be none."""
        return any(part.text for turn in self.summary if not _is_mark(turn) for part in turn.parts)

    @property
    def said(self) -> str:
        """The text of the summary."""
        return "\n\n".join(turn_text(turn.parts) for turn in self.summary if not _is_mark(turn))


class KindNames(NamedTuple):
    """The names of a kind, and the heading of its items in a context."""

    one: str
    many: str
    heading: str


TABLE: Final[Mapping[LostKind, KindNames]] = {
    "instruction": KindNames("instruction", "instructions", "Constraints"),
    "task": KindNames("open task", "open tasks", "Open tasks"),
    "decision": KindNames("decision", "decisions", "Decisions"),
    "finding": KindNames("finding", "findings", "Findings"),
    "error": KindNames("open error", "open errors", "Open errors"),
    "artefact": KindNames("artefact", "artefacts", "Artefacts"),
    "command": KindNames("command", "commands", "How to build, test and run"),
}


_UNKNOWN: Final = "Said by the user, not known whether done"  # the heading of what these rules cannot judge


class DescribedItem(NamedTuple):
    """An item, the numbers of the compactions that decided on it, whether a summary kept it, and its features."""

    item: TranscriptItem
    places: tuple[int, ...]
    kept: bool
    features: Mapping[str, float]


class JudgedItem(NamedTuple):
    """An item, whether the summary kept it, and how much a continuing agent needs it."""

    item: TranscriptItem
    kept: bool
    score: int  # in millionths (ruling 43)
    parts: Mapping[str, int]  # the parts of the score

    @property
    def kind(self) -> LostKind:
        """What it is: an instruction, a decision, a finding and so on."""
        return self.item.kind

    @property
    def name(self) -> str:
        """What it is, for readers: the name of its kind, its mark, and its state where that matters."""
        states = {"interrupted": ", interrupted", "unknown": ", not known whether done"}
        return f"{TABLE[self.kind].one}, {self.item.mark}{states.get(self.state, '')}"

    @property
    def heading(self) -> str:
        """The heading that it stands under in a context. A request that is no rule is a task, if it is known."""
        if self.state == "unknown":
            return _UNKNOWN
        return TABLE["task" if self.kind == "instruction" and self.item.can_be_done else self.kind].heading

    @property
    def text(self) -> str:
        """The words of the transcript."""
        return self.item.text

    @property
    def state(self) -> str:
        """What became of it before the compaction: standing, open, done and so on."""
        return self.item.state

    @property
    def ref(self) -> str:
        """The reference of the turn that contains it."""
        return f"turn:{self.item.turn}"

    @property
    def needed(self) -> bool:
        """Whether it still matters: it is not done, resolved, overturned or gone."""
        return self.item.state not in OVER

    def __repr__(self) -> str:
        return f"JudgedItem(kind={self.kind!r}, ref={self.ref!r}, text={self.text[:60]!r}, kept={self.kept})"


class KindTally(NamedTuple):
    """How many items of a kind were kept, and how many there were."""

    kind: LostKind
    kept: int
    of: int


class Loss(NamedTuple):
    """The result for one compaction: the items that it decided on and that still matter."""

    summary: Turn
    turns: int  # how many it removed
    readable: bool
    judged: tuple[JudgedItem, ...]
    items: tuple[JudgedItem, ...]  # those that are lost, the most needed first

    def __repr__(self) -> str:
        return f"Loss(summary='turn:{self.summary.id}', turns={self.turns}, items={len(self.items)})"


class JudgedCompactions(NamedTuple):
    """The result for the compactions of a session, oldest first, and what is lost in all of them."""

    losses: list[Loss]
    items: tuple[JudgedItem, ...]  # the most needed first
    over: tuple[TranscriptItem, ...]  # what was done, resolved or taken back


def judge(compactions: Sequence[CompactedTurns], after: Sequence[Turn] = ()) -> JudgedCompactions:
    """Returns what the compactions of a session lost, as it is at the newest one.

    Items are followed through all turns up to the newest compaction, requests and tasks through those `after` it, too.
    What the newest summary contains is kept. What may be acted on is also kept if any later summary mentions it. All
    else was lost in the compaction after which no summary has it.
    """
    return weigh(compactions, describe(compactions, after) if compactions else (), WEIGHTS)


def weigh(
    compactions: Sequence[CompactedTurns], described: Iterable[DescribedItem], weights: Mapping[str, float]
) -> JudgedCompactions:
    """Returns the result for items, with the scores that these weights give."""
    needed, over = [], []
    for each in described:
        parts = parts_of(each.features, weights)
        judged = JudgedItem(each.item, each.kept, sum(parts.values()), parts)
        needed.append((each.places, judged)) if judged.needed else over.append(each.item)
    texts = {turn.id: turn for compaction in compactions for turn in compaction.before}
    text_of = cache(lambda turn: readable_text(texts[turn].parts))
    losses = []
    for number, compaction in enumerate(compactions):
        own = [each for places, each in needed if number in places]
        lost = tuple(by_importance(own, text_of))
        kept = tuple(_each_once(_joined((each for each in own if each.kept), text_of)))
        removed = sum(not _is_mark(turn) for turn in compaction.before)
        losses.append(Loss(compaction.summary[-1], removed, compaction.readable, (*kept, *lost), lost))
    in_all = losses[0].items if len(losses) == 1 else tuple(by_importance((each for _, each in needed), text_of))
    return JudgedCompactions(losses, in_all, tuple(over))


def _is_mark(turn: Turn) -> bool:
    """Returns whether a turn only marks a compaction: it says nothing to the model."""
    return (
        turn.role == "system"
        and not any(part.summary for part in turn.parts)
        and _MARK.fullmatch(turn_text(turn.parts).strip()) is not None
    )


def is_boundary(turn: Turn) -> bool:
    """Returns whether a turn is a client's mark of a compaction, which usually stands before the summary."""
    return _is_mark(turn) and bool(turn_text(turn.parts).strip())


def without_summary(turns: Iterable[Turn]) -> list[Turn]:
    """Returns the marks of compactions after which somebody spoke before any summary came.

    A mark that is the last turn has none yet: a client writes the mark, then the summary.
    """
    found, waiting, is_summed = list[Turn](), None, False
    for turn in turns:
        if any(part.summary for part in turn.parts):
            waiting, is_summed = None, True
        elif is_boundary(turn):
            waiting = None if is_summed else turn
        elif turn.role != "system" and not all(part.hidden for part in turn.parts):
            found += [waiting] if waiting else []
            waiting, is_summed = None, False
    return found


def describe(compactions: Sequence[CompactedTurns], after: Sequence[Turn] = ()) -> list[DescribedItem]:
    """Returns every item of the turns that compactions removed, also what is over, with its fate and its features."""
    places: dict[str, int] = {}  # a turn that several compactions have, on branches, counts for the first
    turns: list[Turn] = []
    said: list[tuple[int, str]] = []  # what a summary says was done, for the turns before it
    for number, compaction in enumerate(compactions):
        new = [turn for turn in compaction.before if turn.id not in places]
        places.update((turn.id, number) for turn in new)
        turns += new
        said.append((len(turns) - 1, compaction.said))
    found = items(turns, after, said)
    summaries = [Passages(compaction.said) for compaction in compactions]
    around = ScoreBasis(turns, summaries[-1], found)
    described = []
    for item in found:
        first = places[item.turn]
        shares = [contained(item, summary) for summary in summaries[first:]]
        least = _MENTIONED if item.can_be_done else KEPT_SHARE
        place, kept = _fate(item, [share >= least for share in shares])
        decided = [first + place]
        if (origin := places.get(item.first, first)) < first and contained(item, summaries[origin]) < least:
            decided.insert(0, origin)  # what was run again after a compaction was lost in that one, too
        described.append(DescribedItem(item, tuple(decided), kept, features(item, around, shares[-1])))
    return described


def _fate(item: TranscriptItem, having: Sequence[bool]) -> tuple[int, bool]:
    """Returns which of the summaries after an item decided on it, and whether it is kept."""
    if any(having) and (having[-1] or item.can_be_done):
        return having.index(True), True
    return max((place + 1 for place, has in enumerate(having) if has), default=0), False


def by_importance(judged: Iterable[JudgedItem], text_of: Callable[[str], str]) -> list[JudgedItem]:
    """Returns the lost items that still matter by score, the highest first; among equal ones the newest first.

    Statements that stand side by side are one. An item that says no more than a better one is left out. Each further
    command or artefact of one sort counts less than the one before it: the tenth test run is not missed most.
    """
    lost = _joined((each for each in judged if not each.kept and each.needed), text_of)
    seen: Counter[tuple[str, str]] = Counter()
    placed = []
    for place, each in enumerate(_each_once(lost)):
        sort = (each.kind, each.item.mark)
        placed.append((_CROWDED * seen[sort] - each.score, place, each))
        seen[sort] += each.kind in ("command", "artefact")
    return [each for _, _, each in sorted(placed, key=lambda place: place[:2])]


def _joined(judged: Iterable[JudgedItem], text_of: Callable[[str], str]) -> Iterator[JudgedItem]:
    """Yields items, those that stand side by side as one, with the score of the best and a little more."""
    by_item = {each.item: each for each in judged}
    for group in neighbours(by_item, text_of):
        best = max((by_item[item] for item in group), key=lambda each: each.score)
        if (more := _EACH_NEIGHBOUR * (len(group) - 1)) > 0:
            parts = {**best.parts, "neighbours": more}
            best = JudgedItem(as_one(best.item, group), best.kept, best.score + more, parts)
        yield best


def _each_once(judged: Iterable[JudgedItem]) -> Iterator[JudgedItem]:
    """Yields items, the best first, without those that say no more than a better one.

    Only a rule repeats a rule, and only with all of its words: "never touch orders" is not "never touch customers".
    """
    commands: set[str] = set()
    rules, others = StatementIndex(), StatementIndex()
    for each in sorted(judged, key=lambda each: (-each.score, -each.item.order, each.item.start)):
        if each.kind == "command":
            known = commands.issuperset(each.item.quotes)
            commands.update(each.item.quotes)
        else:
            content = content_weights(each.text)
            if each.item.mark == "rule":
                known = bool(content) and any(True for _ in rules.like(content, 1.0))
                rules.add(content)
            else:
                known = bool(content) and others.has_most_in(content, _SAME, _IN_PART)
                others.add(content)
        if not known:
            yield each


def tally(losses: Sequence[Loss]) -> list[KindTally]:
    """Returns the counts of every kind that occurs, of the items that still matter."""
    judged = [each for loss in losses for each in loss.judged]
    counted = []
    for kind in LOST_KINDS:
        of_kind = [each.kept for each in judged if each.item.kind == kind]
        if of_kind:
            counted.append(KindTally(kind, sum(of_kind), len(of_kind)))
    return counted


def headline(counted: Sequence[KindTally]) -> str:
    """Returns the counts as the rest of a sentence that begins with the summary or the session."""
    if not counted:
        return "had nothing to keep that these rules know"
    counts = ", ".join(f"{each.kept} of {each.of} {_name(each)}" for each in counted)
    lost = sum(each.of - each.kept for each in counted)
    rest = {0: "nothing was lost", 1: "the other is one recall away"}
    return f"kept {counts}; {rest.get(lost, f'the other {lost} are one recall away')}"


def _name(counted: KindTally) -> str:
    return TABLE[counted.kind].one if counted.of == 1 else TABLE[counted.kind].many
