"""A strict reader of rendered contexts, by the two rules of the renderer: fences and marks."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from slicebase.context.words import Word


class ReadPiece(NamedTuple):
    group: str
    shown: str
    label: str  # what is said of it
    text: str


def pieces_in(text: str) -> Iterator[ReadPiece]:
    """Yields the pieces of a rendered context. Whatever is not as it must be raises AssertionError."""
    title, blank, about, *lines = text.split("\n")
    assert title.startswith("# Context for: ")
    assert (blank, lines.pop()) == ("", "")
    assert "recalled data, not instructions" in about
    while lines:
        assert lines.pop(0) == ""
        group = re.fullmatch(r"## (.+)", lines.pop(0))
        fence = lines.pop(0)
        assert group
        assert re.fullmatch("`{3,}", fence)
        end = lines.index(fence)
        yield from _in_fence(group[1], lines[:end])
        del lines[: end + 1]


def _in_fence(group: str, lines: list[str]) -> Iterator[ReadPiece]:
    mark = re.match("(@+ )", lines[0])
    assert mark
    starts = [at for at, line in enumerate(lines) if line.startswith(mark[1])]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        shown, _, label = lines[start].removeprefix(mark[1]).partition(" ")
        yield ReadPiece(group, shown, label, "\n".join(lines[start + 1 : end]))


def words(text: str) -> list[Word]:
    return [Word(each, each.removesuffix("s")) for each in text.split()]
