"""What a compaction kept and lost: the items of the turns before it are searched in its summary (docs/lost.md)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from slicebase.context.lost_follow import items
from slicebase.context.lost_items import TranscriptItem
from slicebase.context.lost_phrases import LOST_KINDS, LostKind
from slicebase.context.lost_score import ScoreBasis, contained, features, parts_of
from slicebase.context.lost_weights import WEIGHTS
from slicebase.context.lost_words import Passages, content_weights
from slicebase.graph.turn import Turn, turn_text

LOST_RULES: Final = "lost/2"

KEPT_SHARE: Final = 0.65  # the share of an item's content that a summary must have
OVER: Final = frozenset({"done", "resolved", "overturned", "gone"})  # states of items that nobody needs
_CROWDED: Final = 250_000  # millionths that each further command or artefact of the same sort counts less
_SAME: Final = 0.7  # of an item's content; one that says no more than a better one is not listed again


class CompactedTurns(NamedTuple):
    """The turns that a compaction removed, in order, and the turns of the summary that replaces them."""

    before: tuple[Turn, ...]
    summary: tuple[Turn, ...]

    @property
    def readable(self) -> bool:
        """Whether the summary has text. Some clients store it encrypted."""
        return any(part.text for turn in self.summary for part in turn.parts)

    @property
    def said(self) -> str:
        """The text of the summary."""
        return "\n\n".join(turn_text(turn.parts) for turn in self.summary)


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
    """The result for one compaction: every item with whether it was kept."""

    summary: Turn
    turns: int  # how many it removed
    readable: bool
    judged: tuple[JudgedItem, ...]

    @property
    def items(self) -> list[JudgedItem]:
        """The lost items that still matter, the most needed first."""
        return by_importance(self.judged)

    def __repr__(self) -> str:
        return f"Loss(summary='turn:{self.summary.id}', turns={self.turns}, items={len(self.items)})"


def judge(compaction: CompactedTurns, weights: Mapping[str, float] = WEIGHTS) -> Loss:
    """Returns which items of the removed turns the summary kept, each with its score."""
    summary = Passages(compaction.said)
    found = items(compaction.before)
    around = ScoreBasis(compaction.before, summary, found)
    judged = [_judged(item, around, weights) for item in found]
    return Loss(compaction.summary[-1], len(compaction.before), compaction.readable, tuple(judged))


def _judged(item: TranscriptItem, around: ScoreBasis, weights: Mapping[str, float]) -> JudgedItem:
    parts = parts_of(features(item, around), weights)
    return JudgedItem(item, contained(item, around.summary) >= KEPT_SHARE, sum(parts.values()), parts)


def by_importance(judged: Iterable[JudgedItem]) -> list[JudgedItem]:
    """Returns the lost items that still matter by score, the highest first; among equal ones the newest first.

    An item that says no more than a better one is left out. Each further command or artefact of one sort counts less
    than the one before it: the tenth test run is not what a reader misses most.
    """
    lost = [each for each in judged if not each.kept and each.needed]
    ranked = _each_once(sorted(lost, key=lambda each: (-each.score, -each.item.order, each.item.start)))
    seen: Counter[tuple[str, str]] = Counter()
    placed = []
    for place, each in enumerate(ranked):
        sort = (each.kind, each.item.mark)
        placed.append((_CROWDED * seen[sort] - each.score, place, each))
        seen[sort] += each.kind in ("command", "artefact")
    return [each for _, _, each in sorted(placed, key=lambda place: place[:2])]


def _each_once(ranked: Sequence[JudgedItem]) -> Iterator[JudgedItem]:
    commands: set[str] = set()
    said: list[frozenset[str]] = []
    for each in ranked:
        if each.kind == "command":
            known = commands.issuperset(each.item.quotes)
            commands.update(each.item.quotes)
        else:
            content = content_weights(each.text)
            least = _SAME * sum(content.values())
            known = any(sum(content[word] for word in content.keys() & other) >= least for other in said)
            said.append(frozenset(content))
        if not known:
            yield each


def tally(losses: Sequence[Loss]) -> list[KindTally]:
    """Returns the counts of every kind that occurs, of the items that still matter."""
    judged = [each for loss in losses for each in loss.judged if each.needed]
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
