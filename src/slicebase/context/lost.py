"""What a compaction kept and lost: items of the turns before it are searched in its summary (docs/lost.md)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from slicebase.context.lost_items import TranscriptItem, items
from slicebase.context.lost_rules import LOST_KINDS, LostKind, Passages
from slicebase.graph.turn import Turn, turn_text

LOST_RULES: Final = "lost/1"


class CompactedTurns(NamedTuple):
    """The turns that a compaction removed, in order, and the turns of the summary that replaces them."""

    before: tuple[Turn, ...]
    summary: tuple[Turn, ...]

    @property
    def readable(self) -> bool:
        """Whether the summary has text. Some clients store it encrypted."""
        return any(part.text for turn in self.summary for part in turn.parts)


# The share of an item's content words that the summary must contain. It is lower for errors, whose lines are long.
_MOST: Final = 0.6
_CORE: Final = 0.4


def _by_most_words(item: TranscriptItem, summary: Passages) -> bool:
    return summary.hold(item.text, _MOST, with_figures=False)


def _by_most_words_and_figures(item: TranscriptItem, summary: Passages) -> bool:
    return summary.hold(item.text, _MOST, with_figures=True)


def _by_core_words(item: TranscriptItem, summary: Passages) -> bool:
    return summary.hold(item.text, _CORE, with_figures=False)


def _by_quotes(item: TranscriptItem, summary: Passages) -> bool:
    return any(map(summary.quote, item.quotes))


class KindRow(NamedTuple):
    """The names of a kind, the rule by which an item is kept, and the weight of a lost item by its mark."""

    one: str
    many: str
    kept: Callable[[TranscriptItem, Passages], bool]
    weights: Mapping[str, int]
    weight: int  # for any other mark


TABLE: Final[Mapping[LostKind, KindRow]] = {
    "decision": KindRow("decision", "decisions", _by_most_words_and_figures, {"by the user": 95}, 85),
    "instruction": KindRow(
        "instruction", "instructions", _by_most_words_and_figures, {"correction": 100, "told": 75}, 80
    ),
    "task": KindRow("open task", "open tasks", _by_most_words, {"in_progress": 78}, 70),
    "error": KindRow("error", "errors", _by_core_words, {"open": 65}, 45),
    "test": KindRow("test run", "test runs", _by_quotes, {"failed": 60}, 40),
    "file": KindRow("file", "files", _by_quotes, {"written": 50}, 10),
    "command": KindRow("command", "commands", _by_quotes, {"failed": 30}, 20),
}


class JudgedItem(NamedTuple):
    """An item, and whether the summary kept it."""

    item: TranscriptItem
    kept: bool

    @property
    def kind(self) -> LostKind:
        """What it is: a decision, an instruction, a command, a file and so on."""
        return self.item.kind

    def __repr__(self) -> str:
        return f"JudgedItem(kind={self.kind!r}, ref={self.ref!r}, text={self.text[:60]!r}, kept={self.kept})"

    @property
    def text(self) -> str:
        """The words of the transcript."""
        return self.item.text

    @property
    def ref(self) -> str:
        """The reference of the turn that contains it."""
        return f"turn:{self.item.turn}"

    @property
    def weight(self) -> int:
        row = TABLE[self.item.kind]
        return row.weights.get(self.item.mark, row.weight)


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
        """The lost items, the most important first."""
        return by_importance(each for each in self.judged if not each.kept)

    def __repr__(self) -> str:
        return f"Loss(summary='turn:{self.summary.id}', turns={self.turns}, items={len(self.items)})"


def judge(compaction: CompactedTurns) -> Loss:
    """Returns which items of the removed turns the summary kept."""
    summary = Passages("\n\n".join(turn_text(turn.parts) for turn in compaction.summary))
    judged = [JudgedItem(item, TABLE[item.kind].kept(item, summary)) for item in items(compaction.before)]
    return Loss(compaction.summary[-1], len(compaction.before), compaction.readable, tuple(judged))


def by_importance(judged: Iterable[JudgedItem]) -> list[JudgedItem]:
    """Returns items by weight, the highest first; among equal ones the newest first."""
    newest_first = list(judged)[::-1]
    return sorted(newest_first, key=lambda each: -each.weight)


def tally(losses: Sequence[Loss]) -> list[KindTally]:
    """Returns the counts of every kind that occurs."""
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
