"""Windows of long texts: a part that ends where a reader would turn the page."""

import re
from bisect import bisect_right
from typing import Final, NamedTuple

_LEAST: Final = 0.5  # of a window: a break before this would leave too little of it
_FENCE: Final = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)


class TextWindow(NamedTuple):
    """A part of a text: half-open, in code points, with the line of its first character, from 1."""

    text: str
    start: int
    end: int
    line: int
    total: int  # code points of the whole text


def text_window(text: str, start: int, size: int, *, blocks: bool = False) -> TextWindow:
    """Returns about `size` characters of a text from `start` on, up to the end of a line where there is one.

    With `blocks`, it ends with a paragraph, and not inside a fence, as long as there is such a place.
    """
    start = min(max(start, 0), len(text))
    end = min(start + size, len(text))
    if end < len(text):
        end = _break(text, start, end, blocks=blocks)
    return TextWindow(text[start:end], start, end, text.count("\n", 0, start) + 1, len(text))


def _break(text: str, start: int, end: int, *, blocks: bool) -> int:
    least = start + int((end - start) * _LEAST)
    if blocks:
        place, fences = end, [fence.end() for fence in _FENCE.finditer(text, start, end)]
        while (place := text.rfind("\n\n", least, place)) != -1:
            if bisect_right(fences, place) % 2 == 0:
                return place + 2
    line = text.rfind("\n", least, end)
    return line + 1 if line != -1 else end


def cited_span(text: str, start: int, end: int, within: tuple[int, int]) -> tuple[int, int]:
    """Returns a span of a part of a text as a span of the text, no longer than the part."""
    first, last = within
    low = min(first + max(start, 0), last, len(text))
    return low, max(low, min(first + max(end, 0), last, len(text)))
