"""What a compaction kept and lost: the items of the turns before it, looked for in its summary (docs/lost.md)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from slicebase.context.lost_items import TranscriptItem, items
from slicebase.context.lost_rules import KINDS, Kind, Passages
from slicebase.graph.turn import Turn, turn_text

RULES: Final = "lost/1"


class CompactedTurns(NamedTuple):
    """The turns that a compaction took away, in their order, and those that stand in their place."""

    before: tuple[Turn, ...]
    summary: tuple[Turn, ...]

    @property
    def readable(self) -> bool:
        """Some clients keep what their service summed up encrypted."""
        return any(part.text for turn in self.summary for part in turn.parts)


# Of an item's telling words, what has to be found again. An error's line is long-winded: its core is enough.
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
    """How a kind is called, when it counts as kept, and how much one weighs that was lost, by its mark."""

    one: str
    many: str
    kept: Callable[[TranscriptItem, Passages], bool]
    weights: Mapping[str, int]
    weight: int  # of any other mark


TABLE: Final[Mapping[Kind, KindRow]] = {
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


class Judged(NamedTuple):
    item: TranscriptItem
    kept: bool

    @property
    def weight(self) -> int:
        row = TABLE[self.item.kind]
        return row.weights.get(self.item.mark, row.weight)


class KindTally(NamedTuple):
    kind: Kind
    kept: int
    of: int


class Loss(NamedTuple):
    """One compaction, judged."""

    summary: Turn
    turns: int  # that it took away
    readable: bool
    judged: tuple[Judged, ...]

    @property
    def lost(self) -> list[Judged]:
        return by_importance(each for each in self.judged if not each.kept)


def judge(compaction: CompactedTurns) -> Loss:
    summary = Passages("\n\n".join(turn_text(turn.parts) for turn in compaction.summary))
    judged = [Judged(item, TABLE[item.kind].kept(item, summary)) for item in items(compaction.before)]
    return Loss(compaction.summary[-1], len(compaction.before), compaction.readable, tuple(judged))


def by_importance(judged: Iterable[Judged]) -> list[Judged]:
    """The weightiest first, among equals the newest."""
    newest_first = list(judged)[::-1]
    return sorted(newest_first, key=lambda each: -each.weight)


def tally(losses: Sequence[Loss]) -> list[KindTally]:
    """Kept and all, of every kind that occurs."""
    judged = [each for loss in losses for each in loss.judged]
    counted = []
    for kind in KINDS:
        of_kind = [each.kept for each in judged if each.item.kind == kind]
        if of_kind:
            counted.append(KindTally(kind, sum(of_kind), len(of_kind)))
    return counted


def headline(counted: Sequence[KindTally]) -> str:
    """The whole in a sentence."""
    if not counted:
        return "had nothing to keep that these rules know"
    told = ", ".join(f"{each.kept} of {each.of} {_name(each)}" for each in counted)
    lost = sum(each.of - each.kept for each in counted)
    rest = {0: "nothing was lost", 1: "the other is one recall away"}
    return f"kept {told}; {rest.get(lost, f'the other {lost} are one recall away')}"


def _name(counted: KindTally) -> str:
    return TABLE[counted.kind].one if counted.of == 1 else TABLE[counted.kind].many
