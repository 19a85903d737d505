"""What compactions lost, as JSON: the shape that the command and the API print."""

from msgspec import Struct

from slicebase.context.lost.judged import LOST_RULES, JudgedItem, Loss, headline, tally
from slicebase.core.times import known_time


class LostSpan(Struct, frozen=True):
    """Where the words of an item are in the text of its turn, in code points."""

    start: int
    end: int


class LostItemRow(Struct, frozen=True):
    """An item of a transcript that a compaction kept or lost."""

    kind: str
    mark: str
    state: str
    text: str
    times: int
    score: int
    parts: dict[str, int]
    ref: str
    span: LostSpan
    related: str | None


class KeptCount(Struct, frozen=True):
    """How many items of a kind a summary kept."""

    kept: int
    of: int


class LossRow(Struct, frozen=True):
    """What one compaction lost, the most needed first, and what it kept."""

    summary: str
    time: str | None
    turns: int
    readable: bool
    rules: str
    headline: str
    kinds: dict[str, KeptCount]
    lost: tuple[LostItemRow, ...]
    more: int
    kept: tuple[LostItemRow, ...]


def loss_row(loss: Loss, limit: int) -> LossRow:
    """Returns what a compaction lost and kept, at most so many items of each."""
    counted = tally([loss])
    return LossRow(
        summary=f"turn:{loss.summary.id}",
        time=known_time(loss.summary.time),
        turns=loss.turns,
        readable=loss.readable,
        rules=LOST_RULES,
        headline=headline(counted),
        kinds={each.kind: KeptCount(each.kept, each.of) for each in counted},
        lost=tuple(_item_row(each) for each in loss.items[:limit]),
        more=max(0, len(loss.items) - limit),
        kept=tuple([_item_row(each) for each in loss.judged if each.kept][:limit]),
    )


def _item_row(each: JudgedItem) -> LostItemRow:
    item = each.item
    return LostItemRow(
        kind=item.kind,
        mark=item.mark,
        state=item.state,
        text=item.text,
        times=item.times,
        score=each.score,
        parts=dict(each.parts),
        ref=each.ref,
        span=LostSpan(item.start, item.end),
        related=f"turn:{item.result}" if item.result else None,
    )
