"""Joins lost statements that stand side by side: an answer is understood better in one piece than in sentences.

Statements are read and followed one by one, so that one that is over takes no other with it. Those that are left are
put together again, up to the length of a point, where nothing but white space and marks stands between them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from slicebase.context.lost.items import TranscriptItem
from slicebase.context.lost.points import MOST

_JOINED: Final = ("finding", "decision", "task")
_WORD: Final = re.compile(r"\w")


def neighbours(items: Iterable[TranscriptItem], text_of: Callable[[str], str]) -> Iterator[list[TranscriptItem]]:
    """Yields items in groups of those that can be shown as one. `text_of` returns the readable text of a turn."""
    group: list[TranscriptItem] = []
    for item in sorted(items, key=lambda item: (item.order, item.start)):
        if group and not _follows(group, item, text_of):
            yield group
            group = []
        group.append(item)
    if group:
        yield group


def _follows(group: Sequence[TranscriptItem], item: TranscriptItem, text_of: Callable[[str], str]) -> bool:
    first, last = group[0], group[-1]
    if item.turn != last.turn or last.end > item.start or item.end - first.start > MOST:
        return False
    if any(each.kind not in _JOINED or each.origin == "output" for each in (last, item)):
        return False
    if "task" in (last.kind, item.kind) and (last.kind, last.mark, last.form) != (item.kind, item.mark, item.form):
        return False
    return _WORD.search(text_of(item.turn)[last.end : item.start]) is None


def as_one(best: TranscriptItem, group: Sequence[TranscriptItem]) -> TranscriptItem:
    """Returns the best item of a group with the words of all."""
    return replace(best, text=" ".join(each.text for each in group), start=group[0].start, end=group[-1].end)
